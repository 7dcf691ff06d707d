"""``fastdispatch mcp``: a server of the Model Context Protocol for language-model agents."""

from __future__ import annotations

import argparse
import sys

from fastdispatch.cli.paths import Input

_DESCRIPTION = """Reply to requests of the Model Context Protocol on standard input, until its end. Tools: list_runs,
findings, report, query and diff. They read runs below FOLDER only, and write nothing."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("mcp", help="serve recordings to language-model agents", description=_DESCRIPTION)
    parser.add_argument(
        "folder",
        nargs="?",
        type=Input,
        default=Input("."),
        metavar="FOLDER",
        help="folder with the runs (default: the current folder)",
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.agents.mcp_server import serve
    from fastdispatch.agents.run_folder import RunFolder

    serve(RunFolder(arguments.folder), sys.stdin.buffer, sys.stdout.buffer)
