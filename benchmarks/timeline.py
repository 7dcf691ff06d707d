"""A timeline: what an event adds to a call, and how fast it is written for its readers."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from time import process_time

import fastdispatch
from benchmarks import calls, peers
from benchmarks.figures import Result
from benchmarks.measure import Effort, Side, added, interleave, quiet
from fastdispatch import pipeline

# Share of the cost of a call without a timeline; bytes; ns per slice at 1.5 and 5 M slices per second.
_OF_CALL, _NATIVE_BYTES, _CHROME_NS, _NATIVE_NS = 0.7, 30, 1e9 / 1.5e6, 1e9 / 5e6
_CALLS, _SLICES = 4_000, 1_000_000

#: Goals: multiples of an empty context manager that is recorded too, and of a call without a rule.
_OF_CONTEXT, _OF_PLAIN_CALL = 10, 10


def _events(result: Result, effort: Effort) -> None:
    sides: dict[str, Side] = {
        "plain": peers.plain,
        "fastdispatch": peers.recorded(ops="off"),
        "timeline": peers.recorded(ops="off", timeline=fastdispatch.Timeline("python", when_full="overwrite")),
    }
    works = {"method": calls._method, "function": calls._function, "tree": calls._tree}
    for name, make in works.items():
        count = effort.scaled(_CALLS) // 8 * 8
        times = interleave(sides, make(count), effort, turns=24, repeats=3)
        plain, with_events = added(times, "fastdispatch", count), added(times, "timeline", count)
        more = [(both - one) / one for both, one in zip(with_events, plain, strict=True)]
        result.add(f"{name}: an event / the call without it", more, "x", _OF_CALL)
        result.add(f"{name}: added by a call", plain, "ns")
        result.add(f"{name}: added by a call and its event", with_events, "ns")


def _recording(folder: str, slices: int) -> Path:
    """Eight calls a walk, of four functions on three levels."""
    work = calls._tree(slices)
    with fastdispatch.CallGraph(folder, ops="off", timeline=True, max_mb=128, steps="all") as graph:
        work()
    assert graph.path is not None
    return Path(graph.path)


def _nanoseconds(work: Callable[[], object], slices: int) -> float:
    begin = process_time()
    work()
    return (process_time() - begin) * 1e9 / slices


def _exports(result: Result, effort: Effort) -> None:
    slices = 8_000 if effort.quick else _SLICES
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        path = _recording(folder, slices)
        loads = [_nanoseconds(lambda: fastdispatch.load(path, timeline=True), slices) for _ in range(effort.rounds)]
        trace = fastdispatch.load(path, timeline=True)
    assert trace.ranks[0]["threads"]["events_lost"] == [0]
    result.add("load", loads, "ns", None, f"a slice, of {slices:,}")
    for form, bar in (("perfetto", _NATIVE_NS), ("chrome", _CHROME_NS)):
        times = []
        for _ in range(effort.rounds):
            times.append(_nanoseconds(lambda form=form: trace.export(form), slices))  # type: ignore[misc]
        result.add(f"export {form}", times, "ns", bar, "per slice")
    size = len(trace.export("perfetto")) / slices
    result.add("perfetto: bytes per slice", [size], "count", _NATIVE_BYTES)


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class _Engine:
    stage = 1

    def known(self, mb: int) -> None:
        pass

    def unknown(self, mb: int) -> None:
        pass


def _contexts(make: Callable[[], AbstractContextManager[object]], count: int) -> Callable[[], None]:
    def work() -> None:
        for _ in range(count):
            with make():
                pass

    return work


def _each(function: Callable[[int], None], count: int) -> Callable[[], None]:
    def work() -> None:
        for mb in range(count):
            function(mb)

    return work


def _jobs(result: Result, effort: Effort) -> None:
    count, engine = effort.scaled(_CALLS), _Engine()
    pipeline.rule("benchmarks/timeline.py", "_Engine.known", "F", mb="arg:mb", stage="attr:stage")
    marks, rules = [], []
    for _ in range(effort.rounds):
        with fastdispatch.CallGraph(None, ops="off", jobs=True, steps="all"):
            job = _nanoseconds(_contexts(lambda: fastdispatch.job("F", mb=3, stage=1), count), count)
            marks.append(job / _nanoseconds(_contexts(_Nothing, count), count))
            known = _nanoseconds(_each(engine.known, count), count)
            rules.append(known / _nanoseconds(_each(engine.unknown, count), count))
    result.add("a job mark / a plain context", marks, "x", _OF_CONTEXT)
    result.add("a call that is a job by a rule / one that is not", rules, "x", _OF_PLAIN_CALL)


def measure(effort: Effort) -> Result:
    result = Result()
    with quiet():
        _exports(result, effort)
    _events(result, effort)
    with quiet():
        _jobs(result, effort)
    return result
