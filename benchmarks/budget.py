"""Cost of the default in whole runs, by processor time, beside the cost that the recordings state."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from statistics import median

import torch

import fastdispatch
from benchmarks.figures import Result
from benchmarks.loops import LOOPS, Train
from benchmarks.measure import Effort
from fastdispatch.read.recording_cost import recording_cost

#: Goal: the ratio to the untraced run.
_MOST = 1.01


def _time_of(train: Train) -> int:
    gc.collect()  # garbage of an earlier run must not slow this one
    begin = time.process_time_ns()
    train()
    return time.process_time_ns() - begin


def _record(folder: str, train: Train) -> None:
    with fastdispatch.CallGraph(folder):
        train()


def ratios(train: Train, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Return ratios to the mean of the untraced runs before and after: measured, and stated by the recording with its
    error."""
    over, stated, errors = [], [], []
    train()
    gc.collect()
    gc.freeze()
    gc.disable()
    before = _time_of(train)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
            recorded = _time_of(partial(_record, folder, train))
            cost = recording_cost(fastdispatch.load(folder).ranks)
            stated.append(1 + (cost.share or 0))
            errors.append(cost.error or 0)
        after = _time_of(train)
        over.append(2 * recorded / (before + after))
        before = after
    return over, stated, errors


def _of_ranks(name: str, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Run a loop on as many ranks as its name says; return the ratios of rank 0."""
    world = 2 if "two ranks" in name else 1
    settings = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29571"}
    command = [sys.executable, "-m", "benchmarks.budget", name, str(rounds)]
    ranks = [
        subprocess.Popen(command, env=os.environ | settings | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(world)
    ]
    printed = [rank.communicate()[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise RuntimeError(f"exit status {ranks[0].returncode}")
    over, stated, errors = json.loads(printed[0].splitlines()[-1])
    return over, stated, errors


def measure(effort: Effort) -> Result:
    result = Result()
    for name in LOOPS:
        try:
            over, stated, errors = _of_ranks(name, effort.rounds)
        except RuntimeError as error:
            result.skip(name, str(error))
            continue
        result.add(f"{name}: default / untraced", over, "x", _MOST)
        result.add("the same, as the recording states it", stated, "x", None, f"± {median(errors):.3f}")
    return result


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(ratios(LOOPS[sys.argv[1]](), int(sys.argv[2]))))
