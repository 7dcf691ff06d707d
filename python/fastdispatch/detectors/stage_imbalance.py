"""``stage-imbalance``: a stage of a pipeline works longer than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided
from fastdispatch.detectors.pipeline_stages import analysis, mean_of, stage_jobs, without_core
from fastdispatch.pipeline.partition import partition
from fastdispatch.pipeline.report import PipelineReport
from fastdispatch.pipeline.sentences import Row
from fastdispatch.text.formats import seconds

ID = "stage-imbalance"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    made = analysis(steps)
    if isinstance(made, str):
        yield NotDecided(ID, made)
        return
    if len(made.table) < 2 or not made.step:
        yield NotDecided(ID, "one stage")
        return
    slowest = max(made.table, key=lambda row: row["busy"])
    mean = mean_of(made, "busy")
    gain = _gain(made, slowest["busy"] - mean, simulated=not steps.overloaded)
    if gain < limits.STAGE_GAIN * made.step or slowest["busy"] < limits.UNEQUAL_CALLS * mean:
        return
    if steps.overloaded:
        gain = min(gain, _by_cpu_time(steps, made, slowest, mean))
        if not gain:
            yield NotDecided(ID, without_core(steps))
            return
    heavy, name = _heavy_module(steps, slowest["ranks"])
    rows = stage_jobs(steps)
    steps.claimed.update(row for row, main in enumerate(steps.main) if main)
    times = {str(row["stage"]): round(row["busy"]) for row in made.table}
    yield steps.finding(
        ID,
        f"stage {slowest['stage']} computes {seconds(slowest['busy'])} per step, the mean stage {seconds(mean)}"
        + (f", mostly in {name}" if name else ""),
        steps.where(heavy if heavy >= 0 else rows[0] if rows else 0),
        gain,
        f"the other stages wait for it; equal stages save {'at most ' * steps.overloaded}{seconds(gain)} of an"
        f" iteration of {seconds(made.step)}",
        _advice(steps, made, slowest, name),
        ranks=list(slowest["ranks"]),
        evidence={"busy_ns": times, "ns_per_step": round(gain)},
        share=round(gain / made.step, 4),
    )


def _by_cpu_time(steps: MeasuredSteps, made: PipelineReport, slowest: Row, mean: float) -> float:
    """Return how much longer than the mean a stage computes, ns, by the CPU time of its ranks; 0 if it needs no more.
    If that is unknown, a stage that is much slower decides."""
    cpu = [[steps.cpu[rank] for rank in row["ranks"] if rank in steps.cpu] for row in made.table]
    if steps.uses_gpu or not all(cpu):
        return float(slowest["busy"] - mean if slowest["busy"] >= limits.UNEQUAL_TIME * mean else 0)
    times = [sum(each) / len(each) for each in cpu]
    most, usual = times[made.table.index(slowest)], sum(times) / len(times)
    return float(slowest["busy"] * (1 - usual / most) if most >= limits.UNEQUAL_CALLS * usual else 0)


def _gain(made: PipelineReport, most: float, *, simulated: bool) -> float:
    """Return what equal stages save, as the report of the pipeline estimates it; without a simulation all that the
    slowest stage has more than the mean. On an overloaded machine transfers have the time without a core, which a
    simulation keeps."""
    rows = made.what_if if simulated and made.schedule["name"] else []
    shares = [row["share"] for row in rows if row["change"] == "balanced"]
    return min(shares[0] * made.step, most) if shares else most


def _heavy_module(steps: MeasuredSteps, ranks: list[int]) -> tuple[int, str]:
    """Return the path and the name of the smallest module that has half of the modules' time on these ranks, -1 and ""
    without any. The outermost module has no name: it is the stage."""
    times = Counter[int]()
    paths = steps.paths
    for index, rank in enumerate(steps.trace.ranks):
        if rank["rank"] in ranks:
            own = steps.trace.core.contexts(index, rank["window"] is None)
            for row, module in enumerate(paths["module"]):
                if module >= 0 and not any(paths["module"][above] == module for above in steps.above(row)):
                    times[module] += own["total"][row] + own["backward"][row]
    if not times:
        return -1, ""
    parents = steps.trace.modules["parent"]
    outermost = found = max(times, key=lambda module: (times[module], -module))
    while True:
        inner = max((m for m in times if parents[m] == found), key=lambda m: times[m], default=found)
        if inner == found or 2 * times[inner] < times[outermost]:
            break
        found = inner
    rows = [row for row, module in enumerate(paths["module"]) if module == found and steps.main[row]]
    row = next(filter(steps.is_user, rows), rows[0] if rows else -1)
    path, kind = steps.trace.modules["path"][found], steps.trace.modules["class"][found]
    return row, "" if found == outermost else f"{path} ({kind})"


def _heaviest(made: PipelineReport, cuts: list[int]) -> float:
    return max(sum(made.layer_times[first:end]) for first, end in pairwise(cuts))


def _advice(steps: MeasuredSteps, made: PipelineReport, slowest: Row, name: str) -> str:
    layers = sum(len(row["names"]) for row in slowest["layers"])
    if layers == 1 and name:
        return f"split {name}: it is the only layer of its stage"
    place = steps.trace.name
    if made.layer_times:
        cuts = partition(made.layer_times, made.stages * made.chunks, "profile")
        if _heaviest(made, cuts) >= limits.BETTER_SPLIT * _heaviest(made, made.cuts):
            return f"split {name or 'the heaviest layer'} into several layers: no other split of the layers is better"
        return f"fastdispatch pipeline partition {place} -n {made.stages * made.chunks} prints a better split"
    return f"move layers to other stages: fastdispatch pipeline report {place} estimates what each move saves"
