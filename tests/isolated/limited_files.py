"""Record while no more can be written, and continue the program. Arguments: run directory, and a file that fills its
file system; without one, the size of files is limited, and exceeding the limit ends the process."""

import contextlib
import resource
import signal
import sys

import fastdispatch


def limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


filler = sys.argv[2:]
graph = fastdispatch.CallGraph(sys.argv[1], max_mb=64)
graph.start()
if filler:
    with contextlib.suppress(OSError), open(filler[0], "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
else:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    limit(1 << 20)
space: dict[str, object] = {}
for n in range(3000 if filler else 20000):
    exec(f"def function_{n}():\n    return {n}\n", space)
    assert space[f"function_{n}"]() == n
graph.stop()
if not filler:
    limit(1 << 16)
    try:
        graph.dump(f"{sys.argv[1]}/dump.json")
    except fastdispatch.Error as error:
        print(error)
print("done", graph.stats()["contexts"])
