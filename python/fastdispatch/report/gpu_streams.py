"""Streams of GPUs: idle time and its causes, delays between launches and their work."""

from itertools import combinations
from typing import Any

import numpy as np

from fastdispatch.read.arrays import Bools, Floats, Ints, Rows
from fastdispatch.report.durations import summary

EventColumns = dict[str, Rows]

#: The number of an absent stream or device.
NO_STREAM = np.iinfo(np.int64).min
#: Longer gaps are other idle time, ns.
_KERNEL_WAIT = 30_000
#: Numbers of two processes that are compared.
_COMPARED = 1000
#: Processes that are paired by them; more are paired in the order of appearance.
_PAIRED = 32
#: Work that is this far from all launches has another clock, ns.
_OTHER_CLOCK = 1_000_000_000


class Streams:
    """Launches and the work on streams, matched by their correlation: ``launch_of`` has the index of the launch of each
    work, or -1."""

    def __init__(self, launches: EventColumns, work: EventColumns) -> None:
        self.launches, self.work = launches, work
        groups = np.zeros(len(launches["start"]), np.int64), np.zeros(len(work["start"]), np.int64)
        self.launch_of, repeated = self._match(*groups)
        self.repeated = {int(rank): int(np.sum(repeated == rank)) for rank in np.unique(repeated)}
        if self.repeated:
            for rank in self.repeated:
                self._pair_processes(rank, *groups)
            self.launch_of, _ = self._match(*groups)

    def _pair_processes(self, rank: int, launching: Ints, working: Ints) -> None:
        """Pair each process of a GPU with one that launches, if there are enough."""
        hosts, gpus = self.launches["rank"] == rank, self.work["rank"] == rank
        host_list, host = np.unique(self.launches["process"][hosts], return_inverse=True)
        gpu_list, gpu = np.unique(self.work["process"][gpus], return_inverse=True)
        if len(host_list) < len(gpu_list):
            return
        paired = list(range(len(gpu_list)))
        if len(host_list) <= _PAIRED:
            launched = [_first_starts(self.launches, hosts, number) for number in host_list]
            begun = [_first_starts(self.work, gpus, number) for number in gpu_list]
            paired = _best_pairs(np.array([[_misfit(first, own) for own in begun] for first in launched]))
        launching[hosts] = host
        working[gpus] = np.array(paired, np.int64)[gpu]

    def _match(self, launching: Ints, working: Ints) -> tuple[Ints, Ints]:
        """Return the launch of each work, and the rank of each launch with the number of an earlier one. Of launches
        with one number, work belongs to the last one before it."""
        launches, count = self.launches, len(launching)
        both = {key: np.concatenate((launches[key], self.work[key])) for key in ("rank", "correlation", "start")}
        group = np.concatenate((launching, working))
        is_work = np.arange(len(group)) >= count
        order = np.lexsort((is_work, both["start"], both["correlation"], group, both["rank"]))
        ids = [key[order] for key in (both["rank"], group, both["correlation"])]
        number = np.cumsum(np.r_[False, np.any([key[1:] != key[:-1] for key in ids], axis=0)][: len(order)])
        places, works = order[~is_work[order]], order[is_work[order]] - count
        own, wanted = number[~is_work[order]], number[is_work[order]]
        again, apart = _repeats(launches, places, own)
        repeated = places[again & apart & (launches["correlation"][places] != 0)]
        made = np.full(len(works), -1, np.int64)
        if count:
            at = np.cumsum(~is_work[order])[is_work[order]]
            before = np.maximum(at - 1, 0)
            at = np.where((at > 0) & (own[before] == wanted), before, np.minimum(at, count - 1))
            found = own[at] == wanted
            # A call of the driver within one of the runtime has the same number: the launch is the outer one.
            outer = ~again | apart
            at = np.maximum.accumulate(np.where(outer, np.arange(count), 0))[at]
            # Programs write 0 for an unknown number, and also as the first one: of one launch and one work.
            alone = (np.bincount(own[outer])[own[at]] == 1) & (np.bincount(wanted)[wanted] == 1)
            found &= (self.work["correlation"][works] != 0) | alone
            made[works] = np.where(found, places[at], -1)
        return made, launches["rank"][repeated]

    def extent(self, rank: int) -> tuple[int, int] | None:
        """Return the first start and the last end of the work of a rank whose GPU has another clock than the host: the
        work is farther from all launches than ten times the length of both, and a second."""
        of_rank = (self.launch_of >= 0) & (self.work["rank"] == rank)
        if not of_rank.any():
            return None
        launch, work = self.launches["start"][self.launch_of[of_rank]], self.work["rank"] == rank
        begin, end = int(self.work["start"][work].min()), int(self.work["end"][work].max())
        pause = max(begin - int(launch.max()), int(launch.min()) - end)
        length = end - begin + int(launch.max() - launch.min())
        return (begin, end) if pause > max(10 * length, _OTHER_CLOCK) else None

    def figures(self) -> list[dict[str, Any]]:
        """Return the rows of streams: busy time, and idle time by its cause."""
        work = self.work
        thread = np.where(work["stream"] == NO_STREAM, work["thread"], 0)
        keys = [work["rank"], work["device"], work["stream"], thread]
        order = np.lexsort((work["end"], work["start"], *reversed(keys)))
        if not len(order):
            return []
        other = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
        return [self._stream(rows) for rows in np.split(order, np.flatnonzero(other) + 1)]

    def _stream(self, rows: Ints) -> dict[str, Any]:
        work, launch = self.work, self.launch_of[rows]
        start, end = work["start"][rows], work["end"][rows]
        ends = np.maximum.accumulate(end)
        before = np.r_[start[0], ends[:-1]]
        gap = np.maximum(start - before, 0)
        launched = np.r_[self.launches["start"], 0][launch]
        by_host = (launch >= 0) & (launched > before)
        short = ~by_host & (gap < _KERNEL_WAIT)
        first = rows[0]
        busy, duration = int(np.maximum(end - np.maximum(start, before), 0).sum()), int(ends[-1] - start[0])
        waits = {"host_wait": by_host, "kernel_wait": short, "other_wait": ~by_host & ~short}
        place = {key: None if (value := int(work[key][first])) == NO_STREAM else value for key in ("device", "stream")}
        counts = {"count": len(rows), "launched": int((launch >= 0).sum()), "inside": int((end[1:] < ends[:-1]).sum())}
        times = {"start": int(start[0]), "end": int(ends[-1]), "busy": busy}
        times |= {cause: int(gap[mask].sum()) for cause, mask in waits.items()}
        times |= {"duration": duration, "idle": duration - busy}
        return {"rank": int(work["rank"][first])} | place | counts | times

    def delays(self) -> list[dict[str, Any]]:
        """Return the rows of launches, by rank: the delay until the first work of each."""
        never = np.iinfo(np.int64).max
        first = np.full(len(self.launches["start"]), never, np.int64)
        np.minimum.at(first, self.launch_of[self.launch_of >= 0], self.work["start"][self.launch_of >= 0])
        started = first < never
        start, end, ranks = (self.launches[key][started] for key in ("start", "end", "rank"))
        first = first[started]
        rows = []
        for rank in sorted({*ranks.tolist(), *self.repeated}):
            own = ranks == rank
            row = {"rank": rank, "delay": summary(np.maximum(first - end, 0)[own]), "call": summary((end - start)[own])}
            row |= {"early": int((first < start)[own].sum()), "skew": int(np.max((start - first)[own], initial=0))}
            rows.append(row | {"repeated": self.repeated.get(rank, 0)})
        return rows


def _first_starts(events: EventColumns, mask: Bools, process: int) -> tuple[Ints, Ints]:
    """Return the smallest numbers of a process, and the first start with each."""
    own = mask & (events["process"] == process)
    order = np.lexsort((events["start"][own], events["correlation"][own]))
    numbers, first = np.unique(events["correlation"][own][order], return_index=True)
    return numbers[:_COMPARED], events["start"][own][order][first][:_COMPARED]


def _misfit(launches: tuple[Ints, Ints], work: tuple[Ints, Ints]) -> tuple[float, float]:
    """Return the share of work before its launch, and the median deviation of the time between both."""
    numbers, launched, begun = np.intersect1d(launches[0], work[0], return_indices=True)
    if not len(numbers):
        return 1.0, 0.0
    delay = work[1][begun] - launches[1][launched]
    return float(np.mean(delay < 0)), float(np.median(np.abs(delay - np.median(delay))))


def _best_pairs(misfit: Floats) -> list[int]:
    """Return a row for each column: those in the order of appearance, with swaps that fit better."""
    count = misfit.shape[1]
    rows, better = list(range(len(misfit))), True

    def cost(rows: list[int]) -> list[float]:
        found: list[float] = misfit[rows[:count], range(count)].sum(axis=0).tolist()
        return found

    while better:
        better = False
        for one, other in combinations(range(len(rows)), 2):
            swapped = rows.copy()
            swapped[one], swapped[other] = rows[other], rows[one]
            if cost(swapped) < cost(rows):
                rows, better = swapped, True
    return rows[:count]


def _repeats(launches: EventColumns, places: Ints, number: Ints) -> tuple[Bools, Bools]:
    """Return which launches have the number of the one before, and which are another call, not one within it."""
    start, end, thread = (launches[key][places] for key in ("start", "end", "thread"))
    again, apart = np.zeros(len(places), bool), np.zeros(len(places), bool)
    again[1:] = number[1:] == number[:-1]
    apart[1:] = (thread[1:] != thread[:-1]) | (start[1:] >= end[:-1])
    return again, apart
