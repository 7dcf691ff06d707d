"""Trainings on the CPU with a simulated GPU (tests/standin) for the findings that need one.

Arguments: folder of the libraries, folder for the recordings.
"""

import ctypes
import shutil
import sys
import time
from collections.abc import Callable

import torch

import fastdispatch

folder, out = sys.argv[1:]
ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(f"{folder}/libcupti.so.13", mode=ctypes.RTLD_GLOBAL)
cupti.standin_cupti_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
cupti.standin_cupti_copy.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64]
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda._lazy_init = lambda: None
torch.cuda._exchange_device = torch.cuda._maybe_exchange_device = lambda device: -1
torch._C._cuda_getDevice = lambda: 0
torch._C._cuda_synchronize = lambda: cupti.standin_cupti_wait()

STEPS = 12
retries = 0  # of the simulated allocator
kernel_ns, kernel_name = 0, "work"

#: Time of a kernel: the host launches faster, or slower.
LONG, SHORT = 5_000_000, 2_000


@torch.library.custom_op("standin::work", mutates_args=())
def _work(x: torch.Tensor) -> torch.Tensor:
    cupti.standin_cupti_launch(kernel_name.encode(), kernel_ns, 0)
    return x.clone()


@torch.library.custom_op("standin::item", mutates_args=())
def _item(x: torch.Tensor) -> torch.Tensor:
    cupti.standin_cupti_copy(2, 3, 1, 1_000, 4)
    cupti.standin_cupti_wait()
    return x.clone()


@torch.library.custom_op("standin::to_device", mutates_args=())
def _to_device(x: torch.Tensor, ns: int) -> torch.Tensor:
    cupti.standin_cupti_copy(1, 1, 3, ns, 4096)
    cupti.standin_cupti_wait()
    return x.clone()


@torch.library.custom_op("standin::product", mutates_args=())
def _product(x: torch.Tensor) -> torch.Tensor:
    cupti.standin_cupti_launch(b"gemm", SHORT, 0)
    return x.clone()


@fastdispatch.flop_formula("standin::work")
def _few(x: tuple[int, ...]) -> int:
    return x[0]


@fastdispatch.flop_formula("standin::product")
def _many(x: tuple[int, ...]) -> int:
    return 1000 * x[0]


_work.register_autograd(lambda context, gradient: gradient)
work, item, to_device = torch.ops.standin.work, torch.ops.standin.item, torch.ops.standin.to_device


def statistics(device: int) -> dict[str, int]:
    return {"num_alloc_retries": retries, "reserved_bytes.all.peak": 4 << 20}


def train_step(weight: torch.Tensor, kernels: int = 10) -> torch.Tensor:
    x = weight
    for _ in range(kernels):
        x = work(x)
    loss = x.sum()
    loss.backward()
    return loss


def late_step(weight: torch.Tensor) -> None:
    time.sleep(0.003)
    train_step(weight)


def reading_step(weight: torch.Tensor) -> None:
    for _ in range(10):
        item(work(weight.detach()))


def read_at_the_end(weight: torch.Tensor) -> None:
    item(train_step(weight).detach())


def waiting_step(weight: torch.Tensor) -> None:
    for _ in range(10):
        work(weight.detach())
        torch.cuda.synchronize()


def load_batch() -> torch.Tensor:
    time.sleep(0.005)
    return torch.ones(4)


def input_step(weight: torch.Tensor) -> None:
    train_step(weight * load_batch())


def copying_step(weight: torch.Tensor) -> None:
    for _ in range(8):
        to_device(weight.detach(), 2_000_000)
    train_step(weight, 2)


def chain(weight: torch.Tensor) -> torch.Tensor:
    for _ in range(10):
        weight = work(weight)
    return weight


def low_intensity_step(weight: torch.Tensor) -> None:
    torch.ops.standin.product(chain(weight.detach()))


def high_intensity_step(weight: torch.Tensor) -> None:
    for _ in range(10):
        torch.ops.standin.product(weight.detach())


def pinned_step(weight: torch.Tensor) -> None:
    for _ in range(8):
        cupti.standin_cupti_copy(1, 2, 3, 2_000_000, 4096)
    train_step(weight, 2)


def run(
    name: str,
    kernel: int,
    step: Callable[[torch.Tensor], object] = train_step,
    *,
    retrying: bool = False,
    launched: str = "work",
    measure: str = "",
) -> None:
    global kernel_name, kernel_ns, retries
    cupti.standin_cupti_reset()
    kernel_name, kernel_ns = launched, kernel
    weight = torch.ones(4, requires_grad=True)
    with fastdispatch.CallGraph(f"{out}/{name}", gpu="require", measure=measure) as graph:
        for _ in range(STEPS):
            step(weight)
            retries += retrying
            graph.step()
        if retrying:  # what would be left of a killed process
            shutil.copytree(f"{out}/{name}", f"{out}/{name} without an end")


torch.cuda.memory_stats = statistics
run("late", SHORT, late_step)
run("busy", LONG)
run("reads", SHORT, reading_step)
run("read at the end", 2 * LONG, read_at_the_end)
run("waits", SHORT, waiting_step)
run("input", SHORT, input_step)
run("hidden input", LONG, input_step)
run("copies", LONG // 5, copying_step)
run("pinned copies", LONG // 5, pinned_step)
run("float32", LONG, launched="sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_ffma_kernel")
run("float32 of CUTLASS", LONG, launched="cutlass_80_simt_sgemm_128x128_8x4_nn_align1")
run("tf32", LONG, launched="sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_tensor16x8x8_kernel")
run("tf32 of CUTLASS", LONG, launched="cutlass_80_tensorop_s1688gemm_256x128_16x3_nn_align4")
run("low intensity", LONG, low_intensity_step, measure="flops")
run("high intensity", LONG, high_intensity_step, measure="flops")
run("retries", LONG, retrying=True)
del torch.cuda.memory_stats
run("unknown", LONG)
