"""A step is an iteration of the training, whatever calls of optimizers it has."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import fastdispatch
from tests import traces
from tests.oracle.counting import CallCounter
from tests.traces import SOURCES

pytestmark = pytest.mark.torch

N = 24


class Part:
    """A model with its optimizer."""

    def __init__(self) -> None:
        self.net = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def train(self) -> None:
        loss_of(self.net).backward()
        self.optimizer.step()


def loss_of(net: nn.Module) -> torch.Tensor:
    return net(torch.ones(2, 4)).square().mean()


def two_optimizers(one: Part, other: Part) -> None:
    for _ in range(N):
        (loss_of(one.net) + loss_of(other.net)).backward()
        one.optimizer.step()
        other.optimizer.step()


def a_list_of_optimizers(one: Part, other: Part) -> None:
    def update() -> None:
        for optimizer in (one.optimizer, other.optimizer):
            optimizer.step()

    for _ in range(N):
        (loss_of(one.net) + loss_of(other.net)).backward()
        update()


def a_backward_pass_for_each_optimizer(one: Part, other: Part) -> None:
    for _ in range(N):
        [part.train() for part in (one, other)]


def one_optimizer_twice(one: Part, other: Part) -> None:
    for _ in range(N):
        one.train()
        one.train()
        other.train()


def five_to_one(one: Part, other: Part) -> None:
    for _ in range(N):
        for _ in range(5):
            one.train()
        other.train()


def five_to_one_in_functions(one: Part, other: Part) -> None:
    def critic() -> None:
        left = 5
        while left:
            try:
                one.train()
            except ValueError:
                continue
            left -= 1

    for _ in range(N):
        critic()
        other.train()


def every_fifth_also_the_other(one: Part, other: Part) -> None:
    for i in range(N):
        one.train()
        if i % 5 == 4:
            other.train()


def every_sixth_only_the_other(one: Part, other: Part) -> None:
    for i in range(N):
        if i % 6 < 5:
            one.train()
        else:
            other.train()


def epochs(one: Part, other: Part) -> None:
    for _ in range(2):
        for _ in range(N // 2):
            one.train()
            other.train()


def step_in_backward(one: Part, other: Part) -> None:
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for part in (one, other) for p in part.net.parameters()}

    def update(parameter: torch.Tensor) -> None:
        optimizers[parameter].step()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)


def in_backward(one: Part, other: Part) -> None:
    step_in_backward(one, other)
    for _ in range(N):
        (loss_of(one.net) + loss_of(other.net)).backward()


def a_scaler_that_skips(one: Part, other: Part) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for i in range(N):
        loss = loss_of(one.net) * (float("inf") if i % 3 == 2 else 1)
        scaler.scale(loss + loss_of(other.net)).backward()
        for optimizer in (one.optimizer, other.optimizer):
            scaler.step(optimizer)
        scaler.update()


def accumulation(one: Part, other: Part) -> None:
    for _ in range(N):
        for _ in range(4):
            loss_of(one.net).backward()
        one.optimizer.step()


def accumulation_with_a_rest(one: Part, other: Part) -> None:
    for _ in range(2):
        for batch in range(2 * N):
            loss_of(one.net).backward()
            if batch % 4 == 3:
                one.optimizer.step()
        one.optimizer.step()  # nothing is left: no backward pass


def lbfgs(part: Part) -> Callable[[], object]:
    optimizer = torch.optim.LBFGS(part.net.parameters(), max_iter=1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(part.net)
        loss.backward()
        return loss

    return lambda: optimizer.step(closure)


def closures(one: Part, other: Part) -> None:
    step = lbfgs(one)
    for _ in range(N):
        step()


def a_closure_and_another_optimizer(one: Part, other: Part) -> None:
    step = lbfgs(one)
    for _ in range(N):
        step()
        other.train()


def one_training_after_the_other(one: Part, other: Part) -> None:
    for _ in range(N // 4):
        part = Part()
        for _ in range(4):
            part.train()


def in_a_generator(one: Part, other: Part) -> None:
    def training() -> Iterator[None]:
        while True:
            for _ in range(3):
                one.train()
            other.train()
            yield

    steps = training()
    for _ in range(N):
        next(steps)


def without_backward(one: Part, other: Part) -> None:
    for _ in range(N):
        loss_of(one.net)
        one.optimizer.step()


#: Programs of N iterations, the number of calls of loss_of in each, and of optimizers.
PROGRAMS: list[tuple[Callable[[Part, Part], None], int, int]] = [
    (two_optimizers, 2, 2),
    (a_list_of_optimizers, 2, 2),
    (a_backward_pass_for_each_optimizer, 2, 2),
    (one_optimizer_twice, 3, 2),
    (five_to_one, 6, 2),
    (five_to_one_in_functions, 6, 2),
    (epochs, 2, 2),
    (in_backward, 2, 4),
    (a_scaler_that_skips, 2, 2),
    (accumulation, 4, 1),
    (accumulation_with_a_rest, 4, 1),
    (closures, 1, 1),
    (a_closure_and_another_optimizer, 2, 2),
    (one_training_after_the_other, 1, 1),
    (in_a_generator, 4, 2),
    (without_backward, 1, 1),
    (every_sixth_only_the_other, 1, 1),
]


def recorded(out: Path, program: Callable[[Part, Part], None], source: str) -> fastdispatch.Trace:
    torch.manual_seed(0)
    with fastdispatch.CallGraph(out, calls=source):
        program(Part(), Part())
    return fastdispatch.load(out, steps="settled")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("program", "losses", "optimizers"), PROGRAMS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_step_is_an_iteration(
    tmp_path: Path, program: Callable[[Part, Part], None], losses: int, optimizers: int, source: str
) -> None:
    trace = recorded(tmp_path, program, source)
    (rank,), window = trace.ranks, trace.window
    assert window is not None and window.ended == N
    assert traces.calls(trace)["loss_of"] == losses * window.steps
    assert (rank["meta"]["optimizers"], rank["counters"]["steps_unclear"]) == (optimizers, 0)


def one_of(program: Callable[[Part, Part], None]) -> Callable[[Part, Part], Callable[[], object]]:
    """Return a function that makes an iteration of a program of one iteration."""

    def make(one: Part, other: Part) -> Callable[[], object]:
        def iteration() -> None:
            program(one, other)

        return iteration

    return make


def of_hooks(one: Part, other: Part) -> Callable[[], object]:
    def iteration() -> None:
        (loss_of(one.net) + loss_of(other.net)).backward()

    step_in_backward(one, other)
    return iteration


ITERATIONS = {
    "two optimizers": one_of(two_optimizers),
    "five to one": one_of(five_to_one),
    "accumulation": one_of(accumulation),
    "in backward": of_hooks,
    "closures": lambda one, other: lbfgs(one),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ITERATIONS)
def test_counts_are_those_of_the_recorded_steps(
    tmp_path: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared with a slow recorder. The first iteration is that of imports."""
    monkeypatch.setitem(globals(), "N", 1)
    steps = 80
    train, expected = ITERATIONS[name](Part(), Part()), Counter[str]()
    train()
    with fastdispatch.CallGraph(tmp_path, calls=source):
        for _ in range(steps):
            train()
    trace = fastdispatch.load(tmp_path)
    (rank,) = trace.ranks
    numbers = rank["latest_steps"]["number"]
    assert rank["steps"] == len(numbers) < rank["run_steps"] == steps
    for number in range(steps):
        counter = CallCounter()
        counter.run(train)
        expected += counter.calls if number in numbers else Counter()
    found = traces.calls(trace, "key")
    assert len(expected) > 10 and {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("source", SOURCES)
def test_tracers_of_the_program_do_not_see_the_recorder(source: str) -> None:
    seen = set()
    with fastdispatch.CallGraph(None, calls=source, steps="all") as graph:
        sys.setprofile(lambda frame, event, value: seen.add(frame.f_code.co_filename))
        five_to_one(Part(), Part())
        sys.setprofile(None)
    assert graph.stats()["steps"] == N
    assert __file__ in seen and not any(name.startswith(str(Path(fastdispatch.__file__).parent)) for name in seen)


def test_the_profiler_of_a_part_of_the_run(tmp_path: Path) -> None:
    def profiled_at_first(one: Part, other: Part) -> None:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            for _ in range(40):
                one.train()
                profiler.step()
        for _ in range(60):
            one.train()

    for budget in (None, 0.01):
        with fastdispatch.CallGraph(tmp_path, steps=None if budget else "all", budget=budget):
            profiled_at_first(Part(), Part())
        trace = fastdispatch.load(tmp_path, steps="settled" if budget else (10, 20))
        (rank,) = trace.ranks
        assert (rank["steps_source"], rank["run_steps"]) == ("optimizer", 60 - 16)
        assert trace.window is None or traces.calls(trace)["loss_of"] == trace.window.steps
        assert trace.window is not None or budget


def loops_of_their_own(one: Part, other: Part) -> None:
    for _ in range(N // 6):
        for _ in range(3):
            one.train()
        for _ in range(3):
            other.train()


def many_at_first(one: Part, other: Part) -> None:
    for i in range(N):
        for _ in range(20 if i < 2 else 5):
            one.train()
        other.train()


def called_by_map(one: Part, other: Part) -> None:
    for _ in range(N):
        list(map(Part.train, (one, other, one)))


def new_ones_in_an_inner_loop(one: Part, other: Part) -> None:
    for _ in range(N):
        for _ in range(3):
            Part().train()


def a_new_one_each_time(one: Part, other: Part) -> None:
    for _ in range(2):
        for _ in range(N):
            Part().train()


def minibatches(one: Part, between: Callable[[], object] = lambda: None) -> None:
    for _ in range(N):
        between()
        time.sleep(0.02)
        for _ in range(2):
            for _ in range(3):
                one.train()


def minibatches_after_a_rollout(one: Part, other: Part) -> None:
    minibatches(one)


def epochs_with_evaluation(one: Part, other: Part) -> None:
    minibatches(one, one.net.eval)


def epochs_of_a_loader(one: Part, other: Part) -> None:
    minibatches(one, lambda: list(torch.utils.data.DataLoader(torch.ones(2, 4))))


def skipped_updates(one: Part, other: Part) -> None:
    for i in range(4 * N):
        one.optimizer.zero_grad()
        loss_of(one.net).backward()
        if i % 4:
            one.optimizer.step()


def a_new_one_for_a_few_calls(one: Part, other: Part) -> None:
    for _ in range(N):
        optimizer = torch.optim.SGD(one.net.parameters(), lr=0.1)
        for _ in range(3):
            loss_of(one.net).backward()
            optimizer.step()


@pytest.mark.parametrize(
    ("program", "steps"),
    [(epochs_with_evaluation, 6 * N), (epochs_of_a_loader, 6 * N), (every_fifth_also_the_other, N)],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_steps_are_those_of_the_optimizer_of_each_iteration(
    tmp_path: Path, program: Callable[[Part, Part], None], steps: int
) -> None:
    """Of short epochs; an optimizer that steps in some iterations belongs to the next one."""
    trace = recorded(tmp_path, program, SOURCES[0])
    assert trace.window is not None and trace.window.ended == steps
    assert trace.ranks[0]["counters"]["steps_unclear"] == 0


@pytest.mark.parametrize(
    "program",
    [
        a_new_one_each_time,
        loops_of_their_own,
        many_at_first,
        called_by_map,
        new_ones_in_an_inner_loop,
        minibatches_after_a_rollout,
        skipped_updates,
        a_new_one_for_a_few_calls,
    ],
    ids=lambda one: one.__name__,
)
def test_unclear_iterations_have_no_step_time(tmp_path: Path, program: Callable[[Part, Part], None]) -> None:
    trace = recorded(tmp_path, program, SOURCES[0])
    assert trace.window is None and trace.ranks[0]["settled"]["verdict"] == "unclear"
    text = str(trace.report())
    assert (
        "which calls are one step is not clear" in text and "(step_of, --step-of)" in text and "ms per step" not in text
    )
    assert fastdispatch.report.report_facts.facts(trace, None).step == 0


@pytest.mark.parametrize("name", ["five_to_one.<locals>.iteration", "test_iterations.py:iteration", "iteration"])
def test_the_user_names_the_function_of_a_step(tmp_path: Path, name: str) -> None:
    def five_to_one(one: Part, other: Part) -> None:
        def iteration() -> None:
            for _ in range(5):
                one.train()
            other.train()

        for _ in range(N):
            iteration()

    with fastdispatch.CallGraph(tmp_path, step_of=name):
        five_to_one(Part(), Part())
    rank = fastdispatch.load(tmp_path).ranks[0]
    assert (rank["steps_source"], rank["marks"]["steps"][-1]) == ("explicit", N)
    assert f"{N} steps (by {name})" in str(fastdispatch.load(tmp_path).report())


def test_a_function_of_steps_that_did_not_end_is_stated(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, step_of="train_step"):
        loss_of(nn.Linear(4, 4))
    assert "no steps found (train_step did not end)" in str(fastdispatch.load(tmp_path).report())
