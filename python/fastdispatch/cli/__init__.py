"""The command line: one module per command, each with ``add(commands)`` and a function of the parsed arguments."""

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from fastdispatch import __version__
from fastdispatch._core import Error
from fastdispatch.cli import paths
from fastdispatch.cli.messages import message
from fastdispatch.read.trace import SKIPPED, reporting_incomplete

#: In the order of the help text.
_NAMES = """
run attach report findings html svg diff top stacks resume merge anonymize sql export timeline et pipeline doctor
"""
COMMANDS = tuple(_NAMES.split())

#: Commands with actions, each a folder with one module per action: the actions, and the help.
GROUPS = {
    "timeline": ("merge stats check", "merge, check and summarize timelines"),
    "et": ("export link convert info check", "convert and analyze execution traces"),
    "pipeline": ("convert optimize partition plan profile report", "plan, profile and analyze pipeline parallelism"),
}
#: The end of their descriptions.
_ENDS = {"timeline": " of ranks", "et": " of PyTorch and Chakra"}

BAD_INPUT = 2

#: The packages of the extra ``view``: recording does not need them.
_VIEW = ("rich", "jinja2", "textual", "numpy")

_OUT_OF_MEMORY = "out of memory"
#: The message of threading where the stack of a thread does not fit into memory.
_NO_THREAD = "can't start new thread"
#: Parts of the message of the linker where a shared library does not fit.
_NO_LIBRARY = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")


class _ArgumentParser(argparse.ArgumentParser):
    """Print each mistake as one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"fastdispatch: {message} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest the nearest choice; otherwise list the choices."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        near = difflib.get_close_matches(str(value), names, n=1)
        choices = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(map(repr, names))}"
        raise argparse.ArgumentError(action, f"invalid choice: {value!r} ({choices})")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Reject ``--rank=--``: argparse counts the dashes as a value, then drops them."""
        if action.option_strings and arg_strings == ["--"]:
            self.error(f"argument {'/'.join(action.option_strings)}: '--' is not a value")
        return super()._get_values(action, arg_strings)


def parser(command: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands, or of one: it imports and makes only that one."""
    top = _ArgumentParser(prog="fastdispatch", description="Record a PyTorch training run and inspect its call graph.")
    top.add_argument("--version", action="version", version=f"fastdispatch {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in (command,) if command in COMMANDS else COMMANDS:
        if name in GROUPS:
            _add_group(commands, name)
        else:
            import_module(f"fastdispatch.cli.{name}_command").add(commands)
    return top


def _add_group(commands: Any, name: str) -> None:
    names, words = GROUPS[name]
    parser = commands.add_parser(name, help=words, description=f"{words.capitalize()}{_ENDS.get(name, '')}.")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action in names.split():
        import_module(f"fastdispatch.cli.{name}.{name}_{action}").add(actions)


#: Commands whose first line of text says that a recording is incomplete.
_WITH_OWN_LINE = ("report", "top", "stacks")


def _reporter(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Return a function that prints each line about an incomplete or skipped recording once, before the output of the
    command. Some commands have lines about incomplete ones in their output."""
    own = arguments.command in _WITH_OWN_LINE and not arguments.json
    printed: set[str] = set()

    def report(line: str) -> None:
        if line not in printed and not (own and not line.startswith(SKIPPED)):
            printed.add(line)
            message(line)

    return report


def _missing_view(error: ModuleNotFoundError) -> str | None:
    """Return the package of the extra ``view`` that a module of fastdispatch failed to import, not one of the program
    that ``run`` records."""
    package, importer, trace = (error.name or "").partition(".")[0], "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        importer = importer if name.startswith("importlib.") else name
        trace = trace.tb_next
    return package if package in _VIEW and importer.startswith("fastdispatch.") else None


def _memory_line(error: Exception) -> str | None:
    """Return the line for an error that stems from a lack of memory, None for others."""
    line = str(error)
    if isinstance(error, RuntimeError) and line != _NO_THREAD:
        return None
    if isinstance(error, ImportError) and not any(part in line for part in _NO_LIBRARY):
        return None
    return line if _OUT_OF_MEMORY in line else _OUT_OF_MEMORY


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 success, 1 failed check, 2 bad input. Without a command, print the
    help."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words in ([group] for group in GROUPS):
        words.append("--help")
    try:
        if words[0] == "pipeline":
            from fastdispatch.cli.pipeline import spelled

            words = spelled(words)
        arguments = parser(words[0]).parse_args(words)
        paths.check(arguments)
        with reporting_incomplete(_reporter(arguments)), paths.standard_output(arguments):
            return arguments.function(arguments) or 0
    except Error as error:
        message(str(error))
        return BAD_INPUT
    except ModuleNotFoundError as error:
        package = _missing_view(error)
        if package is None:
            raise
        line = f"{words[0]} needs the package {package}: pip install 'fastdispatch[view]'"
        message(line)
        return BAD_INPUT
    except (MemoryError, RuntimeError, ImportError) as error:
        reason = _memory_line(error)
        if reason is None:
            raise
        message(reason)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader closed the pipe. Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
