"""The ranks of a trace as dicts: facts, counters, notes, and the steps that are settled or selected."""

from functools import partial
from typing import Any

from fastdispatch import _core
from fastdispatch.read.dump_tables import COUNTERS


def facts_of(core: _core.Trace, at: int) -> dict[str, str]:
    """Return the facts of the rank at an index; values are JSON texts."""
    facts = core.columns("facts", at)
    return dict(zip(facts["key"], facts["value"], strict=True))


def rank_dicts(core: _core.Trace) -> list[dict[str, Any]]:
    """Return one dict per rank, by rank: scalars, ``meta`` (values are JSON texts), ``counters``, ``notes``, and the
    settled and the selected steps."""
    columns = core.columns("rank") | core.columns("sparse") | core.columns("ranks")
    settling = core.columns("settling")
    return [_rank_dict(core, at, _row(columns, at), _row(settling, at)) for at in range(len(columns["rank"]))]


def _row(columns: dict[str, list[Any]], at: int) -> dict[str, Any]:
    return {name: values[at] for name, values in columns.items()}


def _rank_dict(core: _core.Trace, at: int, made: dict[str, Any], settled: dict[str, Any]) -> dict[str, Any]:
    window = partial(_window, core.columns("marks", at))
    first, end, reduced = (made.pop(name) for name in ("from", "to", "reduced"))
    made["complete"] = not made.pop("incomplete")
    made["counters"] = dict(zip(COUNTERS, core.columns("counters", at)["count"], strict=True))
    made["meta"] = facts_of(core, at)
    made["notes"] = core.columns("notes", at)["note"]
    made["whole"] = made.pop("whole") if reduced else made["recorded"]
    made["settled"] = settled | {"steps": window(settled.pop("from"), settled.pop("to"))}
    made["window"] = window(first, end if reduced else 0)
    return made


def _window(marks: dict[str, list[int]], first: int, end: int) -> dict[str, int] | None:
    """Return the steps between two marks, by their places; None if the end is 0."""
    if not end:
        return None
    numbers, steps = marks["number"], marks["steps"]
    skipped = steps[first - 1] if first else 0
    return {
        "first": numbers[first - 1] + 1 if first else numbers[0],
        "last": numbers[end - 1],
        "steps": steps[end - 1] - skipped,
        "skipped": skipped,
        "from": first,
        "to": end,
    }
