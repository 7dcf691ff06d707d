"""The steps of a run: those that a trace is reduced to, the time of a step, the parts of the run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastdispatch.read.columns import rows
from fastdispatch.text.formats import seconds

#: Phases of training, by their number in the recording; columns of its steps.
PHASES = ("other", "forward", "backward", "optimizer", "data")

#: Bits of a context's flags with the index in ``PHASES``.
PHASE_BITS = 7
_OPTIMIZER = PHASES.index("optimizer")

#: Why the settled steps are not decided, by the verdict of the core (csrc/trace/step_window.h).
_UNDECIDED = {
    "few": "fewer than 4 steps ended",
    "unmarked": "the recording has no snapshots of steps",
    "untimed": "steps have no times",
    "unclear": "which calls of optimizers are one step is not clear: name the function of a step (step_of, --step-of)",
}


#: The fact of a recording that has steps which are not recorded, and its figures (docs/formats/recording.md).
_SIGNED = {"cost", "follow_cost"}
_STEPS_OF_RUN, _FIGURES_OF_RUN = "steps_of_run", {"steps", "recorded", "time", "samples"}

#: Fewer steps without recording do not give the time of a step.
_FEWEST_UNRECORDED = 8

#: A larger standard error of the median time of a step is noise, if there are at most ``_FEW`` steps.
_UNCERTAIN = 0.15
_FEW = 20

#: The rule that found the steps, by their source.
_RULES = {
    "none": "",
    "optimizer": "by Optimizer.step",
    "engine": "by the engine's train_batch",
    "profiler": "by the step() of torch.profiler",
    "explicit": "by step()",
}

#: The fact of a sum of ranks that describes its ranks (dataset/reduced.py).
REDUCED = "reduced"


#: Threads of PyTorch that may run a part of the optimizer (hooks of parameters).
_OF_AUTOGRAD = "autograd:"


def thread_times(ranks: Iterable[Mapping[str, Any]], column: str = "self") -> dict[str, int]:
    """Return the self time, or another one, of the threads of each role, ns."""
    times = Counter[str]()
    for rank in ranks:
        for role, time in rows(rank["threads"], f"role {column}"):
            times[role] += time
    return dict(times)


def optimizing_thread(contexts: Mapping[str, Sequence[int]], keys: Sequence[str]) -> int:
    """Return the thread (a root) of the longest call of an optimizer; -1: none. ``keys`` are of nodes."""
    roots: list[int] = []  # by context: its outermost one
    thread, longest = -1, 0
    for row, (parent, flags, total) in enumerate(rows(contexts, "parent flags total")):  # parents before children
        roots.append(roots[parent] if parent >= 0 else row)
        optimizes = flags & PHASE_BITS == _OPTIMIZER and total > longest
        if optimizes and not keys[contexts["node"][roots[row]]].startswith(_OF_AUTOGRAD):
            thread, longest = roots[row], total
    return thread


def main_role(ranks: Iterable[Mapping[str, Any]], contexts: Mapping[str, Sequence[int]], keys: Sequence[str]) -> str:
    """Return the role of the threads whose time is 100 %: those that run the optimizer, else ``main``, or if it was not
    recorded the role with most time. ``keys`` are of nodes."""
    thread = optimizing_thread(contexts, keys)
    if thread >= 0:
        return keys[contexts["node"][thread]]
    times = thread_times(ranks)
    return min(times, key=lambda role: (role != "main", -times[role], role), default="main")


@dataclass(frozen=True)
class Window:
    """The steps that the figures of a trace cover. With several ranks, ``first`` and ``skipped`` are the minimum of all
    ranks, ``last``, ``steps`` and ``ended`` the maximum."""

    first: int  # number of the first step
    last: int  # number of the last step
    steps: int  # number of steps, per rank
    skipped: int  # number of steps before them
    ended: int  # number of steps in the recording
    settled: bool  # the steps after times have settled; false: requested ones
    varying: bool  # settled, but times did not: half of the steps are skipped
    slower: float  # mean time of a skipped step / of a step in the window; 0 without any
    most_skipped: int = 0  # of the rank that skips most

    @property
    def text(self) -> str:
        """A sentence about these steps: ``steps 4 to 40 of 41 (the first 4 are skipped: 5.2 times as long)``."""
        span = f"step {self.first}" if self.first == self.last else f"steps {self.first} to {self.last}"
        text = f"{span} of {self.ended}"
        if self.settled and (self.skipped or self.most_skipped):
            slower = f"{self.slower:.2g}" if self.slower < 100 else f"{self.slower:.0f}"
            why = (
                "times vary"
                if self.varying
                else "their times differ"
                if self.slower < 1.1
                else f"{slower} times as long"
            )
            text += f" ({self._which} skipped: {why})"
        return text

    @property
    def _which(self) -> str:
        least, most = self.skipped, max(self.skipped, self.most_skipped)
        if least == most:
            return "the first is" if least == 1 else f"the first {least} are"
        return f"by rank, the first {least} to {most} are" if least else f"on some ranks, up to the first {most} are"


@dataclass(frozen=True)
class StepTime:
    """Time of a step, ns: the median, and the quartiles."""

    median: int
    low: int
    high: int
    steps: int  # number of measured steps

    @property
    def doubt(self) -> str:
        """A sentence if few steps with different times make the median uncertain (its standard error); else empty."""
        if self.steps > _FEW or (
            self.steps > 1 and 0.93 * (self.high - self.low) <= _UNCERTAIN * self.median * self.steps**0.5
        ):
            return ""
        if self.steps == 1:
            return "these figures may be noise: one step was measured"
        between = f"half of them took {seconds(self.low)} to {seconds(self.high)}"
        return f"these figures are noise: {self.steps} steps were measured, {between}"


@dataclass(frozen=True)
class Part:
    """A part of a run and its recorded time, ns: start-up, first steps, training, after the last step."""

    name: str
    steps: int
    time: int


def settled(rank: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the settled steps of an entry of ``trace.ranks``: first, last, steps, skipped, from, to; ``None`` if they
    are not decided."""
    found: dict[str, Any] | None = rank["settled"]["steps"]
    return found


def steps_of_run(rank: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the steps of a rank that records some of them; ``None`` if it records all."""
    found = budgeted_steps(rank)
    return found if found is not None and found["recorded"] < found["steps"] else None


def budgeted_steps(rank: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the steps of a rank with a budget, even if it recorded all of them."""
    found = rank["meta"].get(_STEPS_OF_RUN)
    if not isinstance(found, dict) or not found.keys() >= _FIGURES_OF_RUN:
        return None
    valid = all(isinstance(value, (int, float)) and (value >= 0 or name in _SIGNED) for name, value in found.items())
    return found if valid else None


def time_of_run(rank: Mapping[str, Any]) -> int:
    """Return the time from the start of the recording to its latest sign of life, ns, recorded or not."""
    found = budgeted_steps(rank) or {"time": 0}
    return int(max(found["time"], rank["recorded"], rank["seen_alive"], *rank["threads"]["last"]))


def ended_steps(rank: Mapping[str, Any]) -> int:
    """Return how many steps of a rank ended, recorded or not."""
    run = steps_of_run(rank)
    return int(max(recorded_steps(rank) if run is None else run["steps"], rank["run_steps"]))


def recorded_steps(rank: Mapping[str, Any]) -> int:
    """Return how many recorded steps of a rank ended."""
    return int(rank["steps"] if rank["window"] is None else rank["marks"]["steps"][-1])


def reduced_of(ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the description of the ranks of a sum of ranks; ``None`` for other traces."""
    found = ranks[0]["meta"].get(REDUCED) if len(ranks) == 1 else None
    return found if isinstance(found, dict) else None


def number_of_ranks(ranks: Sequence[Mapping[str, Any]]) -> int:
    """Return how many ranks a trace has, as one or each for itself."""
    about = reduced_of(ranks)
    return len(ranks) if about is None else sum(last - first + 1 for first, last in about["ranks"])


def mean_steps(about: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the latest steps of a sum of ranks, the mean of the ranks that have each, one after the other."""
    made: dict[str, list[int]] = {name: [] for name in ("number", "begin", "end", *PHASES)}
    end = 0
    for number, (count, *sums) in about["latest"].items():
        means = [round(time / count) for time in sums]
        begin, end = end, end + sum(means)
        for name, value in zip(made, (int(number), begin, end, *means), strict=True):
            made[name].append(value)
    return made


def window_of(ranks: Sequence[Mapping[str, Any]]) -> Window | None:
    """Return the window of a trace; ``None`` if its figures are of the whole recording."""
    if (about := reduced_of(ranks)) is not None:
        found = about["window"]  # "slower" in thousandths: a sum of sums must have the same digits
        return Window(**found | {"slower": found["slower"] / 1000}) if found is not None else None
    chosen = [rank["window"] for rank in ranks if rank["window"] is not None]
    if not chosen or len(chosen) < len(ranks):
        return None
    is_settled = all(rank["window"] == settled(rank) for rank in ranks)
    return Window(
        first=min(one["first"] for one in chosen),
        last=max(one["last"] for one in chosen),
        steps=max(one["steps"] for one in chosen),
        skipped=min(one["skipped"] for one in chosen),
        ended=max(map(ended_steps, ranks)),
        settled=is_settled,
        varying=is_settled and any(rank["settled"]["verdict"] == "varying" for rank in ranks),
        slower=max(_slower(rank) for rank in ranks),
        most_skipped=max(one["skipped"] for one in chosen),
    )


def undecided(ranks: Sequence[Mapping[str, Any]]) -> str:
    """Return why the settled steps of these ranks are not decided; ``""`` if they are."""
    if (about := reduced_of(ranks)) is not None:
        return str(about["undecided"])
    for rank in ranks:
        if settled(rank) is None:
            return _UNDECIDED[rank["settled"]["verdict"]]
    return "" if ranks else "no rank was recorded"


def steps_rule(rank: Mapping[str, Any]) -> str:
    """Return the rule that found the steps of a rank, in brackets of a report; without steps, the reason, or how
    a program with operators marks them."""
    meta = rank["meta"]
    options = meta.get("options")
    function = options.get("step_of") if isinstance(options, dict) else None
    optimizers = meta.get("optimizers")
    if rank["settled"]["verdict"] == "unclear":
        return "by Optimizer.step; which calls are one step is not clear"
    if rank["steps_source"] == "optimizer" and isinstance(optimizers, int) and optimizers > 1:
        return f"by Optimizer.step of {optimizers} optimizers"
    if function and rank["steps_source"] in ("explicit", "none"):
        return f"by {function}" if rank["steps"] else f"{function} did not end"
    if rank["steps_source"] == "none" and meta.get("ops") in ("record", "dispatch"):
        return "graph.step() or --step-of FUNCTION marks them"
    return _RULES[rank["steps_source"]]


def kept_steps(rank: Mapping[str, Any]) -> list[int]:
    """Return rows of ``latest_steps`` whose times count: those of the window, else the settled ones, else all except
    step 0, which begins with the recording and includes the set-up of the program; none if their ends are in doubt."""
    numbers: list[int] = rank["latest_steps"]["number"]
    if rank["settled"]["verdict"] == "unclear":
        return []
    if rank["window"] is not None or REDUCED in rank["meta"]:
        return list(range(len(numbers)))
    chosen = settled(rank)
    if chosen is not None:
        found = [i for i, number in enumerate(numbers) if chosen["first"] <= number <= chosen["last"]]
        return found or list(range(len(numbers)))
    return list(range(1 if len(numbers) > 1 and numbers[0] == 0 else 0, len(numbers)))


def step_phases(ranks: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the time of each phase in every step whose time counts, ns."""
    times: dict[str, list[int]] = {phase: [] for phase in PHASES}
    for rank in ranks:
        steps = rank["latest_steps"]
        for row in kept_steps(rank):
            for phase in PHASES:
                times[phase].append(steps[phase][row])
    return times


def times_are_known(run: Mapping[str, Any]) -> bool:
    """Return whether enough steps were not recorded to be the base of the time of a step."""
    return bool(run.get("step")) and run["steps"] - run["recorded"] >= _FEWEST_UNRECORDED


def step_times(ranks: Iterable[Mapping[str, Any]]) -> StepTime | None:
    """Return the time of a step: of the steps that are not recorded, if a budget left any, otherwise of the settled
    steps, or of those that the ranks are reduced to, at most the latest 256 of each rank; ``None`` without any. Every
    output prints this figure."""
    ranks = list(ranks)
    phases = step_phases(ranks)
    times = sorted(map(sum, zip(*phases.values(), strict=True)))
    if not times:
        return None
    unrecorded = [run for run in map(steps_of_run, ranks) if run is not None and times_are_known(run)]
    if unrecorded and len(unrecorded) == len(ranks):
        run = sorted(unrecorded, key=lambda run: run["step"])[len(unrecorded) // 2]
        return StepTime(run["step"], run["step_low"], run["step_high"], run["steps"] - run["recorded"])
    from statistics import quantiles  # it imports random, whose name a recorded program may use

    low, middle, high = quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return StepTime(round(middle), round(low), round(high), len(times))


def step_time(ranks: Iterable[Mapping[str, Any]]) -> int:
    """Return the median time of a step, ns; 0 without any."""
    found = step_times(ranks)
    return found.median if found is not None else 0


def phase_times(ranks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the time of each phase in a step, ns: its share of the middle half of the steps that count, of the median
    step. Steps with an evaluation or a checkpoint are longer and have no part in it. The phases add up to
    :func:`step_time`."""
    phases, found = step_phases(ranks), step_times(ranks)
    middle = [
        row
        for row, time in enumerate(map(sum, zip(*phases.values(), strict=True)))
        if found is not None and found.low <= time <= found.high
    ]
    chosen = middle or range(len(phases["other"]))
    sums = {phase: sum(times[row] for row in chosen) for phase, times in phases.items()}
    whole, step = sum(sums.values()), step_time(ranks)
    shares = {phase: round(time * step / whole) if whole else 0 for phase, time in sums.items()}
    largest = max(shares, key=lambda phase: shares[phase])
    shares[largest] += step - sum(shares.values()) if whole else 0
    return shares


def parts(ranks: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Return the parts of the run, the mean of the ranks; they add up to its recorded time. Empty if the settled steps
    are not decided."""
    if (about := reduced_of(ranks)) is not None:
        return [Part(name, steps, round(time / count)) for name, steps, time, count in about["parts"]]
    if undecided(ranks):
        return []
    of_ranks = [_parts(rank) for rank in ranks]
    return [
        Part(same[0].name, max(part.steps for part in same), round(sum(part.time for part in same) / len(same)))
        for same in zip(*of_ranks, strict=True)
    ]


def _parts(rank: Mapping[str, Any]) -> list[Part]:
    """The first step begins with the recording. Its time outside of phases, less that of a settled step, is start-up:
    imports, construction of the model."""
    marks, chosen = rank["marks"], rank["settled"]["steps"]
    first, last = chosen["from"] - 1, chosen["to"] - 1
    recorded, other = marks["recorded"], marks["other"]
    usual = (other[last] - other[first]) / chosen["steps"]
    startup = round(min(max(other[0] - usual, 0), recorded[0]))
    first_steps = recorded[first] - startup
    steps, training, after = chosen["steps"], recorded[last] - recorded[first], max(rank["whole"] - recorded[last], 0)
    run = steps_of_run(rank)
    if run is not None:  # with the steps that are not recorded
        unseen = max(run.get("before", 0) - recorded[0], 0)  # windows of a long start-up that were not recorded
        startup, first_steps = startup + unseen, recorded[first] - startup
        steps, training = ended_steps(rank) - chosen["skipped"], max(time_of_run(rank) - startup - first_steps, 0)
        after = 0
    return [
        Part("start-up", 0, startup),
        Part("first steps", chosen["skipped"], first_steps),
        Part("training", steps, training),
        Part("after the last step", 0, after),
    ]


def _slower(rank: Mapping[str, Any]) -> float:
    if rank["window"] is None or rank["window"] != settled(rank):
        return 0.0
    _, before, during, _ = _parts(rank)
    return before.time / before.steps / (during.time / during.steps) if before.steps and during.time else 0.0
