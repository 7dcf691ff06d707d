"""``fastdispatch diff``: what changed between two recordings, or between ranks of one."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fastdispatch import Error, load
from fastdispatch.cli.html_command import wanted_of
from fastdispatch.cli.numbers import count, growth, whole, within
from fastdispatch.cli.paths import Input, OutputFile
from fastdispatch.read.privacy import shown

_TOP = 20

_DESCRIPTION = """What changed from A to B: functions that are new, gone, slower or faster, and calls that are more or
fewer, of a training step. Times that changed by less than steps of one run differ by are not said."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("diff", help="what changed between two recordings", description=_DESCRIPTION)
    parser.add_argument("before", type=Input, metavar="A", help="a recording, run directory, dump or merge")
    parser.add_argument("after", type=Input, metavar="B", nargs="?", help="another; not with --ranks")
    parser.add_argument("--ranks", metavar="R,S", help="two ranks of A; outliers: each slow rank and a typical one")
    parser.add_argument("--rank", type=whole, metavar="N", help="this rank of both alone")
    parser.add_argument("--by", choices=("node", "module", "package"), default="node", help="what a row is")
    parser.add_argument(
        "--threshold", type=growth, default=10.0, metavar="PERCENT", help="least change of a time; default: 10"
    )
    parser.add_argument("--gate", type=Input, metavar="FILE", help="a budget (TOML); status 1 when it is broken")
    parser.add_argument("--top", type=count, default=_TOP, metavar="N", help=f"lines of each sort; default: {_TOP}")
    parser.add_argument("--all", action="store_true", help="all lines; with --json what did not change too")
    parser.add_argument("--json", action="store_true", help="as JSON, times in nanoseconds")
    parser.add_argument("--html", type=OutputFile, metavar="FILE", help="a page of both, coloured by what changed")
    parser.add_argument("--source", action="store_true", help="the page has the text of functions whose files are here")
    parser.add_argument("--max-mb", type=within(1, 2000), default=16.0, metavar="N", help="of the page; default: 16")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.after is None) == (arguments.ranks is None):
        raise Error("diff: give two recordings, or one and --ranks")
    if arguments.source and arguments.html is None:
        raise Error("diff: --source is of the page: --html FILE --source")
    if arguments.html is not None and arguments.by != "node":
        raise Error(f"diff: a page has functions and modules: --html without --by {arguments.by}")
    if arguments.ranks is None:
        return two_recordings(arguments)
    if arguments.gate is not None:
        raise Error("diff: --gate compares two recordings, not ranks")
    if arguments.html is not None and arguments.ranks == "outliers":
        raise Error("diff: a page is of two ranks: --ranks R,S --html FILE")
    return ranks_of_one(arguments)


def two_recordings(arguments: argparse.Namespace) -> int:
    from fastdispatch.read.diff import Diff
    from fastdispatch.read.gate import Budget
    from fastdispatch.report.diff_text import gate_lines

    budget = Budget(arguments.gate) if arguments.gate is not None else None
    diff = Diff(
        load(arguments.before),
        load(arguments.after),
        names=(shown(arguments.before), shown(arguments.after)),
        ranks=(arguments.rank, arguments.rank),
        by=arguments.by,
        threshold=arguments.threshold / 100,
    )
    broken = budget.broken(diff) if budget is not None else []
    if arguments.json:
        document = diff.as_json(everything=arguments.all)
        print(json.dumps(document | ({"gate": budget.as_json(broken)} if budget is not None else {})))
    else:
        show(diff, arguments)
        if budget is not None:
            print("\n".join(gate_lines(budget, broken)))
    save_page(diff, arguments)
    return 1 if broken else 0


def ranks_of_one(arguments: argparse.Namespace) -> int:
    from fastdispatch.read.diff import Diff
    from fastdispatch.read.ranks import judge, times

    trace = load(arguments.before)
    verdict = judge(times(trace))
    pairs = [(verdict.typical, rank) for rank in verdict.slow]
    if arguments.ranks != "outliers":
        pairs = [pair_of(arguments.ranks)]
    diffs = [
        Diff(
            trace,
            trace,
            names=(shown(arguments.before), shown(arguments.before)),
            ranks=pair,
            by=arguments.by,
            threshold=arguments.threshold / 100,
            same_speed=True,
        )
        for pair in pairs
    ]
    for diff in diffs:
        save_page(diff, arguments)
    if arguments.json:
        documents: list[dict[str, Any]] = [diff.as_json(everything=arguments.all) for diff in diffs]
        print(json.dumps({"format": "fastdispatch.ranks", "version": 1} | verdict.as_json() | {"diffs": documents}))
        return 0
    print("\n".join(verdict.sentences) or f"no rank of {len(trace.ranks)} is slow beside the others")
    for diff in diffs:
        show(diff, arguments)
    return 0


def pair_of(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise Error(f"--ranks {text}: two numbers such as 0,5, or outliers")
    return int(parts[0]), int(parts[1])


def show(diff: Any, arguments: argparse.Namespace) -> None:
    from fastdispatch.report.diff_text import lines

    print("\n".join(lines(diff, top=None if arguments.all else arguments.top)))


def save_page(diff: Any, arguments: argparse.Namespace) -> None:
    if arguments.html is not None:
        from fastdispatch.cli.output import write
        from fastdispatch.page.html_diff import page

        write(arguments.html, page(diff, wanted_of(arguments)))
