"""Functions of pipeline engines that are jobs, as rules of the recorder (csrc/capture/rules/job_rules.h).

The arguments are those of :func:`fastdispatch.pipeline.rule`, and:

====================  ==============================================================================================
``role``              the purpose of a call, of :class:`Role`
``plan``              source of the object whose class is the schedule; without it the name of the function
``eval``              source: whether the batch is an evaluation
``owner``             source of the object that describes the engine; without it the first parameter
``local``             both ends of a transfer are on this rank
``also``              later rules may apply to the same call
``own_order``         the engine deviates from its schedule
====================  ==============================================================================================
"""

import re
from enum import IntEnum
from functools import partial
from typing import Any

from fastdispatch import _core

_SOURCE = re.compile(
    r"!?(arg:[^.]{1,100}(\.[^.]{1,100}){0,2}|attr:[^.]{1,100}(\.[^.]{1,100})?)|count|\d{1,9}", re.A | re.S
)

# transfers of Megatron: whether a call that may start several starts this one, and the tensor of its functions
_SENT = {"SA": "arg:output_tensor", "SG": "arg:input_tensor_grad", "RA": "arg:recv_prev", "RG": "arg:recv_next"}
_MOVED = {"SA": "send_next", "RA": "recv_prev", "SG": "send_prev", "RG": "recv_next"}


class Role(IntEnum):
    """The purpose of a call."""

    JOB = 0
    ITERATION = 1  # a batch: mb, stage and chunk are the numbers of micro-batches, global stages and processes
    SCHEDULE = 2  # has the same numbers, but is not a job; plan: the schedule
    PREPARE = 3  # returns the transfers of the next POST
    POST = 4  # starts these transfers: one job per send
    WAIT = 5  # waits for results of POST: one job per transfer; plan: the result
    MOVE = 6  # adds its bytes to the innermost open job of one of its kinds


def add_rule(path_suffix: str, qualname: str, kind: str, **others: Any) -> None:
    """Add a rule, of the user if it has no ``engine``. Raises :class:`fastdispatch.Error` for an invalid one."""
    if "" in (path_suffix, qualname, kind):
        raise _core.Error("rule: path suffix, qualified name and kind must not be empty")
    for name in ("mb", "stage", "chunk", "peer", "buffer", "bytes", "when"):
        source = others.get(name)
        if source is not None and not _SOURCE.fullmatch(source):
            raise _core.Error(f'rule: {name}="{source}": must be arg:NAME, attr:NAME, count or a number')
    _core.pipeline_rule(path_suffix, qualname, kind, **others)


def _add_deepspeed() -> None:
    method = partial(_core.pipeline_rule, "deepspeed/runtime/pipe/engine.py", engine="deepspeed")
    for name, evaluates in (("train_batch", "0"), ("eval_batch", "1")):
        method(f"PipelineEngine.{name}", "ITER", role=Role.ITERATION, stage="attr:num_stages", eval=evaluates)
    plan = "arg:pipe_schedule"
    numbers: dict[str, Any] = {"mb": f"{plan}.micro_batches", "stage": f"{plan}.stages", "plan": plan}
    method("PipelineEngine._exec_schedule", "-", role=Role.SCHEDULE, **numbers)
    # without an argument for the micro-batch: the k-th instruction of a kind belongs to micro-batch k
    kinds = {"LM": "load_micro_batch", "F": "forward_pass", "B": "backward_pass"}
    kinds |= {"SA": "send_activations", "RA": "recv_activations", "SG": "send_grads", "RG": "recv_grads"}
    for kind, name in kinds.items():
        method(f"PipelineEngine._exec_{name}", kind, mb="count", stage="attr:stage_id", buffer="arg:buffer_id")
    for kind, name in {"RT": "reduce_tied_grads", "RD": "reduce_grads", "OPT": "optimizer_step"}.items():
        method(f"PipelineEngine._exec_{name}", kind, stage="attr:stage_id")
    move = partial(_core.pipeline_rule, "deepspeed/runtime/pipe/p2p.py", engine="deepspeed", role=Role.MOVE)
    move("send", "SA+SG", bytes="arg:tensor")
    move("recv", "RA+RG", bytes="arg:tensor")


def _add_torch() -> None:
    schedule = partial(_core.pipeline_rule, "torch/distributed/pipelining/schedules.py", engine="torch")
    for name, processes in (("Single", "attr:_num_stages"), ("Multi", "attr:pp_group_size")):
        numbers: dict[str, Any] = {"mb": "attr:_n_microbatches", "stage": "attr:_num_stages", "chunk": processes}
        batch: dict[str, Any] = {"plan": "arg:self", "eval": "!attr:_has_backward"}
        schedule(f"PipelineSchedule{name}.step", "ITER", role=Role.ITERATION, **numbers, **batch)
    stage = partial(_core.pipeline_rule, "torch/distributed/pipelining/stage.py", engine="torch")
    forward, backward = {"mb": "arg:fwd_chunk_id"}, {"mb": "arg:bwd_chunk_id"}
    rules: list[tuple[str, str, dict[str, Any]]] = [
        ("forward_one_chunk", "F", forward),
        ("backward_one_chunk", "B", backward | {"when": "arg:full_backward"}),
        ("backward_one_chunk", "I", backward),
        ("backward_weight_one_chunk", "W", backward),
        ("perform_reduce_grad", "RD", {}),
        ("set_local_fwd_input", "SA+RA", {"mb": "arg:mb_index", "local": True, "bytes": "arg:prev_stage_outputs"}),
        ("set_local_bwd_input", "SG+RG", {"mb": "arg:mb_index", "local": True, "bytes": "arg:next_stage_bwd_outputs"}),
        ("get_fwd_recv_ops", "RA", forward | {"role": Role.PREPARE}),
        ("get_fwd_send_ops", "SA", forward | {"role": Role.PREPARE}),
        ("get_bwd_recv_ops", "RG", backward | {"role": Role.PREPARE}),
        ("get_bwd_send_ops", "SG", backward | {"role": Role.PREPARE}),
    ]
    for name, kind, others in rules:
        stage(f"_PipelineStageBase.{name}", kind, stage="attr:stage_index", **others)
    schedule("_batch_p2p", "-", role=Role.POST)
    schedule("_wait_batch_p2p", "-", role=Role.WAIT, plan="arg:work")
    reduced = {"all_reduce": "tensor", "all_reduce_coalesced": "tensors", "reduce": "tensor"}
    reduced |= {"reduce_scatter": "input_list", "reduce_scatter_tensor": "input"}
    move = partial(_core.pipeline_rule, "torch/distributed/distributed_c10d.py", engine="torch", role=Role.MOVE)
    for name, tensors in reduced.items():
        move(name, "RT+RD", bytes=f"arg:{tensors}")


def _add_megatron() -> None:
    folder = "megatron/core/pipeline_parallel/"
    schedule = partial(_core.pipeline_rule, f"{folder}schedules.py", engine="megatron")
    pipelining = "forward_backward_pipelining_"
    for name in (
        "forward_backward_no_pipelining",
        f"{pipelining}without_interleaving",
        f"{pipelining}with_interleaving",
    ):
        batch: dict[str, Any] = {"mb": "arg:num_microbatches", "eval": "arg:forward_only", "owner": "arg:model"}
        schedule(name, "ITER", role=Role.ITERATION, **batch)
    schedule("forward_step", "F", mb="arg:current_microbatch", chunk="arg:vp_stage")
    schedule("backward_step", "B", mb="count")
    combined = partial(_core.pipeline_rule, f"{folder}combined_1f1b.py", "combined_forward_backward_step")
    combined = partial(combined, engine="megatron", own_order=True)
    combined("F", mb="arg:current_microbatch", chunk="arg:f_model_chunk_id", when="arg:f_model", also=True)
    combined("B", mb="count", when="arg:b_model")
    transfer = partial(_core.pipeline_rule, f"{folder}p2p_communication.py", engine="megatron", mb="count")
    both = "send_forward_backward_recv_forward_backward"
    for name, kinds in (
        ("send_forward_recv_forward", ("SA", "RA")),
        ("send_backward_recv_backward", ("SG", "RG")),
        (both, _SENT),
    ):
        for kind in kinds:
            transfer(f"P2PCommunicator.{name}", kind, when=_SENT[kind], also=True)
    ends = {"recv_forward": "RA", "recv_backward": "RG", "send_forward": "SA", "send_backward": "SG"}
    ends |= {"send_forward_recv_backward": "SA+RG", "send_backward_recv_forward": "SG+RA"}
    for name, kind in ends.items():
        edge = "!arg:is_first_stage" if kind in ("RA", "SG", "SG+RA") else "!arg:is_last_stage"
        transfer(f"P2PCommunicator.{name}", kind, when=edge)
    move = partial(_core.pipeline_rule, f"{folder}p2p_communication.py", engine="megatron", role=Role.MOVE, also=True)
    for name in ("_p2p_ops", "_batched_p2p_ops"):
        for kind, tensor in _MOVED.items():
            move(name, kind, bytes=f"arg:tensor_{tensor}")


_add_deepspeed()  # before the first recording
_add_torch()
_add_megatron()
