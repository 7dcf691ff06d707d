"""Lines of the program's source, if it is on this machine: where in a function a call is."""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from fastdispatch.read.source_files import find_source, source_folders
from fastdispatch.read.trace import Trace


class Sources:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.trees: dict[str, ast.Module | None] = {}
        self.texts: dict[str, list[str]] = {}

    @cached_property
    def folders(self) -> list[Path]:
        return list(source_folders(self.trace))

    def lines(self, file: str) -> list[str]:
        """Return the lines of a recorded file; empty if it is absent, or different from the recorded one."""
        if file not in self.texts:
            nodes = self.trace.nodes
            functions = [
                (name, line)
                for name, line, each in zip(nodes["name"], nodes["line"], nodes["file"], strict=True)
                if each == file and line
            ]
            path, lines = find_source(file, self.folders, functions)
            self.texts[file] = [] if path is None else lines
        return self.texts[file]

    def text(self, node: int, line: int) -> str:
        """Return a line of the file of a recorded function, as a traceback shows it; empty if it is unknown."""
        lines = self.lines(self.trace.nodes["file"][node]) if line > 0 else []
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def tree(self, file: str) -> ast.Module | None:
        """Return the syntax tree of a recorded file; None if it is absent, or different from the recorded one."""
        if file not in self.trees:
            lines = self.lines(file)
            try:
                self.trees[file] = ast.parse("".join(lines)) if lines else None
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self.trees[file] = None
        return self.trees[file]

    def function(self, node: int) -> ast.AST | None:
        """Return the definition of a recorded function, or the module of a ``<module>``."""
        nodes = self.trace.nodes
        tree, line, name = self.tree(nodes["file"][node]), nodes["line"][node], nodes["name"][node]
        if tree is None or name == "<module>":
            return tree
        for found in ast.walk(tree):
            if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)) and found.name == name:
                first = min([found.lineno, *(each.lineno for each in found.decorator_list)])
                if first <= line <= found.lineno:
                    return found
        return None

    def arguments(self, node: int) -> set[str]:
        """Return the names of the parameters of a function; empty without its source."""
        function = self.function(node)
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return set()
        every = function.args
        return {each.arg for each in (*every.posonlyargs, *every.args, *every.kwonlyargs)}

    def line(self, node: int, names: Sequence[str], in_loop: bool = False) -> int:
        """Return the line of the first call of one of ``names`` in a function, in the order of the names; 0 without.
        ``in_loop``: prefer calls in a loop, of a function that runs through all steps."""
        found = self.calls(node)
        loops = [each for each in self.parts(node) if in_loop and isinstance(each, _LOOPS)]
        repeated = {id(part) for loop in loops for part in _again(loop)}
        plain = _assigned(self.parts(node))
        for name in names:
            named = [
                call for call in found if called(call) == name and not is_cast(call) and not _of_number(call, plain)
            ]
            for call in sorted(named, key=lambda call: id(call) not in repeated):
                return call.func.end_lineno or call.lineno
        return 0

    def repeated(self, node: int, names: Sequence[str]) -> int:
        """Return the line of the first call or expression in a loop of a function that an operator or function of
        ``names`` executes, in the order of the names; else the line of its only loop; 0 without."""
        loops = [each for each in self.parts(node) if isinstance(each, _LOOPS)]
        parts = {part for loop in loops for part in _again(loop) if isinstance(part, (ast.expr, ast.stmt))}
        found = sorted(parts, key=lambda part: (part.lineno, part.col_offset))
        for name in names:
            for part in found:
                if _executes(part, name):
                    return part.func.end_lineno or part.lineno if isinstance(part, ast.Call) else part.lineno
        return loops[0].lineno if len(loops) == 1 else 0

    def branch(self, node: int) -> int:
        """Return the line of the only branch of a function on a comparison or call; 0 if there are several."""
        found = [
            each.test.lineno
            for each in self.parts(node)
            if isinstance(each, (ast.If, ast.While, ast.IfExp, ast.Assert))
            and any(isinstance(part, (ast.Compare, ast.Call)) for part in ast.walk(each.test))
        ]
        return found[0] if len(found) == 1 else 0

    def in_every_step(self, node: int, names: Sequence[str], repeated: bool) -> list[ast.Call]:
        """Return the calls of ``names`` without arguments that each step makes: outside of branches, in a function that
        each step calls (``repeated``), else in a loop with a call of ``backward`` or ``step``."""
        function = self.function(node)
        if function is None:
            return []
        starts: list[ast.AST] = [function]
        if not repeated:
            loops = [each for each in unconditional(function) if isinstance(each, (ast.For, ast.While))]
            starts = [loop for loop in loops if {"backward", "step"} & set(map(called, _calls_in(loop)))]
        found = [call for start in starts for call in _calls_in(start) if called(call) in names and not call.args]
        return sorted({id(call): call for call in found}.values(), key=lambda call: call.lineno)

    def discards(self, node: int, name: str) -> bool:
        """Return whether a function calls ``name``, uses no result of it, and gives it no object to store one in."""
        alone = {id(each.value) for each in self.parts(node) if isinstance(each, ast.Expr)}
        found = [call for call in self.calls(node) if called(call) == name]
        given = any(call.args or call.keywords or not isinstance(call.func, ast.Name) for call in found)
        return bool(found) and not given and all(id(call) in alone for call in found)

    def calls(self, node: int) -> list[ast.Call]:
        """Return the calls in a function, by line, without those in functions and classes defined in it."""
        found = [each for each in self.parts(node) if isinstance(each, ast.Call)]
        return sorted(found, key=lambda each: (each.lineno, each.col_offset))

    def parts(self, node: int) -> Iterator[ast.AST]:
        """Yield the nodes of the source of a function; none if it is not on this machine."""
        function = self.function(node)
        return iter(()) if function is None else inside(function)


#: Parts with local names.
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

#: Statements and expressions that repeat a part of themselves.
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

#: How Python spells operators without a call.
# fmt: off
_SYMBOLS: dict[str, type[ast.AST]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "div": ast.Div, "floor_divide": ast.FloorDiv,
    "remainder": ast.Mod, "pow": ast.Pow, "matmul": ast.MatMult, "neg": ast.USub, "bitwise_not": ast.Invert,
    "__and__": ast.BitAnd, "__or__": ast.BitOr, "eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE,
    "gt": ast.Gt, "ge": ast.GtE, **dict.fromkeys(("select", "slice", "index", "index_put"), ast.Subscript),
}
# fmt: on


def _again(loop: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that a loop repeats: not those of its iterable."""
    parts = [*loop.body] if isinstance(loop, (ast.For, ast.While)) else [loop]
    for part in parts:
        yield part
        yield from inside(part)


def _executes(part: ast.AST, name: str) -> bool:
    """Return whether a call or expression executes an operator or a function of this name."""
    if isinstance(part, ast.Call):
        return called(part) == name
    symbol = _SYMBOLS.get(name)
    if symbol is None:
        return False
    spelled = [part, getattr(part, "op", None), *getattr(part, "ops", [])]
    return any(isinstance(each, symbol) for each in spelled)


def inside(function: ast.AST, closed: tuple[type[ast.AST], ...] = _SCOPES) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those in parts of some kinds: in functions and classes defined in it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, closed):
            waiting += ast.iter_child_nodes(node)


def unconditional(function: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a function that are not in a branch."""
    return inside(function, (*_SCOPES, ast.If, ast.IfExp, ast.ExceptHandler))


def _calls_in(node: ast.AST) -> list[ast.Call]:
    return [each for each in unconditional(node) if isinstance(each, ast.Call)]


def called(call: ast.Call) -> str:
    """Return the last name of what is called: ``item`` for ``loss.item()``."""
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def is_cast(call: ast.Call) -> bool:
    """Return whether a call is ``x.float()``, which reads no value, unlike ``float(x)``."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("float", "int", "bool")


#: Functions that convert a value; of a tensor they read it.
_CONVERSIONS = {"int", "float", "bool"}

#: Names of objects, and of functions with results, other than tensors.
_PLAIN = {"sys", "os", "args", "arguments", "argv", "environ", "opt", "opts", "options", "cfg", "conf", "config"}
_PLAIN |= {"flags", "FLAGS", "hparams", "parser", "time", "random", "json", "re", "pathlib", "Path"}
_PLAIN_RESULTS = {"len", "input", "getenv", "time", "perf_counter", "monotonic", "str", "get_rank", "ord"}
_PLAIN_RESULTS |= {"get_world_size", "read", "strip", "split", "numel", "dim", "size", "device_count", "cpu_count"}
_PLAIN_ATTRIBUTES = {"shape", "ndim", "device", "dtype"}


def _assigned(parts: Iterator[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return the values that the nodes of a function assign to each of its names."""
    found: dict[str, list[ast.expr]] = {}
    for part in parts:
        for target in part.targets if isinstance(part, ast.Assign) else ():
            if isinstance(target, ast.Name) and isinstance(part, ast.Assign):
                found.setdefault(target.id, []).append(part.value)
    return found


def _of_number(call: ast.Call, assigned: dict[str, list[ast.expr]]) -> bool:
    """Return whether a call converts a value that cannot be a tensor, such as ``int(sys.argv[1])``."""
    is_conversion = isinstance(call.func, ast.Name) and call.func.id in _CONVERSIONS
    return is_conversion and (not call.args or _is_plain(call.args[0], assigned))


def _is_plain(value: ast.expr, assigned: dict[str, list[ast.expr]], depth: int = 3) -> bool:
    if isinstance(value, (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict)):
        return True
    if isinstance(value, (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
        parts = [each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)]
        return all(_is_plain(part, assigned, depth) for part in parts)
    if isinstance(value, ast.Call):
        return called(value) in _PLAIN_RESULTS | _CONVERSIONS or _is_plain(value.func, assigned, depth)
    if isinstance(value, ast.Attribute) and value.attr in _PLAIN_ATTRIBUTES:
        return True
    if isinstance(value, (ast.Attribute, ast.Subscript)):
        return _is_plain(value.value, assigned, depth)
    if isinstance(value, ast.Name):
        values = assigned.get(value.id, ()) if depth else ()
        return value.id in _PLAIN or (bool(values) and all(_is_plain(each, assigned, depth - 1) for each in values))
    return False


def keyword(call: ast.Call, name: str) -> object:
    """Return the constant that a call gives for a keyword, None without."""
    for each in call.keywords:
        if each.arg == name and isinstance(each.value, ast.Constant):
            return each.value.value
    return None
