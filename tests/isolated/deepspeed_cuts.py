"""Compare DeepSpeed and fastdispatch on the same layers: cuts of random weights, output, texts of errors.

The last line of the output is JSON. Arguments: number of random cases, and a folder for the recording of an engine
without a pipeline. DeepSpeed is called without a process group if possible.
"""

import contextlib
import functools
import io
import json
import logging
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule, TiedLayerSpec
from deepspeed.runtime.pipe import schedule
from deepspeed.runtime.pipe.engine import PipelineEngine
from deepspeed.runtime.utils import partition_balanced, partition_uniform
from deepspeed.utils import logger
from torch import nn

import fastdispatch
from fastdispatch.pipeline import partition, table_of
from fastdispatch.pipeline.partition import cut, stage_report


def random_weights() -> list[float]:
    kinds: list[Callable[[], float]] = [
        lambda: random.randint(0, 3),
        lambda: random.randint(0, 10**9),
        lambda: random.random(),
        lambda: random.choice((0, 1)),
        lambda: random.choice((0.1, 0.2, 0.3, 1e-9, 1e9)),
        lambda: random.randint(0, 9) * 10 ** random.randint(0, 17),
    ]
    kind = random.choice(kinds)
    return [kind() for _ in range(random.randint(0, 14))]


def cuts(cases: int) -> Iterator[tuple[list[float], int, list[int], list[int]]]:
    """Weights, stages, cuts of DeepSpeed, cuts of fastdispatch."""
    random.seed(11)
    fixed = [([2**60, 1, 1, 1, 2**60 - 3], 2)]
    for weights, stages in [*fixed, *((random_weights(), random.randint(1, 7)) for _ in range(cases))]:
        yield weights, stages, list(map(int, partition_balanced(weights, stages))), partition(weights, stages)
        uniform = partition_uniform(len(weights), stages)
        yield weights, stages, list(map(int, uniform)), partition(weights, stages, "uniform")


def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def frozen() -> nn.Module:
    return nn.Linear(300, 300).requires_grad_(False)


def models() -> Iterator[tuple[list[Any], Any]]:
    """Layers and a loss."""
    tied = TiedLayerSpec("embed", nn.Embedding, 50, 16)
    out = TiedLayerSpec("embed", nn.Embedding, 50, 16, forward_fn=lambda module, x: x @ module.weight.T)
    yield (
        [scale, tied, *(LayerSpec(nn.Linear, 16, 16) for _ in range(8)), frozen(), LayerSpec(nn.LayerNorm, 16), out],
        nn.functional.cross_entropy,
    )
    yield [nn.Linear(8, 80), lambda x: x + 1, nn.ReLU(), nn.Linear(80, 8), torch.relu], nn.CrossEntropyLoss()
    yield [nn.Sequential(nn.Linear(4, 4), nn.ReLU()), functools.partial, nn.Tanh(), nn.Linear(4, 4)], None


METHODS = ("uniform", "parameters", "Parameters", "type:Linear", "type:LINEAR|relu:Tanh", "type:e")


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def theirs(layers: list[Any], loss: Any, method: str, stages: int) -> str:
    """What DeepSpeed prints on rank 0."""
    module = PipelineModule.__new__(PipelineModule)
    nn.Module.__init__(module)
    module.num_stages, module.global_rank, module.loss_fn = stages, 0, loss
    module._layer_specs, module._num_layers, module._local_start, module._local_stop = layers, len(layers), 0, None
    module._topo = SimpleNamespace(get_coord=lambda rank: SimpleNamespace(pipe=rank))
    heard = Lines()
    logger.setLevel(logging.INFO)
    logger.addHandler(heard)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        module._partition_layers(method=method)
    logger.removeHandler(heard)
    logger.setLevel(logging.WARNING)
    return "\n".join([*heard.lines, printed.getvalue()])


def reports() -> Iterator[tuple[str, str]]:
    for layers, loss in models():
        for method in METHODS:
            for stages in (1, 2, 3, 6):
                yield theirs(layers, loss, method, stages), stage_report(cut(layers, stages, method), loss)


def caught(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    try:
        call(*arguments, **options)
    except (RuntimeError, NotImplementedError) as error:
        return f"{'not there' if isinstance(error, NotImplementedError) else 'runtime'}: {error}"
    return "no error"


class Prefetch(schedule.BufferOpInstruction):
    pass


class Mine(schedule.TrainSchedule):
    """The first step has an unknown instruction."""

    def steps(self) -> Iterator[list[Any]]:
        yield [Prefetch(buffer_id=1, ahead=2)]


def executed(made: Any) -> None:
    """Like DeepSpeed's engine, without a pipeline."""
    engine = PipelineEngine.__new__(PipelineEngine)
    nn.Module.__init__(engine)
    engine.__dict__["_reserve_pipe_buffers"] = lambda count: None
    engine._exec_schedule(made)


def errors() -> Iterator[tuple[str, str]]:
    """Errors of both, for a module of one process, and for one stage too many."""
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # avoids its compilation
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    with tempfile.NamedTemporaryFile() as store:
        one = {"rank": 0, "world_size": 1, "auto_mpi_discovery": False}
        deepspeed.init_distributed(dist_backend="gloo", init_method=f"file://{store.name}", **one)
        layers = [nn.Linear(2, 2), nn.ReLU()]
        inner = PipelineModule(layers, num_stages=1)
        yield caught(PipelineModule, layers), caught(partition, layers)
        yield caught(PipelineModule, layers, num_stages=2), caught(partition, layers, 2, world_size=1)
        yield caught(PipelineModule, [inner], num_stages=1), caught(partition, [inner], 1)
        for method in ("Balanced", r"type:Conv\D:x", "type:"):
            wrong = {"num_stages": 1, "partition_method": method}
            yield caught(PipelineModule, layers, **wrong), caught(partition, layers, 1, method)
        mine = Mine(2, 1, 0)
        yield caught(executed, mine), caught(table_of, mine)
        yield partition(inner, 2), partition(layers, 2)  # a built module is a list of its layers
        without_pipeline(sys.argv[2])
        torch.distributed.destroy_process_group()


def without_pipeline(folder: str) -> None:
    """Run three steps of DeepSpeed's engine with the whole model."""
    optimizer = {"type": "Adam", "params": {"torch_adam": True}}
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    engine, *_ = deepspeed.initialize(model=model, config={"train_batch_size": 2, "optimizer": optimizer})
    with fastdispatch.CallGraph(folder, jobs=True, ops="off"):
        for _ in range(3):
            engine.backward(engine(torch.ones(2, 8)).sum())
            engine.step()


def random_numbers_stay() -> bool:
    """Whether building layers leaves the random state of the program unchanged."""
    state = torch.random.get_rng_state()
    partition([LayerSpec(nn.Linear, 4, 4) for _ in range(3)], 2)
    return torch.equal(state, torch.random.get_rng_state())


def main() -> None:
    found = {"cuts": list(cuts(int(sys.argv[1]))), "reports": list(reports())}
    found["rng"] = random_numbers_stay()
    with contextlib.redirect_stdout(io.StringIO()):
        found["errors"] = list(errors())
    print(json.dumps(found))


main()
