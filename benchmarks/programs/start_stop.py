"""Start and stop a recording; prints the milliseconds that the two took together."""

from __future__ import annotations

import tempfile
from time import perf_counter

import torch

import fastdispatch


def main() -> None:
    torch.ones(1) + 1  # a program has run operators before
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        begin = perf_counter()
        graph = fastdispatch.CallGraph(folder)
        graph.start()
        graph.stop()
        print((perf_counter() - begin) * 1e3)


if __name__ == "__main__":
    main()
