"""``fastdispatch pipeline``: plan, profile and analyze pipeline parallelism."""

from __future__ import annotations

import argparse

from fastdispatch.cli.pipeline import (
    pipeline_convert,
    pipeline_optimize,
    pipeline_partition,
    pipeline_plan,
    pipeline_profile,
    pipeline_report,
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "pipeline",
        help="plan, profile and analyze pipeline parallelism",
        description="Plan, profile and analyze pipeline parallelism.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    pipeline_convert.add(actions)
    pipeline_optimize.add(actions)
    pipeline_partition.add(actions)
    pipeline_plan.add(actions)
    pipeline_profile.add(actions)
    pipeline_report.add(actions)


def spelled(words: list[str]) -> list[str]:
    """Return ``pipeline optimize`` for ``pipeline partition --method pipedream``."""
    if words[:2] != ["pipeline", "partition"]:
        return words
    for at, word in enumerate(words):
        if word == "--method=pipedream":
            return ["pipeline", "optimize", *words[2:at], *words[at + 1 :]]
        if words[at : at + 2] == ["--method", "pipedream"]:
            return ["pipeline", "optimize", *words[2:at], *words[at + 2 :]]
    return words
