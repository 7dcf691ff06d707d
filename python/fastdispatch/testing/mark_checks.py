"""The limits of ``@pytest.mark.fastdispatch(...)``, and the sentences about exceeded ones."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.testing.counted_calls import CountedCalls, place, synchronizations, total
from fastdispatch.text.formats import counted
from fastdispatch.text.globs import matches

_LIMITS = ("limit_ops", "no_syncs", "no_recompiles", "max_graph_breaks")


def limits_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a mark; raise Error for invalid ones."""
    expected = f"expected {', '.join(_LIMITS)}"
    if args:
        raise Error(f"mark fastdispatch: {args[0]!r} has no name: {expected}")
    for name, value in kwargs.items():
        if name not in _LIMITS:
            raise Error(f"mark fastdispatch: unknown limit {name}: {expected}")
        limits = value.values() if name == "limit_ops" and isinstance(value, dict) else [value]
        kind = bool if name.startswith("no_") else int
        if not all(type(each) is kind and each >= 0 for each in limits):
            raise Error(f"mark fastdispatch: {name}={value!r}: expected {'True' if kind is bool else 'a count'}")
    return dict(kwargs)


def broken(limits: Mapping[str, Any], counts: list[CountedCalls]) -> list[str]:
    """Return one sentence per exceeded limit."""
    return [
        *_operators(limits.get("limit_ops"), counts),
        *(_syncs(counts) if limits.get("no_syncs") else ()),
        *(_recompilations(counts) if limits.get("no_recompiles") else ()),
        *_graph_breaks(limits.get("max_graph_breaks"), counts),
    ]


def _operators(limit: int | dict[str, int] | None, counts: list[CountedCalls]) -> Iterator[str]:
    limits = limit if isinstance(limit, dict) else {"*": limit} if limit is not None else {}
    operators = total(counts)
    for glob, allowed in limits.items():
        wanted = {name for name in operators if matches(glob, name)}
        calls = sum(operators[name] for name in wanted)
        if calls > allowed:
            what = "operators" if glob == "*" else glob
            where = place(counts, wanted)
            yield f"limit_ops allows {counted(allowed, 'call')} of {what}, the test makes {calls}{where}"


def _syncs(counts: list[CountedCalls]) -> Iterator[str]:
    for path, calls in synchronizations(counts):
        yield f"no_syncs allows no read of a value, the test makes {calls}: {path}"


def _recompilations(counts: list[CountedCalls]) -> Iterator[str]:
    for each in counts:
        for row in each.recompilations:
            guard = f": {row['guard']}" if row["guard"] else ""
            times = counted(int(row["count"]), "time")
            yield f"no_recompiles allows no recompilation, {_function(row)} was compiled again {times}{guard}"


def _graph_breaks(limit: int | None, counts: list[CountedCalls]) -> Iterator[str]:
    rows = [row for each in counts for row in each.graph_breaks]
    number = sum(int(row["count"]) for row in rows)
    if limit is not None and number > limit:
        places = "; ".join(f"{_function(row)}: {row['reason']}" for row in rows)
        yield f"max_graph_breaks allows {limit}, the test has {number}: {places}"


def _function(row: Mapping[str, Any]) -> str:
    return f"{row['function']} ({Path(str(row['file'])).name}:{row['line']})"
