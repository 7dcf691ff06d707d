"""``fastdispatch pipeline report``: where the time of a pipeline goes."""

from __future__ import annotations

import argparse
import sys

from fastdispatch.cli.output import write
from fastdispatch.cli.paths import Input, SvgFile
from fastdispatch.pipeline.report import CHANGES, report

_DESCRIPTION = """Where the time of a pipeline goes: step, bubble next to theory, why stages are idle, who waits for
whom, the critical path, and what would help. RUN is a run directory, a merge, or recordings of the ranks."""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("report", help="where the time of a pipeline goes", description=_DESCRIPTION)
    parser.add_argument("run", nargs="+", type=Input, metavar="RUN")
    parser.add_argument(
        "--iterations",
        type=_span,
        metavar="A:B",
        help="from A up to but not B; default: all whole ones but the first",
    )
    parser.add_argument("--strict", action="store_true", help="refuse ranks whose clocks are not aligned")
    parser.add_argument("--what-if", choices=CHANGES, metavar="CHANGE", help=f"these rows alone: {', '.join(CHANGES)}")
    parser.add_argument(
        "--json", action="store_true", help="all of it (docs/reference/schemas/pipeline-report.schema.json)"
    )
    parser.add_argument("--svg", type=SvgFile, metavar="FILE", help="also draw the iteration in the middle")
    parser.set_defaults(function=run)


def _span(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    try:
        span = int(first or 0), int(last or 2**31 - 1) if colon else int(first) + 1
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write A:B, such as 2:10") from None
    if not 0 <= span[0] < span[1] < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r}: A is a number from 0 on, and B is more")
    return span


def run(arguments: argparse.Namespace) -> None:
    paths = arguments.run if len(arguments.run) > 1 else arguments.run[0]
    made = report(paths, iterations=arguments.iterations, strict=arguments.strict)
    if arguments.svg:
        from fastdispatch.views.pipeline_gantt import picture

        write(arguments.svg, picture(made).encode())
    if arguments.json:
        print(made.to_json())
        return
    from fastdispatch.views.pipeline_report import print_report

    print_report(made, sys.stdout, arguments.what_if)
