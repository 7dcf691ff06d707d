"""Megatron core's schedules: two batches trained, one evaluated. Arguments: run directory, chunks.

Ranks are processes with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, over gloo. Calls of CUDA are redirected to the
CPU; schedules, transfers and model are Megatron's, but a chunk computes only one linear layer.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # Megatron compiles its small functions

import torch
import torch.distributed as dist
from identities import identities
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.pipeline_parallel import p2p_communication, schedules
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator
from megatron.core.transformer.transformer_config import TransformerConfig
from megatron_combined import jobs_of_one_batch
from sleeping import with_sleep
from torch import nn
from torch.overrides import TorchFunctionMode

import fastdispatch

ITERATIONS = int(os.environ.get("ITERATIONS", "2"))
MICRO_BATCHES, MICRO_BATCH, LENGTH, WIDTH = 4, 2, 4, 8


class OnCpu(TorchFunctionMode):
    def __torch_function__(self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = "cpu"
        return args[0] if function is torch.Tensor.cuda else function(*args, **kwargs)


class Chunk(GPTModel):
    """One chunk of a model with all its modules, which computes only one layer."""

    def __init__(self, config: TransformerConfig, vp_stage: int | None) -> None:
        first = parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=vp_stage)
        last = parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=vp_stage)
        super().__init__(
            config,
            get_gpt_layer_local_spec(),
            vocab_size=8,
            max_sequence_length=LENGTH,
            pre_process=first,
            post_process=last,
            share_embeddings_and_output_weights=True,
            vp_stage=vp_stage,
        )
        self.layer = with_sleep(nn.Linear(WIDTH, WIDTH))
        self.given: torch.Tensor | None = None

    def set_input_tensor(self, tensors: Any) -> None:
        self.given = tensors[0] if isinstance(tensors, list) else tensors

    def forward(self, first: torch.Tensor) -> torch.Tensor:
        return self.layer(first if self.given is None else self.given)


def forward_step(data: Any, model: nn.Module, *_: object) -> Any:
    output = model(torch.ones(LENGTH, MICRO_BATCH, WIDTH))
    return output, lambda result: (result.square().mean(), {"loss": float(result.square().mean())})


def config_of(world: int, chunks: int) -> TransformerConfig:
    config = TransformerConfig(
        num_layers=2 * world * chunks,
        hidden_size=WIDTH,
        num_attention_heads=2,
        use_cpu_initialization=True,
        bias_dropout_fusion=False,
        bias_activation_fusion=False,
        persist_layer_norm=False,
        pipeline_model_parallel_size=world,
        virtual_pipeline_model_parallel_size=chunks if chunks > 1 else None,
        pipeline_dtype=torch.float32,
        batch_p2p_comm=False,
        gradient_accumulation_fusion=False,
        deallocate_pipeline_outputs=False,
        microbatch_group_size_per_vp_stage=world,
    )
    config.fine_grained_activation_offloading = False
    return config


def main() -> None:
    torch.cuda.current_device = lambda: torch.device("cpu")  # type: ignore[assignment,return-value]
    dist.init_process_group("gloo")
    world, chunks = dist.get_world_size(), int(sys.argv[2])
    virtual = chunks if chunks > 1 else None
    parallel_state.initialize_model_parallel(
        pipeline_model_parallel_size=world, virtual_pipeline_model_parallel_size=virtual
    )
    config = config_of(world, chunks)
    torch.manual_seed(dist.get_rank())
    with OnCpu():
        model = [Chunk(config, chunk if virtual else None) for chunk in range(chunks)]
    run = schedules.get_forward_backward_func()
    engine = schedules, p2p_communication, P2PCommunicator
    before = identities(*engine)
    optimizer = torch.optim.SGD([each for part in model for each in part.parameters()], 0.0)
    losses = []
    with OnCpu(), fastdispatch.CallGraph(sys.argv[1], jobs=True, max_mb=32):
        for iteration in range(ITERATIONS + 1):
            loss = run(
                forward_step_func=forward_step,
                data_iterator=[None] * chunks,
                model=model,
                num_microbatches=MICRO_BATCHES,
                seq_length=LENGTH,
                micro_batch_size=MICRO_BATCH,
                forward_only=iteration == ITERATIONS,
            )
            losses.append(loss)
            if "ITERATIONS" in os.environ and iteration < ITERATIONS:
                optimizer.step()
    same = before == identities(*engine)
    print(json.dumps({"losses": losses, "same": same, "combined": jobs_of_one_batch() if chunks == 1 else []}))
    dist.destroy_process_group()


main()
