"""Cost of kernels and of marks on CUDA streams, on a small training on a GPU.

Unlike the other subjects it is timed by the clock on the wall, from one synchronisation to the next: the GPU's time
counts too. Without a GPU it measures nothing and prints the reason.
"""

from benchmarks.figures import Result
from benchmarks.gpu import kernels, marks
from benchmarks.gpu.training import make_step
from benchmarks.measure import Effort


def measure(effort: Effort) -> Result:
    import torch

    result = Result()
    if not torch.cuda.is_available():
        result.skip("gpu", "PyTorch has no GPU to use here (torch.cuda.is_available() is false)")
        return result
    measure_on("cuda", effort, result)
    return result


def measure_on(device: str, effort: Effort, result: Result) -> None:
    step = make_step(device)
    for _ in range(3):
        step()
    marks.cost(result, step, effort)
    marks.drain(result, step, effort)
    kernels.calls_added(result, step, effort)
