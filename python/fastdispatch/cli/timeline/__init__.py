"""``fastdispatch timeline``: traces over time, of all ranks."""

from __future__ import annotations

import argparse

from fastdispatch.cli.timeline import timeline_check, timeline_merge, timeline_stats


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "timeline",
        help="merge, check and summarize timelines",
        description="Merge, check and summarize timelines of ranks.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    timeline_merge.add(actions)
    timeline_stats.add(actions)
    timeline_check.add(actions)
