"""Timing of comparisons.

All sides of a comparison take turns in one process, pinned to one processor, with the garbage collector off: A B C,
B C A, ... A turn opens the side, runs the work once to warm up and then a few times; a round keeps the shortest time of
each side, to exclude disturbances. Ratios are computed within a round; the figure is their median over the rounds, with
minimum and maximum as its spread.

Time is the processor time of this process: equal to elapsed time on an idle machine, without waits for a processor on a
busy one. All measured work is bound to the processor.
"""

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import process_time_ns

Side = Callable[[], AbstractContextManager[object]]
Times = dict[str, list[float]]  # side -> nanoseconds, one per round


@dataclass(frozen=True)
class Effort:
    """How hard to try. ``quick`` only proves that everything runs."""

    quick: bool = False

    @property
    def rounds(self) -> int:
        return 1 if self.quick else 9

    def scaled(self, count: int) -> int:
        """``count`` repetitions, or a hundredth of them."""
        return max(count // 100, 1) if self.quick else count


@contextmanager
def quiet() -> Iterator[None]:
    """This process on one processor, without garbage collection."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
        os.sched_setaffinity(0, allowed)


def shortest(work: Callable[[], object], repeats: int) -> int:
    """Nanoseconds of processor time of the fastest of ``repeats`` runs."""
    best = 1 << 62
    for _ in range(repeats):
        begin = process_time_ns()
        work()
        best = min(best, process_time_ns() - begin)
    return best


def interleave(
    sides: Mapping[str, Side], work: Callable[[], object], effort: Effort, turns: int = 3, repeats: int = 3
) -> Times:
    """Nanoseconds that ``work`` takes under every side, one number a round."""
    names = list(sides)
    times: Times = {name: [] for name in names}
    turns = 1 if effort.quick else turns
    with quiet():
        for _ in range(effort.rounds):
            best = dict.fromkeys(names, 1 << 62)
            for turn in range(turns):
                for name in names[turn % len(names) :] + names[: turn % len(names)]:
                    with sides[name]():
                        work()
                        best[name] = min(best[name], shortest(work, repeats))
                    gc.collect(0)  # garbage of a peer must not slow another side
            for name in names:
                times[name].append(best[name])
    return times


def added(times: Times, side: str, count: int = 1) -> list[float]:
    """Nanoseconds that ``side`` adds to each of ``count`` events, by round."""
    return [(with_side - plain) / count for with_side, plain in zip(times[side], times["plain"], strict=True)]


def ratios(numerators: list[float], denominators: list[float]) -> list[float]:
    """Round by round. A denominator that noise made zero or less counts as a nanosecond."""
    return [above / max(below, 1.0) for above, below in zip(numerators, denominators, strict=True)]
