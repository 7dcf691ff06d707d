"""The reduced merge of a data set: a part per group of ranks, and the sum of all (docs/formats/columns.md)."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.dataset import run_manifest, run_tables
from fastdispatch.dataset.reduced import About, reduced
from fastdispatch.dataset.runners import RUNNERS
from fastdispatch.files import inputs
from fastdispatch.read import privacy
from fastdispatch.read.rank_rows import RankRow, folded, row_of
from fastdispatch.read.trace import PathLike, Trace, load

#: Folder of the parts and names of the sums, of settled steps and of whole recordings.
FOLDER, SETTLED, WHOLE = "parts", "settled.json.gz", "whole.json.gz"

#: The steps of each rank (read/rank_rows.py), of ranks that send their reduced merge.
RANKS = "ranks.json.gz"

#: Two thirds of the time of level 6, for 4 % more.
_LEVEL = 5

#: Parts that one task adds up.
_AT_ONCE = 8


def part_of_whole(name: str) -> str:
    """Return the path of the part that every group has."""
    return f"{FOLDER}/{name}.{WHOLE}"


def write_parts(folder: Path, name: str, whole: Trace) -> None:
    """Write the parts of a group. That of settled steps is missing if they are not decided for each of its ranks."""
    (folder / FOLDER).mkdir(exist_ok=True)
    _save(reduced([whole]), folder / part_of_whole(name))
    target, settled = folder / FOLDER / f"{name}.{SETTLED}", Trace(whole.core.settled())
    if settled.window is None:
        target.unlink(missing_ok=True)
    else:
        _save(reduced([settled]), target)


@dataclass(frozen=True)
class _Summands:
    kind: str
    parts: tuple[Path, ...]


def write_sums(folder: Path, names: Iterable[str], runner: str = "processes") -> None:
    """Add up the parts of all groups, some of them per task of a runner, and remove those of others."""
    known = sorted(names)
    for part in (folder / FOLDER).glob("*.gz"):
        if part.name.removesuffix(f".{SETTLED}").removesuffix(f".{WHOLE}") not in known:
            part.unlink()
    tasks = []
    for kind in (SETTLED, WHOLE):
        parts = [folder / FOLDER / f"{name}.{kind}" for name in known]
        if all(part.exists() for part in parts):
            tasks += [_Summands(kind, tuple(parts[at : at + _AT_ONCE])) for at in range(0, len(parts), _AT_ONCE)]
        else:
            (folder / kind).unlink(missing_ok=True)
    _write_sums(folder, tasks, runner)


def _write_sums(folder: Path, tasks: list[_Summands], runner: str) -> None:
    if len({task.kind for task in tasks}) == len(tasks):
        for task in tasks:
            _save(_sum(task), folder / task.kind)
        return
    sums: dict[str, Trace] = {}
    for task, content in RUNNERS[runner](_packed_sum, tasks):
        more = _unpacked(content)
        sums[task.kind] = reduced([sums[task.kind], more]) if task.kind in sums else more
    for kind, trace in sums.items():
        _save(trace, folder / kind)


def _sum(task: _Summands) -> Trace:
    made = _load(task.parts[0])
    for part in task.parts[1:]:
        made = reduced([made, _load(part)])
    return made


def _packed_sum(task: _Summands) -> bytes:
    return _packed(_sum(task))


class Parts:
    """Reduced merges of settled steps and of whole recordings that others are added to; ``folder`` is for files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums: dict[str, Trace | None] = {}
        self._rows: list[RankRow] = []

    @property
    def ranks(self) -> set[int]:
        """The ranks that have been added."""
        return {rank for first, last in self._about().get("ranks", []) for rank in range(first, last + 1)}

    def _about(self) -> About:
        """Return the description of the ranks, empty without one."""
        whole = self._sums.get(WHOLE)
        return (whole.reduced if whole is not None else None) or {}

    def add_recording(self, path: str) -> None:
        whole = load(path)
        settled = Trace(whole.core.settled())
        decided = settled.window is not None
        self._add({WHOLE: whole, SETTLED: settled if decided else None})
        self._add_rows(map(row_of, (settled if decided else whole).ranks))

    def add(self, contents: Mapping[str, bytes]) -> None:
        """Add what :meth:`contents` returned, on this or another rank."""
        for name, content in contents.items():
            (self._folder / name).write_bytes(content)
        self._add({kind: _load(self._folder / kind) if kind in contents else None for kind in (SETTLED, WHOLE)})
        self._add_rows(_load_rows(self._folder / RANKS))

    def _add_rows(self, rows: Iterable[RankRow]) -> None:
        found = sorted([*self._rows, *rows], key=lambda row: row.rank)
        self._rows = folded(found, max(self._about()["world"] - 1, found[-1].rank if found else 0))

    def _add(self, found: Mapping[str, Trace | None]) -> None:
        """Without settled steps of one rank, the sum has none."""
        for kind, trace in found.items():
            known = self._sums.get(kind)
            if kind not in self._sums:
                self._sums[kind] = None if trace is None else reduced([trace])
            elif trace is not None and known is not None:
                self._sums[kind] = reduced([known, trace])
            else:
                self._sums[kind] = None

    def write(self, folder: Path) -> None:
        """Write the sums to the files of a data set."""
        for kind in (SETTLED, WHOLE):
            trace = self._sums.get(kind)
            if trace is not None:
                _save(trace, folder / kind)
            else:
                (folder / kind).unlink(missing_ok=True)
        rows = json.dumps([vars(row) for row in self._rows], separators=(",", ":"))
        _replace(folder / RANKS, gzip.compress(rows.encode(), _LEVEL, mtime=0))

    def contents(self) -> dict[str, bytes]:
        """Return the contents of these files."""
        self.write(self._folder)
        kinds = [kind for kind, trace in self._sums.items() if trace is not None]
        return {name: (self._folder / name).read_bytes() for name in (*kinds, RANKS)}


def load_gathered(folder: Path, *, settled: bool) -> Trace | None:
    """Return the reduced merge that ranks have sent (record/gather.py); None if a folder has none."""
    for kind in (SETTLED, WHOLE) if settled else (WHOLE,):
        if (folder / kind).is_file():
            made = _load(folder / kind)
            made.rank_rows = _load_rows(folder / RANKS)
            return made
    return None


def _packed(trace: Trace) -> bytes:
    """Return a trace as compressed JSON."""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-") as name:
        plain = Path(name) / "trace.json"
        trace.dump(plain)
        return gzip.compress(plain.read_bytes(), _LEVEL, mtime=0)


def _unpacked(content: bytes) -> Trace:
    """Return what :func:`_packed` was given. Raises OSError, EOFError, zlib.error or Error for damaged contents."""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-") as name:
        plain = Path(name) / "trace.json"
        plain.write_bytes(gzip.decompress(content))
        return Trace(_core.Trace([plain]))  # names are as merge wrote them


def _save(trace: Trace, target: Path) -> None:
    """Write a trace as compressed JSON, atomically."""
    _replace(target, _packed(trace))


def _replace(target: Path, content: bytes) -> None:
    partial = target.with_suffix(run_tables.PARTIAL)
    partial.write_bytes(content)
    partial.replace(target)


def _load(part: Path) -> Trace:
    """Read what :func:`_save` wrote. Raises Error for a damaged file."""
    try:
        return _unpacked(part.read_bytes())
    except (OSError, EOFError, zlib.error, ValueError, Error):
        raise Error(f"{part}: damaged: remove the data set and run fastdispatch merge again") from None


def _load_rows(file: Path) -> list[RankRow]:
    """Return the steps of each rank; empty without a file. Raises Error for a damaged one."""
    try:
        rows = json.loads(gzip.decompress(file.read_bytes()))
        return [
            RankRow(**row | {"place": tuple(row["place"]), "steps": {int(n): t for n, t in row["steps"].items()}})
            for row in rows
        ]
    except FileNotFoundError:
        return []
    except (OSError, EOFError, zlib.error, ValueError, TypeError, AttributeError, KeyError):
        raise Error(f"{file}: damaged: remove it to read the rest") from None


def load_reduced(path: PathLike, *, settled: bool) -> Trace:
    """Return the reduced merge of a data set: of settled steps if they are decided for all ranks, else of the whole
    recordings. Raises Error if it has none."""
    run_manifest.load(path)
    name = privacy.shown(os.fspath(path))
    if privacy.requested() is not None:
        raise Error(f"{name}: names in a data set cannot be changed: give --anonymize and --strip-prefix to merge")
    made = load_gathered(Path(path), settled=settled)
    if made is not None:
        return made
    raise Error(f"{name}: no reduced merge in this data set: run fastdispatch merge RUN -o {name} again")


@contextmanager
def recordings_of(path: PathLike, ranks: Iterable[int]) -> Iterator[dict[str, str]]:
    """Yield local files with the recordings of ranks, and the paths that the data set has of them. Raises Error for
    ranks that it does not have, and for recordings that are gone."""
    manifest = run_manifest.load(path)
    name = privacy.shown(os.fspath(path))
    with ExitStack() as copies:
        found = {}
        for rank in ranks:
            recording = manifest.ranks.get(rank)
            if recording is None:
                raise Error(f"{name}: no rank {rank} in this data set, which has {len(manifest.ranks)} ranks")
            found[_copy(copies, recording, rank, name)] = recording
        yield found


def _copy(copies: ExitStack, recording: str, rank: int, name: str) -> str:
    instead = f"its figures are in the data set: fastdispatch sql {name} 'from figures where rank = {rank}'"
    try:
        local = copies.enter_context(inputs.local_copy(recording))
    except Error as error:
        raise Error(f"{error}: the recording of rank {rank}; {instead}") from None
    if not os.path.exists(local):
        raise Error(f"{recording}: the recording of rank {rank} was removed; {instead}")
    return local
