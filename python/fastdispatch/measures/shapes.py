"""Shapes of the operands of operators, recorded with ``measure="shapes"`` (docs/concepts/measures.md)."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastdispatch._core import Error
from fastdispatch.read.columns import rows
from fastdispatch.read.steps import number_of_ranks
from fastdispatch.read.trace import Trace

#: FD_MEASURE_PART: only operators that FLOPs are derived from are recorded.
_PART = 4

#: A tensor, the start or end of a list, an operand without value, a number, a truth value, or the end of a list that
#: was cut, with its elements, or of a text that was cut.
_TOKEN = re.compile(r"([A-Za-z]\w*)\[([\d,]*)\]|\[|\]|_|-?\d+|True|False|\.\.\.(\d*)")


@dataclass(frozen=True)
class Tensor:
    """Element type and sizes of a tensor."""

    dtype: str
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.sizes)


class Items(list[Any]):
    """A list among the operands. ``elements``: those of all its tensors, if further items are not known."""

    elements: int | None = None


def elements_of(value: Any) -> int:
    """Return the elements of the tensors of a list; 0 for another operand."""
    if isinstance(value, Items) and value.elements is not None:
        return value.elements
    return sum(each.elements for each in value if isinstance(each, Tensor)) if isinstance(value, list) else 0


@dataclass
class Operands:
    """Operands of a call: tensors, numbers, truth values, None for others, and lists of them."""

    values: list[Any]
    cut: bool  # further operands, or items of a list, are not known
    ended: bool = True  # operands beyond these are None

    def at(self, index: int) -> Any:
        """Return an operand. Raises LookupError if it is not known."""
        return None if index >= len(self.values) and self.ended else self.values[index]

    def tensor(self, index: int) -> Tensor | None:
        value = self.at(index)
        return value if isinstance(value, Tensor) else None

    def numbers(self, index: int, count: int) -> list[int]:
        """Return an argument that has one number per dimension, or one for all."""
        value = self.at(index)
        return (value if len(value) > 1 else [*value] * count) if isinstance(value, list) else [0] * count

    def whole_list(self, index: int) -> list[Any] | None:
        """Return a list of which all items are known."""
        value = self.at(index)
        return value if isinstance(value, Items) and value.elements is None else None

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the tensors with their places: "2", in a list "2.1"."""
        return _tensors(self.values, "")


def _tensors(values: Sequence[Any], above: str) -> Iterator[tuple[str, Tensor]]:
    for number, value in enumerate(values, 1):
        if isinstance(value, Tensor):
            yield f"{above}{number}", value
        elif isinstance(value, list):
            yield from _tensors(value, f"{above}{number}.")


def operands_of(text: str) -> Operands:
    """Parse the detail of a record of shapes."""
    made: list[list[Any]] = [[]]
    cut, ended = False, True
    for token in _TOKEN.finditer(text):
        word = token[0]
        if token[1]:
            made[-1].append(Tensor(token[1], tuple(int(size) for size in token[2].split(",") if size)))
        elif word == "[":
            made[-1].append(Items())
            made.append(made[-1][-1])
        elif word == "]":
            if len(made) > 1:
                made.pop()
        elif word.startswith("..."):
            cut, ended = True, ended and bool(token[3])
            if isinstance(made[-1], Items) and token[3]:
                made[-1].elements = int(token[3])
        else:
            made[-1].append({"_": None, "True": True, "False": False}[word] if word[-1] in "_e" else int(word))
    if not ended and len(made) > 1:
        made[0].pop()  # its end is missing
    return Operands(made[0], cut, ended)


@dataclass
class PathShapes:
    """Shapes of one call path; ``ranks`` has calls and elements by rank."""

    calls: dict[str, int] = field(default_factory=dict)  # by operands
    beyond: int = 0  # calls with further operands
    ranks: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class Shapes:
    """Sums over the measured steps of all ranks."""

    measured: int  # steps with figures; 0: the recording has no steps
    ranks: int
    paths: dict[int, PathShapes] = field(default_factory=dict)  # by row of trace.contexts


def shapes_of(trace: Trace, rank: int | None = None) -> Shapes:
    """Return the shapes of a trace, or of one rank. Raises Error without any."""
    entries = [entry for entry in trace.ranks if rank in (None, entry["rank"])]
    trace.index(rank)
    made = Shapes(0, number_of_ranks(entries))
    for entry in entries:
        for kind, flags, context, detail, count, elements in rows(
            entry["measures"], "kind flags context detail count sum"
        ):
            if kind == "steps":
                made.measured += count
            elif kind == "shapes" and not flags & _PART:
                path = made.paths.setdefault(context, PathShapes())
                calls, sums = path.ranks.get(entry["rank"], (0, 0))
                path.ranks[entry["rank"]] = (calls + count, sums + elements)
                if detail:
                    path.calls[detail] = path.calls.get(detail, 0) + count
                else:
                    path.beyond += count
    if not made.paths:
        raise Error(f"--shapes: {trace.name} has no shapes: record with --measure shapes (docs/concepts/measures.md)")
    return made


def recorded_texts(trace: Trace) -> dict[str, list[str]]:
    """Return all recorded operands by operator."""
    made: dict[str, set[str]] = {}
    for entry in trace.ranks:
        for kind, context, detail in rows(entry["measures"], "kind context detail"):
            if kind == "shapes" and detail:
                made.setdefault(trace.nodes["key"][trace.contexts["node"][context]], set()).add(detail)
    return {operator: sorted(texts) for operator, texts in made.items()}


def padding_of(operator: str, operands: Operands) -> tuple[int, int] | None:
    """Return the elements that an operator copies and those that it makes, if it pads and its sizes are known."""
    values = operands.values
    if operands.cut or not values:
        return None
    if operator == "aten::constant_pad_nd" and len(values) > 1 and isinstance(values[0], Tensor):
        return _padded(values[0].sizes, values[1] if isinstance(values[1], list) else [])
    if operator == "aten::pad_sequence" and isinstance(values[0], list):
        return _sequences([each.sizes for each in values[0] if isinstance(each, Tensor) and each.sizes])
    return None


def _padded(sizes: tuple[int, ...], pad: list[int]) -> tuple[int, int]:
    """``pad`` has two numbers for each dimension, the last one first; negative ones remove elements."""
    kept, made = list(sizes), list(sizes)
    for at, ends in enumerate(zip(pad[::2], pad[1::2], strict=False), 1):
        kept[-at] += sum(min(end, 0) for end in ends)
        made[-at] += sum(ends)
    return math.prod(kept), math.prod(made)


def _sequences(sizes: list[tuple[int, ...]]) -> tuple[int, int] | None:
    if not sizes:
        return None
    longest = max(size[0] for size in sizes)
    return sum(math.prod(size) for size in sizes), len(sizes) * longest * math.prod(sizes[0][1:])
