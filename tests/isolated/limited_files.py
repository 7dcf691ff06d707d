"""Record while the size of files is limited and exceeding the limit ends the process. Argument: run directory."""

import resource
import signal
import sys

import fastdispatch


def limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


graph = fastdispatch.CallGraph(sys.argv[1], max_mb=64)
graph.start()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
limit(1 << 20)
space: dict[str, object] = {}
for n in range(20000):
    exec(f"def function_{n}():\n    return {n}\n", space)
    assert space[f"function_{n}"]() == n
graph.stop()
limit(1 << 16)
try:
    graph.dump(f"{sys.argv[1]}/dump.json")
except fastdispatch.Error as error:
    print(error)
print("done", graph.stats()["contexts"])
