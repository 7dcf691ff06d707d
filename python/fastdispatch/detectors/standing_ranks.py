"""Where the main thread of each rank stands, for the finding ``hang``.

Times are up to now, or up to the last sign of life of a killed process (csrc/recording/thread_watch.h).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fastdispatch.detectors import limits
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
