"""Faults of made-up traces, one of each kind, and the same faults however little memory there is."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from fastdispatch import Error
from fastdispatch.report import trace_faults

Event = dict[str, Any]

NAMED = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "rank 0"}}


def x(ts: Any = 1, dur: Any = 1, **fields: Any) -> Event:
    return {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": ts, "dur": dur} | fields


def on(ph: str, ts: int, **fields: Any) -> Event:
    return {"ph": ph, "pid": 1, "tid": 1, "ts": ts} | fields


def check(path: Path, events: list[Event] | str, **members: Any) -> dict[str, Any]:
    path.write_text(events if isinstance(events, str) else json.dumps({"traceEvents": [NAMED, *events], **members}))
    return trace_faults.check(path)


def counts(made: dict[str, Any]) -> dict[str, int]:
    return {row["kind"]: row["count"] for row in made["faults"]}


EACH: dict[str, list[Event]] = {
    "repair": [x(value=float("nan"))],
    "phase": [{"ph": "?", "pid": 1}],
    "empty": [{}],
    "kernel-overlap": [x(1, 9, cat="kernel"), x(5, 2, cat="kernel")],
    "far": [x(0, 0), *[x(9e12, 0)] * 8],
    "name": [x(name="")],
    "pid": [{"ph": "i", "name": "a", "ts": 1}],
    "text-id": [x(tid="x")],
    "time": [x(ts="x")],
    "negative": [x(-1)],
    "duration": [x(dur=-1)],
    "end": [on("E", 1)],
    "begin": [on("B", 1, name="a")],
    "end-name": [on("B", 1, name="a"), on("E", 2, name="b")],
    "overlap": [x(1, 9), x(5, 9)],
    "profiler-overlap": [x(1, 9, cat="kernel"), x(5, 9, cat="cpu_op")],
    "id": [on("b", 1, name="a")],
    "flow-start": [x(0, 9), on("t", 1, name="f", id=1)],
    "flow-end": [x(0, 9), on("s", 1, name="f", id=1)],
    "flow-slice": [x(20), on("s", 1, name="f", id=1), on("f", 2, name="f", id=1)],
    "async-begin": [on("b", 1, name="a", id=1)],
    "async-end": [on("e", 1, name="a", id=1)],
    "counter": [on("C", 1, name="a", args={"v": "1"})],
    "metadata": [{"ph": "M", "name": "thread_name", "pid": 1}],
    "renamed-process": [NAMED | {"args": {"name": "x"}}],
    "same-name": [NAMED | {"pid": 2}],
    "unnamed-process": [x(pid=3)],
    "steps": [x(9, cat="step", name="step 1"), x(5, cat="step", name="step 2")],
}


#: Traits that profilers write by design, or that a capture of a part of a run has.
NOTES = {
    *("begin", "end", "flow-start", "flow-end", "flow-slice", "async-begin", "async-end", "profiler-overlap", "far"),
    *("kernel-overlap", "empty", "text-id", "unnamed-process", "same-name"),
}


@pytest.mark.parametrize("kind", EACH)
def test_each_fault(tmp_path: Path, kind: str) -> None:
    made = check(tmp_path / "a.json", EACH[kind])
    (row,) = [row for row in made["faults"] if row["kind"] == kind]
    assert row["count"] == 1 and row["first"][0]["byte"] > 60 and row["first"][0]["event"] >= 2
    assert set(counts(made)) <= {kind, "begin", "unnamed-process"}
    assert made["whole"] is (kind in NOTES) is not row["broken"] and made["events"] == 1 + len(EACH[kind])


def test_lone_backslashes(tmp_path: Path) -> None:
    assert counts(check(tmp_path / "a.json", '[{"ph":"X","name":"C:\\work","pid":1,"ts":1,"dur":1}]')) == {
        "backslash": 1,
        "unnamed-process": 1,
    }


def test_a_whole_trace(tmp_path: Path) -> None:
    slices = [x(10, 5), x(10, 20), x(30, 0), x(30, 5)]  # a child before its parent
    pairs = [on("E", 30, tid=2), on("B", 20, tid=2, name="a"), on("B", 20, tid=2, name="b"), on("E", 30, tid=2)]
    flow = [on(ph, ts, name="f", id=7) for ph, ts in (("s", 10), ("t", 12), ("f", 29))]
    waits = [on(ph, ts, name="w", id=8) for ph, ts in (("b", 1), ("b", 2), ("e", 3), ("e", 4))]
    ranks = [{"rank": 0, "align": "x", "offset_ns": 0}, {"rank": 1, "align": "x", "offset_ns": 0, "events": 0}]
    made = check(tmp_path / "a.json", [*slices, *pairs, *flow, *waits], ranks=ranks)
    assert (made["faults"], made["whole"], made["passes"], made["left_out"]) == ([], True, 1, 0)


def test_pairs_across_complete_slices(tmp_path: Path) -> None:
    across = [x(10, 20), on("B", 15, name="b"), on("E", 31)]
    around = [on("B", 10, tid=2, name="a"), x(15, 10, tid=2), on("E", 20, tid=2)]
    made = check(tmp_path / "a.json", across + around)
    assert counts(made) == {"overlap": 2}
    assert [place["event"] for place in made["faults"][0]["first"]] == [3, 5]


def row(**fields: Any) -> Event:
    return {"rank": 0, "align": "x", "offset_ns": 0} | fields


@pytest.mark.parametrize(
    ("ranks", "faults"),
    [([row()], 0), ([{"rank": 0}], 2), ([row(rank=1)], 2), ([row(), row()], 1), ([5], 0)],
)
def test_ranks_of_a_merge(tmp_path: Path, ranks: list[Any], faults: int) -> None:
    assert counts(check(tmp_path / "a.json", [], ranks=ranks)).get("ranks", 0) == faults


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert counts(check(path, '[{"ph":"X","name":"a","ts":1,"pid":1,"dur":1},{"ph'))["damage"] == 1
    for text, printed in (("", "empty"), ("{}", "no traceEvents in it")):
        with pytest.raises(Error, match=printed):
            check(path, text)


def test_faults_in_several_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random.seed(7)
    phases = [*"XXXXXXBEstfbe"]
    events = [
        on(
            random.choice(phases),
            random.randrange(99),
            tid=index % 40,
            id=index % 30,
            name="a",
            dur=random.randrange(9),
        )
        for index in range(800)
    ]
    once = check(tmp_path / "a.json", events)
    monkeypatch.setattr(trace_faults, "_ROWS", 400)
    several = check(tmp_path / "a.json", events)
    assert once["passes"] == 1 and several["passes"] > 2 and len(once["faults"]) >= 8
    assert several | {"passes": 1} == once
    monkeypatch.setattr(trace_faults, "_ROWS", 100)
    assert check(tmp_path / "a.json", [x(at) for at in range(150)])["left_out"] == 150
