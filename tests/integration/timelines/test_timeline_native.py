"""``fastdispatch timeline merge`` from and to native Perfetto traces, in the real trace processor."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from fastdispatch._core import timeline_merge
from tests.consumers.perfetto import assert_clean, decode, open_trace, own_times, query
from tests.processes import merge_timelines

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
        (folder / f"r{number}.json").write_text(
            json.dumps(rank(number), ensure_ascii=False)
        )  # its reader of JSON leaves escapes as they are
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
    """From Chrome's JSON and from native files, in the trace processor: each time within 1 us of the exact one."""
    texts = [(str(tmp_path / f"r{number}.json"), number) for number in range(3)]
    natives = [(str(tmp_path / f"r{number}.pftrace"), number) for number in range(3)]
    for (text, number), native in zip(texts, natives, strict=True):
        Path(text).write_text(json.dumps(drifting(number)))
        timeline_merge([(text, number)], native[0])
    timeline_merge(texts, tmp_path / "unaligned.pftrace", align="none")
    for inputs in (natives, texts):
        timeline_merge(inputs, tmp_path / "out.json", align="collective")
        timeline_merge(inputs, tmp_path / "out.pftrace", align="collective")
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
        timeline_merge([(str(tmp_path / "out.pftrace"), 0)], tmp_path / "again.json")
        again = from_chrome(json.loads((tmp_path / "again.json").read_text())["traceEvents"])
        for read, (_, begin, end) in zip(sorted(again), sorted(exact), strict=True):
            assert abs(read[1] - begin) <= 1001 and abs(read[2] - end) <= 1001
    assert own_times(tmp_path / "out.pftrace") == own_times(tmp_path / "unaligned.pftrace")


def from_chrome(events: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """Name, begin and end of outer slices and collectives, by rank and name; native inputs come as B and E."""
    open_slices: dict[Any, list[dict[str, Any]]] = {}
    found = []
    for event in events:
        lane = open_slices.setdefault((event["pid"], event.get("tid")), [])
        if event["ph"] == "E":
            begun = lane.pop()
            event = {**begun, "ph": "X", "dur": event["ts"] - begun["ts"]}
        elif event["ph"] == "B":
            lane.append(event)
        if event["ph"] == "X" and event["name"] in ("outer", "gloo:all_reduce"):
            rank = (event["pid"] - 1) // 1024
            found.append((rank, event["name"], event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000))
    return [row[1:] for row in sorted(found)]


def test_native_inputs(tmp_path: Path, inputs: Path, chrome: list[Counter[tuple[Any, ...]]]) -> None:
    """To either form, from plain files, gzip and packets within packets, each through another merge."""
    (tmp_path / "in").mkdir()
    for number in range(2):
        merge_timelines(inputs / f"r{number}.json", "-o", tmp_path / "in" / f"r{number}.pftrace")
    plain = (tmp_path / "in" / "r0.pftrace").read_bytes()
    packed = Trace()
    packed.packet.add(compressed_packets=zlib.compress(plain))
    (tmp_path / "in" / "r0.pftrace").write_bytes(packed.SerializeToString())
    other = (tmp_path / "in" / "r1.pftrace").read_bytes()
    (tmp_path / "in" / "r1.pftrace").rename(tmp_path / "r1")
    (tmp_path / "in" / "r1.pftrace.gz").write_bytes(gzip.compress(other))
    for name in ("out.json", "out.pftrace"):
        assert merge_timelines(tmp_path / "in", "-o", tmp_path / name) == []
        assert found(tmp_path / name) == chrome


@pytest.mark.parametrize("name", ["out.json", "out.pftrace"])
def test_packets_other_than_events_are_counted(tmp_path: Path, inputs: Path, name: str) -> None:
    trace = Trace()
    merge_timelines(inputs / "r0.json", "-o", tmp_path / "r0.pftrace")
    trace.ParseFromString((tmp_path / "r0.pftrace").read_bytes())
    trace.packet.add(timestamp=5).ftrace_events.cpu = 3
    trace.packet.add(timestamp=6).process_stats.collection_end_timestamp = 3
    (tmp_path / "r0.pftrace").write_bytes(trace.SerializeToString())
    (line,) = merge_timelines(tmp_path / "r0.pftrace", "-o", tmp_path / name)
    assert line.endswith("r0.pftrace: 2 packets without events skipped (ftrace, samples and the like)")


TRACKS = """
    select s.name as name, s.ts as ts, s.dur as dur, s.depth as depth, s.category as category, track.name as track,
        (select group_concat(flat_key || '=' || coalesce(string_value, int_value, real_value), ';' order by flat_key)
         from args where args.arg_set_id = s.arg_set_id and flat_key like 'debug.%') as args
    from slice s join track on s.track_id = track.id
"""
LABELS = """
    select string_value as label from process join args using (arg_set_id)
    where flat_key like 'chrome.process_label%' and string_value = 'pid 3'
"""


def of_another_program() -> Trace:
    """Named tracks, nested and with flows between them, counters of one name, categories, annotations of any type."""
    trace = Trace()
    process = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
    process.uuid = 1
    process.process.pid, process.process.process_name = 3, "program"
    process.process.process_labels.append("pid 3")
    for uuid, name in ((2, "stream 7"), (3, "stream 8"), (4, "")):
        track = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
        track.uuid, track.parent_uuid, track.name = uuid, 1, name
    for uuid in (5, 6):
        track = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
        track.uuid, track.parent_uuid, track.name = uuid, 1, "memory"
        track.counter.unit_multiplier = 1

    def add(ts: int, kind: str, track: int, **fields: Any) -> Any:
        packet = trace.packet.add(timestamp=ts, trusted_packet_sequence_id=1)
        packet.track_event.type = packet.track_event.Type.Value(f"TYPE_{kind}")
        packet.track_event.track_uuid = track
        for key, value in fields.items():
            if isinstance(value, list):
                getattr(packet.track_event, key).extend(value)
            else:
                setattr(packet.track_event, key, value)
        return packet.track_event

    for at in range(0, 1000, 100):
        add(at, "SLICE_BEGIN", 2, name="outer", categories=["a", "b"], flow_ids=[at + 1])
        event = add(at + 10, "SLICE_BEGIN", 2, name="inner")
        for name, field, value in (
            ("int", "int_value", -5),
            ("uint", "uint_value", 2**64 - 1),
            ("yes", "bool_value", True),
            ("real", "double_value", 0.5),
            ("text", "string_value", "t\u00e9"),
            ("json", "legacy_json_value", '{"deep": [1, {"x": 2}]}'),
        ):
            note = event.debug_annotations.add(name=name)
            setattr(note, field, value)
        note = event.debug_annotations.add(name="nested")
        note.dict_entries.add(name="key").int_value = at
        add(at + 20, "SLICE_END", 2)
        add(at + 30, "SLICE_BEGIN", 3, name="kernel", terminating_flow_ids=[at + 1])
        add(at + 30, "SLICE_END", 3)  # of no duration
        add(at + 35, "INSTANT", 3, name="mark")
        add(at + 40, "SLICE_END", 2)
        add(at + 41, "SLICE_BEGIN", 4, name="unnamed")
        add(at + 42, "SLICE_END", 4)
        add(at + 50, "COUNTER", 5, counter_value=at)
        add(at + 50, "COUNTER", 6, double_counter_value=at + 0.5)
    return trace


def test_events_of_another_program_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "r0.pftrace").write_bytes(of_another_program().SerializeToString())
    assert merge_timelines(tmp_path / "r0.pftrace", "-o", tmp_path / "out.pftrace") == []
    tables = []
    for name in ("r0.pftrace", "out.pftrace"):
        with open_trace(tmp_path / name) as processor:
            sqls = (TRACKS, FLOWS, COUNTERS, LABELS)
            tables.append([Counter(tuple(row.values()) for row in query(processor, sql)) for sql in sqls])
            tracks = query(processor, "select count(distinct track_id) as n from counter")
            assert tracks == [{"n": 2}]
    assert [sum(table.values()) for table in tables[0]] == [50, 10, 20, 1]
    for before, after in zip(*tables, strict=True):
        assert after == before


NESTED = """
    select track.name as name, parent.name as parent, grand.name as grand, slice.name as slice, slice.depth as depth
    from slice join track on slice.track_id = track.id
    left join track parent on track.parent_id = parent.id left join track grand on parent.parent_id = grand.id
"""
UNITS = """
    select t.name as name, t.unit as unit, c.ts as ts, c.value as value
    from counter c join counter_track t on c.track_id = t.id
"""
SOURCES = """
    select slice.name as name, flat_key as key, coalesce(string_value, int_value) as value
    from slice join args using (arg_set_id) where flat_key not like 'debug.%' and flat_key <> 'source_location_iid'
"""


def test_units_nested_tracks_and_source_locations_are_the_same(tmp_path: Path) -> None:
    trace = Trace()
    first = trace.packet.add(trusted_packet_sequence_id=1, sequence_flags=1)
    first.interned_data.source_locations.add(iid=3, file_name="a.cc", function_name="run", line_number=7)
    first.interned_data.debug_annotation_string_values.add(iid=4, str=b"interned")

    def track(uuid: int, parent: int = 0, name: str = "") -> Any:
        descriptor = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
        descriptor.uuid = uuid
        if parent:
            descriptor.parent_uuid = parent
        if name:
            descriptor.name = name
        return descriptor

    track(1).process.pid = 3
    thread = track(2).thread
    thread.pid, thread.tid = 3, 4
    track(3, 1, "outer")
    track(4, 3, "middle")
    track(5, 4, "inner")
    track(6, 2, "below a thread")
    for uuid, multiplier, incremental in ((7, 1024, False), (8, 1, True)):
        counter = track(uuid, 1, f"bytes {uuid}").counter
        counter.unit, counter.unit_multiplier, counter.is_incremental = counter.UNIT_SIZE_BYTES, multiplier, incremental
    track(9, 1, "other").counter.unit_name = "apples"

    def add(ts: int, kind: str, uuid: int, **fields: Any) -> Any:
        packet = trace.packet.add(timestamp=ts, trusted_packet_sequence_id=1, sequence_flags=2)
        event = packet.track_event
        event.type, event.track_uuid = event.Type.Value(f"TYPE_{kind}"), uuid
        for key, value in fields.items():
            setattr(event, key, value)
        return event

    for at in (0, 100):
        for uuid in (2, 5, 6):
            event = add(at + uuid, "SLICE_BEGIN", uuid, name=f"slice {uuid}", source_location_iid=3)
            event.debug_annotations.add(name="text").string_value_iid = 4
            add(at + uuid + 20, "SLICE_END", uuid)
        add(at + 30, "INSTANT", 5, name="mark").source_location.file_name = "b.cc"
        for uuid in (7, 8, 9):
            add(at + 40, "COUNTER", uuid, counter_value=2**53 + 1 if uuid == 9 else 5)
    (tmp_path / "r0.pftrace").write_bytes(trace.SerializeToString())
    assert merge_timelines(tmp_path / "r0.pftrace", "-o", tmp_path / "out.pftrace") == []
    tables = []
    for name in ("r0.pftrace", "out.pftrace"):
        with open_trace(tmp_path / name) as processor:
            sqls = (NESTED, UNITS, SOURCES, TRACKS)
            tables.append([Counter(tuple(row.values()) for row in query(processor, sql)) for sql in sqls])
    nested, units, sources, _ = tables[0]
    assert ("inner", "middle", "outer", "slice 5", 0) in nested
    assert {unit for _, unit, *_ in units} == {"bytes", "apples"}
    assert sum(value == "a.cc" for _, _, value in sources) == 3
    for before, after in zip(*tables, strict=True):
        assert after == before
    counters = [
        packet.track_event for packet in decode(tmp_path / "out.pftrace").packet if packet.track_event.type == 4
    ]
    assert 2**53 + 1 in [event.counter_value for event in counters]


def test_a_native_file_cut_short(tmp_path: Path, inputs: Path) -> None:
    merge_timelines(inputs / "r0.json", "-o", tmp_path / "r0.pftrace")
    content = (tmp_path / "r0.pftrace").read_bytes()
    (tmp_path / "r0.pftrace").write_bytes(content[:-7])
    for name in ("out.json", "out.pftrace"):
        (line,) = merge_timelines(tmp_path / "r0.pftrace", "-o", tmp_path / name)
        assert "r0.pftrace: cut short before byte" in line and "events kept" in line


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
