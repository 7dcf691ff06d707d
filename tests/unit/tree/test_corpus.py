"""``make corpus``: forms of files, a row per file; reasons of differences from HolisticTraceAnalysis, and rows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import __main__ as corpus
from tests.corpus import against_hta

SLICE = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}


def test_forms(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('\ufeff { "traceEvents": [] }')
    (tmp_path / "b.json").write_text('{"schema": "1.0.3", "nodes": []}')
    (tmp_path / "c.json").write_text("text")
    (tmp_path / "d.gz").write_bytes(gzip.compress(b'[{"ph": "X"}]'))
    (tmp_path / "e.gz").write_bytes(b"\x1f\x8bdamaged")
    (tmp_path / "f.et").write_bytes(b"")
    forms = [corpus.form_of(path) for path in sorted(tmp_path.iterdir())]
    assert forms == ["timeline", "execution trace", None, "timeline", "timeline", "execution trace"]


def test_a_row_has_the_status_of_every_command(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [SLICE, SLICE | {"ts": 5}]}))
    row = corpus.row_of(path, tmp_path)
    assert row == ("| trace.json | timeline | 2 | 0 |  | 0 | 0 | 0 | 0 | 0 |  |  |", False)


def test_a_failure_has_its_message(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("{")
    row = corpus.row_of(path, tmp_path)
    assert row is not None
    cells = row[0].split(" | ")
    assert cells[3] == cells[5] == "2"
    assert cells[-1].startswith("fastdispatch: trace.json")


def test_a_missing_folder(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["corpus", str(tmp_path / "none")])
    assert corpus.main() == 2
    assert "give a folder with traces" in capsys.readouterr().err


CALL = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0, "dur": 4}
WORK = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5}


def kernel(correlation: int, **keys: Any) -> dict[str, Any]:
    return WORK | {"args": {"device": 0, "stream": 7, "correlation": correlation}} | keys


def call(correlation: int, **keys: Any) -> dict[str, Any]:
    return CALL | {"args": {"correlation": correlation}} | keys


def hta_of(monkeypatch: pytest.MonkeyPatch, made: dict[str, Any]) -> None:
    monkeypatch.setattr(against_hta, "hta", lambda python, path: made)


def write(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"traceEvents": events}))
    return path


#: Figures of one kernel of 5 us.
TEMPORAL = {"idle": 0.0, "compute": 5.0, "other work": 0.0, "time": 5.0}


def test_equal_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.json", [call(1), kernel(1)])
    hta_of(monkeypatch, {"kept": [0, 1], "temporal": TEMPORAL, "queue": {"max": 1.0, "length by time": 10.004}})
    counts, found = against_hta.compare(path, tmp_path, "python")
    assert dict(counts) == {("temporal", True): 4, ("queue", True): 2}
    assert found == []


def test_explained_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second kernel has no launch."""
    path = write(tmp_path / "a.json", [call(1), kernel(1), kernel(2, ts=20)])
    hta_of(monkeypatch, {"kept": [0, 1], "temporal": TEMPORAL, "overlap": {"error": "ValueError"}})
    counts, found = against_hta.compare(path, tmp_path, "python")
    assert counts["temporal", True] == 1  # no other work
    assert [(each.name, each.ours, each.theirs) for each in found] == [
        ("compute", 10.0, 5.0),
        ("idle", 5.0, 0.0),
        ("time", 15.0, 5.0),
    ]
    assert {each.reason for each in found} == {"HTA skips 1 of 2 kernels and copies: no launch in its steps"}
    (row,) = against_hta.rows(found)
    assert row.startswith("| a.json | temporal: compute, idle, time | 10, 5, 15 | 5, 0, 5 | HTA skips 1 of 2")


def test_a_difference_without_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.json", [call(1), kernel(1)])
    hta_of(monkeypatch, {"kept": [0, 1], "temporal": TEMPORAL | {"compute": 4.0}})
    _, found = against_hta.compare(path, tmp_path, "python")
    assert [(each.name, each.reason) for each in found] == [("compute", None)]
    assert "**unexplained**" in next(against_hta.rows(found))
    monkeypatch.setattr("sys.argv", ["against_hta", str(tmp_path), "python"])
    assert against_hta.main() == 1


@pytest.mark.parametrize(
    ("events", "group", "theirs", "reason"),
    [
        ([call(1, name="cuLaunchKernel"), kernel(1)], "launches", {"count": 0}, "fewer functions"),
        (
            [call(1), kernel(1), kernel(9, name="Stream Sync", cat="cuda_sync", ts=15)],
            "temporal",
            {"time": 10.0},
            "all events with a stream",
        ),
        ([kernel(1), call(1), call(2), kernel(2)], "queue", {"length by time": 10.0}, "first event in the file"),
        (
            [call(9, ts=12), kernel(1), kernel(2, ts=16)],
            "idle",
            {"host_wait": 0.0, "kernel_wait": 1.0},
            "",
        ),
        ([call(9, ts=25), kernel(1), kernel(2, ts=26)], "idle", {"host_wait": 11.0}, "as the launch of work without"),
        ([call(1), kernel(1), kernel(2, ts=12), kernel(3, ts=18)], "idle", {"kernel_wait": -2.0}, "subtracts overlaps"),
        ([call(1), kernel(1, dur=5.75)], "breakdown", {"computation": 5.0}, "whole microseconds"),
    ],
)
def test_reasons(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    events: list[dict[str, Any]],
    group: str,
    theirs: dict[str, float],
    reason: str,
) -> None:
    path = write(tmp_path / "a.json", events)
    hta_of(monkeypatch, {"kept": list(range(len(events))), group: theirs})
    _, found = against_hta.compare(path, tmp_path, "python")
    of = {each.name: each.reason or "**unexplained**" for each in found if each.name in theirs}
    assert all(reason in text for text in of.values())
    assert bool(of) == bool(reason)


def test_a_missing_folder_of_the_comparison(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["against_hta", str(tmp_path / "none"), "python"])
    assert against_hta.main() == 2
    assert "give a folder" in capsys.readouterr().err


def test_a_folder_without_such_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "a.json", [call(1)])
    (tmp_path / "b.json").write_text("{")
    monkeypatch.setattr("sys.argv", ["against_hta", str(tmp_path), "python"])
    assert against_hta.main() == 1
