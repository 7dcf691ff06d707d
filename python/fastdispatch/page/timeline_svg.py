"""A picture of steps by rank: when each was, and what it was spent on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from fastdispatch.read.summary import grouped, seconds
from fastdispatch.report.timeline_figures import Row, Stats, own

WIDTH, LEFT, RIGHT, TOP = 1160, 84, 24, 116
#: The narrowest bar in which shares can be told apart.
NARROWEST = 14
ROOM = 900  # for all rows, where they are many

STYLE = """
text { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; fill: #1b1f24; font-size: 12px }
.title { font-size: 17px; font-weight: bold } .note { fill: #57606a } .small { font-size: 11px }
.compute { fill: #2f6fad } .exposed { fill: url(#hatched) } .copies { fill: url(#dotted) } .idle { fill: #ffffff }
.step { fill: none; stroke: #57606a; stroke-width: 0.7 } .slow { stroke: #b3261e; stroke-width: 2 }
.mark { fill: #b3261e } .grid { stroke: #d0d7de; stroke-width: 0.7 } .axis { stroke: #57606a }
"""
PATTERNS = """<defs>
<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#f6c177"/><rect width="2" height="6" fill="#9a5b00"/></pattern>
<pattern id="dotted" width="5" height="5" patternUnits="userSpaceOnUse">
<rect width="5" height="5" fill="#d8dee4"/><circle cx="2.5" cy="2.5" r="1.2" fill="#57606a"/></pattern>
</defs>"""
LEGEND = (
    ("compute", "compute"),
    ("exposed", "exposed communication"),
    ("copies", "copies and other work"),
    ("idle", "idle"),
)


def picture(made: Stats) -> str:
    """SVG. Too many steps for the width: those in a row that took longest, and a note that says so."""
    rows, note = window(made)
    ranks = sorted({row["rank"] for row in rows})
    height = max(13, min(44, ROOM // len(ranks)))
    first, last = min(row["start"] for row in rows), max(row["end"] for row in rows)
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 1)
    bottom = TOP + height * len(ranks)
    slow = {(row["step"], row["slowest"]) for row in made.stragglers if row["marked"]}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 62}" '
        f'viewBox="0 0 {WIDTH} {bottom + 62}" role="img">',
        f"<title>Steps of {len(ranks)} ranks</title><style>{STYLE}</style>{PATTERNS}",
        f'<rect width="{WIDTH}" height="{bottom + 62}" fill="#ffffff"/>',
        *headings(made, note, any((row["step"], row["rank"]) in slow for row in rows)),
        *axis(first, last, scale, bottom),
        *numbers(rows, first, scale),
    ]
    for place, rank in enumerate(ranks):
        top = TOP + place * height
        size = 12 if height >= 14 else 10
        parts.append(
            f'<text x="{LEFT - 8}" y="{top + height / 2 + 4:.1f}" text-anchor="end" style="font-size:{size}px">'
            f"rank {rank}</text>"
        )
        for row in rows:
            if row["rank"] == rank:
                x, width = LEFT + (row["start"] - first) * scale, row["duration"] * scale
                parts += bar(row, x, width, top + 1, height - 2 - height // 10, (row["step"], rank) in slow)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def window(made: Stats) -> tuple[list[Row], str]:
    """The rows to draw, and which of how many they are. Ranks without steps have one bar."""
    if not made.steps:
        return [{**row, "step": None} for row in made.ranks], "no steps in these traces: all the time of a rank"
    numbers = [row["step"] for row in made.stragglers]
    span = {row["step"]: (row["start"], row["end"]) for row in reversed(made.steps)}
    for row in made.steps:
        start, end = span[row["step"]]
        span[row["step"]] = min(start, row["start"]), max(end, row["end"])
    most = (WIDTH - LEFT - RIGHT) // NARROWEST
    if len(numbers) <= most:
        return made.steps, ""
    lengths = [span[numbers[at + most - 1]][1] - span[numbers[at]][0] for at in range(len(numbers) - most + 1)]
    at = max(range(len(lengths)), key=lengths.__getitem__)
    chosen = set(numbers[at : at + most])
    note = f"steps {numbers[at]} to {numbers[at + most - 1]} of {grouped(len(numbers))}: "
    note += f"the {most} in a row that took longest"
    return [row for row in made.steps if row["step"] in chosen], note


def headings(made: Stats, note: str, marks: bool) -> Iterator[str]:
    count = len(made.ranks)
    yield f'<text class="title" x="{LEFT}" y="28">Steps by rank</text>'
    told = f"{count} rank{'s' if count > 1 else ''}, {grouped(len(made.stragglers))} steps; "
    told += "the height of a colour is its share of the step"
    yield f'<text class="note" x="{LEFT + 128}" y="28">{escape(told)}{escape("; " + note if note else "")}</text>'
    x = LEFT
    copies = any(other(row) for row in (*made.steps, *made.ranks))
    for kind, what in LEGEND:
        if kind != "copies" or copies:
            yield f'<rect class="{kind}" x="{x}" y="44" width="26" height="14"/>'
            yield f'<rect class="step" x="{x}" y="44" width="26" height="14"/>'
            yield f'<text x="{x + 33}" y="55">{what}</text>'
            x += 33 + 6 * len(what) + 24
    if marks:
        yield f'<path class="mark" d="{triangle(x + 6, 45)}"/>'
        yield f'<text x="{x + 18}" y="55">straggler: own work 10 % above the median</text>'


def other(row: Row) -> int:
    return int(row["busy"] - row["compute"] - row["exposed"])


def triangle(x: float, y: float, size: float = 11) -> str:
    half = size * 6 / 11
    return f"M{x:.1f},{y:.1f} l{half:.1f},{size:.1f} h{-2 * half:.1f} z"


def bar(row: Row, x: float, width: float, top: float, height: float, slow: bool) -> Iterator[str]:
    """From below: compute, exposed communication, copies, idle."""
    whole = max(row["duration"], 1)
    wide = max(width, 0.5)
    yield f"<g><title>{escape(words(row, slow))}</title>"
    yield f'<rect class="idle" x="{x:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{height:.2f}"/>'
    bottom = top + height
    for kind, part in (("compute", row["compute"]), ("exposed", row["exposed"]), ("copies", other(row))):
        tall = height * part / whole
        bottom -= tall
        if tall > 0:
            yield f'<rect class="{kind}" x="{x:.2f}" y="{bottom:.2f}" width="{wide:.2f}" height="{tall:.2f}"/>'
    frame = "step slow" if slow else "step"
    yield f'<rect class="{frame}" x="{x:.2f}" y="{top:.2f}" width="{wide:.2f}" height="{height:.2f}"/>'
    if slow:
        yield f'<path class="mark" d="{triangle(x + max(wide / 2, 6), top + 1, min(11, height - 2))}" stroke="#fff"/>'
    yield "</g>"


def words(row: Row, slow: bool) -> str:
    name = "all its time" if row["step"] is None else f"step {row['step']}"
    figures = ", ".join(f"{key} {seconds(row[key])}" for key in ("compute", "communication", "exposed", "idle"))
    mark = f"; straggler, own work {seconds(own(row))}" if slow else ""
    return f"rank {row['rank']}, {name}: {seconds(row['duration'])}; {figures}{mark}"


def axis(first: int, last: int, scale: float, bottom: float) -> Iterator[str]:
    span = last - first
    unit, size = next(
        ((unit, size) for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)) if span >= 2 * size), ("ns", 1)
    )
    between = tick(span / 10)
    for k in range(int(span / between) + 1):
        x = LEFT + k * between * scale
        yield f'<line class="grid" x1="{x:.2f}" x2="{x:.2f}" y1="{TOP - 6}" y2="{bottom + 4:.1f}"/>'
        yield f'<text x="{x:.2f}" y="{bottom + 20:.1f}" text-anchor="middle">{k * between / size:g}</text>'
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom + 4:.1f}" y2="{bottom + 4:.1f}"/>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{bottom + 42:.1f}" text-anchor="middle">time since the first step, {unit}</text>'


def tick(least: float) -> int:
    """1, 2 or 5 times a power of ten."""
    power = 1
    while 10 * power <= least:
        power *= 10
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least)


def numbers(rows: Sequence[Row], first: int, scale: float) -> Iterator[str]:
    """The numbers of steps above the first rank's bars, as many as there is room for."""
    free = 0.0
    rank = min(row["rank"] for row in rows)
    yield f'<text class="note small" x="{LEFT - 8}" y="{TOP - 12}" text-anchor="end">step</text>'
    for row in sorted(
        (row for row in rows if row["rank"] == rank and row["step"] is not None), key=lambda row: row["start"]
    ):
        x = LEFT + (row["start"] - first + row["duration"] / 2) * scale
        half = 4 + 3.5 * len(str(row["step"]))
        if x - half >= free:
            yield f'<text class="small" x="{x:.2f}" y="{TOP - 12}" text-anchor="middle">{row["step"]}</text>'
            free = x + half
