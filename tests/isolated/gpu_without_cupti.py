"""Record a training that seems to use a GPU, in a process without CUPTI.

Arguments: folder of the libraries of tests/standin, folder for the recording. Prints what ``fastdispatch doctor`` does.
"""

import ctypes
import sys
from pathlib import Path

import torch

import fastdispatch
from fastdispatch.record import doctor

folder, out = sys.argv[1:]
ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(f"{folder}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
(check,) = [each for each in doctor.checks(Path(out).parent) if each.id == "gpu"]
print(check.text)
with fastdispatch.CallGraph(out) as graph:
    for _ in range(3):
        torch.nn.Linear(2, 2)(torch.ones(2, 2))
        graph.step()
