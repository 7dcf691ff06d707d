"""Counts of a recorded test, the limits of ``@pytest.mark.fastdispatch(...)``, and baselines (docs/guides/diff.md)."""

import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.detectors.host_sync import reads_of_program
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.files.output import write
from fastdispatch.files.regular import read_text
from fastdispatch.read.compilations import compilations
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import counted
from fastdispatch.text.globs import matches


class CountedCalls:
    """The counts of one recording. Times play no role."""

    def __init__(self, trace: Trace, function: str) -> None:
        """``function``: the name of the test, at which paths begin."""
        self.trace = trace
        self.function = function
        self.steps = MeasuredSteps(trace)

    @cached_property
    def operators(self) -> dict[str, int]:
        """The number of calls of each operator, also of those that operators call."""
        table = self.trace.table("operator")
        return dict(zip(table["where"], table["calls"], strict=True))

    @cached_property
    def synchronizations(self) -> list[tuple[str, int]]:
        """Paths to operators whose value the program reads, with their calls."""
        return [(self.path(row), self.steps.paths["calls"][row]) for row in reads_of_program(self.steps)]

    @property
    def recompilations(self) -> list[dict[str, Any]]:
        return [row for fact in compilations(self.trace) for row in fact["recompilations"]]

    @property
    def graph_breaks(self) -> list[dict[str, Any]]:
        return [row for fact in compilations(self.trace) for row in fact["graph_breaks"]]

    @property
    def versions(self) -> dict[str, str]:
        """What the number of operators depends on besides the program."""
        meta = self.trace.meta
        return {"torch": str(meta.get("torch", "")), "ops": str(meta.get("ops", ""))}

    def path(self, row: int) -> str:
        """The functions of the program from the test to a call, and the call."""
        rows = [row, *(above for above in self.steps.above(row) if self.steps.is_user(above))]
        names = [self.steps.key(each) for each in rows]
        for index, each in enumerate(rows):
            if self.steps.name(each) == self.function:
                names = names[: index + 1]
                break
        return " -> ".join(reversed(names))

    def heaviest(self, wanted: set[str]) -> tuple[str, int]:
        """The innermost function of the program with at least half of the calls of these operators below it, and their
        number."""
        below = [0] * len(self.steps.paths["node"])
        for row in range(len(below) - 1, -1, -1):
            if self.steps.kind(row) == "op" and self.steps.key(row) in wanted:
                below[row] += self.steps.paths["calls"][row]
            parent = self.steps.paths["parent"][row]
            if parent >= 0:
                below[parent] += below[row]
        half = (sum(self.operators.get(name, 0) for name in wanted) + 1) // 2
        users = [row for row, count in enumerate(below) if count >= half and self.steps.is_user(row)]
        return (self.path(users[-1]), below[users[-1]]) if users else ("", 0)


def total(counts: list[CountedCalls]) -> dict[str, int]:
    """The calls of operators of all recordings of a test."""
    found: dict[str, int] = {}
    for each in counts:
        for name, calls in each.operators.items():
            found[name] = found.get(name, 0) + calls
    return dict(sorted(found.items()))


def place(counts: list[CountedCalls], wanted: set[str]) -> str:
    """A clause that names the function with most calls of these operators; "" without any."""
    found = [each for one in counts if (each := one.heaviest(wanted))[0]]
    if not found:
        return ""
    path, calls = max(found, key=lambda each: each[1])
    return f", {calls} below {path}"


def synchronizations(counts: list[CountedCalls]) -> Iterator[tuple[str, int]]:
    for each in counts:
        yield from each.synchronizations


_LIMITS = ("limit_ops", "no_syncs", "no_recompiles", "max_graph_breaks")


def limits_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a mark; raise Error for invalid ones."""
    expected = f"expected {', '.join(_LIMITS)}"
    if args:
        raise Error(f"mark fastdispatch: {args[0]!r} has no name: {expected}")
    for name, value in kwargs.items():
        if name not in _LIMITS:
            raise Error(f"mark fastdispatch: unknown limit {name}: {expected}")
        limits = value.values() if name == "limit_ops" and isinstance(value, dict) else [value]
        kind = bool if name.startswith("no_") else int
        if not all(type(each) is kind and each >= 0 for each in limits):
            raise Error(f"mark fastdispatch: {name}={value!r}: expected {'True' if kind is bool else 'a count'}")
    return dict(kwargs)


def broken(limits: Mapping[str, Any], counts: list[CountedCalls]) -> list[str]:
    """Return one sentence per exceeded limit."""
    return [
        *_operators(limits.get("limit_ops"), counts),
        *(_syncs(counts) if limits.get("no_syncs") else ()),
        *(_recompilations(counts) if limits.get("no_recompiles") else ()),
        *_graph_breaks(limits.get("max_graph_breaks"), counts),
    ]


def _operators(limit: int | dict[str, int] | None, counts: list[CountedCalls]) -> Iterator[str]:
    limits = limit if isinstance(limit, dict) else {"*": limit} if limit is not None else {}
    operators = total(counts)
    for glob, allowed in limits.items():
        wanted = {name for name in operators if matches(glob, name)}
        calls = sum(operators[name] for name in wanted)
        if calls > allowed:
            what = "operators" if glob == "*" else glob
            where = place(counts, wanted)
            yield f"limit_ops allows {counted(allowed, 'call')} of {what}, the test makes {calls}{where}"


def _syncs(counts: list[CountedCalls]) -> Iterator[str]:
    for path, calls in synchronizations(counts):
        yield f"no_syncs allows no read of a value, the test makes {calls}: {path}"


def _recompilations(counts: list[CountedCalls]) -> Iterator[str]:
    for each in counts:
        for row in each.recompilations:
            guard = f": {row['guard']}" if row["guard"] else ""
            times = counted(int(row["count"]), "time")
            yield f"no_recompiles allows no recompilation, {_function(row)} was compiled again {times}{guard}"


def _graph_breaks(limit: int | None, counts: list[CountedCalls]) -> Iterator[str]:
    rows = [row for each in counts for row in each.graph_breaks]
    number = sum(int(row["count"]) for row in rows)
    if limit is not None and number > limit:
        places = "; ".join(f"{_function(row)}: {row['reason']}" for row in rows)
        yield f"max_graph_breaks allows {limit}, the test has {number}: {places}"


def _function(row: Mapping[str, Any]) -> str:
    return f"{row['function']} ({Path(str(row['file'])).name}:{row['line']})"


_FORMAT, _VERSION = "fastdispatch.baseline", 1
_LISTED = 5


class Baseline:
    """A baseline file. Raises Error with one line for an invalid file; without ``update`` the file must exist."""

    def __init__(self, path: str, update: bool) -> None:
        self.path = path
        self.update = update
        self.changed = False
        self.tests: dict[str, dict[str, Any]] = {}
        if not update or Path(path).exists():
            self.tests = self._read()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            content = json.loads(read_text(self.path))
        except OSError as error:
            raise Error(f"{self.path}: cannot read: {error.strerror}: write it with --fastdispatch-update") from None
        except (ValueError, RecursionError) as error:
            raise Error(f"{self.path}: invalid JSON: {error}") from None
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (_FORMAT, _VERSION):
            raise Error(f"{self.path}: not a baseline of version {_VERSION}")
        tests = content.get("tests")
        if not isinstance(tests, dict) or not all(isinstance(each, dict) for each in tests.values()):
            raise Error(f"{self.path}: tests is not an object of objects")
        return tests

    def compare(self, file: Path, test: str, counts: list[CountedCalls]) -> list[str]:
        """Return one sentence per difference; with ``update`` store the counts instead. The name of the test begins
        with its file as seen from the folder of the baseline: the root folder of pytest depends on its arguments."""
        found = {
            **(counts[0].versions if counts else {}),
            "operators": total(counts),
            "synchronizations": sum(calls for _, calls in synchronizations(counts)),
            "recompilations": sum(int(row["count"]) for each in counts for row in each.recompilations),
            "graph_breaks": sum(int(row["count"]) for each in counts for row in each.graph_breaks),
        }
        test = f"{os.path.relpath(file, Path(self.path).parent)}::{test.partition('::')[2]}"
        if self.update:
            self.changed |= self.tests.get(test) != found
            self.tests[test] = found
            return []
        expected = self.tests.get(test)
        if expected is None:
            return [f"{self.path} has no entry for this test: add it with --fastdispatch-update"]
        return [*_changed_operators(expected, found, counts), *_others(expected, found)]

    def save(self) -> None:
        """Write the file, if an update changed it."""
        if self.changed:
            document = {"format": _FORMAT, "version": _VERSION, "tests": dict(sorted(self.tests.items()))}
            write(self.path, (json.dumps(document, indent=1) + "\n").encode())


def _changed_operators(expected: dict[str, Any], found: dict[str, Any], counts: list[CountedCalls]) -> list[str]:
    before, after = expected.get("operators", {}), found["operators"]
    names = sorted(name for name in {*before, *after} if before.get(name, 0) != after.get(name, 0))
    lines = [
        f"the baseline has {counted(before.get(name, 0), 'call')} of {name}, the test makes {after.get(name, 0)}"
        f"{place(counts, {name})}"
        for name in names[:_LISTED]
    ]
    if len(names) > _LISTED:
        lines.append(f"{len(names) - _LISTED} more operators differ from the baseline")
    changed = [name for name in ("torch", "ops") if names and expected.get(name) != found.get(name)]
    lines += [
        f"the baseline was recorded with {name} {expected.get(name)}, this is {found.get(name)}" for name in changed
    ]
    return lines


def _others(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [
        f"the baseline has {expected.get(name)} {name.replace('_', ' ')}, the test has {found[name]}"
        for name in ("synchronizations", "recompilations", "graph_breaks")
        if expected.get(name) != found[name]
    ]
