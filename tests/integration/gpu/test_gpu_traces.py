"""Traces of an H100, as PyTorch wrote them: link, statistics, merge and check, with figures computed from the JSON."""

import gzip
import json
import math
from collections import Counter, defaultdict
from decimal import Decimal
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests import commands, schemas
from tests.lint.tree import ROOT

TRACES = ROOT / "tests" / "gold" / "gpu"
Event = dict[str, Any]
pytestmark = pytest.mark.parametrize("program", ["eager", "compiled", "graph"])


def kineto(program: str) -> Path:
    return TRACES / f"{program}.kineto.json.gz"


@cache
def events_of(program: str) -> list[Event]:
    """Complete events, with exact times."""
    document = json.loads(gzip.decompress(kineto(program).read_bytes()), parse_float=Decimal)
    return [event for event in document["traceEvents"] if event["ph"] == "X"]


def of(program: str, *categories: str) -> list[Event]:
    return [event for event in events_of(program) if event["cat"] in categories]


def work_of(program: str) -> list[Event]:
    return of(program, "kernel", "gpu_memcpy", "gpu_memset")


def span(event: Event) -> tuple[int, int]:
    start = math.floor(event["ts"] * 1000)
    return start, start + math.floor(event["dur"] * 1000)


def union(spans: list[tuple[int, int]]) -> int:
    total, last = 0, min(spans)[0]
    for start, end in sorted(spans):
        total += max(0, end - max(start, last))
        last = max(last, end)
    return total


def launches_of(program: str) -> dict[int, tuple[int, int]]:
    return {event["args"]["correlation"]: span(event) for event in of(program, "cuda_runtime", "cuda_driver")}


@cache
def stats(program: str) -> dict[str, Any]:
    made: dict[str, Any] = schemas.valid(commands.document("timeline", "stats", kineto(program)), "timeline-stats")
    return made


def test_kernels(program: str) -> None:
    kernels, copies = of(program, "kernel"), of(program, "gpu_memcpy", "gpu_memset")
    (row,) = stats(program)["gpus"]
    for kind, events in zip(row["kinds"], (kernels, [], copies), strict=True):
        spans = [span(event) for event in events]
        assert (kind["count"], kind["total"]) == (len(events), sum(end - start for start, end in spans))
        assert kind["time"] == (union(spans) if spans else 0)
    spans = [span(event) for event in kernels + copies]
    assert row["busy"] == union(spans)
    assert row["duration"] == max(end for _, end in spans) - min(start for start, _ in spans)
    counts = Counter(event["name"] for event in kernels)
    assert {each["name"]: each["count"] for each in stats(program)["names"] if each["kind"] == "compute"} == counts


def test_streams_and_launches(program: str) -> None:
    streams, starts = defaultdict(list), defaultdict(list)
    for event in work_of(program):
        streams[event["args"]["stream"]].append(span(event))
        starts[event["args"]["correlation"]].append(span(event)[0])
    made = {row["stream"]: (row["count"], row["busy"]) for row in stats(program)["streams"]}
    assert made == {stream: (len(spans), union(spans)) for stream, spans in streams.items()}
    calls = {number: call for number, call in launches_of(program).items() if number in starts}
    delays = [max(0, min(starts[number]) - end) for number, (_, end) in calls.items()]
    (row,) = stats(program)["launches"]
    found = [row["delay"][name] for name in ("count", "total", "max")]
    assert found == [len(delays), sum(delays), max(delays)]
    assert row["call"]["total"] == sum(end - start for start, end in calls.values())
    assert (row["early"], row["repeated"]) == (0, 0)


def test_steps_end_with_the_optimizer(program: str) -> None:
    """The programs do not call ``profiler.step()``; the graph has no optimizer."""
    ends = [span(event)[1] for event in of(program, "user_annotation") if event["name"].startswith("Optimizer.step#")]
    base = stats(program)["ranks"][0]["start"]
    first = min(span(event)[0] for event in events_of(program) if event["cat"] not in ("Trace", "gpu_user_annotation"))
    assert [row["end"] - base for row in stats(program)["steps"]] == [end - first for end in sorted(ends)]


def test_a_merge_keeps_everything(program: str, tmp_path: Path) -> None:
    commands.out("timeline", "merge", kineto(program), "-o", tmp_path / "m.json.gz")
    merged = json.loads(gzip.decompress((tmp_path / "m.json.gz").read_bytes()), parse_float=Decimal)["traceEvents"]

    def contents(events: list[Event]) -> Counter[tuple[Any, ...]]:
        return Counter(
            (event["cat"], event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"
        )

    assert contents(merged) == contents(events_of(program))
    for path in (kineto(program), tmp_path / "m.json.gz"):
        assert commands.document("timeline", "check", path)["whole"]
    commands.out("timeline", "merge", kineto(program), "-o", tmp_path / "again.json")
    again = commands.document("timeline", "stats", tmp_path / "again.json")
    for key in ("gpus", "streams", "launches", "steps"):
        assert again[key] == stats(program)[key], key


def test_link(program: str, tmp_path: Path) -> None:
    et = TRACES / f"{program}.et.json.gz"
    commands.out("et", "link", et, kineto(program), "-o", tmp_path / "linked.json")
    (row,) = commands.document("et", "info", tmp_path / "linked.json")["files"]
    work, operators = work_of(program), of(program, "cpu_op", "user_annotation")
    nodes = json.loads(gzip.decompress(et.read_bytes()))["nodes"]
    numbers = {attr["value"] for node in nodes for attr in node["attrs"] if attr["name"] == "rf_id"} - {0}
    linked = numbers & {event["args"].get("Record function id") for event in operators}
    queues = sorted((event["args"]["device"], event["args"]["stream"]) for event in work)
    assert (row["gpu"], row["nodes"]) == (len(work), len(nodes) + len(work))
    assert (row["streams"], row["edges"]["stream"]) == (len(set(queues)), len(queues) - len(list(groupby(queues))))
    assert row["timed"] >= len(linked) + len(work)
    around = defaultdict(list)
    for event in operators:
        around[event["tid"]].append(span(event))
    calls = {event["args"]["correlation"]: event for event in of(program, "cuda_runtime", "cuda_driver")}
    inside = 0
    for event in work:
        call = calls[event["args"]["correlation"]]
        start, end = span(call)
        inside += any(first <= start and end <= last for first, last in around[call["tid"]])
    assert row["edges"]["launch"] == inside
    assert commands.run("et", "check", tmp_path / "linked.json")[0] == 0
