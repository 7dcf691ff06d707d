"""The option that selects steps of a recording, and a check of others."""

import argparse
import re

from fastdispatch._core import Error
from fastdispatch.read.trace import Steps, Trace

#: No recording has so many steps.
_NO_END = 2**63


def add_steps(parser: argparse.ArgumentParser, default: object = "settled") -> None:
    parser.add_argument(
        "--steps",
        type=_steps,
        default=default,
        metavar="A:B|all",
        help="use the figures of steps A to B-1, or of the nearest recorded range; all: of the whole recording "
        "(default: the steps after times have settled)",
    )


def check_gpu(trace: Trace, path: str, option: str) -> None:
    """Raise Error for an option that needs GPU times if the recording has none."""
    if not any(trace.contexts["gpu_calls"]):
        raise Error(f"{option} gpu: {path} has no GPU figures: record with --gpu (docs/guides/gpu.md)")


def _steps(text: str) -> Steps:
    """Return the argument ``steps`` of :func:`fastdispatch.load`."""
    if text == "settled":
        return "settled"
    if text == "all":
        return None
    match = re.fullmatch(r"(\d{0,18}):(\d{0,18})|(\d{1,18})", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a range of steps: write e.g. 10:20, or all")
    begin = int(match[1] or match[3] or 0)
    end = begin + 1 if match[3] else int(match[2] or _NO_END)
    if begin >= end:
        raise argparse.ArgumentTypeError(f"{text!r} is empty")
    return begin, end - 1
