"""Kinds of slices by their categories and names."""

import pytest

pytest.importorskip("numpy")

from fastdispatch.read.event_rows import NO_STEP, Has
from fastdispatch.read.slice_kinds import Is, kind_of_slice

GROUP = Is.COMMUNICATION | Is.COLLECTIVE


def found(
    category: str, name: str, *, thread: str = "", task: str = "", numbered: str = "", collective: str = ""
) -> Is:
    return Is(kind_of_slice("\0".join((category, thread, task, numbered, collective, name)))[0])


CASES = {
    ("user_annotation", "ProfilerStep#12"): Is.STEP,
    ("gpu_user_annotation", "ProfilerStep#12"): Is.GPU_STEP,
    ("", "ProfilerStep#1x"): 0,
    ("step", "step 12"): Is.STEP,
    ("Step", "step12"): Is.STEP,
    ("x.py", "step 12"): 0,
    ("kernel", "gemm"): Is.KERNEL,
    ("kernel", "ncclDevKernel_AllReduce_Sum"): Is.KERNEL | GROUP,
    ("kernel", "ncclKernel_SendRecv"): Is.KERNEL | Is.COMMUNICATION,
    ("kernel", "oneccl_allreduce_small<float>"): Is.KERNEL | GROUP,
    ("kernel", "void vllm::cross_device_reduce_1stage<bf16>"): Is.KERNEL | GROUP,
    ("kernel", "two_shot_AllReduce"): Is.KERNEL | GROUP,
    ("kernel", "triton_poi_fused_all_reduce_0"): Is.KERNEL,
    ("kernel", "void f<nccl>(int)"): Is.KERNEL,
    ("kernel", "void (anonymous namespace)::nccl_x(int)"): Is.KERNEL | GROUP,
    ("cuda", "ncclDevKernel_SendRecv"): Is.KERNEL | Is.COMMUNICATION,
    ("gpu_memcpy", "Memcpy HtoD"): Is.COPY,
    ("cuda_runtime", "cudaLaunchKernel"): Is.RUNTIME,
    ("cuda_driver", "cuLaunchKernel"): Is.RUNTIME,
    ("Runtime", "cudaLaunchKernel"): Is.RUNTIME,
    ("cuda_api", "cudaLaunchKernel"): Is.RUNTIME,
    ("_runtime", "f"): 0,
    ("nvtx", "step"): Is.RANGE,
    ("nvtx-kernel", "step"): Is.AROUND,
    ("gpu_user_annotation", "nccl:all_reduce"): Is.AROUND,
    ("Trace", "PyTorch Profiler (0)"): Is.AROUND,
    ("phase", "phase: other"): Is.AROUND,
    ("phase", "other"): 0,
    ("user_annotation", "gloo:all_reduce"): Is.BACKEND | GROUP,
    ("cpu_op", "c10d::allreduce_"): Is.CALL | GROUP,
    ("cpu_op", "c10d::send"): Is.CALL | Is.COMMUNICATION,
    ("cpu_op", "aten::mm"): Is.OPERATOR,
    ("autograd", "MmBackward0"): Is.OPERATOR,
    ("forward", "forward_3"): Is.JOB,
    ("job", "anything mb4"): Is.JOB,
    ("job", "send_forward mb4"): Is.JOB | Is.COMMUNICATION,
    ("range", "backward"): Is.JOB,
    ("a.py", "backward"): 0,
    ("user_annotation", "Optimizer.step#AdamW.step"): Is.OPTIMIZER,
    ("user_annotation", "batch 3"): Is.RANGE,
    ("user_annotation", "enumerate(DataLoader)#_S.__next__"): 0,
    ("", "all-reduce-start.1"): Is.BACKEND | GROUP,
    ("", "hcom_allReduce__558_0"): Is.KERNEL | GROUP,
    ("", "$all_reduce a.py:3"): 0,
    ("", "fusion.1"): 0,
    ("", ""): 0,
}


@pytest.mark.parametrize(("category", "name"), CASES)
def test_kinds(category: str, name: str) -> None:
    assert found(category, name) == CASES[category, name]


def test_kinds_by_arguments() -> None:
    assert found("kernel", "strange", collective="1") == Is.KERNEL | GROUP
    assert found("", "MatMulV2", task='"AI_CORE"') == Is.KERNEL
    assert found("", "MEMCPY", task='"MEMCPY_ASYNC"') == Is.COPY
    assert found("", "EVENT", task='"EVENT_WAIT"') == 0
    assert found("", "train", numbered="1") == Is.RANGE


def test_threads_of_xla() -> None:
    """They decide on slices without a category."""
    assert found("", "7", thread="Steps") == Is.STEP and found("", "x", thread="Steps") == Is.AROUND
    assert found("", "copy.1", thread="Async XLA Ops") == Is.OPERATOR | Is.ASYNC
    assert found("", "all-reduce.1", thread="XLA Ops") == Is.OPERATOR | Is.BACKEND | GROUP
    assert found("", "MemcpyD2H", thread="Stream #14(Compute)") == Is.COPY
    assert found("", "ncclDevKernel_AllReduce", thread="Stream #3") == Is.KERNEL | GROUP
    assert found("", "jit_f", thread="XLA Modules") == Is.AROUND
    assert found("cpu_op", "7", thread="Steps") == Is.OPERATOR


@pytest.mark.parametrize(
    ("name", "number", "end"),
    [("batch 3", 3, 2), ("b_12", 12, 3), ("b mb1", 1, 4), ("b #4", 4, 3), ("b#4", 4, 2), ("v2", NO_STEP, 0),
     ("_3", NO_STEP, 0), ("b_99999999999999999999", NO_STEP, 21)],
)  # fmt: skip
def test_numbers_at_the_end_of_names(name: str, number: int, end: int) -> None:
    assert kind_of_slice(f"user_annotation\0\0\0\0\0{name}")[2:] == (number, end)


def test_numbers_of_steps() -> None:
    assert kind_of_slice("step\0\0\0\0\0step 7")[2] == kind_of_slice("\0Steps\0\0\0\0step 7")[2] == 7


def test_properties() -> None:
    def of(category: str, name: str) -> Has:
        return Has(kind_of_slice(f"{category}\0\0\0\0\0{name}")[1])

    assert of("kernel", "gemm") == Has.KERNEL | Has.WORK | Has.DEVICE | Has.PROFILED
    assert of("kernel", "nccl") == Has.KERNEL | Has.WORK | Has.PROFILED
    assert of("gpu_user_annotation", "ProfilerStep#1") == Has.GPU_STEP | Has.PROFILED
    assert of("cuda_runtime", "f") == Has.LAUNCH | Has.PROFILED
    assert of("step", "step 1") == Has.STEP and of("python", "f") == 0
