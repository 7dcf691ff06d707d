"""``fastdispatch pipeline flow``: calls between the functions of an engine, by stage."""

from __future__ import annotations

import argparse
from itertools import chain, islice

from fastdispatch import load
from fastdispatch._core import Error
from fastdispatch.cli.paths import Input
from fastdispatch.pipeline.flow import Edge, Flow, flow
from fastdispatch.text.formats import aligned, spans

_DESCRIPTION = """Print the calls between the functions of a pipeline engine over all ranks of a run, with the stages of
each call (docs/guides/pipeline-jobs.md)."""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("flow", help="print the calls of an engine by stage", description=_DESCRIPTION)
    parser.add_argument("path", nargs="+", help="run directory, recordings, dump or merge", type=Input)
    parser.add_argument("--all", action="store_true", help="print all calls, not only those of engines")
    parser.add_argument(
        "--json", action="store_true", help="print JSON (docs/reference/schemas/pipeline-flow.schema.json)"
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    made = flow(load(arguments.path), all=arguments.all)
    if not made.edges:
        raise Error(f"{arguments.path[0]}: no function of a pipeline engine was called; --all prints all calls")
    print(made.to_json() if arguments.json else "\n".join(_lines(made)))
    return 0


def _lines(made: Flow) -> list[str]:
    """Return callers in order of their calls, each followed by its callees."""
    callers: dict[str, list[Edge]] = {}
    for edge in made.edges:
        callers.setdefault(edge.caller, []).append(edge)
    lines = [f"calls over {made.by}s {spans(made.stages)}; the numbers are {made.by}s and calls"]
    cells = ((_stages(edge, made), str(edge.calls), edge.callee) for edge in chain(*callers.values()))
    rows = aligned(cells, ">>", "    ")
    for caller, edges in callers.items():
        lines += [caller, *islice(rows, len(edges))]
    return lines


def _stages(edge: Edge, made: Flow) -> str:
    numbers = sorted(edge.stages)
    return "all" if numbers == made.stages else spans(numbers)
