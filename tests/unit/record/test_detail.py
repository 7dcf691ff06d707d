"""Refused values of ``CallGraph(detail=...)``; tests/integration/calls/test_c_calls.py has the recorded calls."""

import sys

import pytest

import fastdispatch
from tests.integration.calls.test_calls import record


def test_no_c_calls_without_the_option() -> None:
    trace = record(lambda: sorted([1]))
    assert "c" not in trace.nodes["kind"]
    assert trace.meta["options"]["detail"] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"detail": "c_call"}, "detail='c_call': must be c_calls"),
        ({"detail": "c_calls", "calls": "off"}, "detail='c_calls' requires Python calls: omit calls='off'"),
    ],
)
def test_refused_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(fastdispatch.Error) as error:
        fastdispatch.CallGraph(None, **options)
    assert str(error.value) == message


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.11 has no sys.monitoring")
def test_c_calls_are_refused_without_sys_monitoring() -> None:
    with pytest.raises(fastdispatch.Error) as error:
        fastdispatch.CallGraph(None, ops="off", detail="c_calls").start()
    assert str(error.value) == "detail='c_calls' needs Python 3.12 or later: omit detail"
    assert fastdispatch.record.callgraph.current() is None
