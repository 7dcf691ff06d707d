"""The timeline of a real training: as many slices as calls, of every thread."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import fastdispatch
from tests.training import make_step


def test_every_call_of_a_training_has_its_slice(tmp_path: Path) -> None:
    _, step = make_step()
    step()
    with fastdispatch.CallGraph(tmp_path, timeline="python,ops") as graph:
        for _ in range(25):
            step()
            graph.step()
    trace = fastdispatch.load(tmp_path, timeline=True)
    rank = trace.ranks[0]
    assert rank["notes"] == [] and sum(rank["threads"]["events_lost"]) == 0 and rank["flows_lost"] == 0
    events = json.loads(trace.export("chrome"))["traceEvents"]
    slices = Counter(event["name"] for event in events if event["ph"] == "X" and "open" not in event.get("args", {}))
    kinds, names = trace.nodes["kind"], trace.nodes["name"]
    calls: Counter[str] = Counter()
    for node, called in zip(trace.contexts["node"], trace.contexts["calls"], strict=True):
        if kinds[node] in ("op", "autograd"):
            calls[names[node]] += called
    assert sum(calls.values()) > 10_000
    assert {name: slices[name] for name in calls} == calls
    assert sum(event["cat"] == "step" for event in events if event["ph"] == "X") == 25
