"""A process that ends while the stand-in CUPTI of tests/standin has buffers with records.

Arguments: folder of the libraries, folder for the recording, form of the end.
"""

import ctypes
import os
import signal
import sys
import time

import torch

import fastdispatch

folder, out, end = sys.argv[1:]
ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(f"{folder}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
cupti = ctypes.CDLL(f"{folder}/libcupti.so.13", mode=ctypes.RTLD_GLOBAL)
cupti.standin_cupti_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1

graph = fastdispatch.CallGraph(out, steps="all")
graph.start()
cupti.standin_cupti_delay(end != "kill")
for _ in range(5):
    cupti.standin_cupti_launch(b"kernel", 100, 0)
    graph.step()
if end == "raise":
    raise ValueError("planted")
if end == "kill":
    time.sleep(0.3)  # the thread of the recorder reads at least every 0.1 s
    os.kill(os.getpid(), signal.SIGKILL)
