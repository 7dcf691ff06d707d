"""Formats of numbers, lists and tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Annotated

#: Numbers of documents, with keywords of their JSON schema.
AT_LEAST_0 = {"minimum": 0}
Count = Annotated[int, AT_LEAST_0]
Figure = Annotated[float, AT_LEAST_0]

#: Prefixes of FLOPs.
_UNITS = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))

_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


def printable(text: str) -> str:
    """Return text without line breaks and control characters."""
    return "".join(c if c.isprintable() or c == "\u202f" else repr(c)[1:-1] for c in text)


def grouped(number: int) -> str:
    """Format an integer as ``12 345``."""
    return f"{number:,}".replace(",", "\u202f")


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a number of things: ``1 fault``, ``2 faults``."""
    return f"{grouped(number)} {noun if number == 1 else plural or f'{noun}s'}"


def seconds(nanoseconds: float) -> str:
    """Format nanoseconds with a unit for two to four digits: ``41.2 s``, ``7.31 ms``."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        number = nanoseconds / size
        if number >= 0.9995:
            whole = 999.5 <= number < 1e15  # figures of a damaged file may be infinite
            return f"{grouped(round(number))} {unit}" if whole else f"{number:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def percent(share: float) -> str:
    """Format a share of 1: ``4.2 %``, ``42 %``."""
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def rounded_share(part: float) -> str:
    """Format a share of 1; a small one as ``<0.1 %``, and 0 as nothing."""
    return f"{100 * part:.1f} %" if part >= 0.0005 else "<0.1 %" if part > 0 else ""


def size(number: int) -> str:
    """Format bytes: ``512 B``, ``6.29 MB``."""
    for unit, of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= 0.9995 * of:
            return f"{number / of:.3g} {unit}"
    return f"{number} B"


def aligned(rows: Iterable[Sequence[str]], sides: str = "", indent: str = "") -> Iterator[str]:
    """Yield the rows of a table as lines. ``sides``: ``>`` or ``<`` per column, ``<`` for further ones."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        columns = zip_longest(row, sides, widths, fillvalue="<")
        yield indent + "  ".join(f"{cell:{side}{width}}" for cell, side, width in columns).rstrip()


def in_flop(number: float, unit: str = "FLOP") -> str:
    """Format a number of FLOPs: ``312 TFLOP``, ``5.24 MFLOP``."""
    for prefix, of in _UNITS:
        if number >= 0.9995 * of:
            return f"{number / of:.3g} {prefix}{unit}" if number < 999.5 * of else f"{number / of:.0f} {prefix}{unit}"
    return f"{number:.3g} {unit}".rstrip()


def spans(ranks: Sequence[int]) -> str:
    """Format sorted numbers as ``1, 4-6``."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def module_pattern(path: str) -> str:
    """Return ``blocks.*.attn`` for ``blocks.3.attn``."""
    return _NUMBER.sub("*", path)
