"""The model of ``report --shapes`` (``docs/reference/schemas/shapes.schema.json``): operands per call path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.shapes import PathShapes, Shapes, operands_of, padding_of, shapes_of
from fastdispatch.read.compilations import compilations
from fastdispatch.read.trace import Trace

SCHEMA = "fastdispatch-shapes/1"

#: Guards of torch.compile on the sizes of tensors.
_SIZE_GUARD = re.compile(r"size mismatch|rank mismatch|\.size\(|\.shape\b")

#: Sort keys, with their field.
SORTS = {"total": "shapes", "calls": "calls"}


@dataclass
class Change:
    """A size that differs between calls of one path."""

    operand: str  # counted from 1; in a list "2.1"
    dimension: int  # counted from 1
    least: int
    most: int


@dataclass
class ShapeCalls:
    operands: str
    calls: int


@dataclass
class ShapeRow:
    """Shapes of one operator on one call path, over all measured steps and ranks."""

    operator: str
    where: str  # the calling function; of backward that of the forward call
    module: str  # the innermost module of that call; "" without
    path: list[str]
    work: str  # forward, backward, recomputed, optimizer
    calls: int
    shapes: int
    beyond: int  # calls with shapes that are not listed
    changes: list[Change]
    operands: list[ShapeCalls]


@dataclass
class Padding:
    """What an operator that pads copied and made, in elements."""

    operator: str
    where: str
    calls: int
    kept: int
    made: int


@dataclass
class Unequal:
    """An operator whose operands have more elements per call on one rank than on another."""

    operator: str
    where: str
    least_rank: int
    least: float
    most_rank: int
    most: float


@dataclass
class ShapeReport:
    path: str
    steps: int  # measured, of all ranks; 0: the recording has no steps
    ranks: int
    operators: int  # call paths of operators that are called by no other operator
    changing: int  # of them, with more than one shape
    beyond: int  # calls with shapes that are not listed
    first: ShapeRow | None  # the one of forward with most shapes, inside a module if any is
    rows: list[ShapeRow]
    more: int  # rows that are not listed
    inside: int  # rows that are not listed because another operator calls them
    padding: list[Padding]
    unequal: list[Unequal]
    recompilations: list[dict[str, Any]]  # of torch.compile, by guards on sizes

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/shapes.schema.json``."""
        return {"schema": SCHEMA, **asdict(self)}


def shape_report(trace: Trace, *, rank: int | None, sort: str, top: int | None, everything: bool) -> ShapeReport:
    """Return the ``top`` rows (None: all) by ``sort``; without ``everything`` those with several shapes, and none of
    operators inside others."""
    found = shapes_of(trace, rank)
    paths = _ShapePaths(trace)
    outer = [row for row in found.paths if trace.contexts["parent"][row] not in found.paths]
    made = {row: paths.row(row, found.paths[row]) for row in found.paths}
    several = [row for row in outer if made[row].shapes + bool(made[row].beyond) > 1]
    listed = sorted(
        found.paths if everything else several,
        key=lambda row: (-getattr(made[row], SORTS[sort]), made[row].work != "forward", -made[row].calls, row),
    )
    forward = [row for row in outer if made[row].work == "forward"]
    return ShapeReport(
        path=trace.name,
        steps=found.measured,
        ranks=found.ranks,
        operators=len(outer),
        changing=len(several),
        beyond=sum(made[row].beyond for row in outer),
        first=max((made[row] for row in forward), key=lambda row: (row.module != "", row.shapes), default=None),
        rows=[made[row] for row in listed[:top]],
        more=len(listed) - len(listed[:top]),
        inside=0 if everything else len(found.paths) - len(outer),
        padding=list(_paddings(found, made)),
        unequal=_unequal(found, made, forward),
        recompilations=[
            {"rank": fact["rank"], **each}
            for fact in compilations(trace)
            for each in fact["recompilations"]
            if rank in (None, fact["rank"]) and _SIZE_GUARD.search(each["guard"])
        ],
    )


class _ShapePaths:
    def __init__(self, trace: Trace) -> None:
        contexts, nodes = trace.contexts, trace.nodes
        self._parents: list[int] = contexts["parent"]
        self._keys = [nodes["key"][node] for node in contexts["node"]]
        self._python = [nodes["kind"][node] == "python" for node in contexts["node"]]
        names = [path or kind for path, kind in zip(trace.modules["path"], trace.modules["class"], strict=True)]
        self._modules = [names[module] if module >= 0 else "" for module in contexts["module"]]
        self._sites = CallSites(trace)

    def row(self, row: int, shapes: PathShapes) -> ShapeRow:
        above = self._above(self._sites.site(row))
        return ShapeRow(
            operator=self._keys[row],
            where=next((self._keys[each] for each in above if self._python[each]), self._keys[above[-1]]),
            module=next((self._modules[each] for each in above if self._modules[each]), ""),
            path=[self._keys[each] for each in reversed(self._above(row))],
            work=self._sites.passes[row],
            calls=sum(shapes.calls.values()) + shapes.beyond,
            shapes=len(shapes.calls),
            beyond=shapes.beyond,
            changes=_changes(list(shapes.calls)),
            operands=[
                ShapeCalls(text, calls)
                for text, calls in sorted(shapes.calls.items(), key=lambda each: (-each[1], each[0]))
            ],
        )

    def _above(self, row: int) -> list[int]:
        """Return a call path and its callers, the innermost first."""
        rows = [row]
        while self._parents[rows[-1]] >= 0:
            rows.append(self._parents[rows[-1]])
        return rows


def _changes(texts: list[str]) -> list[Change]:
    """Return the sizes that differ, of tensors with as many dimensions in all calls; the widest range first."""
    seen: dict[str, list[tuple[int, ...]]] = {}
    for text in texts if len(texts) > 1 else ():
        for place, tensor in operands_of(text).tensors():
            seen.setdefault(place, []).append(tensor.sizes)
    made = []
    for place, sizes in seen.items():
        if len(sizes) == len(texts) and len({len(size) for size in sizes}) == 1:
            for dimension, values in enumerate(zip(*sizes, strict=True), 1):
                if min(values) != max(values):
                    made.append(Change(place, dimension, min(values), max(values)))
    return sorted(made, key=lambda change: change.least - change.most)


def _paddings(found: Shapes, made: dict[int, ShapeRow]) -> Iterator[Padding]:
    """Yield the operators that pad, by padding."""
    rows = []
    for row, shapes in found.paths.items():
        sums = [0, 0, 0]
        for text, calls in shapes.calls.items():
            padding = padding_of(made[row].operator, operands_of(text))
            if padding is not None:
                sums = [sums[0] + calls, sums[1] + calls * padding[0], sums[2] + calls * padding[1]]
        if sums[0]:
            rows.append(Padding(made[row].operator, made[row].where, *sums))
    yield from sorted(rows, key=lambda each: each.kept - each.made)


def _unequal(found: Shapes, made: dict[int, ShapeRow], forward: list[int]) -> list[Unequal]:
    """Return the operators of forward with unequal elements per call, by the ratio between ranks."""
    rows = []
    for row in forward:
        means = sorted((elements / calls, rank) for rank, (calls, elements) in found.paths[row].ranks.items() if calls)
        if len(means) > 1 and means[0][0] != means[-1][0]:
            (least, least_rank), (most, most_rank) = means[0], means[-1]
            rows.append(Unequal(made[row].operator, made[row].where, least_rank, least, most_rank, most))
    return sorted(rows, key=lambda each: -each.most / max(each.least, 1))
