"""Trainings on the CPU with a simulated GPU (tests/standin) for the findings that need one.

Arguments: folder of the libraries, folder for the recordings.
"""

import ctypes
import sys
import time

import torch

import fastdispatch

folder, out = sys.argv[1:]
ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(f"{folder}/libcupti.so.13", mode=ctypes.RTLD_GLOBAL)
cupti.standin_cupti_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1

STEPS = 12
retries = 0  # of the simulated allocator
kernel_ns = 0
pause = 0.0  # before the first launch of a step


@torch.library.custom_op("standin::work", mutates_args=())
def _work(x: torch.Tensor) -> torch.Tensor:
    cupti.standin_cupti_launch(b"work", kernel_ns, 0)
    return x.clone()


_work.register_autograd(lambda context, gradient: gradient)


def statistics(device: int) -> dict[str, int]:
    return {"num_alloc_retries": retries}


def train_step(weight: torch.Tensor) -> None:
    x = weight
    time.sleep(pause)
    for _ in range(10):
        x = torch.ops.standin.work(x)
    x.sum().backward()


def run(name: str, kernel: int, *, retrying: bool) -> None:
    global kernel_ns, pause, retries
    cupti.standin_cupti_reset()
    kernel_ns = kernel
    pause = 0.0 if kernel > 1_000_000 else 0.003
    weight = torch.ones(4, requires_grad=True)
    with fastdispatch.CallGraph(f"{out}/{name}", gpu="require") as graph:
        for _ in range(STEPS):
            train_step(weight)
            retries += retrying
            graph.step()


torch.cuda.memory_stats = statistics
run("late", 2_000, retrying=False)
run("busy", 2_000_000, retrying=False)
run("retries", 2_000_000, retrying=True)
del torch.cuda.memory_stats
run("unknown", 2_000_000, retrying=False)
