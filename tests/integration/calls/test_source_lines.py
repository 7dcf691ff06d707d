"""Executions and time of source lines (``detail="lines"``) against ``sys.monitoring`` and ``sys.settrace``."""

from __future__ import annotations

import json
import multiprocessing
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.read import privacy
from tests import programs
from tests.integration.calls.test_calls import SOURCES, record
from tests.oracle.line_counting import LineCounter
from tests.oracle.recorded import Recorded


def lines_of(trace: fastdispatch.Trace, file: str = __file__) -> dict[tuple[str, int, int], list[int]]:
    """Executions and time by (name of the function, its first line, line)."""
    nodes, contexts = trace.nodes, trace.contexts
    found: dict[tuple[str, int, int], list[int]] = {}
    for rank in trace.ranks:
        rows = rank["measures"]
        for context, kind, detail, count, total in zip(
            *(rows[name] for name in ("context", "kind", "detail", "count", "sum")), strict=True
        ):
            node = contexts["node"][context]
            if kind == "lines" and file.endswith("/" + nodes["file"][node]):
                sums = found.setdefault((nodes["name"][node], nodes["line"][node], int(detail)), [0, 0])
                sums[0] += count
                sums[1] += total
    return found


def hits(trace: fastdispatch.Trace, file: str = __file__) -> Counter[tuple[str, int, int]]:
    return Counter({key: count for key, (count, _) in lines_of(trace, file).items() if count})


@pytest.mark.parametrize("timing", [True, False], ids=["timed", "counted"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", programs.PLAIN, ids=lambda program: program.__name__)
def test_hits_equal_those_of_an_independent_recorder(program: Callable[[], None], source: str, timing: bool) -> None:
    program()  # imports and caches of the first time
    counter = LineCounter(programs.__file__)
    if sys.version_info < (3, 12):  # one trace function at a time
        counter.run(program)
    work = program if sys.version_info < (3, 12) else lambda: counter.run(program)
    trace = record(work, calls=source, timing=timing, detail="lines")
    assert hits(trace, programs.__file__) == counter.hits
    assert trace.ranks[0]["counters"]["measures_full"] == 0


@pytest.mark.parametrize("source", SOURCES)
def test_other_figures_are_those_without(source: str, collector_off: None) -> None:
    """Except where garbage collections start: the frame objects of Python 3.11 for trace functions count."""
    for program in set(programs.PLAIN) - {programs.collections}:
        program()
        plain, detailed = (
            Recorded(record(program, calls=source, detail=detail), program.__name__) for detail in ("", "lines")
        )
        for column in ("calls", "resumes"):
            assert detailed.calls(column) == plain.calls(column), program.__name__


def first_lines(function: Callable[..., object]) -> int:
    return function.__code__.co_firstlineno


@pytest.mark.parametrize("source", SOURCES)
def test_the_time_of_a_line_includes_its_calls_and_excludes_suspensions(source: str) -> None:
    def inner() -> None:
        time.sleep(0.02)

    def numbers() -> Iterator[int]:
        yield 1
        inner()
        yield 2

    def program() -> None:
        for _ in numbers():
            time.sleep(0.05)
        inner()

    found = lines_of(record(program, calls=source, detail="lines"))
    start, first = first_lines(numbers), first_lines(program)
    assert 20e6 <= found["inner", first_lines(inner), first_lines(inner) + 1][1] / 2 < 50e6
    assert found["numbers", start, start + 2][1] >= 20e6
    assert found["numbers", start, start + 1][1] < 50e6  # not the 50 ms after yield
    assert found["program", first, first + 2] == [2, pytest.approx(100e6, rel=0.5)]
    assert found["program", first, first + 3][1] >= 20e6


@pytest.mark.parametrize("source", SOURCES)
def test_an_exception_ends_the_lines_of_the_frames_it_leaves(source: str) -> None:
    def fail() -> None:
        raise ValueError

    def program() -> None:
        for _ in range(3):
            with pytest.raises(ValueError):
                fail()
        time.sleep(0.05)

    found = lines_of(record(program, calls=source, detail="lines"))
    start = first_lines(fail)
    assert found["fail", start, start + 1][0] == 3
    assert found["fail", start, start + 1][1] < 50e6


@pytest.mark.parametrize("source", SOURCES)
def test_threads_that_run_and_threads_that_start_later(source: str) -> None:
    begin, end = threading.Event(), threading.Event()

    def work() -> None:
        for _ in range(3):
            programs.leaf(1)

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
    found = hits(record(program, calls=source, detail="lines"))
    early.join()
    assert found["work", first_lines(work), first_lines(work) + 2] == 6


@pytest.mark.parametrize("source", SOURCES)
def test_the_running_function_and_pauses(source: str) -> None:
    def program(graph: fastdispatch.CallGraph) -> int:
        here = 1
        graph.iterate(False, 1)
        here += 1
        graph.iterate(True, 2)
        here += 1
        return here

    with fastdispatch.CallGraph(None, ops="off", calls=source, detail="lines") as graph:
        program(graph)
    found = hits(fastdispatch.Trace(graph._session.trace()))
    start = first_lines(program)
    assert [found["program", start, start + line] for line in range(1, 7)] == [1, 1, 0, 0, 1, 1]


@pytest.mark.parametrize("source", SOURCES)
def test_libraries_have_no_lines(source: str) -> None:
    def program() -> None:
        textwrap.dedent("  a\n  b")

    trace = record(program, calls=source, detail="lines")
    nodes, contexts = trace.nodes, trace.contexts
    rows = trace.ranks[0]["measures"]
    files = {nodes["file"][contexts["node"][context]] for context in rows["context"]}
    assert "dedent" in nodes["name"]
    assert files == {"tests/integration/calls/test_calls.py", "tests/integration/calls/test_source_lines.py"}


def test_a_forked_process_has_lines_too(tmp_path: Path) -> None:
    def child() -> None:
        for _ in range(5):
            programs.leaf(1)

    with fastdispatch.CallGraph(tmp_path, ops="off", detail="lines"):
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
    (forked,) = set(tmp_path.glob("rank00000*")) - {tmp_path / "rank00000.fd"}
    assert hits(fastdispatch.load(forked))["child", first_lines(child), first_lines(child) + 2] == 5


def test_both_details_together() -> None:
    def program() -> None:
        for i in range(3):
            sorted([i])

    trace = record(program, detail="c_calls,lines")
    assert trace.meta["options"]["detail"] == ["c_calls", "lines"]
    assert hits(trace)["program", first_lines(program), first_lines(program) + 2] == 3
    assert "sorted" in trace.nodes["name"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_function_on_one_line_has_it(source: str) -> None:
    here = lambda: 1  # noqa: E731

    def program() -> None:
        here()
        here()

    found = hits(record(program, calls=source, detail="lines"))
    assert found["<lambda>", first_lines(here), first_lines(here)] == 2


def _pending(n: int) -> int:
    return _pending(n - 1) + 1 if n else 0


def test_dumps_merges_and_hidden_names_keep_the_figures(tmp_path: Path) -> None:
    trace = record(lambda: _pending(4), detail="lines")
    trace.dump(tmp_path / "dump.json")
    key = ("_pending", first_lines(_pending), first_lines(_pending) + 1)
    assert hits(trace)[key] == hits(fastdispatch.load(tmp_path / "dump.json"))[key] == 5
    with privacy.private(privacy.Privacy("salt", "")):
        hidden = fastdispatch.load(tmp_path / "dump.json")
    assert Counter(hidden.ranks[0]["measures"]["detail"]) == Counter(trace.ranks[0]["measures"]["detail"])


needs_settrace = pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring has room for several tools")


@needs_settrace
def test_a_trace_function_of_the_program_is_not_replaced() -> None:
    def tracer(*event: object) -> None:
        pass

    sys.settrace(tracer)
    try:
        with pytest.raises(fastdispatch.Error) as error:
            fastdispatch.CallGraph(None, ops="off", detail="lines").start()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)
    assert str(error.value) == (
        "detail='lines': this program has a trace function (sys.settrace: a debugger, or coverage), and Python 3.11"
        " allows one: end it, or omit detail"
    )
    assert fastdispatch.record.callgraph.current() is None


@needs_settrace
def test_a_trace_function_that_starts_later_works_and_the_loss_is_counted() -> None:
    seen = []

    def program(graph: fastdispatch.CallGraph) -> None:
        sys.settrace(lambda frame, event, argument: seen.append(event))
        programs.leaf(1)
        sys.settrace(None)
        graph.step()
        programs.leaf(2)

    with fastdispatch.CallGraph(None, ops="off", detail="lines") as graph:
        program(graph)
        assert sys.gettrace() is None
    trace = fastdispatch.Trace(graph._session.trace())
    assert seen.count("call") == 1
    assert trace.ranks[0]["counters"]["hook_lost"] == 1
    leaf = first_lines(programs.leaf)
    assert hits(trace, programs.__file__)["leaf", leaf, leaf + 1] == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12 and later")
def test_lines_without_a_tool_id_name_the_owners() -> None:
    from tests.integration.calls.test_monitor import free_ids_taken

    with free_ids_taken(), pytest.raises(fastdispatch.Error) as error:
        fastdispatch.CallGraph(None, ops="off", detail="lines").start()
    assert str(error.value) == (
        "detail='lines': no tool id of sys.monitoring is free (5: tool 5, 4: tool 4, 3: tool 3, 2: tool 2):"
        " end one of these tools, or omit detail"
    )
    assert fastdispatch.record.callgraph.current() is None


def _trains(steps: int) -> None:
    for _ in range(steps):
        programs.leaf(1)
        _pending(2)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run directory of two ranks."""
    folder = tmp_path_factory.mktemp("lines")
    for rank in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RANK", str(rank))
            patch.setenv("WORLD_SIZE", "2")
            patch.setenv("FASTDISPATCH_RUN_ID", "lines")
            with fastdispatch.CallGraph(folder, ops="off", detail="lines"):
                _trains(rank + 1)
    return str(folder)


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_report_has_figures_next_to_the_source(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = _run(capsys, "report", recording, "--lines", "_trains").splitlines()
    assert out[0] == "source lines, ranks 0-1, summed, whole recording"
    start = first_lines(_trains)
    assert out[3].startswith(f"tests/integration/calls/test_source_lines.py:{start} _trains   ")
    rows = {int(line.split()[0]): line for line in out[5:]}
    assert sorted(rows) == [start + 1, start + 2, start + 3]
    assert [rows[start + line].split()[1] for line in (1, 2, 3)] == ["5", "3", "3"]
    assert rows[start + 3].endswith("%          _pending(2)")


def test_the_report_as_json_adds_ranks(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    both = json.loads(_run(capsys, "report", recording, "--lines", "--json"))
    assert both["ranks"] == [0, 1]
    assert both["not_recorded"] == 0
    start, pending = first_lines(_trains), first_lines(_pending)
    found = {each["name"]: each for each in both["functions"]}
    assert [row["hits"] for row in found["_trains"]["lines"]] == [5, 3, 3]
    assert [row["line"] for row in found["_trains"]["lines"]] == [start + 1, start + 2, start + 3]
    assert found["_pending"]["lines"][0]["hits"] == 9
    assert found["_pending"]["lines"][0]["line"] == pending + 1
    one = json.loads(_run(capsys, "report", recording, "--lines", "--rank", "0", "--json"))
    assert one["ranks"] == [0]
    assert [row["hits"] for each in one["functions"] if each["name"] == "_trains" for row in each["lines"]] == [2, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lines", "nowhere"], "has no lines of a function whose file or key contains 'nowhere'"),
        (["--lines", "--rank", "7"], "has no source lines of rank 7: record with detail='lines'"),
        (["--lines", "--tree"], "--tree and --lines cannot be combined: give only one"),
    ],
)
def test_refused_reports(
    recording: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", recording, *arguments]) == 2
    assert message in capsys.readouterr().err
