"""Relations of places in the program from which optimizers are called."""

import argparse
import asyncio
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType

import pytest

from fastdispatch.record.step_sites import INDIRECT, INNER, NESTED, NEXT, SAME, UNCLEAR, UNKNOWN, Flow, StepSites


class Calls:
    """Stands in for optimizers: finds places as the recorder does, and the relations of the last of them."""

    def __init__(self) -> None:
        self.sites = StepSites()
        self.known: list[list[tuple[int, int]]] = []
        self.names: list[str] = []
        self.relations = b""

    def __call__(self, name: str) -> None:
        frame, path = sys._getframe(1), []
        while frame is not None:
            path.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back  # type: ignore[assignment]
        place = [(id(code), offset) for code, offset in path]
        if place not in self.known:
            self.known.append(place)
            self.names.append(name)
            self.relations = self.sites(path[::-1])

    def relation(self, first: str, second: str) -> int:
        count = len(self.names)
        return self.relations[self.names.index(first) * count + self.names.index(second)]


def one_after_the_other(call: Calls) -> None:
    for _ in range(2):
        call("a")
        call("b")


def in_branches(call: Calls) -> None:
    for i in range(2):
        if i % 2:
            call("a")
        else:
            call("b")


def in_an_inner_loop(call: Calls) -> None:
    for _ in range(2):
        for _ in range(2):
            call("a")
        call("b")


def in_a_loop_of_a_function(call: Calls) -> None:
    def inner() -> None:
        left = 2
        while left:
            try:
                call("a")
            except ValueError:
                continue
            left -= 1

    for _ in range(2):
        inner()
        call("b")


def in_loops_of_their_own(call: Calls) -> None:
    for _ in range(2):
        for _ in range(2):
            call("a")
        for _ in range(2):
            call("b")


def without_a_loop(call: Calls) -> None:
    call("a")
    call("b")


def after_a_loop(call: Calls) -> None:
    for _ in range(2):
        call("a")
    call("b")


def in_a_coroutine(call: Calls) -> None:
    async def step(name: str) -> None:
        await asyncio.sleep(0)
        call(name)

    async def main() -> None:
        for _ in range(2):
            await step("a")
            await step("b")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("program", "forward", "back", "itself"),
    [
        (one_after_the_other, SAME, NEXT, INNER),
        (in_branches, NEXT, NEXT, INNER),
        (in_an_inner_loop, SAME, NEXT, NESTED),
        (in_a_loop_of_a_function, SAME, NEXT, NESTED),
        (in_loops_of_their_own, UNCLEAR, UNCLEAR, INNER),
        (without_a_loop, SAME, NEXT, INNER),
        (in_a_coroutine, SAME, NEXT, INNER),
    ],
)
def test_relations(program: Callable[[Calls], None], forward: int, back: int, itself: int) -> None:
    call = Calls()
    program(call)
    assert (call.relation("a", "b"), call.relation("b", "a"), call.relation("a", "a")) == (forward, back, itself)
    assert call.relation("b", "b") == INNER  # the loops of the test runner


def frames_of(function: Callable[..., object]) -> list[tuple[CodeType, int]]:
    """Return the frames of the place at which ``function`` calls its argument."""
    found: list[tuple[CodeType, int]] = []

    def call() -> None:
        frame = sys._getframe(1)
        while not found or found[0][0] is not function.__code__:
            assert frame is not None
            found.insert(0, (frame.f_code, frame.f_lasti))
            frame = frame.f_back  # type: ignore[assignment]

    function(call)
    return found


def in_one_loop(call: Callable[[], None]) -> None:
    def pick() -> None:
        call()

    for _ in range(1):
        pick()


def in_no_loop(call: Callable[[], None]) -> None:
    call()


def in_two_loops(call: Callable[[], None]) -> None:
    for _ in range(1):
        for _ in range(1):
            call()


def in_a_mapped_function(call: Callable[[], None]) -> None:
    for _ in range(1):
        list(map(lambda _: call(), [0]))


def in_recursion(call: Callable[[], None]) -> None:
    def again(depth: int) -> None:
        call() if depth else again(depth + 1)

    for _ in range(1):
        again(0)


@pytest.mark.parametrize(
    ("function", "relation"),
    [
        (in_one_loop, NEXT),
        (in_two_loops, INNER),
        (in_a_mapped_function, INDIRECT),
        (in_recursion, INDIRECT),
        (in_no_loop, UNKNOWN),
    ],
)
def test_a_place_in_one_loop_is_in_another_pass_each_time(
    function: Callable[[Callable[[], None]], None], relation: int
) -> None:
    assert list(StepSites()(frames_of(function))) == [relation]


def test_a_loop_before_the_other_place_is_not_an_iteration_of_both() -> None:
    call = Calls()
    after_a_loop(call)
    assert call.relation("a", "b") == SAME and call.relation("b", "a") == NEXT


def test_places_whose_function_is_gone_are_not_related() -> None:
    call = Calls()
    exec("for _ in range(2): call('a')", {"call": call})
    one_after_the_other(call)
    assert call.relation("a", "b") == call.relation("b", "a") == UNKNOWN


def codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


@pytest.mark.parametrize("module", [argparse, asyncio.streams, dis, inspect])
def test_blocks_begin_where_dis_shows_it(module: ModuleType) -> None:
    for code in codes_in(compile(inspect.getsource(module), module.__name__, "exec")):
        found = list(dis.get_instructions(code))
        leaving = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
        ends = [one.opcode in dis.hasjrel or one.opname in leaving for one in found]
        starts = {0, *(one.argval for one in found if one.opcode in dis.hasjrel)}
        starts |= {after.offset for after, end in zip(found[1:], ends, strict=False) if end}
        flow = Flow(code)
        assert {2 * start for start in flow.starts if 2 * start < len(code.co_code)} == starts
        assert all(flow.block(one.offset) in flow.after for one in found)
