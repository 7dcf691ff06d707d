"""End in all ways in which a program can end, with all hooks installed."""

import atexit
import sys
import threading
import time

import fastdispatch


class Finalised:
    def __del__(self) -> None:
        leaf()


def leaf() -> int:
    return 1


def forever() -> None:
    while True:
        leaf()
        time.sleep(0.001)


keep_alive = [Finalised()]
keep_alive.append(keep_alive)  # freed by the collector at the end of the interpreter
atexit.register(leaf)
threading.Thread(target=forever, daemon=True).start()
graph = fastdispatch.CallGraph(sys.argv[1])
graph.start()
if sys.argv[2] == "with torch":
    import torch

    torch.ones(2).requires_grad_().sum().backward()
elif sys.argv[2] == "exit in block":
    with fastdispatch.label("last"):
        leaf()
        sys.exit(5)
elif sys.argv[2] == "hook stays":
    atexit.unregister(graph._stop_at_exit)
print("end")
