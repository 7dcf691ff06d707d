"""Calls of unrecorded steps that run without the evaluator hook, so that nothing below them is followed."""

import ctypes
import functools
import os
import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fastdispatch
from fastdispatch.read import live
from fastdispatch.record import optimizer_reports
from fastdispatch.record.budget import FIRST, SETTLED
from tests import processes, traces

STEPS = 400

#: Only C functions are passed to it: calls with the user's functions are quiet if steps are short enough. Calls with
#: fewer than two calls below are never quiet.
LIBRARY = """
import time

def probe(read):
    inner(0)
    return read()

def work(read): return probe(read)

def many(read):
    for number in range(1000):
        inner(number)
    return read()

def leaf(read): return read()
def single(read): return leaf(read)

def fail(keep, read):
    keep(probe(read))
    raise KeyError

def failing(keep, read): fail(keep, read)

def generate(read):
    while True:
        yield probe(read)

def rest(read):
    time.sleep(0.0001)
    return probe(read)

def at(default, read, act):
    found = probe(read)
    if found == default:
        act()
    return found

def inner(number): return number
def several(late):
    for number in range(5):
        inner(number)
    return rare(late) if late else 0

def rare(late): return inner(late)

def until(read, at, late):
    while read() == at:
        probe(read)
    late()

def descend(depth, read): return descend(depth - 1, read) if depth else probe(read)
def deep(read): return descend(20_000, read)

def here(depth, step): return there(depth - 1, step) if depth else step()
def there(depth, step): return here(depth, step)

def epoch(steps, step):
    for number in range(steps):
        inner(number)
        step()
"""


@pytest.fixture(autouse=True)
def no_greenlets(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is quiet once greenlet is imported, which other tests of this process may do."""
    monkeypatch.delitem(sys.modules, "greenlet", raising=False)


@pytest.fixture
def library() -> ModuleType:
    """An installed module, by the file of its code."""
    module = ModuleType("quiet_library")
    exec(compile(LIBRARY, str(Path(sysconfig.get_path("purelib"), "quiet_library.py")), "exec"), vars(module))
    return module


@pytest.fixture(scope="module")
def evaluator() -> Callable[[], int]:
    """Return the address of the evaluator; a C function."""
    python = ctypes.PyDLL(None)
    get, interpreter = python._PyInterpreterState_GetEvalFrameFunc, python.PyInterpreterState_Get
    interpreter.restype, get.restype, get.argtypes = ctypes.c_void_p, ctypes.c_void_p, [ctypes.c_void_p]
    return functools.partial(get, interpreter())


def in_steps(
    folder: Path, step: Callable[[int], object], end: Callable[[], object] = lambda: None
) -> fastdispatch.Trace:
    """Record a run whose steps after the first ones are followed; ``end`` is called after each step."""
    with fastdispatch.CallGraph(folder, ops="off", calls="frame", budget=1e-9) as graph:
        for number in range(STEPS):
            step(number)
            end()
            graph.step()
    trace = fastdispatch.load(folder)
    (rank,) = trace.ranks
    assert (rank["run_steps"], rank["counters"]["hook_lost"]) == (STEPS, 0)
    return trace


class Hooks:
    """The evaluators found in a library function, and after it."""

    def __init__(self, evaluator: Callable[[], int]) -> None:
        self.read, self.default = evaluator, evaluator()
        self.inside: list[int] = []
        self.after: set[int] = set()

    def end(self) -> None:
        self.after.add(self.read())

    def check(self) -> None:
        assert len(self.after) == 1 and self.default not in self.after
        found = Counter(hook == self.default for hook in self.inside[FIRST + SETTLED :])
        assert not any(hook == self.default for hook in self.inside[:FIRST])
        assert found[True] > found[False] > 0, "some calls are followed, to find new code"


def test_the_hook_is_removed_in_most_library_calls(
    library: ModuleType, evaluator: Callable[[], int], tmp_path: Path
) -> None:
    hooks = Hooks(evaluator)
    in_steps(tmp_path / "out", lambda number: hooks.inside.append(library.work(hooks.read)), hooks.end)
    hooks.check()
    assert evaluator() == hooks.default


def test_calls_with_one_call_below_are_followed(
    library: ModuleType, evaluator: Callable[[], int], tmp_path: Path
) -> None:
    hooks = Hooks(evaluator)
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=1e-9) as graph:
        for _ in range(STEPS):
            hooks.inside.append(library.single(hooks.read))
            graph.step()
    assert hooks.default not in hooks.inside


@pytest.mark.parametrize(("name", "least"), [("work", 2000 // 64), ("many", 0)])
def test_many_quiet_calls_are_followed_less_often(
    library: ModuleType, evaluator: Callable[[], int], tmp_path: Path, name: str, least: int
) -> None:
    hooks, steps = Hooks(evaluator), 3000
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=1e-9) as graph:
        for _ in range(steps):
            hooks.inside.append(getattr(library, name)(hooks.read))
            graph.step()
    followed = sum(hook != hooks.default for hook in hooks.inside[-2000:])
    assert least < followed < (2000 // 8 if least else 2000 // 32), "one in 16, or one in 128"


def test_the_inside_of_optimizers_and_backward_passes_is_quiet(evaluator: Callable[[], int], tmp_path: Path) -> None:
    """Their starts and ends are not, so steps are found."""
    torch = pytest.importorskip("torch")
    weight = torch.zeros(1, requires_grad=True)
    updates, gradients = Hooks(evaluator), Hooks(evaluator)

    class Reading(torch.optim.SGD):
        def step(self, closure: None = None) -> None:
            updates.inside.append(updates.read())

    optimizer = Reading([weight], lr=0.1)
    weight.register_hook(lambda gradient: gradients.inside.append(gradients.read()))
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=1e-9):
        for _ in range(STEPS):
            weight.sum().backward()
            gradients.end()
            optimizer.step()
            updates.end()
    (rank,) = fastdispatch.load(tmp_path).ranks
    assert (rank["run_steps"], rank["steps_source"]) == (STEPS, "optimizer")
    updates.check()
    gradients.check()


def test_calls_that_end_with_an_exception(library: ModuleType, evaluator: Callable[[], int], tmp_path: Path) -> None:
    hooks = Hooks(evaluator)

    with fastdispatch.CallGraph(tmp_path / "out", ops="off", calls="frame", budget=1e-9) as graph:
        for _ in range(STEPS):
            try:
                library.failing(hooks.inside.append, hooks.read)
            except KeyError:
                hooks.end()
            graph.step()
    hooks.check()


def test_generators(library: ModuleType, evaluator: Callable[[], int], tmp_path: Path) -> None:
    hooks = Hooks(evaluator)
    values: Iterator[int] = library.generate(hooks.read)
    in_steps(tmp_path / "out", lambda number: hooks.inside.append(next(values)), hooks.end)
    hooks.check()


def test_a_deep_recursion(library: ModuleType, evaluator: Callable[[], int], tmp_path: Path) -> None:
    hooks = Hooks(evaluator)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(30_000)
    try:
        in_steps(tmp_path / "out", lambda number: hooks.inside.append(library.deep(hooks.read)), hooks.end)
    finally:
        sys.setrecursionlimit(limit)
    hooks.check()


def test_threads_that_run_meanwhile(library: ModuleType, evaluator: Callable[[], int], tmp_path: Path) -> None:
    hooks, ends = Hooks(evaluator), threading.Event()

    def other() -> None:
        while not ends.is_set():
            library.several(0)

    thread = threading.Thread(target=other)
    with fastdispatch.CallGraph(tmp_path / "out", ops="off", calls="frame", budget=1e-9) as graph:
        thread.start()
        for _ in range(STEPS):
            hooks.inside.append(library.rest(hooks.read))
            hooks.end()
            graph.step()
        ends.set()
        thread.join()
        hooks.end()
    hooks.check()
    (rank,) = fastdispatch.load(tmp_path / "out").ranks
    assert (rank["run_steps"], rank["counters"]["hook_lost"]) == (STEPS, 0)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_fork_in_a_quiet_call(
    library: ModuleType, evaluator: Callable[[], int], tmp_path: Path, recorded: bool
) -> None:
    """The child has the hook if it is recorded; the parent has it again after the call."""
    default, after = evaluator(), set()
    child: list[int] = []
    options = {"ops": "off", "calls": "frame", "budget": 1e-9, "children": recorded}
    with fastdispatch.CallGraph(tmp_path / "out", **options) as graph:  # type: ignore[arg-type]
        for _ in range(STEPS):
            library.at(default if not child else 0, evaluator, functools.partial(_fork_into, child))
            if child == [0]:
                os._exit((evaluator() == default) == recorded)
            after.add(evaluator())
            graph.step()
    assert os.waitpid(child[0], 0)[1] == 0
    assert len(after) == 1 and default not in after and evaluator() == default
    assert fastdispatch.load(tmp_path / "out").ranks[0]["run_steps"] == STEPS


def _fork_into(child: list[int]) -> None:
    child.append(os.fork())


def test_the_end_of_the_recording_in_a_quiet_call(
    library: ModuleType, evaluator: Callable[[], int], tmp_path: Path
) -> None:
    default, ended = evaluator(), 0
    with fastdispatch.CallGraph(tmp_path / "out", ops="off", calls="frame", budget=1e-9) as graph:
        for _ in range(STEPS):
            if library.at(default, evaluator, graph.stop) == default:
                ended += 1
                break
            graph.step()
    assert ended == 1
    assert evaluator() == default
    assert fastdispatch.load(tmp_path / "out").ranks[0]["state"] == "stopped"


def test_steps_that_end_in_library_code(library: ModuleType, tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=1e-9) as graph:
        for _ in range(20):
            library.epoch(50, graph.step)
    (rank,) = fastdispatch.load(tmp_path).ranks
    assert (rank["run_steps"], rank["counters"]["hook_lost"]) == (20 * 50, 0)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_steps_that_end_in_recursive_library_code(library: ModuleType, tmp_path: Path, depth: int) -> None:
    """The calls of a recursion are counted in its first one, from which the optimizer seems to be called."""
    torch = pytest.importorskip("torch")
    weight = torch.zeros(1, requires_grad=True)
    weight.grad = torch.zeros(1)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=1e-9):
        for _ in range(STEPS):
            library.here(depth, optimizer.step)
    (rank,) = fastdispatch.load(tmp_path).ranks
    assert rank["run_steps"] == STEPS


def test_late_code_is_found(library: ModuleType, tmp_path: Path) -> None:
    """An evaluation in the training loop at once, a branch in library code when its call is followed."""

    def evaluate() -> int:
        return library.inner(1)

    def train(end: Callable[[], object]) -> None:
        for number in range(4 * STEPS):
            library.several(number >= 200)
            if number == 150:
                evaluate()
            end()

    found = []
    for options in ({"steps": "all"}, {"budget": 1e-9}):
        folder = tmp_path / "_".join(options)
        with fastdispatch.CallGraph(folder, ops="off", calls="frame", **options) as graph:  # type: ignore[arg-type]
            train(graph.step)
        found.append(fastdispatch.load(folder))
    every, some = found
    assert {edge for edge in traces.edges(some) if "step" not in edge} == {
        edge for edge in traces.edges(every) if "step" not in edge
    }
    counts = traces.calls(some)
    assert (counts["evaluate"], counts["rare"], counts["several"]) == (1, 1, some.ranks[0]["steps"])


def test_calls_are_followed_again_in_a_long_call(
    library: ModuleType, evaluator: Callable[[], int], tmp_path: Path
) -> None:
    default, found = evaluator(), []

    def first() -> None:
        found.append(evaluator())

    def step(number: int) -> None:
        if number < 100:
            library.until(evaluator, 0, int)
        elif not found:
            library.until(evaluator, default, first)

    trace = in_steps(tmp_path / "out", step)
    assert found and default not in found
    assert traces.calls(trace)["first"] == 1


@pytest.mark.parametrize("kind", ["sleeps", "runs"])
def test_where_a_program_is_in_a_quiet_call(kind: str, tmp_path: Path) -> None:
    path = ["standing_in_library.py:[]:<module>", *(f"quiet_library.py:[]:{name}" for name in ("work", "middle", kind))]

    def is_found() -> bool:
        return [call for stack in live.position(str(tmp_path))[0] for call in stack.calls] == path

    with processes.killed("standing_in_library.py", tmp_path, kind):
        processes.wait_for(is_found)
    (killed,) = live.position(str(tmp_path))[0]
    assert (killed.state, list(killed.calls)) == ("killed", path)


#: Each trains for a while; its functions are library functions, so they may be quiet.
TRAININGS = """
import torch

def update(optimizer): optimizer.step()
def backward(loss, passes):
    for _ in range(passes):
        zero_grad()
        loss().backward()

def zero_grad(): pass

def one(read, loss, optimizer, number, passes=1):
    backward(loss, passes)
    read()
    update(optimizer)

def accumulates(read, loss, optimizer, number): one(read, loss, optimizer, number, 4)

def closes(read, loss, optimizer, number):
    def closure():
        value = loss()
        value.backward()
        return value
    read()
    optimizer.step(closure)

def skips(read, loss, optimizer, number):
    backward(loss, 1)
    read()
    if number % 7 < 6:
        update(optimizer)

def changes(read, loss, optimizer, number): one(read, loss, optimizer, number, 1 + number // 200)

def scales(read, loss, optimizer, number, scaler=torch.amp.GradScaler("cpu")):
    scaler.scale(loss()).backward()
    read()
    scaler.step(optimizer)
    scaler.update()

def two(read, loss, optimizer, number):
    one(read, loss, optimizer, number)
    if not others:
        others.append(torch.optim.SGD(optimizer.param_groups[0]["params"], lr=0.1))
    one(read, loss, others[0], number)

others = []
"""


def trainings() -> ModuleType:
    library = ModuleType("quiet_trainings")
    exec(compile(TRAININGS, str(Path(sysconfig.get_path("purelib"), "quiet_trainings.py")), "exec"), vars(library))
    return library


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        *[(name, True) for name in ("one", "accumulates", "closes")],
        *[(name, False) for name in ("skips", "scales", "two")],
        ("changes", None),
    ],
)
def test_steps_that_end_in_quiet_calls(
    evaluator: Callable[[], int], tmp_path: Path, name: str, hidden: bool | None
) -> None:
    """PyTorch reports them; irregular backward passes are not hidden."""
    torch = pytest.importorskip("torch")
    found: list[list[object]] = []
    inside: list[int] = []
    for options in ({"steps": "all"}, {"budget": 1e-9}):
        folder = tmp_path / "_".join(options)
        weight = torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        step = functools.partial(getattr(trainings(), name), lambda: inside.append(evaluator()), weight.sum, optimizer)
        inside.clear()
        with fastdispatch.CallGraph(folder, ops="off", calls="frame", **options):  # type: ignore[arg-type]
            for number in range(STEPS):
                step(number)
        (rank,) = fastdispatch.load(folder).ranks
        found.append([rank["run_steps"], rank["steps_source"], weight.item()])
        unclear = rank["counters"]["steps_unclear"]
        assert unclear > STEPS / 20 or name != "skips"
    assert found[0] == found[1]
    assert not sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
    quiet = sum(hook == evaluator() for hook in inside[FIRST + SETTLED :])
    if hidden is not None and sys.version_info < (3, 12):
        assert (quiet > STEPS / 2) == hidden


@pytest.mark.parametrize(("name", "passes"), [("one", 1), ("accumulates", 4)])
def test_recorded_steps_between_quiet_calls_are_whole(tmp_path: Path, name: str, passes: int) -> None:
    """Each begins and ends at the report of the optimizer."""
    torch = pytest.importorskip("torch")
    step, weight = getattr(trainings(), name), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", budget=0.2):
        for number in range(1000):
            step(int, weight.sum, optimizer, number)
    trace = fastdispatch.load(tmp_path)
    (rank,) = trace.ranks
    assert FIRST + SETTLED < rank["steps"] < rank["run_steps"] == 1000
    counts = traces.calls(trace)
    assert {counts[name] for name in (name, "update", "step")} == {rank["steps"]}
    assert counts["zero_grad"] == passes * rank["steps"]


def test_a_forked_child_has_no_reports(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
    with fastdispatch.CallGraph(tmp_path, ops="off", calls="frame", children=False):
        weight.sum().backward()
        optimizer.step()
        child = os.fork()
        if child == 0:
            os._exit(len(hooks))
        assert len(hooks) == (sys.version_info < (3, 12))
    assert os.waitpid(child, 0)[1] == 0 == len(hooks)


def test_reports_of_optimizers_are_not_in_compiled_code() -> None:
    """Also with the function that reports, an optimizer is compiled to the same graphs."""
    torch = pytest.importorskip("torch")
    found: list[list[str]] = []
    for begin in (lambda: None, optimizer_reports.begin_reports):
        torch._dynamo.reset()
        graphs: list[str] = []
        weight = torch.zeros(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1, foreach=True)

        def compile_graph(graph: Any, inputs: object, graphs: list[str] = graphs) -> Any:
            graphs.append(str(graph.graph))
            return graph

        begin()
        step = torch.compile(optimizer.step, backend=compile_graph)
        for _ in range(3):
            weight.sum().backward()
            step()
        optimizer_reports.end_reports()
        found.append([*graphs, str(weight)])
    assert found[0] == found[1] and len(found[0]) > 1
