"""A plan played, as a picture: stages as rows, time to the right."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator
from fractions import Fraction
from html import escape

from fastdispatch import Error
from fastdispatch.pipeline.plan import Job, Plan, Replay

#: More steps than this are a smear, and no viewer likes them.
_MOST = 50_000

_LEFT, _RIGHT, _ROW, _GAP, _TOP = 74, 110, 30, 6, 54
_UNIT, _WIDEST, _NARROWEST = 26.0, 8000.0, 520.0

KINDS = {
    "F": "forward",
    "B": "backward",
    "I": "backward, inputs alone",
    "W": "backward, weights alone",
}

#: Kinds are told apart by what is drawn over the colour: nothing, stripes one way, the other way, dots.
PATTERNS = """<defs>
<pattern id="B" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<rect width="2" height="7" fill="#fff" fill-opacity=".3"/></pattern>
<pattern id="I" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">\
<rect width="2" height="7" fill="#fff" fill-opacity=".3"/></pattern>
<pattern id="W" width="6" height="6" patternUnits="userSpaceOnUse">\
<circle cx="3" cy="3" r="1.2" fill="#333" fill-opacity=".35"/></pattern>
</defs>"""


def draw(made: Plan, replay: Replay) -> str:
    """The picture as SVG text.

    Raises :class:`fastdispatch.Error` for a plan of more steps than can be seen.
    """
    if made.steps * made.stages > _MOST:
        raise Error(f"a picture of {made.steps * made.stages} steps shows nothing; draw a plan with at most {_MOST}")
    boxes = [(job, at) for at, job in enumerate(made.rows) if job.kind in KINDS]
    scale = _scale(replay)
    kinds = [kind for kind in KINDS if any(job.kind == kind for job, _ in boxes)]
    words = [*_captions(made, replay, kinds)]
    width = _LEFT + max(float(replay.makespan) * scale, _NARROWEST) + _RIGHT
    bottom = _TOP + made.stages * (_ROW + _GAP)
    height = bottom + 70 + 17 * len(words)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}"'
        f' viewBox="0 0 {width:.0f} {height}" font-family="Helvetica,Arial,sans-serif" font-size="12">',
        PATTERNS,
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{_LEFT}" y="24" font-size="16" font-weight="bold">{escape(_title(made))}</text>',
        *_rows(made, replay, scale),
        *_axis(replay, scale, bottom),
        *(_box(job, replay, at, scale, made) for job, at in boxes),
        *_arrows(made, replay, scale),
        *_legend(made, kinds, bottom + 36),
        *(
            f'<text x="{_LEFT}" y="{bottom + 80 + 17 * line}" fill="#333">{escape(text)}</text>'
            for line, text in enumerate(words)
        ),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _scale(replay: Replay) -> float:
    """Pixels a unit of time: so that the shortest computation holds a number, within bounds."""
    shortest = min((each for kind in "FBIW" for each in replay.times[kind] if each), default=Fraction(1))
    makespan = float(replay.makespan) or 1.0
    return min(max(_UNIT / float(shortest), _NARROWEST / makespan), _WIDEST / makespan)


def _y(stage: int) -> int:
    return _TOP + stage * (_ROW + _GAP)


def _title(made: Plan) -> str:
    chunks = f" of {made.chunks} chunks" if made.chunks > 1 else ""
    return f"{made.schedule}: {_many(made.stages, 'stage')}{chunks}, {_many(made.micro_batches, 'micro-batch', 'es')}"


def _many(count: int, what: str, plural: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else plural}"


def _rows(made: Plan, replay: Replay, scale: float) -> Iterator[str]:
    """Names, idle time as the ground of each row, and what a stage has on the right."""
    end = float(replay.makespan) * scale
    yield f'<text x="{_LEFT + end + 10:.1f}" y="{_TOP - 8}" fill="#555">idle · held</text>'
    for stage in range(made.stages):
        middle = _y(stage) + _ROW / 2 + 4
        share = replay.idle[stage] / replay.makespan if replay.makespan else Fraction()
        yield f'<text x="{_LEFT - 10}" y="{middle}" text-anchor="end">stage {stage}</text>'
        yield f'<rect x="{_LEFT}" y="{_y(stage)}" width="{end:.1f}" height="{_ROW}" fill="#ececec"/>'
        held = f"{float(share):.1%} · {replay.in_flight[stage]}"
        yield f'<text x="{_LEFT + end + 10:.1f}" y="{middle}" fill="#555">{held}</text>'


def _box(job: Job, replay: Replay, at: int, scale: float, made: Plan) -> str:
    begin, end = replay.begin[at], replay.end[at]
    x, width = _LEFT + float(begin) * scale, float(end - begin) * scale
    y, height = _y(job.rank), _ROW
    fill, ink = colours(job.mb, job.kind)
    where = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"'
    chunk = f" in chunk {job.chunk}" if made.chunks > 1 else ""
    tip = f"{KINDS[job.kind]} of micro-batch {job.mb} on stage {job.rank}{chunk}, {_brief(begin)} to {_brief(end)}"
    drawn = [f"<g><title>{tip}</title>", f'<rect {where} fill="{fill}" stroke="#fff" stroke-width=".8"/>']
    if job.kind != "F":
        drawn.append(f'<rect {where} fill="url(#{job.kind})"/>')
    if job.chunk > 0:
        # A bar above: how far along the model a chunk lies.
        bar = min(3 * job.chunk, height // 2)
        drawn.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{bar}" fill="#111"/>')
    number = str(job.mb)
    if width >= 7 * len(number) + 3:
        weight = "" if job.kind in "FW" else ' font-weight="bold"'
        drawn.append(
            f'<text x="{x + width / 2:.1f}" y="{y + height / 2 + 4.5}" text-anchor="middle" fill="{ink}"{weight}>'
            f"{number}</text>"
        )
    return "".join(drawn) + "</g>"


def colours(mb: int, kind: str) -> tuple[str, str]:
    """Of a box and its number: a hue for each micro-batch, neighbours far apart; forward light, backward dark."""
    hue = mb * 0.381966 % 1
    if kind == "F":
        return _hex(colorsys.hls_to_rgb(hue, 0.83, 0.62)), "#111"
    if kind == "W":
        return _hex(colorsys.hls_to_rgb(hue, 0.68, 0.40)), "#111"
    lightness = 0.42
    while _luminance(colorsys.hls_to_rgb(hue, lightness, 0.62)) > 0.16:
        lightness -= 0.02
    return _hex(colorsys.hls_to_rgb(hue, lightness, 0.62)), "#fff"


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in colour)


def _luminance(colour: tuple[float, float, float]) -> float:
    """Relative, of WCAG 2."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _arrows(made: Plan, replay: Replay, scale: float) -> Iterator[str]:
    """Transfers that take time, from the stage that sends to the one that receives."""
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
            yield (
                f'<line x1="{x2 - float(takes) * scale:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}"'
                ' stroke="#c00" stroke-width="1.4"/>'
            )


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
        yield f'<line x1="{x:.1f}" y1="{_TOP - 4}" x2="{x:.1f}" y2="{bottom}" stroke="#000" stroke-opacity=".12"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 12}" text-anchor="middle" fill="#555" font-size="11">{at:.12g}</text>'
        at += step


def _legend(made: Plan, kinds: list[str], y: int) -> Iterator[str]:
    x = float(_LEFT)
    entries = [(colours(0, kind)[0], kind, KINDS[kind], 0) for kind in kinds]
    entries.append(("#ececec", "F", "idle", 0))
    if made.chunks > 1:
        entries.append((colours(0, "F")[0], "F", "bar: chunk 1" if made.chunks == 2 else "bars: chunks from 1 on", 4))
    for fill, kind, text, bar in entries:
        yield f'<rect x="{x}" y="{y}" width="22" height="16" fill="{fill}"/>'
        if kind != "F":
            yield f'<rect x="{x}" y="{y}" width="22" height="16" fill="url(#{kind})"/>'
        if bar:
            yield f'<rect x="{x}" y="{y}" width="22" height="{bar}" fill="#111"/>'
        yield f'<text x="{x + 28}" y="{y + 12}">{escape(text)}</text>'
        x += 28 + 6.4 * len(text) + 22


def _captions(made: Plan, replay: Replay, kinds: list[str]) -> Iterator[str]:
    times = ", ".join(f"{kind} = {_span(replay.times[kind])}" for kind in kinds)
    chunk = " a chunk" if made.chunks > 1 else ""
    cost = _span(replay.times["RA"])
    transfers = "transfers take no time"
    if any(replay.times["RA"]):
        transfers = f"{'blocking' if replay.blocking else 'overlapped'} transfers of {cost} (red)"
    yield f"Number and colour: the micro-batch. {times}{chunk}; {transfers}; {_brief(replay.makespan)} in all."
    yield (
        f"Bubble: {float(replay.bubble_of_total):.1%} of all time (idle / makespan), "
        f"{float(replay.bubble_of_ideal):.1%} of the ideal time (idle / computing)."
    )
    yield (
        "Held: the most micro-batches"
        + (", counted for each chunk," if made.chunks > 1 else "")
        + " whose activations a stage keeps for backward."
    )


def _span(times: list[Fraction]) -> str:
    least, most = min(times), max(times)
    return _brief(least) if least == most else f"{_brief(least)} to {_brief(most)}"


def _brief(value: Fraction) -> str:
    return f"{float(value):.6g}"
