"""Paths on the command line. The types say what a path is for, and all of them are checked before a command begins: an
input may be a file or a folder, an output takes the place of a regular file and of no input."""

from __future__ import annotations

import argparse
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from fastdispatch import Error
from fastdispatch.cli.output import check_folder, check_place
from fastdispatch.page.graphviz import FORMS
from fastdispatch.read.regular import NOT_REGULAR
from fastdispatch.record.files import MANIFEST

#: What a run directory holds.
OF_A_RUN = (".fd", ".fd.events")


class Given(str):
    """A path as it was given."""

    def __new__(cls, text: str) -> Self:
        if not text or "\0" in text:
            raise argparse.ArgumentTypeError(f"{text!r} is no path")
        return super().__new__(cls, text)


class Input(Given):
    """A file or a folder that is read; also the name of something that is no file."""


class OutputFile(Given):
    """A file that is written, in a folder that is there."""


class SvgFile(OutputFile):
    """A picture that is drawn here."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        if not text.lower().endswith(".svg"):
            raise argparse.ArgumentTypeError(f"{text!r}: the picture is SVG: write a name that ends in .svg")
        return made


class Picture(OutputFile):
    """A picture that Graphviz draws, or its text."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        if Path(text).suffix.lower() not in ("", *FORMS, ".dot"):
            raise argparse.ArgumentTypeError(f"{text!r}: write a name that ends in {', '.join(FORMS)} or .dot")
        return made


class DotFile(OutputFile):
    """A graph as text for Graphviz."""

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        if Path(text).suffix.lower() in FORMS:
            raise argparse.ArgumentTypeError(f"{text!r}: this writes the text for Graphviz: fastdispatch svg draws it")
        return made


class OutputFolder(Given):
    """A folder that is written to, and made where it is missing."""


class Output(Given):
    """Either; the command decides by the name."""


def check(arguments: argparse.Namespace) -> None:
    """Raises Error for the first path that cannot be what it is for."""
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


def check_input(path: str) -> None:
    """What is missing the command reports, in its own words."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise Error(f"{path}: {NOT_REGULAR}")


def check_output(path: str, inputs: Sequence[str]) -> None:
    if isinstance(path, OutputFolder):
        check_folder(Path(path))
    elif isinstance(path, OutputFile):
        check_place(path)
    mode = _mode(path)
    if mode is None or stat.S_ISDIR(mode):
        return
    if not stat.S_ISREG(mode):
        raise Error(f"{path}: cannot write: not a regular file: give another name")
    for each in inputs:
        if _is_in(path, each):
            raise Error(f"{path}: cannot write: it is read as an input: give the output another name")


def _is_in(path: str, given: str) -> bool:
    """Whether a file is an input, or a recording in a folder that is one."""
    try:
        if os.path.samefile(path, given):
            return True
    except OSError:
        return False
    folder, target = Path(given).resolve(), Path(path).resolve()
    recorded = target.name.endswith(OF_A_RUN) or target.name == MANIFEST
    return recorded and folder in target.parents


def _mode(path: str) -> int | None:
    """None where nothing is; raises Error for what cannot be looked at."""
    try:
        return os.stat(path).st_mode
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise Error(f"{path}: {error.strerror}") from None
