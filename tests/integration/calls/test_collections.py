"""Garbage collections: calls of the ranges gc:gen0, gc:gen1, gc:gen2 below the call that they interrupt."""

import gc
import threading
from collections.abc import Callable, Iterator

import pytest

import fastdispatch
from tests import programs
from tests.traces import SOURCES


@pytest.fixture(autouse=True)
def unchanged_collector() -> Iterator[None]:
    enabled, thresholds, callbacks = gc.isenabled(), gc.get_threshold(), list(gc.callbacks)
    yield
    gc.set_threshold(*thresholds)
    (gc.enable if enabled else gc.disable)()
    assert gc.callbacks == callbacks


class Knot:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.own = self


def knots(count: int = 5000) -> None:
    for _ in range(count):
        Knot()


def collected() -> None:
    gc.collect(0)
    gc.collect(1)
    gc.collect()


def record(work: Callable[[], object], **options: object) -> tuple[fastdispatch.Trace, list[int]]:
    """Record ``work``; also return the collections of each generation while it ran."""
    options = {"out": None, "ops": "off"} | options
    with fastdispatch.CallGraph(**options) as graph:
        before = [each["collections"] for each in gc.get_stats()]
        work()
        after = [each["collections"] for each in gc.get_stats()]
    return fastdispatch.Trace(graph._session.trace()), [b - a for a, b in zip(before, after, strict=True)]


def paths(trace: fastdispatch.Trace, key: str) -> dict[str, int]:
    """Return the calls of a node by the name of its caller."""
    nodes, contexts = trace.nodes, trace.contexts
    found: dict[str, int] = {}
    for at, node in enumerate(contexts["node"]):
        if nodes["key"][node] == key:
            caller = nodes["name"][contexts["node"][contexts["parent"][at]]]
            found[caller] = found.get(caller, 0) + contexts["calls"][at]
    return found


def runs(trace: fastdispatch.Trace) -> list[int]:
    return [sum(paths(trace, f"gc:gen{generation}").values()) for generation in range(3)]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("timing", [True, False])
def test_counts_equal_those_of_the_collector(source: str, timing: bool) -> None:
    def work() -> None:
        knots()
        collected()

    gc.set_threshold(50, 3, 3)
    trace, expected = record(work, calls=source, timing=timing)
    assert min(expected) >= 1
    assert runs(trace) == expected
    assert trace.meta["gc"]["collections"] == expected


def test_facts_name_the_objects() -> None:
    gc.disable()
    gc.collect()
    before = gc.get_stats()[2]["collected"]
    trace, _ = record(lambda: (knots(100), gc.collect()))
    found = trace.meta["gc"]
    assert found["collected"][2] == gc.get_stats()[2]["collected"] - before >= 100
    assert found["uncollectable"] == [0, 0, 0]


def test_a_collection_is_below_the_call_that_it_interrupts() -> None:
    gc.disable()
    trace, _ = record(collected)
    for generation in range(3):
        assert paths(trace, f"gc:gen{generation}") == {"collected": 1}
    assert set(trace.nodes["kind"][trace.nodes["key"].index(f"gc:gen{each}")] for each in range(3)) == {"range"}


def test_times_add_up() -> None:
    gc.set_threshold(20, 3, 3)
    trace, _ = record(knots)
    table = trace.table("node")
    rows = {
        where: (own, total) for where, own, total in zip(table["where"], table["self"], table["total"], strict=True)
    }
    function = next(where for where in rows if where.endswith(":knots"))
    collections = [rows[key] for key in rows if key.startswith("gc:")]
    assert all(0 < own == total for own, total in collections)
    assert rows[function][0] + sum(own for own, _ in collections) <= rows[function][1]
    assert sum(own for own, _ in rows.values()) == rows["main"][1]


class Final:
    """A knot with a finaliser in Python."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        finalised()


def finalised() -> None: ...


@pytest.mark.parametrize("source", SOURCES)
def test_finalisers_run_below_the_collection(source: str) -> None:
    gc.disable()

    def work() -> None:
        for _ in range(3):
            Final()
        gc.collect()

    trace, _ = record(work, calls=source)
    delete = next(key for key in trace.nodes["key"] if key.endswith("[Final]:__del__"))
    assert paths(trace, delete) == {"gc:gen2": 3}


def test_nothing_is_recorded_while_the_collector_is_disabled() -> None:
    gc.disable()
    trace, expected = record(knots)
    assert expected == [0, 0, 0] == trace.meta["gc"]["collections"]
    assert not any(key.startswith("gc:") for key in trace.nodes["key"])


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    try:
        trace, expected = record(collected)
        assert gc.get_freeze_count() <= frozen
        assert runs(trace) == expected
    finally:
        gc.unfreeze()


def test_callbacks_of_the_program_keep_their_order() -> None:
    seen: list[str] = []

    def first(phase: str, info: dict[str, int]) -> None:
        seen.append(f"first {phase} {info['generation']}")

    def second(phase: str, info: dict[str, int]) -> None:
        seen.append(f"second {phase} {info['generation']}")

    gc.disable()
    gc.callbacks.append(first)
    try:
        with fastdispatch.CallGraph(None, ops="off") as graph:
            gc.callbacks.append(second)
            assert len(gc.callbacks) == 3
            gc.collect(1)
        assert gc.callbacks == [first, second]
    finally:
        gc.callbacks[:] = [each for each in gc.callbacks if each not in (first, second)]
    assert seen == ["first start 1", "second start 1", "first stop 1", "second stop 1"]
    trace = fastdispatch.Trace(graph._session.trace())
    assert runs(trace) == [0, 1, 0]


def test_a_list_that_the_program_clears_stays_empty() -> None:
    def clear(phase: str, info: dict[str, int]) -> None:
        gc.callbacks.clear()

    gc.disable()
    kept = list(gc.callbacks)
    with fastdispatch.CallGraph(None, ops="off") as graph:
        gc.callbacks.append(clear)
        collected()
        assert gc.callbacks == []
        finalised()
    assert gc.callbacks == []
    gc.callbacks.extend(kept)
    trace = fastdispatch.Trace(graph._session.trace())
    assert runs(trace) == [1, 0, 0]
    name = next(key for key in trace.nodes["key"] if key.endswith(":finalised"))
    assert paths(trace, name) == {"test_a_list_that_the_program_clears_stays_empty": 1}


def test_a_recording_may_end_during_a_collection() -> None:
    seen: list[str] = []
    graph = fastdispatch.CallGraph(None, ops="off")

    def stop(phase: str, info: dict[str, int]) -> None:
        seen.append(f"stop {phase}")
        graph.stop()

    def last(phase: str, info: dict[str, int]) -> None:
        seen.append(f"last {phase}")

    gc.disable()
    kept = list(gc.callbacks)
    graph.start()
    gc.callbacks.extend([stop, last])
    gc.collect()
    assert seen == ["stop start", "last start", "stop stop", "last stop"]
    assert fastdispatch.Trace(graph._session.trace()).nodes["key"].count("gc:gen2") == 1
    with fastdispatch.CallGraph(None, ops="off"):
        pass
    assert gc.callbacks[-2:] == [stop, last]
    gc.callbacks[:] = kept


def test_only_recorded_windows_have_the_callback() -> None:
    windows = fastdispatch.schedule(wait=1, warmup=0, active=1)
    lengths = []
    with fastdispatch.CallGraph(None, ops="off", schedule=windows) as graph:
        for _ in range(4):
            lengths.append(len(gc.callbacks))
            graph.step()
    base = len(gc.callbacks)
    assert [length - base for length in lengths] == [0, 1, 0, 1]


def test_a_collection_is_charged_to_its_thread() -> None:
    gc.disable()

    def work() -> None:
        gc.collect()

    def threads() -> None:
        thread = threading.Thread(target=work, name="collects")
        thread.start()
        thread.join()

    trace, expected = record(threads)
    assert runs(trace) == expected == [0, 0, 1]
    nodes, contexts = trace.nodes, trace.contexts
    at = next(i for i, node in enumerate(contexts["node"]) if nodes["key"][node] == "gc:gen2")
    while contexts["parent"][at] >= 0:
        at = contexts["parent"][at]
    assert nodes["name"][contexts["node"][at]] == "collects"


def test_a_collection_inside_an_import_is_not_folded(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "collects_in_its_body.py").write_text("import gc\ngc.collect(1)\n")
    monkeypatch.syspath_prepend(str(site))
    gc.disable()

    def work() -> None:
        import collects_in_its_body  # noqa: F401

    trace, expected = record(work)
    assert expected[1] == 1
    assert runs(trace) == expected


@pytest.mark.parametrize("source", SOURCES)
def test_calls_that_a_collection_delays_are_counted_once(source: str) -> None:
    """3.13 and later collect before the start of a call is reported; functions of gc.callbacks run then."""
    seen: list[str] = []
    kept: list[list[int]] = []

    def look(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    def work() -> None:
        gc.set_threshold(1)
        gc.callbacks.append(look)
        for i in range(40):
            programs.Base(i)
            kept.extend(programs.numbers(i))
        gc.callbacks.remove(look)

    trace, _ = record(work, calls=source)
    assert paths(trace, "tests/programs.py:[Base]:__init__") == {"work": 40}
    assert paths(trace, "tests/programs.py:[]:numbers") == {"work": 40}
    assert len(seen) > 40
