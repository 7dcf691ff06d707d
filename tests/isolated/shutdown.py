"""Ends in the ways a program can end while everything is hooked."""

from __future__ import annotations

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
keep_alive.append(keep_alive)  # found by the collector of the interpreter's end
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
