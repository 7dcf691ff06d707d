"""``report --flops``: FLOPs per step at the forward call sites, and their share of a peak."""

from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.compare.diff import Diff
from fastdispatch.compare.gate import Budget
from fastdispatch.measures.peaks import peaks_of
from fastdispatch.report.report_flops import FlopReport, FlopRow, flop_report
from tests import commands

torch = pytest.importorskip("torch")

STEPS = 6

#: A layer of 8 x 8 and a batch of 4.
LAYER = 2 * 4 * 8 * 8


class Twice(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Two layers, the second one checkpointed."""

    def __init__(self, reentrant: bool | None) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.reentrant = reentrant

    def forward(self, x: Any) -> Any:
        x = self.first(x).relu()
        if self.reentrant is None:
            return self.second(x).relu()
        return torch.utils.checkpoint.checkpoint(lambda x: self.second(x).relu(), x, use_reentrant=self.reentrant)


def train(reentrant: bool | None, folder: Path, optimizer: Any = torch.optim.SGD) -> None:
    import torch.utils.checkpoint

    model = Twice(reentrant)
    updates = optimizer(model.parameters(), lr=0.1)
    with fastdispatch.CallGraph(folder, measure="flops"):
        for _ in range(STEPS):
            updates.zero_grad()
            model(torch.ones(4, 8)).sum().backward()
            updates.step()


def report(folder: Path, **options: Any) -> FlopReport:
    chosen = {"by": "module", "rank": None, "sort": "total", "top": None, "hide": False, "peak": None} | options
    return flop_report(fastdispatch.load(folder, steps="settled"), **chosen)


def passes(row: FlopRow) -> tuple[float, float, float]:
    return row.forward, row.backward, row.recomputed


@pytest.mark.parametrize("reentrant", [None, False, True])
def test_backward_and_recomputation_are_at_the_forward_call(reentrant: bool | None, tmp_path: Path) -> None:
    train(reentrant, tmp_path)
    made = report(tmp_path)
    again = 0 if reentrant is None else LAYER
    assert made.steps == STEPS
    assert {row.where: passes(row) for row in made.rows} == {
        "Twice": (2 * LAYER, 3 * LAYER, again),  # the input needs no gradient
        "first": (LAYER, LAYER, 0),
        "second": (LAYER, 2 * LAYER, again),
    }
    assert passes(made.total) == (2 * LAYER, 3 * LAYER, again)
    assert made.total.flops == 5 * LAYER + again


def test_functions_have_the_flops_of_their_callees(tmp_path: Path) -> None:
    train(False, tmp_path)
    shown = {row.where.rpartition("/")[2]: row for row in report(tmp_path, by="function", hide=True).rows}
    forward = shown["test_flop_report.py:[Twice]:forward"]
    linear = shown["linear.py:[Linear]:forward"]
    assert (forward.flops, forward.own, linear.own) == (6 * LAYER, 0, 6 * LAYER)
    assert not any("_call_impl" in name for name in shown)


def test_operators_include_their_callees(tmp_path: Path) -> None:
    train(None, tmp_path)
    shown = {row.where: row for row in report(tmp_path, by="operator").rows}
    assert (shown["aten::addmm"].own, shown["aten::linear"].own) == (5 * LAYER, 0)
    assert passes(shown["aten::linear"]) == (2 * LAYER, 3 * LAYER, 0)


class Whitened(torch.optim.SGD):  # type: ignore[name-defined, misc]
    """An optimizer that multiplies matrices."""

    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for each in group["params"]:
                if each.grad.dim() == 2:
                    each.grad @ each.grad


def test_flops_of_the_optimizer_are_apart(tmp_path: Path) -> None:
    train(None, tmp_path, Whitened)
    total = report(tmp_path).total
    assert (total.optimizer, total.forward) == (2 * 2 * 8**3, 2 * LAYER)


def test_utilization_of_a_peak(tmp_path: Path) -> None:
    train(True, tmp_path)
    made = report(tmp_path, peak="1e9")
    assert made.mfu == pytest.approx(5 * LAYER / made.step)  # a peak of one FLOP per ns
    assert made.hfu == pytest.approx(6 * LAYER / made.step)
    assert made.rate == pytest.approx(6 * LAYER / made.step * 1e9)


def test_peaks_of_gpus() -> None:
    assert peaks_of("bf16", ["NVIDIA A100-SXM4-80GB"]).one == 312e12
    assert peaks_of("bf16", ["NVIDIA A10"]).one == 125e12
    assert peaks_of("fp8", ["NVIDIA H100 80GB HBM3"]).one == 1979e12
    assert peaks_of("tf32", ["NVIDIA H100 PCIe"] * 8).one == 378e12
    for dtype, names, printed in (
        ("bf16", [], "--peak bf16: the recording has no GPU name: give FLOP/s"),
        ("bf16", ["NVIDIA A100-SXM4-40GB MIG 1g.5gb"], "the peak of NVIDIA A100-SXM4-40GB MIG 1g.5gb is unknown"),
        ("bf16", ["Radeon"], "--peak bf16: the peak of Radeon is unknown: give FLOP/s"),
        ("fp8", ["NVIDIA A100-SXM4-40GB"], "--peak fp8: the peak of NVIDIA A100-SXM4-40GB is unknown"),
        ("bf16", ["NVIDIA L4", "NVIDIA A10"], "has GPUs of several kinds (NVIDIA A10, NVIDIA L4)"),
    ):
        with pytest.raises(fastdispatch.Error) as error:
            peaks_of(dtype, names)
        assert printed in str(error.value)


def test_peaks_without_an_option_are_those_of_the_gpu() -> None:
    h100, v100 = peaks_of(None, ["NVIDIA H100 80GB HBM3"] * 2), peaks_of(None, ["Tesla V100-SXM2-32GB"])
    assert h100 is not None and v100 is not None
    assert [h100.rate(each) for each in ("bf16", "fp32", "tf32", "float32", "float64")] == [
        989.5e12,
        67e12,
        494.5e12,
        None,  # or TF32
        None,
    ]
    assert (v100.rate("float32"), v100.rate("bf16")) == (15.7e12, None)  # a device without either
    flops = {"bf16": 989.5e12, "fp32": 2 * 67e12, "int8": 5.0}
    assert h100.time(flops) == pytest.approx(3)
    assert h100.undecided(flops) == {"int8": 5.0}
    mean = h100.mean(flops)
    assert mean is not None
    assert (mean.rate, mean.source) == (
        pytest.approx((989.5e12 + 134e12) / 3),
        "bf16 and fp32 of NVIDIA H100 80GB HBM3",
    )
    assert h100.mean({"int8": 5.0}) is None
    assert peaks_of(None, ["Radeon"]) is peaks_of(None, []) is peaks_of(None, ["NVIDIA L4", "NVIDIA A10"]) is None


def test_first_line(tmp_path: Path) -> None:
    train(False, tmp_path)
    lines = commands.out("report", tmp_path, "--flops", "--peak", "5e9").splitlines()
    assert lines[0].startswith("3.07 kFLOP per step, ")
    assert " % of 5 GFLOP/s (given), HFU " in lines[0]
    passes, _, steps = lines[1].partition("; ")
    # ReLU and its backward, gradients of the bias, the sum, and one addition for each parameter
    elementwise = 3 * 32 + 2 * 32 + 2 * 32 + 32 + 2 * (64 + 8)
    assert passes == (
        "forward 1.02 kFLOP, backward 1.54 kFLOP, recomputed 512 FLOP, "
        f"not included: element-wise operators {elementwise} FLOP"
    )
    assert steps.startswith("mean of 6 measured steps, a step of ")


def test_a_measured_peak_is_marked(tmp_path: Path) -> None:
    train(None, tmp_path)
    peak = commands.document("report", tmp_path, "--flops", "--peak", "measure")["peak"]
    assert peak["rate"] > 0
    assert peak["source"].startswith("measured here: fp32 product of ")


def test_operators_without_a_formula_are_listed(tmp_path: Path) -> None:
    with torch.library._scoped_library("fd_listed", "FRAGMENT") as library:
        library.define("doubled(Tensor x) -> Tensor")
        library.impl("doubled", lambda x: x * 2, "CPU")
        with fastdispatch.CallGraph(tmp_path, measure="flops"):
            torch.ops.fd_listed.doubled(torch.ones(5))
    made = report(tmp_path)
    assert [(row.operator, row.calls, row.bytes) for row in made.unknown] == [("fd_listed::doubled", 1, 20)]
    assert "fd_listed::doubled" in commands.out("report", tmp_path, "--flops")


@pytest.mark.parametrize("name", ["FLOPs", "shapes"])
def test_figures_that_were_not_measured(name: str, tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path):
        torch.ones(2, 2) @ torch.ones(2, 2)
    line = commands.complaint("report", tmp_path, f"--{name.lower()}")
    assert f"has no {name}: record with --measure {name.lower()}" in line


def test_flops_per_byte_of_inputs(tmp_path: Path) -> None:
    train(None, tmp_path)
    shown = {row.where: row for row in report(tmp_path, by="operator").rows}
    forward = 4 * (8 + 4 * 8 + 8 * 8)  # bias, batch, weight
    backward = 2 * 4 * (8 * 4 + 4 * 8) + 4 * (4 * 8 + 8 * 8)  # of two weights, and one input
    assert shown["aten::addmm"].intensity == 5 * LAYER / (2 * forward + backward)
    assert shown["aten::relu"].intensity is None


def test_gate(tmp_path: Path) -> None:
    train(None, tmp_path / "before")
    train(True, tmp_path / "after")
    before, after = (fastdispatch.load(tmp_path / name) for name in ("before", "after"))
    budget = tmp_path / "budget.toml"
    for allowed, broken in ((20, []), (19.5, ["+20.0% FLOPs per step, 19.5 % allowed"])):
        budget.write_text(f"flops = {allowed}\n")
        found = Budget(str(budget)).broken(Diff(before, after))
        assert [(one.text, one.line) for one in found] == [(text, 1) for text in broken]
    with fastdispatch.CallGraph(tmp_path / "plain"):
        torch.ones(2, 2) @ torch.ones(2, 2)
    with pytest.raises(fastdispatch.Error) as error:
        Budget(str(budget)).broken(Diff(before, fastdispatch.load(tmp_path / "plain")))
    assert str(error.value).startswith(f"{budget}:1: flops: ")
    assert "has no FLOPs: record with --measure flops" in str(error.value)
