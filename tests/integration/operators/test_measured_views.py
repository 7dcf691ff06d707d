"""Measured FLOPs, memory and communication have the same totals in the table, in the reports of each and in the
comparison of two recordings."""

from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import BAD_INPUT, main
from fastdispatch.compare.diff import Diff, diff
from fastdispatch.compare.gate import Budget
from fastdispatch.dataset.run_loading import load_run
from fastdispatch.measures.measured import measured
from fastdispatch.measures.memory_report import memory_report
from fastdispatch.read.trace import Group
from fastdispatch.report.comm_report import comm_rows
from fastdispatch.report.report_flops import flop_report
from fastdispatch.report.report_rows import ReportRow
from tests import commands, many_ranks

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.torch

STEPS, SIDE, BATCH, RANKS = 6, 8, 4, 20

#: Multiplications and additions of a layer; the bytes of its gradient, and of its input, weight and bias.
LAYER, GRADIENT, OPERANDS = 2 * BATCH * SIDE * SIDE, 4 * SIDE * SIDE, 4 * (BATCH * SIDE + SIDE * SIDE + SIDE)


class Layer(torch.nn.Module):  # type: ignore[name-defined, misc]
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(SIDE, SIDE)

    def forward(self, x: Any, times: int) -> Any:
        for _ in range(times):
            x = self.inner(x)
        return x


def exchange(model: Layer, copies: int) -> None:
    for _ in range(copies):
        dist.all_reduce(model.inner.weight.grad)


def train(folder: Path, *, times: int = 1, copies: int = 1, kept: int = 0, measure: str = "flops,memory,comm") -> Path:
    model, blocks = Layer(), []
    updates = torch.optim.SGD(model.parameters(), lr=0.1)
    with fastdispatch.CallGraph(folder, measure=measure):
        for _ in range(STEPS):
            updates.zero_grad()
            model(torch.ones(BATCH, SIDE), times).sum().backward()
            exchange(model, copies)
            blocks.append(torch.ones(kept, dtype=torch.uint8))
            updates.step()
    return folder


@pytest.fixture(scope="module")
def run(group: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def larger(group: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("larger"), times=2, copies=3, kept=1 << 20)


def rows_of(trace: fastdispatch.Trace, by: Group, sort: str = "total") -> dict[str, ReportRow]:
    made = trace.report(by=by, sort=sort, all=True, top=None)  # type: ignore[arg-type]
    assert made.listing is not None
    return {row.where: row for row in made.listing.rows}


@pytest.mark.parametrize("by", ["function", "operator", "module", "package"])
def test_the_table_has_the_flops_of_the_report_of_flops(run: Path, by: Group) -> None:
    trace = fastdispatch.load(run, steps="settled")
    rows = rows_of(trace, by)
    report = flop_report(trace, by=by, rank=None, sort="total", top=None, hide=False, peak=None)
    counted = {row.where: (row.flops, row.bytes) for row in report.rows if row.flops}
    assert {where: (row.flops, row.bytes) for where, row in rows.items() if row.flops} == counted
    assert report.total.flops == measured(trace).total("flops") == 2 * LAYER


def test_rows_have_the_known_sizes(run: Path) -> None:
    trace = fastdispatch.load(run, steps="settled")
    modules, functions = rows_of(trace, "module"), rows_of(trace, "function")
    assert modules["inner"].flops == modules["Layer"].flops == 2 * LAYER  # the input needs no gradient
    assert modules["inner"].bytes > OPERANDS  # and the operands of the backward pass
    exchanged = next(row for where, row in functions.items() if where.endswith(":exchange"))
    assert (exchanged.communicated, exchanged.flops) == (GRADIENT, 0)


def test_totals_are_those_of_the_other_reports(run: Path) -> None:
    trace = fastdispatch.load(run, steps="settled")
    found = measured(trace)
    moved = sum(max(row.sent, row.received) for row in comm_rows(trace, "run"))
    assert found.total("communicated") * STEPS == moved == GRADIENT * STEPS
    [device] = memory_report(trace).devices
    assert found.total("allocated") == device.allocated
    assert {name: sum(sites.values()) for name, sites in found.peaks.items()} == {device.device: device.peak}
    document = trace.report(all=True, top=None).as_json()
    assert document["measured"] == {name: found.total(name) for name in found.figures}
    assert set(document["measured"]) == {"flops", "bytes", "communicated", "allocated"}


@pytest.mark.parametrize("sort", ["flops", "bytes", "comm", "allocated"])
def test_rows_are_sorted_by_a_measured_figure(run: Path, sort: str) -> None:
    trace = fastdispatch.load(run, steps="settled")
    field = {"comm": "communicated"}.get(sort, sort)
    values = [getattr(row, field) for row in rows_of(trace, "function", sort).values()]
    assert values == sorted(values, reverse=True) and values[0] == measured(trace).total(field)
    out = commands.out("report", run, "--sort", sort)
    assert f"measured: {2 * LAYER / 1000:.3g} kFLOP, {GRADIENT} B communicated of a step and rank" in out


@pytest.mark.parametrize(("sort", "measure"), [("flops", "flops"), ("comm", "comm"), ("allocated", "memory")])
def test_a_figure_that_was_not_measured(sort: str, measure: str, group: None, tmp_path: Path) -> None:
    others = {"flops": "comm", "comm": "memory", "memory": "flops"}
    train(tmp_path, measure=others[measure])
    error = commands.error("report", tmp_path, "--sort", sort)
    assert f"--sort {sort}" in error and f"--measure {measure}" in error and error.count("\n") == 1


def test_a_reduced_merge_has_the_sums_of_the_ranks(run: Path, tmp_path: Path) -> None:
    paths = many_ranks.write(run / "rank00000.fd", tmp_path / "ranks", RANKS)
    trace, one = load_run(tmp_path / "ranks", steps="settled"), fastdispatch.load(run, steps="settled")
    assert trace.reduced is not None
    figures = ("flops", "own", "forward", "backward", "calls", "bytes")
    options: dict[str, Any] = {"by": "function", "sort": "total", "hide": False}
    options |= dict.fromkeys(("rank", "top", "peak"))
    made, expected = (flop_report(each, **options) for each in (trace, one))
    assert (made.ranks, made.steps) == (RANKS, RANKS * STEPS)
    assert {row.where: [getattr(row, name) for name in figures] for row in made.rows} == {
        row.where: [getattr(row, name) for name in figures] for row in expected.rows
    }
    [row], [single] = comm_rows(trace, "ranks"), comm_rows(one, "run")
    assert (row.ranks, row.calls, row.sent) == (RANKS, RANKS * single.calls, RANKS * single.sent)
    assert measured(trace).figures == measured(fastdispatch.load(paths, steps="settled")).figures
    groupings = [[order[:7], order[7:]] for order in (paths, paths[::-1])]
    again = measured(fastdispatch.load(many_ranks.any_grouping(groupings, tmp_path, "settled"))).figures
    assert {name: sum(sites.values()) for name, sites in again.items()} == {
        name: measured(one).total(name) for name in ("flops", "bytes", "communicated", "allocated")
    }


def changes(made: Diff) -> dict[str, dict[str, float]]:
    """Return the changed figures, with the changes by name of the function."""
    return {
        each.figure: {path.key.rpartition(":")[2]: path.change for path in each.paths} for each in made.measured.shown
    }


def test_equal_runs_have_no_measured_change(run: Path, group: None, tmp_path: Path) -> None:
    made = diff(run, train(tmp_path))
    assert [each.figure for each in made.measured.figures] == ["flops", "communicated", "peak"]
    assert changes(made) == {} and made.measured.missing == []
    assert not any(word in str(made) for word in ("FLOP", "communicated", "peak"))


def test_changes_are_at_the_functions_that_cause_them(run: Path, larger: Path) -> None:
    made = diff(run, larger)
    found = changes(made)
    assert found["flops"] == {"forward": 3 * LAYER}  # the input of the second call needs a gradient
    assert found["communicated"] == {"exchange": 2 * GRADIENT}
    assert found["peak"]["train"] == pytest.approx(STEPS << 20, abs=1024)  # other blocks are live at the other peak
    text = str(made)
    assert "; FLOPs +150.0%; communicated bytes +200.0%; bytes at the peak of cpu +" in text.splitlines()[0]
    assert f"FLOPs/step: {2 * LAYER / 1000:.3g} kFLOP -> {5 * LAYER / 1000:.3g} kFLOP" in text
    document = made.as_json()
    assert [each["total"] for each in document["measured"] if each["figure"] == "communicated"] == [
        [GRADIENT, 3 * GRADIENT]
    ]


def test_a_figure_of_one_side_only_is_not_compared(run: Path, group: None, tmp_path: Path) -> None:
    made = diff(run, train(tmp_path, measure="flops"))
    assert [each.figure for each in made.measured.figures] == ["flops"]
    assert "communicated bytes are not compared: only one side has them" in str(made)


def test_budgets_of_measured_figures(run: Path, larger: Path, tmp_path: Path) -> None:
    budget = tmp_path / "budget.toml"
    equal, grown = diff(run, run), diff(run, larger)
    for key in ("flops", "communicated", "peak", "allocated"):
        budget.write_text(f"{key} = 10\n")
        assert Budget(str(budget)).broken(equal) == []
        [broken] = Budget(str(budget)).broken(grown)
        assert broken.line == 1 and broken.text.endswith(", 10 % allowed")
        budget.write_text(f"{key} = 1e9\n")
        assert Budget(str(budget)).broken(grown) == []


def test_a_budget_of_a_figure_that_was_not_measured(run: Path, tmp_path: Path, capsys: Any) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text("peak = 1\n")
    train(tmp_path / "less", measure="comm")
    assert main(["diff", str(run), str(tmp_path / "less"), "--gate", str(budget)]) == BAD_INPUT
    assert f"{budget}:1: peak" in (error := capsys.readouterr().err) and "--measure memory" in error
