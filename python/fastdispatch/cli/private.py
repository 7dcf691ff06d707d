"""``--anonymize`` and ``--strip-prefix`` of commands that write names of a recording (docs/guides/privacy.md)."""

from __future__ import annotations

import argparse
import secrets

from fastdispatch import Error
from fastdispatch.privacy import Privacy

#: Commands that hide names of recordings; the files of other programs those of ``timeline`` refuse one by one.
COMMANDS = ("report", "html", "svg", "diff", "top", "where", "merge", "dump", "export", "timeline")

#: Commands that read what is no recording, and say that they cannot; but for those below.
REFUSING = ("et", "pipeline")
BELOW = (("pipeline", "report"), ("pipeline", "flow"), ("pipeline", "partition"), ("et", "export"))


def add(parser: argparse.ArgumentParser) -> None:
    """To a command and all below it."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for each in action.choices.values():
            add(each)
    if not below:
        group = parser.add_argument_group("privacy")
        group.add_argument(
            "--anonymize",
            nargs="?",
            const="",
            metavar="SALT",
            help="hashes for the names of your code; equal ones with the same salt; default: a new salt",
        )
        group.add_argument("--strip-prefix", default="", metavar="PREFIX", help="cut PREFIX off the names of files")


def asked(arguments: argparse.Namespace) -> Privacy:
    """Raises Error for a command that cannot."""
    salt, prefix = getattr(arguments, "anonymize", None), getattr(arguments, "strip_prefix", "")
    known = (arguments.command, getattr(arguments, "action", None)) in BELOW
    if arguments.command in REFUSING and not known and (salt is not None or prefix):
        raise Error(
            f"{arguments.command} {arguments.action}: --anonymize and --strip-prefix are for recordings: names in "
            "other files stay as they are; give them to the command that writes those (export, et export, dump, merge)"
        )
    if salt == "":
        salt = secrets.token_hex(16)
    return Privacy(salt, prefix)
