"""Calls of Python functions against ``sys.setprofile``."""

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import fastdispatch
from tests import programs, traces
from tests.oracle.counting import CallCounter
from tests.oracle.recorded import Recorded
from tests.traces import SOURCES


def record(work: Callable[[], object], **options: Any) -> fastdispatch.Trace:
    """Record ``work`` in memory, everything kept, nothing folded."""
    return traces.recorded(work, **{"ops": "off", "keep": "*"} | options)


def count(work: Callable[[], object]) -> CallCounter:
    counter = CallCounter()
    counter.run(work)
    return counter


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", programs.PLAIN, ids=lambda program: program.__name__)
def test_counts_equal_those_of_setprofile(program: Callable[[], None], source: str) -> None:
    program()  # imports and caches of the first time
    counter = count(program)
    recorded = Recorded(record(program, calls=source), program.__name__)
    # setprofile does not report the call that creates a generator; the recorder counts it.
    calls = Counter({key: n for key, n in recorded.calls().items() if key not in counter.resumes})
    assert calls == counter.calls
    assert recorded.calls("resumes") == counter.resumes


@pytest.mark.parametrize("source", SOURCES)
def test_the_end_of_a_generator_counts_where_it_runs(source: str) -> None:
    recorded = Recorded(record(programs.closed_generator, calls=source), "closed_generator")
    resumes = list(count(programs.closed_generator).resumes.values())
    unseen = source == "frame" and sys.version_info >= (3, 14)
    assert list(recorded.calls("resumes").values()) == ([1] if unseen else resumes)


MONITORING = pytest.mark.skipif(sys.version_info < (3, 13), reason="the hook sees every constructor before 3.13")


@MONITORING
def test_constructors_past_the_hook_have_their_callees() -> None:
    programs.constructors()  # specialise all call sites before the recording
    trace = record(programs.constructors)
    assert sum(trace.ranks[0]["counters"].values()) == 0
    nodes, contexts = trace.nodes, trace.contexts
    name = [f"{nodes['class'][node]}.{nodes['name'][node]}" for node in contexts["node"]]
    edges = {(name[contexts["parent"][i]], name[i]) for i in range(1, len(name)) if contexts["calls"][i]}
    assert {edge for edge in edges if edge[0] == "Nest.__init__"} == {
        ("Nest.__init__", "Nest.__init__"),  # of its base class
        ("Nest.__init__", "Leaf.__init__"),
        ("Nest.__init__", ".leaf"),
    }
    assert {edge[0] for edge in edges if edge[1] == "Refuser.__init__"} == {".constructors"}
    assert not any(edge[0] == "Refuser.__init__" for edge in edges)


@MONITORING
def test_a_constructor_past_the_hook_that_raises_has_ended() -> None:
    def waits_after_a_refusal() -> None:
        for i in range(40):
            with contextlib.suppress(ValueError):
                programs.Refuser(i)
        time.sleep(0.05)

    waits_after_a_refusal()
    trace = record(waits_after_a_refusal)
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    assert trace.contexts["self"][names.index("waits_after_a_refusal")] >= 50_000_000


@MONITORING
def test_nothing_is_left_in_sys_monitoring() -> None:
    monitoring = sys.monitoring
    record(programs.constructors)
    assert [monitoring.get_tool(tool) for tool in range(6)] == [None] * 6
    for tool in (2, 3, 4):
        monitoring.use_tool_id(tool, "test")
        assert monitoring.get_events(tool) == 0
        assert monitoring.get_local_events(tool, programs.Leaf.__init__.__code__) == 0
        assert monitoring.register_callback(tool, monitoring.events.PY_START, None) is None
        monitoring.free_tool_id(tool)


@pytest.mark.skipif(sys.version_info[:2] != (3, 13), reason="only 3.13 enters constructors past the hook")
@pytest.mark.usefixtures("every_tool_id_is_taken")
def test_constructors_without_a_tool_id() -> None:
    trace = record(programs.constructors)
    assert trace.ranks[0]["counters"]["hidden_frames"] > 0
    nodes = trace.nodes
    hidden = {
        f"{nodes['class'][node]}.{nodes['name'][node]}"
        for node, flags in zip(trace.contexts["node"], trace.contexts["flags"], strict=True)
        if flags & 0x40
    }
    assert "Nest.__init__" in hidden
    assert all(name.endswith(".__init__") for name in hidden)


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
def test_operator_lookup_of_pytorch_is_not_recorded(source: str) -> None:
    """A file with the name of PyTorch's: the look-up and its callees are not nodes, later calls are."""
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
    assert not [key for key in trace.nodes["key"] if key.startswith("torch/_ops.py") or "[_Ops]" in key]
    assert [(caller, calls) for (caller, callee), calls in traces.edges(trace).items() if callee == "leaf"] == [
        ("work", 2)
    ]


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (f"/tmp/torchinductor_me/xy/c{'b' * 43}jij6etlre.py", "ij6etlre.py:[]:made"),
        ("/tmp/torchinductor_me/xy/kernel.py", "kernel.py:[]:made"),
        ("/opt/env/bin/fastdispatch", None),
    ],
    ids=["hash", "name", "console script"],
)
def test_names_of_generated_files_and_of_the_console_script(file: str, key: str | None) -> None:
    """A hash is cut to its end; the script that starts the recorder is not recorded."""
    names: dict[str, Any] = {}
    exec(compile("def made(): return 1", file, "exec"), names)
    trace = traces.recorded(names["made"], ops="off")
    keys = {each for each in trace.nodes["key"] if each.endswith(":made")}
    assert keys == ({key} if key else set())
