"""The steps of each rank: what heat maps show, also of runs whose figures are sums of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastdispatch.read.steps import PHASES, kept_steps, phase_times

#: Coordinates of a rank.
COORDINATES = ("pipe", "data", "model")

#: Latest steps of each rank.
STEPS = 64

#: Rows of a run. Of more ranks each row has several.
MOST = 4096

Coordinates = tuple[int, ...]


@dataclass
class RankRow:
    """Time of each phase in a step and of each of the latest steps, ns. A row of several neighbours (``ranks``) has the
    maximum of each figure, and the rank, the host and the coordinates of the first one."""

    rank: int
    host: str
    place: Coordinates  # by coordinate; -1: unknown
    phases: dict[str, int]
    steps: dict[int, int]  # by number
    ranks: int = 1

    def widen(self, other: RankRow) -> None:
        self.ranks += other.ranks
        for phase, time in other.phases.items():
            self.phases[phase] = max(self.phases.get(phase, 0), time)
        for number, time in other.steps.items():
            self.steps[number] = max(self.steps.get(number, 0), time)


@dataclass(frozen=True)
class RankTime:
    """Self time of a call path on a rank, ns."""

    rank: int
    host: str
    place: Coordinates
    time: int

    @property
    def name(self) -> str:
        """The rank with its host and its coordinates: ``rank 17 on node2 (pipe 1, data 0)``."""
        return rank_name(self.rank, self.host, self.place)


def common(times: Sequence[RankTime], slow: int) -> str:
    """Return what the ranks have in common that spend at least half of the extra time of a slow one: ``all 8 ranks on
    node2``, or ``all 4 ranks with pipe 3``; "" if they are one rank or have nothing in common."""
    usual = sorted(each.time for each in times)[len(times) // 2]
    first = next(each for each in times if each.rank == slow)
    alike = [each.rank for each in times if each.time >= (first.time + usual) / 2]
    if len(alike) < 2 or first.time <= usual:
        return ""
    if first.host and alike == [each.rank for each in times if each.host == first.host]:
        return f"all {len(alike)} ranks on {first.host}"
    for i, name in enumerate(COORDINATES):
        if first.place[i] >= 0 and alike == [each.rank for each in times if each.place[i] == first.place[i]]:
            return f"all {len(alike)} ranks with {name} {first.place[i]}"
    return ""


def coordinates_of(coordinates: Any) -> Coordinates:
    """Return the coordinates of a rank from its fact ``coordinates``."""
    found = coordinates if isinstance(coordinates, dict) else {}
    numbers = [found.get(name) for name in COORDINATES]
    return tuple(number if isinstance(number, int) and 0 <= number < 2**31 else -1 for number in numbers)


def named(coordinates: Coordinates) -> str:
    """Return coordinates as text, "" if they are unknown: ``pipe 1, data 0``."""
    return ", ".join(f"{name} {number}" for name, number in zip(COORDINATES, coordinates, strict=True) if number >= 0)


def rank_name(rank: int, host: str, coordinates: Coordinates) -> str:
    """Return a rank with its host and its coordinates: ``rank 17 on node2 (pipe 1, data 0)``."""
    where = f" on {host}" if host else ""
    return f"rank {rank}{where}" + (f" ({text})" if (text := named(coordinates)) else "")


def row_of(rank: Mapping[str, Any]) -> RankRow:
    """Return the row of an entry of ``Trace.ranks``."""
    meta, latest = rank["meta"], rank["latest_steps"]
    steps = {latest["number"][row]: sum(latest[name][row] for name in PHASES) for row in kept_steps(rank)[-STEPS:]}
    return RankRow(
        rank["rank"], str(meta.get("host") or ""), coordinates_of(meta.get("coordinates")), phase_times([rank]), steps
    )


def folded(rows: Iterable[RankRow], last: int) -> list[RankRow]:
    """Return rows of ranks up to the last one, in their order, as at most ``MOST`` rows."""
    size = last // MOST + 1
    made: list[RankRow] = []
    for row in rows:
        if made and made[-1].rank // size == row.rank // size:
            made[-1].widen(row)
        else:
            made.append(row)
    return made
