"""Overview of the page: the time of a step by phase, findings, hottest paths, phases and steps of each rank."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fastdispatch.dataset.run_loading import rank_rows
from fastdispatch.detectors import Findings
from fastdispatch.read.processes import processes
from fastdispatch.read.rank_rows import COORDINATES, RankRow
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.read.waiting import PARTS, PhaseSplit
from fastdispatch.report.processes_text import lines
from fastdispatch.report.report_facts import Facts
from fastdispatch.report.report_gpu import gpu_sentence
from fastdispatch.report.report_lines import overload
from fastdispatch.report.report_paths import paths

_PATHS = 12  # hottest paths

#: Maximum number of figures (ranks x paths) that are read for the parts of each rank; above, phases only.
_MOST_FIGURES = 2_000_000


def block_of(trace: Trace, about: Facts, found: Findings) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Return values and tables of the block "data-overview"."""
    split = PhaseSplit(trace, about.whole_role)
    times = {phase.phase: phase.per_step if about.step else phase.self for phase in about.phases}
    values = {
        "per": "step" if about.step else "recording",
        "gpu": gpu_sentence(about.gpu) if about.gpu is not None else "",
        "rank_count": number_of_ranks(trace.ranks),
        "parts": split.parts(times, trace.contexts),
        "window": None if about.window is None else about.window.text,
        "overload": overload(about),
        "findings": [asdict(finding) for finding in found],
        "processes": list(lines(processes(trace.sources[0], trace))) if len(trace.sources) == 1 else [],
        "not_decided": [asdict(each) for each in found.not_decided],
        "paths": asdict(paths(trace, None, about.whole_role, _PATHS, about.weight)),
    }
    rows = rank_rows(trace)
    values["ranks_per_row"] = max((row.ranks for row in rows), default=1)
    return values, {"ranks": _ranks(trace, rows, split), "steps": _steps(rows)}


def _ranks(trace: Trace, rows: Sequence[RankRow], split: PhaseSplit) -> Columns:
    """Return rank, host, coordinates and parts of each row; of a sum of ranks the parts are phases."""
    parts = _parts_of_ranks(trace, rows, split)
    return {
        "rank": [row.rank for row in rows],
        "host": [row.host for row in rows],
        **{f"at_{name}": [row.place[i] for row in rows] for i, name in enumerate(COORDINATES)},
        **{name: [each[name] for each in parts] for name in PARTS},
    }


def _parts_of_ranks(trace: Trace, rows: Sequence[RankRow], split: PhaseSplit) -> list[dict[str, int]]:
    if trace.reduced is not None:
        return [dict.fromkeys(PARTS, 0) | row.phases for row in rows]
    detailed = len(trace.ranks) * len(trace.contexts["node"]) <= _MOST_FIGURES
    found = []
    for index, row in enumerate(rows):
        contexts = trace.core.contexts(index) if detailed else None
        found.append(split.parts(row.phases if any(row.phases.values()) else split.phases(contexts), contexts))
    return found


def _steps(rows: Sequence[RankRow]) -> Columns:
    """Return the latest steps of each row, in microseconds."""
    found = [(index, number, time // 1000) for index, row in enumerate(rows) for number, time in row.steps.items()]
    return {name: [each[i] for each in found] for i, name in enumerate(("rank", "number", "time"))}
