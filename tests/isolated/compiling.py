"""Compile a function with a graph break for inputs that need recompilations, recorded to the first argument."""

import sys

import torch

import fastdispatch


def inner(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return x + 1


@torch.compile(backend="eager")
def compiled(x: torch.Tensor) -> torch.Tensor:
    return inner(x * 2).sum()


@torch.compile(backend="eager")
def earlier(x: torch.Tensor) -> torch.Tensor:
    return x + 1


with fastdispatch.CallGraph(f"{sys.argv[1]}/before"):
    earlier(torch.ones(2))
with fastdispatch.CallGraph(f"{sys.argv[1]}/during"):
    sums = [compiled(torch.ones(*shape)).item() for shape in ((2, 2), (3, 3), (2, 2, 2))]
    compiled(torch.ones(2, 2))
with fastdispatch.CallGraph(f"{sys.argv[1]}/after"):
    sums.append(compiled(torch.ones(2, 2)).item())
assert sums == [12.0, 27.0, 24.0, 12.0]
