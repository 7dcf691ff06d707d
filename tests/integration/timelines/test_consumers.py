"""The readers of exported files detect faults: other tests rely on it."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from tests.consumers.browser import catapult_warnings, needs_chromium
from tests.consumers.perfetto import assert_clean, open_trace

Event = dict[str, Any]


def event(phase: str, name: str, ts: float, **more: Any) -> Event:
    return {"ph": phase, "name": name, "cat": "test", "pid": 1, "tid": 1, "ts": ts, **more}


SOUND = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "rank 0"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "training"}},
    event("X", "step", 10, dur=100),
    event("X", "forward", 20, dur=30.125),
    event("X", "backward", 60, dur=40),
    event("s", "grad", 25, id=7),
    event("f", "grad", 65, id=7, bp="e"),
    event("C", "memory", 10, args={"bytes": 1024}),
    event("C", "memory", 50, args={"bytes": 4096.5}),
]


def write(path: Path, made: list[Event] | Trace) -> Path:
    content = made.SerializeToString() if isinstance(made, Trace) else json.dumps({"traceEvents": made}).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def native(*, cleared: bool = True, interned: bool = True) -> Trace:
    """One sequence with two nested slices, its names interned; a required part can be omitted."""
    trace = Trace()
    first = trace.packet.add()
    if cleared:
        first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    if interned:
        for number, name in enumerate(("step", "forward"), 1):
            first.interned_data.event_names.add(iid=number, name=name)
    first.track_descriptor.uuid = 5
    first.track_descriptor.name = "training"
    for ts, iid in ((100, 1), (120, 2), (150, 0), (180, 0)):
        packet = trace.packet.add(timestamp=ts, sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
        packet.track_event.track_uuid = 5
        packet.track_event.type = TrackEvent.TYPE_SLICE_BEGIN if iid else TrackEvent.TYPE_SLICE_END
        if iid:
            packet.track_event.name_iid = iid
    for packet in trace.packet:
        packet.trusted_packet_sequence_id = 1
    return trace


UNNAMED = r"2 slices without a name: None at 100 ns on track 0 'training'"


@pytest.mark.parametrize(
    ("made", "complaints"),
    [
        ([event("X", "a", 0, dur=10), event("X", "b", 5, dur=10)], ["slice_drop_overlapping_complete_event = 1"]),
        ([event("X", "", 0, dur=10)], ["1 slices without a name: .* at 0 ns"]),
        ([event("X", "a", -5, dur=10)], ["error: trace_sorter_negative_timestamp_dropped = 1"]),
        ([event("B", "a", 1)], ["1 slices without an end: 'a' at 1000 ns"]),
        ([event("E", "a", 1)], ["neither a slice nor a counter"]),
        ([], ["neither a slice nor a counter"]),
        (native(cleared=False), ["info: tokenizer_skipped_packets = 5"]),
        (native(interned=False), [UNNAMED, "interned_data_tokenizer_errors"]),
    ],
    ids=["overlapping", "unnamed", "negative", "open", "never begun", "empty", "not cleared", "not interned"],
)
def test_losses_are_found(tmp_path: Path, made: list[Event] | Trace, complaints: list[str]) -> None:
    path = write(tmp_path / ("broken.pftrace" if isinstance(made, Trace) else "broken.json"), made)
    with open_trace(path) as processor, pytest.raises(AssertionError) as caught:
        assert_clean(processor)
    assert all(re.search(each, str(caught.value)) for each in complaints), caught.value


@needs_chromium
def test_catapult_warns(tmp_path: Path) -> None:
    assert catapult_warnings(write(tmp_path / "sound.json.gz", SOUND)) == []
    (warning,) = catapult_warnings(write(tmp_path / "broken.json", [*SOUND, event("E", "late", 500)]))
    assert "E phase event" in warning
