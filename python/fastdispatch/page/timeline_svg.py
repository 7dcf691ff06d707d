"""Drawing of steps by rank over time, with the shares of their parts."""

from collections.abc import Iterator, Sequence

from fastdispatch.page import svg_markup
from fastdispatch.page.svg_markup import document, element, group, legends, rect, text, time_axis
from fastdispatch.report.slice_figures import FigureRow
from fastdispatch.report.timeline_figures import Stats, own
from fastdispatch.text.formats import counted, grouped, seconds

WIDTH, LEFT, RIGHT, TOP = 1160, 84, 24, 116
#: Minimum width of a bar with visible shares.
NARROWEST = 14
ROOM = 900  # height of all rows, if they are many

STYLE = """
.compute { fill: #2f6fad } .exposed { fill: url(#hatched) } .copies { fill: url(#dotted) } .idle { fill: #ffffff }
.step { fill: none; stroke: #57606a; stroke-width: 0.7 } .slow { stroke: #b3261e; stroke-width: 2 }
.mark { fill: #b3261e }
"""
PATTERNS = (
    svg_markup.stripes("hatched", 6, 2, ground="#f6c177", fill="#9a5b00"),
    svg_markup.dots("dotted", 5, 1.2, ground="#d8dee4", fill="#57606a"),
)
LEGEND = (
    ("compute", "compute", "#2f6fad"),
    ("exposed", "exposed communication", "url(#hatched)"),
    ("copies", "copies and other work", "url(#dotted)"),
    ("idle", "idle", "#ffffff"),
)


def picture(made: Stats) -> str:
    """Return SVG. If the steps exceed the width, draw the consecutive ones that took longest, with a note."""
    rows, note = window(made)
    ranks = sorted({row["rank"] for row in rows})
    height = max(13, min(44, ROOM // len(ranks)))
    first, last = min(row["start"] for row in rows), max(row["end"] for row in rows)
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 1)
    bottom = TOP + height * len(ranks)
    slow = {(*key(row), row["slowest"]) for row in made.stragglers if row["marked"]}
    parts = [
        *headings(made, note, any((*key(row), row["rank"]) in slow for row in rows)),
        *time_axis(last - first, "time since the first step", LEFT, WIDTH - RIGHT, TOP - 6, bottom + 4),
        *numbers(rows, first, scale),
    ]
    for index, rank in enumerate(ranks):
        top = TOP + index * height
        size = f"font-size:{12 if height >= 14 else 10}px"
        parts.append(text(LEFT - 8, top + height / 2 + 4, f"rank {rank}", text_anchor="end", style=size))
        for row in rows:
            if row["rank"] == rank:
                x, width = LEFT + (row["start"] - first) * scale, row["duration"] * scale
                marked = (*key(row), rank) in slow
                parts.append(group(words(row, marked), bar(row, x, width, top + 1, height - 2 - height // 10, marked)))
    return document(WIDTH, bottom + 62, f"Steps of {len(ranks)} ranks", parts, style=STYLE, patterns=PATTERNS)


def window(made: Stats) -> tuple[list[FigureRow], str]:
    """Return the rows to draw and a note on omitted ones. Ranks without steps have one bar."""
    if not made.steps:
        rows = [{**row, "step": None, "repeat": 0} for row in made.ranks]
        return rows, "no steps in these traces: one bar for the time of a rank"
    numbers = [key(row) for row in made.stragglers]
    most = (WIDTH - LEFT - RIGHT) // NARROWEST
    if len(numbers) <= most:
        return made.steps, ""
    start, end = {key(row): row["start"] for row in made.steps}, {key(row): row["end"] for row in made.steps}
    for row in made.steps:
        start[key(row)], end[key(row)] = min(start[key(row)], row["start"]), max(end[key(row)], row["end"])
    lengths = [end[last] - start[first] for first, last in zip(numbers, numbers[most - 1 :], strict=False)]
    at = max(range(len(lengths)), key=lengths.__getitem__)
    chosen = set(numbers[at : at + most])
    note = f"steps {numbers[at][1]} to {numbers[at + most - 1][1]} of {grouped(len(numbers))}: "
    note += f"the {most} consecutive ones that took longest"
    return [row for row in made.steps if key(row) in chosen], note


def key(row: FigureRow) -> tuple[int, int]:
    """Return what tells steps apart, also those with the same number."""
    return row["repeat"], row["step"]


def headings(made: Stats, note: str, marks: bool) -> Iterator[str]:
    yield text(LEFT, 28, "Steps by rank", class_="title")
    summary = f"{counted(len(made.ranks), 'rank')}, {grouped(len(made.stragglers))} steps"
    words = [summary, "the height of a colour is its share of the step", note]
    yield text(LEFT + 128, 28, "; ".join(filter(None, words)), class_="note")
    copies = any(other(row) for row in (*made.steps, *made.ranks))
    drawn, x = legends(LEFT, 44, [([fill], what) for kind, what, fill in LEGEND if kind != "copies" or copies])
    yield from drawn
    if marks:
        yield element("path", class_="mark", d=triangle(x + 6, 45))
        yield text(x + 18, 55, "straggler: own work 10 % above the median")


def other(row: FigureRow) -> int:
    return int(row["busy"] - row["compute"] - row["exposed"])


def triangle(x: float, y: float, size: float = 11) -> str:
    half = size * 6 / 11
    return f"M{x:.1f},{y:.1f} l{half:.1f},{size:.1f} h{-2 * half:.1f} z"


def bar(row: FigureRow, x: float, width: float, top: float, height: float, slow: bool) -> Iterator[str]:
    """Yield a bar, from below: compute, exposed communication, copies, idle."""
    whole = max(row["duration"], 1)
    wide = max(width, 0.5)
    yield rect(x, top, wide, height, class_="idle")
    bottom = top + height
    for kind, part in (("compute", row["compute"]), ("exposed", row["exposed"]), ("copies", other(row))):
        tall = height * part / whole
        bottom -= tall
        if tall > 0:
            yield rect(x, bottom, wide, tall, class_=kind)
    yield rect(x, top, wide, height, class_="step slow" if slow else "step")
    if slow:
        mark = triangle(x + max(wide / 2, 6), top + 1, min(11, height - 2))
        yield element("path", class_="mark", d=mark, stroke="#fff")


def words(row: FigureRow, slow: bool) -> str:
    name = "all time" if row["step"] is None else f"step {row['step']}"
    figures = ", ".join(f"{key} {seconds(row[key])}" for key in ("compute", "communication", "exposed", "idle"))
    mark = f"; straggler, own work {seconds(own(row))}" if slow else ""
    return f"rank {row['rank']}, {name}: {seconds(row['duration'])}; {figures}{mark}"


def numbers(rows: Sequence[FigureRow], first: int, scale: float) -> Iterator[str]:
    """Yield the numbers of steps above the bars of the first rank, as many as fit."""
    free = 0.0
    rank = min(row["rank"] for row in rows)
    yield text(LEFT - 8, TOP - 12, "step", class_="small", text_anchor="end")
    numbered = [row for row in rows if row["rank"] == rank and row["step"] is not None]
    for row in sorted(numbered, key=lambda row: row["start"]):
        x = LEFT + (row["start"] - first + row["duration"] / 2) * scale
        half = 4 + 3.5 * len(str(row["step"]))
        if x - half >= free:
            yield text(x, TOP - 12, row["step"], class_="small", text_anchor="middle")
            free = x + half
