"""Calls with placeholders, ``torch.add(%0, %1, alpha=2)``: ``%0`` is the value of a node's first edge.

Read as Python's syntax and checked part by part, so that nothing but arithmetic, items, and known functions and methods
of tensors gets into a program.
"""

import ast
import re
from collections.abc import Sequence

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.templates import table

_PLACEHOLDER = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|%(\d+)""")
_NAME = re.compile(r"_fd_(\d+)")
_MODULES = ("torch", "torch.nn.functional", "torch.special", "torch.linalg")

#: Functions and methods without effects but on their arguments. With an underscore behind it they write the first.
_KNOWN = frozenset(table("tensor_functions").split())

_INERT = (
    *(ast.Expression, ast.Constant, ast.Tuple, ast.List, ast.Slice, ast.Subscript, ast.UnaryOp, ast.BinOp, ast.Compare),
    *(ast.Load, ast.operator, ast.unaryop, ast.cmpop, ast.keyword),
)


class LayerCall:
    """An expression over the inputs of a node."""

    def __init__(self, text: str, start: str = ""):
        """``start``: the called expression, if the text is only arguments in parentheses."""
        source = _PLACEHOLDER.sub(lambda match: match[1] or f"_fd_{match[2]}", text.strip())
        self.bare = source.startswith("(") and start != ""
        try:
            self._tree = ast.parse(f"{start}{source}" if self.bare else source, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Error(f"its call is not an expression: {text[:60]}") from None
        _check(self._tree.body, start if self.bare else None)
        self.uses = sorted({int(_NAME.fullmatch(name.id)[1]) for name in self._names()})  # type: ignore[index]

    def _names(self) -> list[ast.Name]:
        return [each for each in ast.walk(self._tree) if isinstance(each, ast.Name) and _NAME.fullmatch(each.id)]

    @property
    def written(self) -> int | None:
        """The input that it writes, if any: that of ``%0.add_(...)`` and ``torch.relu_(%0)``."""
        call = self._tree.body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
            targets = call.args if _is_torch(call.func) else [call.func.value]
            found = _NAME.fullmatch(targets[0].id) if targets and isinstance(targets[0], ast.Name) else None
            return int(found[1]) if found else None
        return None

    @property
    def is_size(self) -> bool:
        """Return whether it certainly returns a number."""
        call = self._tree.body
        method = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
        return method in ("dim", "numel", "item") or (method == "size" and bool(getattr(call, "args", None)))

    def source(self, names: Sequence[str]) -> str:
        """As Python, with these names for the inputs."""
        return _NAME.sub(lambda match: names[int(match[1])], ast.unparse(self._tree))


def _dotted(node: ast.expr) -> str | None:
    """``torch.nn.functional`` of ``torch.nn.functional.relu``; None for a method."""
    names = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name) and inner.id == "torch":
        return ".".join(["torch", *reversed(names[1:])])
    return None


def _check(node: ast.expr, start: str | None) -> None:
    """Refuse what is neither data nor a known function."""
    stack: list[ast.AST] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.Call):
            if start is None or ast.unparse(each.func) != start:
                _check_function(each.func)
                stack += [each.func.value] if isinstance(each.func, ast.Attribute) and not _is_torch(each.func) else []
            stack += [*each.args, *(keyword.value for keyword in each.keywords)]
        elif isinstance(each, ast.Attribute):
            if not (
                each.attr in ("shape", "T", "mT", "dtype", "device")
                or (_dotted(each) == "torch" and _is_type(each.attr))
            ):
                raise Error(f"its call takes .{each.attr}, which is not supported")
            stack += [] if _is_torch(each) else [each.value]
        elif isinstance(each, ast.Name):
            if not _NAME.fullmatch(each.id):
                raise Error(f"its call takes {each.id}, which is not supported")
        elif isinstance(each, _INERT):
            stack += list(ast.iter_child_nodes(each))
        else:
            raise Error(f"its call has a {type(each).__name__}, which is not supported")


def _is_torch(node: ast.expr) -> bool:
    return _dotted(node) is not None


def _is_type(name: str) -> bool:
    return (
        re.fullmatch(
            r"(bool|b?float|double|half|long|int|short|u?int|complex|strided|channels_last|contiguous_format|preserve_format)\d*",
            name,
        )
        is not None
    )


def _check_function(function: ast.expr) -> None:
    if not isinstance(function, ast.Attribute):
        raise Error(f"its call calls {ast.unparse(function)[:40]}, which is not supported")
    module = _dotted(function)
    if function.attr.rstrip("_") not in _KNOWN or (module is not None and module not in _MODULES):
        raise Error(f"its call calls {ast.unparse(function)[:40]}, which is not supported")
