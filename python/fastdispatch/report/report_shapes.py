"""The model of ``report --shapes`` (``docs/reference/schemas/shapes.schema.json``): operands per call path."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.shapes import PathShapes, Shapes, operands_of, padding_of, shapes_of
from fastdispatch.read.compilations import compilations
from fastdispatch.read.summary import path_of
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import Count, Figure

#: Guards of torch.compile on the sizes of tensors.
_SIZE_GUARD = re.compile(r"size mismatch|rank mismatch|\.size\(|\.shape\b")

#: Sort keys, with their field.
SORTS = {"total": "shapes", "calls": "calls"}


@dataclass
class Change:
    """A size that differs between calls of one path."""

    operand: Annotated[str, "counted from 1; the first of a list is 2.1"]
    dimension: Annotated[int, {"minimum": 1}]
    least: Count
    most: Count


@dataclass
class ShapeCalls:
    operands: Annotated[str, "float32[2,3], _, [int64[4]] (docs/formats/recording.md)"]
    calls: Count


@dataclass
class ShapeRow:
    """Shapes of one operator on one call path, over all measured steps and ranks."""

    operator: str
    where: Annotated[str, "the calling function; of backward that of the forward call"]
    module: Annotated[str, "path, of a root the class, of the innermost module of that call; empty without"]
    path: Annotated[list[str], "the calls down to the operator"]
    work: Annotated[str, {"enum": ["forward", "backward", "recomputed", "optimizer"]}]
    calls: Count
    shapes: Annotated[Count, "different operands that are listed"]
    beyond: Annotated[Count, "calls with operands that are not listed"]
    changes: Annotated[
        list[Change],
        "sizes that differ, of tensors with equal numbers of dimensions; the widest range first",
    ]
    operands: list[ShapeCalls]


@dataclass
class Padding:
    """What an operator that pads copied and made, in elements."""

    operator: str
    where: str
    calls: Count
    kept: Annotated[Count, "elements that were copied"]
    made: Annotated[Count, "elements with padding"]


@dataclass
class Unequal:
    """An operator whose operands have more elements per call on one rank than on another."""

    operator: str
    where: str
    least_rank: Count
    least: Annotated[Figure, "elements per call"]
    most_rank: Count
    most: Figure


@dataclass
class Recompilation:
    """Recompilations of one function by one guard."""

    rank: Count
    function: str
    file: str
    line: int
    guard: str
    count: Count


@dataclass
class ShapeReport:
    """Shapes of the operands of operators per call path, over all measured steps and ranks
    (docs/concepts/measures.md)."""

    path: str
    steps: Annotated[Count, "measured steps of all ranks; 0: no steps"]
    ranks: Annotated[int, {"minimum": 1}]
    operators: Annotated[Count, "call paths of operators that no other operator calls"]
    changing: Annotated[Count, "of them, with several shapes"]
    beyond: Annotated[Count, "their calls with operands that are not listed"]
    first: Annotated[ShapeRow | None, "the operator of the forward pass with most shapes, inside a module if any is"]
    rows: list[ShapeRow]
    more: Annotated[Count, "rows that are not listed"]
    inside: Annotated[Count, "rows that are not listed because an operator calls them"]
    padding: Annotated[list[Padding], "operators that pad, whose sizes are known"]
    unequal: Annotated[
        list[Unequal], "operators of the forward pass whose operands have unequal elements per call on the ranks"
    ]
    recompilations: Annotated[list[Recompilation], "recompilations of torch.compile by guards on sizes"]
    schema: Literal["fastdispatch-shapes/1"] = "fastdispatch-shapes/1"

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``docs/reference/schemas/shapes.schema.json``."""
        return asdict(self)


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
            Recompilation(fact["rank"], *(each[name] for name in ("function", "file", "line", "guard", "count")))
            for fact in compilations(trace)
            for each in fact["recompilations"]
            if rank in (None, fact["rank"]) and _SIZE_GUARD.search(each["guard"])
        ],
    )


class _ShapePaths:
    def __init__(self, trace: Trace) -> None:
        self._contexts, nodes = trace.contexts, trace.nodes
        self._keys = [nodes["key"][node] for node in trace.contexts["node"]]
        self._python = [nodes["kind"][node] == "python" for node in trace.contexts["node"]]
        names = [path or kind for path, kind in zip(trace.modules["path"], trace.modules["class"], strict=True)]
        self._modules = [names[module] if module >= 0 else "" for module in trace.contexts["module"]]
        self._sites = CallSites(trace)

    def row(self, row: int, shapes: PathShapes) -> ShapeRow:
        above = list(path_of(self._contexts, self._sites.site(row)))
        ordered = sorted(shapes.calls.items(), key=lambda each: (-each[1], each[0]))
        return ShapeRow(
            operator=self._keys[row],
            where=next((self._keys[each] for each in above if self._python[each]), self._keys[above[-1]]),
            module=next((self._modules[each] for each in above if self._modules[each]), ""),
            path=[self._keys[each] for each in path_of(self._contexts, row)][::-1],
            work=self._sites.passes[row],
            calls=sum(shapes.calls.values()) + shapes.beyond,
            shapes=len(shapes.calls),
            beyond=shapes.beyond,
            changes=_changes(list(shapes.calls)),
            operands=[ShapeCalls(text, calls) for text, calls in ordered],
        )


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
