"""The figures that detectors read: call paths per step, their places in the program, and claimed time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import dropwhile
from statistics import median
from typing import Any, TypeVar

from fastdispatch.detectors import limits
from fastdispatch.detectors.gpu_clock import gpu_clock, on_clock
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.read.columns import rows
from fastdispatch.read.source_calls import Sources
from fastdispatch.read.steps import (
    PHASE_BITS,
    PHASES,
    kept_steps,
    step_time,
    steps_of_run,
    time_of_run,
    times_are_known,
)
from fastdispatch.read.summary import in_role
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.read.waiting import OVERLOADED, cpu_time, is_communication, queued_share
from fastdispatch.text.formats import grouped, percent, seconds

OTHER, FORWARD, BACKWARD, OPTIMIZER, DATA = range(len(PHASES))

_Group = TypeVar("_Group", bound=Hashable)

#: Reads the steps from one to another.
PartLoader = Callable[[tuple[int, int]], Trace] | None

_PARTS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>", "__torch_function__", "__torch_dispatch__")

#: Functions that start a backward pass.
BACKWARD_CALLS = {"torch/_tensor.py:[Tensor]:backward", "torch/autograd/__init__.py:[]:backward"}

#: Python functions that only pass a call to a module on.
PLUMBING = ("_wrapped_call_impl", "_call_impl")


class MeasuredSteps:
    """The steps of all ranks of a trace. A path is a row of ``paths``; its figures are per step unless named otherwise.

    With kernels in the recording, times of paths are those of the GPU: of kernels that they launch, and idle time that
    they cause. Host time in which the GPU is busy costs nothing.

    Paths are depth first: the paths below ``i`` are the rows from ``i + 1`` to ``end[i]``.
    """

    #: Whether a step is an update of the model.
    trains = True

    def __init__(
        self, trace: Trace, whole: Trace | None = None, workers: Sequence[Trace] = (), part: PartLoader = None
    ) -> None:
        """``trace``: reduced to the settled steps, if they are decided; ``whole``: all of it, None if ``trace`` is;
        ``workers``: recordings of DataLoader workers; ``part`` reads the recording reduced to some steps."""
        self.trace = trace
        self.whole_trace = trace if whole is None else whole
        self.workers = workers
        self.part = part
        self.ranks: list[dict[str, Any]] = [rank for rank in trace.ranks if steps_of(rank)]
        self.count: int = sum(map(steps_of, self.ranks))
        self.longest: int = max(map(steps_of, self.ranks), default=0)
        reduced = trace.window is not None
        self.varying: int = 0 if reduced else 1  # steps that may be different from the others
        self.keys: list[str] = trace.nodes["key"]
        self.kinds: list[str] = trace.nodes["kind"]
        paths = _without_c_functions(trace.core.contexts(-1, not reduced), self.kinds)
        paths = paths if reduced else _without_setup(paths, self.longest)
        self.gpu = gpu_clock(trace)
        if self.gpu is not None:
            paths = on_clock(paths, self.gpu, self.kinds, self.count)
        self.paths: Columns = paths
        self._mean_step = self._of_main()
        if not self.uses_gpu:
            self.paths = _without_preemption(self.paths, self.ranks, self._is_operator)
        self.sources = Sources(trace)
        self.claimed: set[int] = set()

    @cached_property
    def uses_gpu(self) -> bool:
        """Whether operators may wait for a GPU: it ran work, or the autograd engine has a thread for it."""
        threads = any(role.startswith("autograd:") for rank in self.ranks for role in rank["threads"]["role"])
        named = any(key.startswith(("torch/cuda/__init__.py:[]:synchronize", "cuda")) for key in self.keys)
        gpu = any(rank["meta"].get("gpu_name") or rank["meta"].get("gpu_kernels") for rank in self.ranks)
        return threads or named or gpu or any(self.paths["gpu_calls"])

    @cached_property
    def queued(self) -> dict[int, float]:
        """The time of a step in which the main thread of each rank had no CPU, ns; 0 also if it is unknown."""
        return {
            rank["rank"]: (queued_share(rank) or 0.0) * rank["recorded"] / max(steps_of(rank), 1) for rank in self.ranks
        }

    @property
    def overloaded(self) -> bool:
        """Whether main threads often had no CPU."""
        return max(self.queued.values(), default=0.0) >= OVERLOADED * self.step

    @cached_property
    def cpu(self) -> dict[int, float]:
        """The CPU time of a step of the main thread of each rank, ns; a rank is missing if it is unknown."""
        times = {rank["rank"]: cpu_time(self.trace, rank) for rank in self.ranks}
        counts = {rank["rank"]: max(steps_of(rank), 1) for rank in self.ranks}
        return {rank: time / counts[rank] for rank, time in times.items() if time is not None}

    def usual(self, time: float) -> float:
        """Return what a time of operators is in a usual step, ns. The time and the sum of which it is a share exclude
        the time of other processes, the step includes it."""
        return time * self.step / max(self._of_main(), 1)

    def extent(self, time: float) -> dict[str, Any]:
        """Return fields of a finding about time outside of usual steps, ns: its share of the run."""
        run = max((time_of_run(rank) for rank in self.ranks), default=0)
        text = f"{seconds(time)} of a run of {seconds(run)}" if run else seconds(time)
        return {"extent": text, "share": round(min(time / run, 1.0), 4) if run else 0.0}

    def _is_operator(self, path: int) -> bool:
        """Whether a path is an operator that waits for nothing."""
        key, flags = self.key(path), self.paths["flags"][path]
        return self.kind(path) in ("op", "autograd") and not is_communication(key) and flags & PHASE_BITS != DATA

    @cached_property
    def whole(self) -> MeasuredSteps:
        """All steps of the recording, with set-up."""
        return self if self.whole_trace is self.trace else MeasuredSteps(self.whole_trace, part=self.part)

    @cached_property
    def numbers(self) -> list[int]:
        return [rank["rank"] for rank in self.ranks]

    @cached_property
    def main(self) -> list[bool]:
        """Whether each path is on a main thread."""
        return in_role(self.trace, self.paths, self.trace.main_role)

    @cached_property
    def end(self) -> list[int]:
        """The row after the last one below each path."""
        parents = self.paths["parent"]
        found = [row + 1 for row in range(len(parents))]
        for row in range(len(parents) - 1, -1, -1):
            if parents[row] >= 0:
                found[parents[row]] = max(found[parents[row]], found[row])
        return found

    @cached_property
    def children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.paths["parent"]]
        for row, parent in enumerate(self.paths["parent"]):
            if parent >= 0:
                found[parent].append(row)
        return found

    @cached_property
    def step(self) -> float:
        """The time of a step: the mean over the main threads, without set-up and without that of other processes, but
        at least the median, which is printed."""
        return max(self._of_main(), min(self._mean_step, float(self.typical)))

    def _of_main(self) -> float:
        times = self.paths["self" if self.gpu is None else "host"]
        own: int = sum(time for time, main in zip(times, self.main, strict=True) if main)
        return own / max(self.count, 1)

    @cached_property
    def short(self) -> float:
        """The time that nine in ten steps exceed, to compare with lower bounds of times."""
        times = sorted(sum(phases) for rank in self.ranks for phases in kept(rank, *PHASES))
        return min(float(times[len(times) // 10]), self.step) if times else self.step

    @cached_property
    def typical(self) -> int:
        """The time of a step that is printed: the median."""
        return step_time(self.ranks)

    @property
    def timed(self) -> int:
        """The number of steps that it is the median of; with a budget, of those that are not recorded."""
        run = steps_of_run(self.ranks[0]) if self.ranks else None
        return int(run["steps"] - run["recorded"]) if run is not None and times_are_known(run) else self.count

    @cached_property
    def passes(self) -> list[int]:
        """Calls on main threads that start a backward pass. A mode may pass the call to the same function again."""
        return list(self.outermost(lambda row: self.main[row] and self.key(row) in BACKWARD_CALLS))

    def key(self, path: int) -> str:
        return self.keys[self.paths["node"][path]]

    def kind(self, path: int) -> str:
        return self.kinds[self.paths["node"][path]]

    def name(self, path: int) -> str:
        return str(self.trace.nodes["name"][self.paths["node"][path]])

    def file(self, path: int) -> str:
        return str(self.trace.nodes["file"][self.paths["node"][path]])

    def phase(self, path: int) -> int:
        return int(min(self.paths["flags"][path] & PHASE_BITS, DATA))

    def _mean(self, column: str, path: int) -> float:
        return float(self.paths[column][path] / max(self.count, 1))

    def calls(self, path: int) -> float:
        return self._mean("calls", path)

    def total(self, path: int) -> float:
        return self._mean("total", path)

    def backward(self, path: int) -> float:
        return self._mean("backward", path)

    def own(self, path: int) -> float:
        return self._mean("self", path)

    def activity(self, path: int) -> float:
        """The share of the steps in which the path ran."""
        return float(self.paths["steps"][path] / max(self.longest, 1))

    def every(self, path: int) -> bool:
        """Whether the path is part of every step; the first one may be different."""
        return bool(self.paths["steps"][path] >= max(limits.EVERY * (self.longest - self.varying), 1))

    def below(self, path: int) -> range:
        return range(path + 1, self.end[path])

    def above(self, path: int) -> Iterator[int]:
        """The callers of a path, innermost first."""
        path = self.paths["parent"][path]
        while path >= 0:
            yield path
            path = self.paths["parent"][path]

    def is_python(self, path: int) -> bool:
        return self.kind(path) == "python"

    def is_user(self, path: int) -> bool:
        """Whether a path ends in a function of the program itself."""
        node = self.paths["node"][path]
        return self.kinds[node] == "python" and self.trace.nodes["from"][node] == "project"

    def is_part(self, path: int) -> bool:
        """Whether a function is part of the one that calls it: a comprehension, or a mode that passes each call on."""
        return self.name(path).startswith(_PARTS)

    def is_torch(self, path: int) -> bool:
        return self.is_python(path) and self.file(path).startswith("torch/")

    def caller(self, path: int) -> int:
        """The Python function that calls a path, -1 without."""
        return next((row for row in self.above(path) if self.is_python(row)), -1)

    def user(self, path: int) -> int:
        """The innermost function of the program at or above a path that is not part of another, -1 without."""
        return next((row for row in (path, *self.above(path)) if self.is_user(row) and not self.is_part(row)), -1)

    def maker(self, path: int) -> int:
        """The function that makes a call: as :meth:`user`, or a function of a library below it; not one of PyTorch or
        the standard library, -1 without."""
        found = (row for row in (path, *self.above(path)) if self.is_python(row) and not self.is_part(row))
        return next((row for row in found if self.is_user(row) or self.is_library(row)), -1)

    def is_library(self, path: int) -> bool:
        """Whether a path ends in a function of an installed package other than PyTorch."""
        node = self.paths["node"][path]
        return self.is_python(path) and self.trace.nodes["from"][node] == "site" and not self.is_torch(path)

    def named(self, *keys: str) -> Iterator[int]:
        """Paths that end in nodes with these keys. A key with a line (``key@12``) is one of several functions."""
        nodes = {node for node, key in enumerate(self.keys) if key.partition("@")[0] in keys or key in keys}
        return (row for row, node in enumerate(self.paths["node"]) if node in nodes)

    def outermost(self, wanted: Callable[[int], bool], start: int = 0, stop: int | None = None) -> Iterator[int]:
        """Selected paths that are not below another selected one."""
        row, stop = start, len(self.paths["node"]) if stop is None else stop
        while row < stop:
            if wanted(row):
                yield row
                row = self.end[row]
            else:
                row += 1

    def where(self, path: int, *calls: str) -> Where:
        """The place of a path in the program: its innermost function, and the line of the first of its ``calls`` (names
        of functions or methods, in the source if that is on this machine), else its first line."""
        user = self.user(path)
        return self.place(path, user if user >= 0 else path, *calls)

    def place(self, path: int, row: int, *calls: str) -> Where:
        """The same, in the function ``row`` at or above the path. If it is of a library or PyTorch, the place has also
        the line of the program from which it is called."""
        user = self.user(path)
        node = self.paths["node"][row]
        names = [self.key(above) for above in self.above(path) if self.kind(above) != "thread"]
        return Where(
            key=self.keys[node],
            file=self.trace.nodes["file"][node],
            line=self._line(path, row, calls) or self.trace.nodes["line"][node],
            path=[*reversed(names), self.key(path)],
            called_from=self._called_from(path, user) if user >= 0 and user != row and row != path else "",
        )

    def _line(self, path: int, row: int, calls: Sequence[str]) -> int:
        """Return the line of a function that leads to a path: of the function of the program or a library that it
        calls on the way, else of one of ``calls`` or of any function on the way; 0: unknown."""
        way = self._way(path, row)
        if self.kind(row) != "python" or self.user(path) < 0:
            return 0
        if way and (self.is_user(way[0]) or self.is_library(way[0])):
            calls = (self.name(way[0]),)
        return self.sources.line(self.paths["node"][row], calls or self._spelled(way), self.calls(row) < limits.EVERY)

    def _called_from(self, path: int, user: int) -> str:
        """Return file and line from which the program calls the function that leads to a path; the function if the line
        is unknown."""
        node = self.paths["node"][user]
        line = self.sources.line(node, self._spelled(self._way(path, user)), self.calls(user) < limits.EVERY)
        return f"{self.trace.nodes['file'][node]}:{line or self.name(user)}"

    def _way(self, path: int, row: int) -> list[int]:
        """Return the functions that lead from ``row`` to a path, without ``row``, outermost first."""
        way = [each for each in (path, *self.above(path)) if row < each and self.is_python(each)]
        return list(dropwhile(self.is_part, reversed(way)))

    def _spelled(self, way: Sequence[int]) -> tuple[str, ...]:
        """Return how a program may spell the first call of a way: by the name of the function, or for a module, which
        PyTorch calls, by that of its attribute."""
        names = [self.name(path) for path in way[:1]]
        for path in way:
            module = self.paths["module"][path]
            if module >= 0:
                return (*names, self.trace.modules["name"][module], "model")
            if not self.is_torch(path):
                break
        return tuple(names)

    def of_step(self, time: float) -> str:
        """Return a time with its share of a step: ``2 ms or 10 % of a step``."""
        return f"{seconds(time)} or {percent(time / self.step)} of a step"

    def grouped(self, key: Callable[[int], _Group], paths: Iterable[int] | None = None) -> dict[_Group, list[int]]:
        """Return paths, or all, by a key in the order of the first of each; none have the key -1 or ""."""
        groups: dict[_Group, list[int]] = {}
        for path in range(len(self.paths["node"])) if paths is None else paths:
            if (of := key(path)) not in (-1, ""):
                groups.setdefault(of, []).append(path)
        return groups

    def unclaimed(self, paths: Iterable[int], *, backward: bool = False) -> float:
        """The time of paths with all below, without time that another finding claimed."""
        time: int = 0
        for path in paths:
            time += sum(self.paths["self"][row] for row in range(path, self.end[path]) if row not in self.claimed)
            if backward and path not in self.claimed:
                time += self.paths["backward"][path]
        return time / max(self.count, 1)

    def claim(self, paths: Iterable[int]) -> None:
        """Claim the time of paths with all below: later detectors do not count it again."""
        for path in paths:
            self.claimed.update(range(path, self.end[path]))

    def finding(
        self, title: str, where: Where, gain: float, proof: str, advice: str, least: str = "", **more: Any
    ) -> Finding:
        """Return a finding whose severity, at ``least`` this one, and share follow from its gain per step; no gain is
        longer than a step. Its id is that of the detector (``decide.py``)."""
        gain = min(gain, self.step)
        share = gain / self.step if self.step else 0.0
        severity = "critical" if share >= limits.CRITICAL else "warning" if share >= limits.WARNING else "info"
        figures = title, where, round(share, 4), round(gain), proof, advice, severity, self.numbers, self.count
        found = replace(Finding("", *figures), **more)
        found.severity = least if least and found.severity == "info" else found.severity
        return found


def _without_c_functions(paths: Columns, kinds: Sequence[str]) -> Columns:
    """Return paths as of a recording without C functions: their time and the paths below them are those of the
    caller. The rows of C functions remain, without time."""
    if "c" not in kinds:
        return paths
    own, total, callers = list(paths["self"]), list(paths["total"]), list(paths["parent"])
    shown: list[int] = []  # per row: the row that its callees are below
    for row, parent in enumerate(callers):  # a parent comes before its children
        callers[row] = shown[parent] if parent >= 0 else parent
        is_c = kinds[paths["node"][row]] == "c"
        shown.append(callers[row] if is_c else row)
        if is_c:
            own[callers[row]] += own[row]
            own[row] = total[row] = 0
    return paths | {"self": own, "total": total, "parent": callers}


def _without_preemption(paths: Columns, ranks: Sequence[dict[str, Any]], is_operator: Callable[[int], bool]) -> Columns:
    """Return paths without the time that operators of a CPU have in few of the steps: an operator that does the same in
    every step takes longer in a few of them when another process has its core."""
    late: dict[int, float] = {}
    for rank in ranks:
        number = len(rank["latest_steps"]["number"])
        if number < limits.STEPS or number < steps_of(rank):
            continue  # the heaviest paths of earlier steps are not known
        heavy: dict[int, dict[int, int]] = {}
        for step, row, time in rows(rank["step_tops"], "step context self"):
            heavy.setdefault(row, {})[step] = time
        for row, times in heavy.items():
            if row < len(paths["self"]) and is_operator(row) and paths["steps"][row] >= number / 2:
                usual = _usual_time(times, number, paths["self"][row] / len(ranks))
                late[row] = late.get(row, 0.0) + max(sum(times.values()) - usual * len(times), 0.0)
    return _reduced(paths, late)


def _usual_time(times: dict[int, int], number: int, whole: float) -> float:
    """Return the time of a path in a usual step, of its times in the steps in which it is among the heaviest ones."""
    if 2 * len(times) > number:
        return median(times.values())
    return max(whole - sum(times.values()), 0.0) / (number - len(times))


def _reduced(paths: Columns, late: dict[int, float]) -> Columns:
    """Return paths whose own times, and those of the paths above, are shorter."""
    own, total = list(paths["self"]), list(paths["total"])
    for row, time in late.items():
        less = min(round(time), own[row])
        own[row] -= less
        above = row
        while above >= 0:
            total[above] -= less
            above = paths["parent"][above]
    return paths | {"self": own, "total": total}


def _without_setup(paths: Columns, steps: int) -> Columns:
    """Return paths without the time of those that ran in one step only."""
    if steps <= 2:
        return paths
    own = [time if active > 1 else 0 for time, active in zip(paths["self"], paths["steps"], strict=True)]
    total = list(own)
    for row in range(len(own) - 1, -1, -1):
        parent = paths["parent"][row]
        if parent >= 0 and not paths["async"][row]:
            total[parent] += total[row]
    return paths | {"self": own, "total": total}


def steps_of(rank: dict[str, Any]) -> int:
    """Return the number of steps that the figures of a rank cover."""
    return int(rank["steps"] if rank["window"] is None else rank["window"]["steps"])


def kept(rank: dict[str, Any], *columns: str) -> list[tuple[int, ...]]:
    """Return columns of the latest steps of a rank whose times count."""
    of_steps = list(rows(rank["latest_steps"], " ".join(columns)))
    return [of_steps[row] for row in kept_steps(rank)]


def number(value: float) -> str:
    """Format a count per step: ``1 312``, ``2.5``."""
    return grouped(round(value)) if abs(value - round(value)) < 0.05 else f"{value:.1f}"


def counted(value: float, noun: str) -> str:
    """Format a count per step with its noun: ``1 call``, ``2.5 calls``."""
    return f"{number(value)} {noun}" if number(value) == "1" else f"{number(value)} {noun}s"
