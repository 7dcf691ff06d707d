"""Run the tests in every environment of the matrix and write docs/reference/support.md.

Usage: python -m tests.matrix FOLDER [--only NAME] [--short] [--write]   Environments are kept in FOLDER (some GB).
"""

import argparse
import re
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from tests.matrix.environments import (
    MATRIX,
    REPORT,
    ROOT,
    TREE,
    Environment,
    MissingTool,
    copy_tree,
    inside,
    install,
    made,
    mounted,
)

SUPPORT = ROOT / "docs" / "reference" / "support.md"
VERSIONS = """
import platform
from importlib.util import find_spec
torch = __import__("torch").__version__ if find_spec("torch") else "none"
processor = "" if platform.machine() == "x86_64" else f",{platform.machine()}"
print(platform.python_version() + processor, torch)
"""
#: Words in the names of tests that run once per source.
SOURCES = ("frame", "monitor", "record", "dispatch")


@dataclass(frozen=True)
class Outcome:
    python: str
    torch: str
    results: Counter[str]  #: passed, failed, skipped
    sources: dict[str, Counter[str]]

    def row(self) -> str:
        cells = [self.python, self.torch, *(str(self.results[kind]) for kind in ("passed", "failed", "skipped"))]
        for source in SOURCES:
            counts = self.sources[source]
            cells.append(f"{counts['passed']} of {counts['passed'] + counts['failed']}" if counts else "-")
        return f"| {' | '.join([*cells, date.today().isoformat()])} |"


def outcome_of(case: ElementTree.Element) -> str:
    if case.find("skipped") is not None:
        return "skipped"
    return "passed" if case.find("failure") is None and case.find("error") is None else "failed"


def read(report: Path, versions: str) -> Outcome:
    """Count the tests of a JUnit report, all and per source."""
    results: Counter[str] = Counter()
    sources: dict[str, Counter[str]] = {source: Counter() for source in SOURCES}
    for case in ElementTree.parse(report).iter("testcase"):
        kind = outcome_of(case)
        results[kind] += 1
        for source in SOURCES:
            if re.search(rf"\[(.*-)?{source}(-.*)?\]", case.get("name", "")):
                sources[source][kind] += 1
        if kind == "failed":
            print(f"  failed: {case.get('classname')}::{case.get('name')}", flush=True)
    python, torch = versions.split()
    return Outcome(python.replace(",", " on "), torch, results, sources)


def check(folder: Path, row: Environment, rows: Sequence[Environment], short: bool) -> Outcome:
    root = made(folder, [each for each in rows if each.folder == row.folder])
    with mounted(root, row.machine):
        copy_tree(root)
        python = install(root, row)
        versions = inside(root, f"{python} -c '{VERSIONS}'").stdout
        script = (
            f"rm -f {REPORT}; cd {TREE}; git init -q .; git add -A; {row.variables} {python} -m pytest -q "
            f"--continue-on-collection-errors --timeout {300 * row.slowness} --junitxml {REPORT} "
            + shlex.join(row.tests(short))
        )
        done = inside(root, script)
    if not (root / REPORT.lstrip("/")).exists():
        raise RuntimeError(f"{row.name}: the tests did not run: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return read(root / REPORT.lstrip("/"), versions)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="names of environments")
    parser.add_argument("--write", action="store_true", help=f"write the rows into {SUPPORT.name}")
    parser.add_argument("--short", action="store_true", help="the tests of what differs most; not written")
    options = parser.parse_args()
    if options.short and options.write:
        parser.error("--write needs the whole tests: omit --short")
    rows, failed = [], False
    selected = [row for row in MATRIX if (row.name in options.only if options.only else not row.machine)]
    for row in selected:
        print(row.name, flush=True)
        try:
            outcome = check(options.folder.resolve(), row, selected, options.short)
        except MissingTool as error:
            print(f"{row.name}: not tested: {error}")
            continue
        failed = failed or outcome.results["failed"] > 0
        rows.append(outcome.row())
        print(rows[-1], flush=True)
    if options.write:
        write(rows)
    return 1 if failed else 0


def write(rows: list[str]) -> None:
    """Replace the rows of the same versions in the first table of the page, keep the others."""
    head, rule, tail = SUPPORT.read_text().partition("|---|---|---|---|---|---|---|---|---|---|\n")
    table, blank, rest = tail.partition("\n\n")
    kept = {tuple(line.split(" | ")[:2]): line for line in [*filter(None, table.splitlines()), *rows]}
    lines = "\n".join(kept[key] for key in sorted(kept))
    SUPPORT.write_text(f"{head}{rule}{lines}{blank}{rest}")


if __name__ == "__main__":
    sys.exit(main())
