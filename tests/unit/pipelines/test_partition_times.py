"""``partition`` by measured time: from recordings of real models."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import fastdispatch
from fastdispatch import Error
from fastdispatch.cli import main
from fastdispatch.pipeline import partition
from fastdispatch.pipeline.layers import layers_of
from fastdispatch.pipeline.times import ModuleTimes, recorded_layers, times_of
from tests import commands

MS = 1_000_000


class Nap(torch.autograd.Function):
    """Takes its time, forward and backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, forward: float, backward: float) -> torch.Tensor:
        ctx.backward_time = backward
        time.sleep(forward)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        time.sleep(ctx.backward_time)
        return grads[0], None, None


class Napping(nn.Module):
    def __init__(self, forward: float = 0.0, backward: float = 0.0, first: float = 0.0) -> None:
        super().__init__()
        self.forward_time, self.backward_time, self.first = forward, backward, first
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        extra, self.first = self.first, 0.0
        return Nap.apply(x * self.weight, self.forward_time + extra, self.backward_time)


class Again(torch.autograd.Function):
    """Checkpointing: runs a layer, and runs it again for its gradients."""

    @staticmethod
    def forward(ctx: Any, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        ctx.layer, ctx.x = layer, x.detach().requires_grad_()
        with torch.no_grad():
            return layer(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[None, torch.Tensor | None]:
        with torch.enable_grad():
            (ctx.layer(ctx.x) * grads[0]).sum().backward()
        return None, ctx.x.grad


def nap(x: torch.Tensor) -> torch.Tensor:
    return Nap.apply(x, 0.004, 0.002)


class Row(nn.Module):
    """Runs layers as DeepSpeed's PipelineModule does: functions among them."""

    def __init__(self, layers: list[Callable[[torch.Tensor], torch.Tensor]], again: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.layers, self.again = layers, again
        for number, layer in enumerate(layers):
            if isinstance(layer, nn.Module) and layer not in self.children():
                self.add_module(str(number), layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = Again.apply(layer, x) if number in self.again else layer(x)
        return x


def record(model: nn.Module, folder: Path, steps: int = 3) -> Path:
    """Train in two micro-batches per step."""
    with fastdispatch.CallGraph(folder, steps="all") as graph:
        for _ in range(steps):
            for _ in range(2):
                model(torch.ones(4)).sum().backward()
            graph.step()
    return folder


def with_times(run: Path, times: dict[str, tuple[int, int]]) -> Path:
    """A dump of the recording in which each call of these modules takes so many ms forward and backward, and no other
    call takes time: the load of the machine decides nothing."""
    path = run.with_name(f"{run.name}.json")
    trace = fastdispatch.load(run)
    trace.dump(path)
    dump, columns, modules = json.loads(path.read_text()), trace.contexts, trace.modules["path"]
    of: list[str] = []  # the module around each context
    for parent, module in zip(columns["parent"], columns["module"], strict=True):
        of.append(modules[module] if module >= 0 else of[parent] if parent >= 0 else "")
    (rank,) = dump["ranks"]
    figures = rank["figures"]
    for name in set(figures) - {"context", "calls", "resumes"}:
        figures[name] = [0] * len(figures["context"])
    for row, (context, calls) in enumerate(zip(figures["context"], figures["calls"], strict=True)):
        origin, module = columns["origin"][context], columns["module"][context]
        if module >= 0 and of[context] in times:
            figures["self"][row] = calls * times[of[context]][0] * MS
        elif origin >= 0 and trace.nodes["name"][columns["node"][context]] == "NapBackward":
            figures["self"][row] = calls * times[of[origin]][1] * MS
    path.write_text(json.dumps(dump))
    return path


def test_layers_of_a_sequential_by_their_time(tmp_path: Path) -> None:
    """Parameters say the large layer is alone; time says otherwise."""
    model = nn.Sequential(nn.Linear(4, 512), nn.Linear(512, 4), Napping(0.001, 0.004), Napping(0.004, 0.001))
    run = record(model, tmp_path / "run")
    _, weights, notes = recorded_layers(fastdispatch.load(run))
    assert not notes
    assert min(weights[2:]) >= 5 * MS
    assert all(weight > 0 for weight in weights)
    dump = with_times(run, {"0": (1, 0), "1": (1, 0), "2": (1, 4), "3": (4, 1)})
    assert recorded_layers(fastdispatch.load(dump))[1] == [1 * MS, 1 * MS, 5 * MS, 5 * MS]
    assert partition(model, 2) == [0, 1, 4]
    for method in ("profile", "bottleneck"):
        assert partition(dump, 2, method) == [0, 3, 4]
        assert partition(fastdispatch.load(dump), 2, method) == [0, 3, 4]
        assert partition(model, 2, method, weights=dump) == [0, 3, 4]
    assert partition(run, 2, "type:linear") == [0, 1, 4]
    assert partition(run, 4, "uniform") == [0, 1, 2, 3, 4]


def test_calls_are_those_of_micro_batches(tmp_path: Path) -> None:
    model = nn.Sequential(Napping(), nn.Sequential(Napping(), Napping()))
    times = ModuleTimes(fastdispatch.load(record(model, tmp_path)))
    paths = times.trace.modules["path"]
    assert {paths[module]: time.calls for module, time in times.modules.items()} == {
        path: 6 for path in ("", "0", "1", "1.0", "1.1")
    }
    assert [row.path for row in times.rows()] == ["", "1"]


def test_the_slowest_step_counts_like_the_others(tmp_path: Path) -> None:
    model = nn.Sequential(Napping(first=0.3), Napping(0.03))
    layers, weights, _ = recorded_layers(fastdispatch.load(record(model, tmp_path)))
    assert layers.names == ["Napping", "Napping"]
    assert weights[1] >= 30 * MS
    assert weights[0] < 30 * MS  # its mean is 50


def test_a_checkpoint_pays_its_forward_twice(tmp_path: Path) -> None:
    run = record(Row([Napping(), Napping()], again=(1,)), tmp_path / "run")
    times = ModuleTimes(fastdispatch.load(with_times(run, {"0": (5, 1), "1": (5, 1)})))
    once, twice = (times.modules[times.rows()[0].modules[at]] for at in (0, 1))
    assert (once.calls, once.forward, once.backward) == (6, 6 * 5 * MS, 6 * 1 * MS)
    assert (twice.calls, twice.forward, twice.backward) == (6, 6 * 5 * MS, 6 * (5 + 1) * MS)


def test_times_of_functions_and_shared_modules(tmp_path: Path) -> None:
    shared = Napping(0.003)
    layers: list[Any] = [nn.Linear(4, 4), nap, shared, torch.relu, shared, lambda x: Nap.apply(x, 0.002, 0.002)]
    trace = fastdispatch.load(record(Row(layers), tmp_path))
    weights, _ = times_of(layers_of(layers), trace)
    assert weights[0] > 0
    assert weights[1] >= 6 * MS
    assert weights[2] == weights[4] >= 3 * MS
    assert weights[3] == 0  # no Python code
    assert weights[5] >= 4 * MS
    with pytest.warns(UserWarning, match="layers 1 are functions or shared modules: weight 0"):
        assert len(partition(trace, 2, "profile")) == 3
    assert partition(layers, 6, "bottleneck", weights=trace) == [0, 1, 2, 3, 4, 5, 6]


def test_layers_in_a_list_of_a_model(tmp_path: Path) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Napping() for _ in range(4))
            self.head = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    times = {f"blocks.{at}": (6 if at == 3 else 2, 0) for at in range(4)}
    dump = with_times(record(Model(), tmp_path / "run"), times | {"head.0": (1, 0), "head.1": (1, 0)})
    assert partition(dump, 2, "profile") == [0, 3, 4]
    assert partition(dump, 2, "profile", within="head") == [0, 1, 2]
    made = commands.document("pipeline", "partition", dump, "-n", 2)
    assert made["split_points"] == ["blocks.3"]
    with pytest.raises(Error, match="no layers within 'tail' in the recording: layers exist within 'blocks', 'head'"):
        partition(dump, 2, "profile", within="tail")


def test_a_model_is_found_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "row_of_layers.py").write_text(
        "from torch import nn\n"
        "def layers():\n    return [nn.Linear(4, 4), lambda x: x, nn.Linear(4, 400), nn.Linear(400, 2)]\n"
        "model = nn.Sequential(*layers()[::2])\n"
        "def broken():\n    raise KeyError('no\\nmodel')\n"
    )
    monkeypatch.chdir(tmp_path)

    def partition_of(*arguments: str) -> str:
        return commands.out("pipeline", "partition", *arguments, "-n", "2")

    assert partition_of("row_of_layers:layers", "--method", "type:LINEAR", "--report") == (
        "Partitioning pipeline stages with method type:LINEAR\n"
        "stage=0 layers=3\n     0: Linear\n     1: <lambda>\n     2: Linear\n"
        "stage=1 layers=1\n     3: Linear\n"
    )
    assert "parts [0, 1, 2]" in partition_of("row_of_layers:model")
    assert main(["pipeline", "partition", "row_of_layers:broken", "-n", "2"]) == 2
    assert capsys.readouterr().err == "fastdispatch: row_of_layers:broken: KeyError: 'no\\nmodel'\n"


def test_a_recording_has_no_parameters_or_other_layers(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    run = record(model, tmp_path / "run", steps=1)
    with pytest.raises(Error, match="method parameters: a recording has times but no parameters"):
        partition(run, 2)
    with pytest.raises(Error, match=r"not one of these layers: layer 1 of the model is a ReLU, not Tanh"):
        partition([nn.Linear(4, 4), nn.Tanh()], 2, "profile", weights=run)
    with pytest.raises(Error, match=r"not one of these layers: the model has a layer 1"):
        partition([nn.Linear(4, 4)], 2, "profile", weights=run)
    with pytest.raises(Error, match=r"layer 2 \(ReLU\) never ran in the recording"):
        partition([nn.Linear(4, 4), nn.ReLU(), nn.ReLU()], 2, "profile", weights=run)
    with fastdispatch.CallGraph(tmp_path / "counts", timing=False):
        model(torch.ones(4))
    with pytest.raises(Error, match="the recording has counts and no times"):
        partition(tmp_path / "counts", 2, "profile")
    with fastdispatch.CallGraph(tmp_path / "none"):
        nn.Linear(4, 4)(torch.ones(4))
    with pytest.raises(Error, match="no layers in the recording"):
        partition(tmp_path / "none", 2, "profile")
    with pytest.raises(Error, match="nowhere"):
        partition(tmp_path / "nowhere", 2, "profile")
