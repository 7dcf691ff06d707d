"""Execution traces as JSON, and the common facts of nodes from PyTorch's observer and from fastdispatch."""

import json
from pathlib import Path
from typing import Any

Node = dict[str, Any]


def nodes_of(path: Path) -> list[Node]:
    """Nodes ordered by number, with a dict of their attributes."""
    nodes: list[Node] = sorted(json.loads(path.read_text())["nodes"], key=lambda node: node["id"])
    for node in nodes:
        node["attrs"] = {attr["name"]: attr["value"] for attr in node["attrs"]}
    return nodes


def calls_of(nodes: list[Node]) -> dict[int, Node]:
    """Nodes by PyTorch's number of the call."""
    return {node["attrs"]["rf_id"]: node for node in nodes if node["attrs"]["rf_id"]}


def assert_same_call(ours: Node, theirs: Node) -> None:
    """All facts except ids of tensors (PyTorch reuses them with the memory), times and ``fw_parent``."""
    assert ours["name"] == theirs["name"]
    for side in ("inputs", "outputs"):
        for part in ("shapes", "types", "strides"):
            assert ours[side][part] == theirs[side][part], theirs["name"]
        assert _anonymous(ours[side]["values"]) == _anonymous(theirs[side]["values"]), theirs["name"]
    for key in ("seq_id", "scope", "tid", "fw_tid", "op_schema"):
        assert ours["attrs"][key] == theirs["attrs"][key], theirs["name"]


def _anonymous(value: Any) -> Any:
    """Values without ids of tensors, with doubles rounded like PyTorch."""
    if isinstance(value, list):
        is_tensor = len(value) == 6 and isinstance(value[5], str)
        return value[2:] if is_tensor else [_anonymous(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value
