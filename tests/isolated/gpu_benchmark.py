"""Run benchmarks/gpu on the CPU with the stand-in CUDA runtime. Argument: folder of the libraries. Prints figures."""

import ctypes
import json
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from benchmarks import gpu
from benchmarks.figures import Result
from benchmarks.gpu import kernels, marks, training
from benchmarks.measure import Effort

folder = sys.argv[1]
CALLS = ("cudaEventRecord", "cudaEventQuery", *kernels.WAITING[:3])
without = gpu.measure(Effort(quick=True)).to_json()

cuda = ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
cuda.standin_calls.restype = ctypes.c_uint64
ctypes.CDLL(f"{folder}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
torch.cuda.synchronize = lambda: None
training.LAYERS, training.WIDTH, training.ROWS = 1, 8, 4


def count(step: Callable[[], None], marked: str | None, steps: int) -> Counter[str]:
    with nullcontext() if marked is None else marks.recorded(marked) as graph:
        step()
        if graph is not None:
            graph.step()
        before = {name: cuda.standin_calls(name.encode()) for name in CALLS}
        for _ in range(steps):
            step()
            if graph is not None:
                graph.step()
        return Counter({name: cuda.standin_calls(name.encode()) - before[name] for name in CALLS})


kernels.calls_added.__defaults__ = (count,)
result = Result()
gpu.measure_on("cpu", Effort(quick=True), result)
print(json.dumps({"without": without, "with": result.to_json()}))
