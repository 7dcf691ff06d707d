"""Drawing of an iteration of a pipeline: a row per stage, with jobs and causes of idle time."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from fastdispatch._core import Error
from fastdispatch.page.plan_svg import KINDS, PATTERNS, entries_of, job_box
from fastdispatch.page.svg_markup import document, dots, group, legends, line, rect, stripes, text, time_axis
from fastdispatch.pipeline.report import PipelineReport, rows_of
from fastdispatch.pipeline.sentences import Row, percent
from fastdispatch.text.formats import seconds

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 1240, 92, 128, 84, 34, 8
#: Maximum number of jobs and gaps: more are not visible.
MOST = 50_000
#: Minimum width of a box, pixels.
NARROWEST = 0.15

#: Causes of idle time: name in the legend, and fill. Micro-batches use all hues, so these are greys, dark ones where
#: something is done, and patterns where time could be saved.
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
LINED = (
    stripes("steady", 6, 1.6, ground="#fff", fill="#b3261e"),
    dots("launch", 5, 1.3, ground="#fff", fill="#b26a00"),
)
LINES = "number and colour: the micro-batch; line below a row: the critical path; arrows: transfers"


def picture(made: PipelineReport) -> str:
    """Return SVG of the middle iteration, in the line of ranks that took longest.

    Raises :class:`fastdispatch.Error` if there is nothing to draw, or too much.
    """
    rows = [row for row in made.ranks if row["line"] == made.drawn_line and row["stage"] >= 0]
    ranks = {row["rank"]: index for index, row in enumerate(sorted(rows, key=lambda row: (row["stage"], row["rank"])))}
    spans = [row for row in rows_of(made.intervals) if row["rank"] in ranks]
    if not spans:
        raise Error("nothing to draw: no iteration of a pipeline was recorded")
    if len(spans) > MOST:
        raise Error(f"{len(spans)} jobs and gaps are too many to draw (at most {MOST})")
    first, last = min(row["start"] for row in spans), max(row["end"] for row in spans)
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 1)
    bottom = TOP + len(ranks) * (ROW + GAP)
    words = [line for sentence in made.sentences[:4] for line in wrap(sentence, (WIDTH - LEFT) // 6)]
    height = bottom + 92 + 17 * len(words)
    jobs = rows_of(made.jobs)
    parts = [
        *headings(made, {row["part"] for row in spans}, jobs),
        *time_axis(last - first, "time since its start", LEFT, WIDTH - RIGHT, TOP - 5, bottom),
        text(LEFT, bottom + 54, LINES, class_="small"),
        *names(rows, ranks, spans),
    ]
    for row in spans:
        x, width = LEFT + (row["start"] - first) * scale, (row["end"] - row["start"]) * scale
        if width >= NARROWEST:
            parts.append(box(made, row, jobs, x, width, top(ranks[row["rank"]])))
    parts += arrows(made, ranks, first, scale)
    parts += path(made, ranks, first, scale)
    parts += [text(LEFT, bottom + 76 + 17 * at, sentence) for at, sentence in enumerate(words)]
    return document(WIDTH, height, title(made), parts, patterns=[*PATTERNS, *LINED])


def top(index: int) -> int:
    return TOP + index * (ROW + GAP)


def title(made: PipelineReport) -> str:
    name = made.engine["engine"] if made.engine is not None else "pipeline"
    schedule = made.schedule["name"] or "unknown schedule"
    return f"{name}: {schedule}, {made.stages} stages, {made.schedule['micro_batches']} micro-batches"


def headings(made: PipelineReport, used: set[str], jobs: Sequence[Row]) -> Iterator[str]:
    yield text(LEFT, 26, title(made), class_="title")
    used_kinds = [kind for kind in KINDS if any(job["kind"] == kind for job in jobs)]
    idle = [([fill], words) for cause, (words, fill) in IDLE.items() if cause in used]
    yield from legends(LEFT, 42, [*entries_of(used_kinds), *idle], WIDTH - 8)[0]


def names(rows: Sequence[Row], ranks: dict[int, int], spans: Sequence[Row]) -> Iterator[str]:
    yield text(WIDTH - RIGHT + 10, TOP - 9, "idle · in flight", class_="small")
    idle, whole = dict.fromkeys(ranks, 0), dict.fromkeys(ranks, 0)
    for row in spans:
        took = row["end"] - row["start"]
        whole[row["rank"]] += took
        idle[row["rank"]] += took if row["part"] != "busy" else 0
    for row in rows:
        middle = top(ranks[row["rank"]]) + ROW / 2
        yield text(LEFT - 10, middle, f"stage {row['stage']}", text_anchor="end")
        yield text(LEFT - 10, middle + 13, f"rank {row['rank']}", class_="small", text_anchor="end")
        share = idle[row["rank"]] / max(whole[row["rank"]], 1)
        yield text(WIDTH - RIGHT + 10, middle + 5, f"{percent(share)} · {row['in_flight']}", class_="small")


def box(made: PipelineReport, row: Row, jobs: Sequence[Row], x: float, width: float, y: float) -> str:
    job = jobs[row["job"]] if row["job"] >= 0 else None
    if row["part"] == "busy" and job is not None:
        chunk = job["stage"] // made.stages
        return group(tip(row, job), job_box(job["kind"], job["micro_batch"], chunk, x, y, width, ROW))
    return group(tip(row, job), [rect(x, y, width, ROW, fill=IDLE[row["part"]][1])])


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


def arrows(made: PipelineReport, ranks: dict[int, int], first: int, scale: float) -> Iterator[str]:
    for row in made.transfers:
        if not row["local"] and row["sender"] in ranks and row["receiver"] in ranks:
            sender, receiver = top(ranks[row["sender"]]), top(ranks[row["receiver"]])
            down = receiver > sender
            x1, x2 = (LEFT + (row[end] - first) * scale for end in ("start", "end"))
            y1, y2 = sender + (ROW if down else 0), receiver + (0 if down else ROW)
            yield line(x1, y1, x2, y2, stroke="#37474f", stroke_width=1.1, stroke_opacity=0.8)


def path(made: PipelineReport, ranks: dict[int, int], first: int, scale: float) -> Iterator[str]:
    for piece in rows_of(made.path):
        if piece["rank"] in ranks:
            y = top(ranks[piece["rank"]]) + ROW + 2.5
            x1, x2 = (LEFT + (piece[end] - first) * scale for end in ("start", "end"))
            yield line(x1, y, x2, y, stroke="#111", stroke_width=2.4)
