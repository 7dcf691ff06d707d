"""Calls of a model in place of steps, for programs that train nothing: a server, predictions, generated text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import FORWARD, MeasuredSteps
from fastdispatch.read.trace import Trace

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
