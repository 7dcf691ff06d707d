"""The command line: one module per command, each with ``add(commands)`` and a function of the parsed arguments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from fastdispatch import Error, __version__
from fastdispatch.cli import paths, private
from fastdispatch.read import privacy
from fastdispatch.read.summary import printable
from fastdispatch.read.trace import reporting_incomplete

#: In the order of the help text.
COMMANDS = (
    "run",
    "report",
    "html",
    "svg",
    "diff",
    "top",
    "stacks",
    "resume",
    "merge",
    "dump",
    "export",
    "timeline",
    "et",
    "pipeline",
    "doctor",
)

#: Commands with actions; each is a folder.
GROUPS = ("timeline", "et", "pipeline")

BAD_INPUT = 2

_OUT_OF_MEMORY = "out of memory"
#: The message of threading where the stack of a thread does not fit into memory.
_NO_THREAD = "can't start new thread"


class _Parser(argparse.ArgumentParser):
    """Print each mistake as one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"fastdispatch: {message} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest only the commands of the help, without former names."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = ", ".join(repr(choice.dest) for choice in action._choices_actions)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r} (choose from {names})")
        super()._check_value(action, value)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Reject ``--rank=--``: argparse counts the dashes as a value, then drops them."""
        if action.option_strings and arg_strings == ["--"]:
            self.error(f"argument {'/'.join(action.option_strings)}: '--' is not a value")
        return super()._get_values(action, arg_strings)


def parser() -> argparse.ArgumentParser:
    top = _Parser(prog="fastdispatch", description="Record a PyTorch training run and inspect its call graph.")
    top.add_argument("--version", action="version", version=f"fastdispatch {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"fastdispatch.cli.{name if name in GROUPS else f'{name}_command'}").add(commands)
    for name in (*private.COMMANDS, *private.REFUSING):
        private.add(commands.choices[name])
    return top


#: Commands whose first line of text says that a recording is incomplete.
_WITH_OWN_LINE = ("report", "top", "stacks")


def _reporter(arguments: argparse.Namespace) -> Callable[[str], None] | None:
    """Return a function that prints each line about an incomplete recording once, before the output of the command."""
    if arguments.command in _WITH_OWN_LINE and not arguments.json:
        return None
    printed: set[str] = set()

    def report(line: str) -> None:
        if line not in printed:
            printed.add(line)
            print(f"fastdispatch: {printable(line)}", file=sys.stderr, flush=True)

    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 success, 1 failed check, 2 bad input."""
    arguments = parser().parse_args(argv)
    try:
        paths.check(arguments)
        with privacy.private(private.asked(arguments)), reporting_incomplete(_reporter(arguments)):
            return arguments.function(arguments) or 0
    except Error as error:
        print(f"fastdispatch: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except (MemoryError, RuntimeError) as error:
        line = str(error)
        if isinstance(error, RuntimeError) and line != _NO_THREAD:
            raise
        print(f"fastdispatch: {printable(line) if _OUT_OF_MEMORY in line else _OUT_OF_MEMORY}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader closed the pipe. Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
