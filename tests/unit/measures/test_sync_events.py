"""Collectives and messages of traces, for the alignment of clocks."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")

from fastdispatch import _core
from fastdispatch.read.sync_events import SyncEvents, operation_of

Parts = list[tuple[int, int, int | None]]
Messages = list[tuple[str, int, int]]


def event(
    phase: str, name: str | None, ts: float, *, tid: int = 1, dur: float | None = 2, **args: Any
) -> dict[str, Any]:
    made = {"ph": phase, "name": name, "ts": ts, "tid": tid, "args": args}
    return {key: value for key, value in (made | {"dur": dur if phase == "X" else None}).items() if value is not None}


def surveyed(path: Path, events: list[dict[str, Any]]) -> SyncEvents:
    path.write_text(json.dumps({"traceEvents": events}))
    made = SyncEvents()
    _core.timeline_survey(path, take=made.take)
    return made


def found(path: Path, events: list[dict[str, Any]]) -> tuple[Parts, Messages]:
    """Return begin, end and order of the parts, and direction, peer and time of the messages, in microseconds."""
    parts, messages = surveyed(path / "trace.json", events).columns()
    orders = [order if exact else None for order, exact in zip(parts["order"].tolist(), parts["exact"], strict=True)]
    times = (column // 1000 for column in (parts["begin"], parts["end"]))
    sides = ["received" if each else "sent" for each in messages["received"]]
    peers, at = messages["peer"].tolist(), (messages["time"] // 1000).tolist()
    return [*zip(*(each.tolist() for each in times), orders, strict=True)], sorted(zip(sides, peers, at, strict=True))


def test_collectives(tmp_path: Path) -> None:
    kernel = {"Process Group Name": "3", "Seq": 41}
    events = [
        event("X", "gloo:all_reduce", 9, **{"Input Dims": [[3]]}),
        event("X", "gloo:all_reduce", 5, **{"Input Dims": [[3]]}),
        event("X", "gloo:all_reduce", 6, **{"Input Dims": [[4]]}),
        event("X", "gloo:broadcast", 1),
        event("X", "nccl:all_reduce", 1),
        event("X", "ncclDevKernel_AllReduce_Sum_f32", 7, **kernel),
        event("X", "gloo:barrier", 1, dur=-1),
        event("X", "gloo:barrier", 1, dur=None),
        event("i", "gloo:barrier", 1),
    ]
    assert found(tmp_path, events) == ([(9, 11, None), (5, 7, None), (6, 8, None), (7, 9, 41)], [])
    one, other, larger, numbered = surveyed(tmp_path / "trace.json", events).columns()[0]["kind"].tolist()
    assert one == other and len({one, larger, numbered}) == 3


def test_ends_are_events(tmp_path: Path) -> None:
    """Begins and ends belong together by thread or id."""
    named = [{"cat": "c", "id": number} for number in (1, 2)]
    events = [
        event("B", "gloo:all_reduce", 10),
        event("B", "inside", 11),
        event("B", "beside", 11, tid=2),
        event("b", "gloo:all_reduce", 20) | named[0],
        event("b", "gloo:all_reduce", 21) | named[1],
        event("E", None, 22, tid=2),
        event("E", None, 23),
        event("e", "gloo:all_reduce", 24) | named[0],
        event("E", None, 25),
        event("E", None, 26),
        event("e", "gloo:all_reduce", 27) | named[1],
        event("b", "gloo:barrier", 30) | named[1],
    ]
    assert found(tmp_path, events) == ([(20, 24, None), (10, 25, None), (21, 27, None)], [])


def test_messages(tmp_path: Path) -> None:
    def inputs(*values: str) -> dict[str, Any]:
        return {"Concrete Inputs": ["", "", *values]}

    events = [
        event("X", "c10d::send", 5, **inputs("1", "7")),
        event("X", "c10d::recv_", 8, **inputs("2", "7")),
        event("X", "gloo:recv", 9),  # the end of the message from rank 2
        event("X", "gloo:recv", 20),  # of no rank
        event("X", "c10d::recv_", 21, **inputs("2", "7")),
        event("X", "c10d::allreduce_", 22),
        event("X", "gloo:recv", 22),
        event("X", "c10d::send", 5, **{"Concrete Inputs": [""]}),
        event("X", "c10d::send", 5, **{"Concrete Inputs": 7}),
        event("X", "send_forward", 30, peer=3, micro_batch=2),
        event("X", "recv_forward", 40, peer=3, micro_batch=2),
        event("X", "recv_forward", 50, peer=-3),
        event("X", "recv_forward", 60),
        event("X", "ncclDevKernel_SendRecv", 70, **{"Dst Rank": 3}),
        event("X", "ncclKernel_SendRecv", 80, **{"Src Rank": 2}),
        event("X", "ncclDevKernel_SendRecv", 1, **{"Dst Rank": -1}),
        event("X", "nccl:send 0->3", 4, **{"Dst Rank": 3}),  # the launch
        event("B", "c10d::recv_", 90, **inputs("0", "7")),
        event("B", "gloo:recv", 91),
        event("E", None, 93),
        event("E", None, 99),
    ]
    sent = [("sent", 1, 5), ("sent", 3, 30), ("sent", 3, 70)]
    received = [("received", 0, 93), ("received", 2, 11), ("received", 2, 82), ("received", 3, 42)]
    assert found(tmp_path, events) == ([], received + sent)
    messages = surveyed(tmp_path / "trace.json", events).columns()[1]
    tags = dict(zip(zip(messages["peer"].tolist(), messages["received"], strict=True), messages["tag"], strict=True))
    assert tags[3, True] != tags[2, True] and tags[1, False] == tags[0, True]


def test_a_message_of_an_unknown_rank(tmp_path: Path) -> None:
    assert found(tmp_path, [event("X", "c10d::send", 5)]) == ([], [("sent", (1 << 32) - 1, 5)])


def test_names_of_collectives() -> None:
    assert operation_of("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL") == "reducescatter"
    assert operation_of("ncclKernel_ReduceScatterBlock") == "reducescatterblock"
    assert operation_of("gloo:allgather") == operation_of("gloo:all_gather") == "allgather"
    assert not any(map(operation_of, ("gloo:broadcast", "gloo:reduce", "c10d::allreduce_", "all_reduce", "gloo:send")))
