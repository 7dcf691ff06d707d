"""Baselines: the operators of tests, in a file that is committed with the program (docs/guides/diff.md)."""

import json
import os
from pathlib import Path
from typing import Any

from fastdispatch import _core
from fastdispatch.files.regular import read_text
from fastdispatch.testing.counted_calls import CountedCalls, place, synchronizations, total
from fastdispatch.text.formats import counted

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
            raise _core.Error(
                f"{self.path}: cannot read: {error.strerror}: write it with --fastdispatch-update"
            ) from None
        except (ValueError, RecursionError) as error:
            raise _core.Error(f"{self.path}: invalid JSON: {error}") from None
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (_FORMAT, _VERSION):
            raise _core.Error(f"{self.path}: not a baseline of version {_VERSION}")
        tests = content.get("tests")
        if not isinstance(tests, dict) or not all(isinstance(each, dict) for each in tests.values()):
            raise _core.Error(f"{self.path}: tests is not an object of objects")
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
        return [*_operators(expected, found, counts), *_others(expected, found)]

    def save(self) -> None:
        """Write the file, if an update changed it."""
        if self.changed:
            document = {"format": _FORMAT, "version": _VERSION, "tests": dict(sorted(self.tests.items()))}
            _core.save(self.path, (json.dumps(document, indent=1) + "\n").encode())


def _operators(expected: dict[str, Any], found: dict[str, Any], counts: list[CountedCalls]) -> list[str]:
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
