"""``pipeline profile``: a model measured as a graph of layers."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import fastdispatch  # noqa: E402
from fastdispatch import Error  # noqa: E402
from fastdispatch.pipeline import Graph, Node, optimize  # noqa: E402
from fastdispatch.pipeline.measure import profile  # noqa: E402
from fastdispatch.pipeline.recorded import profile_recording  # noqa: E402
from tests import commands  # noqa: E402

SETUP = """
import torch
from torch import nn

def setup():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return model, (torch.ones(2, 8),)

def wrong():
    return 3
"""


class Model(nn.Module):
    """What models do between modules: residual adds, functions, tuples, keyword arguments, shared weights, buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.recurrent = nn.LSTM(4, 4, batch_first=True)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.own = nn.Parameter(torch.ones(4, 4, dtype=torch.bfloat16))
        self.register_buffer("scale", torch.ones(4))
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor, *, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.embedding(tokens)
        y, (hidden, _) = self.recurrent(x)
        y = F.relu(y + x) * self.scale
        y = self.norm(y.transpose(1, 2)).transpose(1, 2)
        y = self.drop((y @ self.own.float()) * mask)
        return {"logits": self.head(torch.cat([y, y], 1)), "hidden": hidden}


def inputs() -> tuple[tuple[torch.Tensor], dict[str, torch.Tensor]]:
    return (torch.ones(2, 3, dtype=torch.long),), {"mask": torch.ones(2, 3, 1)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some steps of training, recorded."""
    torch.manual_seed(0)
    model = Model()
    loss = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    args, kwargs = inputs()
    path = tmp_path_factory.mktemp("profile") / "run"
    with fastdispatch.CallGraph(path, et=True):
        for _ in range(4):
            result = model(*args, **kwargs)
            (loss(result["logits"], torch.zeros(2, 6, 10)) + result["hidden"].sum()).backward()
            optimizer.step()
            optimizer.zero_grad()
    return path


@pytest.fixture(scope="module")
def measured() -> Iterator[tuple[Graph, Model]]:
    torch.manual_seed(0)
    model = Model()
    yield profile(model, *inputs(), steps=3), model


def named(graph: Graph, start: str) -> list[Node]:
    return [node for node in graph.nodes if node.name.startswith(start)]


def sources(graph: Graph, node: Node) -> list[str]:
    return [graph[id].name.split("(")[0] for id in graph.inputs(node.id)]


def test_all_that_runs_is_there(measured: tuple[Graph, Model]) -> None:
    graph, _ = measured
    assert [node.name.split("(")[0] for node in graph.nodes] == [
        *("Input0", "Embedding", "LSTM", "__getitem__", "Add", "relu", "Mul", "Transpose", "BatchNorm1d", "Transpose"),
        *("to", "matmul", "Input1", "Mul", "Dropout", "Concat", "Linear"),
    ]
    assert sources(graph, named(graph, "Add")[0]) == ["__getitem__", "Embedding"]
    assert sources(graph, named(graph, "Concat(1)")[0]) == ["Dropout", "Dropout"]
    assert sources(graph, named(graph, "Mul")[1]) == ["matmul", "Input1"]


def test_sizes_are_those_of_the_dtype(measured: tuple[Graph, Model]) -> None:
    graph, _ = measured
    assert named(graph, "Input0")[0].output_bytes == (2 * 3 * 8,)
    assert named(graph, "LSTM")[0].output_bytes == (96.0, 32.0, 32.0)
    embedding, head = named(graph, "Embedding")[0], named(graph, "Linear")[0]
    assert embedding.parameter_bytes == 10 * 4 * 4
    assert head.parameter_bytes == 0
    assert head.about["shares_parameters_with"] == [embedding.id]
    assert named(graph, "to")[0].about["parameter_bytes"] == {"bfloat16": 32}
    assert named(graph, "Mul")[0].about["buffer_bytes"] == 16
    assert embedding.about["module"] == "embedding"


def test_times_and_kept_outputs(measured: tuple[Graph, Model]) -> None:
    graph, _ = measured
    for name in ("LSTM", "BatchNorm1d", "Linear", "relu", "matmul"):
        node = named(graph, name)[0]
        assert node.forward_ms > 0 and node.backward_ms > 0, name
        assert node.forward_spread_ms is not None and node.backward_spread_ms is not None
    assert named(graph, "Add")[0].saved_bytes == 0
    assert named(graph, "relu")[0].saved_bytes == 96
    assert graph.about["steps"] == 3
    assert optimize(graph, 2, 1e9).time_per_stage_s > 0


def test_a_recording_makes_the_same_graph(run: Path, measured: tuple[Graph, Model]) -> None:
    graph = profile_recording(run / "rank00000.fd", warmup=1)
    driven = measured[0]
    assert graph.edges == driven.edges
    for ours, theirs in zip(graph.nodes, driven.nodes, strict=True):
        assert ours.name == theirs.name
        assert ours.output_bytes == theirs.output_bytes, ours
        assert ours.parameter_bytes == theirs.parameter_bytes, ours
        assert ours.saved_bytes == theirs.saved_bytes, ours
        assert ours.about == theirs.about, ours
    for name in ("LSTM", "BatchNorm1d", "Linear", "relu", "matmul"):
        node = named(graph, name)[0]
        assert node.forward_ms > 0 and node.backward_ms > 0, name
    assert graph.about["steps"] == 3
    assert graph.about["backward_elsewhere_ms"] > 0


class Small(nn.Module):
    """Numbers, slices, several outputs, arguments other than tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.last = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = 2 - torch.softmax(self.first(x) * 0.5, -1) / 3
        y, _ = self.attention(y, y, x, need_weights=False)
        left, right = y.chunk(2, dim=-1)
        first = torch.where(left > 0, left, right)[:, 1:]
        return self.last(first.mean(1, keepdim=True).to(torch.float64).float())


class Losing(nn.Module):
    """Losses within the model."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        return F.cross_entropy(y, classes, ignore_index=3) + F.mse_loss(y, x, reduction="sum")


def test_losses_are_called_as_functions() -> None:
    graph = profile(Losing(), (torch.ones(2, 4), torch.zeros(2, dtype=torch.long)), steps=1, warmup=0)
    calls = [node.about["call"] for node in graph.nodes if "loss" in node.name]
    assert calls[0].startswith("torch.nn.functional.cross_entropy(%0, %1, ") and "reduction='mean'" in calls[0]
    assert "ignore_index=3" in calls[0]
    assert calls[1] == "torch.nn.functional.mse_loss(%0, %1, reduction='sum')"


SCRIPT = """
import sys
import torch
from tests.unit.pipelines.test_pipeline_profile import Small

torch.manual_seed(0)
model = Small()
optimizer = torch.optim.SGD(model.parameters(), lr=float(sys.argv[1]))
lost = False
for _ in range(50_000):  # until it is stopped
    try:
        model(torch.ones(2, 5, 8)).sum().backward()
        optimizer.step()
        print("a step")
    except KeyboardInterrupt:
        if lost:
            raise
        lost = True
print("never stopped")
"""


def test_a_script_becomes_a_graph_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT)
    before = list(sys.path), sys.argv
    shown = commands.out("pipeline", "profile", "train.py", "-o", "graph.json", "--steps", 2, "--args", "0.1")
    assert (sys.path, sys.argv) == before
    assert "a step" in shown and "medians of 2 steps" in shown and "never stopped" not in shown
    graph = Graph.read("graph.json")
    calls = [node.about.get("call", "") for node in graph.nodes]
    assert calls == [
        *("", "", "%0 * 0.5", "%0.softmax(-1)", "%0 / 3", "2 - %0", "(%0, %1, %2, None, False)", ""),
        *("%0.chunk(2, -1)", "", "%0 > 0", "", "torch.where(%0, %1, %2)", "%0[:, 1:]", "%0.mean([1], True)"),
        *("%0.to(torch.float64)", "%0.to(torch.float32)", ""),
    ]
    stages = {node.id: int(index > 6) for index, node in enumerate(graph.nodes)}
    graph.with_stages(stages).write("parted.json")
    attention = "MultiheadAttention=torch.nn:MultiheadAttention(out_proj.in_features, 2, batch_first=True)"
    options = ["-n", "Small", "-a", "small", "-o", str(tmp_path / "package"), "--import", attention, "--verify"]
    commands.out("pipeline", "convert", "-f", "parted.json", *options)


def test_recordings_without_a_model(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fastdispatch.CallGraph("plain"):
        torch.ones(2).sum()
    with fastdispatch.CallGraph("bare", et=True):
        torch.ones(2).sum()
    Path("empty").mkdir()
    Path("wrong.py").write_text("1 +")
    reported = {
        "plain": "record with CallGraph(et=True)",
        "bare": "the recording has no call of a module",
        "empty": "no recording in this folder",
        "nothing": "nothing: not a recording, SCRIPT.py or MODULE:FUNCTION",
        "nothing.py": "can't open file 'nothing.py'",
        "nothing.fd": "nothing.fd",
        "nothing:model": "nothing:model: ModuleNotFoundError",
    }
    for path, message in reported.items():
        assert message in commands.complaint("pipeline", "profile", path)
    assert "'0': write a whole number from 1" in commands.error("pipeline", "profile", run, "--rank", 0, "--steps", 0)
    assert "medians of 2 steps" in commands.out("pipeline", "profile", run)


def test_the_model_is_unchanged() -> None:
    torch.manual_seed(1)
    model = Model()
    inputs = (torch.ones(2, 3, dtype=torch.long),)
    mask = {"mask": torch.ones(2, 3, 1)}
    model(*inputs, **mask)["logits"].sum().backward()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    grad = model.own.grad
    before = torch.get_rng_state()
    profile(model, inputs, mask, steps=1, warmup=0)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert model.own.grad is grad
    assert torch.equal(torch.get_rng_state(), before)
    assert all(not module._forward_hooks and not module._forward_pre_hooks for module in model.modules())


def test_watching_changes_no_result() -> None:
    found = []

    def loss(result: dict[str, torch.Tensor]) -> torch.Tensor:
        found.append(result["logits"].detach().clone())
        return result["logits"].square().sum()

    model = Model().eval()
    inputs = torch.ones(2, 3, dtype=torch.long)
    profile(model, (inputs,), {"mask": torch.ones(2, 3, 1)}, loss=loss, steps=1)
    expected = model(inputs, mask=torch.ones(2, 3, 1))["logits"]
    assert len(found) == 3
    assert all(torch.equal(each, expected) for each in found)


class Fickle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.layer(x) if self.calls % 2 else self.layer(x).relu()


def test_unmeasurable_models() -> None:
    with pytest.raises(Error, match="step 2 calls other layers"):
        profile(Fickle(), (torch.ones(1, 2),))
    with pytest.raises(Error, match="needs a gradient: give a loss"):
        profile(nn.Identity(), (torch.ones(1, 2),))
    with pytest.raises(Error, match="0 steps after 2"):
        profile(nn.Identity(), (torch.ones(1, 2),), steps=0)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "to_profile.py").write_text(SETUP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    printed = commands.out("pipeline", "profile", "to_profile:setup", "-o", "graph.txt", "--steps", 2)
    assert "4 layers and operations, 3 edges" in printed
    graph = Graph.read("graph.txt")
    assert [node.name.split("(")[0] for node in graph.nodes] == ["Input0", "Linear", "ReLU", "Linear"]
    made = commands.document("pipeline", "profile", "to_profile:setup", "--steps", 1)
    assert made["schema"] == "fastdispatch-graph/1"
    for name, message in (("wrong", "return the model and a tuple"), ("none", "has no attribute 'none'")):
        assert message in commands.error("pipeline", "profile", f"to_profile:{name}")
