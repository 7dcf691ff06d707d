"""``fastdispatch pipeline``: plan, profile and analyze pipeline parallelism."""

from __future__ import annotations

import argparse

from fastdispatch.cli.pipeline import (
    pipeline_convert,
    pipeline_flow,
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
    pipeline_flow.add(actions)
    pipeline_optimize.add(actions)
    pipeline_partition.add(actions)
    pipeline_plan.add(actions)
    pipeline_profile.add(actions)
    pipeline_report.add(actions)
