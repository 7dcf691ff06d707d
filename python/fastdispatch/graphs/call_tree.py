"""The call tree of a picture: the contexts that take part, and sums of their figures by function or edge."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from fastdispatch._core import ArgumentError
from fastdispatch.read.folded_stacks import default_weight
from fastdispatch.read.plumbing import FUNCTIONS
from fastdispatch.read.steps import optimizing_thread
from fastdispatch.read.summary import contexts_of, entries_of, with_below
from fastdispatch.read.trace import Columns, Trace

_WORDS = {"style": ("default", "classic"), "weight": ("time", "calls", "gpu", None), "ops": ("none", "top", "all")}


@dataclass(frozen=True)
class PictureOptions:
    """The options of ``fastdispatch svg``. Unknown words raise ``ArgumentError``."""

    rank: int | None = None  #: number of a rank; None: the sum over all
    style: Literal["default", "classic"] = "default"
    weight: Literal["time", "calls", "gpu"] | None = None  #: None: gpu if kernels were recorded, else time
    ops: Literal["none", "top", "all"] = "none"
    hide: Sequence[str] = ()  #: globs of functions to delete, with their edges
    contract: Sequence[str] = ()  #: globs of functions to contract: their callees become callees of their callers
    min_percent: float | None = None  #: of the time; functions below it are contracted
    all: bool = False  #: no function is folded

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            value = getattr(self, name)
            if value not in words:
                known = " or ".join(filter(None, words))
                raise ArgumentError(f"{name}={value}: a picture has {name}={known}")

    @property
    def folds(self) -> bool:
        """Whether functions between calls of the user's code are folded."""
        return self.style == "default" and not self.all


OPERATORS = ("op", "autograd")

#: Columns with the self time, total and backward time on the host and on GPUs.
_HOST, _GPU = ("self", "total", "backward"), ("gpu_self", "gpu_total", "gpu_backward")

_Key = TypeVar("_Key", int, tuple[int, int])


@dataclass
class CallFigures:
    """Figures of a function or an edge. Of a recursion the outermost call counts in ops and all times except self.
    Times are on GPUs if these are the weight; ``host`` is then the total on the host."""

    calls: int = 0
    resumes: int = 0
    self: int = 0
    ops: int = 0
    total: int = 0
    backward: int = 0
    host: int = 0


class CallTree:
    """The contexts of a trace; parents precede their children. ``drawn`` has the node of each context, or -1 if it does
    not take part: the callees of such a context are callees of its caller."""

    def __init__(self, trace: Trace, options: PictureOptions) -> None:
        self.nodes = trace.nodes
        self.contexts = contexts_of(trace, options.rank)
        self.parents: list[int] = self.contexts["parent"]
        self.drawn: list[int] = list(self.contexts["node"])
        self.kinds: list[str] = [self.nodes["kind"][node] for node in self.drawn]
        weight = options.weight or default_weight(trace.core, trace.index(options.rank))
        self.of_gpus = weight == "gpu" and any(self.contexts["gpu_self"])  #: whether times are those of GPUs
        self.times = _GPU if self.of_gpus else _HOST  #: columns
        self.whole = self._whole()  #: ns of which shares are computed; without times, calls replace them
        self.timed = self.whole > 0
        if not self.timed:
            self.contexts = self.contexts | _calls_as_times(self.contexts)
            self.whole = self._whole()
        self._leave_out_absent()
        if options.ops == "top":
            self._leave_out_nested()
        self.idle = 0  #: number of functions that ran only in idle threads, which are not drawn
        if options.folds:
            self._leave_out_idle([entry["threads"] for entry in entries_of(trace, options.rank)])
        #: By node that is drawn, in the order of first contexts.
        self.figures = self.sums([node if node >= 0 else None for node in self.drawn])

    def _whole(self) -> int:
        """Return the time of all GPUs; of the host that of the threads that run the optimizer, else of the main
        threads, else of all threads."""
        if self.of_gpus:
            return sum(self.contexts["gpu_self"])
        total = self.contexts["total"]
        thread = optimizing_thread(self.contexts, self.nodes["key"])
        if thread >= 0:
            return int(total[thread])
        roots = [row for row, parent in enumerate(self.parents) if parent < 0]
        return sum(total[row] for row in roots if self._is_main(row)) or sum(total[row] for row in roots)

    def _is_main(self, row: int) -> bool:
        return self.kinds[row] == "thread" and self.nodes["name"][self.contexts["node"][row]] == "main"

    def _leave_out_absent(self) -> None:
        """Exclude contexts that this rank does not have."""
        columns = [self.contexts[name] for name in ("calls", "resumes", "self", "async", "gpu_self")]
        present = [any(row) for row in zip(*columns, strict=True)]
        for row in range(len(present) - 1, -1, -1):
            if not present[row]:
                self.drawn[row] = -1
            elif self.parents[row] >= 0:
                present[self.parents[row]] = True

    def _leave_out_nested(self) -> None:
        """Exclude operators below others: the figures of an operator are those of its calls by Python."""
        for row, parent in enumerate(self.parents):
            if parent >= 0 and self.kinds[row] in OPERATORS and self.kinds[parent] in OPERATORS:
                self.drawn[row] = -1

    def _leave_out_idle(self, threads: Sequence[Columns]) -> None:
        """Exclude functions that wait in a thread for the entire recording: they would have a share of 100 %. The main
        threads are never idle."""
        roots = _idle_roots(threads)
        idle = [False] * len(self.parents)
        busy, waiting = {-1}, set[int]()
        for row, parent in enumerate(self.parents):
            launches = self.of_gpus and self.contexts["gpu_total"][row] > 0
            idle[row] = idle[parent] if parent >= 0 else row in roots and not (self._is_main(row) or launches)
            (waiting if idle[row] else busy).add(self.drawn[row])
            if idle[row]:
                self.drawn[row] = -1
        self.idle = sum(self.nodes["kind"][node] in (*FUNCTIONS, "range") for node in waiting - busy)

    def nearest(self, nodes: Container[int]) -> list[int]:
        """Return by context the nearest of ``nodes`` at or above it; -1: none."""
        found: list[int] = []
        for node, parent in zip(self.drawn, self.parents, strict=True):
            found.append(node if node in nodes else found[parent] if parent >= 0 else -1)
        return found

    def sums(self, keys: Sequence[_Key | None]) -> dict[_Key, CallFigures]:
        """Return the figures by key, in the order of the first contexts with them."""
        outermost = self._outermost(keys)
        made: dict[_Key, CallFigures] = {}
        columns = [self.contexts[name] for name in ("calls", "resumes", "ops", "total", *self.times)]
        for key, first, calls, resumes, ops, host, own, total, backward in zip(keys, outermost, *columns, strict=True):
            if key is not None:
                sums = made.get(key) or made.setdefault(key, CallFigures())
                sums.calls += calls
                sums.resumes += resumes
                sums.self += own
                if first:
                    sums.ops += ops
                    sums.total += total
                    sums.backward += backward
                    sums.host += host
        return made

    def _outermost(self, keys: Sequence[Any]) -> list[bool]:
        """Return whether no context above has the same key; False without a key."""
        found = []
        for row, key in enumerate(keys):
            above = self.parents[row] if key is not None else row
            while above >= 0 and keys[above] != key:
                above = self.parents[above]
            found.append(above < 0)
        return found


def _calls_as_times(contexts: Columns) -> Columns:
    """Return numbers of calls as times: their sums, like those of times, do not grow towards the leaves."""
    own = [sum(row) for row in zip(contexts["calls"], contexts["resumes"], strict=True)]
    return {"self": own, "total": with_below(contexts["parent"], own)}


def _idle_roots(threads: Sequence[Columns]) -> set[int]:
    """Return the roots of threads that were on a CPU for less than 1 % of their time, as in reports; none if that is
    unknown."""
    idle: dict[int, float] = {}
    for table in threads:
        for root, own, cpu in zip(table["root"], table["self"], table["cpu"], strict=True):
            idle[root] = idle.get(root, 0) + 0.01 * own - cpu
    known = any(any(table["cpu"]) for table in threads)
    return {root for root, time in idle.items() if known and time > 0}
