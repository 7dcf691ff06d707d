"""``pipeline-bubble``: equal stages of a pipeline are idle: too few micro-batches, or waits for transfers."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.detectors.pipeline_stages import analysis, mean_of, without_core
from fastdispatch.pipeline.report import WAITING, PipelineReport
from fastdispatch.text.formats import percent, seconds

ID = "pipeline-bubble"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    made = analysis(steps)
    if isinstance(made, str):
        yield NotDecided(ID, made)
    elif made.engine is None or len(made.table) < 2 or not made.step:
        yield NotDecided(ID, "no pipeline of an engine was recorded")
    elif made.schedule["name"] is None:
        yield NotDecided(ID, "the order of the jobs matches no known schedule")
    else:
        yield from _of_schedule(steps, made)
        yield from _of_transfers(steps, made)


def _of_schedule(steps: MeasuredSteps, made: PipelineReport) -> Iterator[Finding | NotDecided]:
    """Equal stages with free transfers are idle as well: while the pipeline fills and drains."""
    schedule, ideal = made.schedule, made.schedule["ideal"]
    count, share = schedule["micro_batches"], ideal["of_total"]
    idle = share * ideal["makespan"]
    if share <= limits.BUBBLE or idle < limits.BUBBLE * made.step:
        return
    rest = limits.BUBBLE / (1 - limits.BUBBLE)
    wanted = made.stages * ceil(count * share / (1 - share) / rest / made.stages - 1e-9)
    gain = idle * (1 - count / wanted)
    noun = "micro-batch" if count == 1 else "micro-batches"
    queued = sum(steps.queued.values()) / max(made.lines, 1)  # each stage delays the others
    if steps.overloaded and gain - queued < limits.WARNING * made.step:
        yield NotDecided(ID, f"{count} {noun} per step, but {without_core(steps)}")
        return
    yield _finding(
        steps,
        made,
        f"the pipeline fills and drains with {count} {noun} per step: its stages are idle for {seconds(idle)} of"
        f" {seconds(made.step)}",
        gain,
        f"{schedule['name']} with {made.stages} equal stages and transfers without time is idle for {percent(share)} of"
        f" its time; it would be at most {percent(limits.BUBBLE)} with {wanted} micro-batches",
        f"{wanted} micro-batches per step, smaller ones or in a larger batch; fastdispatch pipeline report"
        f" {steps.trace.name} estimates other schedules",
    )


def _of_transfers(steps: MeasuredSteps, made: PipelineReport) -> Iterator[Finding | NotDecided]:
    """Stages wait for transfers longer than the schedule and the times of the stages explain."""
    stages = made.schedule["stages"]
    waits = mean_of(made, *WAITING, "transfer")
    rest = waits - stages["of_total"] * stages["makespan"]
    least = limits.BUBBLE * made.step
    if rest < least:
        return
    longer = f"stages wait {seconds(rest)} of a step longer than their schedule and their times explain"
    saved = [row["share"] * made.step for row in made.what_if if row["change"] == "overlapped_transfers"]
    gain = min(rest, max(saved, default=0.0))
    if steps.overloaded:  # threads of the transfers had no core, either
        yield NotDecided(ID, f"{longer}, but {without_core(steps)}")
    elif gain < least:
        yield NotDecided(ID, longer)
    else:
        yield _finding(
            steps,
            made,
            f"each stage of the pipeline spends {seconds(mean_of(made, 'transfer'))} of a step in transfers",
            gain,
            f"mean of the stages, after both ends began; transfers that overlap with computation save {seconds(gain)}"
            f" of an iteration of {seconds(made.step)}",
            "a faster network or backend, fewer bytes between stages, or a schedule that sends while it computes:"
            f" fastdispatch pipeline report {steps.trace.name} prints the links",
        )


def _finding(steps: MeasuredSteps, made: PipelineReport, title: str, gain: float, proof: str, advice: str) -> Finding:
    """Return a finding that is at most a warning: the schedule is chosen, and transfers depend on the network."""
    where = steps.where(max(steps.passes, key=steps.total, default=0))
    evidence = {
        "idle_share": round(made.bubble_of_total, 4),
        "micro_batches": made.schedule["micro_batches"],
        "ns_per_step": round(gain),
    }
    found = steps.finding(ID, title, where, gain, proof, advice, evidence=evidence, share=round(gain / made.step, 4))
    found.severity = "warning" if found.severity == "critical" else found.severity
    return found
