"""Short-lived classes: calls count for the right class, after any number of classes."""

import gc
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, standin, traces
from tests.traces import SOURCES


def work(self: object) -> None:
    pass


def made(name: str) -> type:
    return type(name, (), {"work": work})


def counts(graph: fastdispatch.CallGraph) -> dict[str, int]:
    assert graph.trace.ranks[0]["counters"]["classes_full"] == 0
    found = traces.calls(graph.trace, "key")
    return {key.rpartition("/")[2]: calls for key, calls in found.items() if key.endswith(":work")}


def key(name: str) -> str:
    return f"test_classes.py:[{name}]:work"


@pytest.mark.parametrize("calls", SOURCES)
def test_more_classes_than_the_cache_has_entries(calls: str) -> None:
    """More than the former limit of 2**16 per process."""
    many = 2**16 + 5000
    with fastdispatch.CallGraph(None, calls=calls, ops="off") as graph:
        for _ in range(many):
            made("Short")().work()
        made("Late")().work()
    assert counts(graph) == {key("Short"): many, key("Late"): 1}


@pytest.mark.parametrize("calls", SOURCES)
def test_a_class_at_a_reused_address(calls: str) -> None:
    """The same code, called from one place, for classes that reuse each other's memory."""
    rounds, names = 3000, [f"Kind{number}" for number in range(7)]
    with fastdispatch.CallGraph(None, calls=calls, ops="off") as graph:
        for number in range(rounds):
            instance = made(names[number % 7])()
            for _ in range(number % 3 + 1):
                instance.work()
            if number % 50 == 0:
                gc.collect(1)  # classes are in cycles: only this frees them
    expected: Counter[str] = Counter()
    for number in range(rounds):
        expected[key(names[number % 7])] += number % 3 + 1
    assert counts(graph) == expected


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler for the library that refuses memory")
def test_a_call_whose_class_finds_no_room_is_counted(tmp_path: Path) -> None:
    library = standin.build_refusing(tmp_path)
    done = processes.run("refused_classes.py", LD_PRELOAD=str(library))
    found = json.loads(done.stdout)
    assert found["refused"] > 0
    assert found["calls"] == {"Before": 1, "": found["classes_full"], "Many": 2000 - found["classes_full"], "After": 1}
    assert found["classes_full"] > 0


PARAMETERS = "def f({names}, self):\n return self"
FREE = "def outer(self):\n{assignments}\n def f():\n  return ({names}, self)[-1]\n return f"


@pytest.mark.parametrize("count", [32767, 32768])
@pytest.mark.parametrize("calls", SOURCES)
def test_a_receiver_after_many_variables(calls: str, count: int) -> None:
    names = ", ".join(f"a{number}" for number in range(count))
    assignments = "\n".join(f" a{number} = 0" for number in range(count))
    scope: dict[str, object] = {}
    exec(PARAMETERS.format(names=names), scope)
    exec(FREE.format(names=names, assignments=assignments), scope)
    receiver = made("Receiver")()
    parameter, free = scope["f"], scope["outer"](receiver)
    with fastdispatch.CallGraph(None, calls=calls, ops="off") as graph:
        for _ in range(2):
            assert parameter(*range(count), receiver) is receiver
            assert free() is receiver
    keys = {key.rpartition(":[")[2] for key in graph.trace.nodes["key"] if "Receiver" in key}
    assert keys == {"Receiver]:f@1", f"Receiver]:f@{count + 2}"}
