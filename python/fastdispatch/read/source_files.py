"""Source files of a recording on this machine.

A recording names files without the host-specific part. A local file counts as the recorded one if every function of it
begins on the recorded line with a definition of its name. Recordings of other users are not trusted: only Python files
below the searched folders are read.
"""

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from fastdispatch.files.regular import read_text
from fastdispatch.read.trace import Trace

#: How functions without a name of their own begin.
_BEGINS = {
    "<module>": "",
    "<lambda>": "lambda",
    "<genexpr>": "(",
    "<listcomp>": "[",
    "<setcomp>": "{",
    "<dictcomp>": "{",
}
#: A definition: its name and its type parameters, which have their own functions.
_DEFINITION = re.compile(r"\s*(?:async\s+def|def|class|type)\s+(\w+)\s*(\[[^\]]*|)")
_MOST_DECORATORS = 50  # lines


def source_folders(trace: Trace) -> Iterable[Path]:
    """Return folders to search: those of the recorded programs, then the module path of this Python. An anonymous
    recording has none: paths on this machine would name its owner."""
    if any(rank["meta"].get("anonymous") for rank in trace.ranks):
        return
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
    """Return the local file and its lines; None without one in which every function begins on its line."""
    if not file.endswith(".py") or Path(file).is_absolute() or ".." in Path(file).parts:
        return None, []
    for folder in dict.fromkeys(folders):
        try:
            path = (folder / file).resolve()
            if not path.is_relative_to(folder.resolve()) or path.suffix != ".py":
                continue
            lines = read_text(path, errors="replace").splitlines(keepends=True)
        except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links
            continue
        if all(_defines(lines, name, line) for name, line in functions):
            return path, lines
    return None, []


def _defines(lines: list[str], name: str, line: int) -> bool:
    """Return whether a function of this name begins there; a decorated one begins at its first decorator."""
    if not 0 < line <= len(lines):
        return name == "<module>" and line == 1  # an empty file
    here = lines[line - 1].lstrip()
    if name in _BEGINS:
        return _BEGINS[name] in here and (name != "<module>" or line == 1)
    if name.startswith("__annotate"):
        return ":" in here
    own = re.sub(r"<generic parameters of (\w+)>", r"\1", name)
    until = line - 1 + _MOST_DECORATORS if here.startswith("@") else line
    found = next(filter(None, map(_DEFINITION.match, lines[line - 1 : until])), None)
    return found is not None and own in (found[1], *re.findall(r"\w+", found[2]))
