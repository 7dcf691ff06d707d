"""The block "data-source" of a page: files and the text of functions."""

import inspect
import tokenize
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from fastdispatch.read.source_files import find_source, source_folders
from fastdispatch.read.trace import Columns, Trace

_LONGEST = 400  # lines shown per function


def block_of(
    nodes: Columns, with_texts: bool, recorded: Sequence[Trace], *, without: Collection[int] = ()
) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Return values and tables of the block "data-source". ``recorded``: the traces with the nodes; ``without``:
    nodes without a file."""
    hidden = set(without)
    of_file: dict[str, list[int]] = {}
    for node, (file, line) in enumerate(zip(nodes["file"], nodes["line"], strict=True)):
        if file and line and node not in hidden:
            of_file.setdefault(file, []).append(node)
    folders = [folder for each in recorded for folder in source_folders(each)]
    paths: dict[str, str] = {}
    texts: Columns = {"node": [], "text": []}
    for file, members in sorted(of_file.items()):
        path, lines = find_source(file, folders, [(nodes["name"][node], nodes["line"][node]) for node in members])
        if path is None:
            continue
        paths[file] = str(path)
        if with_texts:
            texts["node"] += members
            texts["text"] += [_text(lines, nodes["line"][node]) for node in members]
    return {"paths": paths, "any": with_texts}, {"texts": texts}


def _text(lines: list[str], line: int) -> str:
    some = lines[line - 1 : line - 1 + _LONGEST]
    with suppress(SyntaxError, tokenize.TokenError):  # the limit cuts a bracket: show the lines up to it
        some = inspect.getblock(some)
    return "".join(some).rstrip("\n")
