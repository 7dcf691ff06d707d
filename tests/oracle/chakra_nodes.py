"""Read the nodes of a .et file. Uses nothing of fastdispatch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SEND = 5  # a type of nodes, like those that follow
NUMBERS, BYTES = 0, 2  # of protobuf


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        assert key & 7 in (NUMBERS, BYTES)
        value, at = varint(data, at)
        if key & 7 == BYTES:
            yield key >> 3, data[at : at + value]
            at += value
        else:
            yield key >> 3, value


@dataclass(eq=False)
class Node:
    id: int = 0
    name: str = ""
    type: int = 0
    parent: Node | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def gpu(self) -> bool:
        return not self.attrs["is_cpu_op"]

    @property
    def moves(self) -> bool:
        return self.type >= SEND


def attribute(data: bytes) -> tuple[str, Any]:
    name, value = "", None
    for number, content in fields(data):
        if number == 1:
            name = content.decode()
        else:
            signed = number in (7, 9) and content >= 1 << 63
            value = content - (1 << 64) if signed else content
    return name, value


def read(path: Path) -> list[Node]:
    data = path.read_bytes()
    size, at = varint(data, 0)
    at += size  # the head
    nodes: list[Node] = []
    by_id: dict[int, Node] = {}
    while at < len(data):
        size, at = varint(data, at)
        node = Node()
        for number, content in fields(data[at : at + size]):
            if number == 1:
                node.id = content
            elif number == 2:
                node.name = content.decode()
            elif number == 3:
                node.type = content
            elif number == 4:
                node.parent = by_id[varint(content, 0)[0]]
            elif number == 10:
                name, value = attribute(content)
                node.attrs[name] = value
        by_id[node.id] = node
        nodes.append(node)
        at += size
    return nodes
