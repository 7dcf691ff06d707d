"""et_replay on execution traces, without a GPU: what it would run, and whether it did, as JSON.
Usage: replay.py FOLDER ET..., with the folder that has et_replay. Runs where PyTorch is."""

import contextlib
import importlib
import json
import sys
import time
from types import ModuleType
from unittest import mock

import torch

#: Imports that our traces do not use: a package, and names that newer PyTorch does not have.
PACKAGES = ("fbgemm_gpu", "fbgemm_gpu.split_table_batched_embeddings_ops")
NAMES = (
    ("torch._inductor.codecache", "TritonFuture"),
    ("torch._inductor.runtime.triton_heuristics", "grid"),
    ("torch._inductor.runtime.triton_heuristics", "split_scan_grid"),
)


class Event:
    """Of CUDA, by the clock of the host."""

    def __init__(self, **_: object) -> None:
        self.time = 0.0

    def record(self) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, later: "Event") -> float:
        return (later.time - self.time) * 1e3


def load(folder: str) -> ModuleType:
    sys.path.append(folder)
    sys.modules.update({name: mock.MagicMock() for name in PACKAGES})
    for module, name in NAMES:
        found = importlib.import_module(module)
        if not hasattr(found, name):
            setattr(found, name, mock.MagicMock())
    torch.cuda.Event = Event
    torch.cuda.synchronize = torch.cuda.empty_cache = lambda *_: None
    module = importlib.import_module("et_replay.tools.et_replay")
    module.time.sleep = lambda _: None
    return module


def replay(module: ModuleType, path: str) -> dict[str, object]:
    sys.argv = ["et_replay", "--input", path, "--cpu", "--compute", "--warmup-iter", "1", "--iter", "1"]
    manager = module.ExgrReplayManager()
    manager.readComputeArgs()
    manager.initBench()
    result = manager.benchTime()
    return {
        "finished": result["execution finished"],
        "operators": [node.name for node in manager.sorted_nodes],
        "skipped": manager.actual_skip_nodes_cnt,
    }


with contextlib.redirect_stdout(sys.stderr):
    et_replay = load(sys.argv[1])
    rows = [replay(et_replay, path) for path in list(sys.argv[2:])]
json.dump(rows, sys.stdout)
