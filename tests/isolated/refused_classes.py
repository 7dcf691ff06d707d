"""Many classes while allocations of the recorder fail; tests/standin/refusing.c is preloaded."""

import ctypes
import json
from collections import Counter

import fastdispatch

refusing = ctypes.CDLL(None)
refusing.refuse_count.restype = ctypes.c_ulong
refusing.refuse_after.argtypes = [ctypes.c_long, ctypes.c_bool]
assert refusing.refuse_library(b"fastdispatch/_core")


def work(self: object) -> None:
    pass


def made(name: str) -> type:
    return type(name, (), {"work": work})


classes = [made("Many") for _ in range(2000)]
with fastdispatch.CallGraph(None, ops="off") as graph:
    made("Before")().work()
    classes[0]().work()
    refusing.refuse_after(0, True)
    for one in classes[1:]:
        one().work()
    refused = refusing.refuse_count()
    refusing.refuse_after(-1, False)
    made("After")().work()
trace = fastdispatch.Trace(graph._session.trace())
calls: Counter[str] = Counter()
for node, count in zip(trace.contexts["node"], trace.contexts["calls"], strict=True):
    if trace.nodes["name"][node] == "work":
        calls[trace.nodes["class"][node]] += count
print(json.dumps({"refused": refused, "calls": calls, "classes_full": trace.ranks[0]["counters"]["classes_full"]}))
