"""What the default costs a run of 600 steps, by processor time, and what the recording says that it costs."""

from __future__ import annotations

import tempfile
import time

import torch

import fastdispatch
from benchmarks import training
from benchmarks.figures import Result
from benchmarks.measure import Effort
from fastdispatch.read.recording_cost import recording_cost

#: Goal: the ratio to the untraced run.
_MOST = 1.01

_STEPS = 600


def _time_of(step: training.Step) -> int:
    begin = time.process_time_ns()
    for _ in range(_STEPS):
        step()
    return time.process_time_ns() - begin


def measure(effort: Effort) -> Result:
    result = Result()
    torch.set_num_threads(1)
    _, step = training.model_and_step(batch=1, context=16, width=32, heads=2)
    over, stated = [], []
    before = _time_of(step)
    for _ in range(effort.rounds):
        with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
            begin = time.process_time_ns()
            with fastdispatch.CallGraph(folder):
                _time_of(step)
            recorded = time.process_time_ns() - begin
            stated.append(1 + (recording_cost(fastdispatch.load(folder).ranks).share or 0))
        after = _time_of(step)
        over.append(2 * recorded / (before + after))
        before = after
    result.add(f"default, {_STEPS} short steps / untraced", over, "x", _MOST)
    result.add("the same, as the recording states it", stated, "x")
    return result
