"""Operators under a dispatch mode whose allocations fail: each one in turn, and all after some point.

The library of tests/standin/refusing.c is preloaded. Prints one JSON object.
"""

import ctypes
import json
from collections.abc import Callable
from functools import partial

import torch

import fastdispatch

refusing = ctypes.CDLL(None)
refusing.refuse_count.restype = ctypes.c_ulong
refusing.refuse_after.argtypes = [ctypes.c_long, ctypes.c_bool]
assert refusing.refuse_library(b"fastdispatch/_core")
NAMES = ("sin", "cos", "tan", "exp", "abs", "neg", "ceil", "floor", "round", "sqrt")


def work() -> list[float]:
    x = torch.ones(3, requires_grad=True)
    with torch.profiler.record_function("a range"):
        found = [float(getattr(torch, name)(x).detach().sum()) for name in NAMES]
    (x + 1).mean().backward()
    return [*found, *x.grad.tolist()]


def counted(refuse: Callable[[], None]) -> list[float]:
    mode = fastdispatch.DispatchMode()
    with mode:
        refuse()
        return work()


def recorded(refuse: Callable[[], None]) -> list[float]:
    with fastdispatch.CallGraph(None, calls="off", ops="dispatch", keep="*"):
        refuse()
        found = work()
        refusing.refuse_after(-1, False)
        return found


expected = work()
refused, wrong = 0, []
for run in (counted, recorded):
    for all_of_them in (False, True):
        number, some = 0, True
        while some:  # until there were fewer allocations
            try:
                found = run(partial(refusing.refuse_after, number, all_of_them))
            except BaseException as error:
                found = repr(error)
            some = refusing.refuse_count() > 0 and number < 300
            refusing.refuse_after(-1, False)
            refused += some
            number += 1
            if found != expected:
                wrong.append([run.__name__, number, found])
print(json.dumps({"refused": refused, "wrong": wrong}))
