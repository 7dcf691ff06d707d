"""Megatron core's combined_1f1b on the CPU, with its own loop and step, and chunks of this file.

The forward pass of a micro-batch and the backward pass of the previous one are a single call. Streams, events and
ranges of CUDA are stand-ins.
"""

import contextlib
from types import SimpleNamespace
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.pipeline_parallel import combined_1f1b
from megatron.core.pipeline_parallel.utils import AbstractSchedulePlan
from torch import nn

import fastdispatch

MICRO_BATCHES = 3


class Cuda:
    """A stream or an event without effect."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self


class Plan(AbstractSchedulePlan):
    def __init__(self, model: nn.Module) -> None:
        self.model, self.event = model, Cuda()
        self.output: torch.Tensor | None = None

    @classmethod
    def run(cls, forward: Any, backward: Any, b_grad: Any = None, **_: object) -> torch.Tensor | None:
        if backward is not None:
            backward.output.backward(b_grad)
        if forward is None:
            return None
        forward.output = forward.model.layer(torch.ones(2, 4)).sum()
        return forward.output.detach().requires_grad_()


class Chunk(GPTModel):
    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.layer = nn.Linear(4, 4)

    def set_input_tensor(self, tensors: object) -> None:
        pass

    def build_schedule_plan(self) -> None:
        pass


def forward_step(data: object, model: nn.Module, return_schedule_plan: bool) -> Any:
    return Plan(model), lambda output: (output * 1.0, {})


def jobs_of_one_batch() -> list[tuple[str, int, int]]:
    """Kind, micro-batch and flags of the jobs, on a pipeline of one stage."""
    torch.cuda.Stream = torch.cuda.Event = torch.cuda.current_stream = lambda *_, **__: Cuda()  # type: ignore
    torch.cuda.stream = lambda _: contextlib.nullcontext()  # type: ignore
    torch.cuda.nvtx.range_push = torch.cuda.nvtx.range_pop = lambda *_: None  # type: ignore
    parallel_state.set_pipeline_model_parallel_rank(0)
    parallel_state.set_pipeline_model_parallel_world_size(1)
    unset = ("timers", "fp8", "grad_scale_func", "mtp_num_layers", "num_moe_experts")
    config = SimpleNamespace(enable_autocast=False, calculate_per_token_loss=False, **dict.fromkeys(unset))
    batches = (forward_step, None, Chunk(), MICRO_BATCHES, None, None, [], config)
    options = (False, None, False, contextlib.nullcontext, torch.zeros([], dtype=torch.int), lambda first: False)
    with fastdispatch.CallGraph(None, jobs=True, ops="off") as graph:
        combined_1f1b.combined_1f1b_schedule_for_no_pipelining(*batches, *options)
    assert graph._session is not None
    jobs = fastdispatch.Trace(graph._session.trace(timeline=True)).jobs()
    return [*zip(jobs["kind"], jobs["micro_batch"], jobs["flags"], strict=True)]
