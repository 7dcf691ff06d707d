"""Parts of a picture that are equal in both styles: tooltips and the order of boxes without callees."""

from collections.abc import Iterator

from fastdispatch.graphs.box_graph import Box, BoxEdge, BoxGraph
from fastdispatch.graphs.call_tree import CallFigures

_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
#: Characters that XML does not allow become U+FFFD. Graphviz decodes entities in all texts.
PLAIN = {**dict.fromkeys((*range(32), 127, 0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}"), **_MARKUP}
_LABEL = PLAIN | {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n"}
#: Graphviz decodes ``\N`` in a tooltip and in HTML twice or once, depending on its version.
_BACKSLASH = {ord("\\"): "\N{FULLWIDTH REVERSE SOLIDUS}"}
_TOOLTIP = _LABEL | _BACKSLASH
_HTML = PLAIN | _BACKSLASH | {ord('"'): "&quot;", ord("\n"): " "}


def label_text(text: str, limit: int) -> str:
    """Escape a label: at most ``limit`` characters, then an ellipsis."""
    return _cut(text, limit).translate(_LABEL)


def tooltip_text(text: str, limit: int) -> str:
    return _cut(text, limit).translate(_TOOLTIP)


def html_text(text: str, limit: int) -> str:
    return _cut(text, limit).translate(_HTML)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def time_text(nanoseconds: int) -> str:
    """Format a time with three digits: ``1.24 s``, ``80.0 ms``, ``3.10 µs``."""
    if nanoseconds < 999.5:
        return f"{nanoseconds} ns"
    unit, size = next((each for each in (("µs", 1e3), ("ms", 1e6)) if nanoseconds < 999.5 * each[1]), ("s", 1e9))
    value = nanoseconds / size
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def count_text(count: int) -> str:
    """Format a count: ``1 234 567``."""
    return f"{count:,}".replace(",", " ")


def percent_text(part: int, whole: int) -> str:
    """Format a share: ``12.5 %``, ``0.04 %``; 0 if ``whole`` is 0."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.{0 if percent >= 99.95 or not part else 2 if percent < 0.1 else 1}f} %"


#: Characters of a name. Names may have any length; a long tooltip is not readable.
_NAME = 1000

#: The number of boxes from which the layout is limited: Graphviz needs a minute for 3 000 boxes without limits and
#: seconds with them.
_LARGE = 250


def layout_limits(graph: BoxGraph, further: str = "") -> str:
    """Return attributes that limit the layout of a large graph."""
    limits = f", splines=line, nslimit=0.2, nslimit1=0.2, mclimit=0.05{further}"
    return limits if len(graph.boxes) >= _LARGE else ""


def ends(edge: BoxEdge) -> str:
    return f"n{edge.caller.number} -> n{edge.callee.number}"


def placed(box: Box, above: dict[int, Box]) -> Iterator[str]:
    """Yield an invisible edge that places a box of the next line below one of the previous line."""
    if box.number in above:
        yield f"n{above[box.number].number} -> n{box.number} [style=invis, weight=0]\n"


def calls_text(figures: CallFigures) -> str:
    """Format the number of calls; without any, that of resumes; without both, it ran when the recording began."""
    count, what = (figures.calls, "call") if figures.calls else (figures.resumes, "resume")
    return f"{count_text(count)} {what}{'s' * (count != 1)}" if count else "already running"


def box_tooltip(graph: BoxGraph, box: Box) -> str:
    found = box.figures
    text = f"{_name(graph, box)}\\n{calls_text(found)}{_further(found.resumes * (found.calls > 0), 'resume', '')}"
    text += _further(found.ops, "operator", " below")
    if graph.tree.timed:
        durations = {"total": found.total, "self": found.self, "self and what is folded into it": box.own}
        if found.backward > 0:
            durations["backward of what it made"] = found.backward
        text += "".join(_duration(graph, *each) for each in durations.items()) + _on_host(graph, found)
    return text


def edge_tooltip(graph: BoxGraph, edge: BoxEdge) -> str:
    text = f"{_name(graph, edge.caller)} -&gt; {_name(graph, edge.callee)}\\n{calls_text(edge.figures)}"
    text += _further(edge.figures.resumes * (edge.figures.calls > 0), "resume", "")
    return text + (_duration(graph, "total", edge.figures.total) + _on_host(graph, edge.figures)) * graph.tree.timed


def _name(graph: BoxGraph, box: Box) -> str:
    return tooltip_text(graph.tree.nodes["key"][box.node], _NAME)


def _further(count: int, noun: str, rest: str) -> str:
    return f", {count_text(count)} {noun}{'s' * (count != 1)}{rest}" if count else ""


def _duration(graph: BoxGraph, title: str, time: int) -> str:
    of_gpus = "GPU " * graph.tree.of_gpus
    return f"\\n{of_gpus}{title} {time_text(time)} ({count_text(time)} ns, {percent_text(time, graph.tree.whole)})"


def _on_host(graph: BoxGraph, figures: CallFigures) -> str:
    """Return the time on the host, if the others are those of GPUs."""
    return f"\\ntotal on the host {time_text(figures.host)}" * graph.tree.of_gpus
