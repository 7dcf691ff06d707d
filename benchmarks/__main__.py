"""``python -m benchmarks``: every subject in its own process, a table, and one JSON file."""

import argparse
import json
import os
import subprocess
import sys
from datetime import datetime
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks import machine
from benchmarks.figures import Result, from_json, write
from benchmarks.measure import Effort
from benchmarks.table import show

SUBJECTS = (
    "calls",
    "timeline",
    "operators",
    "training",
    "budget",
    "measures",
    "sizes",
    "lifecycle",
    "reading",
    "scale",
    "pages",
    "merging",
    "traces",
    "pipelines",
    "planning",
    "gpu",
)
ROOT = Path(__file__).parent.parent


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What recording costs, beside the peers.")
    parser.add_argument("--quick", action="store_true", help="one short round: does everything run?")
    parser.add_argument("--only", action="append", choices=SUBJECTS, help="a subject to measure; repeatable")
    parser.add_argument(
        "--python", action="append", default=[], metavar="EXE", help="also measure calls under this Python; repeatable"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="default: benchmarks/results/DATE.json")
    parser.add_argument("--child", choices=SUBJECTS, help=argparse.SUPPRESS)
    return parser.parse_args()


def _child(subject: str, effort: Effort) -> None:
    """Measure here; the facts go to standard output, alone on its last line."""
    result: Result = import_module(f"benchmarks.{subject}").measure(effort)
    print(json.dumps({"machine": machine.facts(), "result": result.to_json()}))


def _measure(python: str, subject: str, quick: bool) -> tuple[dict[str, object], Result]:
    # As a script, not with -m: inspect.stack() needs milliseconds per frame of runpy, which has no source file.
    command = [python, "-P", __file__, "--child", subject, *(["--quick"] if quick else [])]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {
        "PYTHONPATH": path,
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    try:
        done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"benchmarks: {subject} under {python} failed: {error}", file=sys.stderr)
        sys.exit(2)
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["machine"], from_json(answer["result"])


def main() -> int:
    arguments = _arguments()
    if arguments.child:
        _child(arguments.child, Effort(arguments.quick))
        return 0
    console = Console() if sys.stdout.isatty() else Console(width=160)
    jobs = [(sys.executable, subject, subject) for subject in arguments.only or SUBJECTS]
    jobs += [(python, "calls", f"calls under {python}") for python in arguments.python]
    results: dict[str, Result] = {}
    facts: dict[str, object] = machine.facts()
    for python, subject, title in jobs:
        child_facts, results[title] = _measure(python, subject, arguments.quick)
        if python != sys.executable:
            facts[title] = child_facts
        show(title, results[title], console)
    path = arguments.out or ROOT / "benchmarks" / "results" / f"{datetime.now():%Y-%m-%dT%H%M%S}.json"
    write(path, facts, sys.argv[1:], results)
    missed = sum(figure.met is False for result in results.values() for figure in result.figures)
    console.print(f"{missed} bars missed; all figures: {path}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
