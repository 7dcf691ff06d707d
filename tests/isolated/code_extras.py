"""Another tool stores a word in one code object; prints the arguments of its destructor."""

import ctypes
import sys

import fastdispatch

if sys.version_info >= (3, 12):
    request_index = ctypes.pythonapi.PyUnstable_Eval_RequestCodeExtraIndex
    set_extra = ctypes.pythonapi.PyUnstable_Code_SetExtra
else:
    request_index = ctypes.pythonapi._PyEval_RequestCodeExtraIndex
    set_extra = ctypes.pythonapi._PyCode_SetExtra
destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
request_index.argtypes = (destructor,)
request_index.restype = ctypes.c_ssize_t
set_extra.argtypes = (ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p)

freed: list[int | None] = []
kept_alive = destructor(freed.append)
index = request_index(kept_alive)

with fastdispatch.CallGraph(None):
    seen_by_both = eval("lambda: 1")
    set_extra(seen_by_both.__code__, index, 100)
    seen_by_both()
    seen_later_by_the_tool = eval("lambda: 2")
    seen_later_by_the_tool()
    set_extra(seen_later_by_the_tool.__code__, index, 200)
    seen_by_us = eval("lambda: 3")
    seen_by_us()
    del seen_by_both, seen_by_us, seen_later_by_the_tool

print(freed, flush=True)
