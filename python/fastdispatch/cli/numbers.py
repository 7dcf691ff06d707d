"""Numbers on the command line, with messages that state the accepted range."""

import argparse
import re
from collections.abc import Callable

from fastdispatch.measures import peaks

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
