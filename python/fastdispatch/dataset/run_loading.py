"""What commands read: the sum of the ranks of a data set, one rank of it, or a few recordings as they are. A run
directory of many ranks has its data set inside."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from fastdispatch._core import Error
from fastdispatch.files import inputs, run_directory, run_sources
from fastdispatch.read.rank_rows import RankRow, RankTime, row_of
from fastdispatch.read.trace import PathLike, Steps, Trace, load

#: Run directories of more ranks are read as a data set, which commands write into them.
MANY = run_directory.FEW

#: Recordings in memory at a time, and ranks of a sample.
_AT_ONCE, _SAMPLE = 16, 8

_Each = TypeVar("_Each", int, str)


def load_run(path: PathLike, *, steps: Steps = None, rank: int | None = None, timeline: bool = False) -> Trace:
    """Read what a command shows: the sum of the ranks of a data set or of a run directory of more than 16 ranks, or one
    rank of it; else as :func:`fastdispatch.load`."""
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(path):
        return _of_dataset(path, Path(path), steps, rank, timeline)
    recordings = run_sources.recordings(path)
    if len(recordings) <= MANY or isinstance(steps, tuple):
        return load(path, steps=steps, timeline=timeline)
    if rank is not None:
        chosen = [each for each in recordings if inputs.rank_in_header(each) == rank]
        return load(chosen or path, steps=steps, timeline=timeline)
    from fastdispatch.dataset.write_dataset import written_in

    return _of_dataset(path, written_in(path, recordings), steps, None, timeline)


def _of_dataset(path: PathLike, folder: Path, steps: Steps, rank: int | None, timeline: bool) -> Trace:
    from fastdispatch.dataset import reduced_parts

    if rank is not None:
        with recordings_of(path, [rank]) as found:
            made = load(list(found), steps=steps, timeline=timeline)
        made.sources = list(found.values())
        return made
    if isinstance(steps, tuple):
        raise Error(f"{os.fspath(path)}: --steps needs one rank of a data set: add --rank N")
    made = reduced_parts.load_sum(folder, settled=steps is not None)
    made.sources = [path]
    return made


def _dataset_of(path: PathLike) -> Path | None:
    """Return the data set that the sum of a run was read from."""
    from fastdispatch.dataset import run_manifest

    places = (Path(path), Path(path) / run_manifest.IN_RUN)
    return next((place for place in places if run_manifest.is_dataset(place)), None)


def load_each(path: PathLike, ranks: Sequence[int], *, steps: Steps = None) -> Trace:
    """Read these ranks separately, of a run directory of few ranks all."""
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(path):
        with recordings_of(path, sorted(set(ranks))) as found:
            return load(list(found), steps=steps)
    recordings = run_sources.recordings(path)
    chosen = [each for each in recordings if inputs.rank_in_header(each) in ranks] if len(recordings) > MANY else []
    return load(chosen or path, steps=steps)


def load_some(path: PathLike, *, steps: Steps = None) -> Iterator[Trace]:
    """Yield all ranks of a run, few at a time: of a data set or of a run directory of many ranks. Others are one
    trace."""
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(path):
        for some in _parts_of(sorted(run_manifest.load(path).ranks)):
            with recordings_of(path, some) as found:
                yield load(list(found), steps=steps)
        return
    recordings = run_sources.recordings(path)
    several = _parts_of(recordings) if len(recordings) > MANY else [path]
    yield from (load(some, steps=steps) for some in several)


def _parts_of(every: list[_Each]) -> Iterator[list[_Each]]:
    return (every[first : first + _AT_ONCE] for first in range(0, len(every), _AT_ONCE))


def rank_rows(trace: Trace) -> list[RankRow]:
    """Return the steps of each rank of a trace, also of the sum of a data set; none of a dump of one, or without DuckDB
    or with lost files."""
    about = trace.reduced
    if about is None:
        return list(map(row_of, trace.ranks))
    if not trace.rank_rows and len(trace.sources) == 1 and (folder := _dataset_of(trace.sources[0])) is not None:
        from fastdispatch.dataset.rank_steps import rank_rows as of_dataset

        with suppress(Error):
            trace.rank_rows = of_dataset(folder, [int(number) for number in about["latest"]])
    return trace.rank_rows


def rank_times(trace: Trace, context: int) -> list[RankTime]:
    """Return the self time of a call path on every rank of the sum of a data set. Empty where :func:`rank_rows` is."""
    if len(trace.sources) == 1 and (folder := _dataset_of(trace.sources[0])) is not None:
        from fastdispatch.dataset.rank_steps import rank_times as of_dataset

        with suppress(Error):
            return of_dataset(folder, trace.columns("contexts"), context)
    return []


def one_rank(trace: Trace, rank: int) -> Trace | None:
    """Return the whole recording of a rank of a sum of ranks, or the file that has it with others; None if it is
    gone."""
    try:
        one = load_run(trace.sources[0], rank=rank) if len(trace.sources) == 1 else None
    except Error:
        return None
    return one if one is not None and any(each["rank"] == rank for each in one.ranks) else None


def sample_of(path: PathLike, steps: Steps) -> Trace | None:
    """Return some ranks of a run of many, evenly spread; None if their recordings are gone."""
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(path):
        paths = [each for _, each in sorted(run_manifest.load(path).ranks.items())]
    else:
        paths = run_sources.recordings(path)
    chosen = paths[:: max(len(paths) // _SAMPLE, 1)][:_SAMPLE]
    try:
        return load(chosen, steps=steps) if chosen else None
    except Error:
        return None


@contextmanager
def recordings_of(path: PathLike, ranks: Iterable[int]) -> Iterator[dict[str, str]]:
    """Yield local files with the recordings of ranks, and the paths that the data set has of them. Raises Error for
    ranks that it does not have, and for recordings that are gone."""
    from fastdispatch.dataset import run_manifest

    manifest, name = run_manifest.load(path), os.fspath(path)
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
