"""Write a run as a data set, or add ranks to one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error
from fastdispatch.dataset import engine, reduced_parts, run_manifest, run_tables
from fastdispatch.dataset.group_writer import WrittenGroup, files_of, write_group
from fastdispatch.dataset.run_manifest import PartGroup, RunManifest
from fastdispatch.dataset.runners import RUNNERS
from fastdispatch.files.inputs import Source, find
from fastdispatch.files.output import write
from fastdispatch.read.trace import SKIPPED, report_incomplete

if TYPE_CHECKING:
    import duckdb

#: Bounds of a group.
MAX_RANKS, MAX_BYTES = 64, 256 << 20

_LOCK = ".fastdispatch-dataset"

#: Results of the tasks of a job array.
_WRITTEN = "written"

#: Folders that a data set has.
_FOLDERS = (*run_tables.SHARED, *run_tables.PER_RANK, reduced_parts.FOLDER, _WRITTEN)

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Task:
    folder: Path
    name: str
    sources: tuple[Source, ...]


_Result = tuple[_Task, WrittenGroup]


def write_dataset(
    paths: Sequence[str], folder: str | os.PathLike[str], *, runner: str = "processes", progress: Progress | None = None
) -> RunManifest:
    """Write the recordings that the paths name into a data set; return its manifest.

    If the folder is a data set already, recordings that it has are skipped, others are added, and groups with a
    changed recording are written again. An interrupted call leaves finished groups, and the next one continues.
    ``progress`` is called with the numbers of finished and of all groups. Inputs that cannot be read are in
    ``refused`` of the manifest. Raises Error if no input can be read, if the folder is something else, or if another
    process writes it.
    """
    target = Path(folder)
    sources = find(paths)
    with _written_alone(target):
        manifest = _manifest_of(target)
        _remove_partial(target)
        tasks = _plan(target, manifest, sources)
        _run(target, manifest, tasks, runner, progress)
        if not manifest.groups:
            raise Error(f"{target}: no input could be read: {next(iter(manifest.refused.values()), 'none given')}")
        if tasks or not _is_finished(target):
            _finish(target, manifest)
    return manifest


def write_part(
    paths: Sequence[str],
    folder: str | os.PathLike[str],
    part: tuple[int, int],
    *,
    runner: str = "processes",
    progress: Progress | None = None,
) -> int:
    """Write every N-th group from the I-th on, for ``part = (I, N)``; return their number.

    Calls with the same inputs and every I, in any order or at the same time, write all groups; :func:`write_dataset`
    with the same inputs then adds them to the data set, and writes those that are missing. Raises Error as it does.
    """
    target = Path(folder)
    sources = find(paths)
    with _locked(target, LOCK_SH):
        tasks = _plan(target, _manifest_of(target), sources)[part[0] - 1 :: part[1]]
        for task, written in _counted(RUNNERS[runner](_step, tasks), len(tasks), progress):
            _keep(target, task.name, task.sources, written)
    return len(tasks)


def written_in(path: str | os.PathLike[str], recordings: Sequence[str]) -> Path:
    """Write the data set of a run directory into it, or the recordings that it lacks; return its folder."""
    folder = Path(path) / run_manifest.IN_RUN
    try:
        manifest = write_dataset(recordings, folder)
    except Error:
        if os.access(path, os.W_OK):
            raise
        raise Error(
            f"{os.fspath(path)}: cannot write the data set of {len(recordings)} ranks here: give another place: "
            f"fastdispatch merge {os.fspath(path)} -o NAME.parquet"
        ) from None
    report_incomplete([*(SKIPPED + reason for reason in manifest.refused.values()), *manifest.incomplete])
    return folder


def _manifest_of(folder: Path) -> RunManifest:
    return run_manifest.load(folder) if (folder / run_manifest.NAME).exists() else RunManifest()


@contextmanager
def _written_alone(folder: Path) -> Iterator[None]:
    """Lock a data set; a new one without any group is removed again."""
    with _locked(folder, LOCK_EX):
        try:
            yield
        finally:
            if not (folder / run_manifest.NAME).exists():
                _discard(folder)


@contextmanager
def _locked(folder: Path, kind: int) -> Iterator[None]:
    """Lock a data set, or begin one: against all others, or (LOCK_SH) those that do not write a part."""
    try:
        if not _is_ours(folder):
            raise Error(f"{folder}: cannot write: it is not a data set: give another name")
        folder.mkdir(exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        links = [str(folder / name) for name in _FOLDERS if (folder / name).is_symlink()]
    except OSError as error:
        raise Error(f"{folder}: cannot write: {error.strerror}") from None
    try:
        flock(lock, kind | LOCK_NB)
        if links:
            raise Error(f"{links[0]}: a symbolic link in a data set: replace it with the folder")
        yield
    except BlockingIOError:
        raise Error(f"{folder}: another process writes this data set: wait for its end") from None
    finally:
        os.close(lock)


def _discard(folder: Path) -> None:
    """Remove what this module made, and nothing else."""
    for table in _FOLDERS:
        rmtree(folder / table, ignore_errors=True)
    (folder / _LOCK).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _is_ours(folder: Path) -> bool:
    """Return whether a folder is missing, a data set, or the beginning of one: it is empty before it has a lock, as
    another part of the same run may see it."""
    if not folder.is_dir():
        return not folder.exists()
    names = os.listdir(folder)
    return not names or _LOCK in names or run_manifest.is_dataset(folder)


def _remove_partial(folder: Path) -> None:
    for left in (file for place in ("", *_FOLDERS) for file in (folder / place).glob(f"*{run_tables.PARTIAL}")):
        left.unlink(missing_ok=True)


def _plan(folder: Path, manifest: RunManifest, sources: list[Source]) -> list[_Task]:
    """Divide the recordings that the data set does not have, or not as they are now, into groups."""
    given = {source.path: source for source in sources}
    left = []
    for group in manifest.groups:
        fault = _fault(folder, group, given)
        absent = [one.path for one in group.inputs if one.path not in given]
        if fault and absent:
            raise Error(f"{fault}: also give {absent[0]}, which is in the same group")
        if not fault:
            left.append(group)
    known = {one.path for group in left for one in group.inputs}
    manifest.groups = left
    return list(_groups(folder, [source for path, source in given.items() if path not in known]))


def _fault(folder: Path, group: PartGroup, given: dict[str, Source]) -> str:
    """Return why a group must be written again; "" if it is as its recordings are."""
    for one in group.inputs:
        now = given.get(one.path)
        if now is not None and (now.bytes, now.changed) != (one.bytes, one.changed):
            return f"{one.path} has changed"
    lost = sorted(file for file in files_of(group.name) if not (folder / file).is_file())
    return f"{folder / lost[0]} is lost" if lost else ""


def _groups(folder: Path, sources: list[Source]) -> Iterator[_Task]:
    group: list[Source] = []
    for source in sources:
        if group and (len(group) == MAX_RANKS or sum(each.bytes for each in group) + source.bytes > MAX_BYTES):
            yield _task(folder, group)
            group = []
        group.append(source)
    if group:
        yield _task(folder, group)


def _task(folder: Path, group: list[Source]) -> _Task:
    names = "\0".join(source.path for source in group).encode("utf-8", "surrogateescape")
    name = f"group-{blake2b(names, digest_size=8).hexdigest()}"
    return _Task(folder, name, tuple(group))


def _step(task: _Task) -> WrittenGroup:
    return write_group(task.folder, task.name, list(task.sources))


def _counted(results: Iterable[_Result], number: int, progress: Progress | None) -> Iterator[_Result]:
    """Yield results, and report the number of those that were used."""
    for done, result in enumerate(results, 1):
        yield result
        if progress is not None:
            progress(done, number)


def _run(folder: Path, manifest: RunManifest, tasks: list[_Task], runner: str, progress: Progress | None) -> None:
    read_again = {source.path for task in tasks for source in task.sources}
    manifest.refused = {path: reason for path, reason in manifest.refused.items() if path not in read_again}
    for task, written in _counted(_results(folder, tasks, runner), len(tasks), progress):
        manifest.refused |= written.refused
        left = _accept(manifest, written, task)
        while left is not None:
            left = _accept(manifest, _step(left), left)
        if written.group is not None:
            manifest.save(folder)


def _results(folder: Path, tasks: list[_Task], runner: str) -> Iterator[_Result]:
    """Yield each task with its result: those of a job array first."""
    left = []
    for task in tasks:
        written = _kept(folder, task.name, task.sources)
        if written is None:
            left.append(task)
        else:
            yield task, written
    yield from RUNNERS[runner](_step, left)


def _accept(manifest: RunManifest, written: WrittenGroup, task: _Task) -> _Task | None:
    """Add a group, unless it is of another run. If it has ranks that are there already, refuse these, and return the
    task to write the others."""
    group, ranks = written.group, manifest.ranks
    if group is None:
        return None
    if group.run and manifest.run and group.run != manifest.run:
        reason = f"belongs to run {group.run}, the others to run {manifest.run}: write one run at a time"
        manifest.refused |= {one.path: f"{one.path}: {reason}" for one in group.inputs}
        return None
    twice = {one.path: f"rank {one.rank} is in {ranks[one.rank]}" for one in group.inputs if one.rank in ranks}
    manifest.refused |= {path: f"{path}: {where} already: give one of them" for path, where in twice.items()}
    if not twice:
        manifest.groups.append(group)
        return None
    left = [one for one in task.sources if one.path not in manifest.refused]
    return _task(task.folder, left) if left else None


def _is_finished(folder: Path) -> bool:
    """Return whether the last call has made the files of all groups together."""
    files = ("reduced.parquet", reduced_parts.WHOLE, *(f"{table}.parquet" for table in run_tables.SHARED))
    left = (part for table in run_tables.SHARED for part in (folder / table).glob("*.parquet"))
    return all((folder / file).exists() for file in files) and not any(left)


def _finish(folder: Path, manifest: RunManifest) -> None:
    """Remove files of no group, and make the tables and sums that all groups share."""
    names = {group.name for group in manifest.groups}
    for file in (file for place in _FOLDERS for file in (folder / place).glob("group-*.parquet")):
        if file.stem not in names:
            file.unlink()
    connection = engine.connect()
    with engine.reading(folder):
        for table in run_tables.PER_RANK:
            rows = run_tables.rows_of(table, manifest.files(folder, table))
            connection.execute(f"CREATE VIEW {table} AS {rows}")
        reduced_parts.write_sums(connection, folder, names)
        for table, key in run_tables.SHARED_KEYS.items():
            _share(connection, folder, table, key)
    connection.close()
    rmtree(folder / _WRITTEN, ignore_errors=True)
    manifest.groups.sort(key=lambda group: min(one.rank for one in group.inputs))
    manifest.save(folder)


def _share(connection: duckdb.DuckDBPyConnection, folder: Path, table: str, key: str) -> None:
    """Add the rows that new groups have to the one file of a table, each key once."""
    target, parts = folder / f"{table}.parquet", sorted((folder / table).glob("group-*.parquet"))
    if parts:
        rows = run_tables.rows_of(table, [*parts, *([target] if target.exists() else [])])
        run_tables.write_query(connection, f"SELECT DISTINCT ON ({key}) * FROM ({rows}) ORDER BY {key}", target)
        for part in parts:
            part.unlink()


def _file(folder: Path, name: str) -> Path:
    return folder / _WRITTEN / f"{name}.json"


def _listed(sources: Sequence[Source]) -> list[list[Any]]:
    return [[source.path, source.bytes, source.changed] for source in sources]


def _keep(folder: Path, name: str, sources: Sequence[Source], written: WrittenGroup) -> None:
    """Save the result of a group that a task of a job array has written; one more call adds it to the data set."""
    _file(folder, name).parent.mkdir(exist_ok=True)
    document = {"sources": _listed(sources), **asdict(written)}
    write(_file(folder, name), (json.dumps(document) + "\n").encode())


def _kept(folder: Path, name: str, sources: Sequence[Source]) -> WrittenGroup | None:
    """Return the saved result of a group; None if there is no valid one of these inputs as they are."""
    try:
        found = json.loads(_file(folder, name).read_bytes())
        if found["sources"] != _listed(sources):
            return None
        group = run_manifest.group_of(found["group"]) if found["group"] is not None else None
        return WrittenGroup(group, run_manifest.refused_of(found["refused"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
