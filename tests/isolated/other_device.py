"""A recording on a device without timers: a backend of PyTorch in Python is the stand-in for XPU, NPU and others.

Arguments: folder for the recording. Prints the error of ``gpu="require"``.
"""

import sys

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import fastdispatch

_setup_privateuseone_for_python_backend("npy")
with fastdispatch.CallGraph(sys.argv[1]) as graph:
    for _ in range(3):
        torch.ones(2).sum()
        graph.step()
try:
    fastdispatch.CallGraph(f"{sys.argv[1]}-2", gpu="require").start()
except fastdispatch.Error as error:
    print(error)
