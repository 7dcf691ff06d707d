"""Lines of the program's source, if it is on this machine: where in a function a call is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from fastdispatch.page.html_source import find_source, source_folders
from fastdispatch.read.privacy import is_anonymous
from fastdispatch.read.trace import Trace


class Sources:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.trees: dict[str, ast.Module | None] = {}

    @cached_property
    def folders(self) -> list[Path]:
        return [] if is_anonymous() else list(source_folders(self.trace))

    def tree(self, file: str) -> ast.Module | None:
        """Return the syntax tree of a recorded file; None if it is absent, or different from the recorded one."""
        if file not in self.trees:
            nodes = self.trace.nodes
            functions = [
                (name, line)
                for name, line, each in zip(nodes["name"], nodes["line"], nodes["file"], strict=True)
                if each == file and line
            ]
            path, lines = find_source(file, self.folders, functions)
            try:
                self.trees[file] = None if path is None else ast.parse("".join(lines))
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

    def line(self, node: int, names: Sequence[str]) -> int:
        """Return the line of the first call of one of ``names`` in a function, in the order of the names; 0 without."""
        found = list(self.calls(node))
        for name in names:
            for call in found:
                if called(call) == name and not is_cast(call):
                    return call.func.end_lineno or call.lineno
        return 0

    def branch(self, node: int) -> int:
        """Return the line of the only branch of a function on a comparison or call; 0 if there are several."""
        function = self.function(node)
        found = [
            each.test.lineno
            for each in ([] if function is None else inside(function))
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

    def calls(self, node: int) -> Iterator[ast.Call]:
        """Yield the calls in a function, by line, without those in functions and classes defined in it."""
        function = self.function(node)
        if function is not None:
            yield from sorted(
                (each for each in inside(function) if isinstance(each, ast.Call)),
                key=lambda each: (each.lineno, each.col_offset),
            )


def inside(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions and classes defined in it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def unconditional(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are not in a branch."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(
            node,
            (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.If, ast.IfExp, ast.ExceptHandler),
        ):
            waiting += ast.iter_child_nodes(node)


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


def keyword(call: ast.Call, name: str) -> object:
    """Return the constant that a call gives for a keyword, None without."""
    for each in call.keywords:
        if each.arg == name and isinstance(each.value, ast.Constant):
            return each.value.value
    return None
