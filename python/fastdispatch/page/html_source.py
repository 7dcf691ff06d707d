"""Source files of a recording on this machine, and the text of its functions.

A recording names files without the host-specific part. A local file counts as the recorded one if every function of it
begins on the recorded line with a definition of its name.
"""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from fastdispatch.read.line_sums import figures_by_node
from fastdispatch.read.privacy import is_anonymous
from fastdispatch.read.regular import read_text
from fastdispatch.read.trace import Columns, Trace

_LONGEST = 400  # lines shown per function
_NO_DEFINITION = ("<", "__annotate")


def block_of(
    trace: Trace, with_texts: bool, *, recorded: Sequence[Trace] = (), without: Collection[int] = ()
) -> tuple[dict[str, Any], dict[str, Columns]]:
    """Return values and tables of the block "data-source". ``recorded``: the recordings of a trace without own facts;
    ``without``: nodes without a file."""
    nodes = trace.nodes
    hidden = set(without)
    of_file: dict[str, list[int]] = {}
    for node, (file, line) in enumerate(zip(nodes["file"], nodes["line"], strict=True)):
        if file and line and node not in hidden:
            of_file.setdefault(file, []).append(node)
    # Paths of files would name their owner.
    folders = [] if is_anonymous() else [folder for each in recorded or (trace,) for folder in source_folders(each)]
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
    return {"paths": paths, "any": with_texts}, {"texts": texts, "lines": _lines(trace) if with_texts else _lines()}


def _lines(trace: Trace | None = None) -> Columns:
    """Return executions and time of source lines, for ``detail="lines"``."""
    rows = (
        []
        if trace is None
        else [
            (node, line, *row[:2])
            for node, lines in figures_by_node(trace).items()
            for line, row in sorted(lines.items())
        ]
    )
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    return dict(zip(("node", "line", "hits", "time"), map(list, columns), strict=True))


def source_folders(trace: Trace) -> Iterable[Path]:
    """Return folders to search: those of the recorded programs, then the module path of this Python."""
    for rank in trace.ranks:
        folder = Path(str(rank["meta"].get("folder") or "."))
        yield folder
        command = rank["meta"].get("command")
        for word in command if isinstance(command, list) else ():
            if str(word).endswith(".py"):
                yield (folder / str(word)).parent
    yield from (Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib", "platlib"))
    yield from (Path(entry) for entry in sys.path if entry and os.path.isdir(entry))


def find_source(file: str, folders: Iterable[Path], functions: list[tuple[str, int]]) -> tuple[Path | None, list[str]]:
    if file.startswith("<"):
        return None, []
    for folder in dict.fromkeys(folders):
        path = folder / file
        try:
            lines = read_text(path, errors="replace").splitlines(keepends=True)
        except (OSError, ValueError):
            continue
        if all(_defines(lines, name, line) for name, line in functions):
            return path.resolve(), lines
    return None, []


def _defines(lines: list[str], name: str, line: int) -> bool:
    """Return whether a function of this name can begin there; a decorated one begins at its first decorator."""
    if line > len(lines):
        return False
    if name.startswith(_NO_DEFINITION):
        return True
    here = lines[line - 1].lstrip()
    return here.startswith("@") or name in here


def _text(lines: list[str], line: int) -> str:
    kept = inspect.getblock(lines[line - 1 : line - 1 + _LONGEST])
    return "".join(kept).rstrip("\n")
