"""``fastdispatch pipeline flow``: which functions of an engine call which, on which stages."""

from __future__ import annotations

import argparse

from fastdispatch import Error, load
from fastdispatch.cli.paths import Input
from fastdispatch.pipeline.flow import Edge, Flow, flow

_DESCRIPTION = """The calls of a pipeline engine's functions over all ranks of a run, with the stages on which each
occurs (docs/guides/pipeline-jobs.md)."""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("flow", help="who calls whom, on which stages", description=_DESCRIPTION)
    parser.add_argument("path", nargs="+", help="run directory, recordings, dump or merge", type=Input)
    parser.add_argument("--all", action="store_true", help="every call, not only those of engines")
    parser.add_argument(
        "--json", action="store_true", help="as JSON (docs/reference/schemas/pipeline-flow.schema.json)"
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    made = flow(load(arguments.path), all=arguments.all)
    if not made.edges:
        raise Error(f"{arguments.path[0]}: no function of a pipeline engine was called; --all shows every call")
    print(made.to_json() if arguments.json else "\n".join(_lines(made)))
    return 0


def _lines(made: Flow) -> list[str]:
    """Callers by the time of their calls, below each what it calls."""
    callers: dict[str, list[Edge]] = {}
    for edge in made.edges:
        callers.setdefault(edge.caller, []).append(edge)
    lines = [f"calls over {made.by}s {_ranges(made.stages)}; the numbers are {made.by}s and calls"]
    for caller, edges in callers.items():
        lines.append(caller)
        for edge in edges:
            where = "all" if sorted(edge.stages) == made.stages else _ranges(sorted(edge.stages))
            lines.append(f"    {where:>8} {edge.calls:>9}  {edge.callee}")
    return lines


def _ranges(numbers: list[int]) -> str:
    """``0-2,5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
