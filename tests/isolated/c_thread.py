"""Windows begin and end while a thread of C code calls a Python function. Usage: c_thread.py LIBRARY CALLS"""

import ctypes
import sys

import fastdispatch

library = ctypes.PyDLL(sys.argv[1])
library.begin.argtypes = [ctypes.py_object, ctypes.c_int]
count = 0


def callee() -> None:
    global count
    count += 1


schedule = fastdispatch.schedule(wait=1, warmup=0, active=1)
with fastdispatch.CallGraph(None, ops="off", calls=sys.argv[2], schedule=schedule) as graph:
    library.begin(callee, 2000)
    for _ in range(100):
        graph.step()
    library.finish()
print(count)
