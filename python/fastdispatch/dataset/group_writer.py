"""One group of ranks: from recordings to one Parquet file per table. Runs in a worker process."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from fastdispatch._core import Error
from fastdispatch.dataset import engine, reduced_parts, run_tables
from fastdispatch.dataset.run_manifest import PartGroup, RecordedRank
from fastdispatch.files.inputs import Source, local_copy, rank_in_header
from fastdispatch.read.trace import Trace, load, reporting_incomplete


@dataclass
class WrittenGroup:
    """A written group, None if no input could be read; refused inputs with their reasons."""

    group: PartGroup | None
    refused: dict[str, str] = field(default_factory=dict)


def files_of(name: str) -> set[str]:
    """Return the files that every group of this name has, relative to the folder of the data set."""
    return {*(f"{table}/{name}.parquet" for table in run_tables.PER_RANK), reduced_parts.part_of_whole(name)}


def write_group(folder: Path, name: str, sources: list[Source]) -> WrittenGroup:
    """Write the tables of a group. An input that cannot be read, or does not fit to the others, is refused."""
    refused: dict[str, str] = {}
    with ExitStack() as copies, reporting_incomplete(None):
        local: dict[str, Source] = {}
        for source in sources:
            try:
                local[copies.enter_context(local_copy(source.path))] = source
            except Error as error:
                refused[source.path] = str(error)
        trace, kept = _load(local, refused)
        if trace is None:
            return WrittenGroup(None, refused)
        reduced_parts.write_parts(folder, name, trace)
        _write(folder, name, trace)
    run = str(trace.meta.get("run_id") or "")
    damage = {rank["rank"]: "; ".join(rank["notes"]) or "damaged" for rank in trace.ranks if not rank["complete"]}
    inputs = [
        RecordedRank(source.path, source.bytes, source.changed, rank, damage.get(rank, ""))
        for rank, source in sorted(kept.items())
    ]
    world = max(rank["world"] for rank in trace.ranks)
    return WrittenGroup(PartGroup(name, run, inputs, world), refused)


def _load(local: dict[str, Source], refused: dict[str, str]) -> tuple[Trace | None, dict[int, Source]]:
    """Load as many of the files as fit together; most often all."""
    ranks = {rank_in_header(path): source for path, source in local.items()}
    if len(ranks) == len(local) and None not in ranks:
        try:
            return load(list(local)), {rank: source for rank, source in ranks.items() if rank is not None}
        except Error:
            pass  # find the inputs that do not fit
    return _load_one_by_one(local, refused)


def _load_one_by_one(local: dict[str, Source], refused: dict[str, str]) -> tuple[Trace | None, dict[int, Source]]:
    ranks: dict[int, Source] = {}
    good: list[str] = []
    for path, source in local.items():
        try:
            found = [entry["rank"] for entry in load(path).ranks]
            for rank in found:
                if rank in ranks:
                    raise Error(f"{path}: rank {rank} is in {ranks[rank].path} already: give one of them")
            if good:
                load([good[0], path])  # raises Error for two runs
        except Error as error:
            refused[source.path] = str(error).replace(path, source.path)
            continue
        good.append(path)
        ranks |= dict.fromkeys(found, source)
    return (load(good) if good else None), ranks


def _write(folder: Path, name: str, trace: Trace) -> None:
    connection = engine.connect(threads=1)
    with engine.one_line(str(folder)):
        run_tables.view(connection, trace)
        for table in (*run_tables.SHARED, *run_tables.PER_RANK):
            target = folder / table / f"{name}.parquet"
            target.parent.mkdir(exist_ok=True)
            run_tables.write_table(connection, table, target)
    connection.close()
