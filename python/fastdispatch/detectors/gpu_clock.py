"""Times of call paths on the clock of the GPU: kernels that they launch, and idle time that they cause."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastdispatch.read.gpu_time import GpuFacts, gpu_facts, gpu_steps, own_idle
from fastdispatch.read.trace import Columns, Trace

#: Kernels that copy between pageable memory and the device: the host waits for them.
PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
TO_HOST = "Memcpy DtoH "


@dataclass
class GpuClock:
    """Times in ns per step, by call path."""

    facts: GpuFacts
    step: float  # busy and idle
    own: list[float]  # of kernels
    idle: list[float]  # while the host ran the path, without those below
    drained: list[float]  # idle times that began in it or below


def gpu_clock(trace: Trace) -> GpuClock | None:
    """Return the clock of a trace; None if busy and idle times are not known."""
    facts = gpu_facts(trace, None, trace.ranks)
    recorded, measured = gpu_steps(trace.ranks)
    if facts is None or not facts.window or not measured or not recorded:
        return None
    contexts = trace.contexts
    return GpuClock(
        facts,
        facts.window / measured,
        [time / recorded for time in contexts["gpu_self"]],
        [time / measured for time in own_idle(contexts)],
        [time / measured for time in contexts["gpu_drained"]],
    )


def on_clock(paths: Columns, clock: GpuClock, kinds: Sequence[str], count: int) -> Columns:
    """Return paths with times of the GPU: the time of a kernel is that of the path that launched it. ``host`` has the
    time of the host."""
    own = [clock.own[row] + clock.idle[row] for row in range(len(clock.own))]
    for row, parent in enumerate(paths["parent"]):
        if kinds[paths["node"][row]] == "kernel" and parent >= 0:
            own[parent] += own[row]
            own[row] = 0.0
    scaled = [round(time * count) for time in own]
    total = list(scaled)
    for row in range(len(total) - 1, -1, -1):
        if paths["parent"][row] >= 0:
            total[paths["parent"][row]] += total[row]
    backward = [round(time * count / max(clock.facts.steps, 1)) for time in paths["gpu_backward"]]
    return paths | {"self": scaled, "total": total, "backward": backward, "host": paths["self"]}
