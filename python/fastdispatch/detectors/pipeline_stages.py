"""Stages of a pipeline: different work, too few micro-batches, waits for transfers."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import ceil

from fastdispatch._core import Error
from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding
from fastdispatch.detectors.rank_figures import RankFigures
from fastdispatch.pipeline.partition import partition
from fastdispatch.pipeline.report import WAITING, PipelineReport, report
from fastdispatch.pipeline.sentences import Row
from fastdispatch.text.formats import percent, seconds

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


def stage_imbalance(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``stage-imbalance``: a stage of a pipeline works longer than the others."""
    made = analysis(steps)
    if isinstance(made, str):
        yield made
        return
    if len(made.table) < 2 or not made.step:
        yield "one stage"
        return
    slowest = max(made.table, key=lambda row: row["busy"])
    mean = mean_of(made, "busy")
    gain = _gain(made, slowest["busy"] - mean, simulated=not steps.overloaded)
    if gain < limits.STAGE_GAIN * made.step or slowest["busy"] < limits.UNEQUAL_CALLS * mean:
        return
    if steps.overloaded:
        gain = min(gain, _by_cpu_time(steps, made, slowest, mean))
        if not gain:
            yield without_core(steps)
            return
    heavy, name = _heavy_module(steps, slowest["ranks"])
    jobs = [row for row in range(len(steps.main)) if steps.kind(row) == "job" and steps.key(row) == "forward"]
    steps.claimed.update(row for row, main in enumerate(steps.main) if main)
    times = {str(row["stage"]): round(row["busy"]) for row in made.table}
    yield steps.finding(
        f"stage {slowest['stage']} computes {seconds(slowest['busy'])} per step, the mean stage {seconds(mean)}"
        + (f", mostly in {name}" if name else ""),
        steps.where(heavy if heavy >= 0 else jobs[0] if jobs else 0),
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


def pipeline_bubble(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """``pipeline-bubble``: equal stages of a pipeline are idle: too few micro-batches, or waits for transfers."""
    made = analysis(steps)
    if isinstance(made, str):
        yield made
    elif made.engine is None or len(made.table) < 2 or not made.step:
        yield "no pipeline of an engine was recorded"
    elif made.schedule["name"] is None:
        yield "the order of the jobs matches no known schedule"
    else:
        yield from _of_schedule(steps, made)
        yield from _of_transfers(steps, made)


def _of_schedule(steps: MeasuredSteps, made: PipelineReport) -> Iterator[Finding | str]:
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
        yield f"{count} {noun} per step, but {without_core(steps)}"
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


def _of_transfers(steps: MeasuredSteps, made: PipelineReport) -> Iterator[Finding | str]:
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
        yield f"{longer}, but {without_core(steps)}"
    elif gain < least:
        yield longer
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
    found = steps.finding(title, where, gain, proof, advice, evidence=evidence, share=round(gain / made.step, 4))
    found.severity = "warning" if found.severity == "critical" else found.severity
    return found
