"""The page of a comparison: the paths of both recordings in one tree, each figure before and after."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from fastdispatch.diff import SAID, Diff
from fastdispatch.summary import PHASES
from fastdispatch.trace import Columns, Trace
from fastdispatch.views import html_data, html_source
from fastdispatch.views.diff_text import lines
from fastdispatch.views.html import Wanted, bounded
from fastdispatch.views.html_blocks import block
from fastdispatch.views.report_facts import facts

_ENDS = ("before", "after")
_MODULE = ("calls", "ops", "self", "total", "backward")
_LINES = 40  # of what changed


def page(diff: Diff, wanted: Wanted) -> bytes:
    """Equal comparisons give equal bytes. Raises Error where it would be too large."""
    joined = Trace(diff.joined())
    path = " \u2192 ".join(_named(diff))
    title = " \u2192 ".join(PurePath(name).name or name for name in _named(diff))
    blocks = {
        "data-core": block(*_core(diff, joined, path)),
        "data-source": block(*html_source.block_of(joined, False)),
    }
    return bounded(path, title, blocks, wanted)


def _named(diff: Diff) -> list[str]:
    return [side.name if side.rank is None else f"{side.name} rank {side.rank}" for side in diff.sides]


def _core(diff: Diff, joined: Trace, path: str) -> tuple[dict[str, Any], dict[str, Columns]]:
    named, kept = html_data.nodes(joined), _contexts(joined)
    said = {(row.key, row.kind): sum(1 << SAID.index(word) for word in row.said) for row in diff.rows}
    named["said"] = [said.get(node, 0) for node in zip(named["key"], named["kind"], strict=True)]
    weights = [
        weight
        for weight in html_data.WEIGHTS
        if any(any(kept[f"{weight.id}.{end}"]) for end in _ENDS if f"{weight.id}.{end}" in kept)
    ]
    values = {
        "about": _about(diff, path),
        "weights": [
            {"id": each.id, "label": each.label, "unit": each.unit, "about": each.about, "whole": 0} for each in weights
        ],
        "layout": {},
        "compared": {
            "names": _named(diff),
            "per": "a step" if diff.by_step else "in all",
            "threshold": diff.threshold,
            "said": SAID,
            "factors": {weight.id: _factors(diff, weight.unit == "ns" and weight.id in _ON_CPU) for weight in weights},
        },
    }
    tables = {"nodes": named, "modules": html_data.modules(joined), "contexts": kept, "per_module": _modules(joined)}
    return values, tables


#: Weights that the speed of the machine is taken out of.
_ON_CPU = ("time", "backward")


def _factors(diff: Diff, on_cpu: bool) -> list[float]:
    """What figures of a whole run are multiplied by: before and after are those of a step, on one machine."""
    steps = [side.steps if diff.by_step else 1 for side in diff.sides]
    return [(diff.speed if on_cpu else 1.0) / steps[0], 1.0 / steps[1]]


def _contexts(joined: Trace) -> Columns:
    kept: Columns = {}
    for index, end in enumerate(_ENDS):
        found = joined.core.contexts(index)
        if not kept:
            kept = html_data.places(found)
        for weight in html_data.WEIGHTS:
            kept[f"{weight.id}.{end}"] = html_data.figure(found, weight)
    return kept


def _modules(joined: Trace) -> Columns:
    table: Columns = {}
    for index, end in enumerate(_ENDS):
        found = joined.core.table("module", index)
        table |= {name: found[name] for name in ("where", "instances")}
        table |= {f"{name}.{end}": found[name] for name in _MODULE}
    return table


def _about(diff: Diff, path: str) -> dict[str, Any]:
    """Both sides; of versions and options those that differ are both there."""
    sides = [facts(trace, side.rank) for trace, side in zip(diff.traces, diff.sides, strict=True)]
    about = asdict(sides[1])
    about |= {"path": path, "phases": PHASES, "findings": [], "notes": [], "capped": {}}
    about |= {"changes": list(lines(diff, top=_LINES)), "special": [], "open": [], "threads": []}
    about["backward"]["autograd"] = 0
    about["ranks"] = [
        asdict(rank) | {"side": end} for end, side in zip(_ENDS, sides, strict=True) for rank in side.ranks
    ]
    versions, options = zip(
        *(html_data.setting(trace) for trace in diff.traces),
        strict=True,
    )
    return about | {"versions": _both(*versions), "options": _both(*options)}


def _both(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    names = sorted({*before, *after})
    pairs = {name: (before.get(name), after.get(name)) for name in names}
    return {name: now if was == now else f"{was} \u2192 {now}" for name, (was, now) in pairs.items()}
