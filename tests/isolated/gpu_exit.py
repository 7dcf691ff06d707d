"""A process that ends while the stand-in CUPTI of tests/standin has buffers with records.

Arguments: folder of the libraries, folder for the recording, form of the end. Prints the time in which the GPU can be
busy, ns.
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
begins = []
for _ in range(30 if end == "kill" else 5):
    begins.append(time.time_ns())
    cupti.standin_cupti_launch(b"kernel", 100, 0)
    graph.step()
    time.sleep(0.001)
print(begins[-1] - begins[3], flush=True)
if end == "raise":
    raise ValueError("planted")
if end == "kill":
    for _ in range(500):  # the thread of the recorder reads at least every 0.1 s
        devices = fastdispatch.load(out).meta.get("gpu_kernels", {}).get("devices", [])
        if sum(device["window_ns"] for device in devices) >= 0.8 * (begins[-1] - begins[3]):
            break
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
