"""Calls of C functions (``detail="c_calls"``) against ``sys.setprofile``."""

import contextlib
import json
import multiprocessing
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, programs, traces
from tests.integration.calls.test_calls import record
from tests.oracle.counting import CCallCounter
from tests.oracle.recorded import Recorded
from tests.traces import SOURCES, edges

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12 and later")


def calls_of(trace: fastdispatch.Trace, root: str) -> Counter[tuple[str, str]]:
    return Recorded(trace, root).c_calls()


@pytest.mark.parametrize("timing", [True, False], ids=["timed", "counted"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", programs.PLAIN, ids=lambda program: program.__name__)
def test_counts_equal_those_of_setprofile(program: Callable[[], None], source: str, timing: bool) -> None:
    program()  # imports and caches of the first time
    counter = CCallCounter(program.__name__)
    counter.run(program)
    trace = record(program, calls=source, timing=timing, detail="c_calls")
    assert calls_of(trace, program.__name__) == counter.calls
    assert sum(trace.ranks[0]["counters"].values()) == trace.ranks[0]["counters"]["recursion_folded"]


@pytest.mark.parametrize("source", SOURCES)
def test_python_calls_are_counted_as_without(source: str) -> None:
    for program in programs.PLAIN:
        program()
        plain = Recorded(record(program, calls=source), program.__name__)
        detailed = Recorded(record(program, calls=source, detail="c_calls"), program.__name__)
        for column in ("calls", "resumes"):
            assert detailed.calls(column) == plain.calls(column), program.__name__


@pytest.mark.parametrize("source", SOURCES)
def test_threads_that_run_and_threads_that_start_later(source: str) -> None:
    begin, end = threading.Event(), threading.Event()

    def work() -> None:
        for i in range(3):
            sorted([i])

    def running() -> None:
        begin.wait()
        work()
        end.set()

    def program() -> None:
        begin.set()
        end.wait()
        later = threading.Thread(target=work, name="later")
        later.start()
        later.join()

    early = threading.Thread(target=running, name="early")
    early.start()
    trace = record(program, calls=source, detail="c_calls")
    early.join()
    assert edges(trace)["work", "sorted"] == 6


@pytest.mark.parametrize("source", SOURCES)
def test_callbacks_and_generators_nest_below_the_c_function(source: str) -> None:
    def key(x: int) -> int:
        return len(str(x))

    def program() -> None:
        sorted([1, 2, 3], key=key)
        next(key(i) for i in range(3))

    found = edges(record(program, calls=source, detail="c_calls"))
    assert found["program", "sorted"] == found["program", "next"] == 1
    assert found["sorted", "key"] == 3
    assert found["key", "len"] == 4
    assert ("program", "key") not in found


def profiler_events(start: Callable[[object], None]) -> list[tuple[str, str]]:
    """What a profile function of the program gets, after calls of ``sys.setprofile`` that fail or set nothing."""
    events = []
    with contextlib.suppress(TypeError):
        sys.setprofile()  # type: ignore[call-arg]
    sys.setprofile(None)
    assert sys.getprofile() is None
    start(lambda frame, event, value: events.append((event, getattr(value, "__name__", frame.f_code.co_name))))
    len("")
    sys.setprofile(None)
    threading.setprofile_all_threads(None)
    return events


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("all_threads", [False, True])
def test_a_profiler_of_the_program_gets_its_events(all_threads: bool, source: str) -> None:
    start = threading.setprofile_all_threads if all_threads else sys.setprofile
    plain = profiler_events(start)
    assert plain == [*plain[:-3], ("c_call", "len"), ("c_return", "len"), ("c_call", "setprofile")]
    found: list[list[tuple[str, str]]] = []
    trace = record(lambda: found.extend(profiler_events(start) for _ in range(3)), calls=source, detail="c_calls")
    assert found == 3 * [plain]
    assert edges(trace)["profiler_events", "setprofile"] == (9 if all_threads else 12)


@pytest.mark.parametrize("source", SOURCES)
def test_an_exception_ends_the_call(source: str) -> None:
    def program() -> None:
        for _ in range(3):
            with pytest.raises(TypeError):
                len(3)  # type: ignore[arg-type]
        programs.leaf(1)

    found = edges(record(program, calls=source, detail="c_calls"))
    assert found["program", "len"] == 3
    assert found["program", "leaf"] == 1


@pytest.mark.parametrize("source", SOURCES)
def test_time_is_that_of_the_c_function(source: str) -> None:
    def program() -> None:
        time.sleep(0.05)
        zlib.compress(bytes(1000))

    trace = record(program, calls=source, detail="c_calls")
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    own, program = trace.contexts["self"], names.index("program")
    assert own[names.index("sleep")] >= 50_000_000
    assert own[program] <= trace.contexts["total"][program] - own[names.index("sleep")]


@pytest.mark.parametrize("source", SOURCES)
def test_deep_recursion_is_counted(source: str) -> None:
    """One entry per Python call and one per C function: beyond the largest stack of entries."""

    def down(n: int) -> int:
        return max(n, down(n - 1)) if n else 0

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(50_000)
    try:
        found = edges(record(lambda: max(0, down(40_000)), calls=source, detail="c_calls"))
    finally:
        sys.setrecursionlimit(limit)
    assert found["down", "max"] == 40_000
    assert found["<lambda>", "max"] == 1


@pytest.mark.parametrize("source", SOURCES)
def test_a_node_has_the_module_and_class_of_the_function(source: str) -> None:
    class Mine(list[int]):
        pass

    def program() -> None:
        mine = Mine([1])
        mine.append(1)
        list.append(mine, 2)
        [3].append(4)
        dict.fromkeys("a")
        zlib.compress(b"")

    trace = record(program, calls=source, detail="c_calls")
    rows = zip(*(trace.nodes[name] for name in ("kind", "key", "qualified", "from")), strict=True)
    found = {key: rest for kind, key, *rest in rows if kind == "c"}
    assert found["builtins:[Mine]:append"] == ["list.append", "stdlib"]
    assert found["builtins:[list]:append"] == ["list.append", "stdlib"]
    assert found["builtins:[dict]:fromkeys"] == ["dict.fromkeys", "stdlib"]
    assert found["zlib:[]:compress"] == ["compress", "stdlib"]
    assert edges(trace)["program", "append"] == 3


@pytest.mark.parametrize("source", SOURCES)
def test_keep_selects_c_functions_too(source: str) -> None:
    def program() -> None:
        for i in range(3):
            sorted([i], key=programs.leaf)
            len([i])

    keep = ["*:program", "*:leaf", "builtins:*:len"]
    found = edges(record(program, calls=source, detail="c_calls", keep=keep))
    assert found["program", "len"] == found["program", "leaf"] == 3
    assert "sorted" not in {name for edge in found for name in edge}


def test_a_pause_records_no_c_functions() -> None:
    def program(graph: fastdispatch.CallGraph) -> None:
        sorted([1])
        graph.iterate(False, 1)
        sorted([1])
        graph.iterate(True, 2)
        sorted([1])

    with fastdispatch.CallGraph(None, ops="off", detail="c_calls") as graph:
        program(graph)
    assert edges(fastdispatch.Trace(graph._session.trace()))["program", "sorted"] == 2


def test_a_forked_process_records_c_functions_too(tmp_path: Path) -> None:
    def child() -> None:
        for _ in range(5):
            zlib.crc32(b"")

    with fastdispatch.CallGraph(tmp_path, ops="off", detail="c_calls"):
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
    (forked,) = set(tmp_path.glob("rank00000*")) - {tmp_path / "rank00000.fd"}
    assert edges(fastdispatch.load(forked))["child", "crc32"] == 5


def test_c_calls_without_a_tool_id_name_the_owners() -> None:
    from tests.integration.calls.test_sources import free_ids_taken

    with free_ids_taken(), pytest.raises(fastdispatch.Error) as error:
        fastdispatch.CallGraph(None, ops="off", detail="c_calls").start()
    assert str(error.value) == (
        "detail='c_calls': no tool id of sys.monitoring is free (5: tool 5, 4: tool 4, 3: tool 3, 2: tool 2):"
        " end one of these tools, or omit detail"
    )
    assert fastdispatch.record.callgraph.current() is None


def _trains() -> None:
    zlib.compress(bytes(1000))
    sorted([3, 1, 2], key=programs.leaf)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run directory of two ranks with two equal steps each."""
    folder = tmp_path_factory.mktemp("c-calls")
    for rank in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RANK", str(rank))
            patch.setenv("WORLD_SIZE", "2")
            patch.setenv("FASTDISPATCH_RUN_ID", "c-calls")
            with fastdispatch.CallGraph(folder, ops="off", detail="c_calls", timeline=True) as graph:
                for _ in range(2):
                    _trains()
                    graph.step()
    return str(folder)


KEYS = ("zlib:[]:compress", "builtins:[]:sorted")


def test_reports_pictures_and_exports_have_them(recording: str, tmp_path: Path) -> None:
    report = commands.out("report", recording, "--all", "--steps", "all", "--top", "99")
    assert [line.split()[0] for key in KEYS for line in report.splitlines() if key in line] == ["4", "4"]
    picture = tmp_path / "graph.svg"
    commands.out("svg", recording, "-o", str(picture))
    assert all(name in picture.read_text() for name in ("compress", "sorted"))
    timeline = json.loads(commands.out("export", "chrome", recording, "-o", "-"))
    names = Counter((event["name"], event["cat"]) for event in timeline["traceEvents"] if event["ph"] == "X")
    assert names["compress", "zlib"] == names["sorted", "builtins"] == 4
    folded = commands.out("export", "folded", recording, "-o", "-")
    assert any("builtins:[]:sorted;tests/programs.py:[]:leaf" in line for line in folded.splitlines())


def test_dumps_and_merges_have_them(recording: str, tmp_path: Path) -> None:
    trace = fastdispatch.load(recording)
    trace.dump(tmp_path / "dump.json")
    for each in (trace, fastdispatch.load(tmp_path / "dump.json")):
        kinds = dict(zip(each.nodes["key"], each.nodes["kind"], strict=True))
        assert [kinds[key] for key in KEYS] == ["c", "c"]
        assert edges(each)["_trains", "compress"] == edges(each)["_trains", "sorted"] == 4
        assert edges(each)["sorted", "leaf"] == 12


@pytest.mark.torch
@pytest.mark.parametrize("ops", ["record", "dispatch"])
def test_operators_are_below_the_c_function_that_runs_them(ops: str) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)

    def program() -> None:
        loss = torch.add(weight, weight).sum()
        loss.backward()

    program()
    trace = record(program, ops=ops, detail="c_calls")
    plain = record(program, ops=ops)
    found = edges(trace)
    assert found["program", "add"] == found["add", "aten::add"] == 1
    assert found["program", "sum"] == found["sum", "aten::sum"] == 1
    assert ("program", "aten::add") not in found
    for kind in ("op", "autograd"):
        assert traces.calls(trace, "key", kind) == traces.calls(plain, "key", kind)
    assert _origins(trace) == _origins(plain) != {}


def _origins(trace: fastdispatch.Trace) -> dict[str, str]:
    """The forward operator of each autograd node."""
    keys = [trace.nodes["key"][node] for node in trace.contexts["node"]]
    return {keys[i]: keys[origin] for i, origin in enumerate(trace.contexts["origin"]) if origin >= 0}


def _training() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()
        optimizer.step()
        for _ in range(40):
            loss.item()


@pytest.mark.torch
def test_findings_are_those_without_c_functions(tmp_path: Path) -> None:
    found = []
    for detail in ("c_calls", ""):
        with fastdispatch.CallGraph(tmp_path / f"run-{detail}", detail=detail):
            _training()
        (sync,) = [each for each in fastdispatch.findings(tmp_path / f"run-{detail}") if each.id == "host-sync"]
        found.append((sync.where, sync.evidence["operators"], sync.evidence["calls_per_step"]))
    assert found[0] == found[1]
    assert found[0][2] == 40
