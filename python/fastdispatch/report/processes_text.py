"""The other processes of ranks as text: one line per group."""

from collections.abc import Iterator, Sequence

from fastdispatch.read.processes import Processes, WorkerTimes
from fastdispatch.text.formats import counted, grouped, seconds


def lines(groups: Sequence[Processes]) -> Iterator[str]:
    for group in groups:
        rank = f" of rank {group.rank}" if group.rank >= 0 else ""
        if group.kind == "worker":
            yield f"{_count(group, 'DataLoader worker')}{rank} ({group.name}): {_work(group)}"
            if group.waits:
                batches = counted(group.waits, "batch", "batches")
                line = f"  rank {group.rank} waited {seconds(group.waited)} for {batches} of its workers"
                if group.starts:
                    line += f", which it started {counted(group.starts, 'time')} in {seconds(group.starting)}"
                yield line
        elif group.kind == "subprocess":
            caller = f", started by {group.name}" if group.name else ""
            yield f"{_count(group, 'subprocess')}{rank} not recorded{caller}"
        else:
            yield f"{_count(group, 'other process')}{rank} ({group.name}), recorded {seconds(group.recorded)}"


def _count(group: Processes, noun: str) -> str:
    live = f", {group.live} running," if 0 < group.live < group.count else ""
    return counted(group.count, noun, f"{noun}es" if noun.endswith("s") else "") + live


def _work(group: Processes) -> str:
    parts = [_of(work) for work in [*group.items, *group.collate]]
    if group.inside:
        parts[0] += f" (of which {', '.join(_of(work) for work in group.inside)})"
    if group.recorded:
        parts.append(f"idle {100 * group.idle / group.recorded:.0f} % of {seconds(group.recorded)}")
    return ", ".join(parts) or "no item"


def _of(work: WorkerTimes) -> str:
    return f"{work.key.rpartition(':')[2]} {seconds(work.total)} in {grouped(work.calls)} calls"
