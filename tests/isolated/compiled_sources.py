"""Compile a module with Inductor, which tracks the provenance of its kernels.

Arguments: the recording, the folder of Inductor's cache.
"""

import os
import sys

os.environ["TORCHINDUCTOR_CACHE_DIR"] = sys.argv[2]

import torch
import torch._inductor.config as options

import fastdispatch

options.cpp.simdlen = 1  # the machine is not asked for its instructions
options.cpp_cache_precompile_headers = False
options.compile_threads = 1
options.trace.provenance_tracking_level = 1


def activation(x: torch.Tensor) -> torch.Tensor:
    y = x.relu()
    return y + 1


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return activation(x).sum()


with fastdispatch.CallGraph(sys.argv[1]):
    torch.compile(Net())(torch.ones(4, 8, requires_grad=True)).backward()
