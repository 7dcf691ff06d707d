"""Memory of the GPU against PyTorch's own figures: the peak, retries, a failed allocation, and a killed process.

Usage: python -m tests.gpu.allocator RUN return|kill, which trains, provokes a retry and a failure, and prints figures.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile

import torch

import fastdispatch
from fastdispatch.measures.memory_report import UNRECORDED, memory_report

WIDTH, LAYERS, ROWS = 4096, 4, 512
UNIT = 1 << 26


def provoke_retry_and_failure() -> list[torch.Tensor]:
    """Leave 16 freed blocks in the cache of the allocator, and bound it so that a larger one requires their release;
    then request more than the GPU has. Return the blocks that are live then."""
    kept = [torch.empty(UNIT, dtype=torch.uint8, device="cuda") for _ in range(16)]
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + UNIT) / total)
    kept.clear()
    kept.append(torch.empty(15 * UNIT, dtype=torch.uint8, device="cuda"))
    with contextlib.suppress(torch.OutOfMemoryError):
        torch.empty(total, dtype=torch.uint8, device="cuda")
    return kept


def main(run: str, end: str) -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).cuda()
    rows = torch.randn(ROWS, WIDTH, device="cuda")
    figures = {"earlier": torch.cuda.memory_allocated(), "retries": -torch.cuda.memory_stats()["num_alloc_retries"]}
    with fastdispatch.CallGraph(run, measure="memory"):
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            model(rows).square().mean().backward()
            optimizer.step()
        kept = provoke_retry_and_failure()
        figures["peak"] = torch.cuda.max_memory_allocated()
        figures["allocated"], figures["reserved"] = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
        figures["retries"] += torch.cuda.memory_stats()["num_alloc_retries"]
        figures["most reserved"] = torch.cuda.max_memory_reserved()
        print(json.dumps(figures), flush=True)
        if end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        del kept


def memory_against_the_allocator(device: str) -> str:
    """The peak, its parts, the retries and the bytes allocated at a failure are those of torch.cuda, within 1 %, also
    in the file of a killed process."""
    line = ""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-gpu-") as folder:
        command = [sys.executable, "-m", "tests.gpu.allocator"]
        pipe = subprocess.PIPE
        started = {  # at the same time, because imports take long
            end: subprocess.Popen([*command, f"{folder}/{end}", end], text=True, stdout=pipe, stderr=pipe)
            for end in ("return", "kill")
        }
        for end, process in started.items():
            output, errors = process.communicate(timeout=120)
            assert process.returncode == (-signal.SIGKILL if end == "kill" else 0), errors
            figures = json.loads(output.splitlines()[-1])
            found = memory_report(fastdispatch.load(f"{folder}/{end}"))
            (gpu,) = (each for each in found.devices if each.device == "cuda:0")
            failed = gpu.refused
            assert failed is not None and failed.failures == 1
            weights = 4 * LAYERS * (WIDTH * WIDTH + WIDTH)
            pairs = {
                "peak": (gpu.peak, figures["peak"]),
                "parts of the peak": (sum(gpu.parts.values()), figures["peak"]),
                "from before": (gpu.parts[UNRECORDED], figures["earlier"]),
                "optimizer state": (gpu.parts["optimizer state"], 2 * weights),
                "allocated at the failure": (failed.allocated, figures["allocated"]),
                "held at the failure": (sum(failed.parts.values()), figures["allocated"]),
                "reserved at the failure": (failed.reserved, figures["reserved"]),
            }
            wrong = {name: pair for name, pair in pairs.items() if abs(pair[0] - pair[1]) > 0.01 * pair[1]}
            assert not wrong, (end, wrong)
            if end == "return":
                assert gpu.retries == figures["retries"] >= 2, (gpu.retries, figures["retries"])
                assert gpu.reserved == figures["most reserved"] >= gpu.at_peak.reserved, (gpu.reserved, figures)
                line = f"peak {gpu.peak} bytes, torch.cuda {figures['peak']}; {gpu.retries} retries"
    return line


if __name__ == "__main__":
    main(*sys.argv[1:])
