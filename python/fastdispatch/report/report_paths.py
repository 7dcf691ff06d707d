"""Hot paths: the few call paths with most self time at their ends."""

from dataclasses import dataclass, field
from itertools import accumulate

from fastdispatch.read.plumbing import is_library
from fastdispatch.read.summary import contexts_of, in_role
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.text.formats import module_pattern

#: Without a number, list as many paths as cover this share, at most ``MOST``.
ENOUGH, MOST = 0.8, 20


@dataclass
class HotPath:
    """A call path, outermost first, and the self time of its end. Times in nanoseconds.

    Repeated modules (``blocks.0``, ``blocks.1``) are one path, and so is a recursive function. Library functions appear
    only as the end; callees of an operator or autograd node are counted in it. An operator belongs to the module that
    calls it, an autograd node to that of its forward call.
    """

    path: list[str]  # keys
    short: list[str]  # keys without files
    module: str  # pattern of the modules that its end is part of, "" for none
    within: str  # forward function of these modules, if it is not the end itself
    instances: int  # number of those modules
    weight: int  # sort key
    self: int
    gpu: int  # of kernels that it launched
    calls: int  # calls of its end, including resumes


@dataclass
class Paths:
    """The heaviest paths, and the number of others. ``whole``: sum of all paths, ns or calls (``of``)."""

    of: str  # self, gpu or calls
    whole: int
    rows: list[HotPath]
    more: int


@dataclass
class _PathEnd:
    """A path during collection: its end below another path."""

    above: int
    node: int
    pattern: str
    self: int = 0
    gpu: int = 0
    calls: int = 0
    modules: set[int] = field(default_factory=set)


class _PathTable:
    """All paths, without duplicates. ``list[0]`` is the empty path."""

    def __init__(self) -> None:
        self.list = [_PathEnd(0, -1, "")]
        self.known: dict[tuple[int, int, str], int] = {}

    def below(self, above: int, node: int, pattern: str) -> int:
        last = self.list[above]
        if (last.node, last.pattern) == (node, pattern):  # a recursion
            return above
        end = self.known.setdefault((above, node, pattern), len(self.list))
        if end == len(self.list):
            self.list.append(_PathEnd(above, node, pattern))
        return end

    def nodes(self, index: int) -> list[int]:
        found = []
        while index:
            found.append(self.list[index].node)
            index = self.list[index].above
        return found[::-1]


def paths(trace: Trace, rank: int | None, role: str, count: int, by: str) -> Paths:
    """Return the ``count`` heaviest paths of the threads of ``role``, ``by`` self, calls, or gpu: of all threads; 0: as
    many as cover most of the weight."""
    table = _collect(trace, rank, None if by == "gpu" else role)
    weights = [getattr(end, by) for end in table.list]
    keys = trace.nodes["key"]
    heavy = [i for i in range(1, len(weights)) if weights[i] > 0]
    heavy.sort(key=weights.__getitem__, reverse=True)
    whole = sum(weights)
    number = count or _enough([weights[i] for i in heavy], whole)
    least = weights[heavy[:number][-1]] if heavy else 0
    chosen = [i for i in heavy if weights[i] >= least]  # with those of the same weight, to be sorted by name
    chosen.sort(key=lambda i: (-weights[i], [keys[node] for node in table.nodes(i)], table.list[i].pattern))
    chosen = chosen[:number]
    rows = [_row(trace, table, i, weights[i]) for i in chosen]
    return Paths(by, whole, rows, len(heavy) - len(chosen))


def _collect(trace: Trace, rank: int | None, role: str | None) -> _PathTable:
    """Return the paths of all threads, or of those of ``role``."""
    contexts = contexts_of(trace, rank)
    patterns = [module_pattern(path) for path in trace.modules["path"]]
    kinds = trace.nodes["kind"]
    operators = {node for node, kind in enumerate(kinds) if kind in ("op", "autograd", "kernel")}
    passes = [kinds[node] == "thread" or is_library(trace, node) for node in range(len(kinds))]
    table = _PathTable()
    shown: list[int] = []  # per context: the path that its callees continue
    columns = ("parent", "node", "self", "gpu_self", "calls", "resumes")
    modules = _modules_of(contexts, [kind == "autograd" for kind in kinds])
    chosen = in_role(trace, contexts, role) if role is not None else [True] * len(contexts["node"])
    rows = zip(*(contexts[name] for name in columns), modules, chosen, strict=True)
    for parent, node, own, gpu, calls, resumes, module, inside in rows:  # a parent comes before its children
        above = shown[parent] if parent >= 0 else 0
        within = table.list[above].node in operators
        if contexts["module"][len(shown)] < 0 and table.list[above].pattern:
            module = -1  # the path shows the module
        end = above if within or not inside else table.below(above, node, patterns[module] if module >= 0 else "")
        shown.append(above if passes[node] else end)
        if inside:
            path = table.list[end]
            path.self += own
            path.gpu += gpu
            path.calls += 0 if within else calls + resumes
            if module >= 0:
                path.modules.add(module)
    return table


def _modules_of(contexts: Columns, autograd: list[bool]) -> list[int]:
    """Return for each context the module that it is part of, -1 for none: the innermost one, of autograd nodes and
    below them that of the forward call."""
    parents, nodes, own = (contexts[name] for name in ("parent", "node", "module"))
    found = list(own)
    for row, parent in enumerate(parents):  # a parent comes before its children
        if found[row] < 0 <= parent and not autograd[nodes[row]]:
            found[row] = found[parent]
    for row, origin in enumerate(contexts["origin"]):
        if autograd[nodes[row]]:
            found[row] = found[origin] if origin >= 0 else -1
        elif own[row] < 0 <= parents[row]:
            found[row] = found[parents[row]]
    return found


def _enough(weights: list[int], whole: int) -> int:
    """Return how many of the heaviest paths cover ``ENOUGH``."""
    sums = enumerate(accumulate(weights[:MOST]), 1)
    return next((number for number, share in sums if share >= ENOUGH * whole), MOST)


def _row(trace: Trace, table: _PathTable, index: int, weight: int) -> HotPath:
    end = table.list[index]
    nodes = table.nodes(index)
    keys, classes, names = (trace.nodes[name] for name in ("key", "class", "name"))
    return HotPath(
        path=[keys[node] for node in nodes],
        short=[f"{classes[node]}.{names[node]}" if classes[node] else names[node] for node in nodes],
        module=end.pattern,
        within=_forward_of(trace, end, keys[nodes[-1]]),
        instances=len(end.modules),
        weight=weight,
        self=end.self,
        gpu=end.gpu,
        calls=end.calls,
    )


def _forward_of(trace: Trace, end: _PathEnd, key: str) -> str:
    """Return ``Class.forward`` of the modules of a path's end, "" if that is its end, or without modules."""
    kinds = {trace.modules["class"][module] for module in end.modules}
    name = f"{min(kinds)}.forward" if kinds else ""
    return "" if key.endswith(f"[{name.partition('.')[0]}]:forward") else name
