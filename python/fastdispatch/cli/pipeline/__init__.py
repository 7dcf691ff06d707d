"""``fastdispatch pipeline``: which layers a stage has, what runs when, where the time goes."""

from __future__ import annotations

import argparse

from fastdispatch.cli.pipeline import (
    pipeline_convert,
    pipeline_flow,
    pipeline_partition,
    pipeline_plan,
    pipeline_profile,
    pipeline_report,
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("pipeline", help="stages: their layers, what runs when", description=__doc__)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    pipeline_convert.add(actions)
    pipeline_flow.add(actions)
    pipeline_partition.add(actions)
    pipeline_plan.add(actions)
    pipeline_profile.add(actions)
    pipeline_report.add(actions)
