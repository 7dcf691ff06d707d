"""``fastdispatch svg``: the call graph as an image."""

from __future__ import annotations

import argparse

from fastdispatch._core import Error
from fastdispatch.cli.numbers import add_steps, check_gpu, percent, whole
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import PictureFile, add_input, add_output
from fastdispatch.files.output import write
from fastdispatch.read.trace import Trace
from fastdispatch.text.globs import matches

_OPTIONS = """
--style {default,classic}   colour scheme (default: default)
--weight {time,calls,gpu}   quantity that determines the width of lines (default: gpu if kernels were recorded, else
                            time)
--ops [{all,top}]           also draw operators; top: only operators that Python calls directly
--hide GLOB                 remove functions that match GLOB, and their edges; repeatable
--merge-into-caller GLOB    merge functions that match GLOB into their callers; repeatable
--min-percent PERCENT       merge functions below this share of the time into their callers (default: 0.1)
--rank N                    draw only rank N (default: the sum of all ranks)
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "svg", help="draw the call graph", description="Draw the call graph as SVG, PDF or PNG."
    )
    add_input(parser)
    output = "write the image to FILE (.svg, .png or .pdf), or its Graphviz source (.dot)"
    add_output(parser, output, PictureFile, default="callgraph.svg")
    globs = {"action": "append", "default": []}
    ops = {"const": "all", "default": "none"}
    more = {"style": {"default": "default"}, "ops": ops, "hide": globs, "merge_into_caller": globs}
    add_options(parser, _OPTIONS, **more, min_percent=percent, rank=whole)
    add_steps(parser)
    add_options(parser, "--all  draw all functions")
    parser.set_defaults(function=run)


def check_globs(trace: Trace, arguments: argparse.Namespace) -> None:
    """Raise Error for a glob that matches no function, operator or package of the recording."""
    names = {*trace.nodes["key"], *trace.nodes["package"]}
    for option in ("--hide", "--merge-into-caller"):
        for glob in getattr(arguments, option[2:].replace("-", "_")):
            if not any(matches(glob, name) for name in names):
                raise Error(
                    f"{option} {glob}: matches no key and no package (* matches any text; the keys are those of "
                    "fastdispatch report)"
                )


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.graphs.call_exports import call_picture
    from fastdispatch.graphs.call_tree import PictureOptions
    from fastdispatch.page.graphviz import fitted

    trace = load_run(arguments.path, steps=arguments.steps, rank=arguments.rank)
    check_globs(trace, arguments)
    if arguments.weight == "gpu":
        check_gpu(trace, arguments.path, "--weight")
    options = PictureOptions(
        **{name: getattr(arguments, name) for name in ("rank", "style", "weight", "ops", "hide", "min_percent", "all")},
        contract=arguments.merge_into_caller,
    )
    write(arguments.output, fitted(call_picture(trace, options), arguments.style, arguments.output))
