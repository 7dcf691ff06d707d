"""Dumps and merges (docs/formats/dump.md), which are not trusted: their tables, checked, for the C core."""

import json
import re
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.files.regular import read_bytes

#: The largest whole number that all readers of JSON know exactly; larger ones are strings.
EXACT = 1 << 53
#: Longer lists of numbers become arrays, which need a fifth of the memory.
_LONG = 1000
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
#: The columns of each table of a trace (see ``_core.tables``).
TABLES = _core.tables()
#: The tables of a rank in a dump, in their order, and when it has them: with marks, of a sum of ranks (reduced), while
#: threads run (live), or with rows (filled).
DUMPED = {
    "threads": "always",
    "live": "live",
    "open": "always",
    "latest_steps": "always",
    "step_tops": "always",
    "figures": "always",
    "marks": "filled",
    "settled_from": "marked",
    "settled_to": "marked",
    "gpu": "filled",
    "spreads": "reduced",
    "measures": "filled",
}
#: The names of the counters of dropped events.
COUNTERS = next(names for name, _, names, *_ in TABLES["rest"] if name == "counters")

Checked = dict[str, Any]


def load_dump(path: str) -> _core.Trace:
    """Read a dump. Raises Error with the file, the place and the fault, and MemoryError."""
    try:
        return load_text(read_bytes(path).decode("utf-8-sig", "surrogateescape"))
    except Error as error:
        raise Error(f"{path}: {error}") from None
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    except MemoryError:
        raise MemoryError(f"{path}: out of memory") from None


def load_text(text: str) -> _core.Trace:
    """Return the content of a dump. Raises Error with the place and the fault."""
    document = _DumpTables(_parsed(text))
    del text  # as long as the tables
    whole = _core.Trace()
    whole.take(_core.load_tables(document.tables()), "")
    whole.finish()
    return whole


class _Members(dict[str, Any]):
    """An object of JSON: the last member of each name; and all members, also repeated ones."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__((name, _short(value)) for name, value in pairs)
        self.all = pairs if len(pairs) > len(self) else None


def _short(value: Any) -> Any:
    if type(value) is list and len(value) > _LONG:
        types = set(map(type, value))
        if types <= {int, float}:
            try:
                return array("d" if float in types else "q", value)
            except OverflowError:  # found when the column is read
                return value
    return value


def _parsed(text: str, parse_int: Callable[[str], Any] | None = None) -> Any:
    try:
        return json.JSONDecoder(object_pairs_hook=_Members, strict=False, parse_int=parse_int).decode(text)
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode(errors="surrogateescape"))
        raise Error(f"not valid JSON at byte {at}") from None
    except RecursionError:
        raise Error("not valid JSON: nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        return _parsed(text, _short_int)


def _short_int(text: str) -> int | float:
    return int(text) if len(text) < 100 else float(text)


def _wrong(where: str, what: str) -> NoReturn:
    raise Error(f"{where}: {what}")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, array))


def _clean(text: Any, where: str) -> str:
    """Return a text without what UTF-8 cannot represent."""
    if not isinstance(text, str):
        _wrong(where, "not a string")
    return _NOT_TEXT.sub("\ufffd", text)


def _number(value: Any) -> int:
    """Return a whole number, which above 2^53 is a string."""
    if (type(value) is int and value <= EXACT) or (type(value) is float and value.is_integer() and value <= EXACT):
        return int(value)
    if type(value) is str and re.fullmatch("[0-9]{1,20}", value):
        return int(value)
    raise ValueError


def _cells(kind: str, values: Any, texts: list[str]) -> Any:
    """Return a column as an array of numbers, whose range C checks, or its texts. Raises ValueError and others for
    wrong values."""
    known: dict[str, set[type]] = {"bool": {bool}, "double": {int, float}}
    whole = known.get(kind, {int})
    if kind == "text":
        return [texts[at] for at in array("I", map(_number, values))]
    if kind == "maybe":
        numbers = array("Q", [0 if value is None else _number(value) for value in values])
        return array("Q", [0 if value is None else number + 1 for value, number in zip(values, numbers, strict=True)])
    if isinstance(values, array) and (float if values.typecode == "d" else int) in whole:
        return values
    types = set(map(type, values))
    if types <= whole:
        return array("d" if kind == "double" else "q", values)
    if kind in ("bool", "double") or (kind == "index" and str in types):
        raise ValueError
    return array("q" if kind == "index" else "Q", map(_number, values))


class _DumpTables:
    """The tables of a document, in the order in which faults are reported."""

    def __init__(self, found: Any) -> None:
        self.found = found if isinstance(found, dict) else {}
        self.texts: list[str] = []

    def tables(self) -> Iterator[tuple[str, int, int, Checked]]:
        """Yield name, index of the rank, number of rows and columns. Raises Error."""
        if self.found.get("format") != "fastdispatch.trace":
            _wrong("format", "not a fastdispatch dump")
        version = _field(self.found, "version", "I")
        if version != 1:
            _wrong(f"version {version} of the dump, this fastdispatch reads version 1", "upgrade it")
        if not _is_list(self.found.get("strings")):
            _wrong("strings", "an array is missing")
        self.texts = [_clean(text, "strings") for text in self.found["strings"]]
        yield from self._shared()
        if not _is_list(self.found.get("ranks")):
            _wrong("ranks", "an array is missing")
        for at, rank in enumerate(self.found["ranks"]):
            for name, count, columns in self._rank(rank if isinstance(rank, _Members) else _Members([])):
                yield name, at, count, columns
            rank.clear()

    def _shared(self) -> Iterator[tuple[str, int, int, Checked]]:
        nodes, found = self._table(self.found, "nodes")
        if 0 in found["kind"]:
            _wrong("nodes.kind", "unknown kind")
        yield "nodes", -1, nodes, found
        modules, found = self._table(self.found, "modules")
        if any(parent >= at for at, parent in enumerate(found["parent"])):
            _wrong("modules.parent", "not an earlier module")
        yield "modules", -1, modules, found
        contexts, found = self._table(self.found, "contexts")
        if found["node"] and not 0 <= min(found["node"]) <= max(found["node"]) < nodes:
            _wrong("contexts.node", "no such node")
        if max(found["module"], default=-1) >= modules:
            _wrong("contexts.module", "no such module")
        if max(max(found[name], default=-1) for name in ("parent", "origin")) >= contexts:
            _wrong("contexts", "a parent or origin does not exist")
        yield "contexts", -1, contexts, found

    def _table(self, of: Any, name: str) -> tuple[int, Checked]:
        """Return the number of rows of a table, and its columns."""
        table, columns = of.get(name), TABLES[name]
        if not isinstance(table, dict) or not _is_list(table.get(columns[0][0])):
            _wrong(name, "the table is missing")
        count, made = len(table[columns[0][0]]), Checked()
        for column, kind, _, newer, _ in columns:
            where, values = f"{name}.{column}", cast(Any, table.get(column))
            if newer and column not in table:
                continue
            if not _is_list(values):
                _wrong(where, "an array is missing")
            try:
                made[column] = _cells(kind, values, self.texts)
            except (ValueError, TypeError, OverflowError, IndexError):
                _wrong(where, "a value has the wrong type or range")
            if len(values) != count:
                _wrong(where, f"{'more' if len(values) > count else 'fewer'} values than in the first column")
        return count, made

    def _rank(self, rank: _Members) -> Iterator[tuple[str, int, Checked]]:
        start, counters = rank.get("start"), rank.get("counters")
        yield "rank", 1, _fields(rank, "rank")
        sparse = _fields(rank, "sparse", known=True)
        sparse["run_steps"] = array("Q", [max(_number(rank["steps"]), *sparse.get("run_steps", [0]))])
        yield "sparse", 1, sparse
        yield "start", 1, _fields(start, "start")
        known = counters if isinstance(counters, dict) else {}
        numbers = [_field(known, name, "Q") if name in known else 0 for name in COUNTERS]
        incomplete = array("q", [rank.get("complete") is False])
        yield "rest", 1, {"incomplete": incomplete, "counters": array("Q", numbers)}
        yield from self._facts(rank)
        yield from self._rank_tables(rank)

    def _facts(self, rank: _Members) -> Iterator[tuple[str, int, Checked]]:
        meta, notes = rank.get("meta"), cast(Any, rank.get("notes"))
        pairs = (meta.all or list(meta.items())) if isinstance(meta, _Members) else []
        values = [_clean(_spelled(value), "meta") for _, value in pairs]
        yield "facts", len(pairs), {"key": [_clean(key, "meta") for key, _ in pairs], "value": values}
        lines = [_clean(note, "notes") for note in notes] if _is_list(notes) else []
        yield "notes", len(lines), {"note": lines}

    def _rank_tables(self, rank: _Members) -> Iterator[tuple[str, int, Checked]]:
        counts: dict[str, int] = {}
        calls: Checked = {}
        for name, when in DUMPED.items():
            needed = when == "always" or (when == "marked" and "marks" in rank) or when == "reduced"
            if (when == "reduced" and "reduced" not in rank) or not (needed or name in rank):
                continue
            count, columns = self._table(rank, name)
            counts[name] = count
            calls = columns if name == "open" else calls
            if name == "live" and count != counts["threads"]:
                _wrong("live", "one row per thread expected")
            yield name, count, columns
        if "reduced" in rank:
            yield "reduced", 1, _fields(rank["reduced"], "reduced")
        if max(calls["thread"], default=-1) >= counts["threads"]:
            _wrong("open.thread", "no such thread")


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=list)


def _field(of: Any, name: str, code: str) -> int:
    try:
        return int(array(code, [_number(of[name])])[0])
    except (KeyError, ValueError, OverflowError):
        _wrong(name, "a whole number is missing or out of range")


def _fields(of: Any, table: str, known: bool = False) -> Checked:
    """Return the fields of a rank as columns of one row; with ``known`` those that are there."""
    found, made = of if isinstance(of, dict) else {}, Checked()
    for name, kind, names, *_ in TABLES[table]:
        value = found.get(name)
        if names:
            if value not in names:
                _wrong(name, "unknown name")
            made[name] = array("q", [names.index(value)])
        elif kind == "chars":
            if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{32}", value):
                _wrong(name, "32 hexadecimal digits expected")
            made[name] = [value]
        elif kind == "bool":
            made[name] = array("q", [value is True])
        elif name in found or not known:
            made[name] = array("Q", [_field(found, name, kind)])
    return made
