"""Execution traces joined with Kineto traces: by order without numbers, of the same rank and run, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fastdispatch import cli
from fastdispatch._core import et_info, et_link
from tests.chakra.pairs import write_pair


def change(path: Path, **members: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | members, indent=1))


def strip_numbers(kineto: Path) -> None:
    """As PyTorch of 2023 wrote it."""
    document = json.loads(kineto.read_text())
    for event in document["traceEvents"]:
        event["args"].pop("Record function id", None)
    kineto.write_text(json.dumps(document))


def test_joined_by_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    et, kineto = write_pair(tmp_path, 40)
    whole = et_link(et, kineto, tmp_path / "whole.et")
    strip_numbers(kineto)
    made = et_link(et, kineto, tmp_path / "order.et")
    assert made["link"] | {"by_order": 0} == whole["link"]
    assert made["link"]["by_order"] == made["link"]["linked"] == 42
    assert (tmp_path / "order.et").read_bytes() == (tmp_path / "whole.et").read_bytes()
    assert cli.main(["et", "link", str(et), str(kineto), "-o", str(tmp_path / "a.et")]) == 0
    assert '42 operators found by name and order: the Kineto trace has no "Record function id"' in (
        capsys.readouterr().err
    )


def number_calls(et: Path, kineto: Path) -> None:
    """Autograd's numbers of calls."""
    document, trace = json.loads(et.read_text()), json.loads(kineto.read_text())
    for node in document["nodes"]:
        values = {attr["name"]: attr for attr in node["attrs"]}
        values["seq_id"]["value"] = values["rf_id"]["value"] or -1
    for event in trace["traceEvents"]:
        if event["cat"] == "cpu_op":
            event["args"]["Sequence number"] = event["args"]["Record function id"]
    et.write_text(json.dumps(document))
    kineto.write_text(json.dumps(trace))


def test_joined_by_order_with_calls_missing(tmp_path: Path) -> None:
    """The first calls and some in the middle are not in the Kineto trace."""
    et, kineto = write_pair(tmp_path, 60)
    number_calls(et, kineto)
    whole = et_link(et, kineto, tmp_path / "whole.json")
    strip_numbers(kineto)
    document = json.loads(kineto.read_text())
    calls = [event for event in document["traceEvents"] if event["cat"] == "cpu_op"]
    gone = [*calls[:3], *calls[20:24]]
    document["traceEvents"] = [event for event in document["traceEvents"] if event not in gone]
    kineto.write_text(json.dumps(document))
    made = et_link(et, kineto, tmp_path / "order.json")
    assert made["link"]["by_order"] == whole["link"]["linked"] - 7

    def times(name: str) -> dict[int, Any]:
        nodes = json.loads((tmp_path / name).read_text())["nodes"]
        rf = ({attr["name"]: attr["value"] for attr in node["attrs"]}["rf_id"] for node in nodes)
        return {number: node.get("ts") for number, node in zip(rf, nodes, strict=True) if "cat" not in node}

    before, after = times("whole.json"), times("order.json")
    same = [number for number in before if before[number] == after[number]]
    assert len(same) >= len(before) - 7
    assert et_info(tmp_path / "order.json")["gpu"] == 60
