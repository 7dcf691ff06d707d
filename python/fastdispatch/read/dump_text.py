"""The writer of dumps (docs/formats/dump.md): the tables of a trace as JSON, column by column."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from fastdispatch import _core
from fastdispatch.read.dump_tables import COUNTERS, DUMPED, EXACT, TABLES


def save(core: _core.Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace to a file. Raises Error if it cannot be written, or if the trace is reduced to some steps."""
    if core.columns("ranks")["reduced"][:1] == [True] and core.columns("reduced", 0)["ranks"] == [0]:
        raise _core.Error("a trace of selected steps cannot be dumped: load it without steps")
    _core.save(path, (part.encode() for part in parts(core)))


def parts(core: _core.Trace) -> Iterator[str]:
    """Yield the document in parts, which are at most as long as a column."""
    texts = core.columns("strings")["string"]
    numbers = {"": 0} | {text: number for number, text in enumerate(texts, 1)}
    yield '{"format":"fastdispatch.trace","version":1,\n"strings":['
    yield ",\n".join(map(_text, ["", *texts]))
    yield "]"
    for name in ("nodes", "modules", "contexts"):
        yield from _table(name, core.arrays(name), numbers)
    yield ',\n"ranks":['
    ranks = len(core.columns("rank")["rank"])
    for at in range(ranks):
        yield ",\n{" if at else "\n{"
        yield from _rank(core, at, numbers)
        yield "}"
    yield "]}\n" if ranks else "\n]}\n"


def _rank(core: _core.Trace, at: int, numbers: dict[str, int]) -> Iterator[str]:
    fields, sparse = _fields(core, "rank", at), _fields(core, "sparse", at)
    sparse["run_steps"] *= sparse["run_steps"] > fields["steps"]
    damage = {"complete": False} if core.columns("rest", at)["incomplete"][0] else {}
    yield _members(damage | fields | {name: value for name, value in sparse.items() if value})
    yield _object("start", _members(_fields(core, "start", at)))
    facts, notes = core.columns("facts", at), core.columns("notes", at)["note"]
    pairs = zip(map(_text, facts["key"]), facts["value"], strict=True)
    yield _object("meta", ",\n".join(f"{key}:{value}" for key, value in pairs))
    yield _object("counters", _members(dict(zip(COUNTERS, core.columns("counters", at)["count"], strict=True))))
    yield f',\n"notes":[{",".join(map(_text, notes))}]'
    reduced = _fields(core, "reduced", at)
    there = {
        "always": True,
        "marked": bool(core.columns("marks", at)["number"]),
        "reduced": reduced["ranks"] > 0,
        "live": any(core.columns("live", at)["last"]),
    }
    for name, when in DUMPED.items():
        table = core.arrays(name, at)
        if name == "spreads" and there[when]:
            yield _object("reduced", _members(reduced))
        if there.get(when, len(next(iter(table.values()))) > 0):
            yield from _table(name, table, numbers)


def _fields(core: _core.Trace, table: str, at: int) -> dict[str, Any]:
    return {name: value for name, (value,) in core.columns(table, at).items()}


def _object(name: str, members: str) -> str:
    return f',\n"{name}":{{{members}}}'


def _members(values: Mapping[str, Any]) -> str:
    return ",".join(f'"{name}":{json.dumps(_exact(value))}' for name, value in values.items())


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _exact(value: Any) -> Any:
    """Return a number as a string if readers that keep numbers as doubles would change it."""
    return str(value) if type(value) is int and value > EXACT else value


def _table(name: str, table: dict[str, Any], numbers: dict[str, int]) -> Iterator[str]:
    """Yield a table from the arrays of its columns; ``numbers`` are those of the texts."""
    yield f',\n"{name}":{{'
    for at, (column, kind, *_) in enumerate(TABLES[name]):
        values = table[column]
        yield f'{"," if at else ""}\n"{column}":[{_column(kind, values, numbers)}]'
    yield "}"


def _column(kind: str, values: Any, numbers: dict[str, int]) -> str:
    if kind == "text":
        return ",".join(str(numbers[text]) for text in values)
    cells: list[Any] = values.tolist()
    if kind == "double":  # all digits; those of a whole number have no point
        known = ["%.17g" if math.isfinite(value) else "null" for value in cells]
        return ",".join(known) % tuple(filter(math.isfinite, cells))
    if kind == "index":
        cells = [value - 1 for value in cells]
    elif kind == "maybe":
        cells = [_exact(value - 1) if value else None for value in cells]
    elif kind == "Q" and max(cells, default=0) > EXACT:
        cells = [_exact(value) for value in cells]
    return json.dumps(cells, separators=(",", ":"))[1:-1]
