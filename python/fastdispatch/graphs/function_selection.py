"""Selection of the functions to draw, with a reason for each function that is not drawn.

Thousands of functions are not readable. Users look for their own code and the functions of frameworks that it calls:
optimizer.step, DataLoader.__next__, Linear.forward. Therefore, functions of torch and of the standard library are drawn
only if they are public and are the first such function below other code; the functions between two calls of user code
(_call_impl, DDP, decorators) are folded into their callers.
"""

from collections.abc import Iterable

from fastdispatch.graphs.call_tree import OPERATORS, CallTree, PictureOptions
from fastdispatch.read.compilations import COMPILED
from fastdispatch.read.plumbing import FUNCTIONS, is_inner
from fastdispatch.text.globs import matches

DRAWN, TORCH, OTHER, RUNNING, INNER, SMALL, JOINED, DELETED = range(8)

#: The numbers of functions that are drawn without a threshold: of the user, operators, of libraries.
_LIMITS = (60, 40, 24)
_USER, _OPERATORS, _LIBRARY = range(3)
DEFAULT_MIN_PERCENT = 0.1
#: Functions that were already running, one above the other, are all drawn up to this number.
_TOWER = 4

#: The kind of code on the path of a context: only frameworks; code of the user, or machinery called by it; below the
#: first public function of a framework.
_NO_CODE, _IN_CODE, _IN_LIBRARY = range(3)

#: Wrappers by decorators and context managers.
_MACHINERY = {"wrapper", "inner", "wrapped", "decorate_context", "fn", "func", "helper", "apply", "run"}
_SPECIAL = {"__init__", "__iter__", "__next__", "__getitem__"}
#: Collectives and transfers of PyTorch are drawn wherever they are called.
_COMMUNICATION = {"torch/distributed/distributed_c10d.py", "torch/distributed/_functional_collectives.py"}


class FunctionSelection:
    """``states`` has the state of each node of the tree that is a function, a range or a requested operator."""

    def __init__(self, tree: CallTree, options: PictureOptions) -> None:
        self.tree = tree
        self.min_percent = DEFAULT_MIN_PERCENT if options.min_percent is None else options.min_percent
        #: The largest total that was dropped as small; above the threshold if there were too many functions.
        self.small = 0
        self.states = dict(self._first_states(options))
        if options.folds:
            self._walk()
            self._fold_running()
        self._apply_globs(options.hide, DELETED)
        self._apply_globs(options.contract, JOINED)
        if options.folds or options.min_percent:
            self._fold_small(limited=options.min_percent is None)

    def _first_states(self, options: PictureOptions) -> Iterable[tuple[int, int]]:
        nodes = self.tree.nodes
        for node in self.tree.figures:
            kind = nodes["kind"][node]
            if kind in FUNCTIONS or (kind == "range" and options.style == "default"):
                folded = TORCH if kind == "range" or nodes["package"][node] == "torch" else OTHER
                yield node, folded if options.folds else DRAWN
            elif kind in OPERATORS and (options.ops != "none" or nodes["key"][node].startswith(COMPILED)):
                yield node, DRAWN

    def _walk(self) -> None:
        """Find the functions to draw by what calls them."""
        tree, paths = self.tree, [_NO_CODE]
        framework = [self._is_framework(node) for node in range(len(tree.nodes["kind"]))]
        public = [self._is_public(node) for node in range(len(tree.nodes["kind"]))]
        for row, (node, parent) in enumerate(zip(tree.contexts["node"], tree.parents, strict=True)):
            path = paths[parent + 1]
            drawn = False
            if tree.kinds[row] == "range":
                drawn = parent >= 0 and self._opens_range(parent, framework)
            elif tree.kinds[row] in FUNCTIONS:
                shown = path == _IN_CODE and public[node]
                path = path if framework[node] and not shown else _IN_LIBRARY if framework[node] else _IN_CODE
                talks = tree.nodes["file"][node] in _COMMUNICATION and not _is_machinery(tree.nodes["name"][node])
                drawn = not framework[node] or shown or talks
            paths.append(path)
            if drawn and tree.drawn[row] >= 0:
                self.states[node] = INNER if not framework[node] and self._is_inner(node) else DRAWN

    def _is_framework(self, node: int) -> bool:
        nodes = self.tree.nodes
        return nodes["from"][node] in ("stdlib", "generated") or nodes["package"][node] == "torch"

    def _is_public(self, node: int) -> bool:
        """Return whether a function of a framework is drawn. Context managers such as record_function are machinery."""
        file, name = self.tree.nodes["file"][node], self.tree.nodes["name"][node]
        manager = file.startswith("torch/autograd/") and name == "__init__"
        private_folder = "/" in file.partition("/_")[2]
        return not (manager or private_folder or _is_machinery(name))

    def _is_inner(self, node: int) -> bool:
        """Return whether a function is a part of the function around it (Python 3.12 has no frames for most
        comprehensions), or is made by a decorator: one box would have all calls of all decorated functions."""
        nodes = self.tree.nodes
        return nodes["kind"][node] in FUNCTIONS and is_inner(nodes["name"][node], nodes["qualified"][node])

    def _opens_range(self, row: int, framework: list[bool]) -> bool:
        """Return whether a range below this context belongs to the user: a function of the user opened it."""
        node = self.tree.contexts["node"][row]
        if self.tree.kinds[row] == "range":
            return self.states.get(node) == DRAWN
        return self.tree.kinds[row] in FUNCTIONS and not framework[node]

    def _part(self, node: int) -> int:
        kind = self.tree.nodes["kind"][node]
        if kind in OPERATORS:
            return _OPERATORS
        return _LIBRARY if kind in FUNCTIONS and self.tree.nodes["from"][node] != "project" else _USER

    def _of_state(self, state: int) -> list[int]:
        return [node for node, found in self.states.items() if found == state]

    def _fold_running(self) -> None:
        """Fold functions that were already running: a tower of boxes with all of the time above the first call. Of a
        tower of functions of the user, the first and the last ones are drawn."""
        figures, rows = self.tree.figures, {node: row for row, node in reversed([*enumerate(self.tree.drawn)])}
        running = [node for node in self._of_state(DRAWN) if figures[node].calls + figures[node].resumes == 0]
        parts = {part: [node for node in running if self._part(node) == part] for part in (_USER, _LIBRARY)}
        tower = [node for node in parts[_USER] if figures[node].total >= 0.99 * self.tree.whole]
        inner = sorted(tower, key=rows.__getitem__)[1:-2] if len(tower) > _TOWER else []
        self.states |= dict.fromkeys(parts[_LIBRARY] + inner, RUNNING)

    def _apply_globs(self, globs: Iterable[str], state: int) -> None:
        nodes = self.tree.nodes
        for glob in globs:
            for node in self.states:
                matched = matches(glob, nodes["key"][node]) or matches(glob, nodes["package"][node])
                if matched and self.states[node] != DELETED:
                    self.states[node] = state

    def _fold_small(self, limited: bool) -> None:
        least = self.min_percent / 100 * self.tree.whole
        drawn = self._of_state(DRAWN)
        last = [self._total_of_last(drawn, part) if limited else 0 for part in range(len(_LIMITS))]
        for node in drawn:
            total = self.tree.figures[node].total
            if total < least or total < last[self._part(node)]:
                self.states[node] = SMALL
                self.small = max(self.small, total)

    def _total_of_last(self, drawn: Iterable[int], part: int) -> int:
        """Return the total above which functions of a part are drawn: that of the last one within the limit, 0 if all
        are within it. Functions of libraries that were already running are above the code of the user and are not
        counted."""
        figures = [self.tree.figures[node] for node in drawn if self._part(node) == part]
        totals = sorted((each.total for each in figures if part != _LIBRARY or each.calls > 0), reverse=True)
        return totals[_LIMITS[part] - 1] if len(totals) > _LIMITS[part] else 0


def _is_machinery(name: str) -> bool:
    """Return whether a name is that of wrappers, or of a special method that is not called by name."""
    return (name.startswith("_") and name not in _SPECIAL) or name.startswith("<") or name in _MACHINERY
