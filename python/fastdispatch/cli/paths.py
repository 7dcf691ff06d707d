"""Paths on the command line: their types state their purpose, and all are checked before a command starts.

An input is a file or a folder. An output replaces at most a regular file, never an input.
"""

import argparse
import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from fastdispatch._core import Error
from fastdispatch.files.output import check_folder, check_place
from fastdispatch.files.regular import NOT_REGULAR
from fastdispatch.files.run_directory import MANIFEST
from fastdispatch.page.graphviz import FORMS
from fastdispatch.text.formats import printable, size

#: The run directory of programs that do not name another one.
LAST_RUN = "fastdispatch-out"

#: As the name of an output file: standard output.
STANDARD_OUTPUT = "-"


class Given(str):
    """A path from the command line."""

    def __new__(cls, text: str) -> Self:
        if not text or "\0" in text:
            raise argparse.ArgumentTypeError(f"{text!r} is not a path")
        return super().__new__(cls, text)


class Input(Given):
    """A file or folder to read, or the name of something that is not a file."""


class OutputFile(Given):
    """A file to write, in an existing folder."""


def add_input(parser: argparse.ArgumentParser, help: str = "recording, run directory, dump or merge") -> None:
    """Add the argument PATH of a command that reads one recording."""
    parser.add_argument(
        "path",
        nargs="?",
        type=Input,
        default=Input(last_run()),
        metavar="PATH",
        help=f"{help} (default: $FASTDISPATCH_OUT or {LAST_RUN})",
    )


def last_run() -> str:
    """Return the run directory that recordings are written to if the program names no other one."""
    return os.environ.get("FASTDISPATCH_OUT") or LAST_RUN


def add_output(
    parser: argparse.ArgumentParser,
    help: str,
    kind: type[Given] = OutputFile,
    metavar: str = "FILE",
    *,
    default: str | None = None,
) -> None:
    """Add the option ``-o`` of a command that writes one file or folder.

    ``default`` is the name of the file in the run directory that is written without the option.
    """
    place = "; - is standard output" if issubclass(kind, _WITH_STANDARD_OUTPUT) else ""
    named = f" (default: {default} in the run directory)" if default is not None else ""
    parser.add_argument(
        "-o", dest="output", required=default is None, type=kind, metavar=metavar, help=f"{help}{place}{named}"
    )
    parser.set_defaults(default_output=default)


def output_of(arguments: argparse.Namespace) -> Given | None:
    """Return the output, or the default beside the input."""
    name = getattr(arguments, "default_output", None)
    if name is None or arguments.output is not None:
        return getattr(arguments, "output", None)
    path = Path(arguments.path)
    return OutputFile(str((path if path.is_dir() else path.parent) / name))


class SvgFile(OutputFile):
    """An SVG image."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        if not text.lower().endswith(".svg"):
            raise argparse.ArgumentTypeError(f"{text!r}: the image is SVG: give a name that ends in .svg")
        return made


class PictureFile(OutputFile):
    """An image drawn by Graphviz, or its source."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        if Path(text).suffix.lower() not in ("", *FORMS, ".dot"):
            raise argparse.ArgumentTypeError(f"{text!r}: give a name that ends in {', '.join(FORMS)} or .dot")
        return made


class OutputFolder(Given):
    """A folder to write to; made if it does not exist."""


class Output(Given):
    """A file or a folder; the command decides by the name."""


class MergeOutput(Output):
    """A JSON file or a data set."""


_WITH_STANDARD_OUTPUT = (OutputFile, MergeOutput)


def check(arguments: argparse.Namespace) -> None:
    """Raise Error for the first path that does not suit its purpose. Set a missing output to its default."""
    if hasattr(arguments, "output"):
        arguments.output = output_of(arguments)
    given = list(_given(arguments))
    inputs = [path for path in given if isinstance(path, Input)]
    for path in inputs:
        check_input(path)
    for output in given:
        if not isinstance(output, Input):
            check_output(output, inputs)


def _given(arguments: argparse.Namespace) -> Iterator[Given]:
    for value in vars(arguments).values():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Given):
                yield each


@contextmanager
def standard_output(arguments: argparse.Namespace) -> Iterator[None]:
    """Within the block the output ``-`` is a temporary file; its content is printed after the block. Otherwise print
    the name of the file if the command has a default for it."""
    output = getattr(arguments, "output", None)
    if output != STANDARD_OUTPUT or not isinstance(output, _WITH_STANDARD_OUTPUT):
        yield
        if output is not None and getattr(arguments, "default_output", None) is not None:
            print(printable(f"wrote {output} ({size(os.path.getsize(output))})"))
        return
    import tempfile  # it imports random, whose name a recorded program may use

    with tempfile.TemporaryDirectory(prefix="fastdispatch-") as folder:
        arguments.output = OutputFile(str(Path(folder) / "output"))
        yield
        sys.stdout.buffer.write(Path(arguments.output).read_bytes())
        sys.stdout.flush()


def check_input(path: str) -> None:
    """Raise Error for devices and pipes; the command reports missing files."""
    mode = _mode(path)
    if mode is None and path == last_run():
        raise Error(f"{path}: no recording here: record one with fastdispatch run SCRIPT, or give its PATH")
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise Error(f"{path}: {NOT_REGULAR}")


def check_output(path: str, inputs: Sequence[str]) -> None:
    if isinstance(path, OutputFolder):
        check_folder(Path(path))
    elif isinstance(path, OutputFile):
        if path == STANDARD_OUTPUT:
            return
        check_place(path)
    mode = _mode(path)
    if mode is None or stat.S_ISDIR(mode):
        return
    if not stat.S_ISREG(mode):
        raise Error(f"{path}: cannot write: not a regular file: give another name")
    for each in inputs:
        if _is_in(path, each):
            raise Error(f"{path}: cannot write: it is also an input: give another output name")


def _is_in(path: str, given: str) -> bool:
    """Return whether a file is an input, or a recording in an input folder."""
    try:
        if os.path.samefile(path, given):
            return True
    except OSError:
        return False
    folder, target = Path(given).resolve(), Path(path).resolve()
    recorded = target.name.endswith(".fd") or target.name == MANIFEST
    return recorded and folder in target.parents


def _mode(path: str) -> int | None:
    """Return the mode, None if nothing exists there; raise Error if the path is not accessible."""
    try:
        return os.stat(path).st_mode
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise Error(f"{path}: {error.strerror}") from None
