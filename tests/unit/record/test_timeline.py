"""What a timeline holds, on Pythons without PyTorch too: every call once, inside its caller, as long as it was."""

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import commands, programs, traces
from tests.processes import fastdispatch as command
from tests.processes import killed
from tests.traces import SOURCES

Slice = dict[str, Any]


def chrome(trace: fastdispatch.Trace, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(trace.export("chrome", **options))
    return found


def slices(trace: fastdispatch.Trace) -> list[Slice]:
    return [
        event for event in chrome(trace)["traceEvents"] if event["ph"] == "X" and event["cat"] not in ("step", "phase")
    ]


record = partial(traces.recorded, ops="off", keep="*", timeline=True)


def names(trace: fastdispatch.Trace) -> list[str]:
    """Of each context, as its slices are named."""
    nodes = trace.nodes
    classes, functions, kinds = nodes["class"], nodes["name"], nodes["kind"]
    return [
        f"[{classes[node]}]:{functions[node]}" if kinds[node] == "python" and classes[node] else functions[node]
        for node in trace.contexts["node"]
    ]


def nested(rows: list[Slice]) -> Iterator[tuple[Slice, Slice | None]]:
    """Each slice with the one around it; fails where two overlap and neither holds the other."""
    tracks = defaultdict(list)
    for row in rows:
        tracks[row["pid"], row["tid"]].append(row)
    for track in tracks.values():
        around: list[tuple[int, Slice]] = []
        for row in track:
            begin = round(row["ts"] * 1000)
            end = begin + round(row["dur"] * 1000)
            while around and around[-1][0] <= begin and not (around[-1][0] == begin == end):
                around.pop()
            assert not around or end <= around[-1][0], row
            yield row, around[-1][1] if around else None
            around.append((end, row))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("program", programs.PLAIN, ids=lambda program: program.__name__)
def test_every_call_is_one_slice(program: Callable[[], None], source: str) -> None:
    trace = record(program, calls=source)
    rows = slices(trace)
    contexts = trace.contexts
    calls: Counter[str] = Counter()
    for name, called, resumed, parent in zip(
        names(trace), contexts["calls"], contexts["resumes"], contexts["parent"], strict=True
    ):
        calls[name] += called + resumed if parent >= 0 else 0
    assert Counter(row["name"] for row in rows if "args" not in row) == +calls
    assert sum(1 for _ in nested(rows)) == len(rows)
    threads = trace.ranks[0]["threads"]
    assert sum(threads["events"]) == sum(calls.values())
    assert sum(threads["events_lost"]) == 0


def test_slices_lie_in_their_callers_and_add_up_to_the_totals() -> None:
    trace = record(programs.classes)
    rows = slices(trace)
    contexts, name = trace.contexts, names(trace)
    edges = {(name[parent], name[i]) for i, parent in enumerate(contexts["parent"]) if parent >= 0}
    found = {(around["name"], row["name"]) for row, around in nested(rows) if around is not None}
    assert found <= edges
    assert {edge for edge in edges if edge[0] == "classes"} <= found
    total: Counter[str] = Counter()
    for context, total_ns in enumerate(contexts["total"]):
        total[name[context]] += total_ns
    for one in ("[Base]:closure", "[Derived]:method", "classes"):
        parts = [round(row["dur"] * 1000) for row in rows if row["name"] == one]
        assert parts
        assert sum(parts) == pytest.approx(total[one], abs=len(parts) + len(name))  # rounded, each


def test_open_calls_are_marked() -> None:
    def outer() -> fastdispatch.Trace:
        with fastdispatch.CallGraph(None, ops="off", timeline=True) as graph:
            programs.leaf(1)
            return fastdispatch.Trace(graph._session.trace(timeline=True))

    rows = slices(outer())
    assert {row["name"] for row in rows if row.get("args") == {"open": True}} >= {"outer"}
    assert [row["name"] for row in rows if "args" not in row] == ["leaf"]


def test_short_calls_and_kinds_can_be_excluded() -> None:
    def work() -> None:
        for _ in range(20):
            programs.leaf(1)
        time.sleep(0.02)

    def waits() -> None:
        with fastdispatch.label("stretch"):
            work()

    rows = slices(record(waits, timeline="python>10ms"))
    assert [row["name"] for row in rows if "args" not in row] == ["waits", "work"]
    rows = slices(record(waits, timeline=fastdispatch.Timeline("ranges")))
    assert [row["name"] for row in rows if "args" not in row] == ["stretch"]


@pytest.mark.parametrize("when_full", ("stop", "overwrite"))
def test_overflow_is_counted_and_shown(when_full: str) -> None:
    calls = 40_000

    def work() -> None:
        for i in range(calls):
            programs.leaf(i)

    timeline = fastdispatch.Timeline("python", when_full=when_full)
    trace = record(work, timeline=timeline, max_mb=1)
    threads = trace.ranks[0]["threads"]
    assert threads["events"] == [calls + 1]
    lost = threads["events_lost"][0]
    rows = [row for row in slices(trace) if "args" not in row]
    assert len(rows) == calls + 1 - lost
    assert 0 < lost < calls
    assert (rows[0]["name"] == "work") == (when_full == "overwrite")
    notes = [event["name"] for event in chrome(trace)["traceEvents"] if event["ph"] == "i"]
    assert notes == [f"{lost} events found no room in the timeline"]
    assert trace.contexts["calls"][names(trace).index("leaf")] == calls


def test_the_report_has_the_lost_events(tmp_path: Path) -> None:
    def work() -> None:
        for i in range(40_000):
            programs.leaf(i)

    with fastdispatch.CallGraph(tmp_path, ops="off", timeline=True, max_mb=1) as graph:
        work()
    lost = fastdispatch.load(tmp_path).ranks[0]["threads"]["events_lost"][0]
    assert graph.path is not None
    report = commands.out("report", tmp_path).replace("\u202f", "")
    assert f"dropped: {lost} events without room in the timeline (rank 0)" in report


def test_every_window_of_a_schedule_is_there() -> None:
    def work(graph: fastdispatch.CallGraph) -> None:
        for i in range(6):
            programs.leaf(i)
            graph.step()

    schedule = fastdispatch.schedule(wait=1, warmup=0, active=2)
    with fastdispatch.CallGraph(None, ops="off", timeline=True, schedule=schedule) as graph:
        work(graph)
    trace = fastdispatch.Trace(graph._session.trace(timeline=True))
    events = [event for event in chrome(trace)["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in events if event["cat"] == "step"] == ["step 1", "step 2", "step 4", "step 5"]
    assert Counter(event["name"] for event in events)["leaf"] == 4
    # Slices that are open at the end of a window end there, and begin again in the next one.
    assert Counter(event["name"] for event in events)["work"] == 2


def test_threads_have_tracks() -> None:
    def work() -> None:
        workers = [threading.Thread(target=programs.recursion, name=f"worker-{i}") for i in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    trace = record(work)
    events = chrome(trace)["traceEvents"]
    track = {event["args"]["name"]: event["tid"] for event in events if event["name"] == "thread_name"}
    assert len(set(track.values())) == len(track)
    recursions = Counter(row["tid"] for row in slices(trace) if row["name"] == "recursion")
    assert sum(recursions.values()) == 3
    assert track["main"] not in recursions


def test_a_killed_process_leaves_its_timeline(tmp_path: Path) -> None:
    with killed("endless.py", tmp_path, "plain", FASTDISPATCH_TEST_TIMELINE="1"):
        time.sleep(0.2)
    trace = fastdispatch.load(tmp_path, timeline=True)
    rows = slices(trace)
    assert trace.ranks[0]["state"] == "killed"
    assert sum(1 for _ in nested(rows)) == len(rows)
    assert {"main", "work"} <= {row["name"] for row in rows if row.get("args") == {"open": True}}
    assert Counter(row["name"] for row in rows)["leaf"] > 100


@pytest.fixture
def run(tmp_path: Path) -> Path:
    script = tmp_path / "script.py"
    script.write_text("def f(): pass\nfor i in range(7): f()\n")
    assert command("run", "--timeline", "-o", tmp_path / "out", script).returncode == 0
    return tmp_path / "out"


def test_the_command_line_writes_both_forms(run: Path, tmp_path: Path) -> None:
    for form, name in (("chrome", "t.json"), ("chrome", "t.json.gz"), ("perfetto", "t.pftrace")):
        for output in (name, f"again.{name}"):
            assert commands.error("export", form, run, "-o", tmp_path / output, status=0) == ""
        assert (tmp_path / name).read_bytes() == (tmp_path / f"again.{name}").read_bytes()
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert Counter(event["name"] for event in events)["f"] == 7
    named = json.loads(fastdispatch.load(run, timeline=True).export("chrome", durations="name"))["traceEvents"]
    assert sum(event["name"].startswith("f (") for event in named) == 7


def test_bad_input_is_one_line(run: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    script = tmp_path / "script.py"
    assert command("run", "-o", plain, script).returncode == 0
    for form in ("chrome", "perfetto"):
        for words, printed in (
            ((plain, "-o", tmp_path / "x"), "record with CallGraph(timeline=True)"),
            ((run, "-o", tmp_path / "x", "--rank", "5"), "rank 5 is not in this trace"),
            ((run, "-o", tmp_path / "no" / "x"), "cannot write"),
        ):
            assert printed in commands.complaint("export", form, *words)
    assert not (tmp_path / "x").exists()
    assert "python>50us" in commands.complaint("run", "--options", "timeline=kernels", script)


@pytest.mark.parametrize("what", ("", "kernels", "python>50", "python>fast", "ops,,python"))
def test_invalid_kinds(what: str) -> None:
    with pytest.raises(fastdispatch.Error, match="must be one of python, ops, ranges"):
        fastdispatch.Timeline(what)


def test_options_that_make_no_sense() -> None:
    with pytest.raises(fastdispatch.Error, match="one of stop, overwrite"):
        fastdispatch.Timeline(when_full="later")
    assert fastdispatch.Timeline("ops+python>1.5ms").shortest() == {"ops": 0.0, "python": 1.5e6}
