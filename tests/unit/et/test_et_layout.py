"""The table of process groups for ASTRA-sim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fastdispatch import cli
from tests import commands
from tests.chakra.pairs import node, write_pair


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A rank with a GPU, two process groups, a message and work of gloo."""
    et, kineto = write_pair(tmp_path, 8)
    document = json.loads(et.read_text())
    groups = [
        {"pg_name": "0", "pg_desc": "default", "ranks": [], "group_size": 3},
        {"pg_name": "1", "pg_desc": "pair", "ranks": [0, 2], "group_size": 2},
    ]
    label = node(5000, 2, "## process_group:init ##", 5000)
    label["inputs"] = {"values": [json.dumps(groups)], "shapes": [[]], "types": ["String"], "strides": [[]]}
    tensor = [9001, 9002, 0, 512, 4, "cpu"]
    call = node(5002, 2, "c10d::send", 5002, "c10d::send()", ([[tensor], "<Object>", 1, 7], []))
    work = node(5004, 2, "gloo:send", 5004, "", ([tensor], []))
    document["nodes"] += [label, call, work]
    et.write_text(json.dumps(document))
    return et, kineto


@pytest.mark.parametrize("command", ["link", "convert"])
def test_process_groups_for_astra_sim(command: str, pair: tuple[Path, Path], tmp_path: Path) -> None:
    inputs = [str(path) for path in (pair if command == "link" else pair[:1])]
    assert cli.main(["et", command, *inputs, "-o", str(tmp_path / "out/"), "--layout", "astra-sim"]) == 0
    groups = json.loads((tmp_path / "out" / "comm_groups.json").read_text())
    assert groups == {"0": [0, 1, 2], "1": [0, 2]}
    assert (tmp_path / "out" / "trace.0.et").exists()
    assert len(commands.document("et", "info", tmp_path / "out")["files"]) == 1
