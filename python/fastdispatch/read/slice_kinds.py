"""The kinds of slices, by their categories and names (docs/formats/timeline.md)."""

import re
from enum import IntFlag
from functools import lru_cache

from fastdispatch.read.clock_maps import MOST
from fastdispatch.read.event_rows import NO_STEP, Has


class Is(IntFlag):
    """The kind of a slice. Of those in csrc/events/stats/event_row.h, C reads arguments."""

    STEP = 1 << 0  # with a number
    GPU_STEP = 1 << 1  # shown on a stream
    JOB = 1 << 2
    COMMUNICATION = 1 << 3
    KERNEL = 1 << 4
    COPY = 1 << 5  # or memset, on a GPU
    OPERATOR = 1 << 6
    BACKEND = 1 << 7  # a running collective, as gloo:all_reduce
    CALL = 1 << 8  # a request of a collective, as c10d::allreduce_
    ASYNC = 1 << 9  # without a thread
    AROUND = 1 << 10  # of the profiler itself, or a sum of phases
    COLLECTIVE = 1 << 11  # communication of all ranks of a group
    RUNTIME = 1 << 12  # a call of the GPU runtime, such as a launch
    OPTIMIZER = 1 << 13  # a step of an optimizer
    RANGE = 1 << 14  # any other annotation of the program
    GPU_COLLECTIVES = 1 << 31  # of a rank: it has kernels that communicate


#: Beginnings of the categories of torch.profiler.
_PROFILED = (
    *("cpu_op", "user_annotation", "python_function", "kernel", "gpu_", "cuda_", "xpu_", "mtia_", "hpu_", "overhead"),
    *("Operator", "Kernel", "Memcpy", "Memset", "Runtime", "Trace", "privateuse1_"),
)
#: "cuda" is the category of Nsight Systems.
_KERNELS, _COPIES = ("kernel", "Kernel", "cuda"), ("gpu_memcpy", "gpu_memset", "Memcpy", "Memset")
_OPERATORS = ("cpu_op", "op", "operator", "Operator", "autograd")
_BACKENDS = ("gloo:", "nccl:", "mpi:", "ucc:", "xccl:")
_CALLS = ("c10d::", "_c10d_functional::", "record_param_comms")
_OF_PYTORCH = ("enumerate(DataLoader)", "##", "Optimizer.zero_grad")
_JOBS = {
    *("forward", "backward", "backward_b", "backward_w", "optimizer", "lr", "send", "recv", "receive"),
    *(f"{way}_{job}" for way in ("send", "recv", "receive") for job in ("forward", "backward")),
}
_TALKING = (
    *("send", "recv", "receive", "all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter"),
    *("broadcast", "p2p"),
)
#: Functions can be named like jobs too, but their category is a file.
_ANNOTATIONS = ("", "user_annotation", "range")
#: Operations of XLA and TensorFlow.
_OPERATIONS = ("Collective", "psum", "ppermute", "send.", "send-done", "recv.", "recv-done")
#: Kernels of libraries that communicate.
_LIBRARY = re.compile(
    r"nccl|rccl|ccl_|ccl::|hcom_|msccl|nvshmem|deep_ep::|userbuffers|symm_mem|all[-_]?reduce|all[-_]?gather"
    r"|reduce[-_]?scatter|all([-_]?)to\1all|collective-permute|collective-broadcast|cross_device_reduce",
    re.ASCII | re.IGNORECASE,
)
#: The name of a kernel without templates and parameters.
_HEAD = re.compile(r"(?:\(anonymous namespace\)|[^<(])*")
_ENDING = re.compile(r"(?<=.)(?:_| mb| #|#| )([0-9]+)\Z", re.DOTALL)
_DIGITS = re.compile("[0-9]{1,20}")
#: Threads of XLA's profiler, whose slices have no category.
_STREAM = "Stream #"
_XLA_AROUND = (
    *("XLA Modules", "Framework Ops", "Framework Name Scope", "TensorFlow Name Scope", "TensorFlow Ops"),
    *("XLA TraceMe", "Source code", "Launch Stats"),
)
_XLA = {"Steps": Is.STEP, "XLA Ops": Is.OPERATOR, "Async XLA Ops": Is.ASYNC, **dict.fromkeys(_XLA_AROUND, Is.AROUND)}
_TALKS = Is.COMMUNICATION | Is.BACKEND


@lru_cache(1 << 16)
def kind_of_slice(subject: str) -> tuple[int, int, int, int]:
    """Return the kind of slices, their properties, their number as a step or at the end of an annotation, and the
    number of characters at the end of their name that are not part of its type. ``subject``: category, name of the
    thread, argument ``Task Type``, whether there are ``step_num`` and ``Collective name``, and name."""
    category, thread, task, numbered, collective, name = subject.split("\0", 5)
    step, ending = _step_of(category, name), _ENDING.search(name)
    plain = _kind(category, name, step)
    if not plain and not category:
        plain = _uncategorized(name, task, bool(numbered))
    if plain == Is.KERNEL and collective:
        plain |= Is.COMMUNICATION
    plain = kind = _grouped(plain, name)
    xla = Is.KERNEL if thread.startswith(_STREAM) else _XLA.get(thread)
    if xla is not None and not category:
        number = _number_after(name, "", "step ")
        kind, step = _of_xla(xla, name, number), step if number is None else number
    if kind & (Is.OPTIMIZER | Is.RANGE):
        step = None if ending is None else _number_after(ending[1], "")
        step = None if step is None or step > MOST else step
    end = 0 if ending is None else len(ending[0])
    return kind, _properties(category, plain), NO_STEP if step is None else min(step, MOST), end


def _properties(category: str, kind: Is) -> int:
    works = bool(kind & (Is.KERNEL | Is.COPY))
    found = {
        Has.STEP: kind & Is.STEP,
        Has.GPU_STEP: kind & Is.GPU_STEP,
        Has.LAUNCH: kind & Is.RUNTIME,
        Has.WORK: works,
        Has.DEVICE: works and not kind & Is.COMMUNICATION,
        Has.KERNEL: category == "kernel",
        Has.PROFILED: category.startswith(_PROFILED),
    }
    return sum(flag for flag, there in found.items() if there)


def _number_after(text: str, *prefixes: str) -> int | None:
    """Return the number that follows one of the prefixes, up to the end."""
    ends = [text.removeprefix(prefix) for prefix in prefixes if text.startswith(prefix)]
    numbers = [int(end) for end in ends if _DIGITS.fullmatch(end)]
    return numbers[0] if numbers and numbers[0] < 1 << 64 else None


def _step_of(category: str, name: str) -> int | None:
    step = _number_after(name, "ProfilerStep#")
    return _number_after(name, "step ", "step") if step is None and category in ("step", "Step") else step


def _kind(category: str, name: str, step: int | None) -> Is:
    kind = _on_device(category, name)
    if step is not None:
        kind |= Is.GPU_STEP if category == "gpu_user_annotation" else Is.STEP
    if kind:
        return kind
    sums = category == "phase" and name.startswith("phase: ")
    if category.startswith("gpu_") or category in ("Trace", "nvtx-kernel") or sums:
        return Is.AROUND
    if category in ("Runtime", "cuda_api") or re.fullmatch(".+_(runtime|driver)", category, re.DOTALL):
        return Is.RUNTIME
    if name.startswith(_BACKENDS):
        return _TALKS
    if name.startswith(_CALLS):
        return Is.COMMUNICATION | Is.CALL
    kind = (Is.OPERATOR if category in _OPERATORS else Is(0)) | _of_job(category, name)
    if kind or category not in ("user_annotation", "nvtx") or name.startswith(_OF_PYTORCH):
        return kind
    return Is.OPTIMIZER if name.startswith("Optimizer.step#") else Is.RANGE


def _on_device(category: str, name: str) -> Is:
    if category in _KERNELS:
        return Is.KERNEL | (Is.COMMUNICATION if _is_of_library(name) else Is(0))
    return Is.COPY if category in _COPIES else Is(0)


def _is_of_library(name: str) -> bool:
    """Return whether a kernel, or an operation of XLA or TensorFlow, belongs to a library that communicates. Compilers
    name kernels after everything that is computed in them."""
    head = _HEAD.match(name)
    return head is not None and not name.startswith("triton_") and _LIBRARY.search(head[0]) is not None


def _of_job(category: str, name: str) -> Is:
    job = _ENDING.sub("", name)
    if category != "job" and not (job in _JOBS and category in (job, *_ANNOTATIONS)):
        return Is(0)
    return Is.JOB | (Is.COMMUNICATION if job.startswith(_TALKING) else Is(0))


def _uncategorized(name: str, task: str = "", numbered: bool = False) -> Is:
    """Return the kind of work without a category: of an Ascend NPU, which has a "Task Type", or of XLA, by the names of
    its operations; steps of JAX."""
    if name.startswith("hcom_"):
        return Is.KERNEL | Is.COMMUNICATION
    if task:
        core = re.search("core|cpu|mix_|aiv", task, re.IGNORECASE | re.ASCII)
        return Is.KERNEL if core else Is.COPY if re.search("memcpy|sdma", task, re.IGNORECASE | re.ASCII) else Is(0)
    if numbered:
        return Is.RANGE
    # A name that begins with "$" is a Python function.
    talks = not name.startswith("$") and (name.startswith(_OPERATIONS) or _is_of_library(name))
    return _TALKS if talks else Is(0)


def _of_xla(thread: Is, name: str, number: int | None) -> Is:
    if thread == Is.STEP:
        return Is.AROUND if number is None else Is.STEP
    if thread == Is.AROUND:
        return Is.AROUND
    if thread == Is.KERNEL:
        copies = re.search("memcpy|memset", name, re.IGNORECASE | re.ASCII)
        return Is.COPY if copies else _grouped(_on_device("kernel", name), name)
    talks = _uncategorized(name)
    return _grouped(Is.OPERATOR | (talks or thread), name)


def _grouped(kind: Is, name: str) -> Is:
    """Add COLLECTIVE to communication of all ranks."""
    group = kind & Is.COMMUNICATION and not kind & Is.JOB
    return kind | Is.COLLECTIVE if group and not re.search("send|recv", name, re.IGNORECASE | re.ASCII) else kind
