"""Make the JSON schemas of the dataclasses that commands print, and lay out all: an object or list on one line if it
fits, otherwise one field per line; names are filled.

``python docs/reference/format_schemas.py`` rewrites the files.
"""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from fastdispatch.cli.doctor_command import Checks
from fastdispatch.detectors.decide import DETECTORS
from fastdispatch.detectors.model import Findings
from fastdispatch.measures.memory_report import MemoryReport
from fastdispatch.report.report_flops import FlopReport
from fastdispatch.report.report_shapes import ShapeReport

SCHEMAS = Path(__file__).parent / "schemas"
WIDTH = 120

_HEAD = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
#: By the name of the file: the command, and the dataclass that it prints.
DOCUMENTS: dict[str, tuple[str, type]] = {
    "doctor": ("doctor", Checks),
    "findings": ("findings", Findings),
    "flops": ("report --flops", FlopReport),
    "memory": ("report --memory", MemoryReport),
    "shapes": ("report --shapes", ShapeReport),
}
_DEFINITIONS = {"findings": {"$defs": {"id": {"enum": sorted(DETECTORS)}}}}


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema of a type. Annotations are descriptions, or dictionaries of further keywords."""
    if get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        words = [each if isinstance(each, dict) else {"description": each} for each in more]
        return {key: value for each in (schema_of(kind), *words) for key, value in each.items()}
    if is_dataclass(kind):
        fields = {name: schema_of(each) for name, each in get_type_hints(kind, include_extras=True).items()}
        return {"type": "object", "required": [*fields], "additionalProperties": False, "properties": fields}
    if get_origin(kind) is Literal:
        return {"enum": [*get_args(kind)]}
    if get_origin(kind) in (Union, UnionType):
        (some,) = (schema_of(each) for each in get_args(kind) if each is not NoneType)
        return {"anyOf": [{"type": "null"}, some]} if "properties" in some else some | {"type": [some["type"], "null"]}
    if get_origin(kind) is list:
        return {"type": "array", "items": schema_of(get_args(kind)[0])}
    if get_origin(kind) is dict and get_args(kind)[1] is not Any:
        return {"type": "object", "additionalProperties": schema_of(get_args(kind)[1])}
    return {"type": _NAMES[get_origin(kind) or kind]}


def laid_out(value: Any, indent: int = 0, used: int = 0) -> str:
    """The text of a value that begins in column ``indent + used`` of its line."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + used + len(line) < WIDTH or not isinstance(value, (dict, list)):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        names = [json.dumps(name, ensure_ascii=False) + ": " for name in value]
        items = [name + laid_out(item, indent + 2, len(name)) for name, item in zip(names, value.values(), strict=True)]
    else:
        items = filled([laid_out(item, indent + 2) for item in value], WIDTH - indent - 3)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(inner + item for item in items) + "\n" + " " * indent + closing


def filled(items: list[str], width: int) -> list[str]:
    """Short items share lines of at most ``width`` characters."""
    lines: list[str] = []
    for item in items:
        if lines and "\n" not in lines[-1] + item and len(lines[-1]) + len(item) + 2 <= width:
            lines[-1] += ", " + item
        else:
            lines.append(item)
    return lines


def schema_of_document(name: str) -> dict[str, Any]:
    command, kind = DOCUMENTS[name]
    head = {"title": f"fastdispatch {command} --json", "description": " ".join((kind.__doc__ or "").split())}
    return _HEAD | head | _DEFINITIONS.get(name, {}) | schema_of(kind)


def formatted(path: Path) -> str:
    name = path.name.partition(".")[0]
    return laid_out(schema_of_document(name) if name in DOCUMENTS else json.loads(path.read_text())) + "\n"


if __name__ == "__main__":
    for path in sorted(SCHEMAS.iterdir()):
        path.write_text(formatted(path))
