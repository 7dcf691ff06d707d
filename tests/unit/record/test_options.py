"""The arguments of CallGraph: refused ones, and their text in FASTDISPATCH_OPTIONS."""

import sys
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.record.options import options_of, text_of
from tests.integration.calls.test_calls import record


@pytest.mark.parametrize(("name", "hint"), [("opps", ": did you mean 'ops'?"), ("zzz", "")])
def test_an_unknown_argument(name: str, hint: str) -> None:
    with pytest.raises(TypeError) as raised:
        fastdispatch.CallGraph(None, **{name: 1})  # type: ignore[arg-type]
    assert str(raised.value) == f"CallGraph has no argument {name!r}{hint}"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ops": "all"}, "ops='all'"),
        ({"calls": "none"}, "calls='none'"),
        ({"max_mb": 0}, "max_mb=0"),
        ({"max_mb": 5000}, "max_mb=5000"),
        ({"steps": "x:y"}, "steps=x:y"),
        ({"steps": "5:5"}, "no step is selected"),
        ({"steps": "1:2", "schedule": lambda step: 3}, "give only one"),
        *(({"budget": share}, "must be a share of the run time") for share in (0, 1, -0.1, 2.0)),
        ({"budget": 0.01, "steps": "2:5"}, "give only one of them"),
        ({"step_of": "train step"}, "expected NAME or FILE:NAME"),
        ({"keep": []}, "keep"),
        ({"keep": [""]}, "keep"),
        ({"timing": False, "timeline": True}, "requires times"),
        ({"et": True, "ops": "dispatch"}, "et=True"),
        ({"et": True, "ops": "off"}, "et=True"),
        ({"et": True, "timing": False}, "et=True"),
        ({"measure": "flop"}, "measure='flop': must be one of flops, memory, comm, shapes, all"),
        ({"measure": "flops", "ops": "dispatch"}, "measure='flops' requires ops='record': omit ops"),
        ({"gather": True, "ranks": [0]}, "gather requires every rank"),
        ({"gpu": "require"}, "no CUDA or HIP runtime is loaded in this process"),
        ({"gpu": "sometimes"}, "must be one of kernels, modules, functions, jobs, or a glob"),
        ({"gpu": "modules,"}, "write kernels, modules, functions, jobs or globs"),
        ({"gpu": "ops"}, "must be one of kernels"),
        ({"detail": "c_call"}, "detail='c_call': must be c_calls"),
        ({"detail": "c_calls", "calls": "off"}, "detail='c_calls' requires Python calls: omit calls='off'"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(fastdispatch.Error) as raised:
        fastdispatch.CallGraph(tmp_path / "out", **options).start()
    assert words in str(raised.value)
    assert fastdispatch.record.callgraph.current() is None and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "value"), [("active", 0), ("wait", -1)])
def test_schedule_arguments(name: str, value: int) -> None:
    with pytest.raises(fastdispatch.Error, match=f"{name}={value}"):
        fastdispatch.schedule(**{"wait": 1, "warmup": 1, "active": 1} | {name: value})


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.11 has no sys.monitoring")
def test_c_calls_are_refused_without_sys_monitoring() -> None:
    with pytest.raises(fastdispatch.Error, match=r"detail='c_calls' needs Python 3\.12 or later: omit detail"):
        fastdispatch.CallGraph(None, ops="off", detail="c_calls").start()
    assert fastdispatch.record.callgraph.current() is None


def test_no_c_calls_without_the_option() -> None:
    trace = record(lambda: sorted([1]))
    assert "c" not in trace.nodes["kind"]
    assert trace.meta["options"]["detail"] == ""


def test_text() -> None:
    given = {"ops": "off", "timing": False, "children": True, "max_mb": 8, "budget": 0.02, "keep": ["a.py:*", "!*:b"]}
    text = text_of(given | {"timeline": "ops,python>1ms"})
    assert text.startswith("ops=off,timing=0,children=1,max_mb=8,")
    assert options_of(text) == given | {"timeline": "ops+python>1ms"}
    assert options_of(text)["timing"] is False
