"""Execution traces as JSON, and what a node of PyTorch's own observer must have in common with ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Node = dict[str, Any]


def nodes_of(path: Path) -> list[Node]:
    """Nodes in the order of their numbers, their attributes by name."""
    nodes: list[Node] = sorted(json.loads(path.read_text())["nodes"], key=lambda node: node["id"])
    for node in nodes:
        node["attrs"] = {attr["name"]: attr["value"] for attr in node["attrs"]}
    return nodes


def calls_of(nodes: list[Node]) -> dict[int, Node]:
    """Nodes by the number PyTorch gave the call."""
    return {node["attrs"]["rf_id"]: node for node in nodes if node["attrs"]["rf_id"]}


def assert_same_call(ours: Node, theirs: Node) -> None:
    """All but the ids of tensors (theirs come again when memory does), times and ``fw_parent``."""
    assert ours["name"] == theirs["name"]
    for side in ("inputs", "outputs"):
        for part in ("shapes", "types", "strides"):
            assert ours[side][part] == theirs[side][part], theirs["name"]
        assert _anonymous(ours[side]["values"]) == _anonymous(theirs[side]["values"]), theirs["name"]
    for key in ("seq_id", "scope", "tid", "fw_tid", "op_schema"):
        assert ours["attrs"][key] == theirs["attrs"][key], theirs["name"]


def _anonymous(value: Any) -> Any:
    """Values without the ids of tensors, doubles as PyTorch rounds them."""
    if isinstance(value, list):
        is_tensor = len(value) == 6 and isinstance(value[5], str)
        return value[2:] if is_tensor else [_anonymous(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value
