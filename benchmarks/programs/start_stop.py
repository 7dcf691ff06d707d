"""Start and stop a recording; prints the milliseconds of processor time that the two took together."""

import tempfile
from time import process_time

import torch

import fastdispatch


def main() -> None:
    torch.ones(1) + 1  # a program has run operators before
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        begin = process_time()
        graph = fastdispatch.CallGraph(folder)
        graph.start()
        graph.stop()
        print((process_time() - begin) * 1e3)


if __name__ == "__main__":
    main()
