"""Numbers and steps on the command line, with messages that state the accepted range."""

import argparse
import re
from collections.abc import Callable

from fastdispatch._core import Error
from fastdispatch.measures import peaks
from fastdispatch.read.trace import Steps, Trace

_MOST = 2**31 - 1


def count(text: str) -> int:
    return _whole(text, 1)


def whole(text: str) -> int:
    """Parse a rank or a number of steps."""
    return _whole(text, 0)


def percent(text: str) -> float:
    """Parse a share, with an optional percent sign."""
    return _real(text.removesuffix("%"), text, 0, 100, "a percentage from 0 to 100")


def growth(text: str) -> float:
    """Parse a relative change, with an optional percent sign."""
    return _real(text.removesuffix("%"), text, 0, 1e9, "a percentage of at least 0")


def peak(text: str) -> str:
    """Check a peak rate: FLOP/s, a dtype, or ``measure``."""
    if not peaks.is_peak(text):
        forms = f"FLOP/s (312e12), a dtype of the recorded GPU ({', '.join(peaks.DTYPES)}) or measure"
        raise argparse.ArgumentTypeError(f"{text!r}: write {forms}")
    return text


def within(low: float, high: float) -> Callable[[str], float]:
    return lambda text: _real(text, text, low, high, f"a number from {low:g} to {high:g}")


def _whole(text: str, least: int) -> int:
    number = int(text) if re.fullmatch(r"\s*[+-]?\d{1,10}\s*", text, re.ASCII) else -1
    if not least <= number <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r}: write a whole number from {least} to {_MOST}")
    return number


def _real(digits: str, text: str, low: float, high: float, wanted: str) -> float:
    try:
        number = float(digits)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{text!r}: write {wanted}")
    return number


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
    begin, end = step_range(text, "is not a range of steps: write e.g. 10:20, or all", "is empty")
    return begin, end - 1


def step_range(text: str, wrong: str, empty: str) -> tuple[int, int]:
    """Return the first step and one past the last of ``A:B``, where either may be missing, or of one step ``N``."""
    match = re.fullmatch(r"(\d{0,18}):(\d{0,18})|(\d{1,18})", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} {wrong}")
    begin = int(match[1] or match[3] or 0)
    end = begin + 1 if match[3] else int(match[2] or _NO_END)
    if begin >= end:
        raise argparse.ArgumentTypeError(f"{text!r} {empty}")
    return begin, end
