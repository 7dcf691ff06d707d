"""Drawing of the cost of layers: bars of time, output and parameters, with their cumulative share."""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from fastdispatch.page.svg_markup import document, element, group, line, rect, text
from fastdispatch.pipeline.graph import Graph, Node
from fastdispatch.text.formats import printable, seconds, size

WIDTH, LEFT, RIGHT, TOP = 1160, 84, 64, 56
TALL, GAP = 132, 52  # height of a panel, and space below it
MOST = WIDTH - LEFT - RIGHT  # bars: one per pixel

STYLE = """
.forward { fill: #2f6fad } .backward { fill: #f0a35e } .bytes { fill: #5b8c5a }
.sum { fill: none; stroke: #8a1c7c; stroke-width: 1.6 }
"""


class Panel(NamedTuple):
    title: str
    kinds: tuple[str, ...]  # kinds of bars, from below
    heights: list[tuple[float, ...]]  # per layer: one per kind
    unit: str


def picture(graph: Graph) -> str:
    """Return SVG. Layers are in topological order; if there are more than pixels, consecutive ones share a bar."""
    layers = graph.order()
    each = -(-len(layers) // MOST)
    runs = [layers[at : at + each] for at in range(0, len(layers), each)]
    panels = [
        Panel("time", ("forward", "backward"), _sums(runs, "forward_ms", "backward_ms"), "ms"),
        Panel("output", ("bytes",), _sums(runs, "activation_bytes"), "bytes"),
        Panel("parameters", ("bytes",), _sums(runs, "parameter_bytes"), "bytes"),
    ]
    height = TOP + len(panels) * (TALL + GAP)
    note = f"{len(layers)} layers in order" + (f", {each} per bar" if each > 1 else "")
    parts = [
        text(LEFT, 28, "Cost of layers", class_="title"),
        text(LEFT + 132, 28, f"{note}; the line: cumulative share of all layers", class_="note"),
    ]
    for index, panel in enumerate(panels):
        parts += _panel(panel, runs, TOP + index * (TALL + GAP) + 24)
    return document(WIDTH, height, "Cost of layers", parts, style=STYLE)


def _sums(runs: list[list[Node]], *names: str) -> list[tuple[float, ...]]:
    return [tuple(float(sum(getattr(node, name) for node in run)) for name in names) for run in runs]


def _panel(panel: Panel, runs: list[list[Node]], top: float) -> Iterator[str]:
    whole = [sum(parts) for parts in panel.heights]
    most, total = max(whole), sum(whole)
    wide = MOST / len(runs)
    yield text(LEFT, top - 8, _heading(panel, whole))
    for share in (0, 0.5, 1):
        y = top + TALL * (1 - share)
        yield line(LEFT, y, WIDTH - RIGHT, y, class_="grid")
        yield text(LEFT - 8, y + 4, _figure(panel, most * share), class_="small", text_anchor="end")
        yield text(WIDTH - RIGHT + 8, y + 4, f"{share:.0%}", class_="small")
    for index, (run, parts) in enumerate(zip(runs, panel.heights, strict=True)):
        if most > 0 and sum(parts) > 0:
            yield _bar(panel, run, parts, LEFT + index * wide, wide, top + TALL, TALL / most)
    if total > 0:
        sums = enumerate(accumulate(whole), 1)
        points = " ".join(f"{LEFT + at * wide:.1f},{top + TALL * (1 - up_to / total):.1f}" for at, up_to in sums)
        yield element("polyline", class_="sum", points=f"{LEFT},{top + TALL} {points}")


def _heading(panel: Panel, whole: list[float]) -> str:
    """Return the title, the sum, and the number of bars that make up most of it."""
    total, up_to, few = sum(whole), 0.0, 0
    if total == 0:
        return f"{panel.title}: none"
    for height in sorted(whole, reverse=True):
        if up_to < 0.8 * total:
            up_to, few = up_to + height, few + 1
    kinds = f" ({panel.kinds[0]} below, {panel.kinds[1]} above)" if len(panel.kinds) > 1 else ""
    return f"{panel.title}{kinds}: {_figure(panel, total)}, 80 % of it in {few} of {len(whole)} bars"


def _figure(panel: Panel, value: float) -> str:
    return seconds(value * 1e6) if panel.unit == "ms" else size(round(min(value, 2.0**1000)))


def _bar(
    panel: Panel, run: list[Node], parts: tuple[float, ...], x: float, wide: float, bottom: float, scale: float
) -> str:
    last = f" to {run[-1].id}" if len(run) > 1 else ""
    figures = ", ".join(f"{kind} {_figure(panel, part)}" for kind, part in zip(panel.kinds, parts, strict=True))
    tip = f"{run[0].id}{last}: {run[0].name}: {figures if len(parts) > 1 else _figure(panel, parts[0])}"
    boxes = []
    for kind, part in zip(panel.kinds, parts, strict=True):
        bottom -= part * scale
        boxes.append(rect(x, bottom, max(wide - 0.5, 0.5), part * scale, class_=kind))
    return group(printable(tip), boxes)
