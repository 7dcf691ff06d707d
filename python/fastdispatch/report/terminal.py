"""Text reports in a terminal or a pipe: tables, sections, and their output."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fastdispatch.text.formats import counted, printable

#: Lines written to a pipe are not folded.
ENDLESS = 100_000
#: Of a column with text, which is folded.
_NARROWEST = 16
_ASCII = str.maketrans({"\u202f": " ", "▲": "!", "│": "|", "├": "|", "└": "`", "─": "-", "«": "<", "…": "..."})


def width_of(file: IO[str]) -> int:
    """Return the width of the terminal, or of COLUMNS; endless for a pipe."""
    console = Console(file=file)
    return ENDLESS if not console.is_terminal and "COLUMNS" not in os.environ else console.width


def print_parts(parts: Iterable[Text | Table], file: IO[str], width: int | None = None, *, least: int = 0) -> None:
    """Print texts and tables in this width, by default that of the file but at least ``least``, in ASCII if the
    encoding of the file requires it."""
    width = max(width_of(file), least) if width is None else width
    console = Console(file=file, highlight=False)
    with console.capture() as capture:
        for part in parts:
            console.width = max(width, _fit(part, width)) if isinstance(part, Table) else width
            console.print(part)
    text = "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    if not console.encoding.startswith("utf"):
        text = text.translate(_ASCII).encode(console.encoding, "backslashreplace").decode(console.encoding)
    file.write(text)


def _fit(made: Table, width: int) -> int:
    """Fold the headings of a table, then narrow its gaps, until it fits into a width. Return the width that it needs:
    a figure is never cut."""
    if _least(made) > width:
        for column in made.columns:
            column.header = str(column.header).replace(" ", "\n") if column.no_wrap else column.header
    while _least(made) > width and made.padding[1] > 1:
        made.padding = (0, made.padding[1] - 1, 0, 0)
    return _least(made)


def _least(made: Table) -> int:
    widths = []
    for column in made.columns:
        lines = "\n".join(map(str, (column.header, *column.cells))).split("\n")
        longest = max(map(cell_len, lines))
        widths.append(longest if column.no_wrap else min(longest, _NARROWEST))
    return sum(widths) + made.padding[1] * (len(widths) - 1)


def section(title: str, table: Table) -> Iterator[Text | Table]:
    yield Text("")
    yield Text(title, style="bold")
    yield table


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str | Text]], words: Sequence[str] = (), *, gap: int = 3
) -> Table:
    """Return a table of figures; the columns named in ``words`` have text, which is folded."""
    made = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, justify="left" if name in words else "right", no_wrap=name not in words, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return made


def left_out(more: int, hidden: int, noun: str, why: str) -> Iterator[Text]:
    """Yield a line about the rows that a table does not have."""
    parts = [f"{more} more rows (--top N)"] if more else []
    parts += [f"hidden: {counted(hidden, noun)} {why} (--all)"] if hidden else []
    if parts:
        yield Text("   ".join(parts))


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else ""
