"""``fastdispatch diff``: changes between two recordings, or between ranks of one."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.numbers import add_steps, growth, whole
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, OutputFile

_TOP = 20

_DESCRIPTION = """Compare a training step of two recordings A and B: new and removed functions, changed times and
changed numbers of calls. Changes of times within the variation between steps of one run are not reported."""
_COMPARED = """
before A                    recording, run directory, dump, merge or data set
after [B]                   the recording to compare with (without --ranks)
--ranks R,S                 compare two ranks of A, or with outliers each slow rank with a typical one
--rank N                    compare only rank N of both
--by {node,module,package}  group rows by this (default: node)
"""
_CHANGES = """
--threshold PERCENT  report changes of times from PERCENT on (default: 10)
--gate FILE          check the changes against a budget (TOML); exit with status 1 if it is exceeded
"""
_OUTPUT = """
--json      print JSON, with times in nanoseconds
--markdown  print Markdown, for the summary of a CI job
"""
_PAGE = """
--html FILE  also write an HTML report of both, coloured by change
--source     include the source code of functions in the HTML report
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("diff", help="compare two recordings, or ranks of one", description=_DESCRIPTION)
    add_options(parser, _COMPARED, before=Input, after=Input, rank=whole, by={"default": "node"})
    add_options(parser, _CHANGES, threshold={"type": growth, "default": 10.0}, gate=Input)
    add_steps(parser)
    add_options(parser, f"--all  print more than {_TOP} lines per kind; with --json include unchanged rows")
    add_options(parser.add_mutually_exclusive_group(), _OUTPUT)
    add_options(parser, _PAGE, html=OutputFile)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if (arguments.after is None) == (arguments.ranks is None):
        raise Error("diff: give two recordings, or one recording and --ranks")
    if arguments.source and arguments.html is None:
        raise Error("diff: --source requires --html FILE")
    if arguments.html is not None and arguments.by != "node":
        raise Error(f"diff: --html and --by {arguments.by} cannot be combined")
    if arguments.ranks is None:
        return two_recordings(arguments)
    for option in ("gate", "markdown"):
        if getattr(arguments, option):
            raise Error(f"diff: --{option} compares two recordings, not ranks")
    if arguments.html is not None and arguments.ranks == "outliers":
        raise Error("diff: --html requires two ranks: --ranks R,S")
    return ranks_of_one(arguments)


def two_recordings(arguments: argparse.Namespace) -> int:
    from fastdispatch.compare.diff import diff as compared
    from fastdispatch.compare.diff_text import gate_lines
    from fastdispatch.compare.gate import Budget

    budget = Budget(arguments.gate) if arguments.gate is not None else None
    diff = compared(
        arguments.before,
        arguments.after,
        by=arguments.by,
        threshold=arguments.threshold / 100,
        rank=arguments.rank,
        steps=arguments.steps,
    )
    broken = budget.broken(diff) if budget is not None else []
    if arguments.json:
        document = diff.as_json(everything=arguments.all)
        print(json.dumps(document | ({"gate": budget.as_json(broken, diff)} if budget is not None else {})))
    elif arguments.markdown:
        from fastdispatch.compare.diff_text import markdown

        print("\n".join(markdown(diff, budget, broken, top=None if arguments.all else _TOP)))
    else:
        show(diff, arguments)
        if budget is not None:
            print("\n".join(gate_lines(budget, broken)))
    save_page(diff, arguments)
    return 1 if broken else 0


def ranks_of_one(arguments: argparse.Namespace) -> int:
    from fastdispatch.compare.diff import Diff
    from fastdispatch.compare.ranks import COMPARED, judge, judged, times
    from fastdispatch.dataset.run_loading import load_each

    given = [pair_of(arguments.ranks)] if arguments.ranks != "outliers" else []
    if given:
        trace = load_each(arguments.before, given[0], steps=arguments.steps)
        verdict = judge(times(trace))
    else:
        verdict, trace = judged(arguments.before, arguments.steps)
    pairs = given or [(verdict.typical, rank) for rank in verdict.slow[:COMPARED]]
    names, options = (arguments.before, arguments.before), (arguments.by, arguments.threshold / 100)
    diffs = [Diff(trace, trace, names, pair, *options, same_speed=True) for pair in pairs]
    for diff in diffs:
        save_page(diff, arguments)
    if arguments.json:
        documents: list[dict[str, Any]] = [diff.as_json(everything=arguments.all) for diff in diffs]
        print(json.dumps({"format": "fastdispatch.ranks", "version": 1} | verdict.as_json() | {"diffs": documents}))
        return 0
    print("\n".join(verdict.sentences) or f"no slow rank among {verdict.ranks}")
    for diff in diffs:
        show(diff, arguments)
    if not given and len(verdict.slow) > COMPARED:
        print(f"the first {COMPARED} of {len(verdict.slow)} slow ranks are compared with rank {verdict.typical}")
    return 0


def pair_of(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise Error(f"--ranks {text}: expected two numbers, e.g. 0,5, or outliers")
    return int(parts[0]), int(parts[1])


def show(diff: Any, arguments: argparse.Namespace) -> None:
    from fastdispatch.compare.diff_text import lines

    print("\n".join(lines(diff, top=None if arguments.all else _TOP)))


def save_page(diff: Any, arguments: argparse.Namespace) -> None:
    if arguments.html is not None:
        from fastdispatch.files.output import write
        from fastdispatch.page.html import PageOptions
        from fastdispatch.page.html_diff import page

        write(arguments.html, page(diff, PageOptions(source=arguments.source)))
