"""The size of the command line and of CallGraph: options are added rarely, and one goes for one that comes."""

import argparse
import inspect
from collections.abc import Iterator

from fastdispatch import CallGraph
from fastdispatch.cli import parser

#: An export format is not a command.
COMMANDS = 30
#: Options of all commands and export formats, without ``--help``.
OPTIONS = 170
#: Arguments of CallGraph.
ARGUMENTS = 12


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers of commands, without those that only group others."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield parser
    for action in below:
        for each in dict.fromkeys(action.choices.values()):  # a parser may have several names
            yield from leaves(each)


def test_number_of_commands() -> None:
    names = {each.prog.partition(" export ")[0] for each in leaves(parser())}
    assert len(names) <= COMMANDS, sorted(names)


def test_number_of_options() -> None:
    count = 0
    for each in leaves(parser()):
        shown = [action for action in each._actions if action.option_strings and action.help != argparse.SUPPRESS]
        count += sum(not isinstance(action, argparse._HelpAction) for action in shown)
    assert count <= OPTIONS


def test_number_of_arguments() -> None:
    assert len(inspect.signature(CallGraph).parameters) <= ARGUMENTS
