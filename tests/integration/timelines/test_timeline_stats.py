"""``timeline stats``, ``check`` and parts of timelines against slow and plain computations."""

import json
import math
import random
from collections import defaultdict
from decimal import Decimal
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median, pstdev
from typing import Any
from xml.etree import ElementTree

import pytest

from tests import commands
from tests.commands import timeline_stats as stats
from tests.consumers.perfetto import assert_clean, open_trace, query
from tests.integration.timelines.test_timeline_merge import BASE, Event, event, load, write

Span = tuple[int, int]

NAMED = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a"}}


def call(*arguments: object) -> None:
    commands.out("timeline", *arguments)


def failed(*arguments: object) -> str:
    """The output of a command that ends with status 1."""
    return commands.out("timeline", *arguments, status=1)


# -- the slow way ----------------------------------------------------------------------------------------------------


def ns(number: Any) -> int:
    return math.floor(Decimal(str(number)) * 1000)


def union(spans: list[Span]) -> list[Span]:
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = made[-1][0], max(made[-1][1], end)
        elif end > start:
            made.append((start, end))
    return made


def within(spans: list[Span], start: int, end: int) -> int:
    return sum(max(0, min(b, end) - max(a, start)) for a, b in union(spans))


def without(spans: list[Span], other: list[Span]) -> list[Span]:
    for a, b in union(other):
        spans = [part for s, e in spans for part in ((s, min(e, a)), (max(s, b), e)) if part[0] < part[1]]
    return spans


def work(events: list[Event], shift: int, gpu: bool) -> dict[str, list[Span]]:
    """The times of compute, communication and copies of one rank."""
    lanes: dict[Any, dict[str, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for each in events:
        if each["ph"] != "X":
            continue
        name, cat, start = each["name"], each.get("cat", ""), ns(each["ts"]) + shift
        if gpu:
            talks = cat == "kernel" and "nccl" in name.lower()
            kind = {"kernel": "communication" if talks else "compute", "gpu_memcpy": "copies"}.get(cat)
        else:
            talks = name.startswith(("gloo:", "c10d::"))
            kind = "communication" if talks else "compute" if cat == "cpu_op" else None
        if kind:
            lanes[each["pid"], each["tid"]][kind].append((start, start + ns(each["dur"])))
    made: dict[str, list[Span]] = defaultdict(list)
    for lane in lanes.values():
        made["compute"] += without(union(lane["compute"]), lane["communication"])
        made["communication"] += lane["communication"]
        made["copies"] += lane["copies"]
    return made


def figures(spans: dict[str, list[Span]], start: int, end: int) -> dict[str, int]:
    compute, talking = within(spans["compute"], start, end), within(spans["communication"], start, end)
    both = within(spans["compute"] + spans["communication"], start, end)
    busy = within([span for kind in spans.values() for span in kind], start, end)
    return {
        "start": start,
        "end": end,
        "duration": end - start,
        "busy": busy,
        "idle": end - start - busy,
        "compute": compute,
        "communication": talking,
        "exposed": both - compute,
        "overlap": compute + talking - both,
        "copies": within(spans["copies"], start, end),
    }


def steps_of(events: list[Event], shift: int, category: str) -> dict[int, Span]:
    made: dict[int, Span] = {}
    for each in events:
        if each["name"].startswith("ProfilerStep#") and each["cat"] == category:
            start = ns(each["ts"]) + shift
            made[int(each["name"][13:])] = start, start + ns(each["dur"])
    ordered = sorted(made.items(), key=lambda item: item[1])
    for (number, (start, end)), (_, (after, _)) in pairwise(ordered):
        made[number] = start, min(end, after)
    return made


def compare(made: dict[str, Any], traces: dict[int, dict[str, Any]], gpu: bool) -> None:
    """Steps, stragglers and names, all recomputed."""
    earliest = min(trace["baseTimeNanoseconds"] for trace in traces.values())
    rows = {(row["step"], row["rank"]): row for row in made["steps"]}
    own: dict[int, dict[int, int]] = defaultdict(dict)
    durations: dict[tuple[str, str], list[int]] = defaultdict(list)
    count = 0
    for rank, trace in traces.items():
        events, shift = trace["traceEvents"], trace["baseTimeNanoseconds"] - earliest
        spans = work(events, shift, gpu)
        for step, (start, end) in steps_of(events, shift, "gpu_user_annotation" if gpu else "user_annotation").items():
            expected = figures(spans, start, end)
            assert rows[step, rank] == {"rank": rank, "step": step, "repeat": 0, **expected}
            own[step][rank] = expected["busy"] - expected["exposed"]
            count += 1
        for each in events:
            is_work = each["ph"] == "X" and each["cat"] not in ("Trace", "gpu_user_annotation")
            if is_work and not each["name"].startswith("ProfilerStep#"):
                durations[each["cat"], each["name"]].append(ns(each["dur"]))
    assert count == len(rows) > 0
    for row in made["stragglers"]:
        values = own[row["step"]]
        slowest = max(values, key=lambda rank: (values[rank], -rank))
        spread = pstdev(values.values())
        z = (values[slowest] - sum(values.values()) / len(values)) / spread if spread else 0
        assert (row["slowest"], row["own"]) == (slowest, values[slowest])
        assert row["z"] == pytest.approx(z) and row["own_median"] == median(values.values())
        assert row["marked"] == (values[slowest] > 1.1 * median(values.values()))
        ends = {rank: rows[row["step"], rank]["end"] for rank in values}
        assert row["last"] == max(ends, key=lambda rank: (ends[rank], -rank))
        assert row["late"] == max(ends.values()) - median(ends.values())
    assert {(row["category"], row["name"]) for row in made["names"]} == set(durations)
    for row in made["names"]:
        values_of = sorted(durations[row["category"], row["name"]])
        assert (row["count"], row["total"], row["max"]) == (len(values_of), sum(values_of), values_of[-1])
        for key, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            exact = values_of[max(math.ceil(share * len(values_of)), 1) - 1]
            assert row[key] == pytest.approx(exact, rel=made["relative_error"], abs=1)


def spreads(traces: dict[int, dict[str, Any]], prefix: str) -> dict[str, list[int]]:
    """By name: how far apart the begins of each collective are."""
    earliest = min(trace["baseTimeNanoseconds"] for trace in traces.values())
    begins: dict[Any, list[list[int]]] = defaultdict(list)
    for trace in traces.values():
        shift = trace["baseTimeNanoseconds"] - earliest
        found = [each for each in trace["traceEvents"] if each["ph"] == "X" and each["name"].startswith(prefix)]

        def key(each: Event) -> tuple[str, str]:
            return each["name"], json.dumps(each.get("args", {}).get("Input Dims"), default=str)

        for group, events in groupby(sorted(found, key=lambda each: (key(each), ns(each["ts"]))), key=key):
            begins[group].append([ns(each["ts"]) + shift for each in events])
    made: dict[str, list[int]] = defaultdict(list)
    for (name, _), ranks in begins.items():
        made[name] += [max(times) - min(times) for times in zip(*ranks, strict=True)]
    return made


def without_files(made: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in made.items() if key != "files"}


# -- real and made traces --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(profiles: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    call("merge", profiles, "-o", folder / "merged.json")
    return folder


@pytest.mark.torch
def test_a_real_training_as_computed_slowly(profiles: Path, real: Path) -> None:
    made = stats(profiles)
    traces = {rank: load(profiles / f"trace_{rank}.json") for rank in range(4)}
    compare(made, traces, gpu=False)
    assert [row["basis"] for row in made["ranks"]] == ["operators"] * 4
    expected = spreads(traces, "gloo:")
    assert {row["name"] for row in made["collectives"]} == set(expected)
    for row in made["collectives"]:
        assert row["ranks"] == 4 and row["matched"] == len(expected[row["name"]]) and not row["unmatched"]
        assert (row["begin"]["total"], row["begin"]["max"]) == (sum(expected[row["name"]]), max(expected[row["name"]]))
    assert without_files(stats(real / "merged.json")) == without_files(made)


@pytest.mark.torch
def test_a_real_training_and_a_part_of_it_have_no_faults(profiles: Path, real: Path) -> None:
    part = real / "part.json.gz"
    call("check", profiles, real / "merged.json")
    before = load(real / "merged.json")
    (start, end) = window(before, 1)
    first = min(ns(each["ts"]) for each in before["traceEvents"] if each["ph"] != "M")
    call("merge", real / "merged.json", "-o", part, "--time", f"{start - first}ns:{end - first}ns")
    call("check", part)
    trace = load(part)
    kept = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert [each["name"] for each in kept] == [
        each["name"]
        for each in before["traceEvents"]
        if each["ph"] == "X"
        and ns(each["ts"]) < end
        and (ns(each["ts"]) + ns(each["dur"]) > start or ns(each["ts"]) >= start)
    ]
    flows = [each for each in before["traceEvents"] if each["ph"] in "sf"]
    inside = [sum(start < ns(e["ts"]) < end for e in flows if e["id"] == each["id"]) == 2 for each in flows]
    assert [each["ts"] for each in trace["traceEvents"] if each["ph"] in "sf"] == [
        each["ts"] for each, is_in in zip(flows, inside, strict=True) if is_in
    ]
    assert 0 < sum(inside) < len(inside)
    assert trace["mergedFiles"] == before["mergedFiles"] and names_of(trace) == names_of(before)
    native = real / "part.pftrace"
    call("merge", real / "merged.json", "-o", native, "--time", f"{start - first}ns:{end - first}ns")
    for output in (part, native):
        with open_trace(output) as processor:
            assert_clean(processor)
            assert query(processor, "select count(*) as n from slice") == [{"n": len(kept)}]
            assert query(processor, "select count(*) as n from flow") == [{"n": sum(inside) // 2}]
            assert query(processor, PROCESSES) == [{"name": name} for name in sorted(names_of(trace))]
    ranks, parts = ([row["rank"] for row in stats(path)["ranks"]] for path in (real / "merged.json", part))
    assert parts == ranks


PROCESSES = "select name from process where name is not null order by name"


def names_of(trace: dict[str, Any]) -> set[str]:
    return {each["args"]["name"] for each in trace["traceEvents"] if each["name"] == "process_name"}


def window(trace: dict[str, Any], step: int) -> Span:
    found = [each for each in trace["traceEvents"] if each["name"] == f"ProfilerStep#{step}"]
    assert len(found) == 4
    return min(ns(e["ts"]) for e in found), max(ns(e["ts"]) + ns(e["dur"]) for e in found)


def gpu_trace(rank: int) -> dict[str, Any]:
    """Streams with gaps and overlaps of any kind, in no order of time."""
    choose = random.Random(rank)
    events: list[Event] = []
    for step in range(6):
        start = 1000 * step + rank * 7.25
        events.append(event(name=f"ProfilerStep#{step}", cat="user_annotation", ts=start - 300, dur=1000))
        events.append(event(name=f"ProfilerStep#{step}", cat="gpu_user_annotation", pid=0, tid=7, ts=start, dur=995.5))
        for stream, name, cat, longest in (
            (7, "gemm", "kernel", 60),
            (20, "ncclDevKernel_AllReduce", "kernel", 90),
            (21, "Memcpy", "gpu_memcpy", 9),
        ):
            at = start + choose.random() * 40
            while at < start + 960:
                length = round(choose.random() * longest, 3)
                events.append(event(name=name, cat=cat, pid=0, tid=stream, ts=round(at, 3), dur=length))
                at += length + choose.random() * (200 if stream == 21 else 40)
    collective = [each for each in events if each["name"].startswith("nccl")]
    for each in collective[60:]:
        events.remove(each)  # as many on every rank
    choose.shuffle(events)
    return {
        "distributedInfo": {"rank": rank, "world_size": 3},
        "baseTimeNanoseconds": BASE + rank * 1234,
        "traceEvents": events,
    }


def test_streams_as_computed_slowly(tmp_path: Path) -> None:
    traces = {rank: gpu_trace(rank) for rank in range(3)}
    for rank, trace in traces.items():
        write(tmp_path / f"r{rank}.json.gz", trace)
    made = stats(tmp_path)
    compare(made, traces, gpu=True)
    assert {row["basis"] for row in made["ranks"]} == {"gpu"}
    (row,) = made["collectives"]
    count = sum(each["name"].startswith("nccl") for each in traces[0]["traceEvents"])
    expected = spreads(traces, "nccl")["ncclDevKernel_AllReduce"]
    assert row["matched"] == count == len(expected) and row["begin"]["total"] == sum(expected)
    call("merge", tmp_path, "-o", tmp_path / "merged.json")
    assert without_files(stats(tmp_path / "merged.json")) == without_files(made)
    one = stats(tmp_path / "merged.json", "--ranks", "1")
    assert [row["rank"] for row in one["ranks"]] == [1]
    assert one["steps"] == [row for row in made["steps"] if row["rank"] == 1]


def test_jobs_by_stage_and_step(tmp_path: Path) -> None:
    events = []
    for number in range(8):
        args = {"micro_batch": number, "stage": 1, "step": number // 4}
        events.append(event(name=f"forward_{number}", cat="job", ts=20 * number, dur=number + 1, args=args))
        events.append(event(ph="B", name=f"backward_{number} (9.5 ms)", cat="job", tid=2, ts=20 * number, args=args))
        events.append(event(ph="E", tid=2, ts=20 * number + 10))
        events.append(event(ph="b", name="gloo:send", cat="p2p", id=number, tid=3, ts=20 * number + 5))
        events.append(event(ph="e", cat="p2p", id=number, tid=3, ts=20 * number + 12))
    made = stats(write(tmp_path / "r4.json", events))
    rows = {(row["type"], row["stage"], row["step"]): row for row in made["jobs"]}
    assert rows.keys() == {(kind, 1, step) for kind in ("forward", "backward") for step in (None, 0, 1)}
    assert rows["forward", 1, None]["total"] == 36_000 and rows["forward", 1, None]["count"] == 8
    assert rows["forward", 1, 1]["total"] == 26_000 and rows["forward", 1, 1]["rank"] == 4
    assert rows["backward", 1, 0]["max"] == 10_000
    (rank,) = made["ranks"]
    assert rank["basis"] == "jobs" and (rank["compute"], rank["exposed"]) == (80_000, 16_000)
    write(tmp_path / "r5.json", events)
    write(tmp_path / "r6.json", [*events, event(name="forward_9", cat="job", ts=200, args={"stage": 0})])
    first, second = stats(tmp_path)["stages"]
    assert (first["stages"], first["ranks"], second["stages"], second["ranks"]) == ([0, 1], [6], [1], [4, 5])
    assert second == {"stages": [1], "ranks": [4, 5]} | {key: 2 * rank[key] for key in second.keys() & rank.keys()}
    table = commands.out("timeline", "stats", tmp_path).split("Stages")[1].splitlines()
    assert [line.split()[:3] for line in table[2:4]] == [["0,", "1", "6"], ["1", "4-5", "152"]]


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    slow = gpu_trace(2)
    kernel = next(e for e in slow["traceEvents"] if e["name"] == "gemm" and 3100 < e["ts"] < 3200)
    kernel["dur"] = 800
    for rank, trace in enumerate((gpu_trace(0), gpu_trace(1), slow)):
        trace["traceEvents"].append(event(ph="i", name="5 events found no room in the timeline", pid=0))
        write(tmp_path / f"r{rank}.json", trace)
    out = commands.out("timeline", "stats", tmp_path, "--svg", tmp_path / "a.svg")
    assert "▲ rank 2" in out and "ncclAllReduce" in out and "kernels on the GPU" in out
    assert "rank 1: 5 events found no room in its timeline" in out
    picture = ElementTree.parse(tmp_path / "a.svg").getroot()
    texts = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"rank 0", "rank 1", "rank 2", "compute", "exposed communication", "idle"} <= {*texts}
    assert "time since the first step, ms" in texts
    bars = [bar for bar in picture.iter("{http://www.w3.org/2000/svg}g")]
    assert len(bars) == 18
    assert sum("straggler" in (bar[0].text or "") for bar in bars) == out.count("▲ rank")


def test_a_picture_of_many_steps_names_them(tmp_path: Path) -> None:
    events = [event(name=f"step {n}", cat="step", ts=10 * n + (500 if n > 200 else 0), dur=9) for n in range(300)]
    events += [event(name="step", ts=0, dur=5, args={"a": "<&>"}, tid=2)]
    call("stats", write(tmp_path / "r0.json", events), "--svg", tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "of 300: the 75 consecutive ones that took longest" in text and text.count("<g>") == 75
    ElementTree.fromstring(text)


# -- faults ----------------------------------------------------------------------------------------------------------


def test_check_names_fault_and_position(tmp_path: Path) -> None:
    text = json.dumps({"traceEvents": [event(ts=0, dur=5), event(ts=3, dur=5), event(ph="E", tid=9), event(ph="i")]})
    path = tmp_path / "broken.json"
    path.write_text(text)
    (file,) = json.loads(failed("check", path, "--json"))["files"]
    faults = {fault["kind"]: fault for fault in file["faults"]}
    assert faults.keys() == {"overlap", "end", "unnamed-process"} and not file["whole"] and file["events"] == 4
    assert faults["overlap"]["first"] == [{"byte": text.index('{"ph": "X"', 30), "event": 2}]
    lines = failed("check", path).splitlines()
    assert lines[0] == f"{path}: broken: 1 fault, 2 notes, 4 events"
    assert any("partial overlap within a thread" in line and line.endswith("(event 2)") for line in lines)
    write(path, {"traceEvents": [NAMED, event(ph="E")]})
    assert commands.out("timeline", "check", path).startswith(f"{path}: whole, 1 note, 2 events\n")


#: What Perfetto counts for each kind of fault.
COUNTED = {
    "overlap": "slice_drop_overlapping_complete_event",
    "negative": "trace_sorter_negative_timestamp_dropped",
    "duration": "json_parser_failure",
    "flow-start": "flow_end_without_start",
}


def test_check_finds_losses_of_perfetto(tmp_path: Path) -> None:
    events = [
        *(event(ts=ts, dur=10) for ts in (0, 5, 8)),
        event(ts=-5, dur=10, tid=2),
        {key: value for key, value in event(tid=3).items() if key != "dur"},
        event(ph="B", name="a", ts=10, tid=4),
        event(ph="B", name="b", ts=20, tid=4),
        event(ph="E", name="a", ts=20, tid=4),
        event(ph="E", name="b", ts=30, tid=4),
        *(event(ts=0, dur=9, tid=5) for _ in "x"),
        *(event(ph="f", id=number, bp="e", ts=3, tid=5) for number in (1, 2, 3, 4)),
    ]
    path = write(tmp_path / "a.json", {"traceEvents": [NAMED, *events]})
    (file,) = json.loads(failed("check", path, "--json"))["files"]
    found = {row["kind"]: row["count"] for row in file["faults"]}
    assert found == {"overlap": 2, "negative": 1, "duration": 1, "end-name": 1, "begin": 1, "flow-start": 4}
    with open_trace(path) as processor:
        for kind, name in COUNTED.items():
            assert query(processor, f"select value from stats where name = '{name}'") == [{"value": found[kind]}], kind


def test_perfetto_keeps_traces_without_faults(tmp_path: Path) -> None:
    events = [
        event(ts=10, dur=5),
        event(ts=10, dur=20),
        event(ts=30, dur=0),
        *(event(ph=phase, ts=ts, tid=2) for phase, ts in (("B", 1), ("B", 2), ("E", 2), ("E", 3))),
        event(ph="s", id=1, ts=12),
        event(ph="f", id=1, ts=30, bp="e"),
        event(ph="C", ts=1, args={"n": 1.5}),
        event(ph="b", id=7, ts=1),
        event(ph="e", id=7, ts=9),
    ]
    path = write(tmp_path / "a.json.gz", {"traceEvents": [NAMED, *events]})
    call("check", path)
    with open_trace(path) as processor:
        assert_clean(processor)
        assert query(processor, "select count(*) as n from slice") == [{"n": 6}]
        assert query(processor, "select count(*) as n from flow") == [{"n": 1}]


def test_a_native_part_of_one_rank(tmp_path: Path) -> None:
    """The rank stays in the names of processes."""
    events = [event(name=f"s{at}", ts=10 * at, dur=5) for at in range(10)]
    events += [event(ph="M", name="process_name", args={"name": "python"})]
    events += [event(ph=ph, name="arrow", id=7, ts=ts) for ph, ts in (("s", 32), ("f", 43))]
    made = write(tmp_path / "a.json", {"distributedInfo": {"rank": 3}, "traceEvents": events})
    part = tmp_path / "part.pftrace.gz"
    call("merge", made, "-o", part, "--time", "20us:60us")
    with open_trace(part) as processor:
        assert_clean(processor)
        assert query(processor, "select name from slice order by ts") == [{"name": f"s{at}"} for at in range(2, 6)]
        assert query(processor, PROCESSES) == [{"name": "rank 3 | python"}]
        assert query(processor, "select count(*) as n from flow") == [{"n": 1}]


def test_damage_is_reported_and_the_rest_counted(tmp_path: Path) -> None:
    path = tmp_path / "r3.json"
    path.write_text('{"traceEvents":[' + json.dumps(event()) + ',{"ph":"X","ts":NaN,"dur":1},{"ph":"X","n')
    status, output, errors = commands.run("timeline", "stats", path, "--json")
    made = json.loads(output)
    assert status == 0 and made["ranks"][0]["places_lost"] == 1 and made["names"][0]["count"] == 1
    assert errors.startswith(f"fastdispatch: {path}: cut short at byte")
    assert "cut short at byte" in failed("check", path)
    path.write_text('{"traceEvents": []}')
    assert commands.complaint("timeline", "stats", path).startswith("fastdispatch: ")


def test_check_counts_in_singular_and_plural(tmp_path: Path) -> None:
    faulty = [event(name="a", ts=-5), event(ph="?"), event(ph="?")]
    made = write(tmp_path / "a.json", {"traceEvents": faulty})
    printed = [line.partition(":")[0] for line in failed("check", made).splitlines()]
    assert {
        "  1 event before time 0",
        "  2 events with an unknown ph",
        "  1 process without a process_name (note)",
    } <= {*printed}
