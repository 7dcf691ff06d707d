"""``fastdispatch timeline merge`` to native Perfetto traces, in the real trace processor."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fastdispatch.read.timeline_inputs import merge_files
from tests.commands import merge_timelines
from tests.consumers.perfetto import assert_clean, decode, open_trace, own_times, query

SLICES = """
    select s.name as name, s.ts as ts, s.dur as dur, s.depth as depth, thread.name as thread, process.name as process,
        (select group_concat(substr(flat_key, instr(flat_key, '.') + 1)
                 || '=' || coalesce(string_value, int_value, real_value), ';' order by flat_key, id)
         from args where args.arg_set_id = s.arg_set_id and flat_key not like 'legacy%') as args
    from slice s left join thread_track on s.track_id = thread_track.id left join thread using (utid)
    left join process_track on s.track_id = process_track.id
    left join process on process.upid = coalesce(thread.upid, process_track.upid)
"""
FLOWS = """
    select a.name as begin, a.ts as begin_ts, b.name as end, b.ts as end_ts
    from flow join slice a on slice_out = a.id join slice b on slice_in = b.id
"""
COUNTERS = "select track.name as name, ts, value from counter join track on track.id = track_id"


def found(path: Path) -> list[Counter[tuple[Any, ...]]]:
    """Slices, arrows and counters, as the trace processor has them."""
    with open_trace(path) as processor:
        assert_clean(processor)
        return [Counter(tuple(row.values()) for row in query(processor, sql)) for sql in (SLICES, FLOWS, COUNTERS)]


def rank(number: int, count: int = 400) -> dict[str, Any]:
    """Slices within each other on two threads, children first; arrows, counters, what runs beside."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 70 + number, "tid": 0, "args": {"name": "python \u00e9"}},
        {"ph": "M", "name": "thread_name", "pid": 70 + number, "tid": 1, "args": {"name": "main"}},
    ]
    for at in range(count):
        here = {"pid": 70 + number, "tid": 1 + at % 2}
        start = at * 10 + number
        inner = {"ph": "X", "cat": "op", "name": f"op {at % 7}", "ts": start + 2.125, "dur": 3.5, **here}
        inner["args"] = {
            "at": at,
            "big": 2**62 + at,
            "real": at + 0.25,
            "list": [at, {"deep": "t\u00e9"}],
            "none": None,
        }
        outer = {"ph": "X", "cat": "step", "name": "outer", "ts": start, "dur": 10, "args": {"yes": True}, **here}
        events += [inner, outer]
        if at % 5 == 0:
            events.append({"ph": "s", "cat": "go", "name": "go", "id": at, "ts": start + 2.5, **here})
            events.append(
                {"ph": "f", "bp": "e", "cat": "go", "name": "go", "id": at, "ts": start + 13, "pid": 70 + number}
            )
            events[-1]["tid"] = 2 - at % 2
            events.append({"ph": "C", "name": "memory", "ts": start, "args": {"used": at, "free": 0.5}, **here})
            events.append({"ph": "i", "s": "t", "name": "mark", "ts": start + 9, **here})
        if at % 8 == 0:
            span = {"cat": "load", "name": "load", "id2": {"local": hex(at)}, **here}
            events += [{"ph": "b", "ts": start, **span}, {"ph": "e", "ts": start + 25, **span}]
            events += [{"ph": "B", "name": "begun", "ts": start + 6, **here}, {"ph": "E", "ts": start + 8, **here}]
    return {"baseTimeNanoseconds": 10**18 + number * 10**6, "traceEvents": events}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    for number in range(2):
        text = json.dumps(rank(number), ensure_ascii=False)  # its reader of JSON leaves escapes as they are
        (folder / f"r{number}.json").write_text(text)
    return folder


@pytest.fixture(scope="module")
def chrome(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Counter[tuple[Any, ...]]]:
    path = tmp_path_factory.mktemp("chrome") / "out.json"
    assert merge_timelines(inputs, "-o", path) == []
    tables = found(path)
    assert [sum(table.values()) for table in tables] == [2 * 980, 2 * 80, 2 * 160]
    return tables


@pytest.mark.parametrize("name", ["out.pftrace", "out.perfetto-trace.gz"])
def test_native_output_has_the_content_of_chrome_output(
    tmp_path: Path, inputs: Path, chrome: list[Counter[tuple[Any, ...]]], name: str
) -> None:
    assert merge_timelines(inputs, "-o", tmp_path / name) == []
    first = (tmp_path / name).read_bytes()
    assert found(tmp_path / name) == chrome
    assert merge_timelines(inputs, "-o", tmp_path / name) == []
    assert (tmp_path / name).read_bytes() == first


def test_a_correction_is_one_clock_snapshot(tmp_path: Path, inputs: Path) -> None:
    packets = []
    for align in ("none", "wall"):
        merge_timelines(inputs, "--align", align, "-o", tmp_path / "out.pftrace")
        packets.append(decode(tmp_path / "out.pftrace").packet)
    differ = [(a, b) for a, b in zip(*packets, strict=True) if a != b]
    described = [(a, b) for a, b in differ if b.HasField("track_descriptor")]  # labels say the shift
    clocks = [b.clock_snapshot for _, b in differ if b.HasField("clock_snapshot")]
    assert len(clocks) == len({b.trusted_packet_sequence_id for _, b in differ}) == 2
    assert len(differ) == len(clocks) + len(described)
    shifts = [{clock.clock_id: clock.timestamp for clock in snapshot.clocks} for snapshot in clocks]
    assert [clock[6] - clock[64] for clock in shifts] == [0, 10**6]


def drifting(number: int) -> dict[str, Any]:
    """100 s of a clock that runs 100 ppm too fast or too slow, which collectives without delay tell."""
    trace = rank(0, 100)
    for at in range(0, 1000, 40):
        reduce = {"ph": "X", "name": "gloo:all_reduce", "ts": at, "dur": 30, "pid": 70, "tid": 3}
        trace["traceEvents"].append(reduce | {"args": {"Input Dims": [[72]]}})
    for event in trace["traceEvents"]:
        for key in ("ts", "dur"):
            if key in event:
                event[key] = round(event[key] * 1e8 * (1 + (0, 1e-4, -1e-4)[number])) / 1000
    return trace


def test_drift_is_in_snapshots_alone(tmp_path: Path) -> None:
    """In the trace processor each time is within 1 us of the exact one."""
    texts = [(str(tmp_path / f"r{number}.json"), number) for number in range(3)]
    for text, number in texts:
        Path(text).write_text(json.dumps(drifting(number)))
    merge_files(texts, tmp_path / "unaligned.pftrace")
    merge_files(texts, tmp_path / "out.json", "collective")
    merge_files(texts, tmp_path / "out.pftrace", "collective")
    trace = json.loads((tmp_path / "out.json").read_text())
    assert [round(row["drift_ppb"] / 1000) for row in trace["ranks"]] == [0, -100, 100]
    exact = from_chrome(trace["traceEvents"])
    with open_trace(tmp_path / "out.pftrace") as processor:
        assert_clean(processor)
        found = query(processor, SLICES + " order by process.name, s.name, s.ts")
    made = [row for row in found if row["name"] in ("outer", "gloo:all_reduce")]
    assert len(made) == len(exact) == 3 * (100 + 25)
    for row, (name, begin, end) in zip(made, exact, strict=True):
        assert row["name"] == name
        assert abs(row["ts"] - begin) <= 1001 and abs(row["ts"] + row["dur"] - end) <= 1001
    assert own_times(tmp_path / "out.pftrace") == own_times(tmp_path / "unaligned.pftrace")


def from_chrome(events: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """Name, begin and end of outer slices and collectives, by rank and name."""
    found = []
    for event in events:
        if event["ph"] == "X" and event["name"] in ("outer", "gloo:all_reduce"):
            rank = (event["pid"] - 1) // 1024
            found.append((rank, event["name"], event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000))
    return [row[1:] for row in sorted(found)]


def test_slices_that_overlap_get_a_lane(tmp_path: Path) -> None:
    events = [{"ph": "X", "name": f"n{at}", "pid": 1, "tid": 1, "ts": at, "dur": 3} for at in range(100)]
    (tmp_path / "r0.json").write_text(json.dumps(events))
    (line,) = merge_timelines(tmp_path / "r0.json", "-o", tmp_path / "out.pftrace")
    assert line.endswith("r0.json: 66 slices moved to another track because of an overlap within a thread")
    with open_trace(tmp_path / "out.pftrace") as processor:
        assert_clean(processor)
        rows = query(processor, "select name, ts, dur from slice order by ts")
        assert rows == [{"name": f"n{at}", "ts": at * 1000, "dur": 3000} for at in range(100)]
        assert query(processor, "select count(distinct track_id) as tracks from slice") == [{"tracks": 3}]


@pytest.mark.parametrize("options", [(), ("--sorted",)])
def test_a_merge_counts_the_slices_that_viewers_drop(tmp_path: Path, options: tuple[str, ...]) -> None:
    work = {"ph": "X", "name": "work", "cat": "kernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5}
    kernels = [work | {"tid": 7 + at % 2, "ts": 10 + at * 2} for at in range(100)]
    path = tmp_path / "r0.json"
    path.write_text(json.dumps([work, *kernels, work | {"ts": 20}]))
    (line,) = merge_timelines(path, "-o", tmp_path / "out.json", *options)
    with open_trace(tmp_path / "out.json") as processor:
        sql = "select value from stats where name = 'slice_drop_overlapping_complete_event'"
        ((dropped,),) = [tuple(row.values()) for row in query(processor, sql)]
        assert query(processor, "select count(*) as n from slice") == [{"n": 102 - dropped}]
    assert dropped == 50
    assert line == (
        f"fastdispatch: {path}: {dropped} slices with a partial overlap within a thread: "
        "Perfetto drops such slices from Chrome JSON, not from .pftrace"
    )
    merge_timelines(path, "-o", tmp_path / "out.pftrace")
    with open_trace(tmp_path / "out.pftrace") as processor:
        assert query(processor, "select count(*) as n from slice") == [{"n": 102}]
