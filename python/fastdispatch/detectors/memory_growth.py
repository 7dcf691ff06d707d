"""``memory-growth``: memory that each step keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.measures.memory_report import MemoryRow, memory_report
from fastdispatch.measures.memory_report import has_memory as of_paths
from fastdispatch.read.source_calls import called, inside
from fastdispatch.text.formats import size

_DETACHING = ("item", "detach", "float", "tolist", "numpy")

ADVICE = (
    "keep the number, not the tensor: append or add loss.detach(), and read the values after the loop; bound lists and"
    " caches that each step extends"
)


def memory_growth(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """Report memory that grows with the steps, and statements of the source that keep the loss with its graph."""
    ranks = [rank for rank in steps.whole.ranks if has_memory(rank)]
    grown = max(filter(None, map(growth, ranks)), key=lambda each: each.per_step, default=None)
    found = False
    blocks = _blocks(steps)
    details = [detail for rank in steps.whole.ranks for detail in rank["measures"]["detail"]]
    for user, statement in _statements(steps):
        found = True
        yield _finding(steps, steps.where(user), statement, grown, bool(ranks), blocks)
    if blocks is not None and not found:
        yield _finding(steps, Where(blocks.where, blocks.file, blocks.line), None, grown, True, blocks)
    elif grown is not None and not found:
        backward = next(iter(steps.passes), -1)
        yield _finding(steps, steps.where(max(backward, 0)), None, grown, True)
    elif not found and any(steps.paths["gpu_calls"]) and not any("cuda" in detail for detail in details):
        yield "memory of the GPU is not recorded"
    elif not found and not ranks:
        yield f"the memory of fewer than {limits.GROWTH_STEPS} steps was recorded"


def _blocks(steps: MeasuredSteps) -> MemoryRow | None:
    """Return the call path whose live blocks grow most, if memory was measured (docs/guides/memory.md)."""
    if not any(of_paths(rank) for rank in steps.whole.ranks):
        return None
    rows = [row for device in memory_report(steps.whole.trace).devices for row in device.rows]
    found = [row for row in rows if row.growth >= limits.MEMORY_STEP and row.live >= limits.MEMORY_BYTES]
    return max(found, key=lambda row: row.growth, default=None)


def _finding(
    steps: MeasuredSteps,
    where: Where,
    statement: ast.stmt | None,
    grown: Growth | None,
    measured: bool,
    blocks: MemoryRow | None = None,
) -> Finding:
    """Return the finding of a statement, of measured growth, or of both."""
    proof = []
    evidence: dict[str, object] = {}
    if statement is not None:
        where.line = statement.lineno
        evidence["statement"] = ast.unparse(statement)
        proof.append(f"`{ast.unparse(statement)}` keeps a tensor with its autograd graph")
    if grown is not None:
        evidence |= {"bytes_per_step": grown.per_step, "bytes": [grown.first, grown.last], "steps": grown.steps}
        proof.append(
            f"the memory of rank {grown.rank} grows by {size(grown.per_step)} per step, from {size(grown.first)} to"
            f" {size(grown.last)} in {grown.steps} steps"
        )
    elif measured and blocks is None:
        proof.append("the memory of the CPU does not grow steadily")
    if blocks is not None:
        evidence |= {"live_bytes_per_step": blocks.growth, "live_bytes": blocks.live, "operator": blocks.operator}
        proof.append(
            f"live blocks of {blocks.operator or blocks.where} grow by {size(blocks.growth)} per step, with a standard"
            f" error of {size(blocks.error)}, to {size(blocks.live)}"
        )
    name = where.key.rpartition(":")[2]
    keeps = "keeps the graph of each step" if statement is not None else "keeps memory of each step"
    return steps.finding(f"{name} {keeps}", where, 0.0, "; ".join(proof), ADVICE, severity="warning", evidence=evidence)


def _statements(steps: MeasuredSteps) -> Iterator[tuple[int, ast.stmt]]:
    """Yield functions of the program and their statements that keep a loss."""
    users = {steps.user(path) for path in steps.passes if steps.every(path)} - {-1}
    functions = {steps.paths["node"][user]: user for user in users}
    with_callers = dict(functions)
    for user in users:
        caller = steps.user(steps.paths["parent"][user]) if steps.paths["parent"][user] >= 0 else -1
        if caller >= 0:
            with_callers.setdefault(steps.paths["node"][caller], caller)
    returning = {steps.trace.nodes["name"][node] for node in functions if _returns(steps.sources.function(node))}
    for node, user in with_callers.items():
        function = steps.sources.function(node)
        for statement in [] if function is None else _keeping(function, returning, steps.calls(user) >= limits.EVERY):
            yield user, statement


def _losses(function: ast.AST, returning: set[str]) -> set[str]:
    """Return the names of tensors with a graph: ``backward`` is called on them, or a function returned them."""
    names, detached = set(), set()
    for node in inside(function):
        if isinstance(node, ast.Call) and called(node) == "backward" and isinstance(node.func, ast.Attribute):
            names |= {each.id for each in ast.walk(node.func.value) if isinstance(each, ast.Name)}
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            targets = {target.id for target in node.targets if isinstance(target, ast.Name)}
            names |= targets if called(node.value) in returning else set()
            detached |= targets if called(node.value) in _DETACHING else set()
    return names - detached


def _returns(function: ast.AST | None) -> bool:
    """Return whether a function returns a tensor on which it called ``backward``."""
    if function is None:
        return False
    losses = _losses(function, set())
    return any(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Name) and node.value.id in losses
        for node in inside(function)
    )


def _keeping(function: ast.AST, returning: set[str], repeated: bool) -> Iterator[ast.stmt]:
    """Yield statements in loops that keep a tensor with a graph; in a function that each step calls also others that
    extend an object."""
    losses = _losses(function, returning)
    loops = [node for node in inside(function) if isinstance(node, (ast.For, ast.While))]

    def has_graph(value: ast.AST) -> bool:
        if isinstance(value, ast.Name):
            return value.id in losses
        if isinstance(value, ast.BinOp):
            return has_graph(value.left) or has_graph(value.right)
        if isinstance(value, (ast.List, ast.Tuple)):
            return any(map(has_graph, value.elts))
        return isinstance(value, ast.Call) and called(value) in returning

    bodies = [_always(loop.body) for loop in loops]
    if repeated and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        bodies.append(_always(function.body))
    for body in bodies:
        for statement in body:
            if body is bodies[-1] and repeated and not _is_kept(statement):
                continue  # a local variable, which ends with the call
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                call = statement.value
                if called(call) == "append" and len(call.args) == 1 and has_graph(call.args[0]):
                    yield statement
            elif isinstance(statement, ast.AugAssign):
                if has_graph(statement.value) and not _is_reset(body, statement.target, losses):
                    yield statement
            elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
                target = statement.targets[0]
                terms = {ast.dump(each) for each in (statement.value.left, statement.value.right)}
                same = isinstance(target, ast.Name) and ast.dump(ast.Name(target.id, ast.Load())) in terms
                if same and has_graph(statement.value) and not _is_reset(body, target, losses):
                    yield statement


def _always(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a loop that run again and again: also those below ``with``, and below the condition that
    a number is a multiple of another."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        multiple = isinstance(statement, ast.If) and any(isinstance(each, ast.Mod) for each in ast.walk(statement.test))
        if multiple or isinstance(statement, (ast.With, ast.Try)):
            found += _always(statement.body)  # type: ignore[attr-defined]
    return found


def _is_kept(statement: ast.stmt) -> bool:
    """Whether a statement extends an attribute or subscript, as in ``self.losses.append(loss)``."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called_on = statement.value.func
        return isinstance(called_on, ast.Attribute) and isinstance(called_on.value, (ast.Attribute, ast.Subscript))
    return isinstance(statement, ast.AugAssign) and isinstance(statement.target, (ast.Attribute, ast.Subscript))


def _is_reset(body: list[ast.stmt], target: ast.expr, losses: set[str]) -> bool:
    """Whether a sum starts anew in every iteration, or is itself what backward is called on."""
    if isinstance(target, ast.Name) and target.id in losses:
        return True
    name = ast.dump(target)
    return any(
        isinstance(statement, ast.Assign)
        and ast.dump(statement.targets[0]) == name
        and not any(ast.dump(each).replace("Load()", "Store()") == name for each in ast.walk(statement.value))
        for statement in body
    )


@dataclass(frozen=True)
class Growth:
    """Memory that each step keeps, of one rank; ``first`` and ``last`` are bytes at the ends of two steps."""

    rank: int
    first: int
    last: int
    steps: int  # between the two

    @property
    def per_step(self) -> int:
        return (self.last - self.first) // self.steps


def has_memory(rank: dict[str, Any]) -> bool:
    """Return whether the memory of a rank was recorded, for enough steps."""
    points = _points(rank)
    return len(points) >= 3 and points[-1][0] >= limits.GROWTH_STEPS


def growth(rank: dict[str, Any]) -> Growth | None:
    """Return how the memory of a rank grew in the last three quarters of its steps; None if one of these quarters grew
    much less than their mean: a cache fills, pages return after the system reclaimed them, a leak goes on."""
    points = _points(rank)
    last, end = points[-1]
    quarters = [
        max((point for point in points if point[0] <= last * part / 4), default=points[0]) for part in (1, 2, 3, 4)
    ]
    first, begin = quarters[0]
    if any(later[0] <= earlier[0] for earlier, later in pairwise(quarters)):
        return None
    mean = (end - begin) / (last - first)
    rates = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(quarters)]
    if mean < limits.MEMORY_STEP or min(rates) < limits.MEMORY_STEADY * mean:
        return None
    if end - begin < max(limits.MEMORY_RESIDENT, limits.MEMORY_SHARE * begin):
        return None
    return Growth(rank["rank"], begin, end, last - first)


def _points(rank: dict[str, Any]) -> list[tuple[int, int]]:
    """Return ended steps and bytes at ends of steps, without unknown ones."""
    marks = rank["marks"]
    return [point for point in zip(marks["steps"], marks["memory"], strict=True) if point[1]]
