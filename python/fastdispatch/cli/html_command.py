"""``fastdispatch html``: a page to look at a recording in a browser."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fastdispatch import Error, load
from fastdispatch.cli.numbers import within
from fastdispatch.cli.output import write
from fastdispatch.cli.paths import Input, OutputFile
from fastdispatch.read.privacy import is_anonymous, shown

if TYPE_CHECKING:
    from fastdispatch.page.html import Wanted

_DESCRIPTION = """One file that shows the recording in a browser: flame graph, call graph, tables, modules, timeline,
ranks. It opens from a disk, needs no network, and holds all its data."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("html", help="a page to look at it in a browser", description=_DESCRIPTION)
    parser.add_argument("path", type=Input, metavar="PATH", help="a recording, run directory, dump or merge")
    parser.add_argument("-o", dest="output", required=True, type=OutputFile, metavar="FILE", help="the page")
    parser.add_argument("--source", action="store_true", help="with the text of functions whose files are found here")
    parser.add_argument("--max-mb", type=within(1, 2000), default=16.0, metavar="N", help="of the file; default: 16")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.page.html import page

    wanted = wanted_of(arguments)
    write(arguments.output, page(load(arguments.path, timeline=True), shown(arguments.path), wanted))


def wanted_of(arguments: argparse.Namespace) -> Wanted:
    """Of this command and of ``diff --html``."""
    from fastdispatch.page.html import Wanted

    if arguments.source and is_anonymous():
        raise Error(f"{arguments.command}: --source shows code, --anonymize hides it: give one of them")
    return Wanted(source=arguments.source, most=int(arguments.max_mb * 1e6))
