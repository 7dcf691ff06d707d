"""Reports as HTML of a notebook's cell: the parts of the text, with tables as tables."""

from collections.abc import Iterable
from html import escape
from itertools import groupby

from rich.table import Table
from rich.text import Text

_PRE = "margin:0;white-space:pre-wrap;font-size:small"
_CELL = "padding:1px 10px 1px 0;vertical-align:top;border:0;background:none"


def html_of(parts: Iterable[Text | Table]) -> str:
    """Return the parts of a report as HTML; lines of text that follow each other are one block."""
    made = []
    for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
        if is_text:
            made.append(f'<pre style="{_PRE}">{escape(chr(10).join(str(part) for part in group))}</pre>')
        else:
            made += [_table(part) for part in group if isinstance(part, Table)]
    return "".join(made)


def pre(lines: Iterable[str]) -> str:
    """Return lines as one block of text."""
    return html_of(map(Text, lines))


def _table(table: Table) -> str:
    align = [f'style="{_CELL};text-align:{"right" if each.justify == "right" else "left"}"' for each in table.columns]
    head = "".join(f"<th {style}>{_cell(each.header)}</th>" for style, each in zip(align, table.columns, strict=True))
    rows = zip(*(each.cells for each in table.columns), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td {style}>{_cell(cell)}</td>" for style, cell in zip(align, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<table style="font-size:small"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(cell: object) -> str:
    """Return a cell; spaces are kept, for the guides of a tree."""
    return f'<span style="white-space:pre">{escape(str(cell))}</span>'
