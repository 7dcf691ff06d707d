"""The jobs of a merge as the two files that Paddle's tool writes: one row per device, and one for the steps of all.

``pipeline_profile.json`` has rows ``GPU2`` or ``GPU2(machine:0)`` and ``Step``; ``pipeline_profile_perfetto.json``
numbers of rows, and their names. A job is a slice with ``micro_batch`` in its arguments.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.files.output import write

Event = dict[str, Any]

_STEP_ROW, _FIRST_ROW = 2333, 2334
#: Process ids of a merge, per rank.
_PIDS = 1024
_COLORS = {
    "forward": "thread_state_running",
    "backward": "rail_idle",
    "optimizer": "rail_response",
    "default": "thread_state_unknown",
    "step": "thread_state_unknown",
}
_STEP = re.compile(r"(?:ProfilerStep#|step )(\d+)", re.ASCII)


@dataclass
class Interval:
    """A step by its number, or a job by its step (-1: unknown), in nanoseconds."""

    number: int
    begin: int
    end: int
    event: Event

    def distance(self, other: Interval) -> int:
        return abs(self.begin + self.end - other.begin - other.end)


@dataclass
class DeviceRow:
    """An input."""

    file: str
    device: int
    machine: int | None
    steps: list[Interval] = field(default_factory=list)
    jobs: list[Interval] = field(default_factory=list)

    def label(self, device: str) -> str:
        return f"{device}{self.device}" + ("" if self.machine is None else f"(machine:{self.machine})")


def write_profile(
    merged: Path, inputs: Sequence[Event], folder: Path, steps: tuple[int, int] | None, named_durations: bool
) -> dict[str, int]:
    """Write both files into a folder, from a merge and the rows of its inputs. Return the number of jobs by input.
    Raises Error without a job."""
    trace = json.loads(merged.read_bytes(), parse_float=Decimal)
    rows = _rows(trace, sorted((row for row in inputs if row["used"]), key=itemgetter("rank")))
    common = _join_steps(rows)
    wanted = range(*steps) if steps else None
    counts = {}
    for row in rows:
        row.jobs = [job for job in row.jobs if wanted is None or job.number in wanted]
        counts[row.file] = len(row.jobs)
    if not any(counts.values()):
        which = " of these steps" if steps else ""
        raise Error(f"{rows[0].file}: no job{which} in it: nothing is written")
    shown = [step for step in _apart(common) if wanted is None or step.number in wanted]
    base = trace.get("baseTimeNanoseconds", 0)
    plain: list[str] = []
    numbered: list[str] = []
    parts = [(row.label("GPU"), _FIRST_ROW + index, row.jobs) for index, row in enumerate(rows)]
    for label, number, slices in [*parts, ("Step", _STEP_ROW, shown)]:
        for each in slices:
            plain += _edges(each, base, label, named_durations)
            numbered += _edges(each, base, number, named_durations)
    for index, label in enumerate(["STEP", *(row.label("GPU:") for row in rows)]):
        name = {"args": {"name": label}, "cat": "__metadata", "name": "thread_name", "ph": "M", "pid": 0}
        numbered.append(_text(name | {"tid": _STEP_ROW + index, "ts": 0}))
    for file, lines in (("pipeline_profile.json", plain), ("pipeline_profile_perfetto.json", numbered)):
        write(folder / file, ('{"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n").encode())
    return counts


def _rows(trace: Event, inputs: Sequence[Event]) -> list[DeviceRow]:
    """Return the inputs with their steps and jobs. A machine has a number if its name begins with ``machine``."""
    rows: dict[int, DeviceRow] = {}
    machine, before = 0, ""
    for about in inputs:
        members = trace["metadata"].get(str(about["rank"]), {})
        host = str(members.get("host_name", ""))
        machine += bool(rows) and host != before
        before = host
        paddle = members.get("paddle")
        device = _count(paddle.get("device")) if isinstance(paddle, dict) else None
        rows[about["rank"]] = DeviceRow(
            about["file"], about["rank"] if device is None else device, machine if host.startswith("machine") else None
        )
    alone = next(iter(rows.values())) if len(rows) == 1 else None  # it may be a merge of several ranks
    for event in trace["traceEvents"]:
        begin, duration = (_nanoseconds(event.get(key)) for key in ("ts", "dur"))
        is_slice = event.get("ph") == "X" and isinstance(event.get("pid"), int)
        row = rows.get(event["pid"] // _PIDS, alone) if is_slice else None
        if row is not None and begin is not None and duration is not None and duration >= 0:
            _take(row, event, begin, begin + duration)
    return list(rows.values())


def _take(row: DeviceRow, event: Event, begin: int, end: int) -> None:
    name, args = str(event.get("name", "")), event.get("args")
    step = _STEP.fullmatch(name)
    if step and (event.get("cat") == "step" or not name.startswith("step")):
        row.steps.append(Interval(int(step[1]), begin, end, event))
    if name and "cat" in event and isinstance(args, dict) and _count(args.get("micro_batch")) is not None:
        number = _count(args.get("step"))
        row.jobs.append(Interval(-1 if number is None else number, begin, end, event))


def _nanoseconds(value: Any) -> int | None:
    """Return a time of JSON, None for other values."""
    return math.floor(value * 1000) if isinstance(value, (int, Decimal)) else None


def _count(value: Any) -> int | None:
    """Return a non-negative integer of JSON, None for other values."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _join_steps(rows: Sequence[DeviceRow]) -> list[Interval]:
    """Combine the steps of all rows, and number jobs by them. The row with the most steps is the reference; only one
    worker may have logged the number of the first step."""
    reference = max(rows, key=lambda row: len(row.steps)).steps
    first = max((row.steps[0].number for row in rows if row.steps), default=0)
    common = []
    for step in reference:
        number = step.number - reference[0].number + max(reference[0].number, first)
        common.append(Interval(number, step.begin, step.end, {"name": f"step{number}", "cat": "step"}))
    for row in rows:
        same = [common[_index_of(row.steps, index, reference)] for index in range(len(row.steps))]
        for step, joined in zip(row.steps, same, strict=True):
            joined.begin, joined.end = min(joined.begin, step.begin), max(joined.end, step.end)
        for job in row.jobs:
            own = job.number - row.steps[0].number if job.number >= 0 and row.steps else -1
            job.number = same[own].number if 0 <= own < len(same) else -1
            args = {key: job.event["args"].get(key) for key in ("job", "micro_batch")}
            args["step"] = job.number if job.number >= 0 else None
            args = {key: value for key, value in args.items() if _count(value) is not None}
            job.event = {"name": str(job.event["name"]), "cat": str(job.event["cat"]), "args": args}
    return common


def _index_of(steps: Sequence[Interval], index: int, reference: Sequence[Interval]) -> int:
    """Return the index of the reference step that is nearest in time, so that a row without some step does not shift
    the others; the same index if the times do not overlap."""
    if steps[0].begin > reference[-1].end or steps[-1].end < reference[0].begin:
        return index
    return min(range(len(reference)), key=lambda other: steps[index].distance(reference[other]))


def _apart(steps: Sequence[Interval]) -> Iterator[Interval]:
    """Yield steps that begin where the one before ends at the earliest."""
    last = None
    for step in steps:
        begin, last = step.begin if last is None else max(step.begin, last), step.end
        if step.end >= begin:
            yield Interval(step.number, begin, step.end, step.event)


def _edges(of: Interval, base: int, row: int | str, named_durations: bool) -> Iterator[str]:
    """Yield the begin and the end as lines of JSON."""
    event = of.event
    if named_durations:  # always in ms: Perfetto gives the same color to names that differ only in digits
        us = (of.end - of.begin + 500) // 1000
        event = event | {"name": f"{event['name']} ({us // 1000}.{us % 1000:03d} ms)"}
    color = next((color for kind, color in _COLORS.items() if event["cat"].startswith(kind)), None)
    for phase, time in (("B", base + of.begin), ("E", base + of.end)):
        head = _text({"name": event["name"], "cat": event["cat"], "ph": phase})
        rest: Event = {"pid": 0, "tid": row} | ({"cname": color} if color else {})
        if phase == "B" and "args" in event:
            rest["args"] = event["args"]
        yield f'{head[:-1]},"ts":{time // 1000}.{time % 1000:03d},{_text(rest)[1:]}'


def _text(event: Event) -> str:
    return json.dumps(event, separators=(",", ":"))
