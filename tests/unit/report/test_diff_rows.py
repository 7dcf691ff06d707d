"""Rows of comparisons: the speed of the machine, steps, waits, locks and rare calls, on hand-written call trees."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from fastdispatch.compare.diff_rows import (
    CALLS,
    COLLECTION,
    COMMUNICATION,
    FASTER,
    GONE,
    NEW,
    SLOWER,
    ComparedRows,
    DiffRequest,
    compared_rows,
)
from fastdispatch.read.steps import Window
from fastdispatch.read.trace import Trace
from tests.unit.report.call_trees import Call, Dump

MS = 1_000_000

BEFORE: list[Call] = [
    ("a.py:[]:step", 10, 100, [
        ("a.py:[]:same", 10, 100),
        ("a.py:[]:dear", 10, 100),
        ("a.py:[]:gone", 10, 5, [("op:aten::mm", 10, 100)]),
    ]),
]  # fmt: skip
#: All is twice as slow: the machine. ``dear`` is slower than that.
AFTER: list[Call] = [
    ("a.py:[]:step", 10, 200, [
        ("a.py:[]:same", 10, 200),
        ("a.py:[]:dear", 10, 400, [("op:aten::item", 60, 7)]),
        ("op:aten::mm", 10, 200),
    ]),
]  # fmt: skip

Change = Callable[[str, dict[str, Any]], None]


def no_change(key: str, figure: dict[str, Any]) -> None:
    pass


def trace(
    folder: Path, tree: list[Call], *, steps: int = 0, selected: bool = False, change: Change = no_change
) -> Trace:
    """Load a tree whose figures are ``change``d, one by one."""
    dump = Dump(tree)

    def change_all(document: dict[str, Any]) -> None:
        (rank,) = document["ranks"]
        rank["steps"], figures = steps, rank["figures"]
        names = [[*dump.strings][node[4]] for node in dump.nodes]
        for row, context in enumerate(figures["context"]):
            figure = {column: values[row] for column, values in figures.items()}
            change(names[document["contexts"]["node"][context]], figure)
            for column, value in figure.items():
                figures[column][row] = value

    loaded = dump.load(folder, change_all)
    if selected:  # as of a sum of ranks
        window = Window(0, steps - 1, steps, 0, steps, settled=True, varying=False, slower=0.0)
        loaded.ranks[0]["meta"]["reduced"] = {"window": asdict(window)}
    return loaded


def request(before: Trace, after: Trace) -> DiffRequest:
    return DiffRequest((before, after), (-1, -1), "node", 0.1, False, (0, 0), (0, 0))


def changes(found: ComparedRows, key: str) -> int:
    return int(found.changes[found.keys.index(key)])


@pytest.fixture
def both(tmp_path: Path) -> DiffRequest:
    return request(trace(tmp_path, BEFORE), trace(tmp_path, AFTER))


def test_changes_beyond_the_machine(both: DiffRequest) -> None:
    found = compared_rows(both)
    assert found.speed == pytest.approx(2)
    assert [changes(found, key) for key in ("a.py:[]:step", "a.py:[]:same", "aten::mm")] == [0, 0, 0]
    assert changes(found, "a.py:[]:dear") == SLOWER
    assert changes(found, "a.py:[]:gone") & (NEW | GONE | CALLS) == GONE | CALLS
    assert changes(found, "aten::item") & (NEW | GONE | CALLS) == NEW | CALLS


def test_ranks_of_one_run_share_no_speed(both: DiffRequest) -> None:
    found = compared_rows(replace(both, same_speed=True))
    assert (found.speed, changes(found, "a.py:[]:same")) == (1, SLOWER)


def test_calls_by_their_ends(both: DiffRequest) -> None:
    found = compared_rows(both)
    names = [*found.keys, ""]
    ends = [(names[caller], names[callee]) for caller, callee in zip(found.callers, found.callees, strict=True)]
    kinds = dict(zip(ends, found.call_changes.tolist(), strict=True))
    assert {pair for pair, bits in kinds.items() if bits & NEW} == {
        ("a.py:[]:dear", "aten::item"),
        ("a.py:[]:step", "aten::mm"),
    }
    assert {pair for pair, bits in kinds.items() if bits & GONE} == {
        ("a.py:[]:step", "a.py:[]:gone"),
        ("a.py:[]:gone", "aten::mm"),
    }
    assert sum(bits == 0 for bits in kinds.values()) == 4


def test_lines_are_not_part_of_keys(tmp_path: Path) -> None:
    def twins(document: dict[str, Any], line: int) -> None:
        """``other`` is a second ``twin``, on another line."""
        nodes = document["nodes"]
        nodes["line"][1:] = [1, 2, line]
        for column in ("class", "name", "qualified"):
            nodes[column][3] = nodes[column][2]

    tree = [("a.py:[]:main", 1, 10, [("a.py:[]:twin", 1, 20), ("a.py:[]:other", 1, 30)])]
    traces = [Dump(tree).load(tmp_path, lambda each, line=line: twins(each, line)) for line in (30, 40)]
    assert "a.py:[]:twin@30" in traces[0].nodes["key"]
    found = compared_rows(request(*traces))
    row = found.keys.index("a.py:[]:twin")
    assert (len(found.keys), found.figures["self"][:, row].tolist()) == (3, [50 * MS, 50 * MS])


@pytest.mark.parametrize(("steps", "expected"), [(1, 0), (2, SLOWER)])
def test_the_noise_of_a_function_in_a_single_step_is_unknown(tmp_path: Path, steps: int, expected: int) -> None:
    def alike(key: str, figure: dict[str, Any]) -> None:
        figure["steps"] = steps if key == "dear" else 4
        figure["stepped"] = figure["self"]
        figure["self_min"] = figure["self_max"] = figure["self"] // figure["steps"]

    found = compared_rows(request(*(trace(tmp_path, tree, steps=4, change=alike) for tree in (BEFORE, AFTER))))
    assert (changes(found, "a.py:[]:dear"), changes(found, "a.py:[]:same")) == (expected, 0)


@pytest.mark.parametrize("other", [20, 40])
def test_calls_that_are_rare_in_selected_steps(tmp_path: Path, other: int) -> None:
    """``gone`` was called 10 times in 100 steps: of 20 steps, none may have a call."""
    traces = trace(tmp_path, BEFORE, steps=100, selected=True), trace(tmp_path, AFTER, steps=other, selected=True)
    found = compared_rows(request(*traces))
    assert changes(found, "a.py:[]:gone") & GONE == (GONE if other == 40 else 0)
    assert changes(found, "aten::item") & NEW == NEW


@pytest.mark.parametrize("active", [1, 4])
def test_many_calls_in_few_of_the_selected_steps(tmp_path: Path, active: int) -> None:
    def few(key: str, figure: dict[str, Any]) -> None:
        figure["steps"] = active

    traces = (trace(tmp_path, tree, steps=4, selected=True, change=few) for tree in (BEFORE, AFTER))
    found = compared_rows(request(*traces))
    assert changes(found, "aten::item") & NEW == (0 if active == 1 else NEW)
    assert {int(bits) & NEW for bits in found.call_changes} == ({0} if active == 1 else {0, NEW})


@pytest.mark.parametrize("own", [100, 110, 90])
def test_larger_tensors_are_not_a_slower_machine(tmp_path: Path, own: float) -> None:
    """Operators take four times as long, and other threads wait so; functions of Python take about as long."""
    trees: list[list[Call]] = [
        [
            ("a.py:[]:step", 10, own, [("op:aten::mm", 10, 4000 * times), ("autograd:Mm", 10, 8000 * times)]),
            ("thread:pt_gloo_runloop", 1, 9000 * times),
        ]
        for own, times in ((100, 1), (own, 4))
    ]
    found = compared_rows(replace(request(*(trace(tmp_path, tree) for tree in trees)), busy=(1, 4)))
    assert found.speed == pytest.approx(max(own / 100, 1))
    assert (changes(found, "aten::mm"), changes(found, "a.py:[]:step")) == (SLOWER, 0)


@pytest.mark.parametrize("engine", ["op:gloo:wait", "a.py:[]:engine"])
def test_waits_for_other_ranks_are_not_the_machine(tmp_path: Path, engine: str) -> None:
    """A wait of 300 ms more is not work. Of a function that works, the thread was busy for a tenth longer only."""
    traces = (trace(tmp_path, [("a.py:[]:step", 10, 100, [(engine, 10, own)])]) for own in (300, 600))
    waits = engine.startswith("op:")
    found = compared_rows(replace(request(*traces), busy=(0 if waits else 1000, 1100)))
    assert found.speed == pytest.approx(1 if waits else 1.1)
    key = engine.removeprefix("op:")
    assert changes(found, key) == (SLOWER | COMMUNICATION if waits else SLOWER)


@pytest.mark.parametrize("kind", ["blocked", "preempted", "blocked once"])
def test_locks_that_are_free_in_some_steps(tmp_path: Path, kind: str) -> None:
    """The fastest steps are equal, the mean is twice as long."""

    def steady(key: str, figure: dict[str, Any]) -> None:
        figure["steps"], figure["self_min"] = 10, figure["self"] // 10

    def longer(key: str, figure: dict[str, Any]) -> None:
        steady(key, figure)
        if key == "lock":
            figure["self"] += 100 * MS
            figure["self_squares"] = 1e16 if kind == "blocked once" else 0.0

    tree = [("a.py:[]:step", 10, 500, [("a.py:[]:lock", 10, 10)])]
    traces = (trace(tmp_path, tree, steps=10, selected=True, change=change) for change in (steady, longer))
    idle = 0 if kind == "preempted" else 10 * MS
    found = compared_rows(replace(request(*traces), busy=(51 * MS, 51 * MS), idle=(0, idle)))
    assert changes(found, "a.py:[]:lock") == (SLOWER if kind == "blocked" else 0)


def modules(folder: Path, own: float, *inside: Call) -> Trace:
    def add_modules(document: dict[str, Any]) -> None:
        strings, module = document["strings"], document["contexts"]["module"]
        strings += ["GPT", "block"]
        document["modules"] = {"parent": [-1, 0], "name": [0, len(strings) - 1], "class": [len(strings) - 2] * 2}
        module[2:] = [1] * (len(module) - 2)

    step = ("a.py:[]:step", 10, 300, [("a.py:[Block]:forward", 10, own, list(inside))])
    return Dump([step]).load(folder, add_modules)


def test_slower_modules_are_not_the_machine(tmp_path: Path) -> None:
    """Most of the functions are as fast as before."""
    both = request(modules(tmp_path, 100), modules(tmp_path, 200))
    found = compared_rows(replace(both, by="module"))
    assert (found.speed, changes(found, "block")) == (1, SLOWER)
    faster = compared_rows(replace(both, by="module", traces=both.traces[::-1]))
    assert changes(faster, "block") == FASTER


def test_garbage_collections_are_not_compared(tmp_path: Path) -> None:
    """They happen at any moment: neither rows nor calls of modules change."""
    collected = modules(tmp_path, 100, ("range:gc:gen0", 7, 900, [("a.py:[]:ended", 2, 1)]))
    both = request(modules(tmp_path, 100), collected)
    found = compared_rows(both)
    assert changes(found, "gc:gen0") == COLLECTION
    assert (found.call_changes == COLLECTION).sum() == 2
    by_module = compared_rows(replace(both, by="module"))
    assert by_module.figures["calls"][:, by_module.keys.index("block")].tolist() == [10, 12]


def test_by_package_the_machine_is_found_from_functions(both: DiffRequest) -> None:
    assert compared_rows(replace(both, by="package")).speed == pytest.approx(2)


def test_impossible_figures_do_not_break(tmp_path: Path) -> None:
    def impossible(key: str, figure: dict[str, Any]) -> None:
        figure |= {"self": str(2**63), "stepped": str(2**63), "steps": 2, "self_squares": 1e308, "total_squares": 1e308}

    hostile = trace(tmp_path, AFTER, steps=2, change=impossible)
    assert not compared_rows(request(hostile, hostile)).changes.any()
    assert compared_rows(request(trace(tmp_path, BEFORE, steps=2), hostile)).changes.any()


@pytest.mark.parametrize("busy", [False, True])
def test_rows_of_a_busy_machine_vary_alike(tmp_path: Path, busy: bool) -> None:
    """A function that is 40 % slower is not a change if any other one is a fifth faster or a quarter slower."""

    def steady(key: str, figure: dict[str, Any]) -> None:
        figure["steps"], figure["self_min"] = 10, figure["self"] // 10

    factors = [(0.8, 1.0, 1.25)[number % 3] if busy else 1.0 for number in range(30)]
    trees = (
        [(f"a.py:[]:f{number}", 10, 100 * factor) for number, factor in enumerate(each)]
        for each in ([1.0] * 31, [*factors, 1.4])
    )
    found = compared_rows(request(*(trace(tmp_path, tree, steps=10, change=steady) for tree in trees)))
    assert changes(found, "a.py:[]:f30") == (0 if busy else SLOWER)
    assert not any(changes(found, f"a.py:[]:f{number}") for number in range(30))


def test_changed_calls_explain_only_their_time(tmp_path: Path) -> None:
    """The other calls take longer, too, but that is not a change of the function."""

    def fastest(key: str, figure: dict[str, Any]) -> None:
        figure["steps"], figure["self_min"] = 10, int(100 * MS) // 10

    trees = ([("a.py:[]:step", 10, 100, [("a.py:[]:log", calls, own)])] for calls, own in ((10, 100), (20, 900)))
    found = compared_rows(request(*(trace(tmp_path, tree, steps=10, change=fastest) for tree in trees)))
    explained = {name: figure[found.keys.index("a.py:[]:step")] for name, figure in found.explained.items()}
    assert explained == {"own": 0, "below": pytest.approx(10 * MS), "backward": 0}


def test_epochs_that_end_in_steps_of_one_side(tmp_path: Path) -> None:
    """30 instead of 28 calls in selected steps are not a change; half as many again are."""
    sides = [trace(tmp_path, [("a.py:[]:load", calls, 9)], steps=14, selected=True) for calls in (28, 30, 42)]
    assert changes(compared_rows(request(sides[0], sides[1])), "a.py:[]:load") == 0
    assert changes(compared_rows(request(sides[0], sides[2])), "a.py:[]:load") == CALLS
