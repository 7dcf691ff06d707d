"""The schedule of a recorded pipeline: its plan with measured times, simulated as it is and with one change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from fastdispatch._core import Error
from fastdispatch.pipeline.idle_time import IdleTime
from fastdispatch.pipeline.plan import PlanTable
from fastdispatch.pipeline.sentences import Row
from fastdispatch.read.arrays import Bools, Ints
from fastdispatch.read.schedule_jobs import KINDS, NEVER, RA, RG, SA, SG, B, F, I, Orders, W

#: Tried in this order where the engine names none.
_TRIED = ("1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "deepspeed-inference")
_COMPARED = ("gpipe", "1f1b", "deepspeed-train", "interleaved", "zb-h1", "zb-v")
#: Kinds of jobs in every schedule.
_COMMON = (F, B, I, W, RA, RG)


class _Plan:
    """A plan with its jobs as arrays."""

    def __init__(self, schedule: str, stages: int, micro_batches: int, chunks: int) -> None:
        self.orders = Orders(schedule, stages, micro_batches, chunks)
        self.table = PlanTable(self.orders)
        self.chunks, self.globals = self.orders.chunks, self.orders.globals
        self.first = self.table.first
        columns = np.frombuffer(self.table.jobs, np.int32).reshape(-1, 6).T
        self.kind, self.micro_batch, self.stage = columns[[0, 2, 4]].astype(np.int64)
        self.computes = (self.kind >= F) & (self.kind <= W)
        self.sends = (self.kind == SA) | (self.kind == SG)

    def simulate(self, times: Ints, posted: Bools | None) -> Theory:
        """Simulate with given times; without ``posted`` transfers are overlapped."""
        ticks = np.ascontiguousarray(times, np.int64)
        found = self.table.replay(ticks.data, posted=None if posted is None else posted.data)
        busy, total = sum(found["busy"]), found["makespan"] * self.orders.stages
        idle = float(total - busy)
        return Theory(found["makespan"], idle / float(total) if total else 0.0, idle / float(busy) if busy else 0.0)


@dataclass
class Theory:
    """Summary of a simulation: its length, and idle time as shares of all time and of the time in computations."""

    makespan: int
    of_total: float
    of_ideal: float


class MeasuredSchedule:
    """The schedule of the drawn iteration, and what changes of it would save.

    ``named``: the schedule that the engine states. ``cuts``: the first layer of each global stage, and one past the
    last; ``weights``: shares of layers in the time of a stage.
    """

    def __init__(
        self, idle: IdleTime, named: str | None, cuts: Sequence[int] | None, weights: Sequence[float] | None
    ) -> None:
        self._idle, self._jobs = idle, idle.jobs
        self._cuts, self._weights = cuts, weights
        #: The first difference from the order of the named schedule, or "".
        self.difference = ""
        self.micro_batches = self._count()
        self._plan = self._find(named) if self.micro_batches else None
        if self._plan:
            self._measure(self._plan)

    def about(self) -> Row:
        """Return ``PipelineReport.schedule``."""
        found: Row = {"name": None, "difference": self.difference, "micro_batches": self.micro_batches}
        plan = self._plan
        if plan:
            found |= {"name": plan.orders.schedule, "blocking": self._blocking, "transfers": self._transfers()}
            found |= {name: asdict(theory) for name, theory in self._theories(plan).items()}
            found |= {"in_flight": plan.table.in_flight, "buffers": plan.table.buffers}
        return found

    def changes(self) -> list[Row]:
        """Return the changes with the ns that they save per step."""
        return [*self._changes(self._plan)] if self._plan else []

    # The schedule.

    def _drawn(self, at: int) -> range:
        return self._jobs.jobs_of(at, self._idle.spans.drawn)

    def _count(self) -> int:
        """Return the number of micro-batches of the drawn iteration."""
        if self._idle.spans.drawn < 0:
            return 0
        jobs, most = self._jobs, -1
        for at in range(len(jobs.line)):
            rows = self._drawn(at)
            drawn = slice(rows.start, rows.stop)
            most = max(most, int(jobs.micro_batch[drawn][jobs.computes[drawn]].max(initial=-1)))
        return most + 1

    def _find(self, named: str | None) -> _Plan | None:
        if named is not None:
            return self._try(named)
        if self.micro_batches > self._jobs.computes.sum():
            return None  # the numbers are not those of one iteration
        loads = ("deepspeed-train",) if (self._jobs.kind == KINDS.index("LM")).any() else ()
        found = next((plan for name in (*loads, *_TRIED) if (plan := self._try(name))), None)
        self.difference = ""
        return found

    def _try(self, schedule: str) -> _Plan | None:
        """Compare a schedule with the drawn iteration; skip ranks without jobs in it."""
        chunks = self._jobs.chunks
        plan = _plan(schedule, self._jobs.stages, self.micro_batches, chunks)
        if plan is None or plan.chunks != chunks:
            return None
        for at, place in enumerate(self._jobs.ranks["stage"].tolist()):
            if place >= 0 and self._drawn(at):
                if place >= self._jobs.stages:
                    return None
                self.difference = self._difference(plan, at, place)
                if self.difference:
                    return None
        return plan

    def _difference(self, plan: _Plan, at: int, place: int) -> str:
        """Return the first difference of a rank from the order of the plan, or ""."""
        jobs, rows, planned = self._jobs, np.asarray(self._drawn(at)), np.arange(*plan.first[place : place + 2])
        rows, planned = rows[jobs.computes[rows]], planned[plan.computes[planned]]
        has = np.stack([column[rows] for column in (jobs.kind, jobs.micro_batch, jobs.stage)], 1)
        wants = np.stack([column[planned] for column in (plan.kind, plan.micro_batch, plan.stage)], 1)
        count = min(len(has), len(wants))
        wrong = np.flatnonzero((has[:count] != wants[:count]).any(1))
        if not wrong.size and len(has) == len(wants):
            return ""
        first = int(wrong[0]) if wrong.size else count
        words = [_job(each[first].tolist() if first < len(each) else None) for each in (has, wants)]
        return f"rank {jobs.ranks['rank'][at]}: {words[0]} where the schedule has {words[1]}"

    # Times.

    def _measure(self, plan: _Plan) -> None:
        """Set the mean times of jobs of the plan, and of kinds by global stage; and which sends do not wait."""
        jobs = self._jobs
        usable = self._idle.spans.chosen[jobs.cell] & (jobs.kind < len(KINDS)) & (jobs.stage >= 0)
        self._usable = usable & (jobs.stage < plan.globals)
        rows = np.flatnonzero(self._usable & ~jobs.posted)
        took = jobs.end[rows] - jobs.ready[rows] + self._launches(rows)
        time, count = self._sums(plan, rows, took)
        self._prices: Ints = time.sum(2) // np.maximum(count.sum(2), 1)
        place = plan.kind, plan.stage, self._batch(plan.micro_batch)
        means = time[place] // np.maximum(count[place], 1)
        self._times: Ints = np.where(count[place] > 0, means, self._prices[plan.kind, plan.stage])
        self._posted: Bools | None = None
        self._blocking = self._mixed = False
        if jobs.moves.any():
            self._posted = self._find_posted(plan)
            sends = self._posted[plan.sends]
            self._blocking = sends.size > 0 and not sends.any()
            self._mixed = bool(sends.any() and not sends.all())
            self._check_posted(plan)

    def _batch(self, micro_batch: Ints) -> Ints:
        """Return the place of a micro-batch in sums; the last one is of jobs without a micro-batch."""
        known = (micro_batch >= 0) & (micro_batch < self.micro_batches)
        batch: Ints = np.where(known, micro_batch, self.micro_batches)
        return batch

    def _sums(self, plan: _Plan, rows: Ints, values: Ints) -> tuple[Ints, Ints]:
        """Return sums and counts by kind, global stage and micro-batch."""
        shape = len(KINDS), plan.globals, self.micro_batches + 1
        sums, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        place = self._jobs.kind[rows], self._jobs.stage[rows], self._batch(self._jobs.micro_batch[rows])
        np.add.at(sums, place, values)
        np.add.at(counts, place, 1)
        return sums, counts

    def _launches(self, rows: Ints) -> Ints:
        """Return the gaps before jobs, without waiting. Those before transfers are part of the next job."""
        jobs, before, waits = self._jobs, self._idle.before, self._idle.waits
        free = jobs.end[before]
        free = np.where((waits.rank >= 0) & (waits.time > free), waits.time, free)
        gap = np.where((before >= 0) & ~jobs.same_call, np.maximum(jobs.start - free, 0), 0)
        sums = np.cumsum(gap)
        found = np.zeros(len(rows), np.int64)
        taken = ~jobs.moves[rows]
        takers = rows[taken]
        since = (sums - gap)[jobs.cells[jobs.cell[takers]]]
        since[1:] = np.where(jobs.cell[takers[1:]] == jobs.cell[takers[:-1]], sums[takers[:-1]], since[1:])
        found[taken] = sums[takers] - since
        return found

    def _find_posted(self, plan: _Plan) -> Bools:
        """Return which sends do not wait: those of which most with their kind and micro-batch did not."""
        jobs = self._jobs
        post = np.where(jobs.other >= 0, jobs.other[jobs.other], np.arange(jobs.count))
        is_post = post == np.arange(jobs.count)
        waits = np.full(jobs.count, -1)
        later = np.flatnonzero(jobs.sends & ~is_post)
        waits[post[later]] = later
        computed = np.append(0, np.cumsum(jobs.computes))
        after = np.arange(jobs.count) + 1
        between = computed[np.maximum(waits, after)] > computed[after]
        local = (jobs.other >= 0) & (jobs.at[jobs.other] == jobs.at)
        goes_on = np.where(jobs.posted, between | (waits < 0), local)
        rows = np.flatnonzero(self._usable & jobs.sends & is_post)
        votes, _ = self._sums(plan, rows, np.where(goes_on[rows], 1, -1))
        posted: Bools = plan.sends & (votes[plan.kind, plan.stage, self._batch(plan.micro_batch)] >= 0)
        return posted

    def _check_posted(self, plan: _Plan) -> None:
        """Treat all sends as posted if blocking transfers deadlock: an engine has another order of transfers."""
        try:
            plan.simulate(self._times, self._posted)
        except Error:
            self._posted = np.ones(len(plan.kind), bool)
            self._blocking = self._mixed = False

    def _transfers(self) -> str:
        if self._posted is None:
            return "unknown"
        return "blocking" if self._blocking else "mixed" if self._mixed else "posted"

    # Changes.

    def _balanced(self, plan: _Plan, times: Ints) -> Ints:
        """Set the times of computations to the mean of their kind."""
        means = self._prices.sum(1) // plan.globals
        balanced: Ints = np.where(plan.computes, means[plan.kind], times)
        return balanced

    def _theories(self, plan: _Plan) -> dict[str, Theory]:
        """Return the simulations with equal stages, with measured stages, both with free transfers, and as measured."""
        computations = np.where(plan.computes, self._times, 0)
        return {
            "ideal": plan.simulate(self._balanced(plan, computations), None),
            "stages": plan.simulate(computations, None),
            "base": plan.simulate(self._times, self._posted),
        }

    def _changes(self, plan: _Plan) -> Iterator[Row]:
        base = plan.simulate(self._times, self._posted).makespan
        for stage in range(self._jobs.stages):
            own = plan.computes.copy()
            own[: plan.first[stage]] = own[plan.first[stage + 1] :] = False
            times = self._times - np.where(own, self._times // 10, 0)
            yield _change("stage_faster", base - plan.simulate(times, self._posted).makespan, stage=stage)
        balanced = plan.simulate(self._balanced(plan, self._times), self._posted)
        yield _change("balanced", base - balanced.makespan)
        if self._posted is not None:
            yield _change("overlapped_transfers", base - plan.simulate(self._times, None).makespan)
        yield from self._doubled(plan)
        yield from self._schedules(plan)
        if self._cuts is not None and len(self._cuts) == plan.globals + 1:
            yield from self._moves(plan, self._cuts, base)

    def _priced(self, plan: _Plan, prices: Ints) -> int:
        """Return the length of a plan of any schedule with times by kind and global stage."""
        posted = None
        if self._posted is not None and (plan.orders.waiting != NEVER or not self._blocking):
            posted = np.full(len(plan.kind), not self._blocking)
        return plan.simulate(prices[plan.kind, plan.stage], posted).makespan

    def _doubled(self, plan: _Plan) -> Iterator[Row]:
        """Yield the saving per micro-batch of a step with twice as many."""
        double = _plan(plan.orders.schedule, self._jobs.stages, 2 * self.micro_batches, plan.chunks)
        if double:
            saves = self._priced(plan, self._prices) - self._priced(double, self._prices) // 2
            yield _change("double_micro_batches", saves)

    def _schedules(self, plan: _Plan) -> Iterator[Row]:
        """Yield other schedules with the same work."""
        own = plan.orders.schedule
        now = self._priced(plan, self._prices_for(plan, plan))
        for name in _COMPARED:
            other = _plan(name, self._jobs.stages, self.micro_batches, 2 if name == "interleaved" else 0)
            if other and name != own:
                yield _change("schedule", now - self._priced(other, self._prices_for(plan, other)), schedule=name)

    def _prices_for(self, plan: _Plan, other: _Plan) -> Ints:
        """Return the times of another plan. B is the sum of I and W; if they are not separate, each is half of it."""
        of = np.zeros((len(KINDS), self._jobs.stages), np.int64)
        for stage in range(plan.globals):
            of[_COMMON, plan.orders.holder(stage)] += self._prices[_COMMON, stage]
        for kind in (RA, RG):
            of[kind] = 0
            for stage in range(plan.globals):
                holder = plan.orders.holder(stage)
                of[kind, holder] = max(of[kind, holder], self._prices[kind, stage])
        whole = of[I] + of[W] == 0
        of[I], of[W] = np.where(whole, of[B] // 2, of[I]), np.where(whole, of[B] - of[B] // 2, of[W])
        of[B] = np.where(of[B] == 0, of[I] + of[W], of[B])
        of[F : W + 1] //= other.chunks
        return of[:, [other.orders.holder(stage) for stage in range(other.globals)]]

    def _moves(self, plan: _Plan, cuts: Sequence[int], base: int) -> Iterator[Row]:
        """Yield the moves of a layer at a border of stages to the neighbour, from stages with several."""
        for stage in range(plan.globals - 1):
            for source, to in ((stage, stage + 1), (stage + 1, stage)):
                if cuts[source + 1] > cuts[source] + 1:
                    layer = cuts[source + 1] - 1 if to > source else cuts[source]
                    times = self._moved(plan, source, to, self._share(cuts, source, layer))
                    saves = base - plan.simulate(times, self._posted).makespan
                    yield _change("move_layer", saves, stage=source, to=to, layer=layer)

    def _share(self, cuts: Sequence[int], stage: int, layer: int) -> float:
        """Return the share of a layer in the time of its stage."""
        if self._weights is None:
            return 1 / (cuts[stage + 1] - cuts[stage])
        whole = sum(self._weights[cuts[stage] : cuts[stage + 1]])
        return self._weights[layer] / whole if whole > 0 else 0

    def _moved(self, plan: _Plan, source: int, to: int, share: float) -> Ints:
        goes = np.where(plan.computes, share * self._prices[plan.kind, source], 0).astype(np.int64)
        less = np.where(plan.stage == source, np.maximum(self._times - goes, 0), self._times)
        moved: Ints = np.where(plan.computes, less + np.where(plan.stage == to, goes, 0), self._times)
        return moved


def _plan(schedule: str, stages: int, micro_batches: int, chunks: int) -> _Plan | None:
    """Return a plan; None if no engine runs it."""
    try:
        return _Plan(schedule, stages, micro_batches, chunks)
    except Error:
        return None


def _job(job: list[int] | None) -> str:
    if job is None:
        return "nothing more"
    return f"{KINDS[job[0]]} of micro-batch {job[1]} on stage {job[2]}"


def _change(change: str, saves: int, **about: int | str) -> Row:
    return {"change": change, "stage": -1, "to": -1, "layer": -1, "saves": saves, "schedule": None} | about
