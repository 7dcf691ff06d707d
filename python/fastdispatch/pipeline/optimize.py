"""``optimize``: the fastest pipeline for a graph of layers (docs/guides/pipeline-partition.md)."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Any

from fastdispatch import _core
from fastdispatch.pipeline.candidates import PlanSearch, shortest_step
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.optimum import Optimum, optimized

MEMORY = ("none", "published", "stashed", "flushed")
SYNCHRONOUS = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-v")


def optimize(
    graph: Graph,
    machines: int | Sequence[int],
    bandwidths: float | Sequence[float] = 1e9,
    *,
    compression: float | None = None,
    straight: bool = False,
    fewer: bool = False,
    cut: str = "published",
    memory: str = "none",
    memory_size: float = 16e9,
    optimizer_bytes: float = 2.0,
    schedule: str | None = None,
    micro_batches: int = 8,
    watch: array[float] | None = None,
) -> Optimum:
    """Find the pipeline with the minimum time per stage (PipeDream), or a short step of a schedule.

    Parameters
    ----------
    machines, bandwidths:
        One number per level, innermost first; bytes per second.
    compression:
        Compression of sent activations. None: sending takes no time, as in the published optimizer.
    straight:
        One machine per stage.
    fewer:
        Machines may stay unused.
    cut:
        "published" also counts some tensors at a cut that no later layer needs; "true" does not.
    memory:
        "none"; "published": activations and parameters once for each machine after; "stashed": weights, gradients and
        optimizer, and one version of the weights and the saved activations per micro-batch in flight (asynchronous);
        "flushed": the same with one version of the weights (synchronous).
    memory_size, optimizer_bytes:
        Bytes of a machine; bytes of optimizer state per byte of parameters.
    schedule, micro_batches:
        One of ``SYNCHRONOUS``: choose the plan with the shortest step of the optimizer among the fastest pipelines and
        equal stages for each number of ranks, all simulated with the schedule. One level of at most 256 machines,
        ``memory`` "none" or "flushed".
    watch:
        ``array("d", 3 * [0])`` that another thread may read during the search: a lower bound, the best time so far, and
        the progress of the current step, from 0 to 1.

    Raises :class:`fastdispatch.Error` if no such plan exists (more stages than layers, not enough memory), and for
    arguments out of range.
    """
    levels = [machines] if isinstance(machines, int) else list(machines)
    speeds = [float(bandwidths)] if isinstance(bandwidths, (int, float)) else [float(each) for each in bandwidths]
    _check(levels, speeds, compression, cut, memory, schedule, micro_batches)
    problem: dict[str, Any] = {
        "ratio": compression or 0.0,
        "straight": straight,
        "fewer": fewer,
        "true_cut": cut == "true",
        "memory": MEMORY.index(memory),
        "room": float(memory_size),
        "optimizer": float(optimizer_bytes),
    }
    if schedule is None:
        return Optimum(graph, levels, speeds, optimized(graph, levels, speeds, watch=watch, **problem))
    search = PlanSearch(graph, levels, speeds, problem)
    return Optimum(graph, levels, speeds, shortest_step(search, schedule, micro_batches, watch))


def _check(
    machines: list[int],
    bandwidths: list[float],
    compression: float | None,
    cut: str,
    memory: str,
    schedule: str | None,
    micro_batches: int,
) -> None:
    count = len(machines)
    if count != len(bandwidths):
        raise _core.Error(f"{count} numbers of machines and {len(bandwidths)} bandwidths: give one of each per level")
    if any(not 1 <= each < 1 << 32 for each in machines):
        raise _core.Error(f"machines {machines}: must be at least 1")
    if cut not in ("published", "true"):
        raise _core.Error(f"cut {cut!r}: published or true")
    if memory not in MEMORY:
        raise _core.Error(f"memory {memory!r}: one of {', '.join(MEMORY)}")
    if compression is not None and not (compression > 0 and math.isfinite(compression)):
        raise _core.Error(f"compression {compression}: must be above 0")
    if schedule is None:
        return
    if schedule not in SYNCHRONOUS:
        raise _core.Error(f"schedule {schedule!r}: one of {', '.join(SYNCHRONOUS)}")
    if not 1 <= micro_batches < 1 << 31:
        raise _core.Error(f"micro_batches {micro_batches}: must be at least 1")
    if count != 1:
        raise _core.Error(f"{schedule}: planned for one level of machines, not {count}")
    if machines[0] > 256:
        raise _core.Error(f"{schedule}: planned for at most 256 machines, not {machines[0]}")
    if memory not in ("none", "flushed"):
        raise _core.Error(f"{schedule} is synchronous: its memory model is flushed")
