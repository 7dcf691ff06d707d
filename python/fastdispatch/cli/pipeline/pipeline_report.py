"""``fastdispatch pipeline report``: analysis of the time of a pipeline."""

from __future__ import annotations

import argparse
import sys

from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import LAST_RUN, Input, SvgFile, last_run
from fastdispatch.cli.timeline.timeline_merge import add_aligned
from fastdispatch.files.output import write
from fastdispatch.pipeline.report import report

_DESCRIPTION = """Analyze the time of a pipeline: step time, measured and theoretical bubble, causes of idle time, waits
between stages, the critical path, and estimated improvements. RUN is a run directory, a merge, or recordings of
ranks."""
_RECORDED = f"""
run [RUN...]      run to analyze, see above (default: $FASTDISPATCH_OUT or {LAST_RUN})
--iterations A:B  analyze iterations A to B-1 (default: all complete ones except the first)
"""
_OUTPUT = """
--json      print everything as JSON (docs/reference/schemas/pipeline-report.schema.json)
--svg FILE  also write an image of the middle iteration to FILE
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("report", help="analyze the time of a pipeline", description=_DESCRIPTION)
    add_options(parser, _RECORDED, run={"type": Input, "default": [Input(last_run())]}, iterations=_span)
    add_aligned(parser)
    add_options(parser, _OUTPUT, svg=SvgFile)
    parser.set_defaults(function=run)


def _span(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    try:
        span = int(first or 0), int(last or 2**31 - 1) if colon else int(first) + 1
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: write A:B, such as 2:10") from None
    if not 0 <= span[0] < span[1] < 2**31:
        raise argparse.ArgumentTypeError(f"{text!r}: write A:B, with A at least 0 and B greater than A")
    return span


def run(arguments: argparse.Namespace) -> None:
    paths = arguments.run if len(arguments.run) > 1 else arguments.run[0]
    made = report(paths, iterations=arguments.iterations, strict=arguments.require_aligned_clocks)
    if arguments.svg:
        from fastdispatch.page.pipeline_gantt import picture

        write(arguments.svg, picture(made).encode())
    if arguments.json:
        print(made.to_json())
        return
    from fastdispatch.report.pipeline_text import parts
    from fastdispatch.report.terminal import print_parts

    print_parts(parts(made), sys.stdout)
