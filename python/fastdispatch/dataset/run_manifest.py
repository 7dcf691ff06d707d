"""The manifest of a data set: which files it has, of which recordings, and which inputs were refused."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastdispatch._core import Error, Folder, save
from fastdispatch.read.missing import missing_from

FORMAT = "fastdispatch-dataset/1"
NAME = "manifest.json"

#: Name of the data set of a run directory of many ranks, in the directory.
IN_RUN = "ranks.parquet"

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
    def _world(self) -> int:
        return max((group.world for group in self.groups), default=0)

    @property
    def missing(self) -> str:
        """A sentence about ranks of the run that no group has."""
        return missing_from([(rank, rank) for rank in sorted(self.ranks)], self._world)

    def save(self, folder: Path) -> None:
        """Replace the manifest of the folder. A reader finds the old one or the new one."""
        save(folder / NAME, (json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n").encode())


def load(folder: str | os.PathLike[str]) -> RunManifest:
    """Read the manifest of a data set. Raises Error if there is no valid one."""
    path = Path(folder) / NAME
    try:
        found: Any = json.loads(path.read_bytes())
        if found["format"] != FORMAT:
            raise Error(f"{path}: this version reads {FORMAT}, not {found['format']}: update fastdispatch")
        groups = [group_of(each) for each in found["groups"]]
        return RunManifest(groups, dict(found["refused"]))
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise Error(f"{path}: not the manifest of a data set: run fastdispatch merge again") from None


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a data set, according to its manifest."""
    try:
        manifest = Folder(path).read(NAME, _LARGEST)  # not a FIFO, which would block
        return manifest is not None and bool(json.loads(manifest)["format"] == FORMAT)
    except (Error, OSError, ValueError, RecursionError, KeyError, TypeError):
        return False


def group_of(found: dict[str, Any]) -> PartGroup:
    """Return a group that was written as JSON. Raises KeyError or TypeError for other values."""
    inputs = [RecordedRank(**one) for one in found["inputs"]]
    return PartGroup(found["name"], found["run"], inputs, int(found["world"]))
