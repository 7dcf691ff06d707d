"""Plan a pipeline for a model from measured times, write its program, train it, and compare with the plan.

    python plan_and_run.py                          a GPT and a small ResNet on 2 and 4 ranks
    python plan_and_run.py --models gpt --stages 2 --steps 8

Each model is profiled on the CPU, cut into stages of one machine each (`pipeline optimize`),
written as a program for torch.distributed.pipelining (`pipeline convert --target torch`) and trained by it on gloo
ranks under the recorder. The program trains the unsplit model beside it: their losses must be equal. At the end stand
the times of each stage as planned, and as its forward and backward jobs took them.

More ranks than free cores share them, and their stages take longer than planned.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

import fastdispatch
from fastdispatch.pipeline import Graph, convert, optimize
from fastdispatch.pipeline.measure import profile

sys.path.insert(0, str(Path(__file__).parent / "gpt"))
import pretrain

MICRO_BATCHES = 4


class Residual(nn.Module):
    def __init__(self, width: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.skip = nn.Conv2d(width, out, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.skip(x))


class ResNet(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        shapes = [(width, width, 1), (width, 2 * width, 2), (2 * width, 2 * width, 1), (2 * width, 4 * width, 2)]
        self.blocks = nn.Sequential(*(Residual(*shape) for shape in shapes))
        self.head = nn.Linear(4 * width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.flatten(self.blocks(self.stem(x)).mean((2, 3)), 1))


def gpt() -> tuple[nn.Module, tuple[Tensor, ...]]:
    config = pretrain.Config(layers=4, dropout=0.0)
    return pretrain.GPT(config), (torch.randint(256, (4, config.context)), torch.randint(256, (4, config.context)))


def resnet() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return ResNet(), (torch.randn(8, 3, 32, 32),)


MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {"gpt": gpt, "resnet": resnet}


def train(graph: Graph, name: str, stages: int, folder: Path, steps: int) -> Path:
    """Write the program, run it on one rank per stage, and return the recording."""
    package = folder / f"{name}_{stages}"
    package.mkdir()
    made = convert(graph, "Model", "net", target="torch", folder=package)
    for file, text in made.files.items():
        (package / file).write_text(text)
    run = folder / f"{name}_{stages}_run"
    words = ["run", "-q", "--options", "timeline=jobs", "-o", str(run), "-m", f"{package.name}.train_torch"]
    words += ["--check", "--steps", str(steps), "--micro-batches", str(MICRO_BATCHES)]
    print(on_ranks("fastdispatch", words, stages, folder).splitlines()[-1])
    return run


def on_ranks(module: str, words: list[str], count: int, folder: Path) -> str:
    """Run a module on ``count`` ranks and return their output."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", "-m"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, module, *words], cwd=folder, env=environment, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{module} {' '.join(words)} on {count} ranks: {done.stdout}{done.stderr}")
    return done.stdout


def planned(graph: Graph, stage: int) -> tuple[float, float]:
    """Planned milliseconds of forward and backward of a micro-batch."""
    own = [node for node in graph.nodes if node.stage == stage]
    return sum(node.forward_ms for node in own), sum(node.backward_ms for node in own)


def measured(run: Path, stage: int) -> tuple[float, float]:
    """Measured milliseconds, from the jobs of the rank of the stage, without the first step, which allocates."""
    jobs = fastdispatch.load(run).jobs(stage)
    rows = [*zip(jobs["kind"], jobs["micro_batch"], jobs["duration"], strict=True)]
    times = {kind: [took / 1e6 for each, _, took in rows if each == kind][MICRO_BATCHES:] for kind in ("F", "B")}
    return median(times["F"]), median(times["B"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--stages", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--steps", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        for name in given.models:
            torch.manual_seed(0)
            model, inputs = MODELS[name]()
            graph = profile(model, inputs, steps=5)
            for stages in given.stages:
                found = optimize(graph, stages, straight=True)
                print(f"\n{name} on {stages} ranks: {found.time_per_stage_s * 1e3:.1f} ms per micro-batch planned")
                run = train(found.graph, name, stages, Path(place), given.steps)
                print("stage  forward: planned  measured  backward: planned  measured")
                for stage in range(stages):
                    (f, b), (mf, mb) = planned(found.graph, stage), measured(run, stage)
                    print(f"{stage:5d}  {f:13.2f} ms  {mf:5.2f} ms  {b:14.2f} ms  {mb:5.2f} ms")


if __name__ == "__main__":
    main()
