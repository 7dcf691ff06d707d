"""``CallGraph(budget=...)``: record as many steps as a share of the run time pays for, and measure what they cost.

The first steps and then 8 to 32 more are recorded, for a complete call graph. After that some steps are, spread by
their number, so that periodic work (evaluation every N steps) is in both kinds. All ranks select from the same sets of
numbers, each of which contains the smaller ones: steps that a rank with a lower share records are recorded by all.

A step that is not recorded has a duration and open calls, and code that runs for the first time is recorded in it
(csrc/capture/session/session.c). Its calls are followed, which costs time, or watched, which does not. The cost of
recording is the difference of the recorded and the followed steps to watched ones beside them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter_ns, thread_time_ns
from typing import Protocol

from fastdispatch._core import Error
from fastdispatch.record.schedule import RECORD

#: Steps at the start that are always recorded: they may be slower. The settled ones after them are compared with
#: others.
FIRST, SETTLED = 4, 32

#: There are fewer settled steps as soon as they have this many calls and operators, if these seem to take a large part
#: of the steps: at so many ns each, a larger share than that.
FEWEST_SETTLED, SETTLED_CALLS = 8, 20_000
_CALL_NS, _LARGE = 250, 0.1

#: Assumed cost of a followed call, until steps with watched ones are beside (read/recording_cost.py).
_FOLLOWED_NS = 150

#: Recording may cost from the start what the budget allows in this many steps.
_ADVANCE = 300

#: Durations beside a recorded step with which it is compared.
_BESIDE = 8

#: At most this share of the steps is recorded: the others are compared with them.
_MOST = 0.5

#: The budget decides for at most this many steps at once: to ask it costs as much as many calls.
_AT_ONCE = 256

#: Kept durations of steps that are not recorded.
_KEPT = 4096

#: A thread is busy if it runs, or waits for a processor, for a larger share of the time.
_BUSY = 0.9

#: Kept costs of followed steps.
_KEPT_FOLLOWED = 256

#: The default, unless ``steps``, ``schedule`` or ``et`` select steps.
DEFAULT = 0.01

#: A program without steps is recorded completely for this time, in seconds, and after that in windows of a hundredth of
#: it. A recorded step is cut if it takes longer, and 8 times the mean (csrc/capture/session/partial_steps.c).
PATIENCE = 10.0

#: Assumed cost of a recorded step, as a share of one that is not, until it is measured in this many of them.
_ASSUMED, _MEASURED = 0.15, 8

_GOLDEN = 2654435769  # 2**32 divided by the golden ratio: its multiples are spread evenly over 32 bits


def share_of_budget(value: float | None, all_steps: bool) -> float | None:
    """Check the argument ``budget``; without one, return the default, or None to record ``all_steps``."""
    if value is None:
        return None if all_steps else DEFAULT
    if not 0 < value < 1:
        raise Error(f"budget={value}: must be a share of the run time between 0 and 1, such as 0.01")
    return value


def is_selected(number: int, rate: float) -> bool:
    """Return whether step ``number`` is in the set of this share of all steps. A set contains those of lower shares."""
    return number * _GOLDEN % 2**32 < rate * 2**32


class BudgetedSession(Protocol):
    """What a budget reads from a session."""

    def progress(self) -> tuple[int, bool, int, int, int, int, list[tuple[int, int]]]:
        """Return the number of steps of which recording ended early, whether the running step is watched, the number of
        recorded calls and operators, that of followed calls, for how long the thread has waited for a processor (-1:
        not known), what the ends of steps took, and the durations of the steps for which the budget was not asked, with
        the processor time of the thread at their ends (0: not read), ns, once."""

    def stats(self) -> Mapping[str, int]:
        """Return the size of the recording, its number of ``contexts`` among it."""


class StepCosts:
    """What recorded and followed steps cost, by one clock: differences to other steps beside them."""

    def __init__(self) -> None:
        self._open = self._opened = 0  # recorded steps before the running one: their time, ns, and number
        self._watching = False  # a step was watched; only such steps are those beside
        self._beside: deque[int] = deque(maxlen=_BESIDE)
        self._settled: deque[int] = deque(maxlen=_BESIDE)  # the last ones that are always recorded
        self._follows: deque[int] = deque(maxlen=_KEPT)  # durations of followed steps, until watched ones are beside
        self.durations: deque[int] = deque(maxlen=_KEPT)
        self.costs: deque[tuple[float, float]] = deque(maxlen=_KEPT)  # of a recorded step: ns, and share of it
        self.follow_costs: deque[float] = deque(maxlen=_KEPT_FOLLOWED)

    @property
    def usual(self) -> float:
        """Time of a step that is not recorded, ns; 0 without any."""
        return quantile(self._beside, 0.5) if self._beside else 0

    @property
    def missing(self) -> int:
        """How many steps are missing beside the next one."""
        return _BESIDE - len(self._beside)

    def cut(self) -> None:
        """Handle a recorded step that is not compared."""
        self._open = self._opened = 0

    def first(self, duration: int) -> None:
        """Handle one of the steps that are always recorded."""
        self._settled.append(duration)

    def recorded(self, duration: int) -> None:
        """Handle another recorded step."""
        self._open += duration
        self._opened += 1

    def watched(self, duration: int) -> None:
        """Handle a step that costs nothing."""
        if not self._watching:
            self._watching = True
            self._beside.clear()
            self.durations.clear()
        self._other(duration)

    def followed(self, duration: int) -> None:
        """Handle a step whose calls are followed."""
        if not self._watching:
            self._follows.append(duration)
            self._other(duration)
        elif not self.missing:
            self.follow_costs.append(duration - self.usual)

    def others(self, durations: Sequence[int], watched: bool) -> None:
        """Handle steps in turn that are not recorded: together, where :meth:`watched` or :meth:`followed` is not
        needed."""
        each = self.watched if watched else self.followed
        done = 0
        while done < len(durations) and self.needs_each(watched):
            each(durations[done])
            done += 1
        rest = durations[done:]
        if watched == self._watching:
            self._beside.extend(rest)
            self.durations.extend(rest)
            self._follows.extend(() if watched else rest)
        elif not self.missing:
            usual = self.usual
            self.follow_costs.extend(duration - usual for duration in rest)

    def needs_each(self, watched: bool) -> bool:
        """Return whether the next steps may be the first watched ones, or decide a comparison."""
        return len(self.durations) < _BESIDE or (watched and not self._watching)

    def _other(self, duration: int) -> None:
        self._beside.append(duration)
        self.durations.append(duration)
        if self._settled and len(self.durations) == _BESIDE:
            self._compare_settled()

    def _compare_settled(self) -> None:
        """Compare the last settled steps with the first others, and again with the first watched ones."""
        self.costs.clear()
        for recorded, other in zip(self._settled, self._beside, strict=False):
            self.costs.append((recorded - other, (recorded - other) / max(other, 1)))
        if self._watching:
            self.follow_costs.extend(followed - self.usual for followed in self._follows)
            self._settled.clear()
            self._follows.clear()

    def compare(self, duration: int) -> None:
        """Compare the latest recorded steps, and the step after them, with others beside them."""
        if self._opened and not self.missing:
            cost = (self._open + duration - (self._opened + 1) * self.usual) / self._opened
            self.costs.append((cost, cost / max(self.usual, 1)))
            self._settled.clear()
        self.cut()

    def facts(self) -> Iterable[tuple[str, int]]:
        """Yield the costs of a recorded and of a followed step with their standard errors, ns."""
        for name, values in (("cost", [ns for ns, _ in self.costs]), ("follow", list(self.follow_costs))):
            if len(values) > 1:
                cost, error = robust_mean(values)
                yield name if name == "cost" else "follow_cost", round(cost)
                yield f"{name}_error", round(error)


#: Duration of a step, and its processor time, ns; -1: not known.
BothTimes = tuple[int, int]


class StepBudget:
    """A schedule of steps (``CallGraph(schedule=...)``). ``group`` is the number of neighbouring steps to record;
    ``note`` stores facts in the recording; ``session`` returns the session, or ``None`` before its start. ``work`` is
    the processor time of the thread."""

    def __init__(
        self,
        share: float,
        group: int,
        note: Callable[[dict[str, object]], None],
        session: Callable[[], BudgetedSession | None] = lambda: None,
        clock: Callable[[], int] = perf_counter_ns,
        work: Callable[[], int] = thread_time_ns,
    ) -> None:
        self.share, self._group, self._note, self._session, self._clock = share, group, note, session, clock
        self._work = work
        self._start = self._begin = clock()
        self._worked = work()  # at the begin of the running step
        self._steps = self._recorded = self._cut = 0  # ended steps
        self._number = 0  # of the running step
        self._before = 0  # time before the end of the first one
        self._recording = False  # the running step
        self._after = False  # the running step follows a recorded one
        self._rest = 0  # steps left to record in this group
        self._settled_from = (-1, 0, 0)  # number of calls and both times at the begin of the settled steps
        self._is_settled = False  # enough of them are recorded
        self._cuts = self._calls = self._followed_calls = 0  # of the session
        self._watched = False  # the step that the budget is asked about
        self._followed = 0
        self._by_clock, self._by_work = StepCosts(), StepCosts()
        self._first = (0, 0, 0)  # both times and the wait for a processor at the end of the first step
        self._queued = -1  # since then, ns
        self._is_busy = False  # the thread has run since then, or waited for a processor
        self._own = 0  # processor time of start, stop and decisions, ns
        self._ends = 0  # time for the ends of steps that are not recorded, ns
        self._cost, self._rate = _ASSUMED, self._rate_of(_ASSUMED)
        self._spent = float(FIRST)  # recorded steps, in usual ones; first calls cost about as much as the first steps
        self._due = FIRST  # steps at which the facts are noted

    def __call__(self, number: int) -> int:
        """Return whether to record the next step; -k if the next k steps are not."""
        now, worked = self._clock(), self._work()
        self._look(now, worked)
        if 0 < number <= self._number:
            self._restart(number, now)
        elif self._steps or self._recording:
            self._step_ended((now - self._begin, worked - self._worked if self._worked else -1))
        self._number = number
        self._begin, self._worked = now, worked
        if self._steps >= self._due:
            self._due *= 2
            self.store()
        self._recording = self._selects(number, now, worked)
        self._own += self._work() - worked
        return RECORD if self._recording else -self._unselected(number, now)

    def spend(self, time: int) -> None:
        """Add a processor time of the recorder, ns."""
        self._own += time

    def _look(self, now: int, worked: int) -> None:
        """Read the figures of the session, and handle the steps for which the budget was not asked."""
        session = self._session()
        if session is None:
            return
        cuts, watched, calls, follows, queued, self._ends, steps = session.progress()
        both: list[BothTimes] = []
        for duration, end in steps:
            self._begin += duration
            both.append((duration, end - self._worked if end and self._worked else -1))
            self._worked = end
        self._steps_ended(both)
        self._cuts, self._watched, self._calls, self._followed_calls = cuts, watched, calls, follows
        if self._steps == 0:
            self._first = now, worked, queued
        self._queued = queued - self._first[2]
        self._is_busy = queued >= 0 and worked - self._first[1] + self._queued > _BUSY * (now - self._first[0])

    def _unselected(self, number: int, now: int) -> int:
        """Return how many steps from this one on are not recorded, if they take at most twice as long as usual."""
        missing = max(self._by_clock.missing, self._after)
        if missing > 0:
            return missing
        unpaid = (self._time_to_pay() - (now - self._start)) / max(self._by_clock.usual, 1)
        end = number + min(max(int(unpaid / 2), 1), _AT_ONCE)
        while end < number + _AT_ONCE and not is_selected(end, self._rate):
            end += 1
        return end - number

    def _restart(self, number: int, now: int) -> None:
        """Handle steps that were parts of iterations: they are ``number`` steps together, their times are not known."""
        self._steps, self._recorded, self._before = (
            number,
            min(self._recorded + self._recording, number),
            now - self._start,
        )
        self._rest = 0
        self._spent = float(FIRST + self._recorded)
        self._by_clock, self._by_work = StepCosts(), StepCosts()
        self._recording = self._after = False

    def _steps_ended(self, steps: Sequence[BothTimes]) -> None:
        """Handle several steps, of which only the first may be recorded."""
        done = 0
        while done < len(steps) and (
            self._recording or self._after or self._cuts > self._cut or self._by_clock.needs_each(self._watched)
        ):
            self._step_ended(steps[done])
            done += 1
        if done < len(steps):
            self._steps += len(steps) - done
            self._followed += 0 if self._watched else len(steps) - done
            for costs, times in zip((self._by_clock, self._by_work), zip(*steps[done:], strict=True), strict=True):
                costs.others([time for time in times if time >= 0], self._watched)

    def _step_ended(self, times: BothTimes) -> None:
        known = [at for at in zip((self._by_clock, self._by_work), times, strict=True) if at[1] >= 0]
        self._steps += 1
        self._before = self._before or times[0]
        if self._cuts > self._cut:  # neither a recorded step nor one that is not
            self._cut = self._cuts
            self._spent += max(min(times[0], PATIENCE * 1e9) / (self._by_clock.usual or times[0]), 1)
            self._by_clock.cut()
            self._by_work.cut()
            self._recording = False
        elif self._recording:
            self._recorded += 1
            self._spent += max(times[self._is_busy] / self._costs.usual, 1) if self._is_settled else 1
            for costs, time in known:
                (costs.recorded if self._is_settled else costs.first)(time)
        elif self._after:  # includes the end of the recording
            for costs, time in known:
                costs.compare(time)
            self._decide()
        else:
            self._followed += not self._watched
            for costs, time in known:
                (costs.watched if self._watched else costs.followed)(time)
            if len(self._by_clock.durations) == _BESIDE:
                self._decide()
        self._after, self._recording = self._recording, False

    @property
    def _costs(self) -> StepCosts:
        """The costs by the processor time of the thread if it never waits, as those by the clock have the other work of
        the machine in them."""
        return self._by_work if self._is_busy else self._by_clock

    def _decide(self) -> None:
        """Choose the share of recorded steps by the measured cost."""
        costs = self._costs.costs
        if len(costs) >= _MEASURED:
            middle, error = robust_mean([share for _, share in costs])
            self._cost = max(middle + error, 0.01)
            self._rate = self._rate_of(self._cost)

    def _rate_of(self, cost: float) -> float:
        """Return the share of steps to begin a group at, if a recorded step costs this share of it."""
        return min(self.share / cost, _MOST) / self._group

    def _selects(self, number: int, now: int, worked: int) -> bool:
        if not self._is_settled:
            self._is_settled = self._settles(now, worked)
            return not self._is_settled
        if self._rest:
            self._rest -= 1
            return True
        if not is_selected(number, self._rate) or self._by_clock.missing:
            return False
        if self._time_to_pay() > now - self._start:
            return False
        self._rest = self._group - 1
        return True

    def _time_to_pay(self) -> float:
        """Return the time of a run whose budget pays for what is spent and the next steps, ns. The first ones may be
        paid in advance."""
        usual, follow_costs = self._by_clock.usual, self._costs.follow_costs
        follows: float = self._followed_calls * _FOLLOWED_NS
        if follow_costs:
            follows = self._followed * max(quantile(follow_costs, 0.5), 0)
        time = ((self._spent + self._group) * self._cost * usual + follows + self._own + self._ends) / self.share
        return 0 if time <= _ADVANCE * usual else time

    def _settles(self, now: int, worked: int) -> bool:
        """Return whether the steps so far are enough for a complete call graph and a comparison."""
        if self._steps < FIRST or self._steps >= FIRST + SETTLED:
            return self._steps >= FIRST + SETTLED
        if self._settled_from[0] < 0:
            self._settled_from = self._calls, now, worked
        if self._steps < FIRST + FEWEST_SETTLED:
            return False
        calls, begin, before = self._settled_from
        time = worked - before if self._is_busy else now - begin
        calls = self._calls - calls
        return calls >= SETTLED_CALLS and calls * _CALL_NS > _LARGE * time

    def store(self) -> None:
        """Note the result so far."""
        self._note({"steps_of_run": self.facts(self._clock())})

    def facts(self, now: int) -> Mapping[str, object]:
        """Steps of the run, times in ns: docs/formats/recording.md."""
        session = self._session()
        self._look(now, self._work())
        costs = self._costs
        found: dict[str, object] = {
            "budget": self.share,
            "steps": self._steps,
            "recorded": self._recorded,
            "cut": self._cut,
            "before": self._before,
            "time": now - self._start,
            "samples": len(costs.costs),
            "followed": self._followed,
            "followed_calls": self._followed_calls,
            "own": self._own + self._ends,
            "paths": 0 if session is None else session.stats()["contexts"],
        }
        if self._by_clock.durations:
            low, middle, high = (quantile(self._by_clock.durations, part) for part in (0.25, 0.5, 0.75))
            found |= {"step": round(middle), "step_low": round(low), "step_high": round(high)}
        if costs is self._by_work and costs.durations:
            found |= {"queued": self._queued, "step_work": round(quantile(costs.durations, 0.5))}
        return found | dict(costs.facts())


def quantile(values: Iterable[float], part: float) -> float:
    """Interpolate between two values. The module ``statistics`` imports ``random``, a name that a program may use."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = ordered[int(place)]
    return low + (ordered[min(int(place) + 1, len(ordered) - 1)] - low) * (place % 1)


def robust_mean(values: list[float]) -> tuple[float, float]:
    """Return the median and its standard error."""
    middle = quantile(values, 0.5)
    deviation = 1.4826 * quantile((abs(value - middle) for value in values), 0.5)
    return middle, 1.2533 * deviation / len(values) ** 0.5
