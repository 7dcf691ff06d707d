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
    "where",
    "switch",
    "merge",
    "dump",
    "export",
    "timeline",
    "et",
    "pipeline",
)

#: Commands with actions of their own, each a folder.
GROUPS = ("timeline", "et", "pipeline")

BAD_INPUT = 2


class _Parser(argparse.ArgumentParser):
    """A mistake is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"fastdispatch: {message} (see {self.prog} --help)\n")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """``--rank=--`` would be an option without a value: argparse drops the dashes after it has counted them."""
        if action.option_strings and arg_strings == ["--"]:
            self.error(f"argument {'/'.join(action.option_strings)}: '--' is no value")
        return super()._get_values(action, arg_strings)


def parser() -> argparse.ArgumentParser:
    top = _Parser(prog="fastdispatch", description="See what a PyTorch training run does.")
    top.add_argument("--version", action="version", version=f"fastdispatch {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"fastdispatch.cli.{name if name in GROUPS else f'{name}_command'}").add(commands)
    for name in (*private.COMMANDS, *private.REFUSING):
        private.add(commands.choices[name])
    return top


#: Commands whose first line of text says that a recording is incomplete.
_WITH_OWN_LINE = ("report", "top", "where")


def _reporter(arguments: argparse.Namespace) -> Callable[[str], None] | None:
    """Prints lines about incomplete recordings, each once, before the output of the command."""
    if arguments.command in _WITH_OWN_LINE and not arguments.json:
        return None
    printed: set[str] = set()

    def report(line: str) -> None:
        if line not in printed:
            printed.add(line)
            print(f"fastdispatch: {printable(line)}", file=sys.stderr, flush=True)

    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; answers the exit status: 0 success, 1 a check failed, 2 bad input."""
    arguments = parser().parse_args(argv)
    try:
        paths.check(arguments)
        with privacy.private(private.asked(arguments)), reporting_incomplete(_reporter(arguments)):
            return arguments.function(arguments) or 0
    except Error as error:
        print(f"fastdispatch: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # Whoever read our output has seen enough. Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
