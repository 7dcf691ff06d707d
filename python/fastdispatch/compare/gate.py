"""Budgets: limits of the changes between two recordings (docs/guides/diff.md)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error
from fastdispatch.files.regular import read_text
from fastdispatch.measures.measured import measured, required
from fastdispatch.read.steps import step_times
from fastdispatch.read.summary import entries_of
from fastdispatch.text.formats import seconds
from fastdispatch.text.globs import matches

if TYPE_CHECKING:
    from fastdispatch.compare.diff import Diff

_KEYS: dict[str, type | tuple[type, ...]] = {"forbid": list, "new_operators": bool}
_KEYS |= dict.fromkeys(("step", "flops", "communicated", "peak", "allocated"), (int, float))
_KEYS |= {"calls": dict, "time": dict}

#: Limits of measured figures; a peak has the name of its device.
_WORDS = {
    "flops": "FLOPs per step",
    "communicated": "communicated bytes per step",
    "allocated": "allocated bytes in the recording",
    "peak": "bytes at the peak of",
}

#: Distance of the quartiles, and standard error of the median, in standard deviations of normally distributed times.
_QUARTILES, _MEDIAN = 1.349, 1.2533


@dataclass(frozen=True)
class ExceededLimit:
    """A line of a budget that is exceeded, and by what."""

    text: str
    line: int


class Budget:
    """A budget file. Raises Error with one line for an invalid file."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.text = read_text(path)
            self.content = tomllib.loads(self.text)
        except OSError as error:
            raise Error(f"{path}: cannot read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise Error(f"{path}: invalid TOML: {error}") from None
        self._check()

    def _check(self) -> None:
        for key, value in self.content.items():
            kind = _KEYS.get(key)
            if kind is None:
                raise Error(f"{self.path}:{self._line(key)}: unknown key {key}: expected one of {', '.join(_KEYS)}")
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise Error(f"{self.path}:{self._line(key)}: {key}: {value!r} has the wrong type (docs/guides/diff.md)")
        for table in ("calls", "time"):
            for key, value in self.content.get(table, {}).items():
                if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
                    raise Error(f"{self.path}:{self._line(key)}: {key}: {value!r} is not a number of at least 0")
        for edge in self.content.get("forbid", []):
            if not isinstance(edge, str) or " -> " not in edge:
                raise Error(f"{self.path}:{self._line(str(edge))}: {edge!r}: expected 'CALLER -> CALLEE'")

    def _line(self, text: str) -> int:
        """Return the first line of the file with this text: TOML has no positions."""
        for wanted in (f'"{text}"', f"'{text}'", text):
            for number, line in enumerate(self.text.splitlines(), 1):
                if wanted in line:
                    return number
        return 1

    def broken(self, diff: Diff) -> list[ExceededLimit]:
        """Return exceeded lines in the order step, measured figures, calls, times, operators, forbidden calls."""
        checks = (self._step, self._measured, self._calls, self._times, self._operators, self._forbidden)
        return [ExceededLimit(text, self._line(key)) for check in checks for key, text in check(diff)]

    def _step(self, diff: Diff) -> Iterator[tuple[str, str]]:
        allowed = self.content.get("step")
        before, after = (side.whole for side in diff.sides)
        if allowed is not None and before and after > before * (1 + allowed / 100):
            spread = noise(diff)
            text = f"; noise of the median {spread:.1%}" if spread is not None else ""
            yield "step", f"{after / before - 1:+.1%} per step, {allowed} % allowed{text}"

    def _measured(self, diff: Diff) -> Iterator[tuple[str, str]]:
        for key in filter(self.content.__contains__, _WORDS):
            allowed = self.content[key]
            for words, before, after in self._figures(diff, key):
                if after > before * (1 + allowed / 100):
                    growth = f"{after / before - 1:+.1%}" if before else f"{after:g}"
                    yield key, f"{growth} {words}, {allowed:g} % allowed"

    def _figures(self, diff: Diff, key: str) -> list[tuple[str, float, float]]:
        """Return what a limit is about, before and after: peaks by device. Raises Error if it was not measured."""
        sides = [measured(trace, side.rank) for side, trace in zip(diff.sides, diff.traces, strict=True)]
        name = "allocated" if key == "peak" else key
        for one, trace in zip(sides, diff.traces, strict=True):
            required(one, name, f"{self.path}:{self._line(key)}: {key}", trace.name)
        if key == "peak":
            totals = [{device: sum(sites.values()) for device, sites in one.peaks.items()} for one in sides]
            return [(f"{_WORDS[key]} {each}", totals[0].get(each, 0), totals[1].get(each, 0)) for each in totals[1]]
        before, after = (one.total(name) for one in sides)
        return [(_WORDS[key], before, after)]

    def _calls(self, diff: Diff) -> Iterator[tuple[str, str]]:
        for glob, allowed in self.content.get("calls", {}).items():
            rows = diff.collections if names_collections(glob) else diff.rows
            calls = sum(row.calls.after for row in rows if matches(glob, row.key))
            if calls != allowed:
                yield glob, f"{calls:g} calls{per(diff)} of {glob}, {allowed:g} expected"

    def _times(self, diff: Diff) -> Iterator[tuple[str, str]]:
        """Check only rows that are slower than the spread of steps explains."""
        for glob, allowed in self.content.get("time", {}).items():
            for row in diff.rows:
                time = diff.time(row)
                is_slower = "slower" in row.changes and time.after > time.before * (1 + allowed / 100)
                if is_slower and matches(glob, row.key):
                    growth = f"{time.after / time.before - 1:+.0%}" if time.before else "all"
                    spread = max(row.spread.before * diff.speed, row.spread.after)
                    text = f"; spread of steps {seconds(spread)}" if spread else ""
                    yield glob, f"{growth} time  {row.key}, {allowed:g} % allowed{text}"

    def _operators(self, diff: Diff) -> Iterator[tuple[str, str]]:
        if not self.content.get("new_operators", True):
            new = [row for row in diff.rows if row.kind in ("op", "autograd") and "new" in row.changes]
            yield from (("new_operators", f"{row.key} is new") for row in new)

    def _forbidden(self, diff: Diff) -> Iterator[tuple[str, str]]:
        for edge in self.content.get("forbid", []):
            caller, callee = (glob.strip() for glob in edge.split(" -> ", 1))
            for call in diff.collection_calls if names_collections(callee) else diff.calls:
                above = call.caller.key if call.caller else ""
                if call.calls.after > 0 and matches(caller, above) and matches(callee, call.callee.key):
                    yield edge, f"{call.calls.after:g} calls{per(diff)}  {above or '<outside>'} -> {call.callee.key}"

    @property
    def has_times(self) -> bool:
        """Whether a limit depends on times; limits of calls are exact."""
        return "step" in self.content or bool(self.content.get("time"))

    def as_json(self, broken: list[ExceededLimit], diff: Diff) -> dict[str, Any]:
        return {
            "path": self.path,
            "broken": [{"line": one.line, "text": one.text} for one in broken],
            "noise": noise(diff) if self.has_times else None,
        }


def noise(diff: Diff) -> float | None:
    """Return the standard error of the median step of both sides together, as a share of the step: derived from the
    quartiles, as for normally distributed times. None if a side has fewer than 4 measured steps."""
    square = 0.0
    for side, trace in zip(diff.sides, diff.traces, strict=True):
        found = step_times(entries_of(trace, side.rank))
        if found is None or found.steps < 4 or not found.median:
            return None
        deviation = (found.high - found.low) / _QUARTILES
        square += (_MEDIAN * deviation / found.median) ** 2 / found.steps
    return math.sqrt(square)


def per(diff: Diff) -> str:
    return "/step" if diff.by_step else ""


def names_collections(glob: str) -> bool:
    """Return whether a glob begins like the name of garbage collections, which no other glob matches: their number
    differs between equal runs."""
    return glob.startswith("gc:")
