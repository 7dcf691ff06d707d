"""Evaluation, checkpoint saving and recomputation have their own figures beside the training step."""

import io
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.read.steps import phase_times, step_time
from fastdispatch.report.report_activities import activities, backward_passes
from tests import commands, schemas

torch = pytest.importorskip("torch")

STEPS, EPOCHS, BATCHES = 12, 4, 3


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(16, 16), torch.nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.utils.checkpoint.checkpoint(self.first, x, use_reentrant=False)
        return self.second(hidden.relu())


@torch.no_grad()
def evaluate(net: Net) -> torch.Tensor:
    return sum(net(torch.ones(4, 16)).argmax(1).sum() for _ in range(BATCHES))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Epochs of 12 steps. The first step of the next epoch includes evaluation and checkpoint."""
    import torch.utils.checkpoint

    path = tmp_path_factory.mktemp("activities") / "out"
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with fastdispatch.CallGraph(path):
        for _ in range(EPOCHS):
            for _ in range(STEPS):
                optimizer.zero_grad()
                net(torch.ones(4, 16)).sum().backward()
                optimizer.step()
            evaluate(net)
            torch.save(net.state_dict(), io.BytesIO())
    return path


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((8, 31), {"evaluation": 2, "checkpoint saving": 2, "recomputation": 24}),
        ((1, 11), {"recomputation": 11}),  # usual steps
    ],
)
def test_evaluation_and_checkpoints_are_recognised(out: Path, steps: tuple[int, int], expected: dict[str, int]) -> None:
    assert {each.name: each.calls for each in activities(fastdispatch.load(out, steps=steps))} == expected


def test_phases_add_up(out: Path) -> None:
    """They add up to the step."""
    whole = fastdispatch.load(out, steps=(8, 31)).ranks
    phases = phase_times(whole)
    assert sum(phases.values()) == step_time(whole)
    assert phases["forward"] > 0 and phases["backward"] > 0 and phases["optimizer"] > 0


def test_the_report_has_them(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(out), "--steps", "8:31"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("of these steps: ")]
    assert "evaluation" in line and "checkpoint saving" in line and "2 calls" in line
    document = commands.document("report", out, "--steps", "8:31")
    schemas.valid(document, "report")
    assert [each["name"] for each in document["activities"]] == ["evaluation", "checkpoint saving", "recomputation"]


def test_rare_parts_of_the_forward_pass_do_not_count_as_evaluation(tmp_path: Path) -> None:
    """Such as lazy initialisation in the first step, of a module or around it."""

    class Lazy(torch.nn.Linear):
        built = False

        def build(self) -> None:
            self.built = True
            with torch.no_grad():
                torch.nn.Linear(8, 8)(torch.ones(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not self.built:
                self.build()
            return super().forward(x)

    net = Lazy(8, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with fastdispatch.CallGraph(tmp_path):
        for _ in range(8):
            net(torch.ones(4, 8)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert activities(fastdispatch.load(tmp_path)) == []


@pytest.mark.parametrize("passes", [1, 4])
def test_gradient_accumulation(passes: int, tmp_path: Path) -> None:
    net = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with fastdispatch.CallGraph(tmp_path):
        for _ in range(24):
            for _ in range(passes):
                net(torch.ones(16, 64)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert backward_passes(fastdispatch.load(tmp_path, steps=(8, 23))) == (None if passes == 1 else 4)
    printed = "gradient accumulation: 4 backward passes per step" in commands.out("report", tmp_path, "--steps", "8:23")
    assert printed == (passes == 4)


def test_two_losses_with_separate_gradients_do_not_accumulate(tmp_path: Path) -> None:
    net = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with fastdispatch.CallGraph(tmp_path):
        for _ in range(24):
            for _ in range(2):
                optimizer.zero_grad()
                net(torch.ones(4, 8)).sum().backward()
            optimizer.step()
    assert backward_passes(fastdispatch.load(tmp_path, steps=(8, 23))) is None
