"""What the layers of a graph take: bars of time, output and parameters, and how much the layers up to one take."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import accumulate
from typing import NamedTuple

from fastdispatch.pipeline.graph import Graph, Node
from fastdispatch.read.summary import printable, seconds, size

WIDTH, LEFT, RIGHT, TOP = 1160, 84, 64, 56
TALL, GAP = 132, 52  # of a panel, and below it
MOST = WIDTH - LEFT - RIGHT  # bars: one a pixel

STYLE = """
text { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; fill: #1b1f24; font-size: 12px }
.title { font-size: 17px; font-weight: bold } .note { fill: #57606a } .small { font-size: 11px; fill: #57606a }
.forward { fill: #2f6fad } .backward { fill: #f0a35e } .bytes { fill: #5b8c5a }
.grid { stroke: #d0d7de; stroke-width: 0.7 } .sum { fill: none; stroke: #8a1c7c; stroke-width: 1.6 }
"""


class Panel(NamedTuple):
    title: str
    kinds: tuple[str, ...]  # of the bars, from below
    heights: list[tuple[float, ...]]  # a layer: one of each kind
    unit: str


def picture(graph: Graph) -> str:
    """SVG. Layers stand in an order in which each is behind what it needs; where there are more than pixels, those in a
    row share a bar."""
    layers = graph.order()
    each = -(-len(layers) // MOST)
    runs = [layers[at : at + each] for at in range(0, len(layers), each)]
    panels = [
        Panel(
            "time", ("forward", "backward"), [(_sum(run, "forward_ms"), _sum(run, "backward_ms")) for run in runs], "ms"
        ),
        Panel("output", ("bytes",), [(_sum(run, "activation_bytes"),) for run in runs], "bytes"),
        Panel("parameters", ("bytes",), [(_sum(run, "parameter_bytes"),) for run in runs], "bytes"),
    ]
    height = TOP + len(panels) * (TALL + GAP)
    told = f"{len(layers)} layers in order" + (f", {each} a bar" if each > 1 else "")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img"><title>What layers take</title><style>{STYLE}</style>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text class="title" x="{LEFT}" y="28">What layers take</text>',
        f'<text class="note" x="{LEFT + 148}" y="28">{told}; the line: all layers up to one, of the whole</text>',
    ]
    for place, panel in enumerate(panels):
        parts += _panel(panel, runs, TOP + place * (TALL + GAP) + 24)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _sum(run: list[Node], name: str) -> float:
    return float(sum(getattr(node, name) for node in run))


def _panel(panel: Panel, runs: list[list[Node]], top: float) -> Iterator[str]:
    whole = [sum(parts) for parts in panel.heights]
    most, total = max(whole), sum(whole)
    wide = MOST / len(runs)
    yield f'<text x="{LEFT}" y="{top - 8}">{escape(_heading(panel, whole))}</text>'
    for share in (0, 0.5, 1):
        y = top + TALL * (1 - share)
        yield f'<path class="grid" d="M{LEFT},{y} H{WIDTH - RIGHT}"/>'
        yield f'<text class="small" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_figure(panel, most * share)}</text>'
        yield f'<text class="small" x="{WIDTH - RIGHT + 8}" y="{y + 4}">{share:.0%}</text>'
    for place, (run, parts) in enumerate(zip(runs, panel.heights, strict=True)):
        if most > 0 and sum(parts) > 0:
            yield from _bar(panel, run, parts, LEFT + place * wide, wide, top + TALL, TALL / most)
    if total > 0:
        sums = enumerate(accumulate(whole), 1)
        points = " ".join(f"{LEFT + at * wide:.1f},{top + TALL * (1 - up_to / total):.1f}" for at, up_to in sums)
        yield f'<polyline class="sum" points="{LEFT},{top + TALL} {points}"/>'


def _heading(panel: Panel, whole: list[float]) -> str:
    """With how few layers make up most of it."""
    total, up_to, few = sum(whole), 0.0, 0
    if total == 0:
        return f"{panel.title}: none"
    for height in sorted(whole, reverse=True):
        if up_to < 0.8 * total:
            up_to, few = up_to + height, few + 1
    kinds = f" ({panel.kinds[0]} below, {panel.kinds[1]} above)" if len(panel.kinds) > 1 else ""
    return f"{panel.title}{kinds}: {_figure(panel, total)}, 80 % of it in {few} of {len(whole)} bars"


def _figure(panel: Panel, value: float) -> str:
    return seconds(value * 1e6) if panel.unit == "ms" else size(round(value))


def _bar(
    panel: Panel, run: list[Node], parts: tuple[float, ...], x: float, wide: float, bottom: float, scale: float
) -> Iterator[str]:
    last = f" to {run[-1].id}" if len(run) > 1 else ""
    figures = ", ".join(f"{kind} {_figure(panel, part)}" for kind, part in zip(panel.kinds, parts, strict=True))
    told = f"{run[0].id}{last}: {run[0].name}: {figures if len(parts) > 1 else _figure(panel, parts[0])}"
    yield f"<g><title>{escape(printable(told))}</title>"
    for kind, part in zip(panel.kinds, parts, strict=True):
        bottom -= part * scale
        width = max(wide - 0.5, 0.5)
        yield f'<rect class="{kind}" x="{x:.2f}" y="{bottom:.2f}" width="{width:.2f}" height="{part * scale:.2f}"/>'
    yield "</g>"
