"""Calls of CUDA's runtime that marks add to a step."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from benchmarks.figures import Result
from benchmarks.gpu.marks import recorded
from benchmarks.measure import Effort

Events = list[dict[str, Any]]
_STEPS = 10

#: Runtime calls that wait for the GPU.
WAITING = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cuCtxSynchronize")


@contextmanager
def profiled(into: Events) -> Iterator[None]:
    """What torch.profiler saw: kernels (``kernel``) and calls of the runtime (``cuda_runtime``) among all else."""
    kinds = torch.profiler.ProfilerActivity
    wanted = [kind for kind in (kinds.CPU, kinds.CUDA) if kind in torch.profiler.supported_activities()]
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        with torch.profiler.profile(activities=wanted) as profile:
            yield
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        into += json.loads(path.read_text())["traceEvents"]


def runtime_calls(step: Callable[[], None], gpu: str | None, steps: int) -> Counter[str]:
    """Calls of CUDA's runtime by name, in so many steps; ``gpu`` None: nothing records."""
    events: Events = []
    with nullcontext() if gpu is None else recorded(gpu) as graph:
        step()
        if graph is not None:
            graph.step()
        torch.cuda.synchronize()
        with profiled(events):
            for _ in range(steps):
                step()
                if graph is not None:
                    graph.step()
    return Counter(event["name"] for event in events if event.get("cat") == "cuda_runtime")


#: Function that counts calls; replaced by a test on a runtime unknown to torch.profiler.
Count = Callable[[Callable[[], None], str | None, int], Counter[str]]


def calls_added(result: Result, step: Callable[[], None], effort: Effort, count: Count = runtime_calls) -> None:
    steps = 2 if effort.quick else _STEPS
    plain, marked = count(step, None, steps), count(step, "functions", steps)
    if not plain and not marked:
        result.skip("calls of CUDA's runtime", "torch.profiler saw none")
        return
    for name in sorted(marked.keys() | plain.keys()):
        if marked[name] != plain[name] or name in WAITING:
            bar = 0 if name in WAITING else None
            result.add(f"calls added to a step: {name}", [(marked[name] - plain[name]) / steps], "count", bar)
