"""Three targets of one plan are trained on gloo ranks: the losses are those of the unsplit model, bit for bit."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

import fastdispatch
from fastdispatch.pipeline import Graph, Node, convert
from tests import processes

#: Skips over a stage, writes in place, an output of the first stage, integers, a weight in two stages.
LAYERS = [
    ("Input0", 0, [], {}),
    ("Linear(8, 8)", 0, [0], {"module": "two"}),
    ("ReLU(inplace=True)", 0, [1], {}),
    ("Linear(8, 8)", 1, [2], {}),
    ("Add", 1, [3, 2], {}),
    ("LSTM(8, 8)", 1, [4], {}),
    ("__getitem__(0)", 2, [5], {}),
    ("Mul", 2, [6, 2], {}),
    ("Linear(8, 8)", 2, [7], {"module": "z", "tied": {"weight": "two.weight"}}),
    ("Add", 2, [8, 2], {}),
    ("Tanh()", 0, [1], {}),
    ("Input1", 0, [], {}),
    ("Embedding(10, 8)", 2, [11], {}),
    ("Add", 2, [12, 9], {}),
]
INPUTS = "4x8,4:int64:10"


def graph_of(layers: list, stages: int) -> Graph:
    nodes = [
        Node(f"node{at}", name, stage=min(stage, stages - 1), about=about)
        for at, (name, stage, _, about) in enumerate(layers)
    ]
    edges = [(f"node{source}", f"node{at}") for at, (_, _, sources, _) in enumerate(layers) for source in sources]
    return Graph(nodes, edges)


def write(graph: Graph, folder: Path, **options: object) -> None:
    folder.mkdir()
    made = convert(graph, "Net", "net", folder=folder, **options)  # type: ignore[arg-type]
    for name, text in made.files.items():
        (folder / name).write_text(text)


#: What programs of a target import.
IMPORTS = {"torch": ("torch", "torch.distributed.pipelining"), "deepspeed": ("torch", "deepspeed")}


def run_ranks(command: list[str], count: int, imports: tuple[str, ...]) -> str:
    """What the last rank prints."""
    return processes.outputs(processes.start_ranks(imports, command[0], count, *command[1:], DS_ACCELERATOR="cpu"))[-1]


@pytest.mark.parametrize(("target", "replicas"), [("torch", [1, 2, 1]), ("deepspeed", [2, 2])])
def test_losses_are_those_of_the_unsplit_model(target: str, replicas: list[int], tmp_path: Path) -> None:
    graph = graph_of(LAYERS, len(replicas))
    write(graph, tmp_path / "net_of_ranks", target=target, inputs=INPUTS, replicas=replicas)
    start = tmp_path / "start.py"  # as python -m does
    start.write_text(f"import runpy\nrunpy.run_module('net_of_ranks.train_{target}', run_name='__main__')\n")
    printed = run_ranks([str(start), "--check", "--steps", "3"], sum(replicas), IMPORTS[target])
    assert printed.count(": equal\n") == 3 and "DIFFERENT" not in printed


def test_the_package_trains_by_its_own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = [LAYERS[0], *((name, stage, sources, {}) for name, stage, sources, _ in LAYERS[1:10])]
    write(graph_of(row, 2), tmp_path / "net_by_conf")
    printed = run_ranks(["package_ranks.py", str(tmp_path / "net_by_conf")], 2, IMPORTS["torch"])
    monkeypatch.syspath_prepend(tmp_path)
    torch.manual_seed(0)
    model = importlib.import_module("net_by_conf").full_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for step in range(3):
        loss = model(torch.randn(4, 8, generator=torch.Generator().manual_seed(step))).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert [float(line) for line in printed.split()] == losses


def check_example(lines: list[str], model: str, stages: int) -> None:
    assert lines[1].startswith(f"{model} on {stages} ranks") and lines[2].endswith(": equal")
    assert [line.split()[0] for line in lines[3:]] == ["stage", *map(str, range(stages))]
    for line in lines[4:]:
        times = [float(word) for word in line.split()[1:] if word != "ms"]
        assert len(times) == 4 and min(times) > 0


def test_the_example_goes_from_a_model_to_ranks(examples: Path) -> None:
    program = examples / "plan_and_run.py"
    done = processes.python_program(program, "--models", "resnet", "--stages", 2, "--steps", 2)
    check_example(done.stdout.splitlines(), "resnet", 2)


@pytest.mark.parametrize(("model", "stages"), [("gpt", 4), ("resnet", 4)])
def test_the_example_on_other_models_and_ranks(
    model: str, stages: int, examples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(examples)
    example = importlib.import_module("plan_and_run")

    def on_ranks(module: str, words: list[str], count: int, folder: Path) -> str:
        start = folder / "start.py"
        start.write_text(
            f"import os, runpy\nos.chdir({str(folder)!r})\nrunpy.run_module({module!r}, run_name='__main__')\n"
        )
        return run_ranks([str(start), *words], count, IMPORTS["torch"])

    monkeypatch.setattr(example, "on_ranks", on_ranks)
    monkeypatch.setattr(sys, "argv", ["", "--models", model, "--stages", str(stages), "--steps", "2"])
    example.main()
    check_example(capsys.readouterr().out.splitlines(), model, stages)


@pytest.mark.parametrize(
    ("layers", "stages", "options", "reason"),
    [
        (LAYERS, 1, {}, "the graph has one stage"),
        (LAYERS, 3, {"folder": "a-b"}, "a-b is not a Python identifier"),
        (LAYERS, 3, {"inputs": "4x8"}, "1 of 2 inputs"),
        (LAYERS, 3, {"inputs": "4x8@2,4"}, "'4x8@2'"),
        (LAYERS, 3, {"published": True}, "target torch"),
        (LAYERS, 2, {"target": "deepspeed", "replicas": [3, 1]}, "0:3,1:1: DeepSpeed requires equal numbers"),
        (
            [*LAYERS[:6], ("Sequential(  (0): Identity())", 2, [5], {})],
            3,
            {"inputs": "4x8"},
            "returns a tuple that stage",
        ),
        ([LAYERS[0], ("Tanh()", 0, [0], {}), ("Tanh()", 1, [1], {})], 2, {}, "its shape is not known"),
    ],
)
def test_unsupported_graphs_are_rejected(layers: list, stages: int, options: dict, reason: str) -> None:
    with pytest.raises(fastdispatch.Error) as caught:
        convert(
            graph_of(layers, stages),
            "Net",
            "net",
            **{"target": "torch", "inputs": INPUTS, **options} if "its shape" not in reason else {"target": "torch"},
        )
    assert reason in str(caught.value)
