"""Former names of commands and options: accepted, absent from the help."""

from __future__ import annotations

import argparse
import copy


def command(commands: argparse._SubParsersAction[argparse.ArgumentParser], former: str, name: str) -> None:
    """Accept ``former`` for the command ``name``."""
    commands.choices[name].set_defaults(command=name)
    commands._name_parser_map[former] = commands.choices[name]


def option(parser: argparse._ActionsContainer, former: str, name: str) -> None:
    """Accept ``former`` for the option ``name`` of a parser or group."""
    action = copy.copy(parser._option_string_actions[name])
    action.option_strings, action.help, action.default = [former], argparse.SUPPRESS, argparse.SUPPRESS
    parser._add_action(action)
