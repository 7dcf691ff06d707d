"""CallGraph(et=True) and ``fastdispatch et export``: what operators take and give, as PyTorch's own observer has it."""

import signal
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch import cli
from tests import commands, processes
from tests.oracle.observed import assert_same_call, calls_of, nodes_of
from tests.unit.formats import pyreader

torch = pytest.importorskip("torch")


class Step:
    """A training step with a convolution, an own state and an optimizer that works on lists of tensors."""

    def __init__(self, label: str = 'forward "1"') -> None:
        self.label = label
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(144, 5),
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1)
        self.x, self.target = torch.randn(2, 3, 8, 8), torch.tensor([1, 2])

    def __call__(self) -> None:
        self.optimizer.zero_grad()
        with torch.profiler.record_function(self.label):
            loss = torch.nn.functional.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        self.optimizer.step()


def record(folder: Path, work: Callable[[fastdispatch.CallGraph], object], **options: Any) -> Path:
    with fastdispatch.CallGraph(folder / "run", et=True, **options) as graph:
        work(graph)
    return folder / "run"


def export(run: Path, *more: str) -> list[dict[str, Any]]:
    assert cli.main(["et", "export", str(run), "-o", str(run.parent / "out"), *more]) == 0
    return nodes_of(run.parent / "out" / "et_0.json")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same step, as PyTorch's observer and as we recorded it."""
    folder = tmp_path_factory.mktemp("both")
    step = Step("forward")  # quotes in a name make their file invalid
    step()
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(str(folder / "theirs.json"))

    def observed(graph: fastdispatch.CallGraph) -> None:
        observer.start()
        step()
        observer.stop()

    run = record(folder, observed)
    observer.unregister_callback()
    return nodes_of(folder / "theirs.json"), export(run)


def test_every_node_of_the_observer(both: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """Except fw_parent (theirs is the top of a stack, ours the forward operator), ids of tensors (theirs repeat with
    memory), and times, which theirs do not have."""
    theirs, ours = (calls_of(nodes) for nodes in both)
    assert len(theirs) > 250
    assert list(theirs) == list(ours)
    calls = [{node["id"]: node["attrs"]["rf_id"] for node in nodes} for nodes in both]
    for number, node in theirs.items():
        own = ours[number]
        assert_same_call(own, node)
        assert calls[1][own["ctrl_deps"]] == calls[0][node["ctrl_deps"]]
        assert own["inclusive_dur"] >= own["exclusive_dur"] >= 0
    inner = {node["ctrl_deps"] for node in ours.values()}
    leaves = [node for node in ours.values() if node["id"] not in inner]
    assert len(leaves) > 50 and all(node["exclusive_dur"] == node["inclusive_dur"] for node in leaves)
    assert sum(node["exclusive_dur"] > 0 for node in leaves) > 50
    assert any(node["name"] == "forward" for node in ours.values())


def test_autograd_nodes_name_the_forward_operator(both: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    ours = {node["id"]: node for node in both[1]}
    backward = {node["name"]: node for node in ours.values() if node["attrs"]["scope"] == 1}
    for name, forward in {"AddmmBackward0": "aten::addmm", "NllLossBackward0": "aten::nll_loss_forward"}.items():
        assert ours[backward[name]["attrs"]["fw_parent"]]["name"] == forward


def test_tensors_that_die_take_their_id_with_them(tmp_path: Path) -> None:
    def work(graph: fastdispatch.CallGraph) -> None:
        kept = torch.ones(8)
        for _ in range(5):
            kept * 2.0  # freed at once: the next one reuses the memory

    products = [node for node in export(record(tmp_path, work)) if node["name"] == "aten::mul"]
    kept, made = ([node[side]["values"][0] for node in products] for side in ("inputs", "outputs"))
    assert len({tensor[0] for tensor in kept}) == 1
    assert len({tensor[0] for tensor in made}) == len({tensor[1] for tensor in made}) == len(products) == 5


KILLED = """
import os, signal, sys, torch, fastdispatch
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
with fastdispatch.CallGraph(sys.argv[1], et=True):
    for step in range(3):
        loss = model(torch.ones(2, 4)).sum()
        if step == 2:
            model[0].weight.register_hook(lambda gradient: os.kill(os.getpid(), signal.SIGKILL))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_killed_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the third backward pass: all calls that had begun, schemas too; unfinished ones have no length."""
    assert processes.python("-c", KILLED, tmp_path / "run").returncode == -signal.SIGKILL
    nodes = export(tmp_path / "run")
    assert "the program was stopped while it recorded" in capsys.readouterr().err
    named = [node["name"] for node in nodes]
    assert (named.count("aten::linear"), named.count("AddmmBackward0")) == (6, 6)
    assert named.count("Optimizer.step#SGD.step") == 2
    operators = [node for node in nodes if node["name"].startswith("aten::")]
    assert all(node["attrs"]["op_schema"].startswith(f"{node['name']}") for node in operators)
    (linear,) = {node["attrs"]["op_schema"] for node in operators if node["name"] == "aten::linear"}
    assert linear == "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"
    assert nodes[-1]["name"] == "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
    assert nodes[-1]["inclusive_dur"] == 0
    assert cli.main(["et", "check", str(tmp_path / "out" / "trace.0.et")]) == 0


def test_steps_of_the_window_alone(tmp_path: Path) -> None:
    step = Step()

    def work(graph: fastdispatch.CallGraph) -> None:
        for _ in range(4):
            step()
            graph.step()

    nodes = export(record(tmp_path, work, steps="2:3"))
    assert [node["name"] for node in nodes].count('forward "1"') == 1


#: Of one byte, but uint16, complex32 and bfloat16.
EXOTIC = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn_x2", "uint16", "uint4", "int4", "uint1"]
EXOTIC += ["int7", "bits8", "complex32", "bfloat16"]


def test_exotic_dtypes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As PyTorch's observer spells them, quantised ones too; sizes of elements with them."""
    raw = torch.zeros(4, dtype=torch.uint8)
    tensors = [raw.view(getattr(torch, name)) for name in EXOTIC if hasattr(torch, name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors += [torch.quantize_per_tensor(torch.ones(3), 0.1, 0, kind) for kind in (torch.quint8, torch.qint32)]
    observer = torch.profiler.ExecutionTraceObserver()
    observer.register_callback(str(tmp_path / "theirs.json"))

    def work(graph: fastdispatch.CallGraph) -> None:
        observer.start()
        for tensor in tensors:
            tensor.detach()
        observer.stop()

    ours = export(record(tmp_path, work))
    observer.unregister_callback()
    theirs = [node for node in nodes_of(tmp_path / "theirs.json") if node["name"] == "aten::detach"]
    mine = [node for node in ours if node["name"] == "aten::detach"]
    for one, other in zip(theirs, mine, strict=True):
        assert_same_call(one, other)
    assert len(mine) == len(tensors) > 10
    assert "not known" not in capsys.readouterr().err


CALLS, OPERANDS = 14, 15  # kinds of chunks in docs/formats/recording.md


def test_steps_outside_the_window_leave_nothing(tmp_path: Path) -> None:
    """However many there are: as many calls and words of operands as of the one step, and no tensor is kept."""
    dead: list[bool] = []

    def made(steps: int) -> dict[int, int]:
        def work(graph: fastdispatch.CallGraph) -> None:
            for _ in range(steps):
                x = torch.ones(7)
                y = x * 2.0 + torch.cat([x, x])[:7]
                gone = [weakref.ref(x), weakref.ref(y)]
                del x, y
                dead.extend(ref() is None for ref in gone)
                graph.step()

        path = record(tmp_path / str(steps), work, steps="2:3") / "rank00000.fd"
        return {form: used for form, _, used, _ in pyreader.Reader(path).chunks if form in (CALLS, OPERANDS)}

    few = made(4)
    assert 5 <= few[CALLS] <= 12 and few[OPERANDS] > 50
    assert few == made(40)
    assert len(dead) == 88 and all(dead)


def test_overflow_is_counted(tmp_path: Path) -> None:
    step = Step()
    run = record(tmp_path, lambda graph: [step() for _ in range(6)], max_mb=1)
    counters = fastdispatch.load(run).ranks[0]["counters"]
    assert counters["op_calls_full"] > 0
    assert len(export(run)) > 100


def test_recordings_without_operands(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "run"):
        torch.ones(2)
    assert "record with CallGraph(et=True)" in commands.error("et", "export", tmp_path / "run", "-o", tmp_path / "out")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
