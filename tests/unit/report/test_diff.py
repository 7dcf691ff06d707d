"""``diff`` and its gate, on hand-written call trees."""

import json
import statistics
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fastdispatch
from fastdispatch.compare import ranks
from fastdispatch.compare.diff import Diff
from fastdispatch.compare.diff_verdict import DiffVerdict
from fastdispatch.compare.gate import Budget, matches, noise
from fastdispatch.compare.ranks import RankTimes, judge
from tests import commands, schemas
from tests.unit.report.call_trees import STEP_COLUMNS, Call, Dump, put_on_cpus

MS = 1_000_000
SCHEMA = schemas.schema("diff")


def forward(*inside: object, own: int = 50) -> tuple[object, ...]:
    return ("model.py:[Block]:forward", 6, own, list(inside))


BEFORE = [("train.py:[]:step", 3, 30, [forward(("op:aten::mm", 6, 200)), ("train.py:[]:log", 3, 20)])]
AFTER = [("train.py:[]:step", 3, 30, [forward(("op:aten::mm", 6, 200), ("op:aten::item", 6, 1), own=90)])]


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    return Dump(BEFORE).write(tmp_path / "monday.json"), Dump(AFTER).write(tmp_path / "tuesday.json")


@pytest.fixture
def diff(paths: tuple[Path, Path]) -> Diff:
    return Diff(fastdispatch.load(paths[0]), fastdispatch.load(paths[1]))


def test_changes(diff: Diff) -> None:
    assert [(row.key, row.changes) for row in diff.changed()] == [
        ("model.py:[Block]:forward", {"slower"}),
        ("train.py:[]:log", {"gone", "calls", "faster"}),
        ("aten::item", {"new", "calls"}),
    ]
    slower = diff.changed()[0]
    assert (slower.self.before, slower.self.after, diff.speed) == (50 * MS, 90 * MS, 1.0)
    assert [(c.caller and c.caller.key, c.callee.key, c.calls.change) for c in diff.changed_calls()] == [
        ("train.py:[]:step", "train.py:[]:log", -3),
        ("model.py:[Block]:forward", "aten::item", 6),
    ]


def on_gpu(path: Path, gemm: int, copy: int, steps: int) -> Path:
    """A run with kernels of ``gemm`` and ``copy`` ns in as many steps, of which three are settled."""
    kernel = ("kernel:gemm", 0, 0, [], "", {"gpu": steps * gemm})
    back = ("thread:autograd:0", 0, 0, [("autograd:MmBackward0", 6, 1, [kernel], "op:aten::mm")])
    train = ("train.py:[]:step", 3, 30, [forward(("op:aten::mm", 6, 200, [kernel]))])
    copies = ("train.py:[]:load", 3, 30, [("kernel:copy", 0, 0, [], "", {"gpu": steps * copy})])
    dump = Dump([train, copies])
    dump.add(-1, back)
    document = json.loads(dump.write(path).read_text())
    document["ranks"][0] |= {"steps": 3, "meta": {"gpu_steps": steps}}
    path.write_text(json.dumps(document))
    return path


def test_gpu_time_of_a_step(tmp_path: Path) -> None:
    """Of backward kernels, the forward call has the time. GPU times are those of the steps that have them."""
    sides = on_gpu(tmp_path / "monday.json", 5_000, 400, 7), on_gpu(tmp_path / "tuesday.json", 8_000, 401, 10)
    found = diff_of(*sides)
    (forward_row,) = (row for row in found.rows if row.key.endswith("forward"))
    (kernel,) = (row for row in found.rows if row.key == "gemm")
    assert (forward_row.gpu.before, forward_row.gpu.after) == (5_000, 8_000)
    assert (kernel.gpu.before, kernel.gpu.after) == (10_000, 16_000)
    (gpu,) = found.measured.figures
    paths = [(path.key, path.before, path.after) for path in gpu.paths]
    assert (gpu.before, gpu.after, paths) == (10_400, 16_401, [("model.py:[Block]:forward", 10_000, 16_000)])
    verdict = "GPU time 10.4 us -> 16.4 us, +6 us in Block.forward (model.py:1)"
    assert found.verdict.text.endswith(f"; {verdict}")
    lines = commands.out("diff", *sides).splitlines()
    at = lines.index("GPU time/step: 10.4 us -> 16.4 us")
    assert lines[at + 1].split() == ["+", "6", "us", "model.py:[Block]:forward", "10", "us", "->", "16", "us"]
    schemas.valid(found.as_json(everything=True), "diff")
    same = diff_of(sides[0], sides[0])
    assert same.verdict.text.endswith("no change beyond noise; GPU time 10.4 us -> 10.4 us")


def test_gpu_time_of_one_side(tmp_path: Path, paths: tuple[Path, Path]) -> None:
    found = diff_of(paths[0], on_gpu(tmp_path / "gpu.json", 5_000, 400, 7))
    assert found.measured.missing == ["GPU time is not compared: only one side has it"]
    assert "GPU" not in found.verdict.text and found.measured.figures == []


def diff_of(before: Path, after: Path) -> Diff:
    return Diff(fastdispatch.load(before), fastdispatch.load(after))


def test_a_run_and_itself(paths: tuple[Path, Path]) -> None:
    trace = fastdispatch.load(paths[0])
    same = Diff(trace, trace)
    assert (same.changed(), same.changed_calls(), len(same.rows)) == ([], [], 5)


COLLECTED = [("train.py:[]:step", 3, 30, [("range:gc:gen0", 4, 100, [("train.py:[]:cleanup", 4, 1)])])]
QUIET = [("train.py:[]:step", 3, 30, [("range:data", 3, 1), ("train.py:[]:cleanup", 4, 1)])]


@pytest.mark.parametrize("by", ["node", "package", "module"])
def test_garbage_collections_are_not_compared(tmp_path: Path, by: str) -> None:
    traces = [Dump(calls).load(tmp_path) for calls in ([*QUIET, *BEFORE], [*COLLECTED, *QUIET, *BEFORE])]
    found = Diff(*traces, by=by)
    assert not [row.key for row in found.rows if row.key.startswith("gc:")]
    assert not [row for row in found.changed() if "gc" in row.key]
    assert not [call for call in found.changed_calls() if "gc" in call.callee.key or call.caller is None]
    keys = {"node": ["gc:gen0"], "package": ["gc:"], "module": []}[by]
    assert [
        (row.key, row.calls.before, row.calls.after, row.changes - {"collection"}) for row in found.collections
    ] == [(key, 0, 4, set()) for key in keys]
    document = found.as_json(everything=True)
    schemas.valid(document, "diff")
    assert [row["key"] for row in document["collections"]] == keys


def test_budgets_count_collections_only_by_their_name(tmp_path: Path) -> None:
    diff = Diff(*(Dump(calls).load(tmp_path) for calls in (QUIET, COLLECTED)))
    content = """
forbid = ["* -> gc:gen0", "* -> gc*"]
[calls]
"gc:*" = 0
"*gen0" = 0
"""
    (tmp_path / "budget.toml").write_text(content)
    assert [one.text for one in Budget(str(tmp_path / "budget.toml")).broken(diff)] == [
        "4 calls of gc:*, 0 expected",
        "4 calls  train.py:[]:step -> gc:gen0",
    ]


def test_the_printed_form(paths: tuple[Path, Path]) -> None:
    printed = commands.out("diff", *paths).splitlines()
    assert printed[0] == (
        "whole run 300 ms -> 321 ms, +21 ms: +41 ms below Block.forward (model.py:1) (aten::item is new),"
        " -20 ms elsewhere"
    )
    assert printed[4:] == [
        " + 80% self  model.py:[Block]:forward   50 ms -> 90 ms, spread 0 ns",
        " - 3 calls   train.py:[]:step -> train.py:[]:log  (gone)   - 20 ms",
        " - gone      train.py:[]:log   3 calls, 20 ms total, 20 ms self",
        " + 6 calls   model.py:[Block]:forward -> aten::item  (new)   + 1 ms",
        "3 of 6 functions and operators are unchanged",
    ]


KEPT = """new_operators = true
step = 50
forbid = ["*:[Attention]:* -> aten::item"]
[calls]
"aten::mm" = 6
[time]
"*" = 100
"""

BROKEN = """forbid = [
    "*:[Other]:* -> *",
    "* -> aten::item",
]
new_operators = false
step = 5
[calls]
"aten::mm" = 7
[time]
"*:[Block]:*" = 20
"""


def test_a_passed_gate(paths: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text(KEPT)
    assert commands.out("diff", *paths, "--gate", tmp_path / "budget.toml").splitlines()[-1] == "gate: passed"


def test_a_gate_names_exceeded_limits(paths: tuple[Path, Path], tmp_path: Path) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text(BROKEN)
    assert commands.out("diff", *paths, "--gate", budget, status=1).splitlines()[-6:] == [
        f" ! +7.0% per step, 5 % allowed   {budget}:6",
        f" ! 6 calls of aten::mm, 7 expected   {budget}:8",
        f" ! +80% time  model.py:[Block]:forward, 20 % allowed   {budget}:10",
        f" ! aten::item is new   {budget}:5",
        f" ! 6 calls  model.py:[Block]:forward -> aten::item   {budget}:3",
        "gate: 5 limits exceeded",
    ]
    document = commands.document("diff", *paths, "--gate", budget, status=1)
    schemas.valid(document, "diff")
    assert [one["line"] for one in document["gate"]["broken"]] == [6, 8, 10, 5, 3]


def test_markdown_is_the_summary_of_a_job(paths: tuple[Path, Path], tmp_path: Path) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text(BROKEN)
    lines = commands.out("diff", *paths, "--gate", budget, "--markdown", status=1).splitlines()
    assert lines[0] == "### fastdispatch: 5 limits exceeded"
    assert f"| `{budget}:8` | `6 calls of aten::mm, 7 expected` |" in lines
    shown = commands.out("diff", *paths).splitlines()
    assert lines[-len(shown) - 3 :] == [shown[0], "", "```text", *shown[1:], "```"]
    budget.write_text(KEPT)
    kept = commands.out("diff", *paths, "--gate", budget, "--markdown").splitlines()
    assert kept[0] == "### fastdispatch: gate passed"
    assert not any(line.startswith(f"| `{budget}") for line in kept)
    assert "Noise of the step unknown: fewer than 4 measured steps on one side." in kept
    without = commands.out("diff", *paths, "--markdown").splitlines()
    assert without[0] == "### fastdispatch: comparison"
    assert "noise" not in "".join(without).lower()


def test_a_gate_on_times_states_its_noise(tmp_path: Path) -> None:
    """A quartile is 1 % from the median on both sides: 100 steps each."""

    def with_steps(document: dict[str, Any], step: int) -> None:
        times = [step * MS * (100 + (row % 5) - 2) // 100 for row in range(101)]
        (rank,) = document["ranks"]
        rank |= {"steps": len(times), "steps_source": "explicit"}
        rank["latest_steps"] |= dict.fromkeys(STEP_COLUMNS, [0] * len(times))
        rank["latest_steps"] |= {"number": list(range(len(times))), "forward": times}

    traces = [Dump(BEFORE).load(tmp_path, lambda each, step=step: with_steps(each, step)) for step in (100, 110)]
    diff = Diff(*traces)
    (tmp_path / "budget.toml").write_text("step = 5\n")
    budget = Budget(str(tmp_path / "budget.toml"))
    expected = (2 * (1.2533 * 0.02 / 1.349) ** 2 / 100) ** 0.5
    assert noise(diff) == pytest.approx(expected, rel=0.02)
    assert [one.text for one in budget.broken(diff)] == ["+10.0% per step, 5 % allowed; noise of the median 0.3%"]
    assert budget.as_json([], diff)["noise"] == noise(diff)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("a = ", "invalid TOML"),
        ("tme = 3", "budget.toml:1: unknown key tme"),
        ("step = true", "the wrong type"),
        ('forbid = "a -> b"', "the wrong type"),
        ('forbid = ["a->b"]', "expected 'CALLER -> CALLEE'"),
        ('[calls]\n"a" = -1', "budget.toml:2: a: -1 is not a number of at least 0"),
    ],
)
def test_invalid_budgets(paths: tuple[Path, Path], tmp_path: Path, text: str, changes: str) -> None:
    (tmp_path / "budget.toml").write_text(text)
    assert changes in commands.complaint("diff", *paths, "--gate", tmp_path / "budget.toml")


def test_brackets_of_keys_are_literal() -> None:
    assert matches("*:[GPT]:*", "model.py:[GPT]:forward") and not matches("*:[GPT]:*", "model.py:[G]:forward")
    assert matches("aten::m?", "aten::mm") and not matches("aten::m?", "aten::m")


def test_two_ranks_of_one_run(tmp_path: Path) -> None:
    path = Dump([("train.py:[]:step", 3, 100)], [("train.py:[]:step", 3, 200)], [("train.py:[]:step", 3, 101)]).write(
        tmp_path / "run.json"
    )
    page = tmp_path / "page.html"
    printed = commands.out("diff", path, "--ranks", "0,1", "--html", page).splitlines()
    assert " + 100% self  train.py:[]:step   100 ms -> 200 ms, spread 0 ns" in printed
    assert "run.json rank 0 \u2192 run.json rank 1" in page.read_text()
    outliers = commands.document("diff", path, "--ranks", "outliers")
    assert (outliers["slow"], outliers["typical"], len(outliers["diffs"])) == ([1], 2, 1)
    schemas.valid(outliers["diffs"][0], "diff")


def test_the_last_rank_waits_least() -> None:
    found = [RankTimes(0, 100e6, 40e6), RankTimes(1, 100e6, 2e6), RankTimes(2, 100e6, 41e6)]
    assert judge(found).slow == [1]
    assert judge([RankTimes(r, 100e6, 5e6) for r in range(4)]).slow == []
    assert judge([RankTimes(0, 100e6, 0)]).slow == []


@pytest.mark.parametrize("count", range(2, 8))
def test_a_rank_is_compared_with_the_median_of_the_others(count: int) -> None:
    values = [float(7 * i % 5) for i in range(count)]
    for i, value in enumerate(values):
        others = values[:i] + values[i + 1 :]
        assert ranks._median_without(sorted(values), value) == statistics.median(others)


def test_a_budget_counts_exactly(diff: Diff, tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text('[calls]\n"aten::*" = 12\n')
    assert Budget(str(tmp_path / "b.toml")).broken(diff) == []


def test_the_verdict(paths: tuple[Path, Path], diff: Diff) -> None:
    assert diff.verdict.below == "model.py:[Block]:forward"
    assert (diff.verdict.part, diff.verdict.machine, diff.verdict.changed) == (41 * MS, 0, True)
    assert diff.verdict.because == ["aten::item is new"]
    trace = fastdispatch.load(paths[0])
    same = Diff(trace, trace).verdict
    assert (same.text, same.changed, same.below) == ("whole run 300 ms -> 300 ms: no change beyond noise", False, None)


def verdict_of(folder: Path, before: object, after: object, by: str = "node", ranks: int = 1) -> DiffVerdict:
    traces = [Dump(*[calls] * ranks).load(folder) for calls in (before, after)]
    return Diff(*traces, by=by).verdict


def test_the_verdict_names_the_inner_one_of_two_functions_that_never_return(tmp_path: Path) -> None:
    """The caller comes first in the alphabet, and both have the time of the whole step."""
    same = ("op:aten::mm", 6, 1000)
    runs = [[("a.py:[]:launch", 0, 0, [("train.py:[]:main", 0, own, [same])])] for own in (100, 300)]
    assert verdict_of(tmp_path, *runs).below == "train.py:[]:main"


def test_the_verdict_looks_through_comprehensions(tmp_path: Path) -> None:
    encoded = ("train.py:[]:<listcomp>", 3, 10, [("train.py:[]:encode", 3, 90, [("op:aten::mm", 3, 100)])])
    found = verdict_of(tmp_path, [("train.py:[]:step", 3, 30)], [("train.py:[]:step", 3, 30, [encoded])])
    assert (found.below, found.because) == ("train.py:[]:step", ["encode (train.py) is new"])
    same = ("train.py:[]:other", 3, 100)
    both = ("train.py:[]:<listcomp>", 3, 10, [("train.py:[]:encode", 3, 90), ("train.py:[]:check", 3, 90)])
    found = verdict_of(tmp_path, [("train.py:[]:step", 3, 30, [same])], [("train.py:[]:step", 3, 30, [same, both])])
    assert found.below == "train.py:[]:step"
    assert sorted(found.because) == ["check (train.py) is new", "encode (train.py) is new"]


def test_the_verdict_names_the_forward_function_of_slower_backward(tmp_path: Path) -> None:
    """The time is below the function that starts backward; the layer that caused it is named, with its line."""
    runs = []
    for own in (50, 150):
        layers = [("model.py:[Encoder]:forward", 3, 20), ("model.py:[Head]:forward", 3, 20)]
        nodes = [
            ("autograd:AddmmBackward0", 3, own, [], "model.py:[Encoder]:forward"),
            ("autograd:MulBackward0", 3, 10, [], "model.py:[Head]:forward"),
        ]
        model = ("model.py:[Model]:forward", 3, 5, layers)
        runs.append([("train.py:[]:main", 1, 1, [("train.py:[]:step", 3, 5, [model, *nodes])])])
    found = verdict_of(tmp_path, *runs)
    assert (found.below, found.backward, found.part) == ("model.py:[Encoder]:forward", True, 100 * MS)
    assert "+100 ms in the backward of Encoder.forward (model.py:1)" in found.text
    jsonschema.validate(found.as_json(), SCHEMA | SCHEMA["properties"]["verdict"] | {"required": ["backward"]})


def test_the_verdict_names_a_layer_with_more_calls_in_forward_and_backward(tmp_path: Path) -> None:
    """Neither part is most of the change of the function that trains."""
    runs = []
    for calls in (0, 3):
        more = [("op:aten::mm", calls, 60)] * (calls > 0)
        node = [("autograd:MmBackward0", calls, 80, [], "model.py:[Layer]:forward")] * (calls > 0)
        runs.append([("train.py:[]:main", 3, 100, [("model.py:[Layer]:forward", 3, 20, more), *node])])
    found = verdict_of(tmp_path, *runs)
    assert (found.below, found.backward, found.part) == ("model.py:[Layer]:forward", True, 140 * MS)
    assert "+140 ms below Layer.forward (model.py:1) and in its backward (aten::mm is new)" in found.text


def test_the_verdict_names_the_caller_of_a_slower_call_outside_backward(tmp_path: Path) -> None:
    nodes = [("autograd:AddmmBackward0", 3, 50, [], "model.py:[Encoder]:forward")]
    model = ("model.py:[Encoder]:forward", 3, 20)
    runs = [[("train.py:[]:step", 3, 5, [("train.py:[]:log", 3, own), model, *nodes])] for own in (10, 100)]
    found = verdict_of(tmp_path, *runs)
    assert (found.below, found.backward) == ("train.py:[]:log", False)


def test_the_verdict_of_modules_is_about_modules(tmp_path: Path) -> None:
    """The step is longer, but no module is."""
    found = verdict_of(tmp_path, [("train.py:[]:step", 3, 30)], [("train.py:[]:step", 3, 300)], by="module")
    assert "no change of a module beyond noise" in found.text


def without_core(folder: Path, trees: list[list[Call]], queued: float) -> fastdispatch.Trace:
    """Load trees whose main threads are 231 ms on a CPU, and without one for ``queued`` ms."""
    return Dump(*trees).load(folder, lambda document: put_on_cpus(document, 231, queued))


def ranks_of(folder: Path, sleep: float, queued: float = 0) -> fastdispatch.Trace:
    """Two ranks; rank 1 sleeps in ``augment``, while rank 0 waits in the engine for as long. ``queued``: ms without a
    core."""
    trees: list[list[Call]] = [
        [
            ("train.py:[]:augment", 3, 1 + (sleep if rank == 1 else 0)),
            ("train.py:[]:step", 3, 30 + queued, [("op:aten::mm", 3, 200)]),
            ("torch/autograd/graph.py:[]:_engine_run_backward", 3, 10 + (sleep if rank == 0 else 0)),
        ]
        for rank in range(2)
    ]
    return without_core(folder, trees, queued)


@pytest.mark.parametrize(("before", "after", "word"), [(0, 300, "slow"), (300, 0, "fast")])
def test_a_change_of_one_rank_names_the_rank(tmp_path: Path, before: int, after: int, word: str) -> None:
    """Waiting of the other rank is not the speed of the machine."""
    diff = Diff(ranks_of(tmp_path, before), ranks_of(tmp_path, after))
    found = diff.verdict
    change = (after - before) * MS
    assert diff.speed == 1
    assert (found.rank, found.below, found.part) == (1, "train.py:[]:augment", change)
    assert f"rank 1 became {word}: {'+' if change > 0 else '-'}300 ms in augment (train.py:1)" in found.text
    parts = found.machine + found.without_core + found.communication + found.part + found.rest
    assert parts == pytest.approx(found.after - found.before)


@pytest.mark.parametrize(("before", "after"), [((0, 0), (300, 150)), ((300, 150), (0, 0)), ((0, 0), (0, 150))])
def test_time_without_a_core_is_a_part(tmp_path: Path, before: tuple[float, float], after: tuple[float, float]) -> None:
    found = Diff(ranks_of(tmp_path, *before), ranks_of(tmp_path, *after)).verdict
    sleep, queued = after[0] - before[0], after[1] - before[1]
    assert found.without_core == pytest.approx(queued * MS)
    assert (found.below, found.part) == (("train.py:[]:augment", sleep * MS) if sleep else (None, 0))
    if sleep:
        assert f"{'+' if queued > 0 else '-'}150 ms without a core" in found.text
    else:
        assert found.text.endswith("no change beyond noise and the time without a core (0 ns -> 150 ms)")


def test_calls_name_the_function_where_times_without_a_core_hide_it(tmp_path: Path) -> None:
    """The function that contains the step differs by less than the uncertainty of the time without a core."""
    traces = []
    for calls, queued in ((0, 0), (500, 800)):
        pad = ("train.py:[]:pad_batch", 3, 10, [("train.py:[]:of_word", calls, calls / 5)] * (calls > 0))
        tree = [("train.py:[]:main", 3, 50 + queued * 0.95, [("op:aten::mm", 3, 400), pad])]
        traces.append(without_core(tmp_path, [tree], queued))
    diff = Diff(*traces)
    found = diff.verdict
    assert (found.below, found.part) == ("train.py:[]:pad_batch", 100 * MS)
    assert found.because == ["of_word (train.py) is new"]


@pytest.mark.parametrize(("queued", "below"), [(300, "train.py:[]:pad_batch"), (600, None)])
def test_equal_calls_that_are_little_longer_on_a_busy_machine_are_noise(
    tmp_path: Path, queued: int, below: str | None
) -> None:
    traces = []
    for pad in (100, 150):
        main = ("train.py:[]:main", 3, 50 + queued, [("op:aten::mm", 3, 400), ("train.py:[]:pad_batch", 3, pad)])
        traces.append(without_core(tmp_path, [[main]], queued))
    found = Diff(*traces).verdict
    assert (found.below, found.changed) == (below, below is not None)


@pytest.mark.parametrize(("work", "changed"), [(205, True), (215, False)])
def test_longer_waits_of_ranks_that_work_longer_follow_from_that(tmp_path: Path, work: int, changed: bool) -> None:
    waits = [("op:c10d::allreduce_", 3, wait) for wait in (20, 60)]
    runs = [[("train.py:[]:step", 3, own, [wait])] for own, wait in zip((200, work), waits, strict=True)]
    found = verdict_of(tmp_path, *runs, ranks=2)
    assert (found.changed, found.communication) == (changed, 40 * MS)


def test_time_without_a_core_after_a_wait_for_another_rank_counts_once(tmp_path: Path) -> None:
    traces = []
    for wait, queued in ((20, 0), (220, 150)):
        tree = [("train.py:[]:step", 3, 231, [("op:c10d::recv_", 3, wait)])]
        traces.append(without_core(tmp_path, [tree], queued))
    found = Diff(*traces).verdict
    assert (found.communication, found.without_core, found.rest) == (200 * MS, 0, 0)


def test_all_ranks_alike_name_no_rank(tmp_path: Path) -> None:
    runs = [[("train.py:[]:augment", 3, own), ("train.py:[]:step", 3, 200)] for own in (1, 300)]
    found = verdict_of(tmp_path, *runs, ranks=2)
    assert (found.rank, found.below) == (None, "train.py:[]:augment")


def test_communication_of_all_ranks_is_a_part(tmp_path: Path) -> None:
    runs = [[("train.py:[]:step", 3, 200, [("op:c10d::allreduce_", 3, own)])] for own in (20, 220)]
    found = verdict_of(tmp_path, *runs, ranks=2)
    assert (found.rank, found.below, found.communication) == (None, None, 200 * MS)
    assert "+200 ms in communication and waits for other ranks" in found.text


def started(folder: Path, name: str, functions: tuple[str, ...]) -> fastdispatch.Trace:
    dump = Dump([(f"{name}.py:[]:{each}", 3, 30) for each in functions])
    command = {"command": ["python", f"/home/me/{name}.py", "40"]}
    return dump.load(folder, lambda document: document["ranks"][0]["meta"].update(command))


def test_a_renamed_script_is_compared_with_itself(tmp_path: Path) -> None:
    was = started(tmp_path, "train", ("main", "step"))
    moved = Diff(was, started(tmp_path, "train2", ("main", "step", "log")))
    assert [row.key for row in moved.changed()] == ["train2.py:[]:log"]
    assert "train.py is now train2.py: their functions are compared" in str(moved)
    assert was.nodes["file"].count("train.py") == 2
    other = Diff(was, started(tmp_path, "serve", ("listen", "reply")))
    assert "the programs have different files: train.py, serve.py" in str(other)


def test_changes_by_their_effect(diff: Diff) -> None:
    """A new function counts with all below it, more calls with their mean time."""
    effects = {change.callee.key: diff.effect(change) for change in diff.changed_calls()}
    assert effects == {"train.py:[]:log": 20 * MS, "aten::item": MS}
    assert {row.key: diff.effect(row) for row in diff.changed()} == {
        "model.py:[Block]:forward": 40 * MS,
        "train.py:[]:log": 20 * MS,
        "aten::item": MS,
    }
