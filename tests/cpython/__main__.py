"""Run CPython's own regression tests plain and under the recorder, and print what differs.

Exit status 1 if a difference is not listed in docs/concepts/reliability.md. Missing versions are reported and
skipped. Plain results are cached in the folder of the environments; ``--fresh`` runs them again.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cpython.comparing import Known, compare, known_differences
from tests.cpython.interpreters import Interpreter, find, with_package
from tests.cpython.running import Result, Setting, run

LIST = Path(__file__).with_name("modules.txt")
HOME = Path(__file__).parent.parent.parent / ".venv" / "cpython"


def modules(short: bool) -> list[str]:
    """The names in modules.txt; those of the short list are marked with a star."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [row[0] for row in rows if not short or "*" in row[1:]]


def settings(version: str, calls: str | None, recording: str | None) -> list[Setting]:
    sources = ["frame"] if version == "3.11" else ["frame", "monitor"]
    return [
        Setting(source, state)
        for source in sources
        for state in ("recorded", "paused")
        if calls in (None, source) and recording in (None, state)
    ]


class Runs:
    """All modules of all versions, plain and in all settings."""

    def __init__(self, options: argparse.Namespace, known: list[Known]) -> None:
        self.options = options
        self.known = known
        self.unlisted: list[str] = []

    def of_version(self, interpreter: Interpreter, home: Path) -> Iterator[Callable[[], str]]:
        for module in self.options.modules or modules(self.options.short):
            if interpreter.has(module):
                yield lambda module=module: self.of_module(interpreter, home, module)  # type: ignore[misc]

    def of_module(self, interpreter: Interpreter, home: Path, module: str) -> str:
        plain = self.plain(interpreter, home, module)
        lines = [f"{interpreter.version}  {module}: plain: {plain.summary}"]
        for setting in settings(interpreter.short, self.options.calls, self.options.recording):
            log = home / "logs" / f"{module}-{setting}.log".replace(" ", "-")
            recorded = run(interpreter.python, module, log, 5 * plain.seconds + 60, setting)
            lines += self.compared(module, interpreter, setting, plain, recorded)
        return "\n".join(lines)

    def plain(self, interpreter: Interpreter, home: Path, module: str) -> Result:
        path = home / "plain" / f"{module}.json"
        kept = None if self.options.fresh else Result.stored(path)
        if kept is None:
            kept = run(interpreter.python, module, home / "logs" / f"{module}-plain.log")
            kept.store(path)
        return kept

    def compared(
        self, module: str, interpreter: Interpreter, setting: Setting, plain: Result, recorded: Result
    ) -> list[str]:
        found = compare(module, interpreter.version, setting, plain, recorded)
        rows = [row for row in self.known if row.covers(module, interpreter.version, setting)]
        listed = [one for one in found if any(row.explains(one) for row in rows)]
        unlisted = [str(one) for one in found if one not in listed]
        unlisted += [
            f"{interpreter.version} {setting}  {row.test}: listed in reliability.md, but no difference found"
            for row in rows
            if not any(row.explains(one) for one in found)
        ]
        self.unlisted += unlisted
        text = f"{interpreter.version}  {module}: {setting}: {recorded.summary}: "
        text += f"{len(unlisted)} differ" if unlisted else "same"
        text += f", {len(listed)} differ as listed" if listed else ""
        return [f"{text} ({recorded.seconds:.0f} s)"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cpython", description=__doc__.split("\n")[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    parser.add_argument("--recording", choices=("recorded", "paused"), help="default: both")
    parser.add_argument("--calls", choices=("frame", "monitor"), help="default: those of the version")
    parser.add_argument("--modules", nargs="+", metavar="NAME", help="default: those of modules.txt")
    parser.add_argument("--short", action="store_true", help="only the modules with a star")
    parser.add_argument("--fresh", action="store_true", help="run the plain tests again")
    parser.add_argument("--installed", action="store_true", help="do not install the package again")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of modules to run in parallel")
    parser.add_argument("--home", type=Path, default=HOME, metavar="FOLDER", help="of the environments")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs of a shell
    runs = Runs(options, known_differences())
    work: list[Callable[[], str]] = []
    for version in options.versions:
        base = find(version)
        if base is None:
            print(f"Python {version} with its tests is not installed here: not tested with it")
            continue
        home = (options.home / base.version).resolve()
        work += runs.of_version(with_package(base, home, build=not options.installed), home)
    with ThreadPoolExecutor(options.jobs) as pool:
        for text in pool.map(lambda one: one(), work):
            print(text, flush=True)
    print(f"{len(runs.unlisted)} differences that docs/concepts/reliability.md does not list, or that were not found")
    for difference in runs.unlisted:
        print(f"  {difference}")
    return 1 if runs.unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
