"""``%%fastdispatch``: record a cell of a notebook (``%load_ext fastdispatch``)."""

import argparse
import ast
import shlex
from typing import Any, NoReturn

from fastdispatch import _core
from fastdispatch.record.callgraph import CallGraph
from fastdispatch.record.options import options_of

_DESCRIPTION = "Record the cell and display its report, which is the result of the cell: a CallGraph."


class _MagicParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _core.Error(f"%%fastdispatch: {message}: {self.format_usage().strip()}")


def parser() -> argparse.ArgumentParser:
    made = _MagicParser(prog="%%fastdispatch", description=_DESCRIPTION, add_help=False)
    made.add_argument("-o", "--output", default="fastdispatch-out", metavar="DIR", help="the run directory")
    made.add_argument("--memory", action="store_true", help="record in memory, without a run directory")
    made.add_argument("--name", metavar="NAME", help="also assign the CallGraph to this variable")
    made.add_argument("--steps", metavar="A:B", help="record only steps A to B-1")
    made.add_argument(
        "--options", default="", metavar="NAME=VALUE,...", help="other arguments of CallGraph: ops=dispatch,timing=0"
    )
    return made


def register(shell: Any) -> None:
    """Register the magic in an IPython shell."""
    shell.register_magic_function(lambda line, cell: record_cell(shell, line, cell), "cell", "fastdispatch")


def record_cell(shell: Any, line: str, cell: str) -> CallGraph:
    """Run a cell in the namespace of the shell and return its recording. Exceptions of the cell propagate."""
    arguments = parser().parse_args(shlex.split(line))
    out = None if arguments.memory else arguments.output
    try:
        graph = CallGraph(out, steps=arguments.steps, **options_of(arguments.options))
    except (TypeError, ValueError) as error:
        raise _core.Error(f"%%fastdispatch --options {arguments.options}: {error}") from None
    codes = _compiled(shell, cell)
    with graph:
        for code in codes:
            exec(code, shell.user_ns)
    if arguments.name:
        shell.user_ns[arguments.name] = graph
    return graph


def _compiled(shell: Any, cell: str) -> list[Any]:
    """Compile a cell as the shell does: with its magics, its name in tracebacks, and the value of the last
    expression displayed."""
    text = shell.transform_cell(cell)
    name = shell.compile.cache(text, shell.execution_count, raw_code=cell)
    tree = shell.transform_ast(ast.parse(text, name))
    quiet = cell.rstrip().endswith(";")  # the value is not displayed
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not quiet else None
    codes = [shell.compile(tree, name, "exec")]
    if last is not None:
        codes.append(shell.compile(ast.Interactive([last]), name, "single"))
    return codes
