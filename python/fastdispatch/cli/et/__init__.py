"""``fastdispatch et``: execution traces of PyTorch and Chakra."""

from __future__ import annotations

import argparse

from fastdispatch.cli.et import et_check, et_convert, et_export, et_info, et_link


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "et",
        help="convert and analyze execution traces",
        description="Convert and analyze execution traces of PyTorch and Chakra.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for command in (et_export, et_link, et_convert, et_info, et_check):
        command.add(actions)
