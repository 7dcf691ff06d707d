"""``--anonymize`` and ``--strip-prefix``, of every command that prints or writes recordings
(docs/guides/privacy.md)."""

from __future__ import annotations

import argparse
import secrets

from fastdispatch._core import Error
from fastdispatch.read.privacy import Privacy

#: Commands that anonymize recordings; those of ``timeline`` refuse files of other programs one by one.
COMMANDS = (*("report", "findings", "html", "svg", "diff", "top", "stacks", "merge", "sql", "export", "timeline"),)

#: Commands that read other files and refuse the options, except for the subcommands in ALLOWED.
REFUSING = ("et", "pipeline")
ALLOWED = (("pipeline", "report"), ("pipeline", "flow"), ("pipeline", "partition"), ("et", "export"))


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command and its subcommands."""
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
            help="replace the names of your code by hashes; equal salts give equal hashes (default: a random salt)",
        )
        group.add_argument("--strip-prefix", default="", metavar="PREFIX", help="remove PREFIX from file names")


def asked(arguments: argparse.Namespace) -> Privacy:
    """Return the requested privacy; raise Error for a command without support."""
    salt, prefix = getattr(arguments, "anonymize", None), getattr(arguments, "strip_prefix", "")
    known = (arguments.command, getattr(arguments, "action", None)) in ALLOWED
    if arguments.command in REFUSING and not known and (salt is not None or prefix):
        raise Error(
            f"{arguments.command} {arguments.action}: --anonymize and --strip-prefix apply to recordings; names in "
            "other files stay unchanged: give the options to the command that wrote them (export, et export, merge)"
        )
    if salt == "":
        salt = secrets.token_hex(16)
    return Privacy(salt, prefix)
