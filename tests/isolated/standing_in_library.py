"""Stay in a quiet call of an unrecorded step: ``standing_in_library.py OUT KIND``."""

import ctypes
import sys
import sysconfig
import time
from functools import partial
from pathlib import Path
from typing import Any

import fastdispatch

LIBRARY = """
def work(kind, read, quiet): middle(kind, read, quiet)
def middle(kind, read, quiet): kind(read, quiet)

def sleeps(read, quiet):
    if read() == quiet:
        time.sleep(1000)

def runs(read, quiet):
    if read() == quiet:
        while True:
            pass
"""

python = ctypes.PyDLL(None)
get, interpreter = python._PyInterpreterState_GetEvalFrameFunc, python.PyInterpreterState_Get
interpreter.restype, get.restype, get.argtypes = ctypes.c_void_p, ctypes.c_void_p, [ctypes.c_void_p]
evaluator = partial(get, interpreter())
default = evaluator()
names: dict[str, Any] = {"time": time}
exec(compile(LIBRARY, str(Path(sysconfig.get_path("purelib"), "quiet_library.py")), "exec"), names)
kind = names[sys.argv[2]]
with fastdispatch.CallGraph(sys.argv[1], ops="off", calls="frame", budget=1e-9) as graph:
    for _ in range(100):
        names["work"](kind, int, default)
        graph.step()
    print("under way", flush=True)
    while True:
        names["work"](kind, evaluator, default)
        graph.step()
