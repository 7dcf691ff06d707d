"""Run all detectors over a trace, if its evidence is sufficient."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from fastdispatch._core import Error
from fastdispatch.detectors import limits
from fastdispatch.detectors.arithmetic import double_precision, low_intensity, single_precision
from fastdispatch.detectors.communication import exposed_comm, skewed_comm
from fastdispatch.detectors.compilation import graph_break, recompile
from fastdispatch.detectors.device_copy import device_copy
from fastdispatch.detectors.gpu_use import allocator_retry, launch_bound
from fastdispatch.detectors.hang import hang
from fastdispatch.detectors.host_code import host_code
from fastdispatch.detectors.host_sync import host_sync
from fastdispatch.detectors.input_wait import input_wait
from fastdispatch.detectors.interpreter import gc_pause, gil, own_cost
from fastdispatch.detectors.measured_steps import FORWARD, MeasuredSteps, PartLoader, steps_of
from fastdispatch.detectors.memory_growth import memory_growth
from fastdispatch.detectors.model import Finding, Findings, NotDecided
from fastdispatch.detectors.pipeline_stages import pipeline_bubble, stage_imbalance
from fastdispatch.detectors.rank_work import slow_rank, unequal_work
from fastdispatch.detectors.repeated_work import construction, evaluation, recompute
from fastdispatch.detectors.slowdown import slowdown
from fastdispatch.detectors.small_operators import tiny_ops, unfused_optimizer
from fastdispatch.read.missing import ended_early, missing_ranks
from fastdispatch.read.trace import Trace
from fastdispatch.read.waiting import doubts
from fastdispatch.text.formats import percent

#: A detector yields findings, and sentences why it is not decided.
Detect = Callable[[MeasuredSteps], Iterable[Finding | str]]

# fmt: off
_IN_ORDER: tuple[Detect, ...] = (
    hang, gc_pause, recompile, graph_break, recompute, evaluation, construction, host_sync, input_wait, skewed_comm,
    exposed_comm, slowdown, unfused_optimizer, device_copy, tiny_ops, double_precision, single_precision, low_intensity,
    stage_imbalance, pipeline_bubble, unequal_work, slow_rank, memory_growth, gil, host_code, launch_bound,
    allocator_retry, own_cost,
)
# fmt: on

#: All detectors by their ids, in the order in which they claim time: a cause precedes what follows from it.
DETECTORS: dict[str, Detect] = {detect.__name__.replace("_", "-"): detect for detect in _IN_ORDER}

#: Detectors that need no step, and those that look at all steps, also at the first ones.
WITHOUT_STEPS, OF_ALL_STEPS = ("hang",), ("recompile",)

#: Detectors that need counts and mean times, but no times of single steps.
DECIDABLE = ("host-sync", "input-wait", "graph-break", "device-copy", "tiny-ops", "double-precision")


class ModelCalls(MeasuredSteps):
    """The calls of the model with most of the time, as steps: each with all repeated calls of the loop around it.
    ``count`` is 0 without such a loop."""

    trains = False

    def __init__(self, trace: Trace, workers: Sequence[Trace] = ()) -> None:
        super().__init__(trace, workers=workers)
        self.loop, self.model = -1, ""
        if self.ranks or self.gpu is not None or self.passes or not all(rank["timing"] for rank in trace.ranks):
            return
        self.ranks = trace.ranks
        calls, modules = self.paths["calls"], self.paths["module"]
        models = list(self.outermost(lambda row: self.main[row] and modules[row] >= 0 and self.phase(row) == FORWARD))
        times = Counter[int]()
        for row in models:
            times[modules[row]] += self.paths["total"][row]
        if not times:
            return
        module = max(times, key=lambda each: (times[each], -each))
        rows = [row for row in models if modules[row] == module]
        first = max(rows, key=lambda row: calls[row])
        loop = next((above for above in self.above(first) if 2 * calls[above] <= calls[first]), -1)
        count = sum(calls[row] for row in rows if loop < row < self.end[loop]) if loop >= 0 else 0
        if count < limits.MODEL_CALLS:
            return
        self.loop, self.count, self.longest, self.varying = loop, count, count, 0
        self.model = trace.nodes["class"][self.paths["node"][first]]
        self.paths = self.paths | {"steps": [min(each, count) for each in calls]}
        again = max(2, calls[loop])
        parts = [row for child in self.children[loop] if calls[child] >= again for row in range(child, self.end[child])]
        inside = set(parts)
        self.__dict__["main"] = [main and row in inside for row, main in enumerate(self.main)]
        self.__dict__["step"] = self._of_main()
        self.__dict__["queued"] = dict.fromkeys(self.numbers, 0.0)  # unknown

    @property
    def typical(self) -> int:
        return round(self.step)

    @property
    def timed(self) -> int:
        return self.count

    def _of_main(self) -> float:
        return super()._of_main() + (self.own(self.loop) if getattr(self, "loop", -1) >= 0 else 0.0)

    @property
    def meaning(self) -> str:
        """The definition of a step as a sentence; empty without such calls."""
        return f"no training step was recorded: a step is a call of the model {self.model}" if self.count else ""


def decide(
    trace: Trace, path: str, whole: Trace | None = None, workers: Sequence[Trace] = (), part: PartLoader = None
) -> Findings:
    """Return the findings of a trace. ``whole``: the same recording with all steps, if ``trace`` is reduced;
    ``workers``: recordings of its DataLoader workers; ``part`` reads the recording reduced to some steps."""
    steps = MeasuredSteps(trace, whole, workers, part)
    reason = _too_little(steps)
    decidable = {*DETECTORS} if not reason else {*WITHOUT_STEPS, *(() if _too_little(steps.whole) else OF_ALL_STEPS)}
    results: list[Finding | NotDecided] = []
    calls = ModelCalls(trace, workers) if not steps.ranks else steps
    by_calls = DECIDABLE if calls is not steps and calls.count else ()
    for id, detect in DETECTORS.items():
        of = steps if id in decidable else calls if id in by_calls else None
        results += results_of(id, detect, of) if of is not None else [NotDecided(id, reason)]
    found, undecided = sorted_results(_without_repeats(results))
    missing = "; ".join(filter(None, [*ended_early(trace.ranks), missing_ranks(trace.ranks)]))
    measured = calls if by_calls else steps
    return Findings(
        path,
        measured.typical,
        measured.timed,
        measured.numbers,
        found,
        undecided,
        missing,
        doubts(trace),
        calls.meaning if isinstance(calls, ModelCalls) else "",
    )


def sorted_results(results: Sequence[Finding | NotDecided]) -> tuple[list[Finding], list[NotDecided]]:
    """Return the findings, by gain, and the undecided results."""
    found = [each for each in results if isinstance(each, Finding)]
    found.sort(key=lambda finding: (-finding.gain_ns, finding.id, finding.where.key))
    return found, [each for each in results if isinstance(each, NotDecided)]


def _without_repeats(results: Sequence[Finding | NotDecided]) -> list[Finding | NotDecided]:
    """Return the results without the input of a rank that is slow in the same function: one finding names both."""
    found = [each for each in results if isinstance(each, Finding)]
    repeats = [
        each
        for each in found
        for slow in found
        if (each.id, slow.id) == ("input-wait", "slow-rank")
        and each.ranks == slow.ranks
        and each.where.key in slow.where.path
    ]
    return [each for each in results if each not in repeats]


def results_of(id: str, detect: Detect, steps: MeasuredSteps) -> list[Finding | NotDecided]:
    """Run a detector. Its failure on an unusual recording must not hide the other findings, nor a report."""
    found: list[Finding | NotDecided] = []
    try:
        for each in detect(steps):
            found.append(NotDecided(id, each) if isinstance(each, str) else replace(each, id=id))
    except Error as error:  # of a part that the file does not have
        found.append(NotDecided(id, str(error)))
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, NameError) as error:
        found.append(NotDecided(id, f"the detector failed: {type(error).__name__}: {error}"))
    return found


def _too_little(steps: MeasuredSteps) -> str:
    """Return why nothing can be decided about steps, "" if it can."""
    if not steps.ranks:
        return "no training step was recorded"
    if not all(rank["timing"] for rank in steps.ranks):
        return "recorded without times"
    if min(map(steps_of, steps.ranks)) < limits.STEPS:
        why = "were recorded" if steps.whole is steps else "were recorded after the first ones, whose times differ"
        return f"fewer than {limits.STEPS} steps {why}"
    covered = _covered(steps)
    if covered < limits.COVERED:
        return f"only {percent(covered)} of the step is in known paths"
    return ""


def _covered(steps: MeasuredSteps) -> float:
    """Return the share of the step in known paths: not in calls without room, nor in damaged parts."""
    lost = sum(
        steps.own(row)
        for row, main in enumerate(steps.main)
        if main and (steps.key(row) in ("<overflow>", "<lost>") or steps.kind(row) == "none")
    )
    return 1 - lost / steps.step if steps.step else 0.0
