"""``fastdispatch report`` of training: modules, backward time, opaque regions."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import fastdispatch
from fastdispatch.read.summary import in_role
from fastdispatch.report.report_model import Report
from fastdispatch.report.report_rows import Modules
from fastdispatch.text.formats import grouped, seconds
from tests import commands, processes
from tests.training import make_step
from tests.unit.report.test_report import line_of, made, printed
from tests.unit.report.timed import MS, timed

STEPS, LAYERS = 5, 3


def train(folder: Path) -> Path:
    _, step = make_step(layers=LAYERS)
    step()
    with fastdispatch.CallGraph(folder):
        for _ in range(STEPS):
            step()
    return folder


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small GPT trained for a few steps."""
    return train(tmp_path_factory.mktemp("run"))


def record(folder: Path, work: Callable[[], object]) -> Report:
    with fastdispatch.CallGraph(folder):
        work()
    return made(folder, hide=False)


def test_functions_name_the_modules_they_ran_for(training: Path) -> None:
    rows = {row.where.rpartition("/")[2]: row for row in made(training).listing.rows}
    assert rows["pretrain.py:[Block]:forward"].modules == [Modules("blocks.*", LAYERS)]
    assert rows["pretrain.py:[Block]:forward"].calls == STEPS * LAYERS
    linear = {(each.pattern, each.instances) for each in rows["linear.py:[Linear]:forward"].modules}
    names = ("attn.qkv", "attn.proj", "mlp.fc", "mlp.proj")
    assert linear == {(f"blocks.*.{name}", LAYERS) for name in names} | {("head", 1)}
    text = printed(training, top=None)
    assert line_of(text, f"blocks.* x {LAYERS}").split()[0] == str(STEPS * LAYERS)
    assert line_of(text, f"{4 * LAYERS + 1} modules").split()[0] == str(STEPS * (4 * LAYERS + 1))


def test_modules_are_folded_to_patterns(training: Path) -> None:
    rows = {row.where: row for row in made(training, by="module").listing.rows}
    assert (rows["blocks.*.attn"].instances, rows["blocks.*.attn"].calls) == (LAYERS, STEPS * LAYERS)
    assert rows["GPT"].calls == STEPS
    assert "blocks.*.attn   x 3" in printed(training, by="module")
    branches = made(training, tree=True, min_share=0.0, depth=None).tree
    blocks = [branch for branch in branches if branch.where.endswith("[Block]:forward")]
    assert [(branch.module, branch.instances, branch.calls) for branch in blocks] == [
        ("blocks.*", LAYERS, STEPS * LAYERS)
    ]


def test_wrappers_of_modules_are_hidden(tmp_path: Path) -> None:
    run = timed(train(tmp_path / "run"), lambda path: MS if path[-1].startswith("aten::") else 1000)
    assert any(row.where.endswith("[GPT]:_call_impl") for row in made(run, hide=False).listing.rows)
    assert not any(row.where.endswith("[GPT]:_call_impl") for row in made(run).listing.rows)
    rows = made(run, by="node", callers="[MLP]:forward").neighbours.rows
    assert [(row.where.rpartition("/")[2], [each.rpartition(":")[2] for each in row.through]) for row in rows] == [
        ("pretrain.py:[Block]:forward", ["_wrapped_call_impl", "_call_impl"])
    ]


def test_backward_time_and_how_much_of_it_is_attributed(training: Path) -> None:
    trace = fastdispatch.load(training)
    coverage = trace.coverage()
    found = made(training).facts.backward
    assert (found.autograd, found.accumulate, found.attributed) == tuple(coverage.values())
    assert found.coverage == coverage["attributed"] / (coverage["autograd"] - coverage["accumulate"]) > 0.99
    assert found.accumulate_calls == trace.ranks[0]["counters"]["accumulate_grad"]
    text = printed(training, width=None)
    assert f"backward: {seconds(found.autograd)} of autograd, attributed to forward code: " in text
    assert f"{100 * found.coverage:.1f} %" in text
    line = next(line for line in text.splitlines() if "AccumulateGrad" in line)
    assert seconds(found.accumulate) in line
    assert f"{grouped(found.accumulate_calls)} calls" in line
    row = next(row for row in made(training).listing.rows if row.where.endswith("[GPT]:forward"))
    shares = re.findall(r"([\d.]+) %", line_of(text, row.where))
    assert shares[2] == f"{100 * row.backward / made(training).facts.whole:.1f}"


def test_misses_are_counted_by_cause(tmp_path: Path) -> None:
    loss = (torch.randn(64, 64, requires_grad=True).exp() * 2).sum()  # before anything is recorded
    found = record(tmp_path, loss.backward).facts
    counters = fastdispatch.load(tmp_path).ranks[0]["counters"]
    causes = {name: count for name, count in counters.items() if name in ("origin_none", "origin_thread") and count}
    assert causes
    assert found.backward.misses == causes
    assert found.backward.coverage == 0
    assert "  without a forward call: " in printed(tmp_path, width=None)


def test_operators_and_their_back_ends(training: Path) -> None:
    rows = {row.where: row for row in made(training, by="operator").listing.rows}
    assert rows["aten::linear"].calls == STEPS * (4 * LAYERS + 1)
    assert rows["AddmmBackward0"].kind == "autograd"
    rank = fastdispatch.load(training).ranks[0]
    assert f"operators: {rank['meta']['ops']} ({rank['meta']['ops_reason']})" in printed(training, width=None)


def test_packages_are_recognised(training: Path) -> None:
    rows = {row.where: row for row in made(training, by="package").listing.rows}
    assert {"project", "torch", "aten::", "autograd"} <= set(rows)
    assert "threads" not in rows


def test_compiled_regions_are_opaque(tmp_path: Path) -> None:
    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
    compiled(torch.ones(3))
    found = record(tmp_path, lambda: [compiled(torch.ones(3)) for _ in range(4)])
    regions = [special for special in found.facts.special if special.what == "compiled"]
    assert sum(region.calls for region in regions) == 4
    assert f"compiled, opaque: inlined calls are not recorded: {regions[0].where} (4 calls" in printed(
        tmp_path, width=None
    )


def test_scripted_modules_are_opaque(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(nn.Linear(4, 4))
    found = record(tmp_path, lambda: [scripted(torch.ones(2, 4)) for _ in range(3)])
    (special,) = [special for special in found.facts.special if special.what == "scripted"]
    assert special.calls == 3
    assert "scripted, opaque" in printed(tmp_path)


def test_a_training_that_was_killed(tmp_path: Path) -> None:
    with processes.killed("endless.py", tmp_path, "train"):
        pass
    text = commands.out("report", tmp_path)
    found = made(tmp_path).facts
    assert (found.ranks[0].state, found.ranks[0].steps_source) == ("killed", "optimizer")
    assert found.ranks[0].steps >= 2
    assert f"{found.ranks[0].steps} steps (by Optimizer.step), killed" in text
    (train,) = [call for call in found.open if call.where.endswith("endless.py:[]:train")]
    assert f"{seconds(train.age)}  {train.where}" in text
    assert found.backward.coverage > 0.9


# -- phases and hot paths ----------------------------------------------------------------------------------------------


def test_phases_are_found_without_marks(training: Path) -> None:
    report = made(training)
    phases = {phase.phase: phase for phase in report.facts.phases}
    assert list(phases) == ["forward", "backward", "optimizer", "data", "other"]
    rounding = len(fastdispatch.load(training).contexts["self"])  # a nanosecond each at most
    assert sum(phase.self for phase in phases.values()) == pytest.approx(report.facts.whole, abs=rounding)
    rank = fastdispatch.load(training).ranks[0]
    steps, settled = rank["latest_steps"], slice(rank["settled"]["steps"]["first"], None)
    assert len(steps["begin"]) == STEPS
    times = [sum(row) for row in zip(*(steps[name][settled] for name in phases), strict=True)]
    middle = [i for i, time in enumerate(times) if report.facts.step_low <= time <= report.facts.step_high]
    assert len(middle) >= len(times) // 2
    whole = sum(times[i] for i in middle)
    for name, phase in phases.items():
        share = sum(steps[name][settled][i] for i in middle) / whole
        assert phase.per_step == pytest.approx(report.facts.step * share, abs=len(phases))
        assert phase.self + rounding >= sum(steps[name])  # a step ends before the code after it
    assert min(phases[name].per_step for name in ("forward", "backward", "optimizer")) > 0
    assert phases["data"].self == 0
    (line,) = (line for line in printed(training, width=None).splitlines() if line.startswith("a step of "))
    assert re.findall(r"(\w+) [\d.]+ %", line) == ["forward", "backward", "optimizer", "other"]
    assert sum(map(float, re.findall(r"([\d.]+) %", line))) == pytest.approx(100, abs=0.3)


def test_a_closure_of_the_optimizer_is_forward_and_backward(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 64)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=3)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = layer(torch.ones(64, 64)).square().mean()
        loss.backward()
        return loss

    with fastdispatch.CallGraph(tmp_path / "out"):
        for _ in range(4):
            optimizer.step(closure)
    trace = fastdispatch.load(tmp_path / "out", steps=None)
    (rank,) = trace.ranks
    assert rank["steps"] == 4
    assert all(min(rank["latest_steps"][phase]) > 0 for phase in ("forward", "backward", "optimizer"))


def test_a_row_a_phase(training: Path) -> None:
    report = made(training, by="phase")
    rows = {row.where: row for row in report.listing.rows}
    phases = {phase.phase: phase for phase in report.facts.phases}
    assert set(rows) == {"forward", "backward", "optimizer", "other"}
    assert {name: (row.self, row.step_mean) for name, row in rows.items()} == {
        name: (phases[name].self, phases[name].per_step) for name in rows
    }
    contexts, nodes = fastdispatch.load(training).contexts, fastdispatch.load(training).nodes
    main = in_role(fastdispatch.load(training), contexts, "main")
    every = [calls for calls, inside in zip(contexts["calls"], main, strict=True) if inside]
    assert sum(row.calls for row in rows.values()) == sum(every)
    assert rows["forward"].ops == sum(
        calls
        for calls, flags, node in zip(contexts["calls"], contexts["flags"], contexts["node"], strict=True)
        if flags & 7 == 1 and nodes["kind"][node] == "op"
    )
    text = printed(training, width=None, by="phase")
    assert re.search(r"per step +spread +where\n", text) and "CPU total" not in text


def test_hot_paths_hold_all_time_each_once(training: Path) -> None:
    report = made(training, paths=10_000)
    found = report.paths
    rounding = len(fastdispatch.load(training).contexts["self"])  # a nanosecond each at most
    assert (found.of, found.more) == ("self", 0)
    assert found.whole == pytest.approx(report.facts.whole, abs=rounding)
    assert sum(row.self for row in found.rows) == found.whole
    assert len({(*row.path, row.module) for row in found.rows}) == len(found.rows)
    weights = [row.weight for row in found.rows]
    assert weights == sorted(weights, reverse=True)


def test_hot_paths_fold_libraries_and_repeats(training: Path) -> None:
    trace = fastdispatch.load(training)
    libraries = {
        key
        for key, kind, source in zip(trace.nodes["key"], trace.nodes["kind"], trace.nodes["from"], strict=True)
        if kind == "python" and source in ("site", "stdlib")
    }
    rows = made(training, paths=10_000).paths.rows
    assert not any(set(row.path[:-1]) & libraries for row in rows)
    (block,) = (row for row in rows if row.short[-1] == "Block.forward")
    assert (block.module, block.instances, block.calls) == ("blocks.*", LAYERS, STEPS * LAYERS)
    assert block.short[-2] == "GPT.forward"
    operators = {
        key for key, kind in zip(trace.nodes["key"], trace.nodes["kind"], strict=True) if kind in ("op", "autograd")
    }
    assert not any(set(row.path[:-1]) & operators for row in rows)
    (linear,) = (row for row in rows if row.short[-2:] == ["MLP.forward", "aten::linear"])
    assert (linear.calls, linear.module) == (2 * STEPS * LAYERS, "")


def test_hot_paths_name_the_module_of_library_code_and_of_the_forward_call() -> None:
    """The program has no forward function: without the module, each path would be in the same function."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    with fastdispatch.CallGraph(None, steps="all") as graph:
        for _ in range(3):
            model(torch.ones(4, 8)).sum().backward()
    rows = fastdispatch.Trace(graph._session.trace()).report(paths=10_000).paths.rows
    found = {(row.short[-1], row.module, row.within, row.calls) for row in rows}
    assert {("aten::linear", "*", "Linear.forward", 6), ("AddmmBackward0", "*", "Linear.forward", 6)} <= found
    assert ("ReluBackward0", "*", "ReLU.forward", 3) in found


def test_hot_paths_are_few(training: Path) -> None:
    found = made(training, paths=0).paths
    share = sum(row.weight for row in found.rows) / found.whole
    assert len(found.rows) == 20 or share >= 0.8 > share - found.rows[-1].weight / found.whole
    assert [row.path for row in made(training, paths=3).paths.rows] == [row.path for row in found.rows[:3]]
    text = printed(training, width=None, paths=3)
    assert "of the time is in these 3 paths" in text
    assert " > " + found.rows[0].short[-2] in text
    assert f"{grouped(len(found.rows) + found.more - 3)} more paths (--paths N)" in text
