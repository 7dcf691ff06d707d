"""``fastdispatch html``: a recording as a self-contained HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path

from fastdispatch._core import Error
from fastdispatch.cli.numbers import add_steps
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import add_input, add_output
from fastdispatch.files.output import write

_DESCRIPTION = """Write a self-contained HTML report of a recording: overview, flame graph, call graph, table, modules,
timeline and source. The file includes all its data and needs no network."""
_OPTIONS = """
--open    open the report in a browser
--source  include the source code of functions, where their files are found
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("html", help="write a self-contained HTML report", description=_DESCRIPTION)
    add_input(parser)
    add_output(parser, "write the report to FILE", default="page.html")
    add_options(parser, _OPTIONS)
    add_steps(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.page.html import PageOptions, page

    trace = load_run(arguments.path, timeline=True, steps=arguments.steps)
    write(arguments.output, page(trace, arguments.path, PageOptions(source=arguments.source)))
    if arguments.open:
        import webbrowser

        if not webbrowser.open(Path(arguments.output).resolve().as_uri()):
            raise Error(f"{arguments.output}: written, but no browser could be started: open the file by hand")
