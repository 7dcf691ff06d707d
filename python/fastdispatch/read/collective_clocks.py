"""Corrections of clocks by collectives: no member ends one before the last member has begun it.

The correction of a member is the mean of three estimates, weighted by the inverse of their variances: the median
difference between its ends and those of its parent, best for evenly spread delays, and the minimum and maximum delays
from the last begin to the end, best for delays with sharp bounds. The uncertainty is twice the standard error plus the
minimum delay.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fastdispatch.read.arrays import Floats, Ints, Rows
from fastdispatch.read.clock_maps import LEAST, MOST, SPAN, ClockMap, Fit, between, rounded

#: Kinds with fewer collectives are ignored.
LEAST_COLLECTIVES = 5

_ROUNDS = 8  # of refinement; it converges after three or four
_NEAR = 3  # index of the first delay off an edge: two points define the edge
_FAR_DEVIATIONS, _FAR_NS = 12, 1000
_MARGIN_NS = 2  # for rounding
_MOST_VIOLATED = 5  # reject a match with more than one violation in 5

#: Factor of the standard error of a median: 1.25 sigma / sqrt(n), sigma 1.48 deviations.
_MEDIAN_ERROR = 1.858


class Line(NamedTuple):
    """``value + slope * at``"""

    value: float = 0.0
    slope: float = 0.0

    def __call__(self, at: Any) -> Any:
        return self.value + self.slope * at


def median(numbers: Floats) -> float:
    found = np.sort(numbers)
    return float((found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2)


def median_line(at: Floats, value: Floats, sloped: bool) -> Line:
    """Return the line with as many points above as below. Its slope is the median slope between points that are
    ``len(at) // 2`` apart."""
    half, slope = len(at) // 2, 0.0
    if sloped:
        run, rise = at[half:] - at[: len(at) - half], value[half:] - value[: len(at) - half]
        slopes = rise[run > 0] / run[run > 0]
        slope = median(slopes) if len(slopes) else 0.0
    return Line(median(value - slope * at), slope)


def lower_line(at: Floats, value: Floats, mean: float, sloped: bool) -> Line:
    """Return the nearest line with no point below it: the edge of the lower hull at ``mean``, a time between the first
    and the last. ``at`` is sorted."""
    if not sloped:
        return Line(float(value.min()))
    left = int(value[at == at[0]].argmin())
    right = len(at) - int((at == at[-1]).sum()) + int(value[at == at[-1]].argmin())
    while True:
        run, rise = at[right] - at[left], value[right] - value[left]
        below = (value - value[left]) * run - rise * (at - at[left])
        lowest = int(below.argmin())
        if below[lowest] >= 0 or not at[left] < at[lowest] < at[right]:
            break
        if at[lowest] < mean:
            left = lowest
        else:
            right = lowest
    slope = float(rise / run)
    return Line(float(value[left]) - slope * float(at[left]), slope)


class _Member:
    """A member that is connected with the reference. Times are relative to the ``origin`` of their member.

    ``own`` and ``other`` are its parts and those of its parent in the same collectives, sorted by ``at``, the own end.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.to_reference = Line()  # to add to own times
        self.uncertainty = self.moved = self.weight = self.error = 0.0

    def pair(self, parent: _Member, own: Ints, other: Ints, at: Floats, value: Floats) -> None:
        self.parent, self.own, self.other, self.at, self.value = parent, own, other, at, value

    def keep(self, chosen: Any) -> None:
        self.pair(self.parent, self.own[chosen], self.other[chosen], self.at[chosen], self.value[chosen])

    def fit(self, run: slice = slice(None)) -> tuple[Line, float, float]:
        """Return the median line through pairs, the median deviation from it, and its standard error."""
        at, value = self.at[run], self.value[run]
        line = median_line(at, value, bool(at[-1] - at[0] >= SPAN))
        deviation = median(np.abs(value - line(at)))
        return line, deviation, _MEDIAN_ERROR * deviation / math.sqrt(len(at))

    def settle(self) -> None:
        """Make the first estimate."""
        self.sloped = bool(self.at[-1] - self.at[0] >= SPAN)
        self.mean = float(np.add.accumulate(self.at / len(self.at))[-1])
        self.to_parent, _, self.scatter = self.fit()
        self.to_reference = self.by_parent()

    def by_parent(self) -> Line:
        own, outer = self.to_parent, self.parent.to_reference
        return Line(own.value + outer(own.value), own.slope + outer.slope * (1 + own.slope))


class Collectives:
    """The parts of members in collectives, sorted by kind, order and member. Members are numbers below ``count``.

    ``joined``: whether a part was matched with a part of another member; ``group``: the number of its collective.
    """

    def __init__(self, columns: dict[str, Rows], count: int, reference: int) -> None:
        order = np.lexsort([columns[name] for name in ("member", "order", "kind")])
        self.kind, self.total, self.begin, self.end, self.member = (
            columns[name][order] for name in ("kind", "total", "begin", "end", "member")
        )
        number = columns["order"][order]
        new = np.ones(len(order), bool)
        new[1:] = (self.kind[1:] != self.kind[:-1]) | (number[1:] != number[:-1])
        self.group, self.starts = np.cumsum(new) - 1, np.flatnonzero(new)
        self.joined = np.zeros(len(order), bool)
        origin = np.zeros(count, np.int64)
        origin[self.member] = self.end
        self._origin, self._count = origin, count
        self._begin, self._end = between(self.begin, origin[self.member]), between(self.end, origin[self.member])
        new[1:] |= self.member[1:] != self.member[:-1]
        first = np.flatnonzero(new)  # parts; of each member the first one of a collective
        first = first[np.argsort(self.member[first], kind="stable")]
        self._parts = np.split(first, np.searchsorted(self.member[first], np.arange(1, count)))
        self._members = {reference: _Member(reference)}
        self.fits: dict[int, Fit] = {reference: Fit(ClockMap(), 0)}
        if len(order):
            self._place_all()
            self._refine()
            self.fits |= {each.number: fit for each in self._placed() if (fit := self._concluded(each)) is not None}

    def joined_parts(self) -> list[tuple[int, int, int, int]]:
        """Return group, member, begin and end of the parts that were matched."""
        columns = (each[self.joined].tolist() for each in (self.group, self.member, self.begin, self.end))
        return list(zip(*columns, strict=True))

    def _placed(self) -> list[_Member]:
        """All members but the reference, parents first."""
        return list(self._members.values())[1:]

    def _place_all(self) -> None:
        """Place members that share enough collectives with a placed one, as long as there are more."""
        more = True
        while more:
            found = (self._placed_by(*candidate) for candidate in self._candidates())
            made = {each.number: each for each in found if each is not None}
            self._members |= made
            more = bool(made)

    def _candidates(self) -> list[tuple[int, int, int]]:
        """Return each member that is not placed, the first placed member of its groups, and the number of collectives
        that it shares with that one. Collectives without numbers are matched by their position within their kind, if
        both members recorded equally many."""
        placed = np.zeros(self._count, bool)
        placed[list(self._members)] = True
        rows, none = np.arange(len(self.member)), len(self.member)
        first = np.minimum.reduceat(np.where(placed[self.member], rows, none), self.starts)[self.group]
        rows = rows[(first < none) & ~placed[self.member]]
        rows = rows[self.total[rows] == self.total[first[rows]]]
        members, at = np.unique(self.member[rows], return_index=True)
        parents = np.zeros(self._count, np.int64)
        parents[members] = self.member[first[rows[at]]]
        shares = self.member[first[rows]] == parents[self.member[rows]]
        common = np.bincount(self.member[rows][shares], minlength=self._count)
        return [(int(m), int(parents[m]), int(common[m])) for m in members if common[m] >= LEAST_COLLECTIVES]

    def _placed_by(self, number: int, parent: int, common: int) -> _Member | None:
        member, own, other = _Member(number), self._parts[number], self._parts[parent]
        _, a, b = np.intersect1d(self.group[own], self.group[other], assume_unique=True, return_indices=True)
        own, other = own[a], other[b]
        same = self.total[own] == self.total[other]
        own, other = own[same][:common], other[same][:common]
        member.pair(self._members[parent], own, other, self._end[own], self._end[other] - self._end[own])
        best = self._best_kind(member)
        if best is None:
            return None
        line, deviation, _ = best
        member.keep(np.abs(member.value - line(member.at)) <= _FAR_DEVIATIONS * deviation + _FAR_NS)
        if len(member.at) < LEAST_COLLECTIVES:
            return None
        member.keep(np.argsort(member.at, kind="stable"))
        member.settle()
        return None if self._is_absurd(member) else member

    def _best_kind(self, member: _Member) -> tuple[Line, float, float] | None:
        """Return the line of the kind that fits best. Different collectives that cannot be distinguished, because the
        name of their group is unknown, scatter more."""
        kind = self.kind[member.own]
        ends = np.append(np.flatnonzero(kind[1:] != kind[:-1]) + 1, len(kind)).tolist()
        runs = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False) if b - a >= LEAST_COLLECTIVES]
        return min(map(member.fit, runs), key=lambda found: found[2], default=None)

    def _is_absurd(self, member: _Member) -> bool:
        """Return whether in too many pairs one member ended before the other began."""
        begin = self._begin[member.own] + member.to_parent(self._begin[member.own])
        end = member.at + member.to_parent(member.at)
        violated = (end + member.scatter < self._begin[member.other]) | (
            self._end[member.other] + member.scatter < begin
        )
        return int(violated.sum()) * _MOST_VIOLATED > len(member.at)

    def _times(self, times: Floats, rows: Ints, member: _Member) -> Floats:
        """Return times of parts of a member on the clock of the reference."""
        at = times[rows]
        moved: Floats = at + member.to_reference(at)
        return moved

    def _find_extremes(self) -> None:
        """Find the last begin and the first end of each collective, by the present estimates."""
        value, slope = np.zeros(self._count), np.zeros(self._count)
        for number, each in self._members.items():
            value[number], slope[number] = each.to_reference
        value, slope = value[self.member], slope[self.member]
        begin = np.where(self.joined, self._begin + (value + slope * self._begin), -np.inf)
        end = np.where(self.joined, self._end + (value + slope * self._end), np.inf)
        self._last = np.fmax.reduceat(begin, self.starts)[self.group]
        self._first = np.fmin.reduceat(end, self.starts)[self.group]

    def _edge(self, member: _Member, parents: bool, side: int) -> tuple[Floats, Line]:
        """Return the delays after the last begin, times ``side``, and the line of the minimum delays (side 1) or of the
        maximum delays (side -1), over own time."""
        rows, of = (member.other, member.parent) if parents else (member.own, member)
        delays = side * (self._times(self._end, rows, of) - self._last[rows])
        line = lower_line(member.at, delays, member.mean, member.sloped)
        return delays, Line(side * line.value, side * line.slope)

    def _edge_error(self, member: _Member, parents: bool, side: int) -> float:
        """Return about the distance of the next delay from an edge."""
        delays, line = self._edge(member, parents, side)
        return float(np.sort(delays - side * line(member.at))[min(_NEAR, len(delays) - 1)])

    def _weigh(self, medians: bool) -> None:
        """Set the weight of each estimate to the inverse of its variance. Delays have the same distribution on all
        members, so the largest error of an edge applies to all. As long as clocks differ by the scatter of the medians,
        edges appear less sharp than they are; ``medians`` is true in later rounds only."""
        placed = self._placed()
        least, most = (
            max(0.0, *(self._edge_error(each, parents, side) for each in placed for parents in (False, True)))
            for side in (1, -1)
        )
        self._least, self._most = 1 / (least * least + 1), 1 / (most * most + 1)
        for each in placed:
            each.weight = 1 / (each.scatter * each.scatter + 1) if medians else 0.0
            each.error = 1 / math.sqrt(self._least + self._most + each.weight)

    def _level(self, member: _Member) -> None:
        """Align the delays of a member with those of its parent by their minimum, maximum and median."""
        now, value, slope = member.to_reference, 0.0, 0.0
        total = self._least + self._most + member.weight
        edges = [[self._edge(member, parents, side)[1] for parents in (True, False)] for side in (1, -1)]
        weights = (self._least, self._most, member.weight)
        for weight, (a, b) in zip(weights, [*edges, [member.by_parent(), now]], strict=True):
            value += weight / total * (a.value - b.value)
            slope += weight / total * (a.slope - b.slope)
        member.to_reference = Line(now.value + value, now.slope + slope)

    def _obey(self, member: _Member) -> None:
        """Move a clock by the minimum after which no collective ends before it has begun on another member, if such a
        move exists."""
        rows = member.own
        begin, end = self._times(self._begin, rows, member), self._times(self._end, rows, member)
        late, early = self._last[rows] > begin, self._first[rows] < end
        least = np.fmax.reduce((self._last[rows] - end)[late], initial=-np.inf) + _MARGIN_NS
        most = np.fmin.reduce((self._first[rows] - begin)[early], initial=np.inf) - _MARGIN_NS
        if least <= most:
            move = float(min(max(least, 0.0), most))
            member.to_reference = Line(member.to_reference.value + move, member.to_reference.slope)
            member.moved += abs(move)

    def _refine(self) -> None:
        placed = self._placed()
        for each in placed:
            self.joined[each.own] = self.joined[each.other] = True
        self._find_extremes()
        for index in range(_ROUNDS if placed else 0):
            self._weigh(index >= _ROUNDS // 2)
            for each in placed:
                self._level(each)
            self._find_extremes()
        for _ in range(_ROUNDS if placed else 0):
            for each in placed:
                self._obey(each)
            self._find_extremes()

    def _concluded(self, member: _Member) -> Fit | None:
        """Convert the result to integer nanoseconds, at the middle of the member's time."""
        _, least = self._edge(member, False, 1)
        middle = float(member.at[0] + member.at[-1]) / 2
        origin, reference = int(self._origin[member.number]), int(self._origin[next(iter(self._members))])
        offset = reference - origin + rounded(member.to_reference(middle))
        member.uncertainty = member.parent.uncertainty + 2 * member.error + member.moved + max(least(middle), 0.0)
        if not LEAST <= offset <= MOST or not math.isfinite(member.uncertainty):
            return None
        clock = ClockMap(origin + rounded(middle), offset, rounded(member.to_reference.slope * 1e12))
        return Fit(clock, rounded(math.ceil(member.uncertainty)))
