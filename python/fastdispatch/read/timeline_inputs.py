"""Timelines of ranks as the inputs of a merge or of statistics: which are used, their ranks, names and clocks."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error, timeline_merge, timeline_survey
from fastdispatch.read.clock_alignment import Aligner, RankClock
from fastdispatch.read.clock_samples import no_moments, sample, share_of
from fastdispatch.read.paddle_log import TimelineInput
from fastdispatch.read.pipeline_flows import ShownTimes, flows_between
from fastdispatch.read.timeline_members import member_facts

if TYPE_CHECKING:
    from fastdispatch.read.sync_events import SyncEvents

#: Returns begin and end of steps in a file without ProfilerStep, in ns on its clock, from their first and last number.
StepFinder = Callable[[str, int, int], tuple[int, int] | None]

#: The program of recordings, which may have the rank of a trace of another program, and their format.
_OURS, _RECORDING = "fastdispatch", "recording"
_RESULTS = (
    *("events", "arrows", "filtered", "lost_bytes", "repaired", "unpaired", "timeless"),
    *("overlaps", "aside", "crossed", "alone", "skipped", "early"),
)


@dataclass
class TimelineFile:
    """A file, with facts about it, of its survey and its members. ``results`` is empty before it was read."""

    path: str
    rank: int
    facts: dict[str, Any]
    content: bytes
    damaged: int = 0
    damage: str | None = None
    used: bool = False
    left_out: bool = False
    beside: bool = False
    trouble: str = ""
    clock: RankClock = field(default_factory=RankClock)
    results: dict[str, Any] = field(default_factory=dict)
    transfers: bytes | None = None  # flows of a pipeline

    @property
    def ours(self) -> bool:
        return bool(self.facts["program"] == _OURS)

    @property
    def is_recording(self) -> bool:
        return bool(self.facts["format"] == _RECORDING)

    @property
    def place(self) -> tuple[Any, ...]:
        """The place among the inputs: by rank; first those of fastdispatch: recordings before exports, a larger world
        first (it is unknown if the launcher spawns ranks), a shorter name first (``rank00000.4711.fd`` is of a second
        process)."""
        path = os.fsencode(self.path)
        ours = (not self.is_recording, -self.facts["world"], len(path)) if self.ours else ()
        return self.rank, not self.ours, ours, path

    def label(self) -> bytes:
        """The name of its processes, such as ``rank 3 | node7 | pipe 1, data 0``. Those of a merge have names."""
        parts = (b"rank %d" % self.rank, self.facts["node"], self.facts["coordinates"])
        return b"" if self.facts["merged"] else b" | ".join(filter(None, parts))

    def argument(self) -> dict[str, Any]:
        """The input for ``_core.timeline_merge``."""
        return {
            "path": os.fsencode(self.path),
            "content": self.content,
            "rank": self.rank,
            "program": self.facts["program"],
            "label": self.label(),
            "beside": self.beside,
            "merged": self.facts["merged"],
            "clock": self.clock.row(),
            "damaged": self.damaged,
            "damage": self.damage,
            **({} if self.transfers is None else {"transfers": self.transfers}),
        }

    def row(self) -> dict[str, Any]:
        """Facts about the file and the results of reading it."""
        clock = self.clock
        unread = {"lost": self.damaged if self.used else 0, "trouble": self.trouble}
        return {
            "file": self.path,
            "rank": self.rank,
            "format": self.facts["format"],
            "program": self.facts["program"],
            "used": self.used,
            "left_out": self.left_out,
            "world": self.facts["world"],
            "align": clock.method,
            "offset_ns": clock.clock.offset,
            "at_ns": clock.clock.at,
            "drift_ppb": clock.clock.drift / 1000,
            "uncertainty_ns": None if clock.uncertainty < 0 else clock.uncertainty,
            "residual_ns": clock.residual,
            "violations": clock.violations,
            "unread": self.facts["unread"],
            **dict.fromkeys(_RESULTS, 0) | unread | self.results,
        }


class Timelines:
    """Timelines of ranks; ``used`` are sorted by rank. ``first`` also finds their earliest events. Raises Error if none
    is a trace of ``ranks``, or a rank is in two files."""

    def __init__(
        self, files: Sequence[TimelineInput], align: Aligner, ranks: Sequence[int] | None = None, first: bool = False
    ) -> None:
        self._align = align
        self.base: int | None = None
        self.files: list[TimelineFile] = []
        share = share_of(len(files)) if align.moments else 0
        for file in files:
            self.files.append(_surveyed(file, ranks, first or align.starts, share))
        self.used = _chosen(sorted((file for file in self.files if file.used), key=lambda file: file.place))
        if not self.used:
            bad = next((file for file in self.files if file.trouble), None)
            raise Error("no trace of these ranks") if bad is None else Error(f"{bad.path}: {bad.trouble}")

    def drop(self, file: TimelineFile, trouble: str) -> None:
        file.used, file.trouble = False, trouble
        self.used.remove(file)

    def align(self) -> None:
        """Set the clocks of the files, and ``base``, the real time of time 0."""
        self.base, clocks = self._align([file.facts["clock"] | {"rank": file.rank} for file in self.used])
        for file, clock in zip(self.used, clocks, strict=True):
            file.clock = clock
            file.facts.pop("clock")  # its columns

    def draw_flows(self, windows: Mapping[str, tuple[int, int]]) -> None:
        """Find the flows of a pipeline between the recordings, in these times of files, by their paths."""
        files = [file for file in self.used if file.is_recording]
        shown = [ShownTimes(file.clock.clock, *windows.get(file.path, ())) for file in files]
        found = flows_between((file.path, each) for file, each in zip(files, shown, strict=True))
        for file, ends in zip(files, found or [], strict=False):
            file.transfers = ends

    @property
    def bytes(self) -> int:
        return sum(int(file.facts["size"]) for file in self.used)

    def accept(self, results: Sequence[dict[str, Any]]) -> None:
        """Store the results of the used files."""
        for file, result in zip(self.used, results, strict=True):
            file.results = result


def _surveyed(file: TimelineInput, ranks: Sequence[int] | None, first: bool, share: int) -> TimelineFile:
    path, rank, content, damaged, damage = file if len(file) > 2 else (*file, os.fsencode(file[0]), 0, None)
    moments: list[SyncEvents] = []

    def take(batch: bytearray, texts: list[str]) -> bool:
        from fastdispatch.read.sync_events import SyncEvents

        moments.extend([] if moments else [SyncEvents()])
        return moments[0].take(batch, texts)

    found = timeline_survey(content, first=first, take=take if share > 0 else None)
    members, clock = member_facts(found.pop("members"))
    own, pair = clock["rank"], members["has_rank"] and members["world"] == 2
    clock |= {"first": found.pop("first")} | (
        dict(zip(("parts", "messages"), moments[0].columns(), strict=True)) if moments else no_moments()
    )
    clock = sample(clock, share, 1 - own if pair and own < 2 else None)
    facts = found | members | {"clock": clock}
    made = TimelineFile(path, clock["rank"] if facts["has_rank"] else rank, facts, content, damaged, damage)
    made.used = facts["is_trace"] and (ranks is None or made.rank in ranks)
    made.left_out = facts["is_trace"] and not made.used
    made.trouble = facts["trouble"] if damage is None else damage
    return made


def _chosen(files: Sequence[TimelineFile]) -> list[TimelineFile]:
    """Skip the second recording of a rank in a run directory. A recording and a trace of another program may have the
    same rank; other files may not."""
    chosen: list[TimelineFile] = []
    for file in files:
        last = chosen[-1] if chosen else None
        if last is not None and last.rank == file.rank:
            if last.ours and file.ours and last.path.rpartition("/")[:2] == file.path.rpartition("/")[:2]:
                file.used, file.trouble = False, f"rank {file.rank} is in another input"
                continue
            if last.ours == file.ours:
                raise Error(f"rank {last.rank} is in two inputs: {last.path} and {file.path}")
            last.beside = file.beside = True
        chosen.append(file)
    return chosen


def merge_files(
    files: Sequence[TimelineInput],
    output: str | os.PathLike[str],
    align: Aligner | str = "none",
    *,
    ranks: Sequence[int] | None = None,
    sorted: bool = False,
    steps: tuple[int, int] | None = None,
    times: tuple[int | None, int | None] | None = None,
    find_steps: StepFinder | None = None,
    named_durations: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> list[dict[str, Any]]:
    """Merge timelines (docs/guides/timeline-tools.md) of these ``ranks`` and return a row per file. ``steps``: keep the
    events of the steps from the first up to the second; ``times``: those that overlap the times from the first up to
    the second, in ns since the first event; None: no bound."""
    made = Timelines(files, Aligner(align) if isinstance(align, str) else align, ranks, first=times is not None)
    arguments: list[dict[str, Any]]
    if steps is None and times is None:
        made.align()
        made.draw_flows({})
        arguments = [file.argument() for file in made.used]
    else:
        from fastdispatch.read.kept_events import kept_events

        arguments = kept_events(made, steps, times, find_steps)
    results = timeline_merge(
        arguments,
        output,
        sorted=sorted,
        named_durations=named_durations,
        progress=progress,
        base_ns=made.base,
        total=made.bytes,
    )
    made.accept(results)
    return [file.row() for file in made.files]
