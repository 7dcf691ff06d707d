"""Generated programs are imported, run and trained; their results are those of the graph."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as draw

from fastdispatch.cli import main
from fastdispatch.pipeline import Graph, Node, convert
from fastdispatch.pipeline.convert.constructors import CONSTRUCTORS
from fastdispatch.pipeline.measure import profile
from tests.integration.pipelines import seq2seq_standin

GOLD = Path(__file__).parents[2] / "gold" / "convert"

# Random graphs, computed with symbols --------------------------------------------------------------------------------


class Memory:
    """What a tensor and its views lie in: an expression, until something writes there."""

    def __init__(self, value: object):
        self.value = self.first = value


class Symbol:
    """A tensor without numbers. A write spoils the memory for everybody but the writer's result."""

    def __init__(self, value: object = None, memory: Memory | None = None, path: tuple = ()):
        self.memory = memory or Memory(value)
        self.path = path

    def read(self) -> object:
        return self.along_path(self.memory.value)

    def along_path(self, value: object) -> object:
        for step in self.path:
            value = (*step, value)
        return value

    def view_as(self, *step: object) -> Symbol:
        return Symbol(memory=self.memory, path=(*self.path, step))

    def written(self, name: str) -> Symbol:
        result = Symbol((name, self.read()))
        self.memory.value = ("spoiled by", name)
        return result

    def clone(self) -> Symbol:
        return Symbol(self.read())

    def size(self, dim: int) -> object:
        return ("size", dim, self.along_path(self.memory.first))  # no write changes a size

    def view(self, *shape: object) -> Symbol:
        return self.view_as("view", shape)

    def transpose(self, *dims: int) -> Symbol:
        return self.view_as("transpose", dims)

    def __getitem__(self, index: int) -> Symbol:
        return self.view_as("item", index)

    def __add__(self, other: Symbol) -> Symbol:
        return Symbol(("add", self.read(), other.read()))

    def __mul__(self, other: Symbol) -> Symbol:
        return Symbol(("mul", self.read(), other.read()))


class Layer:
    def __init__(self, name: str, *args: object, **keywords: object):
        self.name = f"{name}{args}"
        self.inplace = keywords.get("inplace", False)

    def __call__(self, *values: Symbol) -> Symbol:
        if self.inplace:
            return values[0].written(self.name)
        return Symbol((self.name, *(value and value.read() for value in values)))


class SymbolicModules:
    """torch.nn with layers that only note what they were called with."""

    class Module:
        def __init__(self) -> None:
            pass

        def __call__(self, *values: object) -> object:
            return self.forward(*values)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **keywords: Layer(name, *args, **keywords)


def symbolic_torch() -> SimpleNamespace:
    return SimpleNamespace(
        nn=SymbolicModules(), cat=lambda values, dim: Symbol(("cat", dim, *(value.read() for value in values)))
    )


#: Description with the node's number in it -> how many arguments it takes, and what it computes.
OPERATORS = {
    "Linear({n}, 4)": (1, lambda n, a: (f"Linear({n}, 4)", a)),
    "Bilinear({n}, 4, 4)": (2, lambda n, a, b: (f"Bilinear({n}, 4, 4)", a, b)),
    "ReLU(inplace)": (1, lambda n, a: ("ReLU()", a)),
    "Dropout(p=0.5, inplace=True)": (1, lambda n, a: ("Dropout()", a)),
    "Dropout(p=0.5)": (1, lambda n, a: ("Dropout()", a)),
    "Add(inplace)": (2, lambda n, a, b: ("add", a, b)),
    "Mul": (2, lambda n, a, b: ("mul", a, b)),
    "Concat(1)": (2, lambda n, a, b: ("cat", 1, a, b)),
    "Transpose(0, 1)": (1, lambda n, a: ("transpose", (0, 1), a)),
    "LSTM({n}, 4)": (1, lambda n, a: (f"LSTM({n}, 4)", a)),
    "__getitem__(0)": (1, lambda n, a: ("item", 0, a)),
    "Size(0)": (1, lambda n, a: ("size", 0, a)),
    "View(-1)": (2, lambda n, a, size: ("view", (size, -1), a)),
}


@draw.composite
def graphs(draw_one: Any) -> Graph:
    count = draw_one(draw.integers(2, 14))
    stages = sorted(draw_one(draw.lists(draw.integers(0, 3), min_size=count, max_size=count)))
    nodes, edges, sizes = [Node("node0", "Input0", stage=0)], [], []
    for at in range(1, count):
        name = draw_one(draw.sampled_from(sorted(OPERATORS)))
        tensors = [f"node{before}" for before in range(at) if f"node{before}" not in sizes]
        sources = [draw_one(draw.sampled_from(tensors)) for _ in range(OPERATORS[name][0])]
        if name == "View(-1)":
            if not sizes:
                name, sources = "Mul", sources
            else:
                sources[1] = draw_one(draw.sampled_from(sizes))
        elif name == "Size(0)":
            sizes.append(f"node{at}")
        nodes.append(Node(f"node{at}", name.format(n=at), stage=stages[at]))
        edges += [(source, f"node{at}") for source in sources]
    return Graph(nodes, edges)


def expected(graph: Graph) -> dict[str, object]:
    """What each node computes, one after the other, by the graph alone."""
    values: dict[str, object] = {"node0": "input"}
    for node in graph.nodes[1:]:
        pattern = next(each for each in OPERATORS if each.format(n=node.id[4:]) == node.name)
        values[node.id] = OPERATORS[pattern][1](node.id[4:], *(values[source] for source in graph.inputs(node.id)))
    return values


def without_imports(text: str) -> str:
    return re.sub(r"^(?:import|from) .*", "", text, flags=re.MULTILINE)


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_stages_compute_the_layers_of_the_graph(graph: Graph) -> None:
    values = expected(graph)
    made = convert(graph, "Net", "net")
    space: dict[str, Any] = {"torch": symbolic_torch()}
    for name, text in made.files.items():
        if name.endswith(".py") and name not in ("__init__.py", "weights.py", "net.py"):
            exec(without_imports(text), space)
    exec(without_imports(made.files["net.py"]), space)
    result = space["Net"]()(Symbol("input"))
    results = result if len(made.outputs) > 1 else (result,)
    found = [each.read() if isinstance(each, Symbol) else each for each in results]
    assert found == [values[id] for id in made.outputs.values()]


# Real modules --------------------------------------------------------------------------------------------------------


def run(graph: Path, folder: Path, *options: str, arch: str = "net") -> int:
    return main(["pipeline", "convert", "-f", str(graph), "-n", "Net", "-a", arch, "-o", str(folder), *options])


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose modules can be imported, and are gone afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def gnmt(importable: Path) -> Path:
    """The graph of GNMT with small layers, and its own classes."""
    seq2seq_standin.write(importable)
    text = (GOLD / "gnmt_10_stages.txt").read_text()
    for large, small in (("2048", "16"), ("1024", "8"), ("32320", "50")):
        text = re.sub(rf"\b{large}\b", small, text)
    path = importable / "gnmt.txt"
    path.write_text(text)
    return path


GNMT_INPUTS = "6x3:int64:50,3:int64:6,5x3:int64:50"


def test_gnmt_is_equal_in_stages_and_trains(gnmt: Path, importable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(gnmt, importable / "package", "--verify", "--inputs", GNMT_INPUTS, arch="gnmt") == 0
    assert "equal bit for bit: 1 output, " in capsys.readouterr().out
    package = importlib.import_module("package")
    rows = package.model(torch.nn.CrossEntropyLoss())
    optimizer = torch.optim.SGD([p for module, _, _ in rows for p in module.parameters()], lr=0.5)
    tokens, targets = torch.randint(50, (6, 3)), torch.randint(50, (5, 3))
    losses = []
    for _ in range(5):
        tensors = {"input0": tokens, "input1": torch.zeros(3, dtype=torch.int64), "input2": targets}
        for module, inputs, outputs in rows[:-1]:
            result = module(*(tensors[name] for name in inputs))
            tensors.update(zip(outputs, result if len(outputs) > 1 else [result], strict=True))
        criterion, [last], _ = rows[-1]
        loss = criterion(tensors[last].flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("graph", "shape", "options"),
    [
        ("syn_add_alias", "3x4", []),
        ("syn_arg_order", "3x4", []),
        ("syn_modern_repr", "3x4", []),
        ("syn_mha_prefix", "5x8", ["--import", "MultiheadAttention=attention:Attention(out_proj.in_features)"]),
        ("two_stages", "2x3x32x32", []),
    ],
)
def test_stages_equal_the_model(graph: str, shape: str, options: list[str], importable: Path) -> None:
    (importable / "attention.py").write_text(
        "import torch\nclass Attention(torch.nn.MultiheadAttention):\n"
        "    def __init__(self, width):\n        super().__init__(width, 2)\n"
        "    def forward(self, x):\n        return super().forward(x, x, x)[0]\n"
    )
    assert run(GOLD / f"{graph}.txt", importable / "out", "--verify", "--inputs", shape, *options) == 0


def test_an_edited_package_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--verify", "--inputs", "2x3x32x32")
    assert run(GOLD / "two_stages.txt", tmp_path, *options) == 0
    stage = tmp_path / "stage1.py"
    good = stage.read_text()
    for change, reported in (
        (good.replace("out5 = input1 + input0", "out5 = torch.add(input1, input0)"), None),
        (good.replace("out5 = input1 + input0", "out5 = input1 + 2 * input0"), "output out10: differs by"),
        (
            good.replace("(256, 10", "(256, 11").replace("out_features=10", "out_features=11"),
            "layer10.weight is 11x256",
        ),
        (good.replace("return out10", "return oops"), "stage 1: NameError"),
        (good.replace("return out10", "return (out10, out5)"), "output out10: is a tuple"),
        (
            good.replace("out10 = self.layer10(out8)", "out10 = self.layer10(out8.detach())"),
            "gradient of layer2.weight",
        ),
    ):
        stage.write_text(change)
        capsys.readouterr()
        assert run(GOLD / "two_stages.txt", tmp_path, *options) == (0 if reported is None else 1), reported
        shown = capsys.readouterr()
        assert reported is None or reported in shown.out
        assert stage.read_text() == change and (change == good or "stage1.py: not overwritten" in shown.err)


def test_weights_of_the_original_are_loaded(importable: Path) -> None:
    def node(id: str, name: str, stage: int, **about: object) -> Node:
        return Node(id, name, stage=stage, about=about)

    nodes = [
        Node("1", "Input0", about={"shape": [2, 3], "dtypes": ["int64"]}),
        node("2", "Embedding(10, 4)", 0, module="embed"),
        node("3", "LayerNorm((4,), eps=1e-05)", 0, module="norm"),
        node("4", "Parameter(3, 4)", 1, module="position"),
        node("5", "Buffer(3, 4)", 1, module="mask"),
        Node("6", "torch.add(%0, %1) * %2", stage=1),
        node("7", "Linear(4, 10, bias=False)", 1, module="head", tied={"weight": "embed.weight"}),
    ]
    edges = [("1", "2"), ("2", "3"), ("3", "6"), ("4", "6"), ("5", "6"), ("6", "7")]
    Graph(nodes, edges).write(importable / "graph.json")
    assert run(importable / "graph.json", importable / "tied", "--verify") == 0
    package, weights = importlib.import_module("tied"), importlib.import_module("tied.weights")
    original = torch.nn.Module()
    original.embed, original.norm = torch.nn.Embedding(10, 4), torch.nn.LayerNorm(4)
    original.position = torch.nn.Parameter(torch.randn(3, 4))
    original.register_buffer("mask", torch.rand(3, 4))
    original.head = torch.nn.Linear(4, 10, bias=False)
    original.head.weight = original.embed.weight
    whole = package.full_model()
    weights.load([whole.stage0, whole.stage1], original.state_dict())
    assert whole.stage1.layer7.weight is whole.stage0.layer2.weight
    tokens = torch.randint(10, (2, 3))
    wanted = original.head((original.norm(original.embed(tokens)) + original.position) * original.mask)
    assert torch.equal(whole(tokens), wanted)
    with pytest.raises(KeyError):
        weights.load([whole.stage0, whole.stage1], {"embed.weight": original.embed.weight})


class Odd(torch.nn.Module):
    """Calls of many kinds: keywords, turned operators, slices, comparisons, in place, two uses of one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        self.twice = torch.nn.Linear(8, 8)
        self.head = torch.nn.Linear(8, 8, bias=False)
        self.head.weight = self.twice.weight

    def forward(self, x: torch.Tensor, *, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        y, _ = self.attention(x, x, value=1 - x, need_weights=False)
        y = torch.where(mask > 0, self.twice(y), 2.5 / (y * y + 1))
        y = torch.relu_(self.twice(y))[:, 1:, None].squeeze(2)
        values, _ = y.sort(dim=-1, descending=True)
        return {"out": self.head(torch.cat([values, -y], dim=1)) @ values.transpose(-1, -2), "rest": y.sum()}


def test_a_measured_model_is_converted_with_its_calls_and_weights(importable: Path) -> None:
    torch.manual_seed(1)
    model = Odd()
    x, mask = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    graph = profile(model, (x,), {"mask": mask}, steps=1, warmup=0)
    parted = graph.with_stages({node.id: at * 3 // len(graph) for at, node in enumerate(graph.nodes)})
    parted.write(importable / "odd.json")
    attention = "MultiheadAttention=torch.nn:MultiheadAttention(8, 2, batch_first=True)"
    assert run(importable / "odd.json", importable / "odd", "--verify", "--import", attention) == 0
    package, weights = importlib.import_module("odd"), importlib.import_module("odd.weights")
    whole = package.full_model()
    weights.load([whole.stage0, whole.stage1, whole.stage2], model.state_dict())
    wanted = model(x, mask=mask)
    found = whole(x, mask)
    assert {each.shape for each in found} == {each.shape for each in wanted.values()}
    for each in wanted.values():
        assert any(torch.equal(each, other) for other in found if other.shape == each.shape)


def test_constructors_are_those_of_torch() -> None:
    bases = {"LSTM": torch.nn.RNNBase, "GRU": torch.nn.RNNBase, "RNN": torch.nn.RNNBase}
    for name, known in CONSTRUCTORS.items():
        found = inspect.signature(bases.get(name, getattr(torch.nn, name)).__init__).parameters
        assert set(known.parameters) <= set(found), name
        needed = {
            each.name for each in found.values() if each.default is each.empty and each.kind != each.VAR_POSITIONAL
        }
        assert needed - {"self", "mode", "kwargs"} == set(known.required), name
