"""Trainings on the CPU with a simulated GPU: the stand-ins of tests/standin are its CUDA runtime.

Arguments: folder of the libraries, folder for the recordings, and optionally the name of the only run, its library, and
that of its streams.
Prints one JSON object, by the names of RUNS.
"""

import ctypes
import json
import sys
import time

import torch

import fastdispatch

given = sys.argv[3:]
folder, out = sys.argv[1:3]
only, library, streams_library = [*given, *("", "libcudart.so.13", "libc10_cuda.so")[len(given) :]]
cuda = ctypes.CDLL(f"{folder}/{library}", mode=ctypes.RTLD_GLOBAL)
last_error = cuda.hipGetLastError if library.startswith("libamdhip64") else cuda.cudaGetLastError
cuda.standin_calls.restype = ctypes.c_uint64
cuda.standin_launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True

RUNS = {  # contexts, additional events
    "old": ("functions", ""),  # first, before libc10_cuda is loaded: the stream is read from Python
    "sampled": ("functions", ""),
    "all": ("functions", "timeline"),
    "jobs": ("jobs", "timeline"),
    "named": ("modules,*:train_step", ""),
    "raise": ("functions", "raise"),
    "error": ("functions", "error"),
}
SAMPLED = {"sampled": 42, "jobs": 56}  # the others have 10 steps, all with marks
trouble = ""
losses: list[float] = []
asked: list[int] = []


@torch.library.custom_op("standin::work", mutates_args=())
def _work(x: torch.Tensor) -> torch.Tensor:
    cuda.standin_launch(None, 300_000)
    if trouble == "raise" and len(losses) == 4:
        raise ValueError("in the middle")
    return x.clone()


#: Called without its Python object: PyTorch 2.14 makes no record of calls of that.
work = torch.ops.standin.work
_work.register_autograd(lambda context, gradient: gradient)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(work(torch.relu(self.first(x))))


def train_step(net: Net, x: torch.Tensor) -> None:
    """Without an optimizer of PyTorch: the first one imports its compiler, which takes two seconds."""
    net.zero_grad()
    with fastdispatch.job("forward", len(losses), stage=0):
        loss = net(x).square().mean()
    losses.append(loss.item())
    loss.backward()
    with torch.no_grad():
        for weight in net.parameters():
            weight.sub_(0.1 * weight.grad)


def train(graph: fastdispatch.CallGraph, net: Net, x: torch.Tensor, steps: int) -> None:
    for _ in range(steps):
        if trouble == "error" and len(losses) == 4:
            cuda.standin_fail(b"cudaEventRecord", 5, 700, 1)
        try:
            train_step(net, x)
        except ValueError:
            losses.append(0.0)
        graph.step()
        if trouble == "timeline":
            time.sleep(0.002)  # the kernel of a step ends before the next step, also on a fast machine


def run(name: str) -> dict[str, object]:
    global trouble
    contexts, trouble = RUNS[name]
    losses.clear()
    cuda.standin_reset()
    torch.manual_seed(0)
    net = Net()
    x = torch.randn(4, 8)
    gpu = fastdispatch.Gpu(contexts, require=True)
    more = {"timeline": trouble == "timeline"}
    more |= {"schedule": lambda step: 2 * (step % 4 > 0)} if name == "jobs" else {"steps": "all"}
    graph = fastdispatch.CallGraph(f"{out}/{name}", gpu=gpu, **more)
    graph._gpu_always = name not in SAMPLED
    with graph:
        train(graph, net, x, SAMPLED.get(name, 10))
    waits = (b"cudaEventSynchronize", b"cudaStreamSynchronize", b"cudaDeviceSynchronize")
    return {
        "losses": list(losses),
        "waits": sum(map(cuda.standin_calls, waits)),
        "records": cuda.standin_calls(b"cudaEventRecord"),
        "error": last_error(),
        "asked": len(asked),
    }


torch._C._cuda_getCurrentRawStream = lambda device: asked.append(device) or 0
printed = {"old": run("old")} if not only else {}
ctypes.CDLL(f"{folder}/{streams_library}", mode=ctypes.RTLD_GLOBAL)
asked.clear()
printed |= {name: run(name) for name in RUNS if (name == only if only else name != "old")}
print(json.dumps(printed))
