"""``fastdispatch timeline``: traces over time, of all ranks."""

from __future__ import annotations

import argparse

from fastdispatch.cli.timeline import timeline_check, timeline_cut, timeline_merge, timeline_stats


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "timeline",
        help="merge, cut, check and summarize timelines",
        description="Merge, cut, check and summarize timelines of ranks.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    timeline_merge.add(actions)
    timeline_stats.add(actions)
    timeline_check.add(actions)
    timeline_cut.add(actions)
