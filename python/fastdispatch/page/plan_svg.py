"""Drawing of a simulated plan: a row per stage, time to the right."""

import colorsys
from collections.abc import Iterable, Iterator
from fractions import Fraction

from fastdispatch._core import Error
from fastdispatch.page.svg_markup import Entry, document, dots, group, legends, line, rect, stripes, text
from fastdispatch.pipeline.plan import Job, Plan, Replay

#: Maximum number of steps: more are not visible.
_MOST = 50_000

_LEFT, _RIGHT, _ROW, _GAP, _TOP = 74, 110, 30, 6, 54
_UNIT, _WIDEST, _NARROWEST = 26.0, 8000.0, 520.0

KINDS = {"F": "forward", "B": "backward", "I": "backward of inputs", "W": "backward of weights"}

#: Kinds differ in the pattern over the colour: none, stripes in two directions, dots.
PATTERNS = (
    stripes("B", 7, 2, fill="#fff", fill_opacity=0.3),
    stripes("I", 7, 2, -45, fill="#fff", fill_opacity=0.3),
    dots("W", 6, 1.2, fill="#333", fill_opacity=0.35),
)


def draw(made: Plan, replay: Replay) -> str:
    """Return a plan as SVG. Raises :class:`fastdispatch.Error` for a plan with too many steps."""
    if made.steps * made.stages > _MOST:
        raise Error(f"a plan of {made.steps * made.stages} steps is too large to draw (at most {_MOST})")
    boxes = [(job, at) for at, job in enumerate(made.rows) if job.kind in KINDS]
    # Pixels per unit of time, so that the shortest job has room for a number, within bounds.
    shortest = min((each for kind in "FBIW" for each in replay.times[kind] if each), default=Fraction(1))
    makespan = float(replay.makespan) or 1.0
    scale = min(max(_UNIT / float(shortest), _NARROWEST / makespan), _WIDEST / makespan)
    kinds = [kind for kind in KINDS if any(job.kind == kind for job, _ in boxes)]
    words = [*_captions(made, replay, kinds)]
    width = _LEFT + max(float(replay.makespan) * scale, _NARROWEST) + _RIGHT
    bottom = _TOP + made.stages * (_ROW + _GAP)
    height = bottom + 70 + 17 * len(words)
    parts = [
        text(_LEFT, 24, _title(made), class_="title"),
        *_rows(made, replay, scale),
        *_axis(replay, scale, bottom),
        *(_box(job, replay, at, scale, made) for job, at in boxes),
        *_arrows(made, replay, scale),
        *_legend(made, kinds, bottom + 36),
        *(text(_LEFT, bottom + 80 + 17 * index, caption) for index, caption in enumerate(words)),
    ]
    return document(width, height, _title(made), parts, patterns=PATTERNS)


def _y(stage: int) -> int:
    return _TOP + stage * (_ROW + _GAP)


def _title(made: Plan) -> str:
    chunks = f" of {made.chunks} chunks" if made.chunks > 1 else ""
    batches = f"{made.micro_batches} micro-batch{'es' * (made.micro_batches != 1)}"
    return f"{made.schedule}: {made.stages} stage{'s' * (made.stages != 1)}{chunks}, {batches}"


def _rows(made: Plan, replay: Replay, scale: float) -> Iterator[str]:
    """Yield names, the ground of each row (idle time), and figures to the right."""
    end = float(replay.makespan) * scale
    yield text(_LEFT + end + 10, _TOP - 8, "idle · in flight", class_="note")
    for stage in range(made.stages):
        middle = _y(stage) + _ROW / 2 + 4
        share = replay.idle[stage] / replay.makespan if replay.makespan else Fraction()
        yield text(_LEFT - 10, middle, f"stage {stage}", text_anchor="end")
        yield rect(_LEFT, _y(stage), end, _ROW, fill="#ececec")
        figures = f"{float(share):.1%} · {replay.in_flight[stage]}"
        yield text(_LEFT + end + 10, middle, figures, class_="note")


def _box(job: Job, replay: Replay, at: int, scale: float, made: Plan) -> str:
    begin, end = replay.begin[at], replay.end[at]
    x, width = _LEFT + float(begin) * scale, float(end - begin) * scale
    chunk = f" in chunk {job.chunk}" if made.chunks > 1 else ""
    tip = f"{KINDS[job.kind]} of micro-batch {job.mb} on stage {job.rank}{chunk}, {_brief(begin)} to {_brief(end)}"
    return group(tip, job_box(job.kind, job.mb, job.chunk, x, _y(job.rank), width, _ROW))


def job_box(kind: str, micro_batch: int, chunk: int, x: float, y: float, width: float, height: float) -> Iterator[str]:
    """Yield a job: colour of its micro-batch, pattern of its kind, a bar for its chunk, and its number if it fits."""
    fill, ink = colours(max(micro_batch, 0), kind)
    yield rect(x, y, width, height, fill=fill)
    if kind != "F":
        yield rect(x, y, width, height, fill=f"url(#{kind})")
    if chunk > 0:
        yield rect(x, y, width, min(3 * chunk, height // 2), fill="#111")
    if width > 1:
        yield rect(x, y, width, height, fill="none", stroke="#fff", stroke_width=0.7)
    number = str(micro_batch)
    if micro_batch >= 0 and width >= 7 * len(number) + 3:
        weight = None if kind in "FW" else "bold"
        style = f"fill:{ink}"
        yield text(x + width / 2, y + height / 2 + 4.5, number, text_anchor="middle", style=style, font_weight=weight)


def colours(mb: int, kind: str) -> tuple[str, str]:
    """Return colours of a box and its number: a hue per micro-batch; forward light, backward dark."""
    hue = mb * 0.381966 % 1
    if kind in "FW":
        return _hex(colorsys.hls_to_rgb(hue, *((0.83, 0.62) if kind == "F" else (0.68, 0.40)))), "#111"
    lightness = 0.42
    while _luminance(colorsys.hls_to_rgb(hue, lightness, 0.62)) > 0.16:
        lightness -= 0.02
    return _hex(colorsys.hls_to_rgb(hue, lightness, 0.62)), "#fff"


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in colour)


def _luminance(colour: tuple[float, float, float]) -> float:
    """Return the relative luminance of WCAG 2."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _arrows(made: Plan, replay: Replay, scale: float) -> Iterator[str]:
    """Yield transfers that take time, from sender to receiver."""
    kinds = {"RA": replay.times["RA"], "RG": replay.times["RG"]}
    ranks = {job.stage: job.rank for job in made.rows}
    for at, job in enumerate(made.rows):
        if job.kind in kinds and (takes := kinds[job.kind][job.stage]):
            sender, end = ranks[job.peer], replay.end[at]
            if not replay.blocking:
                end = max(end, replay.begin[at])
            down = sender < job.rank
            y1, y2 = _y(sender) + (_ROW if down else 0), _y(job.rank) + (0 if down else _ROW)
            x2 = _LEFT + float(end) * scale
            yield line(x2 - float(takes) * scale, y1, x2, y2, stroke="#c00", stroke_width=1.4)


def _axis(replay: Replay, scale: float, bottom: int) -> Iterator[str]:
    makespan = float(replay.makespan)
    step = 1.0
    while step * scale < 40 or makespan / step > 60:
        step *= 2 if str(step)[0] == "1" else 2.5 if str(step)[0] == "2" else 2
    while step * scale > 400 and makespan:
        step /= 10
    at = 0.0
    while at <= makespan * 1.0001:
        x = _LEFT + at * scale
        yield line(x, _TOP - 4, x, bottom, class_="grid")
        yield text(x, bottom + 12, f"{at:.12g}", class_="small", text_anchor="middle")
        at += step


def entries_of(kinds: Iterable[str]) -> list[Entry]:
    """Return kinds of jobs for a legend."""
    return [([colours(0, kind)[0], *([f"url(#{kind})"] if kind != "F" else [])], KINDS[kind]) for kind in kinds]


def _legend(made: Plan, kinds: list[str], y: int) -> Iterator[str]:
    boxes, x = legends(_LEFT, y, [*entries_of(kinds), (["#ececec"], "idle")])
    yield from boxes
    if made.chunks > 1:
        words = "bar: chunk 1" if made.chunks == 2 else "bars: chunks from 1"
        yield from legends(x, y, [([colours(0, "F")[0]], words)])[0]
        yield rect(x, y, 24, 4, fill="#111")


def _captions(made: Plan, replay: Replay, kinds: list[str]) -> Iterator[str]:
    times = ", ".join(f"{kind} = {_span(replay.times[kind])}" for kind in kinds)
    chunk = " a chunk" if made.chunks > 1 else ""
    cost = _span(replay.times["RA"])
    transfers = "transfers take no time"
    if any(replay.times["RA"]):
        transfers = f"{'blocking' if replay.blocking else 'overlapped'} transfers of {cost} (red)"
    yield f"Number and colour: the micro-batch. {times}{chunk}; {transfers}; {_brief(replay.makespan)}."
    yield (
        f"Bubble: {float(replay.bubble_of_total):.1%} of all time (idle / makespan), "
        f"{float(replay.bubble_of_ideal):.1%} of the ideal time (idle / computing)."
    )
    per = ", per chunk," if made.chunks > 1 else ""
    yield f"In flight: the maximum number of micro-batches{per} whose activations a stage keeps for backward."


def _span(times: list[Fraction]) -> str:
    least, most = min(times), max(times)
    return _brief(least) if least == most else f"{_brief(least)} to {_brief(most)}"


def _brief(value: Fraction) -> str:
    return f"{float(value):.6g}"
