"""Failures of the dispatch mode: operators of the program run as without it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from greenlet import greenlet

import fastdispatch
from tests import processes, standin
from tests.programs import leaf


@pytest.mark.torch
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler for the library that refuses memory")
def test_operators_run_where_memory_is_refused(tmp_path: Path) -> None:
    library = standin.build_refusing(tmp_path)
    done = processes.run("refused_operators.py", LD_PRELOAD=str(library))
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["refused"] > 10


class Switching:
    """A stand-in for an operator that switches to another greenlet, without any Python frame."""

    def __init__(self, other: greenlet) -> None:
        self._op = other.switch

    def name(self) -> str:
        return "test::switching"


def operate(mode: object, operator: object, depth: int) -> None:
    if depth > 0:
        operate(mode, operator, depth - 1)
    else:
        mode.__torch_dispatch__(operator, (), ())


@pytest.mark.torch
@pytest.mark.parametrize("depths", [(20, 1), (1, 20), (5, 5)])
def test_a_switch_inside_an_operator_revives_nothing(depths: tuple[int, int]) -> None:
    """The operator returns after its entry was removed: no other call ends twice."""
    with fastdispatch.CallGraph(None, ops="dispatch", keep="*", timeline=True) as graph:
        mode = fastdispatch.DispatchMode()

        def work() -> None:
            operator = Switching(greenlet.getcurrent())
            others = [greenlet(operate) for _ in depths]
            for other, depth in zip(others, depths, strict=True):
                other.switch(mode, operator, depth)
                leaf(depth)
            for other in others:
                other.switch()
                leaf(0)

        greenlet(work).switch()
    trace = fastdispatch.Trace(graph._session.trace(timeline=True))
    names, nodes, calls = trace.nodes["name"], trace.contexts["node"], trace.contexts["calls"]
    events = json.loads(trace.export("chrome"))["traceEvents"]
    for name in ("leaf", "test::switching"):
        slices = [event for event in events if event["ph"] == "X" and event["name"].endswith(name)]
        called = sum(calls[row] for row, node in enumerate(nodes) if names[node] == name)
        assert len(slices) == called == (4 if name == "leaf" else 2)


@pytest.mark.torch
@pytest.mark.parametrize("exempts", [True, False])
def test_recompiled_modules_are_noted(exempts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch 2.6 cannot exempt a mode from the guards of compiled code."""
    from torch.utils._python_dispatch import TorchDispatchMode

    if not exempts:
        monkeypatch.delattr(TorchDispatchMode, "ignore_compile_internals", raising=False)
    elif not hasattr(TorchDispatchMode, "ignore_compile_internals"):
        pytest.skip("this PyTorch cannot exempt a mode")
    with fastdispatch.CallGraph(None, ops="dispatch", calls="off") as graph:
        pass
    reason = fastdispatch.Trace(graph._session.trace()).ranks[0]["meta"]["ops_reason"]
    line = "; this PyTorch recompiles modules of torch.compile at each call in this mode, until Dynamo's limit"
    assert reason == "requested" + ("" if exempts else line)


class Described:
    """A stand-in for an operator whose description runs Python code, in which another thread can add operators."""

    def __init__(self, result: str, describing: Callable[[], object] = lambda: None) -> None:
        self._op = lambda: result
        self._describing = describing

    def name(self) -> str:
        self._describing()
        return f"test::{self._op()}"


@pytest.mark.torch
def test_operators_that_are_added_during_a_description_run_as_themselves() -> None:
    mode = fastdispatch.DispatchMode()
    others = [Described(f"other{number}") for number in range(100)]
    nested = Described("nested", lambda: [mode.__torch_dispatch__(other, (), ()) for other in others])
    for _ in range(2):
        assert mode.__torch_dispatch__(nested, (), ()) == "nested"
        assert [mode.__torch_dispatch__(other, (), ()) for other in others] == [other._op() for other in others]
    assert mode.calls["test::nested"] == 2


@pytest.mark.torch
def test_an_operator_that_is_added_during_its_own_description_is_known_once() -> None:
    mode = fastdispatch.DispatchMode()
    running: list[bool] = []

    def once() -> None:
        if not running:
            running.append(True)
            mode.__torch_dispatch__(operator, (), ())

    operator = Described("again", once)
    for _ in range(3):
        assert mode.__torch_dispatch__(operator, (), ()) == "again"
    assert mode.calls == {"test::again": 4}


@pytest.mark.torch
def test_a_filter_that_adds_operators_changes_none() -> None:
    """The filter of functions runs between the lookup of an operator and its call."""
    mode = fastdispatch.DispatchMode()
    others = [Described(f"other{number}") for number in range(500)]

    def keep(key: str) -> bool:
        return [mode.__torch_dispatch__(other, (), ()) for other in others] != []

    with fastdispatch.CallGraph(None, ops="dispatch", keep=keep):
        assert [mode.__torch_dispatch__(Described(str(number)), (), ()) for number in range(3)] == ["0", "1", "2"]
