"""The text and the JSON form of a graph of layers (docs/formats/pipeline-graph.md)."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from fastdispatch import _core

SCHEMA = "fastdispatch-graph/1"
MOST_NODES = 1 << 20

_BETWEEN, _STAGE = " -- ", " -- stage_id="
_FIGURES = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
_NUMBER = re.compile(r"[0-9+\-.eE]{1,127}")
#: Names in the JSON form, and those that messages have.
_MEASURED = {"forward_ms": _FIGURES[0], "backward_ms": _FIGURES[1], "parameter_bytes": _FIGURES[3]}
_MAY_LACK = {"forward_spread_ms": "forward_spread", "backward_spread_ms": "backward_spread", "saved_bytes": "saved"}


@dataclass(frozen=True)
class Node:
    """One layer, or one operation between layers."""

    id: str
    name: str  #: description, for a module its repr; the "desc" of other planners
    forward_ms: float = 0.0  #: milliseconds of one forward
    backward_ms: float = 0.0
    output_bytes: Sequence[float] = ()  #: of each output
    parameter_bytes: float = 0.0
    stage: int | None = None  #: from 0 on
    forward_spread_ms: float | None = None  #: spread of steps; None: unknown
    backward_spread_ms: float | None = None
    saved_bytes: float | None = None  #: kept from forward to backward; None: not known
    about: Mapping[str, Any] = field(default_factory=dict)  #: facts that only the JSON form has

    @property
    def activation_bytes(self) -> float:
        """Bytes of all outputs."""
        return float(sum(self.output_bytes))

    def __str__(self) -> str:
        """As messages name it, in one line."""
        text = " ".join(self.name.split())
        return f"{self.id} ({text if len(text) <= 60 else f'{text[:57]}...'})"


class Content(NamedTuple):
    """The members of a graph: nodes by id, edges between ids, facts on the whole."""

    nodes: dict[str, Node]
    edges: list[tuple[str, str]]
    about: dict[str, Any]


def parse(text: str, where: str) -> Content:
    """Read either form. Messages begin with ``where`` and the place."""
    if not text.lstrip(" \t\n\r\v\f").startswith("{"):
        return _read_lines(text, where)
    try:
        document = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        fault = "more after the JSON," if error.msg == "Extra data" else "not valid JSON"
        raise _core.Error(f"{where}: {fault} at byte {len(text[: error.pos].encode())}") from None
    except (ValueError, RecursionError) as error:
        raise _core.Error(f"{where}: not valid JSON: {error}") from None
    return read_document(document, where)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _cut(text: str) -> str:
    """Return the first 60 bytes of a text."""
    return text.encode(errors="replace")[:60].decode(errors="replace")


# Checks of both forms.


def _add(content: Content, node: Node, place: str) -> None:
    """Check a node and add it. Messages begin with ``place``."""
    fault = _fault(content.nodes, node)
    if fault:
        raise _core.Error(f"{place}: {fault}")
    content.nodes[node.id] = node


def _fault(nodes: Mapping[str, Node], node: Node) -> str | None:
    if len(nodes) == MOST_NODES:
        return f"more than {MOST_NODES} nodes"
    if not node.id:
        return "a node has no id"
    shown = f"node '{_cut(node.id)}'"
    if any(mark in node.id for mark in ("\t", "\r", "\n", _BETWEEN)):
        return f"{shown}: an id has no tab, newline or ' -- '"
    if "\0" in node.id + node.name:
        return f"{shown}: a byte 0 in a text"
    try:
        (node.id + node.name).encode()
    except UnicodeEncodeError:
        return "a text is not UTF-8"
    if node.id in nodes:
        return f"{shown}: duplicate id"
    figures = {name: getattr(node, member) for member, name in (_MEASURED | _MAY_LACK).items()}
    for name, value in (figures | {"activation_size": node.activation_bytes}).items():
        if value is not None and not (value >= 0 and math.isfinite(value)):
            return f"{shown}: {name} is {value:g}: not a finite non-negative number"
    if node.stage is not None and node.stage > MOST_NODES:
        return f"{shown}: stage_id is {node.stage}: a number from 0 to {MOST_NODES}"
    return None


# JSON.


def read_document(document: Any, where: str) -> Content:
    """Read the JSON form from its document."""
    schema = document.get("schema")
    kind, _, version = SCHEMA.rpartition("/")
    if not isinstance(schema, str) or not schema.startswith(f"{kind}/"):
        raise _core.Error(f"{where}: schema: not a graph of fastdispatch")
    if schema != SCHEMA:
        found = schema[len(kind) + 1 :][:20]
        raise _core.Error(
            f"{where}: version {found} of the graph, this fastdispatch reads version {version}: upgrade it"
        )
    content = Content({}, [], _about(document))
    for at, item in enumerate(_list(document, "nodes", where)):
        place = f"{where}: nodes[{at}]"
        _add(content, _read_node(item if isinstance(item, dict) else {}, place), place)
    for at, item in enumerate(_list(document, "edges", where)):
        if not (isinstance(item, list) and len(item) == 2 and all(isinstance(id, str) for id in item)):
            raise _core.Error(f"{where}: edges[{at}]: not a list of two ids")
        for id in item:
            if id not in content.nodes:
                raise _core.Error(f"{where}: edges[{at}]: an edge of an unknown node: '{_cut(id)}'")
        content.edges.append((item[0], item[1]))
    return content


def _list(document: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = document.get(name)
    if not isinstance(found, list):
        raise _core.Error(f"{where}: {name}: a list")
    return found


def _about(item: Mapping[str, Any]) -> dict[str, Any]:
    found = item.get("about")
    return found if isinstance(found, dict) else {}


def _read_node(item: Mapping[str, Any], place: str) -> Node:
    for name in ("id", "name"):
        if not isinstance(item.get(name), str):
            raise _core.Error(f"{place}.{name}: a text")
    outputs = item.get("output_bytes")
    if not isinstance(outputs, list):
        raise _core.Error(f"{place}.output_bytes: a list of numbers")
    sizes = [_number(size) for size in outputs]
    if not all(size is not None and size >= 0 for size in sizes):
        raise _core.Error(f"{place}.output_bytes: non-negative numbers")
    figures = {name: _figure(item, name, place) for name in [*_MEASURED, *_MAY_LACK, "stage"]}
    stage = figures.pop("stage")
    if stage is not None and stage > MOST_NODES:
        raise _core.Error(f"{place}.stage: too large")
    if stage is not None and stage != math.floor(stage):
        raise _core.Error(f"{place}.stage: a whole number")
    return Node(
        item["id"],
        item["name"],
        output_bytes=tuple(size for size in sizes if size is not None),
        stage=None if stage is None else int(stage),
        about=_about(item),
        **figures,  # type: ignore[arg-type]
    )


def _figure(item: Mapping[str, Any], name: str, place: str) -> float | None:
    if name not in _MEASURED and item.get(name) is None:
        return None
    value = _number(item.get(name))
    if value is None or not value >= 0:
        raise _core.Error(f"{place}.{name}: a non-negative number")
    return value


def _number(value: Any) -> float | None:
    """Return a number of a document as a float; None: not a number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_json(content: Content) -> str:
    """Return the JSON form."""
    head = {"schema": SCHEMA} | ({"about": content.about} if content.about else {})
    nodes = ",".join(f"\n{_json(_document(node))}" for node in content.nodes.values())
    return f'{_json(head)[:-1]},"nodes":[{nodes}\n],"edges":{_json(content.edges)}}}\n'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _document(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": node.id,
        "name": node.name,
        "forward_ms": node.forward_ms,
        "backward_ms": node.backward_ms,
        "output_bytes": node.output_bytes,
        "parameter_bytes": node.parameter_bytes,
    }
    known = {name: getattr(node, name) for name in [*_MAY_LACK, "stage"]}
    found |= {name: value for name, value in known.items() if value is not None}
    return found | ({"about": node.about} if node.about else {})


# Text.


def _read_lines(text: str, where: str) -> Content:
    content = Content({}, [], {})
    places: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{where}:{number}"
        line = line.removesuffix("\r")
        if "\0" in line:
            raise _core.Error(f"{place}: a byte 0 in the line: '{_cut(line.partition(chr(0))[0])}'")
        if line.startswith("\t"):
            first, middle, second = line[1:].partition(_BETWEEN)
            if not middle:
                raise _core.Error(f"{place}: an edge is '<TAB>ID -- ID': '{_cut(line[1:])}'")
            content.edges.append((first, second))
            places.append(place)
        elif line:
            _add(content, _read_line(line, place), place)
    for edge, place in zip(content.edges, places, strict=True):
        for id in edge:
            if id not in content.nodes:
                raise _core.Error(f"{place}: an edge of an unknown node: '{_cut(id)}'")
    return content


def _read_line(line: str, place: str) -> Node:
    """Read a node from the right, since its name may contain any text."""
    first, meta = line.find(_BETWEEN), line.rfind(f"{_BETWEEN}{_FIGURES[0]}=")
    if first < 0 or meta < 0:
        raise _core.Error(
            f"{place}: neither a node 'ID -- NAME -- {_FIGURES[0]}=...' nor an edge '<TAB>ID -- ID': '{_cut(line)}'"
        )
    if meta < first + len(_BETWEEN):
        raise _core.Error(f"{place}: a node has a name between its id and its figures: '{_cut(line)}'")
    text, staged, stage = line[meta + len(_BETWEEN) :].partition(_STAGE)
    if staged and not re.fullmatch("[0-9]{1,8}", stage):
        raise _core.Error(f"{place}: stage_id is not a non-negative number: '{_cut(stage)}'")
    parts = text.split(", ", len(_FIGURES))
    figures: list[list[float]] = []
    for name, part in zip(_FIGURES, [*parts, *len(_FIGURES) * [""]], strict=False):
        if not part.startswith(f"{name}="):
            raise _core.Error(f"{place}: expected {name}=: '{_cut(part)}'")
        sizes = _listed(part[len(name) + 1 :]) if name == "activation_size" else [part[len(name) + 1 :]]
        figures.append([_read_number(size, name, place) for size in sizes])
    if parts[len(_FIGURES) :] not in ([], [""]):
        raise _core.Error(f"{place}: too many figures: '{_cut(parts[-1])}'")
    (forward,), (backward,), outputs, (parameters,) = figures
    name, number = line[first + len(_BETWEEN) : meta], int(stage) if staged else None
    return Node(line[:first], name, forward, backward, tuple(outputs), parameters, number)


def _listed(text: str) -> list[str]:
    """Return the numbers of ``[a; b; c]``, or the text."""
    if len(text) < 2 or not (text.startswith("[") and text.endswith("]")):
        return [text]
    parts = text[1:-1].split("; ")
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def _read_number(text: str, name: str, place: str) -> float:
    try:
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _core.Error(f"{place}: {name} is not a finite number: '{_cut(text)}'")
    if value < 0:
        raise _core.Error(f"{place}: {name} is negative: '{_cut(text)}'")
    return value


def to_text(content: Content) -> str:
    """Return the text form, without a final newline. Newlines in names are dropped."""
    lines = [_line(node) for node in content.nodes.values()]
    return "\n".join(lines + [f"\t{first}{_BETWEEN}{second}" for first, second in content.edges])


def _line(node: Node) -> str:
    sizes = [repr(float(size)) for size in node.output_bytes] or ["0.0"]
    values = (
        _thousandths(node.forward_ms),
        _thousandths(node.backward_ms),
        sizes[0] if len(sizes) == 1 else f"[{'; '.join(sizes)}]",
        _thousandths(node.parameter_bytes),
    )
    figures = ", ".join(f"{name}={value}" for name, value in zip(_FIGURES, values, strict=True))
    stage = "" if node.stage is None else f"{_STAGE}{node.stage}"
    return _BETWEEN.join((node.id, re.sub("[\r\n]", "", node.name), figures)) + stage


def _thousandths(value: float) -> str:
    """Return a number with three decimals if that is exact, otherwise with the fewest digits."""
    text = f"{value:.3f}"
    return text if abs(value) < 1e16 and float(text) == value else repr(value)
