"""GPT of Megatron core on the CPU: two pipeline stages, two tensor-parallel ranks, or two ranks with half of the
experts each (STAGE=pipeline, tensor, expert). Functions that require CUDA are replaced."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # Megatron compiles its small functions

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import CudaRNGStatesTracker
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.moe import moe_utils
from torch.overrides import TorchFunctionMode

STEPS, MICRO_BATCHES, SEQUENCE, WORDS = 6, 4, 8, 32


class OnCPU(TorchFunctionMode):
    """Create tensors on the CPU that are requested on CUDA."""

    def __torch_function__(self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if "cuda" in str(kwargs.get("device", "")):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


@contextlib.contextmanager
def no_fork(*_: object, **__: object) -> Iterator[None]:
    yield


def forward_step(batches: Iterator[torch.Tensor], model: torch.nn.Module) -> tuple[torch.Tensor, Callable[..., Any]]:
    tokens = next(batches)
    positions = torch.arange(SEQUENCE).expand_as(tokens)
    mask = torch.ones(1, 1, SEQUENCE, SEQUENCE).triu(1).bool()
    output = model(tokens, positions, mask, labels=tokens)

    def loss(each: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return each.mean(), {"loss": each.detach().mean()}

    return output, loss


def main() -> None:
    torch.cuda.current_device = lambda: torch.device("cpu")  # type: ignore[assignment, return-value]
    CudaRNGStatesTracker.fork = no_fork
    moe_utils.te_general_gemm = None  # undefined without Transformer Engine
    dist.init_process_group("gloo")
    kind, world = os.environ["STAGE"], dist.get_world_size()
    stages = world if kind == "pipeline" else 1
    sizes = {"pipeline_model_parallel_size": stages}
    if kind == "tensor":
        sizes["tensor_model_parallel_size"] = world
    if kind == "expert":
        sizes["expert_model_parallel_size"] = world
    parallel_state.initialize_model_parallel(**sizes)
    torch.manual_seed(0)
    experts = {"num_moe_experts": 4, "moe_token_dispatcher_type": "allgather"} if kind == "expert" else {}
    config = TransformerConfig(
        num_layers=2,
        hidden_size=16,
        num_attention_heads=2,
        use_cpu_initialization=True,
        **sizes,
        **experts,
        pipeline_dtype=torch.float32,
        batch_p2p_comm=False,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        gradient_accumulation_fusion=False,
        bias_dropout_fusion=False,
        bias_activation_fusion=False,
        masked_softmax_fusion=False,
    )
    model = GPTModel(
        config=config,
        transformer_layer_spec=get_gpt_layer_local_spec(**({"num_experts": 4} if experts else {})),
        vocab_size=WORDS,
        max_sequence_length=SEQUENCE,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=False,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        batches = [torch.randint(0, WORDS, (2, SEQUENCE), generator=generator) for _ in range(MICRO_BATCHES)]
        losses = get_forward_backward_func()(
            forward_step_func=forward_step,
            data_iterator=iter(batches),
            model=model,
            num_microbatches=MICRO_BATCHES,
            seq_length=SEQUENCE,
            micro_batch_size=2,
            forward_only=False,
        )
        optimizer.step()
        optimizer.zero_grad()
        if losses:
            loss = sum(each["loss"].item() for each in losses)
            print(f"loss {loss.hex()}\n", end="", flush=True)  # one write: ranks share the pipe
    dist.destroy_process_group()


if __name__ == "__main__":
    with OnCPU():
        main()
