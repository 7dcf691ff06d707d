"""The graph to draw: boxes and edges, with exact figures, and regions, the clusters of a picture.

A function that is not drawn is contracted: its callees become callees of its callers, so that the calls and times of
the edges into a box are always those of its function. The edges of deleted functions are deleted instead.

A region has boxes of one package that call each other. A layout keeps a cluster in one place, so with one cluster per
package it would draw a path that leaves the package and returns (train_step -> DistributedDataParallel.forward ->
GPT.forward) upside down.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fastdispatch.graphs.call_tree import CallFigures, CallTree, PictureOptions
from fastdispatch.graphs.function_selection import DELETED, DRAWN, FunctionSelection
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import module_pattern


@dataclass
class Box:
    """A function that is drawn."""

    number: int  #: from 1, in the order of the call tree
    node: int
    package: str
    figures: CallFigures
    patterns: set[str]  #: of the modules whose forward it is
    instances: int  #: number of these modules
    own: int = 0  #: ns of self time, including functions folded into it
    region: int = 0  #: from 1
    depth: int = 0  #: longest distance from the top
    calls: bool = False  #: whether it calls another box


@dataclass
class BoxEdge:
    caller: Box
    callee: Box
    figures: CallFigures

    @property
    def forward(self) -> bool:
        """Whether the caller is before the callee in the call tree: such edges have no cycle."""
        return self.caller.number < self.callee.number


class BoxGraph:
    """The boxes in the order of the call tree, and the edges sorted by caller and callee."""

    def __init__(self, trace: Trace, options: PictureOptions) -> None:
        self.trace = trace
        self.options = options
        self.tree = CallTree(trace, options)
        self.selection = FunctionSelection(self.tree, options)
        where = trace.core.table("package")["where"]
        #: The package of each context; that of an operator is its namespace.
        self.packages: list[str] = [where[group] for group in trace.core.groups("package")]
        self.boxes = self._boxes()
        self._share_self()
        self.edges = self._edges()
        self._find_regions()
        self._find_depths()

    def _boxes(self) -> dict[int, Box]:
        """Return the boxes by node."""
        boxes: dict[int, Box] = {}
        modules: dict[int, set[int]] = {}
        names = self.trace.modules
        for node, package, module in zip(self.tree.drawn, self.packages, self.tree.contexts["module"], strict=True):
            if node >= 0 and self.selection.states.get(node) == DRAWN:
                if node not in boxes:
                    boxes[node] = Box(len(boxes) + 1, node, package, self.tree.figures[node], set(), 0)
                if module >= 0:
                    modules.setdefault(node, set()).add(module)
        for node, found in modules.items():
            boxes[node].patterns = {module_pattern(names["path"][each] or names["class"][each]) for each in found}
            boxes[node].instances = len(found)
        return boxes

    def _share_self(self) -> None:
        """Add self times to the nearest box above."""
        for node, own in zip(self.tree.nearest(self.boxes), self.tree.contexts[self.tree.times[0]], strict=True):
            if node >= 0:
                self.boxes[node].own += own

    def _edges(self) -> list[BoxEdge]:
        tree, states = self.tree, self.selection.states
        kept = {node for node, state in states.items() if state in (DRAWN, DELETED)}
        above = [*tree.nearest(kept), -1]  # the last one is that of no caller
        ends = [(above[parent], node) for node, parent in zip(tree.drawn, tree.parents, strict=True)]
        boxes = self.boxes
        sums = tree.sums([each if each[0] in boxes and each[1] in boxes else None for each in ends])
        first = {node: at for at, node in enumerate(dict.fromkeys(tree.contexts["node"]))}
        return [
            BoxEdge(boxes[caller], boxes[callee], sums[caller, callee])
            for caller, callee in sorted(sums, key=lambda each: (first[each[0]], first[each[1]]))
        ]

    def _find_regions(self) -> None:
        """Set the region of each box: that of its main caller, which spends most time in it, if both are of one
        package, else one shared with the boxes of its package whose main callers are in the same region."""
        main: dict[int, BoxEdge] = {}
        for edge in self.edges:
            known = main.get(edge.callee.number)
            if edge.forward and (known is None or edge.figures.total > known.figures.total):
                main[edge.callee.number] = edge
        regions: dict[tuple[int, str], int] = {}
        for box in self.boxes.values():
            caller = main[box.number].caller if box.number in main else None
            if caller is not None and caller.package == box.package:
                box.region = caller.region
            else:
                box.region = regions.setdefault((caller.region if caller else 0, box.package), len(regions) + 1)

    def _find_depths(self) -> None:
        """Find what each box calls, and its depth. Edges are sorted by caller and boxes are in the same order, so one
        pass is sufficient."""
        for edge in self.edges:
            edge.caller.calls |= edge.caller is not edge.callee
            if edge.forward:
                edge.callee.depth = max(edge.callee.depth, edge.caller.depth + 1)

    def regions(self) -> list[list[Box]]:
        """Return the boxes of each region."""
        found: dict[int, list[Box]] = {}
        for box in self.boxes.values():
            found.setdefault(box.region, []).append(box)
        return list(found.values())


def stacked(boxes: Sequence[Box], most: int) -> dict[int, Box]:
    """Return by number the box below which another is placed: many boxes without callees side by side are not readable,
    so they are arranged in lines of at most ``most``, shallow ones first."""
    leaves = sorted((box for box in boxes if not box.calls), key=lambda box: box.depth)
    lines = -(-len(leaves) // most)
    length = -(-len(leaves) // lines) if lines else 0
    return {box.number: above for above, box in zip(leaves, leaves[length:], strict=False)}
