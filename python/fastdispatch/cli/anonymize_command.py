"""``fastdispatch anonymize``: recordings without the names of your code (docs/guides/privacy.md)."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path

from fastdispatch import load
from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, Output, add_output
from fastdispatch.files import run_directory, run_sources
from fastdispatch.files.output import check_place, make_folder
from fastdispatch.read import dump_text
from fastdispatch.read.anonymous_names import anonymize

_DESCRIPTION = """Replace the names of your code by hashes: functions, classes, files, modules, ranges and the host. The
output is read by all commands. Times of single calls (timelines, jobs) are not in it."""
_OPTIONS = """
--salt SALT            hash with SALT: equal salts give equal hashes (default: a random salt)
--strip-prefix PREFIX  remove PREFIX from file names before they are hashed
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("anonymize", help="replace the names of your code by hashes", description=_DESCRIPTION)
    parser.add_argument("path", type=Input, metavar="PATH", help="recording, run directory, dump or merge")
    add_output(parser, "write JSON to PATH; of more than 16 ranks a folder with a file per rank", Output, "PATH")
    add_options(parser, _OPTIONS, salt=_salt, strip_prefix={"default": ""})
    parser.set_defaults(function=run)


def _salt(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the salt is empty")
    return text


def run(arguments: argparse.Namespace) -> None:
    salt = arguments.salt or secrets.token_hex(16)
    recordings = run_sources.recordings(arguments.path)
    if len(recordings) <= run_directory.FEW:
        check_place(arguments.output)
        write(arguments.path, arguments.output, salt, arguments.strip_prefix)
        return
    folder = Path(arguments.output)
    make_folder(folder)
    for recording in recordings:
        try:
            write(recording, folder / f"{Path(recording).stem}.json", salt, arguments.strip_prefix)
        except Error as error:
            message(f"skipped: {error}")


def write(path: str, output: str | Path, salt: str, prefix: str) -> None:
    core = load(path).core
    anonymize(core, salt, prefix)
    dump_text.save(core, output)
