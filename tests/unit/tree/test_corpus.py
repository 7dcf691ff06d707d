"""``make corpus``: forms of files, and a row per file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.corpus import __main__ as corpus

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
