"""``hang``: a rank ended or stands in a call that does not return, while others wait for it.

A rank that runs, that waits for the compiler or for its own threads and child processes while those work, or that has
waited as long in the same call before, is slow: that is not decided. Neither is what ranks do after another one was
killed. Times are up to now, or up to the last sign of life of a killed process (csrc/recording/thread_watch.h).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import BACKWARD, FORWARD, OPTIMIZER, MeasuredSteps
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.read.collectives import GroupCalls, compared_groups, differences, operator_differences
from fastdispatch.read.source_calls import Sources
from fastdispatch.read.trace import Trace
from fastdispatch.text.formats import seconds, spans

#: Kinds of waiting (csrc/recording/wait_kinds.h), of one thread and of several, and whether only a thread or a
#: message ends it: a child process, and the holder of a file, may take long.
WAITS = {
    "lock": ("waits for a lock or another thread", "wait for a lock or another thread", True),
    "socket": ("waits for a socket", "wait for a socket", True),
    "pipe": ("waits for a pipe", "wait for a pipe", True),
    "poll": ("waits for input of a socket or pipe", "wait for input of a socket or pipe", True),
    "child": ("waits for a child process", "wait for a child process", False),
    "sleep": ("sleeps", "sleep", False),
    "file": ("reads or writes a file", "read or write a file", False),
    "other": ("is in a system call", "are in a system call", False),
    "unseen": ("was not seen since its start or a fork", "were not seen since their start or a fork", False),
    "": ("runs", "run", False),
}

_LOCKS_OF_FILES = ("flock(", "lockf(")

#: Threads in these waits that run now and then receive or send.
_TRANSFERS = ("socket", "pipe", "file")

#: ns: the period of the signs of life, twice.
SOON = 2e9

LOADER, WORKER, FETCH = (f"torch/utils/data/{name}.py" for name in ("dataloader", "_utils/worker", "_utils/fetch"))

#: The thread that ends the program, after its main module has ended or raised.
_END = "threading.py:[]:_shutdown"


@dataclass(frozen=True)
class Standing:
    """The main thread of a rank that has not ended: its open calls, outermost first, and the time without any call."""

    rank: int
    killed: bool
    stack: list[int]
    keys: list[str]
    quiet: int  # ns without any call
    still: bool  # it has not run in that time
    waits: str
    lines: list[int]  # that the calls execute; 0: unknown
    ages: list[int]  # ns since the calls began
    moment: int  # of its last sign of life, ns since 1970
    worked: bool  # in the last seconds other threads ran, or child processes
    before: float  # ns that an earlier one of the innermost call took: in the step with the longest, and in the mean
    source: str = ""  # text of the line that the innermost call executes
    loading: int = 0  # ns for which it waits for a worker of a DataLoader
    ended: bool = False  # its program has ended: the calls are those of another thread, for which it waits
    again: bool = False  # it returns from its wait, and waits again
    stepped: int = 0  # ns since the end of its last step; 0: it has none

    @property
    def collective(self) -> str:
        """The innermost function of torch.distributed, or collective, that is open, or the wait for one."""
        handle = self.waits == "lock" and ".wait(" in self.source and not self.keys[-1].startswith("threading.py:")
        return next(filter(_is_communication, reversed(self.keys)), self.keys[-1] if handle else "")

    @property
    def usual(self) -> bool:
        """Whether earlier ones of the innermost call took so long that this one is not longer than others."""
        return self.quiet < limits.HANG_STEPS * self.before

    @property
    def depends(self) -> bool:
        """Whether another thread or process has to end its wait, while its own threads and children do not work."""
        of_file = any(call in self.source for call in _LOCKS_OF_FILES)
        return self.still and WAITS[self.waits][2] and not of_file and not self.worked and not self.usual

    @property
    def stands(self) -> bool:
        """Whether it cannot continue on its own. A loop of short sleeps polls for something."""
        own = self.waits in ("lock", "child", "pipe", "poll") and self.worked
        return ((self.still and not own) or self.waits == "sleep") and not self.usual

    def does(self, several: bool = False) -> str:
        """Return what it does: ``it waits for a pipe``."""
        text = f"{'they' if several else 'it'} {WAITS[self.waits][several]}"
        text += " again and again" * self.again
        text += f" in `{self.source}`" if self.source else ""
        return text + (", and its other threads or child processes run" if self.worked and self.still else "")

    def state(self, several: bool = False) -> str:
        """Return its innermost call and for how long, and why."""
        least = "at least " if self.killed else ""
        why = "" if _is_communication(self.collective) else f": {self.does(several)}"
        return f"{self.keys[-1]} for {least}{seconds(self.quiet)}{why}"

    def in_loop(self, longest: float, waits: Iterable[str]) -> Standing:
        """Return it as seen from the innermost call that is old enough, if it returns from short waits."""
        old = [at for at, age in enumerate(self.ages) if age >= longest]
        if self.quiet >= longest or not old or self.waits not in waits:
            return self
        to = old[-1] + 1
        cut = {name: getattr(self, name)[:to] for name in ("stack", "keys", "lines", "ages")}
        quiet = min(self.ages[to - 1], self.stepped or self.ages[to - 1])
        return replace(self, quiet=quiet, source="", again=True, before=0.0, **cut)


def standing_ranks(trace: Trace) -> list[Standing]:
    return [found for index, rank in enumerate(trace.ranks) for found in _standing(trace, index, rank)]


def moment_of(rank: dict[str, Any]) -> int:
    """Return the moment of the end or of the last sign of life of a rank, ns since 1970."""
    return int(rank["start_realtime"] + max([rank["seen_alive"], *rank["threads"]["last"]]))


def _earlier(trace: Trace, index: int, path: int) -> float:
    """Return how long earlier ones of an open call took, 0 without any. Its own time is in no total yet, and it may be
    outside of recorded steps."""
    figures, paths = trace.core.columns("figures", index), trace.core.contexts(index)
    longest = dict(zip(figures["context"], figures["total_max"], strict=True))
    calls = paths["calls"][path]
    return float(max(longest.get(path, 0), paths["total"][path] / (calls - 1) if calls > 1 else 0))


def _standing(trace: Trace, index: int, rank: dict[str, Any]) -> Iterator[Standing]:
    calls, threads = rank["open"], rank["threads"]
    main = [row for row, role in enumerate(threads["role"]) if role == trace.main_role]
    rows = [row for row, thread in enumerate(calls["thread"]) if thread in main and calls["context"][row] >= 0]
    if rank["state"] not in ("running", "killed") or not rows:
        return
    active = [row for row, role in enumerate(threads["role"]) if row in main or role.startswith("autograd")]
    others = [row for row in range(len(threads["role"])) if row not in active]
    last = max(threads["last"][row] for row in active) if rank["timing"] else 0
    still = max(threads["still"][row] for row in main)
    quiet = max(rank["seen_alive"] - last, 0) if rank["timing"] else still
    ended = trace.nodes["key"][trace.contexts["node"][calls["context"][rows[-1]]]].endswith(_END)
    if ended:
        others_open = [row for row, thread in enumerate(calls["thread"]) if thread in others]
        rows = [row for row in others_open if calls["thread"][row] == calls["thread"][others_open[0]]] or rows
    stack, ages, lines = ([calls[name][row] for row in rows] for name in ("context", "age", "line"))
    keys = [trace.nodes["key"][trace.contexts["node"][path]] for path in stack]
    fetches = any(key.startswith(FETCH) for key in keys)
    yield Standing(
        rank["rank"],
        rank["state"] == "killed",
        stack,
        keys,
        quiet,
        still > 0 and quiet > 0,
        threads["waits"][main[-1]],
        lines,
        ages,
        moment_of(rank),
        _worked(rank, others),
        _earlier(trace, index, stack[-1]),
        Sources(trace).text(trace.contexts["node"][stack[-1]], lines[-1]),
        0 if fetches else max((age for key, age in zip(keys, ages, strict=True) if key.startswith(LOADER)), default=0),
        ended,
        stepped=rank["seen_alive"] - max(rank["latest_steps"]["end"], default=rank["seen_alive"]),
    )


def _worked(rank: dict[str, Any], others: list[int]) -> bool:
    threads = rank["threads"]
    transfers = any(
        threads["running"][row] and not threads["still"][row] and threads["waits"][row] in _TRANSFERS for row in others
    )
    ran = rank["others_ran"]
    return transfers or (ran > 0 and rank["seen_alive"] - ran < max(limits.HANG_S * 1e9, SOON))


def _is_communication(key: str) -> bool:
    return key.startswith(("c10d::", "torch/distributed/", "torch.distributed.ddp"))


def is_idle_worker(standing: Standing) -> bool:
    """Whether a worker of a DataLoader waits for its next batch to make."""
    loops = [at for at, key in enumerate(standing.keys) if key.startswith(WORKER)]
    below = standing.keys[loops[-1] + 1 :] if loops else []
    return bool(below) and below[0].startswith("multiprocessing/queues.py:")


def names(standing: Iterable[Standing]) -> str:
    numbers = sorted(each.rank for each in standing)
    return f"rank{'s' * (len(numbers) > 1)} {spans(numbers)}"


def collectives(standing: Iterable[Standing]) -> str:
    """Name the open collectives: all_reduce, broadcast."""
    return ", ".join(sorted({each.collective.rpartition(":")[2] for each in standing}))


ADVICE = "fastdispatch stacks prints the calls of all ranks; look at the rank that is not in the collective first"

_ADVICE_ALL = "compare the order of collectives and messages of the ranks; measure='comm' records those of each group"

_ADVICE_ALONE = "fastdispatch stacks prints the calls of all threads: another thread or process has to end this wait"

#: Short waits that a program begins again and again, until another thread or process has done something.
_POLLS = ("sleep", "lock", "child", "socket", "pipe", "poll")

_COMPILER = ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/")


def hang(steps: MeasuredSteps) -> Iterator[Finding | str]:
    """Look at ranks without a normal end: also those without any step."""
    workers, steps = steps.workers, steps.whole
    standing = standing_ranks(steps.trace)
    longest = max(limits.HANG_S * 1e9, limits.HANG_STEPS * steps.typical)
    waiting = [each for each in standing if each.collective]
    sentences = _sentences(steps) if len(steps.trace.ranks) > 1 else []
    minority = next(filter(None, map(_minority_of, compared_groups([steps.trace]))), []) if waiting else []
    named = [each for each in waiting if each.rank in minority]
    late = [each for each in waiting if each.quiet >= longest]
    loading = [each for each in standing if each.loading >= longest]
    if named and len(named) == len(minority) and len(waiting) == len(standing):
        yield _finding(steps, named, waiting, sentences)
    elif loading:
        yield from _for_batches(steps, loading, late, workers)
    elif late:
        yield from _in_collectives(steps, [each.in_loop(longest, ["sleep"]) for each in standing], late, sentences)
    else:
        yield from _alone(steps, standing, longest, sentences)


def _in_collectives(
    steps: MeasuredSteps, standing: list[Standing], late: list[Standing], sentences: list[str]
) -> Iterator[Finding | str]:
    """Some ranks wait in a collective for too long."""
    death = min((each.moment for each in late if each.killed), default=None)
    elsewhere = [each for each in standing if not each.collective and not _follows(each, death)]
    ended = {rank["rank"]: moment_of(rank) for rank in steps.trace.ranks if rank["state"] == "stopped"}
    before = [rank for rank, moment in ended.items() if death is None or moment < death - SOON]
    dead = [each for each in elsewhere if each.killed and any(not other.killed for other in late)]
    guilty = dead or [each for each in elsewhere if each.stands]
    who = f"{names(late)} wait{'s' * (len(late) == 1)} {seconds(max(each.quiet for each in late))} in a collective"
    if guilty:
        yield _finding(steps, guilty, late, sentences)
    elif elsewhere:
        busy = "; ".join(f"rank {each.rank} is in {each.keys[-1]}: {each.does()}" for each in elsewhere[:3])
        yield f"{who}; {busy}"
    elif before:
        yield _finding(steps, late, late, [f"rank{'s' * (len(before) > 1)} {spans(before)} ended before", *sentences])
    elif len(late) == len(steps.trace.ranks) == steps.trace.ranks[0]["world"] or len(sentences) > 1:
        yield _finding(steps, _rarest(steps, late), late, sentences)
    else:
        yield f"{who}; {_others(steps, standing, late, death)}"


def _follows(each: Standing, death: int | None) -> bool:
    """Whether a rank has moved since another one was killed, perhaps because of that."""
    return death is not None and each.moment - each.quiet > death - SOON


def _others(steps: MeasuredSteps, standing: list[Standing], late: list[Standing], death: int | None) -> str:
    """Return what is known about the ranks that do not wait, of which none stands still."""
    rest = {rank["rank"] for rank in steps.trace.ranks} - {each.rank for each in late}
    after = sorted(rest - {each.rank for each in standing if not _follows(each, death)}) if death is not None else []
    if after:
        return f"rank{'s' * (len(after) > 1)} {spans(after)} went on when it was killed"
    return "other ranks are not recorded, or have just called it"


def _for_batches(
    steps: MeasuredSteps, loading: list[Standing], late: list[Standing], workers: Iterable[Trace]
) -> Iterator[Finding | str]:
    """Ranks wait for a worker of a DataLoader, which stands still or is slow."""
    waits = sorted((replace(each, quiet=each.loading) for each in loading), key=lambda each: -each.quiet)
    least = min(waits[0].quiet, limits.HANG_S * 1e9)
    dead = "at least " if waits[0].killed else ""
    who = f"{names(waits)} wait{'s' * (len(waits) == 1)} {dead}{seconds(waits[0].quiet)} for a batch"
    runs = "is not recorded, or has ended"
    for worker in map(MeasuredSteps, workers):
        for each in standing_ranks(worker.trace):
            stands = each.still and not each.worked and not each.usual
            if stands and each.quiet >= least and not is_idle_worker(each):
                found = _finding(steps, waits, late, [])
                found.title = f"{who}: a worker of the DataLoader has been in {each.state()}"
                found.where = _where(worker, each)
                found.proof = "; ".join(filter(None, [f"its call: {' > '.join(each.keys[-3:])}", _waiting(late)]))
                yield found
                return
            if not is_idle_worker(each):
                runs = f"is in {each.keys[-1]}: {each.does()}"
    yield f"{who}; a worker of the DataLoader {runs}"


def _alone(
    steps: MeasuredSteps, standing: list[Standing], longest: float, sentences: list[str]
) -> Iterator[Finding | str]:
    """No rank is in a collective for long."""
    quiet = [each for each in standing if each.quiet >= longest]
    compiles = [each for each in quiet if any(key.startswith(_COMPILER) for key in each.keys)]
    # A wait for another program, which may be slow, may take longer.
    most = {waits: limits.HANG_PEER * longest for waits in ("socket", "poll")}
    late = [each for each in quiet if each.quiet >= most.get(each.waits, longest)]
    stuck = [each for each in late if each.depends and each not in compiles]
    loops = [each.in_loop(longest, _POLLS) for each in standing]
    unseen = [each for each in standing if each.killed and each.waits == "unseen"]
    slow = quiet or unseen or [each for each in loops if each.again and not _goes_on(steps, each, longest)]
    if stuck:
        yield _finding(steps, stuck, [], sentences)
    elif slow:
        yield "; ".join(f"rank {each.rank} has been in {each.state()}" for each in slow[:3])


def _goes_on(steps: MeasuredSteps, each: Standing, longest: float) -> bool:
    """Whether the innermost call is that of the training loop, whose last step ended a short time ago, or of an
    evaluation."""
    return each.stepped < longest and any(
        steps.phase(row) in (FORWARD, BACKWARD, OPTIMIZER) for row in steps.below(each.stack[-1])
    )


def _rarest(steps: MeasuredSteps, standing: list[Standing]) -> list[Standing]:
    """Return the ranks in the collective that the fewest are in; of equally many, in the one with the fewest calls."""
    kinds = Counter(each.collective for each in standing)
    calls: Counter[str] = Counter()
    for index, _ in enumerate(steps.trace.ranks):
        table = steps.trace.core.table("node", index)
        calls.update({steps.keys[node]: count for node, count in zip(table["node"], table["calls"], strict=True)})
    rare = min(kinds, key=lambda kind: (kinds[kind], calls[kind]))
    return [each for each in standing if each.collective == rare]


def _sentences(steps: MeasuredSteps) -> list[str]:
    groups = compared_groups([steps.trace])
    return list(differences(groups)) if groups else list(operator_differences([steps.trace]))


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


def _waiting(others: list[Standing]) -> str:
    return f"{names(others)} wait{'s' * (len(others) == 1)} in {collectives(others)}" if others else ""


def _finding(steps: MeasuredSteps, guilty: list[Standing], waiting: list[Standing], sentences: list[str]) -> Finding:
    first = max(guilty, key=lambda each: each.quiet)
    others = [each for each in waiting if each not in guilty]
    several = len(guilty) > 1
    state = f"have been in {first.state(several)}" if several else f"has been in {first.state()}"
    if first.killed and any(not each.killed for each in others):
        state = f"was killed in {first.state()}"
    if first.ended:
        least = "at least " * first.killed
        state = f"has ended its program, and has waited {least}{seconds(first.quiet)} for a thread in {first.keys[-1]}"
    found = steps.finding(
        f"{names(guilty)} {state}",
        _where(steps, first),
        0.0,
        "; ".join(filter(None, [_waiting(others), *sentences])) or _proof(guilty, waiting),
        (ADVICE if others or sentences else _ADVICE_ALL) if waiting else _ADVICE_ALONE,
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


def _proof(guilty: list[Standing], waiting: list[Standing]) -> str:
    """Return why ranks in equal calls stand still."""
    if len(guilty) == 1 and not waiting:
        again = guilty[0].again
        return f"no {'step' if again else 'call'} ended{'' if again else ' or began'} in {seconds(guilty[0].quiet)}"
    who = f"all {len(guilty)} ranks" if len(guilty) > 1 else names(guilty)
    wait = "wait" if len(guilty) > 1 else "waits"
    if not waiting or len(guilty) == 1:
        return f"{who} {wait}"
    called = collectives(waiting)
    return f"{who} receive, and none sends" if called == "recv" else f"{who} wait in {called}, but not in one call"


def _where(steps: MeasuredSteps, standing: Standing) -> Where:
    """Return the innermost open call of the program."""
    users = [at for at, row in enumerate(standing.stack) if steps.is_user(row)] or [-1]
    node = steps.paths["node"][standing.stack[users[-1]]]
    line = standing.lines[users[-1]] or steps.trace.nodes["line"][node]
    return Where(steps.keys[node], steps.trace.nodes["file"][node], line, standing.keys)
