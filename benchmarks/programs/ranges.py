"""Ranges whose names never repeat: python ranges.py COUNT."""

import sys

import torch


def main(count: int) -> None:
    tensor = torch.ones(1)
    for number in range(count):
        with torch.profiler.record_function(f"iteration {number}"):
            tensor.view(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
