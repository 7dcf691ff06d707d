"""An execution trace as GraphML, for networkx, yEd and Gephi."""

from collections.abc import Iterator
from typing import Any

from fastdispatch.graphs.dot_parts import PLAIN
from fastdispatch.read.execution_trace import GPU, MESSAGES, SEND, TIMED, TYPES, collective_name, kind_names

#: The attributes: id, what has it, name, type.
_KEYS = (
    ("name", "node", "name", "string"),
    ("type", "node", "type", "string"),
    ("parent", "node", "parent", "string"),
    ("cpu", "node", "is_cpu_op", "boolean"),
    ("tid", "node", "tid", "long"),
    ("stream", "node", "stream", "int"),
    ("start", "node", "start_ns", "long"),
    ("dur", "node", "dur_ns", "long"),
    ("comm", "node", "collective", "string"),
    ("bytes", "node", "bytes", "long"),
    ("group", "node", "group", "string"),
    ("kinds", "edge", "kinds", "string"),
)
#: XML has no surrogates.
_ESCAPES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd") | PLAIN | {ord("\n"): " ", ord('"'): "&quot;"}


def et_graphml(tables: dict[str, Any]) -> bytes:
    """Return all nodes of ``et_tables()``, and all dependencies with their kinds."""
    return "".join(_parts(tables)).encode()


def _parts(tables: dict[str, Any]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for id, target, name, kind in _KEYS:
        yield f'<key id="{id}" for="{target}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph edgedefault="directed">\n'
    nodes, edges = tables["nodes"], tables["edges"]
    for node, id in enumerate(nodes["id"]):
        data = "".join(f'<data key="{key}">{value}</data>' for key, value in _attributes(tables, node))
        yield f'<node id="{id}">{data}</node>\n'
    names = {kinds: ",".join(kind_names(kinds)) for kinds in {*edges["kinds"]}}
    for start, end, kinds in zip(edges["from"], edges["to"], edges["kinds"], strict=True):
        ends = f'source="{nodes["id"][start]}" target="{nodes["id"][end]}"'
        yield f'<edge {ends}><data key="kinds">{names[kinds]}</data></edge>\n'
    yield "</graph>\n</graphml>\n"


def _attributes(tables: dict[str, Any], node: int) -> Iterator[tuple[str, object]]:
    nodes, texts = tables["nodes"], tables["texts"]
    flags, type, parent = nodes["flags"][node], nodes["type"][node], nodes["parent"][node]
    yield "name", texts[nodes["name"][node]].translate(_ESCAPES)
    yield "type", TYPES[type]
    if parent:
        yield "parent", nodes["id"][parent - 1]
    yield "cpu", "false" if flags & GPU else "true"
    yield ("stream", nodes["stream"][node]) if flags & GPU else ("tid", nodes["tid"][node])
    if flags & TIMED:
        yield "start", nodes["start_ns"][node]
        yield "dur", nodes["dur_ns"][node]
    if nodes["comm"][node] and type >= SEND:
        comm = {name: column[nodes["comm"][node] - 1] for name, column in tables["comms"].items()}
        yield "comm", MESSAGES.get(type) or collective_name(comm["type"])
        if comm["bytes"] >= 0:
            yield "bytes", comm["bytes"]
        if comm["group"]:
            yield "group", texts[comm["group"]].translate(_ESCAPES)
