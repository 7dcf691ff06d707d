"""What commands read: a run of many ranks as a reduced merge, one rank of it, or a few recordings as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fastdispatch import _core
from fastdispatch.dataset.reduced import AT_ONCE, of_many
from fastdispatch.files import run_directory
from fastdispatch.read import privacy
from fastdispatch.read.rank_rows import RankRow, RankTime, row_of
from fastdispatch.read.trace import PathLike, Steps, Trace, load

#: Run directories of more ranks are read as a reduced merge.
MANY = 16

#: Ranks of a sample.
_SAMPLE = 8


def load_run(path: PathLike, *, steps: Steps = None, rank: int | None = None, timeline: bool = False) -> Trace:
    """Read what a command shows: a data set or a run directory of more than 16 ranks as a reduced merge, or one rank of
    it; else as :func:`fastdispatch.load`."""
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(path):
        made = _of_dataset(path, steps, rank, timeline)
        made.sources = made.sources or [path]
        return made
    recordings = recordings_in(path)
    gathered = _gathered(path, len(recordings), settled=steps == "settled") if rank is None else None
    if gathered is not None:
        return gathered
    if len(recordings) <= MANY or isinstance(steps, tuple):
        return load(path, steps=steps, timeline=timeline)
    if rank is not None:
        from fastdispatch.files.inputs import rank_in_header

        chosen = [each for each in recordings if rank_in_header(each) == rank]
        return load(chosen or path, steps=steps, timeline=timeline)
    try:
        made = of_many(recordings, steps)
    except _core.Error:
        return load(path, steps=steps, timeline=timeline)  # it skips files that cannot be read
    made.sources = [path]
    return made


def _gathered(path: PathLike, recordings: int, *, settled: bool) -> Trace | None:
    """Return the reduced merge of ranks that were gathered in a run directory, if it has more than the directory has
    recordings."""
    from fastdispatch.dataset.reduced_parts import load_gathered
    from fastdispatch.files.run_directory import GATHERED

    folder = Path(path) / GATHERED
    if not folder.is_dir():
        return None
    made = load_gathered(folder, settled=settled)
    about = made.reduced if made is not None else None
    if made is None or about is None or sum(last - first + 1 for first, last in about["ranks"]) <= recordings:
        return None
    if made.meta.get("run_id") != run_directory.run_of(Path(path)):
        return None
    rows = made.rank_rows
    made = Trace(privacy.apply(made.core))
    made.sources = [path]
    made.rank_rows = rows if privacy.requested() is None else [replace(row, host="") for row in rows]
    return made


def load_each(path: PathLike, ranks: Sequence[int], *, steps: Steps = None) -> Trace:
    """Read these ranks separately, of a run directory of few ranks all."""
    from fastdispatch.dataset import reduced_parts, run_manifest
    from fastdispatch.files.inputs import rank_in_header

    if not run_manifest.is_dataset(path):
        recordings = recordings_in(path)
        chosen = [each for each in recordings if rank_in_header(each) in ranks] if len(recordings) > MANY else []
        return load(chosen or path, steps=steps)
    with reduced_parts.recordings_of(path, sorted(set(ranks))) as found:
        return load(list(found), steps=steps)


def load_some(path: PathLike, *, steps: Steps = None) -> Iterator[Trace]:
    """Yield all ranks of a run, few at a time: of a data set or of a run directory of many ranks. Others are one
    trace."""
    from fastdispatch.dataset import reduced_parts, run_manifest

    if run_manifest.is_dataset(path):
        ranks = sorted(run_manifest.load(path).ranks)
        for first in range(0, len(ranks), AT_ONCE):
            with reduced_parts.recordings_of(path, ranks[first : first + AT_ONCE]) as found:
                yield load(list(found), steps=steps)
        return
    recordings = recordings_in(path)
    if len(recordings) <= MANY:
        yield load(path, steps=steps)
        return
    for first in range(0, len(recordings), AT_ONCE):
        yield load(recordings[first : first + AT_ONCE], steps=steps)


def rank_rows(trace: Trace) -> list[RankRow]:
    """Return the steps of each rank of a trace, also of a reduced merge of recordings, of a data set, or of a gathered
    one; none of a dump of one, or of a data set without DuckDB or with lost files."""
    about = trace.reduced
    if about is None:
        return list(map(row_of, trace.ranks))
    if trace.rank_rows or len(trace.sources) != 1:
        return trace.rank_rows
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(trace.sources[0]):
        from fastdispatch.dataset.rank_steps import rank_rows as of_dataset

        with suppress(_core.Error):
            trace.rank_rows = of_dataset(trace.sources[0], [int(number) for number in about["latest"]])
    return trace.rank_rows


def rank_times(trace: Trace, context: int) -> list[RankTime]:
    """Return the self time of a call path on every rank of a data set; of other reduced merges of recordings the ranks
    without times. Empty where :func:`rank_rows` is."""
    from fastdispatch.dataset import run_manifest

    if len(trace.sources) == 1 and run_manifest.is_dataset(trace.sources[0]):
        from fastdispatch.dataset.rank_steps import rank_times as of_dataset

        with suppress(_core.Error):
            return of_dataset(trace.sources[0], trace.columns("contexts"), context)
    rows = [row for row in trace.rank_rows if row.ranks == 1]
    return [RankTime(row.rank, row.host, row.place, 0) for row in rows]


def one_rank(trace: Trace, rank: int) -> Trace | None:
    """Return the whole recording of a rank of a reduced merge, or the file that has it with others; None if it is
    gone."""
    try:
        one = load_run(trace.sources[0], rank=rank) if len(trace.sources) == 1 else None
    except _core.Error:
        return None
    return one if one is not None and any(each["rank"] == rank for each in one.ranks) else None


def sample_of(path: PathLike, steps: Steps) -> Trace | None:
    """Return some ranks of a run of many, evenly spread; None if their recordings are gone."""
    from fastdispatch.dataset import run_manifest

    if run_manifest.is_dataset(path):
        paths = [each for _, each in sorted(run_manifest.load(path).ranks.items())]
    else:
        paths = recordings_in(path)
    chosen = paths[:: max(len(paths) // _SAMPLE, 1)][:_SAMPLE]
    try:
        return load(chosen, steps=steps) if chosen else None
    except _core.Error:
        return None


def recordings_in(path: PathLike) -> list[str]:
    """Return the recordings of the manifest of a run directory, empty for other inputs."""

    try:
        folder = Path(path)
        found = [folder / each["file"] for each in run_directory.entries(folder)] if folder.is_dir() else []
        return sorted(map(str, found or folder.glob("rank*.fd"))) or sorted(map(str, folder.glob("rank*.json")))
    except (_core.Error, OSError):
        return []


def _of_dataset(path: PathLike, steps: Steps, rank: int | None, timeline: bool) -> Trace:
    from fastdispatch.dataset import reduced_parts

    if rank is not None:
        with reduced_parts.recordings_of(path, [rank]) as found:
            made = load(list(found), steps=steps, timeline=timeline)
        made.sources = list(found.values())
        return made
    if isinstance(steps, tuple):
        raise _core.Error(f"{privacy.shown(os.fspath(path))}: --steps needs one rank of a data set: add --rank N")
    return reduced_parts.load_reduced(path, settled=steps is not None)
