"""The tree of call paths, as flat rows in printing order."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastdispatch.read.compilations import kernel_origins
from fastdispatch.read.plumbing import is_library
from fastdispatch.read.summary import contexts_of, with_below
from fastdispatch.read.trace import Trace
from fastdispatch.report.report_facts import Facts
from fastdispatch.report.report_rows import KEPT, PASSED_ON, ReportOptions
from fastdispatch.text.formats import module_pattern


@dataclass
class Branch:
    """A node of the tree; repeated modules (``blocks.0``, ``blocks.1``) are one. Times in nanoseconds."""

    depth: int
    where: str
    kind: str
    module: str  # pattern of its modules, "" for none
    instances: int  # of those modules
    calls: int
    resumes: int
    self: int
    total: int
    ops: int
    backward: int
    gpu_calls: int  # kernels, or calls with an interval
    gpu_total: int
    passed: int  # hidden forwarding library calls between it and its parent
    small: int  # hidden callees
    small_time: int
    origin: dict[str, Any]  # of Inductor's kernels (read/compilations.py)


#: Sums of branches that are columns of contexts.
_SUMS = ("resumes", "self", "total", "ops", "backward", "gpu_calls", "gpu_total")


@dataclass
class _Cut:
    """Rules for hidden nodes: below ``minimum`` (in ``figure``), deeper than ``depth``, or only forwarding."""

    figure: str
    minimum: float
    gpu_minimum: float  # of GPU time: not hidden
    depth: int | None
    whole: int
    pass_on: bool


class _Forest:
    def __init__(self, trace: Trace, rank: int | None) -> None:
        self.trace = trace
        self.figures = dict(contexts_of(trace, rank))
        self.origins = kernel_origins(trace)
        self.patterns = [module_pattern(path) for path in trace.modules["path"]]
        self.children: dict[int, list[int]] = {}
        for context, parent in enumerate(self.figures["parent"]):
            self.children.setdefault(parent, []).append(context)

    def kind(self, contexts: list[int]) -> str:
        return str(self.trace.nodes["kind"][self.figures["node"][contexts[0]]])

    def sum(self, contexts: Iterable[int], figure: str) -> int:
        column = self.figures[figure]
        return sum(column[context] for context in contexts)

    def pattern(self, context: int) -> str:
        module = self.figures["module"][context]
        return self.patterns[module] if module >= 0 else ""

    def below(self, contexts: list[int]) -> list[list[int]]:
        """Return the callees of a group of contexts, grouped by node and module pattern."""
        found: dict[tuple[int, str], list[int]] = {}
        nodes = self.figures["node"]
        for parent in contexts:
            for context in self.children.get(parent, ()):
                found.setdefault((nodes[context], self.pattern(context)), []).append(context)
        return list(found.values())

    def passes_on(self, contexts: list[int], whole: int) -> list[int] | None:
        """Return the callee in which a library function spends nearly all of its time."""
        if whole <= 0 or not is_library(self.trace, self.figures["node"][contexts[0]]) or self.pattern(contexts[0]):
            return None
        total = self.sum(contexts, "total")
        if self.sum(contexts, "self") > KEPT * whole:
            return None
        callees = self.below(contexts)
        heaviest = max(callees, key=lambda group: self.sum(group, "total"), default=None)
        if heaviest is None or self.kind(heaviest) == "overflow" or "kernel" in map(self.kind, callees):
            return None
        return heaviest if self.sum(heaviest, "total") >= PASSED_ON * total else None


def tree(trace: Trace, options: ReportOptions, facts: Facts) -> list[Branch]:
    """Return rows of at least ``min_share`` of the whole (time, or calls without times), down to ``depth`` levels.
    With ``hide``, library functions that only forward to one callee are omitted."""
    forest = _Forest(trace, options.rank)
    figure, everything = "total", facts.whole
    if not facts.whole:
        figure, everything = "calls_below", sum(forest.figures["calls"])
        forest.figures |= {figure: with_below(forest.figures["parent"], forest.figures["calls"])}
    roots = forest.below([-1])
    of_gpus = max(sum(forest.sum(group, "gpu_total") for group in roots), 1)
    least = options.min_share
    cut = _Cut(figure, least * everything, least * of_gpus, options.depth, facts.whole, options.hide)
    keys = trace.nodes["key"]
    roots.sort(
        key=lambda group: (keys[forest.figures["node"][group[0]]] != trace.main_role, -forest.sum(group, figure))
    )
    rows: list[Branch] = []
    waiting = [(group, 0, passed) for group, passed in reversed([_skip(forest, group, cut) for group in roots])]
    while waiting:
        group, level, passed = waiting.pop()
        inside = cut.depth is None or level + 1 < cut.depth
        parts: tuple[list[list[int]], list[list[int]]] = ([], [])  # small callees, and others
        for callee in forest.below(group):
            large = forest.sum(callee, figure) >= cut.minimum or forest.sum(callee, "gpu_total") >= cut.gpu_minimum
            parts[inside and large].append(callee)
        rows.append(_branch(forest, group, level, passed, parts[False]))
        shown = _joined(forest, [_skip(forest, callee, cut) for callee in parts[True]])
        shown.sort(key=lambda callee: (forest.sum(callee[0], figure), forest.sum(callee[0], "gpu_total")))
        waiting += [(callee, level + 1, passed) for callee, passed in shown]
    return rows


def _skip(forest: _Forest, group: list[int], cut: _Cut) -> tuple[list[int], int]:
    """Return the group, or the callee it only forwards to, and the number of skipped calls."""
    passed = 0
    while cut.pass_on:
        callee = forest.passes_on(group, cut.whole)
        if callee is None:
            break
        group, passed = callee, passed + 1
    return group, passed


def _joined(forest: _Forest, groups: Iterable[tuple[list[int], int]]) -> list[tuple[list[int], int]]:
    """Merge callees reached through different wrappers."""
    found: dict[tuple[int, str], tuple[list[int], int]] = {}
    for group, passed in groups:
        name = forest.figures["node"][group[0]], forest.pattern(group[0])
        same, most = found.get(name, ([], 0))
        found[name] = same + group, max(most, passed)
    return list(found.values())


def _branch(forest: _Forest, group: list[int], level: int, passed: int, small: list[list[int]]) -> Branch:
    node = forest.figures["node"][group[0]]
    modules = {forest.figures["module"][context] for context in group} - {-1}
    return Branch(
        depth=level,
        where=forest.trace.nodes["key"][node],
        kind=forest.trace.nodes["kind"][node],
        module=forest.pattern(group[0]),
        instances=len(modules),
        calls=forest.sum(group, "gpu_calls" if forest.kind(group) == "kernel" else "calls"),
        **{name: forest.sum(group, name) for name in _SUMS},
        passed=passed,
        small=len(small),
        small_time=sum(forest.sum(callee, "total") for callee in small),
        origin=forest.origins.get(node, {}),
    )
