"""Reduced merges: the ranks of a run as one, with the spread over ranks. The size does not depend on their number.

Per call path the core sums and compares (csrc/columns/rank_reduction.h). What belongs to a rank as a whole is the fact
``reduced``, a dict that :func:`combined` adds up: whatever the order, the result is the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastdispatch import _core
from fastdispatch.read import privacy
from fastdispatch.read import steps as steps_of_ranks
from fastdispatch.read.rank_rows import RankRow, RankTime, folded, row_of
from fastdispatch.read.trace import PathLike, Steps, Trace, load

#: Commands read a run directory of more ranks as a reduced merge, this many recordings at a time.
MANY, _AT_ONCE = 16, 16

#: Ranks of a sample.
_SAMPLE = 8

#: Steps that are kept, the latest; and numbers of ranks in a list.
_STEPS, _LISTED = 256, 64

About = dict[str, Any]


def about_of(trace: Trace) -> About:
    """Return the description of the ranks of a trace."""
    found = [_about_rank(rank) for rank in trace.ranks]
    return combined(found)


def _about_rank(rank: Mapping[str, Any]) -> About:
    if steps_of_ranks.REDUCED in rank["meta"]:
        made: About = rank["meta"][steps_of_ranks.REDUCED]
        return made
    number = rank["rank"]
    window = steps_of_ranks.window_of([rank])
    steps = rank["latest_steps"]
    kept = steps_of_ranks.kept_steps(rank)
    times = {str(steps["number"][row]): [1, *(steps[phase][row] for phase in steps_of_ranks.PHASES)] for row in kept}
    ended = rank["steps"] if rank["window"] is None else rank["marks"]["steps"][-1]
    return {
        "ranks": [[number, number]],
        "world": rank["world"],
        "recorded": [rank["recorded"], rank["recorded"]],
        "ended": [ended, ended],
        "states": {rank["state"]: [1, [number]]},
        "incomplete": [0, []] if rank["complete"] else [1, [number]],
        "undecided": "" if rank["window"] is not None else steps_of_ranks.undecided([rank]),
        "window": None if window is None else vars(window) | {"slower": round(1000 * window.slower)},
        "parts": [[part.name, part.steps, part.time, 1] for part in steps_of_ranks.parts([rank])],
        "latest": times,
    }


def combined(found: Sequence[About]) -> About:
    """Add up descriptions. Raises Error if a rank is in two of them."""
    made: About = {}
    for one in found:
        made = _both(made, one) if made else one
    return made


def _both(a: About, b: About) -> About:
    states = {name: _listed(a["states"].get(name), b["states"].get(name)) for name in {**a["states"], **b["states"]}}
    return {
        "ranks": _spans([*a["ranks"], *b["ranks"]]),
        "world": max(a["world"], b["world"]),
        **{name: [min(a[name][0], b[name][0]), max(a[name][1], b[name][1])] for name in ("recorded", "ended")},
        "states": dict(sorted(states.items())),
        "incomplete": _listed(a["incomplete"], b["incomplete"]),
        "undecided": min(filter(None, (a["undecided"], b["undecided"])), default=""),
        "window": _windows(a["window"], b["window"]),
        "parts": _parts(a["parts"], b["parts"]),
        "latest": _latest(a["latest"], b["latest"]),
    }


def _spans(spans: list[list[int]]) -> list[list[int]]:
    made: list[list[int]] = []
    for first, last in sorted(spans):
        if made and first <= made[-1][1]:
            raise _core.Error(f"rank {first} has two recordings: give one of them")
        if made and first == made[-1][1] + 1:
            made[-1][1] = last
        else:
            made.append([first, last])
    return made


def _listed(a: list[Any] | None, b: list[Any] | None) -> list[Any]:
    """Add numbers of ranks, and lists of the lowest of them."""
    found = [each for each in (a, b) if each is not None]
    return [sum(each[0] for each in found), sorted(rank for each in found for rank in each[1])[:_LISTED]]


def _windows(a: About | None, b: About | None) -> About | None:
    if a is None or b is None:
        return None
    made = {name: max(a[name], b[name]) for name in ("last", "steps", "ended", "slower", "varying")}
    made |= {name: min(a[name], b[name]) for name in ("first", "skipped", "settled")}
    return made | {"varying": made["varying"] and made["settled"]}


def _parts(a: list[list[Any]], b: list[list[Any]]) -> list[list[Any]]:
    if not a or not b:
        return []
    return [
        [one[0], max(one[1], other[1]), one[2] + other[2], one[3] + other[3]] for one, other in zip(a, b, strict=True)
    ]


def _latest(a: dict[str, list[int]], b: dict[str, list[int]]) -> dict[str, list[int]]:
    made = {number: list(times) for number, times in a.items()}
    for number, times in b.items():
        made[number] = [x + y for x, y in zip(made[number], times, strict=True)] if number in made else list(times)
    kept = sorted(made, key=int)[-_STEPS:]
    return {number: made[number] for number in kept}


def reduced(traces: Sequence[Trace]) -> Trace:
    """Return the ranks of traces, which may be reduced themselves, as one. Raises Error for a rank that is in two."""
    about = combined([about_of(trace) for trace in traces])
    text = json.dumps(about, sort_keys=True, separators=(",", ":"))
    return Trace(traces[0].core.reduced(tuple(trace.core for trace in traces[1:]), text))


def of_many(paths: Sequence[str], steps: Steps) -> Trace:
    """Return recordings as one, with few of them in memory. If the settled steps of some are not decided, the figures
    of all are of the whole recording."""
    made: Trace | None = None
    rows: list[RankRow] = []
    for first in range(0, len(paths), _AT_ONCE):
        some = load(paths[first : first + _AT_ONCE], steps=steps)
        if steps == "settled" and some.window is None:
            return of_many(paths, None)
        rows += map(row_of, some.ranks)
        made = reduced([some] if made is None else [made, some])
    assert made is not None
    rows.sort(key=lambda row: row.rank)
    made.rank_rows = folded(rows, rows[-1].rank)
    return made


def rank_rows(trace: Trace) -> list[RankRow]:
    """Return the steps of each rank of a trace, also of a reduced merge of recordings or of a data set; none of a
    reduced merge that ranks have sent, of a dump of one, or of a data set without DuckDB or with lost files."""
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
        from fastdispatch.dataset.inputs import rank_in_header

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
    from fastdispatch.record import files
    from fastdispatch.record.gather import FOLDER

    folder = Path(path) / FOLDER
    if not folder.is_dir():
        return None
    made = load_gathered(folder, settled=settled)
    about = made.reduced if made is not None else None
    if made is None or about is None or sum(last - first + 1 for first, last in about["ranks"]) <= recordings:
        return None
    if made.meta.get("run_id") != files.run_of(Path(path)):
        return None
    made = Trace(privacy.apply(made.core))
    made.sources = [path]
    return made


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


def load_each(path: PathLike, ranks: Sequence[int], *, steps: Steps = None) -> Trace:
    """Read these ranks separately, of a run directory of few ranks all."""
    from fastdispatch.dataset import reduced_parts, run_manifest
    from fastdispatch.dataset.inputs import rank_in_header

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
        for first in range(0, len(ranks), _AT_ONCE):
            with reduced_parts.recordings_of(path, ranks[first : first + _AT_ONCE]) as found:
                yield load(list(found), steps=steps)
        return
    recordings = recordings_in(path)
    if len(recordings) <= MANY:
        yield load(path, steps=steps)
        return
    for first in range(0, len(recordings), _AT_ONCE):
        yield load(recordings[first : first + _AT_ONCE], steps=steps)


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
    from fastdispatch.record import files

    try:
        folder = Path(path)
        found = [folder / each["file"] for each in files.entries(folder)] if folder.is_dir() else []
        return sorted(map(str, found or folder.glob("rank*.fd")))
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
