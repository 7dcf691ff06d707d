"""User rules: an unknown engine, recorded as a pipeline."""

import gc
import importlib.util
import sys
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fastdispatch
from fastdispatch import pipeline
from fastdispatch.record.engines import Engines
from tests import traces
from tests.pipelines import rows
from tests.traces import SOURCES

EXCEPTION, FUSED, ATTACHED = 4, 16, 64

ENGINE = """
class Stage:
    shared = 7

    def __init__(self, index):
        self.index, self.read = index, 0

    @property
    def computed(self):
        self.read += 1
        return 3

    def __getattr__(self, name):
        raise RuntimeError("no attribute may be read here")


class Slots:
    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index

    def forward(self, mb):
        pass


class Engine:
    def __init__(self, index, stages=2):
        self.stage, self.stages = Stage(index), stages

    def forward(self, mb, fail=False):
        if fail:
            raise ValueError("planted")

    def backward(self, full=True):
        pass

    def exchange(self):
        pass

    def guarded(self, mb):
        pass

    def meet(self, waits):
        for wait in waits:
            wait()

    def batch(self, micro_batches, fail=False):
        for mb in range(micro_batches):
            self.forward(mb, fail)
        for mb in range(micro_batches):
            self.backward(full=mb % 2 == 0)
        self.exchange()


def free(mb):
    pass


def sized(what):
    pass


def fixed():
    pass
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    path = tmp_path_factory.mktemp("rules") / "nobodys" / "engine.py"
    path.parent.mkdir()
    path.write_text(ENGINE)
    spec = importlib.util.spec_from_file_location("nobodys_engine", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["nobodys_engine"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with fastdispatch.CallGraph(None, ops="off", jobs=True):  # known before there is a rule
        module.Engine(0).batch(1)
    file = "nobodys/engine.py"
    pipeline.rule(file, "Engine.batch", "ITER", mb="arg:micro_batches", stage="attr:stages", chunk="attr:stages")
    pipeline.rule(
        file, "Engine.forward", "F", mb="arg:mb", stage="attr:stage.index", buffer="5", chunk="attr:stage.shared"
    )
    pipeline.rule(file, "Engine.backward", "B", mb="count", stage="attr:stage.index", when="arg:full")
    pipeline.rule(file, "Engine.backward", "I", mb="count", stage="attr:stage.index", when="!arg:full")
    pipeline.rule(file, "Engine.exchange", "SA+RG", stage="attr:stage.index")
    pipeline.rule(
        file, "Engine.guarded", "look", mb="attr:stage.computed", stage="attr:nothing", peer="attr:stage.nothing"
    )
    pipeline.rule(file, "Slots.forward", "slot", mb="attr:index")
    pipeline.rule(file, "free", "free", mb="arg:mb", stage="arg:nothing")
    yield module
    del sys.modules["nobodys_engine"]


record = partial(traces.recorded, ops="off", jobs=True)


@pytest.mark.parametrize("calls", SOURCES)
def test_every_number_has_the_source_of_its_rule(engine: ModuleType, calls: str) -> None:
    made = engine.Engine(1)
    trace = record(lambda: [made.batch(3), made.batch(2)], calls=calls)
    jobs = rows(trace.jobs())
    assert [job["kind"] for job in jobs] == ["ITER", *"FFFBIB", "SA", "RG", "ITER", *"FFBI", "SA", "RG"]
    assert [job["iteration"] for job in jobs] == [0] * 9 + [1] * 7
    assert [job["micro_batch"] for job in jobs] == [-1, 0, 1, 2, 0, 0, 1, -1, -1, -1, 0, 1, 0, 0, -1, -1]
    assert {job["stage"] for job in jobs if job["kind"] != "ITER"} == {1}
    forward = rows(trace.jobs(), kind="F")
    assert {(job["buffer"], job["chunk"]) for job in forward} == {(5, 7)}
    assert {job["flags"] for job in forward} == {ATTACHED}
    assert [(job["peer"], job["flags"]) for job in jobs if job["kind"] in ("SA", "RG")] == [(2, ATTACHED | FUSED)] * 4
    assert rows(trace.jobs(), kind="SA")[0]["start"] == rows(trace.jobs(), kind="RG")[0]["start"]
    facts = trace.ranks[0]["meta"]["pipeline"]
    assert (facts["engine"], facts["stages"], facts["micro_batches"], facts["schedule"]) == ("user", 2, 2, None)
    assert "no plan of" in facts["note"]
    assert {"Engine.forward", "Engine.batch"} <= set(facts["rules"]["matched"])


def test_nothing_of_the_program_runs(engine: ModuleType) -> None:
    made = engine.Engine(0)
    trace = record(lambda: made.guarded(1))
    (job,) = rows(trace.jobs())
    assert (job["micro_batch"], job["stage"], job["peer"]) == (-1, -1, -1)
    assert made.stage.read == 0
    other = record(lambda: [engine.Slots(4).forward(0), engine.free(6), engine.free("no number"), engine.free(2**40)])
    assert [job["micro_batch"] for job in rows(other.jobs())] == [4, 6, -1, -1]


def test_bytes_are_a_number_or_those_of_tensors(engine: ModuleType) -> None:
    pipeline.rule("nobodys/engine.py", "sized", "SA", bytes="arg:what")
    pipeline.rule("nobodys/engine.py", "fixed", "RA", bytes="4096")
    trace = record(
        lambda: [engine.sized(7), engine.sized("text"), engine.sized(None), engine.fixed(), engine.sized([3])]
    )
    assert [job["bytes"] for job in rows(trace.jobs())] == [7, 0, 0, 4096, 0]


@pytest.mark.torch
def test_bytes_of_tensors_run_nothing_of_the_program(engine: ModuleType) -> None:
    import torch
    from torch.overrides import TorchFunctionMode

    seen: list[object] = []

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return function(*args, **(kwargs or {}))

    class Held:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor

    class Asked:
        @property
        def tensor(self) -> torch.Tensor:
            seen.append(self)
            return plain

    plain, own = torch.zeros(3, 5), torch.zeros(3).as_subclass(Own)
    half, sparse = torch.zeros(7, dtype=torch.float16), torch.eye(2).to_sparse()
    given = [plain, half, [plain, (half, None)], [Held(plain), Asked()], sparse, own, plain[1:]]
    seen.clear()
    pipeline.rule("nobodys/engine.py", "sized", "SA", bytes="arg:what")
    with Mode():
        trace = record(lambda: [engine.sized(what) for what in given])
    assert not seen
    assert [job["bytes"] for job in rows(trace.jobs())] == [60, 14, 74, 60, 0, 0, 40]


@pytest.mark.parametrize("calls", SOURCES)
def test_exceptions_end_jobs_and_pass(engine: ModuleType, calls: str) -> None:
    def program() -> None:
        with pytest.raises(ValueError, match="planted"):
            engine.Engine(0).batch(2, fail=True)
        engine.Engine(0).batch(1)

    jobs = rows(record(program, calls=calls).jobs())
    assert [job["kind"] for job in jobs[:2]] == ["ITER", "F"]
    assert [job["flags"] & EXCEPTION for job in jobs[:3]] == [EXCEPTION, EXCEPTION, 0]
    assert [job["iteration"] for job in jobs if job["kind"] == "ITER"] == [0, 1]
    assert not any(job["open"] for job in jobs)


def test_the_engine_is_not_kept_alive(engine: ModuleType) -> None:
    with fastdispatch.CallGraph(None, ops="off", jobs=True):
        made = engine.Engine(0)
        made.batch(2)
        alive = weakref.ref(made)
        del made
        gc.collect()
        assert alive() is None


@pytest.mark.parametrize("calls", SOURCES)
def test_jobs_of_rules_and_of_the_program_in_one_recording(engine: ModuleType, calls: str) -> None:
    def program() -> None:
        pipeline.rule("nobodys/engine.py", "Engine.late", "late")
        made = engine.Engine(0)

        class Mixed(engine.Engine):  # type: ignore[name-defined,misc]
            def exchange(self) -> None:
                with fastdispatch.job("send", mb=1, peer=1):
                    super().exchange()

        Mixed(0).batch(1)
        with fastdispatch.job("outside"):
            made.forward(0)

    trace = record(program, calls=calls)
    jobs = rows(trace.jobs())
    assert [(job["kind"], job["iteration"]) for job in jobs] == [
        ("ITER", 0),
        ("F", 0),
        ("B", 0),
        ("send", 0),
        ("SA", 0),
        ("RG", 0),
        ("outside", -1),
        ("F", -1),
    ]
    assert [job["flags"] for job in jobs if job["kind"] in ("send", "outside")] == [0, 0]
    assert trace.ranks[0]["meta"]["pipeline"]["rules"]["missing"] == ["Engine.late"]


def test_the_call_graph_is_the_same_without(engine: ModuleType) -> None:
    def keys(trace: fastdispatch.Trace) -> list[str]:
        return sorted(trace.nodes["key"][node] for node in trace.contexts["node"])

    made = engine.Engine(0)
    plain, with_jobs = record(lambda: made.batch(2), jobs=False), record(lambda: made.batch(2))
    assert keys(plain) == keys(with_jobs)
    assert plain.jobs()["kind"] == with_jobs.jobs()["kind"]
    assert plain.ranks[0]["meta"]["pipeline"] == with_jobs.ranks[0]["meta"]["pipeline"]


@pytest.mark.parametrize("calls", SOURCES)
def test_a_window_that_ends_ends_its_jobs(engine: ModuleType, calls: str) -> None:
    with fastdispatch.CallGraph(None, ops="off", jobs=True, calls=calls) as graph:

        class Ending(engine.Engine):  # type: ignore[name-defined,misc]
            def exchange(self) -> None:
                graph.stop()

        session = graph._session
        Ending(0).batch(1)
    assert session is not None
    jobs = rows(fastdispatch.Trace(session.trace(timeline=True)).jobs())
    assert [job["kind"] for job in jobs] == ["ITER", "F", "B"]
    assert not any(job["open"] for job in jobs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mb": "argument:mb"}, 'rule: mb="argument:mb": must be arg:NAME, attr:NAME, count or a number'),
        ({"stage": "attr:a.b.c"}, 'rule: stage="attr:a.b.c": must be arg:NAME, attr:NAME, count or a number'),
        ({"when": "arg:"}, 'rule: when="arg:": must be arg:NAME, attr:NAME, count or a number'),
        ({"kind": ""}, "must not be empty"),
    ],
    ids=str,
)
def test_invalid_rules(changes: dict[str, str], message: str) -> None:
    with pytest.raises(fastdispatch.Error) as error:
        pipeline.rule(**({"path_suffix": "a.py", "qualname": "f", "kind": "F"} | changes))  # type: ignore[arg-type]
    assert message in str(error.value)
    with pytest.raises(TypeError):
        pipeline.rule("a.py", "f", None)  # type: ignore[arg-type]


def test_a_path_ends_at_a_folder(tmp_path: Path, engine: ModuleType) -> None:
    """``xnobodys/engine.py`` is another file."""
    path = tmp_path / "xnobodys" / "engine.py"
    path.parent.mkdir()
    path.write_text(ENGINE)
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert record(lambda: names["Engine"](0).batch(2)).jobs()["kind"] == []


@pytest.mark.parametrize("calls", SOURCES)
def test_jobs_of_several_threads(engine: ModuleType, calls: str) -> None:
    """Each thread's calls end where they began, whatever another one enters meanwhile."""
    inside, go = threading.Barrier(2), threading.Barrier(2)

    class Meeting(engine.Engine):  # type: ignore[name-defined,misc]
        def __init__(self, index: int) -> None:
            super().__init__(index)
            self.waits = [inside.wait, go.wait]

    def program() -> None:
        made = [Meeting(index) for index in range(2)]
        threads = [threading.Thread(target=each.meet, args=(each.waits,)) for each in made]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    pipeline.rule("nobodys/engine.py", "Engine.meet", "F", stage="attr:stage.index")
    jobs = rows(record(program, calls=calls).jobs())
    assert sorted((job["kind"], job["stage"], job["flags"], job["open"]) for job in jobs) == [
        ("F", 0, ATTACHED, False),
        ("F", 1, ATTACHED, False),
    ]
    assert len({job["thread"] for job in jobs}) == 2


@pytest.mark.parametrize("calls", SOURCES)
def test_a_rule_added_while_an_engine_is_read(engine: ModuleType, monkeypatch: pytest.MonkeyPatch, calls: str) -> None:
    """All that was known of the rules of a function is replaced in the middle of its call."""
    asked = []

    def begin(engines: object, what: tuple[str, object]) -> None:
        for number in range(50):
            pipeline.rule("nobodys/engine.py", "Engine.batch", f"more{number}")
        asked.append(what[0])

    monkeypatch.setattr(Engines, "begin", begin)
    trace = record(lambda: engine.Engine(0).batch(3), calls=calls)
    assert asked == ["user"]
    jobs = [job for job in rows(trace.jobs()) if job["kind"] in ("ITER", "F")]
    assert [(job["kind"], job["micro_batch"], job["flags"]) for job in jobs] == [
        ("ITER", -1, ATTACHED),
        *(("F", number, ATTACHED) for number in range(3)),
    ]
    assert [trace.ranks[0]["meta"]["pipeline"][name] for name in ("micro_batches", "stages")] == [3, 2]


def test_recordings_without_calls_give_the_reason_for_no_jobs(engine: ModuleType) -> None:
    trace = record(lambda: engine.Engine(0).batch(1), calls="off")
    assert trace.jobs()["kind"] == []
    with pytest.raises(fastdispatch.Error) as error:
        pipeline.report(trace)
    assert str(error.value) == (
        "no pipeline engine found: the recording has no jobs; jobs by rule need calls='frame' or calls='monitor'"
    )
