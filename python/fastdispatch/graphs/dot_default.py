"""The default style of a picture: packages as clusters, time as colour and line width, figures as tooltips, and a
legend with the number of hidden functions."""

from collections import Counter
from collections.abc import Iterator
from math import floor, sqrt

from fastdispatch.graphs.box_graph import Box, BoxEdge, BoxGraph, stacked
from fastdispatch.graphs.dot_parts import (
    box_tooltip,
    calls_text,
    count_text,
    edge_tooltip,
    ends,
    html_text,
    label_text,
    layout_limits,
    percent_text,
    placed,
    time_text,
    tooltip_text,
)
from fastdispatch.graphs.function_selection import DELETED, INNER, JOINED, OTHER, RUNNING, SMALL, TORCH
from fastdispatch.read.plumbing import FUNCTIONS

#: Boxes without callees on a line; characters of a title, of its first line, of the end of a path.
_LEAVES, _TITLE, _LINE, _PLACE = 4, 44, 20, 26

_HEAD = """\
digraph callgraph {{
graph [fontname="Helvetica,Arial,sans-serif", fontsize=12, labelloc=b, labeljust=l, ranksep=0.35, nodesep=0.14, \
style=rounded{limits}]
node [shape=box, style="rounded,filled", color="#8893A0", fontname="Helvetica,Arial,sans-serif", fontsize=13, \
margin="0.07,0.05"]
edge [color="#5F6B7A", arrowsize=0.7]
label=<<FONT POINT-SIZE="12" COLOR="#444C55">{facts}{hidden}</FONT>>
"""
_CLUSTER = """\
subgraph cluster_{region} {{
  label="{label}" tooltip="{tooltip}" bgcolor="{tint}" color="{tint}" labelloc=t fontcolor="#5B6570"
"""
_BREAK = '<BR ALIGN="LEFT"/>'
_GREY, _DARK = "#5B6570", "#20262E"

#: Backgrounds of clusters, tints of the colours of packages on the page (page/assets/page.css). A cluster has no frame
#: that an edge could be drawn over.
_TINTS = {"project": "#FDEFDC", "torch": "#DDF0FE", "aten": "#E7F9EA", "autograd": "#F5E4F3", "stdlib": "#F1EBDD"}
#: Tints of the two other packages with most time, and of all others.
_FREE_TINTS, _LAST_TINT = ("#DDFBFD", "#FBE3E9"), "#F0F1F3"


def default_lines(graph: BoxGraph, leaves: int) -> Iterator[str]:
    """Yield the text. ``leaves``: the most boxes without callees on a line of a region; 0: the default."""
    yield _HEAD.format(limits=layout_limits(graph), facts=_facts(graph), hidden=_hidden(graph))
    times = _free_times(graph)
    for boxes in graph.regions():
        package, above = boxes[0].package, stacked(boxes, leaves or _LEAVES)
        yield _CLUSTER.format(
            region=boxes[0].region,
            label=label_text(package, _TITLE),
            tooltip=tooltip_text(package, _TITLE),
            tint=_TINTS.get(package) or _free_tint(package, times),
        )
        for box in boxes:
            heat, label, tooltip = _heat(graph, box), _label(graph, box), box_tooltip(graph, box)
            yield f'  n{box.number} [fillcolor="{heat}", label=<{label}>, tooltip="{tooltip}"]\n'
            yield from (f"  {line}" for line in placed(box, above))
        yield "}\n"
    yield from _edge_lines(graph)
    yield "}\n"


def _facts(graph: BoxGraph) -> str:
    rank, ranks, tree = graph.options.rank, len(graph.trace.ranks), graph.tree
    facts = f"{ranks} rank{'s' * (ranks != 1)}" if rank is None else f"rank {rank}"
    time = "GPU time" if tree.of_gpus else "time"
    if tree.timed:
        where = f"on GPUs{_elsewhere(graph)}" if tree.of_gpus else "in main threads"
        facts += f", {time_text(tree.whole)} {where}. Colour: {time} in the function and what is folded into it."
    return f"{facts} Width of lines: {time if tree.timed and graph.options.weight != 'calls' else 'calls'}."


def _elsewhere(graph: BoxGraph) -> str:
    """Return the share of the GPU time that no box has: that of threads without boxes, such as those of autograd."""
    rest = graph.tree.whole - sum(box.own for box in graph.boxes.values())
    return f", {percent_text(rest, graph.tree.whole)} of it outside of these functions" if rest else ""


def _hidden(graph: BoxGraph) -> str:
    """Return "hidden: 325 functions of torch, ..."."""
    counts = Counter(graph.selection.states.values())
    parts = {
        f"function{'s' * (counts[TORCH] != 1)} of torch": counts[TORCH],
        "of the standard library": counts[OTHER],
        "that were already running": counts[RUNNING],
        "comprehensions and wrappers": counts[INNER],
        "of idle threads": graph.tree.idle,
        f"under {_small_percent(graph):g} %": counts[SMALL],
        "joined (--merge-into-caller)": counts[JOINED],
        "deleted (--hide)": counts[DELETED],
    }
    text = ", ".join(f"{count_text(count)} {what}" for what, count in parts.items() if count)
    return f"{_BREAK}hidden: {text}{_BREAK}" if text else ""


def _small_percent(graph: BoxGraph) -> float:
    """Return the share that all small functions are below: the requested one, or a larger one if there were too many
    functions, in tenths of a percent."""
    largest, least = 100 * _share(graph, graph.selection.small), graph.selection.min_percent
    return least if largest < least else floor(largest * 10 + 1) / 10


def _share(graph: BoxGraph, part: int) -> float:
    """Return the share of the whole, at most 1, since other threads may have more."""
    return min(part / graph.tree.whole, 1.0) if graph.tree.whole else 0.0


def _free_times(graph: BoxGraph) -> dict[str, int]:
    """Return the time in the Python functions of each package without a fixed tint."""
    times = Counter[str]()
    for kind, package, own in zip(graph.tree.kinds, graph.packages, graph.tree.contexts["self"], strict=True):
        if kind in FUNCTIONS and package not in _TINTS:
            times[package] += own
    return {package: time for package, time in times.items() if time}


def _free_tint(package: str, times: dict[str, int]) -> str:
    own = (-times.get(package, 0), package)
    place = sum((-time, other) < own for other, time in times.items())
    return _FREE_TINTS[place] if place < len(_FREE_TINTS) else _LAST_TINT


def _heat(graph: BoxGraph, box: Box) -> str:
    """Return a colour from white to orange-red by the time spent in a box: the root of the share, since half of all
    time in one box is rare, and 5 % must be visible."""
    at = sqrt(_share(graph, box.own))
    return f"#FF{floor(255 - 150 * at + 0.5):02X}{floor(255 - 215 * at + 0.5):02X}"


def _label(graph: BoxGraph, box: Box) -> str:
    tree, file = graph.tree, graph.tree.nodes["file"][box.node]
    label = f"<B>{_title(graph, box.node)}</B>"
    if file and tree.nodes["name"][box.node] != "<module>":
        label += _small_line(_GREY, _place(file))
    if box.instances > 1:
        label += _small_line(_GREY, _modules(box))
    share = f"{percent_text(box.figures.total, tree.whole)} · " if tree.timed else ""
    return label + _small_line(_DARK, share + calls_text(box.figures))


def _modules(box: Box) -> str:
    """Return the pattern of the modules whose forward it is, or their number if they have several patterns."""
    if len(box.patterns) > 1:
        return f"{box.instances} modules"
    return f"{html_text(min(box.patterns), _TITLE)} \N{MULTIPLICATION SIGN} {box.instances}"


def _small_line(colour: str, text: str) -> str:
    return f'<BR/><FONT POINT-SIZE="12" COLOR="{colour}">{text}</FONT>'


def _title(graph: BoxGraph, node: int) -> str:
    """Return "GPT.forward", a long one in two lines; code outside of functions is named by its file."""
    file, owner, name, key = (graph.tree.nodes[column][node] for column in ("file", "class", "name", "key"))
    shown = file.rpartition("/")[2] if name == "<module>" else name
    line = key.removeprefix(f"{file}:[{owner}]:").removeprefix(name)  # "@12" if two functions differ in nothing else
    owner = f"{owner}." if owner else ""
    if owner and len(owner) + len(shown) > _LINE:
        return f"{html_text(owner, _TITLE)}<BR/>{html_text(shown + line or '(no name)', _TITLE)}"
    return html_text(owner + shown + line or "(no name)", _TITLE)  # Graphviz rejects an empty B


def _place(file: str) -> str:
    """Return the end of a long path, which identifies the file better than the start."""
    start = file.find("/", len(file) - _PLACE) if len(file) > _PLACE else 0
    start = file.rfind("/") + 1 if start < 0 else start
    return "…" * (start > 0) + html_text(file[start:], 2 * _PLACE)


def _edge_lines(graph: BoxGraph) -> Iterator[str]:
    sizes = [edge.figures.calls if graph.options.weight == "calls" else edge.figures.total for edge in graph.edges]
    largest = max(sizes, default=0) or 1
    depths: dict[int, int] = {}  # by region, of its deepest caller outside
    for edge in graph.edges:
        if edge.forward and edge.caller.region != edge.callee.region:
            depths[edge.callee.region] = max(depths.get(edge.callee.region, 0), edge.caller.depth)
    for edge, size in zip(graph.edges, sizes, strict=True):
        wide = sqrt(size / largest)
        weight, tooltip = _weight(edge, depths, wide), edge_tooltip(graph, edge)
        yield f'{ends(edge)} [penwidth={0.7 + 4.3 * wide:.2f}, weight={weight}, tooltip="{tooltip}"]\n'


def _weight(edge: BoxEdge, depths: dict[int, int], wide: float) -> int:
    """Return the weight of an edge in the layout. Inside a cluster the expensive path is drawn straight. Between
    clusters only the deepest caller is weighted: the layout can draw such edges upwards, and a cluster must be below
    its callers and not beside them."""
    if edge.caller.region == edge.callee.region:
        return 1 + int(20 * wide)
    return 20 if edge.caller.depth == depths.get(edge.callee.region) else 1
