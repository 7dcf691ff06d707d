"""``fastdispatch skill``: a guide for language-model agents."""

from __future__ import annotations

import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "print a guide for language-model agents"
    parser = commands.add_parser(
        "skill", help=what, description=f"{what.capitalize()}, in the form of a SKILL.md of agentskills.io."
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from importlib.resources import files

    print(files("fastdispatch.agents").joinpath("SKILL.md").read_text(encoding="utf-8"), end="")
