"""What planning a pipeline takes, beside the published optimizer's own times (its profiles of the same size).

python -m benchmarks.planning
"""

from __future__ import annotations

import time

from fastdispatch.pipeline import Graph, optimize
from tests import models

#: Name, graph, machines, bandwidths, seconds of the published optimizer on a graph of so many states.
CASES: list[tuple[str, Graph, list[int], list[float], float | None]] = [
    ("residual, as ResNet-101", models.residual(23), [16], [1e9], 6.0),
    ("translation, as GNMT large", models.translation(8), [16], [1e9], 35.0),
    ("residual, two levels, as ResNet-50", models.residual(13), [4, 4], [1e10, 1e9], 9.5),
    ("branches, as Inception", models.branchy(11, (3, 9, 12, 6)), [16], [1e9], None),
]


def main() -> None:
    for name, graph, machines, bandwidths, theirs in CASES:
        begin = time.perf_counter()
        found = optimize(graph, machines, bandwidths, compression=1.0)
        took = time.perf_counter() - begin
        ratio = f"{theirs / took:8.0f} times as quick" if theirs else ""
        print(f"{name:36} {found.states:7d} states  {took * 1e3:9.1f} ms {ratio}")


if __name__ == "__main__":
    main()
