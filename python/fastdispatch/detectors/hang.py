"""``hang``: a rank ended or stands in a call that does not return, while others wait for it.

The time that counts is that without any call, up to now, or up to the last sign of life of a killed process
(csrc/recording/thread_watch.h). A rank that runs, or that waits for the compiler, is slow: that is not decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided, Where
from fastdispatch.read.collectives import GroupCalls, compared_groups, differences, operator_differences
from fastdispatch.read.source_calls import Sources
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import seconds, spans

ID = "hang"

ADVICE = "fastdispatch stacks prints the calls of all ranks; look at the rank that is not in the collective first"

_ADVICE_ALONE = "fastdispatch stacks prints the calls of all threads: another thread or process has to end this wait"

#: Kinds of waiting (csrc/recording/wait_kinds.h), and whether another thread or process has to end it.
_WAITS = {
    "lock": ("waits for a lock or another thread", True),
    "socket": ("waits for a socket", True),
    "pipe": ("waits for a pipe", True),
    "poll": ("waits for input of a socket or pipe", True),
    "child": ("waits for a child process", True),
    "sleep": ("sleeps", False),
    "file": ("reads or writes a file", False),
    "other": ("is in a system call", False),
    "": ("runs", False),
}

_COMPILER = ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/")

_LOADER = "torch/utils/data/dataloader.py"


@dataclass(frozen=True)
class _Standing:
    """The main thread of a rank that has not ended: its open calls, outermost first, and the time without any call."""

    rank: int
    killed: bool
    stack: list[int]
    keys: list[str]
    quiet: int  # ns without any call
    still: bool  # it has not run in that time
    waits: str
    lines: list[int]  # that the calls execute; 0: unknown
    source: str = ""  # text of the line that the innermost call executes
    loading: int = 0  # ns for which it waits for a batch of a DataLoader

    @property
    def collective(self) -> str:
        """The innermost function of torch.distributed, or collective, that is open."""
        return next(filter(_is_communication, reversed(self.keys)), "")

    @property
    def stands(self) -> bool:
        """Whether it cannot continue on its own. A loop of short sleeps polls for something."""
        return self.still or self.waits == "sleep"

    @property
    def text(self) -> str:
        least = "at least " if self.killed else ""
        why = "" if self.collective else f": it {_WAITS[self.waits][0]}"
        why += f" in `{self.source}`" if why and self.source else ""
        return f"{self.keys[-1]} for {least}{seconds(self.quiet)}{why}"


def find(steps: MeasuredSteps) -> Iterator[Finding | NotDecided]:
    """Look at ranks without a normal end: also those without any step."""
    workers, steps = steps.workers, steps.whole
    standing = [found for rank in steps.trace.ranks for found in _standing(steps.trace, rank)]
    longest = max(limits.HANG_S * 1e9, limits.HANG_STEPS * steps.typical)
    waiting = [each for each in standing if each.collective]
    sentences = _sentences(steps) if waiting else []
    minority = _minority(steps) if waiting else []
    named = [each for each in waiting if each.rank in minority]
    late = [each for each in waiting if each.quiet >= longest]
    if named and len(named) == len(minority) and len(waiting) == len(standing):
        yield _finding(steps, named, waiting, sentences)
    elif late:
        yield from _in_collectives(steps, standing, late, sentences)
    else:
        quiet = [each for each in standing if max(each.quiet, each.loading) >= longest]
        loading = [each for each in quiet if each.loading >= longest]
        yield from _for_batches(steps, loading, workers) if loading else _alone(steps, quiet)


def _in_collectives(
    steps: MeasuredSteps, standing: list[_Standing], late: list[_Standing], sentences: list[str]
) -> Iterator[Finding | NotDecided]:
    """Some ranks wait in a collective for too long."""
    elsewhere = [each for each in standing if not each.collective]
    ended = [rank["rank"] for rank in steps.trace.ranks if rank["state"] == "stopped"]
    dead = [each for each in elsewhere if each.killed and any(not other.killed for other in late)]
    guilty = dead or [each for each in elsewhere if each.stands]
    who = f"{_ranks(late)} wait{'s' * (len(late) == 1)} {seconds(max(each.quiet for each in late))} in a collective"
    if guilty:
        yield _finding(steps, guilty, late, sentences)
    elif elsewhere:
        busy = "; ".join(f"rank {each.rank} {_WAITS[each.waits][0]} in {each.keys[-1]}" for each in elsewhere[:3])
        yield NotDecided(ID, f"{who}; {busy}")
    elif ended and any(not each.killed for each in late):  # if they were killed, the others may have ended for it
        yield _finding(steps, late, late, [f"rank{'s' * (len(ended) > 1)} {spans(ended)} ended before", *sentences])
    elif len(late) == len(steps.trace.ranks) == steps.trace.ranks[0]["world"]:
        yield _finding(steps, _fewest(late), late, sentences)
    else:
        yield NotDecided(ID, f"{who}; other ranks ended, are not recorded, or have just called it")


def _for_batches(
    steps: MeasuredSteps, loading: list[_Standing], workers: Iterable[Trace]
) -> Iterator[Finding | NotDecided]:
    """Ranks wait for a worker of a DataLoader, which stands still or is slow."""
    waits = sorted((replace(each, quiet=each.loading) for each in loading), key=lambda each: -each.quiet)
    least = "at least " if waits[0].killed else ""
    who = f"{_ranks(waits)} wait{'s' * (len(waits) == 1)} {least}{seconds(waits[0].quiet)} for a batch"
    for worker in map(MeasuredSteps, workers):
        still = [each for rank in worker.trace.ranks for each in _standing(worker.trace, rank) if each.still]
        if still:
            found = _finding(steps, waits, [], [])
            found.title = f"{who}: a worker of the DataLoader has been in {still[0].text}"
            found.where = _where(worker, still[0])
            found.proof = f"its call: {' > '.join(still[0].keys[-3:])}"
            yield found
            return
    yield NotDecided(ID, f"{who}: a worker of the DataLoader runs, or is not recorded")


def _alone(steps: MeasuredSteps, quiet: list[_Standing]) -> Iterator[Finding | NotDecided]:
    """No rank is in a collective."""
    stuck = [each for each in quiet if each.still and _WAITS[each.waits][1]]
    compiles = [each for each in quiet if any(key.startswith(_COMPILER) for key in each.keys)]
    stuck = [each for each in stuck if each not in compiles and not each.loading]
    if stuck:
        yield _finding(steps, stuck, [], [])
    elif quiet:
        yield NotDecided(ID, "; ".join(f"rank {each.rank} has been in {each.text}" for each in quiet[:3]))


def _fewest(standing: list[_Standing]) -> list[_Standing]:
    """Return the ranks in the collective that the fewest are in."""
    kinds = Counter(each.collective for each in standing)
    rare = min(kinds, key=lambda kind: kinds[kind])
    return [each for each in standing if each.collective == rare]


def _sentences(steps: MeasuredSteps) -> list[str]:
    groups = compared_groups([steps.trace])
    return list(differences(groups)) if groups else list(operator_differences([steps.trace]))


def _minority(steps: MeasuredSteps) -> list[int]:
    return next(filter(None, map(_minority_of, compared_groups([steps.trace]))), [])


def _minority_of(group: GroupCalls) -> list[int]:
    """Return the ranks that call another operator than most, in the first collective in which ranks differ."""
    if not group.comparable():
        return []
    for _, calls in sorted(group.calls.items()):
        kinds = Counter(call.signature for call in calls.values())
        if len(kinds) > 1:
            usual = kinds.most_common(1)[0][0]
            return [rank for rank, call in calls.items() if call.signature != usual]
    return []


def _finding(steps: MeasuredSteps, guilty: list[_Standing], waiting: list[_Standing], sentences: list[str]) -> Finding:
    first = guilty[0]
    others = [each for each in waiting if each not in guilty]
    proof = [f"{_ranks(others)} wait{'s' * (len(others) == 1)} in {_collectives(others)}"] if others else []
    alone = f"all {len(guilty)} ranks wait" if len(guilty) > 1 else f"no call ended or began in {seconds(first.quiet)}"
    state = "have been in" if len(guilty) > 1 else "has been in"
    if first.killed and any(not each.killed for each in others):
        state = "was killed in"
    found = steps.finding(
        ID,
        f"{_ranks(guilty)} {state} {first.text}",
        _where(steps, first),
        0.0,
        "; ".join([*proof, *sentences]) or alone,
        ADVICE if waiting else _ADVICE_ALONE,
        severity="critical",
        ranks=sorted(each.rank for each in guilty),
        evidence={
            "waiting": sorted(each.rank for each in others),
            "stack": first.keys,
            "collectives": sentences,
            "quiet_ns": first.quiet,
            "waits": first.waits,
        },
    )
    found.gain_ns = max(first.quiet, steps.typical)
    found.extent, found.share = steps.extent(first.quiet).values()
    return found


def _where(steps: MeasuredSteps, standing: _Standing) -> Where:
    """Return the innermost open call of the program."""
    users = [at for at, row in enumerate(standing.stack) if steps.is_user(row)] or [-1]
    node = steps.paths["node"][standing.stack[users[-1]]]
    line = standing.lines[users[-1]] or steps.trace.nodes["line"][node]
    return Where(steps.keys[node], steps.trace.nodes["file"][node], line, standing.keys)


def _ranks(standing: Iterable[_Standing]) -> str:
    numbers = sorted(each.rank for each in standing)
    return f"rank{'s' * (len(numbers) > 1)} {spans(numbers)}"


def _collectives(standing: Iterable[_Standing]) -> str:
    """Name the open collectives: all_reduce, broadcast."""
    return ", ".join(sorted({each.collective.rpartition(":")[2] for each in standing}))


def _standing(trace: Trace, rank: dict[str, Any]) -> Iterator[_Standing]:
    calls, threads = rank["open"], rank["threads"]
    main = [row for row, role in enumerate(threads["role"]) if role == trace.main_role]
    rows = [row for row, thread in enumerate(calls["thread"]) if thread in main and calls["context"][row] >= 0]
    stack = [calls["context"][row] for row in rows]
    if rank["state"] not in ("running", "killed") or not stack:
        return
    active = [row for row, role in enumerate(threads["role"]) if row in main or role.startswith("autograd")]
    last = max(threads["last"][row] for row in active) if rank["timing"] else 0
    still = max(threads["still"][row] for row in main)
    quiet = max(rank["seen_alive"] - last, 0) if rank["timing"] else still
    keys = [trace.nodes["key"][trace.contexts["node"][path]] for path in stack]
    loading = [calls["age"][row] for row, key in zip(rows, keys, strict=True) if key.startswith(_LOADER)]
    lines = [calls["line"][row] for row in rows]
    source = Sources(trace).text(trace.contexts["node"][stack[-1]], lines[-1])
    waits = threads["waits"][main[-1]]
    killed = rank["state"] == "killed"
    yield _Standing(rank["rank"], killed, stack, keys, quiet, still > 0, waits, lines, source, max(loading, default=0))


def _is_communication(key: str) -> bool:
    return key.startswith(("c10d::", "torch/distributed/", "torch.distributed.ddp"))
