"""The rows and calls of a comparison: figures of both sides by function, operator, ..., and what changed.

    before  groups of its call paths ─┐  by key: no absolute path, no line
                                      ├─► one row per key, one call per pair of keys
    after   groups of its call paths ─┘

Figures are per training step, so that runs of different lengths can be compared; the slowest step of each path is
replaced by the mean of its other steps. If either side has no steps, figures are those of the entire run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fastdispatch.compare.diff_verdict import CHANGES, FIGURES
from fastdispatch.read.arrays import Bools, Floats, Ints
from fastdispatch.read.gpu_time import gpu_steps
from fastdispatch.read.plumbing import FUNCTIONS
from fastdispatch.read.summary import in_role
from fastdispatch.read.trace import Trace
from fastdispatch.read.waiting import FOR_RANKS, MAY_WAIT, WORKS, waits_of

NEW, GONE, CALLS, SLOWER, FASTER, COLLECTION, COMMUNICATION = (1 << place for place in range(len(CHANGES)))

#: Changes of the time of a step that changed calls and times explain: in a function, with all that it calls, and in the
#: backward of these calls.
EXPLAINED = ("own", "below", "backward")

#: A change must exceed this number of standard deviations of the mean step; if the fastest steps are unknown, of the
#: steps of one run: steps are not independent, so their number does not reduce it.
_DEVIATIONS = 2.0

#: A function that waits does so in at least this number of steps: in fewer it can be without a CPU.
_FEWEST_WAITS = 5.0

#: The largest of N normally distributed deviations is sqrt(2 ln N); a change is larger by this number of them. A median
#: deviation of 1 is a standard deviation of 1.4826.
_MARGIN, _MEDIAN_DEVIATION = 2.0, 1.4826

#: A change is reported if it is at least this share of the time of a step.
_LEAST_SHARE = 0.005

#: Waits vary with what other ranks, processes and devices do: their share, and their minimum relative change.
_LEAST_WAIT, _WAIT_THRESHOLD = 0.05, 0.5

#: A call that one side never makes is reported if the other makes at least this number in as many steps, and in as many
#: of them: fewer can be a rare event that is only in its selected steps.
_FEWEST_CALLS = 3.0

#: Steps of more ranks are those of one.
_MOST_RANKS = 16

#: Operators with a smaller share are not used for the speed of the machine.
_SPEED_SHARE = 0.001


@dataclass(frozen=True)
class DiffRequest:
    """A comparison to make: traces, before and after, indexes of their ranks (-1: all), times of main threads, ns.

    ``busy``: per step on a CPU or in the queue for one; the speed of the machine is within their ratio. ``idle``: per
    step neither so, nor for other ranks. ``queue``: per step of ``work`` without a CPU. 0: unknown. ``threshold``: the
    minimum relative change of a time.
    """

    traces: Sequence[Trace]
    ranks: Sequence[int]
    by: str
    threshold: float
    same_speed: bool
    busy: Sequence[float]
    idle: Sequence[float]
    queue: Sequence[float] = (0.0, 0.0)
    work: Sequence[float] = (0.0, 0.0)


@dataclass
class ComparedRows:
    """Rows, by key and kind, and calls between them. Arrays of figures have a line per side."""

    steps: tuple[int, int]  #: of each side, summed over ranks; 0, 0: entire runs are compared
    keys: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  #: ``none``: rows of several kinds
    figures: dict[str, Floats] = field(default_factory=dict)
    changes: Ints = field(init=False)
    callers: list[int] = field(default_factory=list)  #: rows; -1: outside of all
    callees: list[int] = field(default_factory=list)
    calls: Floats = field(init=False)
    call_changes: Ints = field(init=False)
    explained: dict[str, Floats] = field(default_factory=dict)  #: of EXPLAINED, by row, ns per step; none of modules
    speed: float = 1.0  #: after / before of unchanged rows
    least_speed: float = 1.0  #: the same of the fastest steps, if they are known


def compared_rows(request: DiffRequest) -> ComparedRows:
    """Make the comparison. Raises ``ArgumentError`` for an unknown ``by``."""
    with np.errstate(all="ignore"):  # impossible figures of a damaged document
        return _Comparison(request).rows


class SideSums:
    """The sums of one side by group."""

    def __init__(self, trace: Trace, rank: int, by: str) -> None:
        core, nodes, contexts = trace.core, trace.nodes, trace.contexts
        self.by, self.nodes = by, nodes
        chosen = {at: one for at, one in enumerate(trace.ranks) if rank in (-1, at)}
        self.steps: int = sum(one["steps"] for one in chosen.values())
        self.ranks = len(chosen)
        #: Ranks, each with its steps: differences between ranks are not a spread of steps. Many are one.
        self._of_ranks = [(at, one["steps"]) for at, one in chosen.items()] if self.ranks <= _MOST_RANKS else []
        self._of_ranks = self._of_ranks or [(rank, self.steps)]
        self._core = core
        self.gpu_steps, _ = gpu_steps([*chosen.values()])
        self.selected = trace.window is not None
        self.totals = {name: np.asarray(view) for name, view in core.totals(rank, True).items()}
        self.groups: Ints = np.array(core.groups(by), np.int64)
        self.parents: Ints = np.array(contexts["parent"], np.int64)
        self.origins: Ints = np.array(contexts["origin"], np.int64)
        self.node: Ints = np.array(contexts["node"], np.int64)
        self.waits = np.frombuffer(waits_of(trace), np.uint8)[self.node]
        main = np.array(in_role(trace, contexts, trace.main_role), bool)
        #: Time of paths that is not for other ranks; helper threads wait for work.
        self.works: Bools = np.where(main, self.waits != FOR_RANKS, self.waits == WORKS)
        named = zip(nodes["kind"], nodes["name"], strict=True)
        self.collects = np.array([kind == "range" and name.startswith("gc:gen") for kind, name in named], bool)
        table = core.table(by, rank)
        self.identities = self._identities(table["where"], table["node"])
        self.collections = [by != "module" and bool(self.collects[node]) for node in table["node"]]
        self._below()

    def _identities(self, labels: list[str], nodes: list[int]) -> list[tuple[str, str]]:
        """Return key and kind of each group. Lines distinguish functions of one recording, but differ between two
        versions of a file."""
        if self.by in ("module", "package"):
            return [(label, "none") for label in labels]
        kinds, files, owners, names = (self.nodes[column] for column in ("kind", "file", "class", "name"))
        return [
            (f"{files[at]}:[{owners[at]}]:{names[at]}" if kinds[at] in FUNCTIONS else names[at], kinds[at])
            for at in nodes
        ]

    def _below(self) -> None:
        """Find the depth of each path, and whether it is inside its own group."""
        self.depth, self.inner = np.zeros(len(self.parents), np.int64), np.zeros(len(self.parents), bool)
        rows, above = np.arange(len(self.parents)), self.parents
        while rows.size:
            kept = above >= 0
            rows, above = rows[kept], above[kept]
            self.depth[rows] += 1
            self.inner[rows] |= self.groups[above] == self.groups[rows]
            above = self.parents[above]

    def _sum(self, values: NDArray[np.generic], chosen: Bools) -> NDArray[np.generic]:
        """Sum up figures of chosen paths by group, in their order."""
        sums = np.zeros(len(self.identities), values.dtype)
        kept = chosen & (self.groups >= 0)
        np.add.at(sums, self.groups[kept], values[kept])
        return sums

    def own(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        return self._sum(values, np.ones(len(values), bool))

    def whole(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Sum up the outermost calls of each recursion: they include the inner ones."""
        return self._sum(values, ~self.inner)

    def below(self, values: Floats) -> Floats:
        """Add to the figure of each path those of all paths below it."""
        sums = values.copy()
        order = np.argsort(-self.depth, kind="stable")
        ends = np.flatnonzero(np.diff(self.depth[order], append=-1)) + 1
        for rows in np.split(order, ends[:-1]):
            inside = rows[self.parents[rows] >= 0]
            np.add.at(sums, self.parents[inside], sums[inside])
        return sums

    def explained(self, values: Floats) -> tuple[NDArray[np.generic], ...]:
        """Sum up a figure of paths by group, as EXPLAINED."""
        of_origins, sums = np.zeros(len(values)), self.below(values)
        caused = self.origins >= 0
        outer = caused & ~(caused[self.parents] & (self.parents >= 0))
        np.add.at(of_origins, self.origins[outer], sums[outer])
        return self.own(values), self.whole(sums), self.whole(self.below(of_origins))

    def figures(self) -> dict[str, NDArray[np.generic]]:
        """Return the figures of FIGURES by group, for the whole run; and ``least``, the own time if each step were as
        fast as the fastest one."""
        totals = self.totals
        return {
            "calls": self.own(totals["calls"] + totals["resumes"]),
            "self": self.own(totals["self"]),
            "total": self.whole(totals["total"]),
            "backward": self.whole(totals["backward"]),
            "async": self.own(totals["async"]),
            "gpu": self.whole(totals["gpu_total"]),
            "least": self.own(totals["least"]),
        }

    def spread(self) -> Floats:
        """Return the spread of the compared time by path; the sum of those of a row is an upper bound, as if they were
        fully correlated."""
        name = "total" if self.by == "module" else "self"
        squares = np.zeros(len(self.parents))
        for rank, steps in self._of_ranks:
            totals = self._core.totals(rank, True)
            times = np.asarray(totals[f"{name}_stepped"]).astype(np.float64)
            squares += np.maximum(np.asarray(totals[f"{name}_squares"]) - times * times / (steps or 1), 0.0)
        return np.sqrt(squares / self.steps) if self.steps else np.zeros(len(squares))

    def calls(self) -> tuple[Ints, Ints, Floats, NDArray[np.uint32]]:
        """Return callers (-1: outside) and callees, groups, the number of calls and the most steps of a path, by both.
        Paths without a group are skipped: their callees are those of their callers."""
        above = self.parents.copy()
        while (skipped := (above >= 0) & (self.groups[above] < 0)).any():
            above[skipped] = self.parents[above[skipped]]
        chosen = np.flatnonzero(self.groups >= 0)
        caller = np.where(above >= 0, self.groups[above], -1)[chosen]
        pairs = (caller + 1) * (len(self.identities) + 1) + self.groups[chosen]
        pairs, place = np.unique(pairs, return_inverse=True)
        calls, steps = np.zeros(len(pairs), np.uint64), np.zeros(len(pairs), np.uint32)
        np.add.at(calls, place, (self.totals["calls"] + self.totals["resumes"])[chosen])
        np.maximum.at(steps, place, self.totals["steps"][chosen])
        callers, callees = np.divmod(pairs, len(self.identities) + 1)
        return callers - 1, callees, calls.astype(np.float64), steps


class _Comparison:
    def __init__(self, request: DiffRequest) -> None:
        self.request = request
        self.sides = [SideSums(*side, request.by) for side in zip(request.traces, request.ranks, strict=True)]
        by_step = all(side.steps for side in self.sides)
        steps = (self.sides[0].steps, self.sides[1].steps) if by_step else (0, 0)
        self.rows = ComparedRows(steps)
        self.per = [float(number or 1) for number in steps]
        self.selected = by_step and all(side.selected for side in self.sides)
        self.by_least = min(steps) > 1 and request.by != "module"
        self.idle = request.idle[1] - request.idle[0]
        #: ns of own time per step, of all paths, and of the fastest steps: of the side with the longer one
        self.whole, self.least_whole = self._longest("self"), self._longest("least")
        self._join()
        self._join_calls()
        self._judge()
        if request.by == "node":
            self._explain()

    def _longest(self, figure: str) -> float:
        pairs = zip(self.sides, self.per, strict=True)
        return max(float(side.totals[figure].astype(float).sum()) / per for side, per in pairs)

    def _join(self) -> None:
        place: dict[tuple[str, str], int] = {}
        collections: dict[int, bool] = {}
        self.row_of: list[Ints] = []
        for side in self.sides:
            found = [place.setdefault(identity, len(place)) for identity in side.identities]
            for row, collection in zip(found, side.collections, strict=True):
                collections.setdefault(row, collection)
            self.row_of.append(np.array(found, np.int64))
        self.rows.keys, self.rows.kinds = [key for key, _ in place], [kind for _, kind in place]
        self.collection = np.array([collections[row] for row in range(len(place))], bool)
        figures = {name: np.zeros((2, len(place))) for name in (*FIGURES, "least", "steps")}
        self.waits, self.communicates, self.helps = np.zeros((3, len(place)), bool)
        for index, side in enumerate(self.sides):
            row_of = self.row_of[index]
            for name, sums in side.figures().items():
                per = side.gpu_steps or 1 if name == "gpu" and self.rows.steps[index] else self.per[index]
                np.add.at(figures[name][index], row_of, sums.astype(np.float64) / per)
            self._mark(index, side, figures)
        self.rows.figures = figures

    def _mark(self, index: int, side: SideSums, figures: dict[str, Floats]) -> None:
        """Mark rows that may wait and rows that communicate, add spreads and the most steps of a path, and subtract
        garbage collections from the calls of modules."""
        grouped = np.flatnonzero(side.groups >= 0)
        row = self.row_of[index][side.groups[grouped]]
        spread = side.spread()
        np.maximum.at(figures["steps"][index], row, side.totals["steps"][grouped].astype(np.float64))
        self.waits[row[side.waits[grouped] != WORKS]] = True
        if side.by == "module":
            np.add.at(figures["spread"][index], self.row_of[index], side.whole(spread))
            collects = side.collects[side.node[grouped]]
            taken = side.totals["calls"][grouped][collects].astype(np.float64) / self.per[index]
            np.subtract.at(figures["calls"][index], row[collects], taken)
            return
        np.add.at(figures["spread"][index], row, spread[grouped])
        if side.by == "node":
            own = side.totals["self"][grouped]
            mostly = 2 * own > np.bincount(row, own)[row]
            self.helps[row[~side.works[grouped] & (side.waits[grouped] == MAY_WAIT) & mostly]] = True
            self.communicates[row[side.waits[grouped] == FOR_RANKS]] = True

    def _join_calls(self) -> None:
        places: dict[tuple[int, int], int] = {}
        found = []
        for index, side in enumerate(self.sides):
            row_of = np.append(self.row_of[index], -1)  # the last one is that of the outside
            callers, callees, calls, steps = side.calls()
            pairs = zip(row_of[callers].tolist(), row_of[callees].tolist(), strict=True)
            found.append(([places.setdefault(pair, len(places)) for pair in pairs], calls / self.per[index], steps))
        self.rows.calls, self.call_steps = np.zeros((2, 2, len(places)))
        for index, (place, calls, steps) in enumerate(found):
            np.add.at(self.rows.calls[index], place, calls)
            self.call_steps[index][place] = steps
        self.rows.callers, self.rows.callees = [caller for caller, _ in places], [callee for _, callee in places]

    def _judge(self) -> None:
        rows, figures = self.rows, self.rows.figures
        changes = np.where(self.collection, COLLECTION, self._changed_calls(figures["calls"], figures["steps"]))
        self.changes: Ints = np.where(self.communicates, changes | COMMUNICATION, changes)
        rows.call_changes = self._changed_calls(rows.calls, self.call_steps)
        collection = np.append(self.collection, False)
        rows.call_changes[collection[rows.callers] | collection[rows.callees]] = COLLECTION
        self.speeds = self._speeds()
        rows.speed, rows.least_speed = self.speeds
        self.unequal = self._unequal(figures["least"]) if self.by_least else 0.0
        waits_for_calls = self.helps | np.array([kind == "thread" for kind in rows.kinds], bool)
        self.blocked = np.zeros(len(rows.kinds), bool)
        rows.changes = self.changes | np.where(self.collection | waits_for_calls, 0, self._changed_times())

    def _changed_calls(self, calls: Floats, steps: Floats) -> Ints:
        before, after = calls
        differ = before != after
        if self.selected:  # an epoch ends in steps of one side only
            change = np.abs(before - after)
            share = (change >= self.request.threshold * np.maximum(before, after)) & (
                change * min(self.per) >= _FEWEST_CALLS
            )
            differ &= (change >= 0.5) | share
        elif self.rows.steps[0] != self.rows.steps[1]:
            differ = np.abs(before - after) >= 0.5
        new, gone = (before <= 0) & (after > 0), (before > 0) & (after <= 0)
        changes = np.where(new, NEW | CALLS, np.where(gone, GONE | CALLS, np.where(differ, CALLS, 0)))
        rare = ((after <= 0) & self._rare(0, before, steps[0])) | ((before <= 0) & self._rare(1, after, steps[1]))
        return np.where(rare, 0, changes)

    def _rare(self, side: int, calls: Floats, steps: Floats) -> Bools:
        """Return whether the steps of the other side would have few of the calls, or have them in few steps."""
        other = self.per[1 - side]
        few: Bools = (steps > 0) & (steps / self.per[side] * other < _FEWEST_CALLS)
        return (few | (calls * other < _FEWEST_CALLS)) & self.selected

    def _speeds(self) -> tuple[float, float]:
        """Return after / before of unchanged functions and operators, also of their fastest steps: the speed of the
        machine. Times of modules contain each other, so that one slower module affects most of their time."""
        if self.request.same_speed:
            return 1.0, 1.0
        if self.request.by != "node":
            return _Comparison(replace(self.request, by="node", queue=(0.0, 0.0), work=(0.0, 0.0))).speeds
        figures = self.rows.figures
        least = self._common_ratio(figures["least"]) if self.by_least else 1.0
        return self._within_busy(self._common_ratio(figures["self"])), self._within_busy(least)

    def _common_ratio(self, times: Floats) -> float:
        """Return the ratio that applies to most of the time, of functions and of operators: larger tensors make only
        operators longer, so it is the one of both that is closer to 1."""
        before, after = times
        same = ~self.waits & (self.changes & (CALLS | COLLECTION) == 0) & (before > 0) & (after > 0)
        functions, operators = (np.isin(self.rows.kinds, kinds) for kinds in (["python"], ["op", "autograd"]))
        large = before > _SPEED_SHARE * self.whole
        ratios = [_median_ratio(before[used], after[used]) for used in (same & functions, same & operators & large)]
        known = [ratio for ratio in ratios if ratio is not None]
        return max(min(known), min(max(known), 1.0)) if known else 1.0

    def _unequal(self, times: Floats) -> float:
        """Return the relative change of the fastest steps that one of the unchanged rows has by chance: a busy machine
        slows each of them by another factor."""
        before, after = times
        large = np.minimum(before, after) > _LEAST_SHARE * self.least_whole
        same = large & ~self.waits & (self.changes & (CALLS | COLLECTION) == 0)
        if not same.any():
            return 0.0
        ratios = np.log(after[same] / before[same])
        deviation = _MEDIAN_DEVIATION * float(np.median(np.abs(ratios - np.median(ratios))))
        return float(np.expm1(deviation * (_MARGIN + np.sqrt(2 * np.log(ratios.size)))))

    def _within_busy(self, speed: float) -> float:
        """Limit a ratio of times to that of the time on a CPU, or waiting for one: a thread that waits for anything
        else does not measure the machine."""
        before, after = self.request.busy
        if before <= 0 or after <= 0:
            return speed
        limit = after / before
        return max(1.0, min(speed, limit)) if speed > 1 else min(1.0, max(speed, limit))

    def _changed_times(self) -> Ints:
        """Return the changes of times. The speed is not that of all functions: a change that appears only with it, or
        disappears, is not one."""
        direction = self._directions(*self.speeds)
        sure = direction == self._directions(1.0, 1.0)
        return np.where(sure & (direction > 0), SLOWER, np.where(sure & (direction < 0), FASTER, 0))

    def _directions(self, speed: float, least_speed: float) -> Ints:
        """Return the directions in which times changed at a speed of the machine. A busy machine makes only some steps
        longer: a real change of work affects both the mean and the fastest step."""
        figures = self.rows.figures
        before, after = figures["total" if self.request.by == "module" else "self"]
        spread = figures["spread"]
        threshold = np.where(self.waits, max(self.request.threshold, _WAIT_THRESHOLD), self.request.threshold)
        share = np.where(self.waits, _LEAST_WAIT, _LEAST_SHARE)
        noise = np.maximum(threshold * (before * speed), share * self.whole)
        if not self.by_least:
            deviation = _DEVIATIONS * np.hypot(spread[0] * speed, spread[1])
            ranks = 1 if any(self.rows.steps) else self.sides[1].ranks
            queue = abs(self.request.queue[1] - self.request.queue[0]) * ranks
            of_queue = np.where(self._are_idle(before, after), 0.0, queue)
            return _direction(before * speed, after, np.maximum(np.maximum(noise, deviation), of_queue))
        fastest, now = figures["least"][0] * least_speed, figures["least"][1]
        beyond = np.maximum(np.maximum(threshold, self.unequal) * fastest, share * self.least_whole)
        of_least = _direction(fastest, now, beyond)
        error = np.hypot(spread[0] * speed / np.sqrt(self.per[0]), spread[1] / np.sqrt(self.per[1]))
        of_mean = _direction(before * speed, after, np.maximum(noise, _DEVIATIONS * error))
        waits = self._waits(before, after, noise)
        self.blocked |= waits != 0
        return np.where(of_mean == of_least, of_mean, waits)

    def _waits(self, before: Floats, after: Floats, noise: Floats) -> Ints:
        """Return the directions in which means changed that the fastest steps do not have: a lock is free in some of
        them, whatever the speed of the machine. A busy machine makes such steps too, but few of them, and its threads
        are not idle. Of n steps, k with equal waits have a mean wait m and a deviation s with k = n m² / (m² + s²)."""
        figures, longer = self.rows.figures, np.where(after > before, 1, 0)
        mean, least, deviation = (
            np.choose(longer, each) for each in ((before, after), figures["least"], figures["spread"])
        )
        wait = (mean - least) ** 2
        often = np.choose(longer, self.per) * wait >= _FEWEST_WAITS * (wait + deviation**2)
        return np.where(self._are_idle(before, after) & often, _direction(before, after, noise), 0)

    def _are_idle(self, before: Floats, after: Floats) -> Bools:
        """Return whether main threads wait longer, or shorter, by as much as times changed."""
        growth = after - before
        alike: Bools = (self.idle * growth > 0) & (abs(self.idle) >= np.abs(growth) / 2)
        return alike

    def _explain(self) -> None:
        """Sum up the change of the time that changed calls, and rows with changed times, explain."""
        rows = self.rows
        ids, calls, steps = self._joined_paths()
        changed = self._changed_calls(calls, steps) & CALLS != 0
        shares = zip(self.request.queue, self.request.work, strict=True)
        queued = [queue / work if work else 0.0 for queue, work in shares]
        waits = self.blocked | self._are_idle(*rows.figures["self"]) & (not self.by_least)
        timed = np.append(rows.changes & (SLOWER | FASTER) != 0, False)
        times, of_calls = [], []
        for index, side in enumerate(self.sides):
            row = np.append(self.row_of[index], -1)[side.groups]
            own, least = (side.totals[name] / self.per[index] for name in ("self", "least"))
            on_cpu = np.maximum(own * (1 - queued[index]), least)
            of_calls.append(changed[ids[index]] & ~(timed[row] & self.by_least))
            blocked = np.append(waits, False)[row]
            times.append(np.where(blocked, own, np.where(timed[row] & self.by_least, least, on_cpu)))
        self._per_call(times, ids, calls, of_calls)
        sums = {name: np.zeros(len(rows.keys)) for name in EXPLAINED}
        for index, (side, speed) in enumerate(zip(self.sides, (-self.speeds[self.by_least], 1.0), strict=True)):
            row = np.append(self.row_of[index], -1)[side.groups]
            chosen = (of_calls[index] | timed[row]) & side.works & ~np.append(self.collection, True)[row]
            factor = np.where(np.append(waits, False)[row], np.sign(speed), speed)
            values = np.where(chosen, times[index] * factor, 0.0)
            for name, found in zip(EXPLAINED, side.explained(values), strict=True):
                np.add.at(sums[name], self.row_of[index], found)
        rows.explained = sums

    def _per_call(self, times: list[Floats], ids: list[Ints], calls: Floats, of_calls: list[Bools]) -> None:
        """Use the shorter time per call for paths that both sides call, but not as often: only their calls changed."""
        sums = np.zeros(calls.shape)
        for index, time in enumerate(times):
            np.add.at(sums[index], ids[index], time)
        per_call = np.min(sums / calls, axis=0)
        for index, time in enumerate(times):
            own = ids[index]
            both = of_calls[index] & np.all(calls > 0, axis=0)[own] & (sums[index][own] > 0)
            time[both] *= (per_call * calls[index] / sums[index])[own[both]]

    def _joined_paths(self) -> tuple[list[Ints], Floats, Floats]:
        """Return a number of each path of both sides, the same for equal paths of keys, their calls per step, and the
        steps with calls."""
        places: dict[tuple[int, int], int] = {}
        ids = []
        for index, side in enumerate(self.sides):
            keys = np.append(self.row_of[index], -1)[side.groups].tolist()
            found, parents = [-1] * (len(keys) + 1), side.parents.tolist()  # the last one is that of the outside
            for path in np.argsort(side.depth, kind="stable").tolist():
                found[path] = places.setdefault((found[parents[path]], keys[path]), len(places))
            ids.append(np.array(found[:-1], np.int64))
        calls, steps = np.zeros((2, 2, len(places)))
        for index, side in enumerate(self.sides):
            np.add.at(calls[index], ids[index], (side.totals["calls"] + side.totals["resumes"]).astype(float))
            np.maximum.at(steps[index], ids[index], side.totals["steps"])
        return ids, calls / np.array(self.per)[:, None], steps


def _median_ratio(before: Floats, after: Floats) -> float | None:
    """Return the median of after / before, weighted by time; None without any."""
    ratios = after / before
    order = np.argsort(ratios, kind="stable")
    below = np.cumsum(np.minimum(before, after)[order])  # a removed wait has no weight
    return float(ratios[order][np.argmax(below >= below[-1] / 2)]) if below.size else None


def _direction(before: Floats, after: Floats, noise: Floats) -> Ints:
    """Return 1 for larger times, -1 for smaller ones, 0 for unchanged ones."""
    return np.where(after - before > noise, 1, np.where(before - after > noise, -1, 0))
