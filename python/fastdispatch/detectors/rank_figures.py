"""Work and waiting of each rank: waiting for others is not work."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import MeasuredSteps, steps_of
from fastdispatch.read.columns import rows
from fastdispatch.read.trace import Columns
from fastdispatch.read.waiting import communicating


@dataclass
class RankFigures:
    """Figures of one rank per step: its main thread in total, of which it waits in collectives and transfers; ``paths``
    as in ``MeasuredSteps``, summed over its steps, ``shortest`` the shortest own time of those that ran in every
    step."""

    rank: int
    steps: int
    paths: Columns
    whole: float
    wait: float
    shortest: dict[int, float]

    @property
    def work(self) -> float:
        return self.whole - self.wait

    def least(self, paths: Iterable[int]) -> float:
        """Return a lower bound of the time of paths in any step: the sum of their shortest times."""
        return sum(self.shortest.get(path, 0.0) for path in paths)

    def own(self, path: int) -> float:
        return float(self.paths["self"][path]) / self.steps

    def total(self, steps: MeasuredSteps, path: int) -> float:
        return sum(map(self.own, (path, *steps.below(path))))

    def calls(self, path: int) -> float:
        return float(self.paths["calls"][path]) / self.steps


def waiting(steps: MeasuredSteps) -> list[bool]:
    """Return for each path whether its own time is communication or waiting for it."""
    nodes = communicating(steps.trace)
    return [nodes[node] for node in steps.paths["node"]]


def rank_figures(steps: MeasuredSteps) -> list[RankFigures]:
    """Return the figures of every rank with steps, without set-up, threads of backends and claimed time."""
    found = []
    waits = waiting(steps)
    asynchronous = steps.paths["async"]
    for index, rank in enumerate(steps.trace.ranks):
        count = steps_of(rank)
        if not count:
            continue
        paths = steps.trace.core.contexts(index, rank["window"] is None)
        own = [
            row for row, main in enumerate(steps.main) if main and not asynchronous[row] and row not in steps.claimed
        ]
        whole = sum(paths["self"][row] for row in own) / count
        wait = sum(paths["self"][row] for row in own if waits[row]) / count
        found.append(RankFigures(rank["rank"], count, paths, whole, wait, _shortest(steps, index, count)))
    return found


def extra_path(steps: MeasuredSteps, one: RankFigures, others: list[RankFigures]) -> tuple[int, float]:
    """Return the function of the program with most extra time on a rank, and this time of a step: its own, and of
    operators it calls, without communication."""
    extra: dict[int, float] = {}
    for row, waits in enumerate(waiting(steps)):
        if steps.main[row] and not waits and not steps.paths["async"][row]:
            more = one.own(row) - median(other.own(row) for other in others)
            user = steps.user(row)
            extra[user if user >= 0 else row] = extra.get(user if user >= 0 else row, 0.0) + more
    path = max(extra, key=lambda row: extra[row], default=0)
    return path, extra.get(path, 0.0)


def ranks_with(steps: MeasuredSteps, paths: Iterable[int]) -> list[int]:
    """Return the ranks in which paths take at least half of the time per step that they take in any rank."""
    wanted = list(paths)
    times = {}
    for index, rank in enumerate(steps.trace.ranks):
        if steps_of(rank):
            total = steps.trace.core.contexts(index, rank["window"] is None)["total"]
            times[rank["rank"]] = sum(total[row] for row in wanted) / steps_of(rank)
    return [number for number, time in times.items() if time >= max(times.values()) / 2]


def blocked(steps: MeasuredSteps) -> float:
    """Return the time of a step in which a main thread neither ran, nor had no core, nor waited for other ranks, ns."""
    times = (rank.work - steps.cpu.get(rank.rank, rank.work) - steps.queued[rank.rank] for rank in rank_figures(steps))
    return max(times, default=0.0)


def _shortest(steps: MeasuredSteps, index: int, count: int) -> dict[int, float]:
    """Return the shortest own time of the paths that ran in every step of a rank."""
    figures = rows(steps.trace.core.columns("figures", index), "context steps self_min")
    every = limits.EVERY * (count - 1)
    return {path: float(least) for path, active, least in figures if active >= every}
