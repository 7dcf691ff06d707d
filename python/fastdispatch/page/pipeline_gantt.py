"""An iteration of a pipeline as a picture: stages as rows, what each did, and why it was idle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from textwrap import wrap

from fastdispatch import Error
from fastdispatch.page.plan_svg import KINDS, PATTERNS, colours
from fastdispatch.page.timeline_svg import tick
from fastdispatch.pipeline.report import Report, Row, rows_of
from fastdispatch.pipeline.sentences import percent
from fastdispatch.read.summary import seconds

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 1240, 92, 128, 84, 34, 8
#: More jobs than this are a smear, and no viewer likes them.
MOST = 50_000
#: What is narrower is not drawn by itself: pixels.
NARROWEST = 0.15

#: Why a stage is idle: its name in the legend and its fill. Micro-batches have all hues, so these have greys, dark ones
#: where something is done, and lines where something could be better.
IDLE = {
    "warm_up": ("waiting, warm-up", "#e4e7eb"),
    "steady": ("waiting, steady", "url(#steady)"),
    "cool_down": ("waiting, cool-down", "#cfd5dc"),
    "transfer": ("transfer", "#37474f"),
    "launch": ("launch gap", "url(#launch)"),
    "load": ("loading", "#8d6e63"),
    "reduce": ("reduce", "#00838f"),
    "optimizer": ("optimizer", "#c25308"),
    "unmatched": ("unmatched", "#7b1fa2"),
    "other": ("other", "#9e9e9e"),
}
LINED = """<defs>
<pattern id="steady" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<rect width="6" height="6" fill="#fff"/><rect width="1.6" height="6" fill="#b3261e"/></pattern>
<pattern id="launch" width="5" height="5" patternUnits="userSpaceOnUse">\
<rect width="5" height="5" fill="#fff"/><circle cx="2.5" cy="2.5" r="1.3" fill="#b26a00"/></pattern>
</defs>"""
STYLE = "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#1b1f24}.s{font-size:11px;fill:#57606a}"


def picture(made: Report) -> str:
    """SVG of the iteration in the middle, in the line of ranks that took longest.

    Raises :class:`fastdispatch.Error` where there is nothing to draw, or more than can be seen.
    """
    rows = [row for row in made.ranks if row["line"] == made.drawn_line and row["stage"] >= 0]
    ranks = {row["rank"]: place for place, row in enumerate(sorted(rows, key=lambda row: (row["stage"], row["rank"])))}
    stretches = [row for row in rows_of(made.stretches) if row["rank"] in ranks]
    if not stretches:
        raise Error("there is nothing to draw: no iteration of a pipeline was recorded")
    if len(stretches) > MOST:
        raise Error(f"a picture of {len(stretches)} jobs and gaps shows nothing; {MOST} are the most")
    first, last = min(row["start"] for row in stretches), max(row["end"] for row in stretches)
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 1)
    bottom = TOP + len(ranks) * (ROW + GAP)
    words = [line for sentence in made.sentences[:4] for line in wrap(sentence, (WIDTH - LEFT) // 6)]
    height = bottom + 92 + 17 * len(words)
    jobs = rows_of(made.jobs)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title(made))}</title><style>{STYLE}</style>{PATTERNS}{LINED}",
        '<rect width="100%" height="100%" fill="#fff"/>',
        *headings(made, {row["part"] for row in stretches}, jobs),
        *axis(last - first, scale, bottom),
        *names(made, rows, ranks, stretches),
    ]
    for row in stretches:
        x, width = LEFT + (row["start"] - first) * scale, (row["end"] - row["start"]) * scale
        if width >= NARROWEST:
            parts.append(box(made, row, jobs, x, width, top(ranks[row["rank"]])))
    parts += arrows(made, ranks, first, scale)
    parts += path(made, ranks, first, scale)
    parts += [f'<text x="{LEFT}" y="{bottom + 76 + 17 * at}">{escape(line)}</text>' for at, line in enumerate(words)]
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def top(place: int) -> int:
    return TOP + place * (ROW + GAP)


def title(made: Report) -> str:
    name = made.engine["engine"] if made.engine is not None else "pipeline"
    schedule = made.schedule["name"] or "schedule not known"
    return f"{name}: {schedule}, {made.stages} stages, {made.schedule['micro_batches']} micro-batches"


def headings(made: Report, used: set[str], jobs: Sequence[Row]) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="26" style="font-size:17px;font-weight:bold">{escape(title(made))}</text>'
    x = float(LEFT)
    kinds = [kind for kind in KINDS if any(job["kind"] == kind for job in jobs)]
    for kind in kinds:
        yield f'<rect x="{x}" y="42" width="22" height="14" fill="{colours(0, kind)[0]}"/>'
        yield f'<rect x="{x}" y="42" width="22" height="14" fill="{pattern(kind)}"/>'
        yield f'<text x="{x + 27}" y="53">{KINDS[kind]}</text>'
        x += 27 + 6.2 * len(KINDS[kind]) + 14
    for cause, (words, fill) in IDLE.items():
        if cause in used:
            if x + 30 + 6.4 * len(words) > WIDTH - 8:
                break
            yield f'<rect x="{x:.1f}" y="42" width="22" height="14" fill="{fill}"/>'
            yield f'<text x="{x + 27:.1f}" y="53">{words}</text>'
            x += 27 + 6.2 * len(words) + 14


def pattern(kind: str) -> str:
    return "none" if kind == "F" else f"url(#{kind})"


def axis(span: int, scale: float, bottom: float) -> Iterator[str]:
    unit, size = next(
        ((unit, size) for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)) if span >= 2 * size), ("ns", 1)
    )
    between = tick(span / 12)
    for k in range(int(span / between) + 1):
        x = LEFT + k * between * scale
        yield f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{TOP - 5}" y2="{bottom}" stroke="#d0d7de" stroke-width=".7"/>'
        yield f'<text class="s" x="{x:.2f}" y="{bottom + 14}" text-anchor="middle">{k * between / size:g}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="s" x="{middle}" y="{bottom + 30}" text-anchor="middle">time since its begin, {unit}</text>'
    yield (
        f'<text class="s" x="{LEFT}" y="{bottom + 50}">number and colour: the micro-batch; line below a row: the '
        "critical path; arrows: transfers</text>"
    )


def names(made: Report, rows: Sequence[Row], ranks: dict[int, int], stretches: Sequence[Row]) -> Iterator[str]:
    yield f'<text class="s" x="{WIDTH - RIGHT + 10}" y="{TOP - 9}">idle · held</text>'
    idle, whole = dict.fromkeys(ranks, 0), dict.fromkeys(ranks, 0)
    for row in stretches:
        took = row["end"] - row["start"]
        whole[row["rank"]] += took
        idle[row["rank"]] += took if row["part"] != "busy" else 0
    for row in rows:
        middle = top(ranks[row["rank"]]) + ROW / 2
        yield f'<text x="{LEFT - 10}" y="{middle}" text-anchor="end">stage {row["stage"]}</text>'
        yield f'<text class="s" x="{LEFT - 10}" y="{middle + 13}" text-anchor="end">rank {row["rank"]}</text>'
        share = idle[row["rank"]] / max(whole[row["rank"]], 1)
        yield f'<text class="s" x="{WIDTH - RIGHT + 10}" y="{middle + 5}">{percent(share)} · {row["held"]}</text>'


def box(made: Report, row: Row, jobs: Sequence[Row], x: float, width: float, y: float) -> str:
    job = jobs[row["job"]] if row["job"] >= 0 else None
    busy = row["part"] == "busy" and job is not None
    fill, ink = colours(max(job["micro_batch"], 0), job["kind"]) if busy and job else (IDLE[row["part"]][1], "#1b1f24")
    at = f'x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW}"'
    drawn = [f'<g><title>{escape(tip(row, job))}</title><rect {at} fill="{fill}"/>']
    if busy and job:
        if job["kind"] != "F":
            drawn.append(f'<rect {at} fill="{pattern(job["kind"])}"/>')
        chunk = job["stage"] // made.stages
        if chunk > 0:
            # A bar above: how far along the model a chunk lies.
            drawn.append(f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{min(3 * chunk, 15)}" fill="#111"/>')
        if width > 1:
            drawn.append(f'<rect {at} fill="none" stroke="#fff" stroke-width=".6"/>')
        number = str(job["micro_batch"])
        if width >= 7 * len(number) + 3 and job["micro_batch"] >= 0:
            weight = "" if job["kind"] in "FW" else ' font-weight="bold"'
            drawn.append(
                f'<text x="{x + width / 2:.2f}" y="{y + ROW / 2 + 4.5}" text-anchor="middle" '
                f'style="fill:{ink}"{weight}>{number}</text>'
            )
    return "".join(drawn) + "</g>"


def tip(row: Row, job: Row | None) -> str:
    took = seconds(row["end"] - row["start"])
    what = "idle" if job is None else job["kind"]
    if job is not None and job["micro_batch"] >= 0:
        what += f" of micro-batch {job['micro_batch']}"
    if job is not None and job["stage"] >= 0:
        what += f" on stage {job['stage']}"
    why = "" if row["part"] == "busy" else f", {IDLE[row['part']][0]}"
    whom = f" for rank {row['waits_for']}" if row["waits_for"] >= 0 else ""
    slack = "" if job is None else f"; slack {seconds(job['slack'])}"
    return f"{what}: {took}{why}{whom}{slack}"


def arrows(made: Report, ranks: dict[int, int], first: int, scale: float) -> Iterator[str]:
    for row in made.transfers:
        if not row["local"] and row["sender"] in ranks and row["receiver"] in ranks:
            sender, receiver = top(ranks[row["sender"]]), top(ranks[row["receiver"]])
            down = receiver > sender
            yield (
                f'<line x1="{LEFT + (row["start"] - first) * scale:.2f}" y1="{sender + (ROW if down else 0)}" '
                f'x2="{LEFT + (row["end"] - first) * scale:.2f}" y2="{receiver + (0 if down else ROW)}" '
                'stroke="#37474f" stroke-width="1.1" stroke-opacity=".8"/>'
            )


def path(made: Report, ranks: dict[int, int], first: int, scale: float) -> Iterator[str]:
    for piece in rows_of(made.path):
        if piece["rank"] in ranks:
            y = top(ranks[piece["rank"]]) + ROW + 2.5
            x1, x2 = (LEFT + (piece[end] - first) * scale for end in ("start", "end"))
            yield f'<line x1="{x1:.2f}" x2="{x2:.2f}" y1="{y}" y2="{y}" stroke="#111" stroke-width="2.4"/>'
