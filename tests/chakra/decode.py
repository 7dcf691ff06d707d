"""A .et as JSON, decoded with the code that protoc generated for Chakra. Runs in the environment of its tools."""

import json
import sys
from typing import Any

from chakra.schema.protobuf.et_def_pb2 import GlobalMetadata, Node
from chakra.src.third_party.utils.protolib import decodeMessage, openFileRd


def attributes(attrs: Any) -> dict[str, list[Any]]:
    found = {}
    for attr in attrs:
        kind = attr.WhichOneof("value")
        value = getattr(attr, kind) if kind else None
        found[attr.name] = [kind, list(value) if isinstance(value, bytes) else value]
    return found


def nodes(path: str) -> list[dict[str, Any]]:
    file = openFileRd(path)
    head = GlobalMetadata()
    assert decodeMessage(file, head)
    found = []
    node = Node()
    while decodeMessage(file, node):
        found.append(
            {
                "id": node.id,
                "name": node.name,
                "type": node.type,
                "parents": list(node.ctrl_deps),
                "deps": list(node.data_deps),
                "start": node.start_time_micros,
                "duration": node.duration_micros,
                "inputs": [node.inputs.values, node.inputs.shapes, node.inputs.types],
                "outputs": [node.outputs.values, node.outputs.shapes, node.outputs.types],
                "attrs": attributes(node.attr),
            }
        )
        node = Node()
    return found


json.dump(nodes(sys.argv[1]), sys.stdout)
