"""Record to a full file system, and continue training. Arguments: run directory, file that fills it."""

import contextlib
import sys

import fastdispatch

graph = fastdispatch.CallGraph(sys.argv[1], max_mb=64)
graph.start()
with contextlib.suppress(OSError), open(sys.argv[2], "wb", buffering=0) as filler:
    while True:
        filler.write(b"x" * 4096)
space: dict[str, object] = {}
for n in range(3000):
    exec(f"def function_{n}():\n    return {n}\n", space)
    assert space[f"function_{n}"]() == n
graph.stop()
print("done", graph.stats()["contexts"])
