"""Plumbing: functions that only pass a call on. Views fold them into their callers by default."""

from fastdispatch.read.columns import rows
from fastdispatch.read.trace import Columns, Trace

#: Kinds of nodes that are functions: of Python, and C functions.
FUNCTIONS = ("python", "c")

_LIBRARIES = ("site", "stdlib")

#: Functions of libraries, by name: calls of modules, decorators, context managers, threads.
_PASSING = """
_wrapped_call_impl _call_impl __call__ __torch_function__ _use_grad _disable_dynamo _fn _run_code _run_ddp_forward
_bootstrap _bootstrap_inner decorate_context decorated fn func inner maybe_fallback wrapped
"""
_NAMES = set(_PASSING.split())

#: Functions of the engine of autograd between a call of ``backward`` and its nodes.
_AUTOGRAD = {
    "torch/autograd/__init__.py:[]:backward",
    "torch/autograd/graph.py:[]:_engine_run_backward",
    "torch/autograd/function.py:[BackwardCFunction]:apply",
}

#: Files of which every function is plumbing.
_FILES = {"contextlib.py", "functools.py", "typing.py", "torch/utils/_contextlib.py"}

#: Parts of frameworks that carry the calls of the program's training loop.
_FOLDERS = tuple(
    f"{package}/{part}"
    for package in ("lightning/pytorch", "pytorch_lightning")
    for part in ("core/optimizer.py", "loops/", "plugins/precision/", "strategies/", "trainer/")
)

_COMPREHENSIONS = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}


def plumbing(nodes: Columns) -> list[int]:
    """Return 1 for each node that is plumbing, 0 for others. ``nodes`` is the table of a trace."""
    columns = rows(nodes, "kind from file name qualified key")
    return [int(kind == "python" and _passes_on(*row)) for kind, *row in columns]


def _passes_on(source: str, file: str, name: str, qualified: str, key: str) -> bool:
    if is_inner(name, qualified):
        return True
    library = source in ("site", "stdlib", "generated")
    return library and (
        name in _NAMES or file in _FILES or file.startswith(_FOLDERS) or key.partition("@")[0] in _AUTOGRAD
    )


def is_inner(name: str, qualified: str) -> bool:
    """Return whether a function is a part of the function around it, or was made by a decorator."""
    wrapper = "wrap" in name or name in ("inner", "decorate_context", "decorated")
    return name in _COMPREHENSIONS or (wrapper and "<locals>." in qualified)


def is_library(trace: Trace, node: int) -> bool:
    """Return whether a node is a function of PyTorch, the standard library or another installed package."""
    return trace.nodes["kind"][node] in FUNCTIONS and trace.nodes["from"][node] in _LIBRARIES
