"""Write docs/reference/cli.md from the argument parser: ``python docs/reference/make_cli.py [--check]``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from fastdispatch import cli

PAGE = Path(__file__).parent / "cli.md"

_HEAD = """# Command line

Generated from the argument parser by `python docs/reference/make_cli.py`; do not edit. Exit status of every command: 0
success, 1 a check failed, 2 bad input.
"""


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Parsers without subcommands, in the order of the help text."""
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nested:
        yield parser
    for action in nested:
        for child in dict.fromkeys(action.choices.values()):
            yield from commands(child)


def escaped(text: str) -> str:
    return re.sub(r"([|<*])", r"\\\1", re.sub(r"\s+", " ", text)).strip()


def metavar_of(action: argparse.Action) -> str:
    if action.metavar is not None:
        return action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()


def spelling(action: argparse.Action) -> str:
    """`--top N`, `-o, --out DIR`, `PATH...`."""
    value = "" if action.nargs == 0 else metavar_of(action)
    if action.nargs in ("*", "+", argparse.REMAINDER):
        value += "..."
    if action.nargs in ("?", "*"):
        value = f"[{value}]"
    return f"{', '.join(action.option_strings)} {value}".strip()


def section(parser: argparse.ArgumentParser) -> str:
    formatter = parser._get_formatter()
    lines = [f"## {parser.prog}", "", re.sub(r"\s+", " ", parser.description or "").strip(), ""]
    rows = []
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            spelled = spelling(action).replace("|", "\\|")
            rows.append(f"| `{spelled}` | {escaped(formatter._expand_help(action)) if action.help else ''} |")
    return "\n".join([*lines, *(["| argument | meaning |", "|---|---|", *rows, ""] if rows else [])])


def page() -> str:
    return "\n".join([_HEAD, *(section(parser) for parser in commands(cli.parser()))])


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
