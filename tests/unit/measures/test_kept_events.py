"""The events that a merge keeps by steps or by times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastdispatch import Error
from fastdispatch.read import kept_events
from fastdispatch.read.clock_samples import sample, share_of
from fastdispatch.read.timeline_inputs import merge_files

Event = dict[str, Any]


def event(ph: str, name: str, ts: float | None = None, **more: Any) -> Event:
    return {"ph": ph, "name": name, "pid": 1, **({} if ts is None else {"ts": ts}), **more}


def step(number: int, ts: float, dur: float, **more: Any) -> Event:
    return event("X", f"ProfilerStep#{number}", ts, dur=dur, **more)


def kept(folder: Path, events: list[Event], **options: Any) -> str:
    """Return the names of what is kept, and the number of other events."""
    path, output = folder / "in.json", folder / "out.json"
    path.write_text(json.dumps(events))
    (row,) = merge_files([(str(path), 0)], output, **options)
    found = json.loads(output.read_text())["traceEvents"]
    names = [
        each["name"] for each in found if each["name"] not in ("process_name", "process_sort_index", "thread_name")
    ]
    return f"{' '.join(names)} -{row['filtered']}"


def test_events_of_steps(tmp_path: Path) -> None:
    """One process has its own steps, another has none."""
    events = [
        event("M", "row", 0),
        *(step(number, 10 * number, 10) for number in range(4)),
        step(1, 15, 100, pid=7),
        *(event("X", "a", 9.999, dur=5), event("X", "b", 10), event("i", "c", 29.9), event("i", "d", 30)),
        *(event("i", "e", 14, pid=7), event("i", "f", 114, pid=7), event("i", "g", 12, pid=9)),
        *(event("i", "h", 116, pid=9), event("C", "i", pid=9, x=1)),
    ]
    assert kept(tmp_path, events, steps=(1, 3)) == "row ProfilerStep#1 ProfilerStep#2 ProfilerStep#1 b c f g i -6"
    with pytest.raises(Error, match="none of these steps in any input"):
        kept(tmp_path, events, steps=(7, 9))


def test_steps_of_another_program(tmp_path: Path) -> None:
    events = [event("i", "a", 9), event("i", "b", 10), event("i", "c", 20)]
    assert kept(tmp_path, events, steps=(1, 3), find_steps=lambda *_: (10_000, 20_000)) == "b -2"
    with pytest.raises(Error, match="none of these steps"):
        kept(tmp_path, events, steps=(1, 3), find_steps=lambda *_: None)


@pytest.mark.parametrize("rows", [1 << 16, 2])
def test_ends_go_with_their_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Also if they are in different batches."""
    read = kept_events.read_events

    def read_parts(file: Any, take: Any) -> None:
        read(file, lambda batch: [take(batch[at : at + rows]) for at in range(0, len(batch), rows)])

    monkeypatch.setattr(kept_events, "read_events", read_parts)
    events = [step(1, 10, 10)]
    for ph, name, tid, ts in (
        *(("B", "a", 1, 1), ("B", "b", 1, 11), ("B", "c", 2, 12), ("E", "b", 1, 15), ("E", "a", 1, 16)),
        *(("B", "d", 2, 25), ("E", "d", 2, 26), ("E", "c", 2, 27), ("E", "z", 3, 12), ("B", "y", 3, 13)),
    ):
        events.append(event(ph, name, ts, tid=tid))
    for ph, name, ts in (("b", "x", 18), ("S", "w", 5), ("e", "x", 99), ("F", "w", 15), ("e", "v", 16)):
        events.append(event(ph, name, ts, cat="k", id={"x": 1, "w": 2, "v": 3}[name]))
    assert kept(tmp_path, events, steps=(1, 2)) == "ProfilerStep#1 b c b c y x x -8"


def test_work_goes_with_its_launch(tmp_path: Path) -> None:
    """The step on the GPU has one of its kernels; the second step has no end."""

    def call(name: str, ts: float, cat: str, correlation: int, **more: Any) -> Event:
        return event("X", name, ts, dur=1, cat=cat, args={"correlation": correlation}, **more)

    events = [
        *(step(1, 10, 10), step(2, 20, 0), call("l1", 11, "cuda_runtime", 5), call("l3", 25, "xpu_runtime", 6)),
        event("X", "ProfilerStep#1", 30, dur=5, cat="gpu_user_annotation", pid=0),
        *(call("k1", 30, "kernel", 5, pid=0), call("k2", 50, "gpu_memcpy", 5, pid=0)),
        *(call("k3", 31, "kernel", 6, pid=0), call("k4", 70, "kernel", 7)),
        *(event("s", "f", 11, id=5, cat="ac2g"), event("f", "f", 50, id=5, cat="ac2g", pid=0)),
    ]
    assert kept(tmp_path, events, steps=(1, 2)) == "ProfilerStep#1 l1 ProfilerStep#1 k1 k2 f f -4"
    assert kept(tmp_path, events, steps=(2, 3)) == "ProfilerStep#2 l3 ProfilerStep#1 k3 k4 -6"


def test_events_between_times(tmp_path: Path) -> None:
    events = [
        *(event("M", "row", 0), event("X", "a", 100, dur=20), event("X", "b", 100, dur=20.001)),
        *(event("X", "c", 120, dur=0), event("X", "d", 139, dur=99), event("X", "e", 140, dur=1)),
        *(event("i", "f", 140), event("i", "g", 125), event("C", "h", 120)),
        *(
            event("s", "i", 125, id=1),
            event("f", "i", 150, id=1),
            event("s", "j", 125, id=2),
            event("f", "j", 130, id=2),
        ),
    ]
    assert kept(tmp_path, events, times=(20_000, 40_000)) == "row b c d g h j j -5"
    assert kept(tmp_path, events, times=(None, 1)) == "row a b -10"
    with pytest.raises(Error, match="no event in these times in any input"):
        kept(tmp_path, events, times=(1_000_000, None))


def facts(count: int, peer: int = 3, clock: bytes = b"") -> dict[str, Any]:
    index = np.arange(count)
    part = {"kind": np.full(count, 7, np.uint64), "order": index.astype(np.uint64), "exact": index == 1}
    message = {"peer": np.full(count, peer, np.uint32), "received": index < 0, "tag": np.zeros(count, np.uint64)}
    return {
        "boot": None,
        "clock": clock,
        "parts": part | {"begin": -index, "end": 9 - index},
        "messages": message | {"time": index},
    }


def test_moments_are_numbered_and_thinned_out() -> None:
    """Two ranks that thin out differently keep common ones."""
    found = sample(facts(100), 30)
    assert [*found["messages"]["order"]] == [*range(0, 100, 4)] and {*found["messages"]["total"]} == {100}
    parts = sample(facts(4), 30)["parts"]
    assert [*zip(parts["begin"], parts["order"], parts["total"], strict=True)] == [
        (-3, 0, 4), (-2, 1, 4), (-1, 1, 0), (0, 3, 4)
    ]  # fmt: skip
    assert [share_of(count) for count in (1, 2, 1 << 10, 1 << 20)] == [0, 4096, 1024, 128]


def test_messages_to_an_unknown_rank() -> None:
    unknown = (1 << 32) - 1
    assert [*sample(facts(2, unknown), 9, 0)["messages"]["peer"]] == [0, 0]
    assert not sample(facts(2, unknown), 9)["messages"]["peer"]


def test_pings_and_boot_of_a_clock() -> None:
    found = sample(
        facts(1, clock=b'{"boot_id":"ab","boottime_ns":-7,"pings":[[0,1,-2,3],[9],[-1,1,2,3],[0,4,5,6,7],8]}'), 9
    )
    assert (found["boot"], found["boottime"]) == (b"ab", -7)
    assert found["pings"] == {"peer": [0, 0], "sent": [1, 4], "replied": [-2, 5], "received": [3, 6]}
    for damaged in (b'{"pings":7}', b'{"boot_id":"ab"}', b'{"boot_id":"\xff","boottime_ns":1}', b""):
        found = sample(facts(1, clock=damaged), 9)
        assert found["boot"] is None
        assert not found["pings"]["peer"]
