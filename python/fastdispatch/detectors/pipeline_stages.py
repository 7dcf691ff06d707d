"""Stages of a pipeline, for detectors that compare ranks or analyze jobs."""

from __future__ import annotations

from fastdispatch._core import Error
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.rank_figures import RankFigures
from fastdispatch.pipeline.report import PipelineReport, report
from fastdispatch.text.formats import seconds

_NONE = "no jobs of a pipeline were recorded"


def analysis(steps: MeasuredSteps) -> PipelineReport | str:
    """Return the report of the pipeline, or the reason why not."""
    try:
        made = report(steps.trace)
    except ModuleNotFoundError as error:
        return f"jobs of a pipeline need the package {error.name}: pip install 'fastdispatch[view]'"
    except Error:
        return _NONE
    return made if made.table else _NONE


def mean_of(made: PipelineReport, *parts: str) -> float:
    """Return the time of parts of a step, mean of the stages, ns."""
    return float(sum(row[part] for row in made.table for part in parts) / len(made.table))


def without_core(steps: MeasuredSteps) -> str:
    return f"main threads had no core for up to {seconds(max(steps.queued.values()))} of a step"


def stage_jobs(steps: MeasuredSteps) -> list[int]:
    """Return the paths of forward jobs that the program marks."""
    return [row for row in range(len(steps.paths["node"])) if steps.kind(row) == "job" and steps.key(row) == "forward"]


def same_stage(steps: MeasuredSteps, figures: list[RankFigures]) -> list[list[RankFigures]]:
    """Group ranks by their stage: ranks of different stages have different work by design. Without a pipeline they are
    one group."""
    stages: dict[int, int] = {}
    for index, rank in enumerate(steps.trace.ranks):
        known = rank["meta"].get("coordinates")
        place = known.get("pipe") if isinstance(known, dict) else None
        marked = [stage for stage in steps.trace.core.columns("jobs", index)["stage"] if stage >= 0]
        stages[rank["rank"]] = place if isinstance(place, int) else min(marked, default=-1)
    groups: dict[int, list[RankFigures]] = {}
    for one in figures:
        groups.setdefault(stages[one.rank], []).append(one)
    return list(groups.values())
