"""Steps that a budget selects, and the cost of recording that it measures, by a clock of the test."""

import random
from itertools import pairwise

import pytest

from fastdispatch.read.recording_cost import recording_cost
from fastdispatch.record.budget import FEWEST_SETTLED, FIRST, SETTLED, SETTLED_CALLS, StepBudget, is_selected
from fastdispatch.text.formats import grouped

MS = 10**6


class Session:
    """A session whose calls are followed in ``follow`` steps after each recorded one, and then watched."""

    def __init__(self, calls: int = 0, follow: int | None = None, end: int = 0) -> None:
        self.calls_of_step, self.patience, self.end = calls, follow, end
        self.ends = 0
        self.calls = self.follows = self.since = 0
        self.decided, self.watched_when_asked = 0, False
        self.unasked: list[tuple[int, int]] = []
        self.queued = -1

    @property
    def watched(self) -> bool:
        return self.patience is not None and self.since > self.patience

    def progress(self) -> tuple[int, bool, int, int, int, int, list[tuple[int, int]]]:
        steps, self.unasked = self.unasked, []
        return 0, self.watched, self.calls, self.follows, self.queued, self.ends, steps

    def stats(self) -> dict[str, int]:
        return {"contexts": 0}

    def records(self, budget: StepBudget, number: int, duration: int, worked: int) -> bool:
        """Begin step ``number``, after one of this duration: ask the budget unless it has decided."""
        recorded = False
        if self.decided and self.watched == self.watched_when_asked:
            self.decided -= 1
            self.unasked.append((duration, worked if self.decided < 9 else 0))
        else:
            answer = budget(number)
            recorded, self.decided = answer > 0, max(-answer - 1, 0)
            self.watched_when_asked = self.watched
        self.calls += self.calls_of_step * recorded
        self.since = 0 if recorded else self.since + 1
        self.ends += 0 if recorded else self.end
        self.follows += 0 if recorded or self.watched else self.calls_of_step
        return recorded


class Run:
    """A run of steps of ``usual`` ns, of which a recorded one takes ``cost`` more, and a followed one ``follow``. Each
    waits up to ``wait`` ns for a processor if it is not negative, and ``idle`` ns for something else."""

    def __init__(
        self,
        share: float,
        cost: int,
        steps: int,
        usual: int = 10 * MS,
        group: int = 1,
        noise: int = 0,
        follow: int = 0,
        session: Session | None = None,
        wait: int = -1,
        idle: int = 0,
    ) -> None:
        session = session or Session()
        session.queued = min(wait, 0)
        self.now, self.worked, self.steps, self.paid = 0, 0, steps, 0
        self.notes: dict[str, object] = {}
        self.recorded: list[int] = []
        dice = random.Random(0)
        budget = StepBudget(
            share, group, self.notes.update, lambda: session, lambda: self.now, work=lambda: self.worked
        )
        duration = 0
        for number in range(steps):
            recorded = session.records(budget, number, duration, self.worked)
            if recorded:
                self.recorded.append(number)
            paid = cost if recorded else 0 if session.watched else follow
            paid += 0 if recorded else session.end
            self.paid += paid
            work, queued = usual + paid + dice.randint(0, noise), dice.randint(0, max(wait, 0))
            session.queued += queued
            duration = work + queued + idle
            self.worked += work
            self.now += duration
        session.records(budget, steps, duration, self.worked)
        budget.store()

    def cost(self):
        rank = {"meta": self.notes, "steps": len(self.recorded), "run_steps": self.steps, "window": None}
        rank |= {"recorded": 0, "seen_alive": self.now, "threads": {"last": []}}
        return recording_cost([rank])


def test_the_first_steps_are_recorded_and_then_what_the_budget_pays_for() -> None:
    run = Run(share=0.01, cost=MS, steps=5000)
    assert run.recorded[: FIRST + SETTLED] == list(range(FIRST + SETTLED))
    assert 0.009 <= len(run.recorded) * MS / run.now <= 0.01
    (gap,) = {later - earlier > 1 for earlier, later in pairwise(run.recorded[FIRST + SETTLED :])}
    assert gap


@pytest.mark.parametrize("noise", [0, 3 * MS])
def test_the_cost_is_the_difference_to_steps_beside_it(noise: int) -> None:
    run = Run(share=0.02, cost=2 * MS, steps=3000, noise=noise)
    cost = run.cost()
    assert (cost.method, cost.steps, cost.steps_recorded) == ("measured", 3000, len(run.recorded))
    assert cost.share is not None and cost.error is not None
    assert abs(cost.share - len(run.recorded) * 2 * MS / run.now) <= 3 * cost.error + 1e-6
    assert cost.of_recorded_step == pytest.approx(2 * MS / (10 * MS + noise / 2), rel=0.2 if noise else 1e-3)
    assert f"{len(run.recorded)} of {grouped(3000)} steps are recorded" in cost.text


def test_other_work_of_the_machine_is_in_no_cost() -> None:
    """The cost is of processor time if the thread never waits otherwise."""
    run = Run(share=0.01, cost=MS, steps=2000, wait=40 * MS)
    cost = run.cost()
    assert cost.share == pytest.approx(run.paid / run.worked, rel=0.01) and cost.error == pytest.approx(0, abs=1e-6)
    assert cost.of_recorded_step == pytest.approx(0.1)
    assert 0.0065 < cost.share <= 0.01
    waiting = Run(share=0.01, cost=MS, steps=2000, wait=0, idle=10 * MS).cost()
    assert waiting.of_recorded_step == pytest.approx(0.05)


def test_the_time_of_the_recorder_itself_is_part_of_the_cost() -> None:
    run = Run(share=0.01, cost=MS, steps=1000)
    facts = {"own": 100 * MS, "paths": 4000}
    without, run.notes["steps_of_run"] = run.cost(), run.notes["steps_of_run"] | facts  # type: ignore[operator]
    cost = run.cost()
    assert cost.share is not None and without.share is not None and cost.error is not None
    assert cost.own == pytest.approx(cost.share - without.share) == pytest.approx((100 + 12) * MS / run.now)
    assert cost.error == pytest.approx(4 * MS / run.now)
    assert cost.text.endswith(f", start, stop, ends of steps and first calls {100 * cost.own:.1f} %")


def test_the_ends_of_steps_are_part_of_the_cost_and_of_the_budget() -> None:
    run, cheap = (Run(0.01, MS, 3000, session=Session(end=end)) for end in (MS // 20, 0))
    cost = run.cost()
    assert cost.share == pytest.approx(run.paid / run.now, rel=0.06)
    assert cost.own == pytest.approx((3000 - len(run.recorded)) * MS / 20 / run.now, rel=0.001)
    assert 0.009 <= run.paid / run.now <= 0.01
    assert len(run.recorded) < 0.6 * len(cheap.recorded)


def test_settled_steps_with_many_calls_are_fewer() -> None:
    few, some, many = (
        Run(0.01, MS, 300, usual=2 * MS, session=Session(calls, None)).recorded
        for calls in (SETTLED_CALLS // SETTLED, SETTLED_CALLS // 10, SETTLED_CALLS)
    )
    first = [next(at for at, number in enumerate([*run, 300]) if at < number) for run in (few, some, many)]
    assert first == [FIRST + SETTLED, FIRST + 10, FIRST + FEWEST_SETTLED]
    long = Run(0.01, MS, 300, usual=1000 * MS, session=Session(SETTLED_CALLS, None)).recorded
    assert long[: FIRST + SETTLED] == list(range(FIRST + SETTLED))


@pytest.mark.parametrize("noise", [0, MS])
def test_followed_steps_are_part_of_the_cost(noise: int) -> None:
    """Steps are compared with watched ones, and followed steps, too."""
    run = Run(0.02, 2 * MS, 3000, noise=noise, follow=MS // 2, session=Session(5000, 12))
    cost = run.cost()
    assert cost.share is not None and cost.error is not None
    assert cost.share == pytest.approx(run.paid / run.now, abs=3 * cost.error + 0.001)
    assert cost.followed == pytest.approx((run.paid - 2 * MS * len(run.recorded)) / run.now, abs=0.002)
    assert cost.of_recorded_step == pytest.approx((2 + 0.5) * MS / (10 * MS + noise / 2), rel=0.2)  # with the next step
    assert 0.015 < cost.share < 0.02
    assert f"open calls of the others {100 * cost.followed:.1f} %" in cost.text


@pytest.mark.parametrize("patience", [None, 2, 40])
@pytest.mark.parametrize("cost", [0, 1, 30])
def test_steps_that_are_handled_together_count_as_each(
    monkeypatch: pytest.MonkeyPatch, patience: int | None, cost: int
) -> None:
    def run() -> dict[str, object]:
        session = Session(calls=1000, follow=patience)
        return Run(0.01, cost * MS // 10, 700, noise=MS, follow=MS // 4, session=session, wait=MS).notes

    together = run()
    monkeypatch.setattr(StepBudget, "_steps_ended", lambda self, steps: [self._step_ended(step) for step in steps])
    assert together == run()


def test_followed_calls_have_an_assumed_cost_if_no_step_is_watched() -> None:
    calls, steps = 2000, 1000
    run = Run(0.01, MS, steps, follow=calls * 120, session=Session(calls, None))
    cost = run.cost()
    assert cost.share is not None and cost.error is not None
    assert 0.009 < cost.error < 0.02  # steps with the hook may be longer without showing
    assert 0 < abs(cost.share - run.paid / run.now) < cost.error
    assert f"{100 * cost.share:.1f} ± {100 * cost.error:.1f} % of the run" in cost.text


@pytest.mark.parametrize("parts", [1, 3])
def test_steps_that_were_parts_of_iterations(parts: int) -> None:
    """Their numbers begin again: they count as the iteration that they were, and their times are in no figure."""
    now, notes = 0, {}
    budget = StepBudget(0.01, 1, notes.update, clock=lambda: now)
    for number in (*range(parts + 1), *range(1, 46)):
        budget(number)
        now += MS if now < (parts + 1) * MS else 10 * MS
    before = (parts + 1) * MS
    assert budget.facts(now).items() >= {"steps": 45, "recorded": 36, "before": before, "step": 10 * MS}.items()


def test_a_short_run_does_not_decide_the_cost() -> None:
    cost = Run(share=0.01, cost=MS, steps=FIRST + SETTLED + 8).cost()
    assert (cost.share, cost.method) == (None, "not decided")
    assert "0 of 36 recorded steps could be compared" in cost.text


@pytest.mark.parametrize(
    ("ended", "reason"), [(36, "all 36 steps were recorded"), (60, "36 of 60 steps are recorded: ")]
)
def test_a_run_that_was_killed_before_its_figures_were_stored(ended: int, reason: str) -> None:
    notes = {"steps_of_run": {"steps": 32, "recorded": 32, "time": MS, "samples": 0}}
    cost = recording_cost([{"meta": notes, "steps": 36, "run_steps": ended, "window": None}])
    assert (cost.steps_recorded, cost.steps, cost.share) == (36, ended, None)
    assert cost.reason.startswith(reason)


def test_a_doubtful_share_has_its_error() -> None:
    rough, sure = (Run(share=0.01, cost=MS, steps=60, noise=noise).cost() for noise in (60 * MS, 0))
    assert rough.error is not None and rough.error > 0.005
    assert f" ± {100 * rough.error:.1f} % of the run" in rough.text
    assert " ± " not in sure.text.partition(" of the run")[0]


def test_the_first_steps_decide_the_cost() -> None:
    cost = Run(share=0.01, cost=MS, steps=60).cost()
    assert (cost.of_recorded_step, cost.method) == (pytest.approx(0.1), "measured")


def test_cheap_recording_still_leaves_steps_to_compare() -> None:
    run = Run(share=0.5, cost=0, steps=2000)
    assert 900 <= len(run.recorded) <= 1100
    assert run.cost().share == 0


def test_a_cost_below_the_noise_has_its_error() -> None:
    cost = Run(share=0.01, cost=-MS // 2, steps=3000, noise=3 * MS).cost()
    assert (cost.share, cost.method) == (0, "measured")
    assert cost.error_of_step == pytest.approx(cost.error * 3000 / cost.steps_recorded, rel=0.1) and cost.error > 0
    assert f"(0.0 ± {100 * cost.error_of_step:.1f} % of a step each;" in cost.text


def test_ranks_with_other_costs_record_subsets() -> None:
    few, many = (set(Run(share=0.01, cost=cost, steps=4000).recorded) for cost in (4 * MS, MS // 2))
    assert len(few) < len(many) and len(few - many) <= len(few) // 20


@pytest.mark.parametrize("period", [2, 3, 4, 5, 10, 100])
def test_periodic_work_is_in_the_selected_steps_as_often(period: int) -> None:
    selected = [number for number in range(64_000) if is_selected(number, 0.06)]
    share = sum(number % period == 0 for number in selected) / len(selected)
    assert share == pytest.approx(1 / period, rel=0.1)
    assert all(is_selected(number, 0.12) for number in selected)


def test_groups_are_neighbours() -> None:
    recorded = Run(share=0.01, cost=MS, steps=5000, group=2).recorded[FIRST + SETTLED :]
    assert recorded and all(number + 1 in recorded or number - 1 in recorded for number in recorded)
