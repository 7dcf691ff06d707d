"""The page of a comparison: the paths of both recordings in one tree, each figure before and after."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from fastdispatch.compare.diff import Diff
from fastdispatch.compare.diff_text import lines
from fastdispatch.compare.diff_verdict import CHANGES
from fastdispatch.compare.joined_paths import JoinedPaths
from fastdispatch.page import html_data
from fastdispatch.page.html import PageOptions, block, bounded, source_block
from fastdispatch.read.gpu_time import gpu_steps
from fastdispatch.read.summary import entries_of
from fastdispatch.read.trace import Columns
from fastdispatch.report.report_facts import facts

_ENDS = ("before", "after")
_LINES = 40  # of changes


def page(diff: Diff, options: PageOptions) -> bytes:
    """Return the page; equal comparisons give equal bytes. Raises Error if it is too large."""
    ranks = _common_ranks(diff)
    joined = JoinedPaths(*diff.traces)
    kept = html_data.places(joined.contexts) | _figures(joined, _indexes(diff))
    path = " \u2192 ".join(_named(diff))
    title = " \u2192 ".join(PurePath(name).name or name for name in _named(diff))
    blocks = {
        "data-core": block(*_core(diff, joined, path, kept, ranks)),
        "data-source": block(*_source(diff, joined, options.source)),
    }
    if ranks:
        blocks["data-ranks"] = block({}, _by_rank(diff, joined, kept, ranks))
    sides = zip(diff.sides, diff.traces, strict=True)
    incomplete = [f"{side.name}: {line}" for side, trace in sides for line in trace.incomplete]
    return bounded(path, title, blocks, options, incomplete, diff.verdict.text)


def _named(diff: Diff) -> list[str]:
    return [side.name if side.rank is None else f"{side.name} rank {side.rank}" for side in diff.sides]


def _common_ranks(diff: Diff) -> list[int]:
    """Return ranks with figures on both sides: none if the page is of one rank, or too large."""
    before, after = ({rank["rank"] for rank in trace.ranks} for trace in diff.traces)
    common = sorted(before & after)
    figures = sum(len(trace.contexts["node"]) for trace in diff.traces) * len(_ENDS) * len(html_data.WEIGHTS)
    alone = len(common) < 2 or any(side.rank is not None for side in diff.sides)
    return [] if alone or figures * len(common) > html_data.MOST_FIGURES else common


def _figures(joined: JoinedPaths, indexes: Sequence[int]) -> Columns:
    """Return the figures of both sides, of the ranks with these indexes."""
    sides = [(end, joined.figures(side, index)) for side, (end, index) in enumerate(zip(_ENDS, indexes, strict=True))]
    weights = html_data.WEIGHTS
    return {f"{each.id}.{end}": html_data.figure(found, each) for end, found in sides for each in weights}


def _by_rank(diff: Diff, joined: JoinedPaths, kept: Columns, ranks: list[int]) -> dict[str, Columns]:
    """Return figures of each rank before and after, for non-empty weights."""
    tables: dict[str, Columns] = {}
    for place, rank in enumerate(ranks):
        figures = _figures(joined, [trace.index(rank) for trace in diff.traces])
        tables[f"rank{place}"] = {name: column for name, column in figures.items() if any(kept[name])}
    return tables


def _source(diff: Diff, joined: JoinedPaths, with_texts: bool) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Return the current files of functions; removed functions have none."""
    before, after = diff.traces
    now, named = (html_data.identities(nodes) for nodes in (after.nodes, joined.nodes))
    there = set(now)
    gone = [node for node, identity in enumerate(named) if identity not in there]
    return source_block(joined.nodes, with_texts, (after, before), without=gone)


def _core(
    diff: Diff, joined: JoinedPaths, path: str, kept: Columns, ranks: list[int]
) -> tuple[dict[str, Any], dict[str, Columns]]:
    named = html_data.nodes(joined.nodes)
    changes = {
        (row.key, row.kind): sum(1 << CHANGES.index(word) for word in row.changes - {"communication"})
        for row in diff.rows
    }
    named["changes"] = [changes.get(node, 0) for node in zip(named["key"], named["kind"], strict=True)]
    weights = sorted(html_data.WEIGHTS, key=lambda each: each.id != "gpu")
    weights = [each for each in weights if any(any(kept[f"{each.id}.{end}"]) for end in _ENDS)]

    def factors(rank: int | None) -> dict[str, list[float]]:
        return {weight.id: _factors(diff, rank, weight.id) for weight in weights}

    values = {
        "about": _about(diff, path),
        "weights": [{"id": each.id, "label": each.label, "unit": each.unit, "whole": 0} for each in weights],
        "compared": {
            "names": _named(diff),
            "per": "per step" if diff.by_step else "in total",
            "threshold": diff.threshold,
            "changes": CHANGES[:-1],
            "factors": factors(None),
            "ranks": [{"rank": rank, "factors": factors(rank)} for rank in ranks],
        },
    }
    modules = joined.module_table(_indexes(diff), _ENDS)
    tables = {"nodes": named, "modules": html_data.modules(joined.modules), "contexts": kept, "per_module": modules}
    return values, tables


#: Weights corrected for the speed of the machine.
_ON_CPU = ("time", "backward")


#: Weights of steps with GPU times, and of those with idle times of GPUs.
_OF_GPUS = {"gpu": 0, "gpu_calls": 0, "starved": 1}


def _steps(diff: Diff, rank: int | None, weight: str) -> list[int]:
    """Return the steps of both sides, or of one rank; 1 if figures are of whole runs."""
    if not diff.by_step:
        return [1, 1]
    wanted = [side.rank if rank is None else rank for side in diff.sides]
    ranks = [entries_of(trace, one) for trace, one in zip(diff.traces, wanted, strict=True)]
    if weight in _OF_GPUS:
        return [gpu_steps(entries)[_OF_GPUS[weight]] or 1 for entries in ranks]
    return [sum(entry["steps"] for entry in entries) or 1 for entries in ranks]


def _factors(diff: Diff, rank: int | None, weight: str) -> list[float]:
    """Return the factors from whole runs to one step on one machine, before and after."""
    steps = _steps(diff, rank, weight)
    return [(diff.speed if weight in _ON_CPU else 1.0) / steps[0], 1.0 / steps[1]]


def _indexes(diff: Diff) -> list[int]:
    return [trace.index(side.rank) for trace, side in zip(diff.traces, diff.sides, strict=True)]


def _about(diff: Diff, path: str) -> dict[str, Any]:
    """Return facts of both sides; differing versions are listed twice."""
    sides = [facts(trace, side.rank) for trace, side in zip(diff.traces, diff.sides, strict=True)]
    about = html_data.about(sides[1], path)
    about |= {"capped": {}, "changes": list(lines(diff, top=_LINES)), "open": []}
    about["ranks"] = [
        asdict(rank) | {"side": end} for end, side in zip(_ENDS, sides, strict=True) for rank in side.ranks
    ]
    was, now = (html_data.versions(trace) for trace in diff.traces)
    pairs = {name: (was.get(name), now.get(name)) for name in {**was, **now}}
    changed = {name: f"{before} \u2192 {after}" for name, (before, after) in pairs.items() if before != after}
    return about | {"versions": was | now | changed}
