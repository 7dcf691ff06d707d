"""FLOPs of whole trainings, compared with PyTorch's FlopCounterMode where that counts all operators."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.flops import flops_of
from tests import commands

torch = pytest.importorskip("torch")
functional = torch.nn.functional

WIDTH, LENGTH, BATCH = 16, 8, 2


class Block(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Attention of two heads by explicit products, then two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.project = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Any) -> Any:
        parts = self.project(self.norm(x)).unflatten(-1, (3, 2, WIDTH // 2)).permute(2, 0, 3, 1, 4)
        weights = (parts[0] @ parts[1].transpose(-1, -2)).softmax(-1)
        return x + self.layers((weights @ parts[2]).transpose(1, 2).flatten(-2))


class LowRank(torch.nn.Module):  # type: ignore[name-defined, misc]
    """A frozen layer and two trained thin ones."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = torch.nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.down, self.up = torch.nn.Linear(WIDTH, 2, bias=False), torch.nn.Linear(2, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        return self.frozen(x) + self.up(self.down(x))


class Experts(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Every row goes to one of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(2))

    def forward(self, x: Any) -> Any:
        rows = x.flatten(0, 1)
        return torch.cat([expert(rows[first::2]) for first, expert in enumerate(self.experts)])


class Unrolled(torch.nn.Module):  # type: ignore[name-defined, misc]
    """A recurrent layer of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.LSTMCell(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return state[0]  # type: ignore[index]


def convolutions() -> Any:
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, LENGTH)),
        torch.nn.Conv2d(1, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.ConvTranspose2d(4, 3, 2, stride=2),
        torch.nn.Conv2d(3, 5, 3, stride=2, dilation=2),
    )


MODELS: dict[str, Callable[[], Any]] = {
    "gpt": lambda: torch.nn.Sequential(Block(), Block(), torch.nn.Linear(WIDTH, 50)),
    "low-rank": lambda: torch.nn.Sequential(Block(), LowRank()),
    "experts": Experts,
    "unrolled": Unrolled,
    "convolutions": convolutions,
}


def step(model: Any) -> None:
    model(torch.ones(BATCH, LENGTH, WIDTH)).sum().backward()


def recorded(model: Any, folder: Path) -> dict[str, int]:
    with fastdispatch.CallGraph(folder, measure="flops"):
        step(model)
    works = flops_of(fastdispatch.load(folder)).sites.values()
    return {name: sum(getattr(work, name) for work in works) for name in ("forward", "backward", "recomputed", "flops")}


def counted(model: Any, work: Callable[[], object] | None = None) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        step(model) if work is None else work()
    return int(counter.get_total_flops())


@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_the_counter(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    found = recorded(model, tmp_path)
    assert found["flops"] == counted(model)
    assert found["forward"] > 0
    assert found["backward"] >= found["forward"]


def test_precisions_of_autocast_are_those_after_its_casts(tmp_path: Path) -> None:
    """A linear layer, a product that autocast itself casts, and one of float64 outside of it."""
    model, x = torch.nn.Linear(WIDTH, WIDTH), torch.ones(BATCH, WIDTH)
    with fastdispatch.CallGraph(tmp_path, measure="flops"):
        with torch.autocast("cpu", torch.bfloat16):
            torch.mm(model(x), torch.ones(WIDTH, WIDTH)).sum().backward()
        torch.ones(2, 3, dtype=torch.float64) @ torch.ones(3, 4, dtype=torch.float64)
    works = list(flops_of(fastdispatch.load(tmp_path)).sites.values())
    product = 2 * BATCH * WIDTH * WIDTH
    assert sum((work.precisions for work in works), Counter()) == {"bf16": 4 * product, "float64": 48}
    assert sum((work.model for work in works), Counter()) == {"bf16": 4 * product, "float64": 48}


def test_utilization_of_compiled_regions_is_a_lower_bound(tmp_path: Path) -> None:
    """The counter has the product of a layer, the recording not that of the compiled layer."""
    layer, x = torch.nn.Linear(WIDTH, WIDTH), torch.ones(BATCH, WIDTH)
    model = torch.compile(layer, backend="aot_eager")
    model(x)  # compiles
    with fastdispatch.CallGraph(tmp_path, measure="flops") as graph:
        for _ in range(3):
            model(x) @ torch.ones(WIDTH, WIDTH)
            graph.step()
    assert counted(layer, lambda: layer(x)) == 2 * BATCH * WIDTH * WIDTH
    printed = commands.out("report", tmp_path, "--flops", "--peak", "1e9", "--steps", "all").splitlines()[0]
    assert printed.startswith("1.02 kFLOP per step, ") and ", MFU at least " in printed


def test_compiled_regions_are_named(tmp_path: Path) -> None:
    """Operators inside a compiled region are not observed."""
    model = torch.compile(torch.nn.Linear(WIDTH, WIDTH), backend="aot_eager")
    step(model)  # compiles
    with fastdispatch.CallGraph(tmp_path, measure="flops"):
        step(model)
        torch.ones(2, 3) @ torch.ones(3, 4)
    lines = commands.out("report", tmp_path, "--flops").splitlines()
    assert lines[0].startswith("48 FLOP in the recording")
    assert "not counted: operators inside 1 call of a region of torch.compile" in lines


def test_a_recording_of_compiled_regions_only_is_reported(tmp_path: Path) -> None:
    """FLOPs were measured, but no operator with a formula was observed."""
    model = torch.compile(torch.nn.Linear(WIDTH, WIDTH), backend="aot_eager")
    x = torch.ones(2, WIDTH)
    with torch.no_grad():
        model(x)  # compiles
        with fastdispatch.CallGraph(tmp_path, measure="flops"):
            for _ in range(3):
                model(x)
    printed = commands.error("report", tmp_path, "--flops")
    assert "operators inside 3 calls of a region of torch.compile are not observed, and no other operator" in printed
    assert "--measure flops" not in printed
