"""The manifest of a data set: which files it has, of which recordings, and which inputs were refused."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from fastdispatch._core import Error, Folder
from fastdispatch.files.output import write
from fastdispatch.read.missing import missing_from

FORMAT = "fastdispatch-dataset/1"
NAME = "manifest.json"

#: Name of the data set of a run directory of many ranks, in the directory.
IN_RUN = "ranks.parquet"

#: Bound of ranks: the largest 32-bit number is that of a sum.
_RANKS = 2**32 - 1

#: Names of groups, which are names of their files.
_GROUP = re.compile(r"group-[0-9a-f]{16}")

#: Bytes of a manifest, hundreds of thousands of ranks.
_LARGEST = 256 << 20


@dataclass
class RecordedRank:
    """One input: its path as given, its size and time of change when it was read, its rank, and its faults."""

    path: str
    bytes: int
    changed: int  # nanoseconds since 1970; 0: the store has no such time
    rank: int
    incomplete: str = ""  # why records are missing; "": complete


@dataclass
class PartGroup:
    """Ranks whose rows are in one file per table."""

    name: str
    run: str  # "" if the recordings do not have it
    inputs: list[RecordedRank]
    world: int = 0  # ranks of the run; 0: unknown


@dataclass
class RunManifest:
    """All groups, and inputs that are in no group with the reason."""

    groups: list[PartGroup] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def ranks(self) -> dict[int, str]:
        """Path of the recording of each rank."""
        return {each.rank: each.path for group in self.groups for each in group.inputs}

    @property
    def incomplete(self) -> list[str]:
        """A line for each recording that is truncated or damaged."""
        inputs = [each for group in self.groups for each in group.inputs]
        return [f"{one.path}: rank {one.rank} is incomplete: {one.incomplete}" for one in inputs if one.incomplete]

    @property
    def run(self) -> str:
        """The run that all groups belong to; "" if unknown."""
        return next((group.run for group in self.groups if group.run), "")

    @property
    def missing(self) -> str:
        """A sentence about ranks of the run that no group has."""
        world = max((group.world for group in self.groups), default=0)
        return missing_from([(rank, rank) for rank in sorted(self.ranks)], world)

    def files(self, folder: Path, table: str) -> list[Path]:
        """Return the file of each group in a table with rows per rank."""
        return [folder / table / f"{group.name}.parquet" for group in self.groups]

    def save(self, folder: Path) -> None:
        """Replace the manifest of the folder. A reader finds the old one or the new one."""
        write(folder / NAME, (json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n").encode())


def load(folder: str | os.PathLike[str]) -> RunManifest:
    """Read the manifest of a data set. Raises Error if there is no valid one."""
    path = Path(folder) / NAME
    try:
        found: Any = json.loads(Folder(folder).read(NAME, _LARGEST) or "")
        if found["format"] != FORMAT:
            raise Error(f"{path}: this version reads {FORMAT}, not {str(found['format'])[:80]!r}: update fastdispatch")
        groups = [group_of(each) for each in found["groups"]]
        if not groups or len({group.name for group in groups}) < len(groups):
            raise ValueError
        return RunManifest(groups, refused_of(found["refused"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Error(f"{path}: not the manifest of a data set: run fastdispatch merge again") from None


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a data set, according to its manifest."""
    try:
        manifest = Folder(path).read(NAME, _LARGEST)  # not a FIFO, which would block
        return manifest is not None and bool(json.loads(manifest)["format"] == FORMAT)
    except (Error, OSError, ValueError, RecursionError, KeyError, TypeError):
        return False


def group_of(found: dict[str, Any]) -> PartGroup:
    """Return a group that was written as JSON. Raises KeyError, TypeError or ValueError for other values."""
    inputs = [_checked(RecordedRank(**one)) for one in found["inputs"]]
    if not inputs or not _GROUP.fullmatch(found["name"]):
        raise ValueError
    return _checked(PartGroup(found["name"], found["run"], inputs, found["world"]))


def refused_of(found: dict[str, str]) -> dict[str, str]:
    """Return refused inputs that were written as JSON. Raises TypeError or AttributeError for other values."""
    return {_text(path): _text(reason) for path, reason in found.items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_Entry = TypeVar("_Entry", RecordedRank, PartGroup)


def _checked(entry: _Entry) -> _Entry:
    """Return an entry whose values have the types and sizes of its fields."""
    for each in fields(entry):
        value = getattr(entry, each.name)
        if type(value).__name__ != each.type.partition("[")[0]:
            raise TypeError
        if isinstance(value, int) and not 0 <= value < (_RANKS if each.name in ("rank", "world") else 2**64):
            raise ValueError
    return entry
