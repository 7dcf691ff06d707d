"""A Python call: what one costs more. Imports no PyTorch, so that it runs on any Python the extension is built for."""

import sys
from collections.abc import Callable, Iterator
from itertools import repeat

from benchmarks import peers
from benchmarks.figures import Result
from benchmarks.measure import Effort, Side, added, interleave, ratios

# Goals: share of a peer's added cost; cost of counts as a share of times.
_OF_PEER, _OF_TIMED = 1 / 4.5, 0.75
_CALLS = 4_000


class Leaf:
    def touch(self) -> None:
        pass


class Other(Leaf):
    pass


class Tree:
    """Four different callees on two levels: eight calls, each from another place than the one before."""

    def __init__(self) -> None:
        self.leaf, self.other = Leaf(), Other()

    def walk(self) -> None:
        self.branch(self.leaf)
        self.branch(self.other)
        empty()

    def branch(self, leaf: Leaf) -> None:
        leaf.touch()
        empty()


def empty() -> None:
    pass


def _method(count: int) -> Callable[[], None]:
    touch = Leaf().touch

    def work() -> None:
        for _ in repeat(None, count):
            touch()

    return work


def _function(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in repeat(None, count):
            empty()

    return work


def other() -> None:
    pass


def _turns(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in repeat(None, count // 2):
            empty()
            other()

    return work


def _tree(count: int) -> Callable[[], None]:
    tree = Tree()

    def work() -> None:
        for _ in repeat(None, count // 8):
            tree.walk()

    return work


class Made:
    def __init__(self, value: int) -> None:
        self.value = value


def _constructor(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in repeat(None, count):
            Made(1)

    return work


def _resumes(count: int) -> Iterator[None]:
    yield from repeat(None, count)


def _generator(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in _resumes(count):
            pass

    return work


def _c_function(count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in repeat(None, count):
            abs(1)

    return work


_WORKS = {
    "method": _method,
    "function": _function,
    "turns": _turns,
    "tree": _tree,
    "constructor": _constructor,
    "generator": _generator,
    "c_function": _c_function,
}


def _sides(result: Result) -> dict[str, Side]:
    sides: dict[str, Side] = {
        "plain": peers.plain,
        "fastdispatch": peers.recorded(ops="off"),
        "fastdispatch, timing=False": peers.recorded(ops="off", timing=False),
        "cProfile": peers.c_profile,
    }
    if peers.can_compile():
        sides["an empty hook"] = peers.empty_hook(clock=False)
        sides["a hook that reads the clock"] = peers.empty_hook(clock=True)
    else:
        result.skip("an empty hook", "no C compiler")
    if sys.version_info >= (3, 12):
        sides["fastdispatch, detail=c_calls"] = peers.recorded(ops="off", detail="c_calls")
        sides["fastdispatch, calls=monitor"] = peers.recorded(ops="off", calls="monitor")
        if peers.can_compile():
            sides["empty callbacks"] = peers.empty_monitor(clock=False)
            sides["callbacks that read the clock"] = peers.empty_monitor(clock=True)
    if peers.installed("viztracer"):
        sides["VizTracer"] = peers.viz_tracer(c_functions=False)
    else:
        result.skip("VizTracer", "not installed")
    return sides


def measure(effort: Effort) -> Result:
    result = Result()
    sides = _sides(result)
    for name, make in _WORKS.items():
        count = effort.scaled(_CALLS) // 8 * 8
        times = interleave(sides, make(count), effort, turns=24, repeats=3)
        costs = {side: added(times, side, count) for side in sides if side != "plain"}
        ours, counted = costs["fastdispatch"], costs["fastdispatch, timing=False"]
        side = "fastdispatch, detail=c_calls"
        if side in costs:
            result.add(f"{name}: added cost, with C functions / cProfile", ratios(costs[side], costs["cProfile"]), "x")
            result.add(f"{name}: with C functions / untraced", ratios(times[side], times["plain"]), "x")
        is_call = name not in ("generator", "c_function")  # others have no goal
        for peer in ("cProfile", "VizTracer"):
            if peer in costs:
                bar = _OF_PEER if is_call else None
                result.add(f"{name}: added cost, ours / {peer}", ratios(ours, costs[peer]), "x", bar)
        result.add(f"{name}: timing=False / timed", ratios(counted, ours), "x", _OF_TIMED if is_call else None)
        result.add(f"{name}: untraced", [time / count for time in times["plain"]], "ns")
        for side, cost in costs.items():
            result.add(f"{name}: added by {side}", cost, "ns")
    return result
