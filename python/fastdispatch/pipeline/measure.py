"""``profile``: record some steps of a model, return its graph of layers (docs/guides/pipeline-partition.md)."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fastdispatch import _core
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.recorded import graph_of_model
from fastdispatch.record.callgraph import CallGraph


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield all tensors in a result, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif hasattr(value, "__dataclass_fields__"):
        yield from _tensors(vars(value))


@contextmanager
def _restored(model: nn.Module) -> Iterator[None]:
    """Restore gradients, buffers and random numbers."""
    grads = [(each, each.grad) for each in model.parameters()]
    buffers = [(each, each.clone()) for each in model.buffers()]
    with torch.random.fork_rng():
        try:
            yield
        finally:
            for parameter, grad in grads:
                parameter.grad = grad
            with torch.no_grad():
                for buffer, value in buffers:
                    buffer.copy_(value)


def _sum(result: Any) -> Tensor:
    parts = [each.float().sum() for each in _tensors(result) if each.requires_grad]
    if not parts:
        raise _core.Error("profile: no output of the model needs a gradient: give a loss")
    return torch.stack(parts).sum()


def profile(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    loss: Callable[[Any], Tensor] | None = None,
    steps: int = 5,
    warmup: int = 2,
) -> Graph:
    """Record ``steps`` steps of forward and backward of a model and return its graph of layers.

    Parameters
    ----------
    model, args, kwargs:
        The model and the arguments of each call.
    loss:
        A function from the result of the model to the loss. By default the sum of the outputs that need a gradient.
    steps, warmup:
        Number of measured steps, after ``warmup`` others.

    Gradients, buffers and random numbers are restored. Raises :class:`fastdispatch.Error` for a model whose steps
    differ, or while another recording is active.
    """
    if steps < 1 or warmup < 0:
        raise _core.Error(f"profile: {steps} steps after {warmup}: at least one step is needed")
    with tempfile.TemporaryDirectory(prefix="fastdispatch-profile-") as folder:
        recorder = CallGraph(folder, et=True, gpu="off", max_mb=512)
        with _restored(model), recorder:
            for _ in range(warmup + steps):
                for parameter in model.parameters():
                    parameter.grad = None
                result = model(*args, **(kwargs or {}))
                (loss or _sum)(result).backward()
        (path,) = Path(folder).glob("*.fd")
        return graph_of_model(path, id(model), steps, warmup)
