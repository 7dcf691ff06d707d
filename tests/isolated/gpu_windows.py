"""Recordings that end or pause while the GPU lags behind; the stand-in runtime of tests/standin is preloaded.

Arguments: folder of the libraries, folder for the recordings, and optionally the name of the only run. Prints one JSON
object: for each run the number of sleeps of the recorder, and more.
"""

import atexit
import contextlib
import ctypes
import json
import signal
import sys
import threading
import time
from collections.abc import Callable

import torch

import fastdispatch

folder, out, only = (*sys.argv[1:], "")[:3]
cuda = ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(f"{folder}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
cuda.standin_calls.restype = cuda.standin_sleeps.restype = ctypes.c_uint64
cuda.standin_launch.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
cuda.standin_clock.argtypes = cuda.standin_pass.argtypes = [ctypes.c_uint64]
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True
LONG = 3_600_000_000_000  # ns of a kernel; the clock is stopped


@torch.library.custom_op("standin::work", mutates_args=())
def _work(x: torch.Tensor) -> torch.Tensor:
    cuda.standin_launch(None, LONG)
    return x.clone()


#: Called without its Python object: PyTorch 2.14 makes no record of calls of that.
work = torch.ops.standin.work


def idle(x: torch.Tensor) -> None:
    pass


def first(x: torch.Tensor) -> None:
    work(x)


def second(x: torch.Tensor) -> None:
    work(x)


def third(x: torch.Tensor) -> None:
    work(x)


def slept() -> int:
    return cuda.standin_sleeps(b"fastdispatch/_core")


def timed(graph: fastdispatch.CallGraph) -> dict[str, int]:
    """The number of calls with an interval, by function."""
    trace = fastdispatch.Trace(graph._session.trace())
    names = [trace.nodes["name"][node] for node in trace.contexts["node"]]
    return {name: trace.contexts["gpu_calls"][row] for row, name in enumerate(names) if name in FUNCTIONS}


FUNCTIONS = ("first", "second", "third")


def marked(name: str, **options: object) -> fastdispatch.CallGraph:
    graph = fastdispatch.CallGraph(f"{out}/{name}", gpu="require:*:first,*:second,*:third", **options)
    graph._gpu_always = True
    return graph


def windows(name: str) -> dict[str, object]:
    """Three windows of one step each; the GPU finishes the first one only after the last one."""
    cuda.standin_clock(10**12)
    seen: list[dict[str, int]] = []
    x = torch.ones(3)
    with marked(
        name,
        schedule=fastdispatch.schedule(wait=1, warmup=0, active=1, repeat=3),
        on_trace_ready=lambda graph: seen.append(timed(graph)),
    ) as graph:
        for step in (idle, first, idle, second, idle, third, idle):
            step(x)
            graph.step()
        asked = cuda.standin_calls(b"cudaEventQuery")
        cuda.standin_pass(10 * LONG)
        for _ in range(2):
            graph.step()  # outside of all windows
        last = timed(graph)
        slept_in_hooks = slept()
    return {"ready": seen, "asked": asked, "last": last, "slept_in_hooks": slept_in_hooks}


def behind(name: str) -> fastdispatch.CallGraph:
    """A recording whose kernels the GPU does not finish on its own."""
    cuda.standin_clock(10**12)
    graph = marked(name)
    graph.start()
    for _ in range(3):
        first(torch.ones(3))
        graph.step()
    return graph


def freed(name: str) -> dict[str, object]:
    """Another Python thread lets the GPU continue, after stop() has begun to wait."""
    graph = behind(name)
    before = cuda.standin_calls(b"cudaEventQuery")

    def go_on() -> None:
        while cuda.standin_calls(b"cudaEventQuery") < before + 50:
            time.sleep(0.001)
        cuda.standin_pass(10 * LONG)

    thread = threading.Thread(target=go_on)
    thread.start()
    graph.stop()
    cuda.standin_pass(LONG)
    thread.join()
    return {}


def patient(name: str) -> dict[str, object]:
    behind(name).stop()
    return {}


def raised(name: str) -> dict[str, object]:
    try:
        with contextlib.ExitStack() as stack:
            stack.push(behind(name))
            raise ValueError("planted")
    except ValueError:
        return {}


def left(name: str) -> dict[str, object]:
    """By sys.exit(), which is a normal end."""
    graph = behind(name)
    try:
        sys.exit()
    except SystemExit:
        graph.stop()
    return {}


def in_error(name: str) -> dict[str, object]:
    graph = behind(name)
    cuda.standin_leave_error(700)
    graph.stop()
    return {"error": cuda.cudaGetLastError()}


def interrupted(name: str) -> dict[str, object]:
    graph = behind(name)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        graph.stop()
    except KeyboardInterrupt:
        return {"interrupted": True}
    return {"interrupted": False}


def uncaught(name: str) -> dict[str, object]:
    atexit.register(lambda: print(json.dumps({name: {"slept": slept()}})))
    behind(name)
    raise ValueError("planted")


RUNS: list[Callable[[str], dict[str, object]]]
RUNS = [windows, freed, patient, raised, left, in_error, interrupted, uncaught]
work(torch.ones(3))  # the first call imports a compiler
printed = {}
for run in RUNS:
    if only == run.__name__ or (not only and run is not uncaught):
        cuda.standin_reset()
        printed[run.__name__] = run(run.__name__) | {"slept": slept()}
print(json.dumps(printed))
