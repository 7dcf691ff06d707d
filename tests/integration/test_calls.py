"""Calls of Python functions against ``sys.setprofile``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable

import pytest

import fastdispatch
from tests import programs
from tests.oracle.counting import CallCounter
from tests.oracle.recorded import Recorded


def record(work: Callable[[], object], **options: object) -> fastdispatch.Trace:
    """Record ``work`` in memory, everything kept, nothing folded."""
    options = {"out": None, "ops": "off", "keep": "*"} | options
    with fastdispatch.CallGraph(**options) as graph:
        work()
    return fastdispatch.Trace(graph._session.trace())


def count(work: Callable[[], object]) -> CallCounter:
    counter = CallCounter()
    counter.run(work)
    return counter


SOURCES = ["frame", "monitor"] if sys.version_info >= (3, 12) else ["frame"]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", programs.PLAIN, ids=lambda program: program.__name__)
def test_counts_equal_those_of_setprofile(program: Callable[[], None], source: str) -> None:
    program()  # imports and caches of the first time
    counter = count(program)
    recorded = Recorded(record(program, calls=source), program.__name__)
    # A generator that is created runs nothing yet: setprofile does not see that call, we count it.
    calls = Counter({key: n for key, n in recorded.calls().items() if key not in counter.resumes})
    missing = counter.calls - calls
    assert calls <= counter.calls
    assert recorded.calls("resumes") == counter.resumes
    if source == "frame" and sys.version_info >= (3, 13):
        # The evaluator hook of 3.13 is not asked for constructors that are called often.
        assert all(key.endswith(":__init__") for key in missing)
    else:
        assert not missing


LOOK_UP = """
class _Ops:
    def __getattr__(self, name):
        return helper(name)
def helper(name):
    if name == "missing":
        raise AttributeError(name)
    return name
"""


@pytest.mark.parametrize("source", SOURCES)
def test_what_pytorch_does_to_look_an_operator_up_is_left_out(source: str) -> None:
    """A file of PyTorch's name: neither the look-up nor what it calls is a node, and what follows it is."""
    space: dict[str, object] = {}
    exec(compile(LOOK_UP, "site-packages/torch/_ops.py", "exec"), space)
    ops = space["_Ops"]()  # type: ignore[operator]

    def work() -> None:
        assert ops.aten == "aten"
        programs.leaf(1)
        with pytest.raises(AttributeError):
            _ = ops.missing
        programs.leaf(2)

    trace = record(work, calls=source)
    names = trace.nodes["name"]
    assert "helper" not in names
    assert "__getattr__" not in names
    leaf = names.index("leaf")
    assert sum(c for c, n in zip(trace.contexts["calls"], trace.contexts["node"], strict=True) if n == leaf) == 2
    callers = [
        trace.nodes["name"][trace.contexts["node"][trace.contexts["parent"][i]]]
        for i, n in enumerate(trace.contexts["node"])
        if n == leaf
    ]
    assert callers == ["work"]
