"""The started script of each run: a script with another name is compared with its former self."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fastdispatch.read.trace import Trace

#: Share of the names of functions that both scripts have, without the names that most scripts have.
_ALIKE = 0.5
_COMMON = {("", "<module>"), ("", "main")}


@dataclass(frozen=True)
class Scripts:
    """The names of the started scripts if they differ, and whether the functions of one are compared with those of the
    other."""

    before: str = ""
    after: str = ""
    same: bool = True

    def __str__(self) -> str:
        if self.same:
            return f"{self.before} is now {self.after}: their functions are compared" if self.before else ""
        return f"the programs have different files: {self.before}, {self.after}"


def same_script(before: Trace, after: Trace) -> tuple[Trace, Scripts]:
    """Return the trace before, with the name that the started script has now, and both names if they differ."""
    was, now = _started(before), _started(after)
    if not was or not now or was == now:
        return before, Scripts()
    names = [_functions(before, was), _functions(after, now)]
    fewest = min(map(len, names))
    is_alike = len(names[0] & names[1]) >= _ALIKE * fewest if fewest else names[0] == names[1]
    if not is_alike or now in before.nodes["file"] or was in after.nodes["file"]:
        return before, Scripts(was, now, same=False)
    return _renamed(before, was, now), Scripts(was, now)


def _renamed(trace: Trace, was: str, now: str) -> Trace:
    """Return the trace with another name of a file."""
    renamed, nodes = Trace(trace.core), trace.nodes
    renamed.sources, renamed.rank_rows = trace.sources, trace.rank_rows
    keys = zip(nodes["file"], nodes["key"], strict=True)
    renamed.nodes = nodes | {
        "file": [now if file == was else file for file in nodes["file"]],
        "key": [now + key.removeprefix(was) if file == was else key for file, key in keys],
    }
    return renamed


def _started(trace: Trace) -> str:
    """Return the file of the started script as keys of functions have it; "" if it is unknown."""
    files = {file for file, source in zip(trace.nodes["file"], trace.nodes["from"], strict=True) if source == "project"}
    for rank in trace.ranks:
        words = rank["meta"].get("command")
        for word in words if isinstance(words, list) else []:
            found = [file for file in files if os.path.basename(file) == os.path.basename(str(word))]
            if str(word).endswith(".py") and found:
                return str(min(found, key=len))
    return ""


def _functions(trace: Trace, file: str) -> set[tuple[str, str]]:
    nodes = trace.nodes
    return {
        (owner, name)
        for of, owner, name in zip(nodes["file"], nodes["class"], nodes["name"], strict=True)
        if of == file
    } - _COMMON
