"""Traces of other programs and versions with traits that once gave wrong figures: each trait, and variants of it.

The expected values are computed from the times in ``tests/gold/traces``."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastdispatch.report.timeline_figures import read_stats
from tests import commands, golden
from tests.chakra.pairs import node
from tests.commands import timeline_stats as stats
from tests.lint.tree import ROOT

TRACES = ROOT / "tests" / "gold" / "traces"
Event = dict[str, Any]
Change = Callable[[Event], object]


def text(path: Path) -> str:
    """Tables and warnings, with plain spaces."""
    _, output, errors = commands.run("timeline", "stats", path)
    return (errors + output).replace("\u202f", " ")


def faults(path: Path) -> dict[str, int]:
    status, output, _ = commands.run("timeline", "check", path, "--json")
    (file,) = json.loads(output)["files"]
    assert status == (not file["whole"])
    return {row["kind"]: row["count"] for row in file["faults"] if row["kind"] != "unnamed-process"}


def at(made: Any, path: str) -> Any:
    """``steps.0.duration``."""
    for key in path.split("."):
        made = made[int(key)] if isinstance(made, list) else made[key]
    return made


def events_of(name: str) -> list[Event]:
    made: list[Event] = json.loads((TRACES / name).read_text())["traceEvents"]
    return made


def write(path: Path, events: list[Event], **members: Any) -> Path:
    path.write_text(json.dumps({**members, "traceEvents": events}))
    return path


def variant(name: str, path: Path, change: Change) -> Path:
    """Write a trace after a change of its events."""
    events = events_of(name)
    for event in events:
        change(event)
    return write(path, events)


#: By file: figures by their path, a line of the tables or warnings, and counts of faults.
EXPECTED = golden.document("foreign_traces")


@pytest.mark.parametrize("name", EXPECTED)
def test_figures_lines_and_faults(name: str) -> None:
    expected, path = EXPECTED[name], TRACES / name
    figures = expected.get("figures", {})
    assert not figures or {each: at(stats(path), each) for each in figures} == figures
    assert expected.get("line", "") in text(path)
    assert "faults" not in expected or faults(path) == expected["faults"]


HOUR = 3600 * 10**6


@pytest.mark.parametrize("begin", [-HOUR, 0, 500, 10**6])
@pytest.mark.parametrize(("cat", "hours"), [("kernel", 1), ("gpu_memcpy", 1), ("cpu_op", 1), ("kernel", 10**5)])
def test_slices_that_last_far_beyond_all_others(begin: int, cat: str, hours: int, tmp_path: Path) -> None:
    events = events_of("kernel_at_time_0.json")[:-1]
    sound = stats(write(tmp_path / "sound.json", events))
    long = events[-1] | {"cat": cat, "ts": events[0]["ts"] + begin, "dur": hours * HOUR, "name": "endless"}
    path = write(tmp_path / "long.json", [long, *events])
    made = stats(path)
    assert (made["files"][0]["strays"], made["files"][0]["stray"], faults(path)["far"]) == (1, "endless", 1)
    sound["ranks"][0]["events"] += 1
    for key in ("gpus", "streams", "steps", "names", "ranks"):
        assert made[key] == sound[key], key


@pytest.mark.parametrize(("cat", "name", "seconds"), [("kernel", "ncclKernel_AllReduce", 30), ("cpu_op", "save", 600)])
def test_long_waits_are_counted(cat: str, name: str, seconds: int, tmp_path: Path) -> None:
    """A collective waits for another rank; a call saves a checkpoint."""
    events = events_of("kernel_at_time_0.json")[:-1]
    events.append(events[-1] | {"cat": cat, "name": name, "ts": events[0]["ts"] + 1000, "dur": seconds * 10**6})
    path = write(tmp_path / "a.json", events)
    assert stats(path)["files"][0]["strays"] == 0 and "far" not in faults(path)


@pytest.mark.parametrize(
    "head", ['{"traceEvents": [', '{"x": "', '{"format": "fastdispatch", "nodes": ["', '{"nodes": [{"id": "']
)
@pytest.mark.parametrize(
    "words", ["timeline stats", "timeline check", "timeline merge -o m.json", "et check", "report"]
)
def test_a_small_file_that_unpacks_to_much(head: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "small.json.gz"
    path.write_bytes(gzip.compress(head.encode()) + gzip.compress(b" " * (1 << 20)) * 400)
    errors = commands.error(*words.replace("m.json", str(tmp_path / "m.json")).split(), path)
    refused = ("unpacks to more than 500 times its size", "a Kineto trace", "neither a recording")
    assert errors.count("\n") == 1 and any(line in errors for line in refused)


def test_threads_of_xla(tmp_path: Path) -> None:
    names = {1: "Steps", 2: "XLA Modules", 3: "XLA Ops", 4: "Async XLA Ops", 5: "python"}
    events: list[Event] = [
        {"ph": "M", "pid": 3, "tid": tid, "name": "thread_name", "args": {"name": name}} for tid, name in names.items()
    ]

    def add(tid: int, name: str, ts: int, dur: int) -> None:
        events.append({"ph": "X", "pid": 3, "tid": tid, "name": name, "ts": ts, "dur": dur})

    for step in range(3):
        add(1, str(step + 7), step * 100, 90)
        add(2, "jit_train_step(42)", step * 100 + 5, 80)
        add(3, "fusion.1", step * 100 + 10, 40)
        add(3, "all-reduce.3", step * 100 + 60, 20)
        add(4, "copy-start.2", step * 100 + 20, 60)
        add(5, "PjitFunction(train_step)", step * 100, 95)
    path = write(tmp_path / "t.json", events)
    made = stats(path)
    assert [(row["step"], row["duration"]) for row in made["steps"]] == [(7, 90_000), (8, 90_000), (9, 90_000)]
    (row,) = made["ranks"]
    assert (row["basis"], row["compute"], row["communication"], row["busy"]) == ("operators", 120_000, 60_000, 180_000)
    assert {"jit_train_step(42)", "7"}.isdisjoint(row["name"] for row in made["names"])
    commands.out("timeline", "merge", path, "-o", tmp_path / "m.json")
    merged = stats(tmp_path / "m.json")
    assert [merged[key] for key in ("steps", "names")] == [made[key] for key in ("steps", "names")]


def test_streams_and_annotated_steps_of_jax(tmp_path: Path) -> None:
    threads = {(2, 1): "Stream #13(Compute)", (2, 2): "Stream #14(MemcpyH2D)", (2, 3): "XLA Ops", (7, 1): "python"}
    events: list[Event] = [
        {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
        for (pid, tid), name in threads.items()
    ]
    for step in range(3):
        rows: list[tuple[int, int, str, int, int, Event]] = [
            (2, 1, "gemm_fusion_dot", 10, 40, {"correlation_id": str(step)}),
            (2, 1, "ncclDevKernel_AllReduce_Sum_f32", 60, 20, {}),
            (2, 2, "MemcpyH2D", 20, 5, {}),
            (2, 3, "dot.1", 0, 90, {}),
            (7, 1, "train", 0, 95, {"step_num": str(step + 4)}),
            (7, 1, "PjitFunction(step)", 1, 90, {}),
        ]
        for pid, tid, name, ts, dur, args in rows:
            times = {"ts": step * 100 + ts, "dur": dur}
            events.append({"ph": "X", "pid": pid, "tid": tid, "name": name, **times, "args": args})
    made = stats(write(tmp_path / "t.json", events))
    (row,) = made["ranks"]
    assert [row[key] for key in ("basis", "compute", "communication", "copies", "steps_of")] == [
        *("gpu", 120_000, 60_000, 15_000, "train")
    ]
    assert [(row["step"], row["duration"]) for row in made["steps"]] == [(4, 95_000), (5, 95_000), (6, 95_000)]
    assert [row["count"] for row in made["streams"]] == [6, 3]


def test_events_of_nsight_systems(tmp_path: Path) -> None:
    events: list[Event] = []
    for step in range(3):
        rows = [
            ("nvtx", "NVTX Thread 1", "iteration", 0, 900),
            ("cuda_api", "CUDA API Thread 1", "cudaLaunchKernel", 5, 10),
            ("cuda", "Stream 7", "gemm", 100, 300),
            ("cuda", "Stream 20", "ncclDevKernel_AllReduce_Sum_f32", 300, 300),
            ("nvtx-kernel", "NVTX Kernel Thread 1", "iteration", 100, 500),
        ]
        for cat, tid, name, ts, dur in rows:
            times = {"ts": step * 1000 + ts, "dur": dur}
            events.append({"ph": "X", "cat": cat, "pid": "Device 0", "tid": tid, "name": name, **times, "args": {}})
    made = stats(write(tmp_path / "t.json", events))
    (row,) = made["ranks"]
    assert [row[key] for key in ("basis", "compute", "communication", "exposed", "steps_of")] == [
        *("gpu", 900_000, 900_000, 600_000, "iteration")
    ]
    assert [row["duration"] for row in made["steps"]] == [900_000] * 3


def test_progress_of_a_file_that_is_read_three_times() -> None:
    seen: list[tuple[int, int]] = []
    path = TRACES / "kernel_at_time_0.json"
    read_stats([(str(path), 0)], "wall", None, lambda done, total: seen.append((done, total)))
    assert seen and all(done <= total for done, total in seen)


def remove(events: list[Event], name: str) -> list[Event]:
    return [event for event in events if event.get("cat") != name]


@pytest.mark.parametrize("behind", [0, 25_000])
def test_steps_by_the_work_launched_in_them(behind: int, tmp_path: Path) -> None:
    """The GPU runs up to 25 ms behind: its steps last from their first kernel to that of the next step."""
    events = events_of("gpu_step_annotation_of_one_kernel.json")
    for event in events:
        event["ts"] += behind if event["cat"] in ("kernel", "gpu_user_annotation") else 0
    annotated = stats(write(tmp_path / "a.json", events))
    assert stats(write(tmp_path / "b.json", remove(events, "gpu_user_annotation")))["steps"] == annotated["steps"]
    lengths = [9_900_000] * 3 if behind == 0 else [10_000_000, 10_000_000, 8_900_000]
    assert [row["duration"] for row in annotated["steps"]] == lengths
    assert {(row["compute"], row["communication"]) for row in annotated["steps"]} == {(6_300_000, 1_800_000)}
    for step in (5, 6, 7):
        commands.out("timeline", "merge", tmp_path / "a.json", "-o", tmp_path / "part.json", "--steps", step)
        part = json.loads((tmp_path / "part.json").read_text())["traceEvents"]
        work = {cat: [event for event in part if event.get("cat") == cat] for cat in ("kernel", "cuda_runtime")}
        assert [len(rows) for rows in work.values()] == [9, 9]
        numbers = [{event["args"]["correlation"] for event in rows} for rows in work.values()]
        assert numbers[0] == numbers[1]


def test_a_graph_on_two_streams_is_one_launch(tmp_path: Path) -> None:
    def change(event: Event) -> None:
        if event["name"] in ("k1", "k3"):
            event["args"]["stream"] = event["tid"] = 8

    (row,) = stats(variant("cuda_graph_launches.json", tmp_path / "a.json", change))["launches"]
    assert (row["delay"]["count"], row["delay"]["max"], row["call"]["total"]) == (3, 10_000, 130_000)


@pytest.mark.parametrize(
    "members", [{"rank": 3}, {"rank": "3"}, {"rank": 3.0}, {"distributedInfo": {"rank": 3}, "rank": "none"}]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_rank_before_and_after_the_events(members: dict[str, Any], first: bool, tmp_path: Path) -> None:
    events = {"traceEvents": events_of("base_time_as_exponent_r0.json")}
    (tmp_path / "rank5.json").write_text(json.dumps(members | events if first else events | members))
    assert [row["rank"] for row in stats(tmp_path / "rank5.json")["ranks"]] == [3]


@pytest.mark.parametrize("rank", ["1", 1.0, "1.0", 1])
@pytest.mark.parametrize("base", ["1767189313000000000", 1.767189313e18, "1.767189313e+18", 1767189313000000000])
def test_numbers_in_any_form(rank: object, base: object, tmp_path: Path) -> None:
    """The name of the file says another rank; the base is a second after that of the other file."""
    first, second = tmp_path / "rank5.json", tmp_path / "rank6.json"
    events = events_of("base_time_as_exponent_r0.json")
    write(first, events, baseTimeNanoseconds=1767189312000000000, distributedInfo={"rank": 0})
    write(second, events, baseTimeNanoseconds=base, distributedInfo={"rank": rank})
    commands.out("timeline", "merge", first, second, "-o", tmp_path / "m.json")
    merged = json.loads((tmp_path / "m.json").read_text())
    assert [(row["file"], row["rank"]) for row in merged["ranks"]] == [(str(first), 0), (str(second), 1)]
    starts = [event["ts"] for event in merged["traceEvents"] if event["name"] == "ProfilerStep#0"]
    assert starts[1] - starts[0] == 10**6


@pytest.mark.parametrize(
    ("members", "named"),
    [
        *(({"distributedInfo": {"rank": rank}}, "rank") for rank in ("one", -1, 1.5, None, [1])),
        *(({"rank": rank}, "rank") for rank in ("one", -1, 1.5, None, {"of": 3})),
        ({"baseTimeNanoseconds": "today"}, "baseTimeNanoseconds"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_numbers_that_are_not_read(members: dict[str, Any], named: str, first: bool, tmp_path: Path) -> None:
    """The rank in the name of the file is used, and a line states it."""
    path = tmp_path / "rank5.json"
    events = {"traceEvents": events_of("base_time_as_exponent_r0.json")}
    path.write_text(json.dumps(members | events if first else events | members))
    assert f"rank5.json: {named} is not a whole number: not used" in text(path)
    errors = commands.error("timeline", "merge", path, "-o", tmp_path / "m.json", status=0)
    assert f"{named} is not a whole number" in errors
    assert stats(path)["ranks"][0]["rank"] == 5


@pytest.mark.parametrize("apart", [3, 50, 5000])
def test_ranks_joined_without_unique_numbers(apart: int, tmp_path: Path) -> None:
    """Two ranks that run at the same time, whose processes have other pids."""
    events = events_of("two_ranks_in_one_file_same_correlations.json")
    for event in events:
        event["ts"] += apart - 5000 if event["pid"] in (1001, 2001) else 0
    by_time = sorted(events, key=lambda event: event["ts"])
    gpus_reversed = sorted(events, key=lambda event: event["pid"] * (-1 if event["cat"] == "kernel" else 1))
    for order in (events, by_time, events[::-1], *([] if apart == 3 else [gpus_reversed])):
        (row,) = stats(write(tmp_path / "a.json", order))["launches"]
        assert (row["delay"]["count"], row["delay"]["min"], row["delay"]["max"]) == (6, 10_000, 10_000)
        assert (row["early"], row["repeated"]) == (0, 3)


def test_work_of_unknown_devices(tmp_path: Path) -> None:
    def change(event: Event) -> None:
        event["cat"] = "mtia_ccp_events" if event["cat"] == "kernel" else event["cat"].replace("cuda", "mtia")

    path = variant("cuda_graph_launches.json", tmp_path / "a.json", change)
    assert "work of the category mtia_ccp_events is not read" in text(path)
    assert "is not read" not in text(TRACES / "cuda_graph_launches.json")


@pytest.mark.parametrize(
    "name",
    [
        "oneccl_allreduce_small",
        "void hccl::AllGatherKernel<float>(int)",
        "mscclpp::allreduce7<half>",
        "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>",
        "void at::native::(anonymous namespace)::two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(int)",
        "void deep_ep::intranode::combine<x>",
        "userbuffers_fp16_sum_inplace_gpu_rw",
        "sycl::ccl_kernel",
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ],
)
def test_collectives_of_libraries(name: str, tmp_path: Path) -> None:
    def rename(event: Event) -> None:
        if event["cat"] == "kernel" and event["tid"] == 20:
            event["name"] = name
            event["args"] = {"device": 0, "stream": 20}

    path = variant("collective_kernel_without_nccl_in_its_name.json", tmp_path / "a.json", rename)
    assert stats(path)["ranks"][0]["communication"] == 300_000


def test_names_of_templates_are_not_collectives(tmp_path: Path) -> None:
    """Some programs escape the angle bracket of a template."""
    (tmp_path / "a.json").write_text(
        (TRACES / "collective_kernel_without_nccl_in_its_name.json")
        .read_text()
        .replace("void oneccl_allreduce_small<float>", "void reduce\\u003cAllReduceOp\\u003E")
        .replace("Collective name", "other")
    )
    assert stats(tmp_path / "a.json")["ranks"][0]["communication"] == 0


@pytest.mark.parametrize(
    "name", ["all-reduce-start.1", "psum.3", "send.1", "NcclAllReduce", "HorovodAllgather", "CollectiveReduceV2"]
)
def test_collectives_of_xla_and_tensorflow(name: str, tmp_path: Path) -> None:
    events = [{"ph": "X", "name": "fusion.1", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]
    events += [{"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 50, "dur": 30}]
    (row,) = stats(write(tmp_path / "a.json", events))["ranks"]
    assert (row["compute"], row["communication"]) == (50_000, 30_000)


def test_kernels_of_an_ascend_npu(tmp_path: Path) -> None:
    def task(name: str, stream: int, ts: int, dur: int, kind: str = "") -> Event:
        args = {"Task Type": kind, "Stream Id": stream, "Device Id": 0} if kind else {"data_type": "BFP16"}
        return {"ph": "X", "name": name, "pid": 8, "tid": stream, "ts": str(ts), "dur": dur, "args": args}

    tasks = [
        task("MatMulV2", 2, 0, 40, "AI_CORE"),
        task("EVENT_WAIT", 2, 40, 60, "EVENT_WAIT"),
        task("hcom_allReduce__558_0", 9, 30, 50),
        task("MEMCPY_ASYNC", 3, 90, 10, "MEMCPY_ASYNC"),
    ]
    made = stats(write(tmp_path / "trace_view.json", tasks))
    (row,) = made["ranks"]
    assert (row["basis"], row["compute"], row["communication"], row["copies"]) == ("gpu", 40_000, 50_000, 10_000)
    assert {row["stream"] for row in made["streams"]} == {2, 3, None}


#: Names of ranges: the line that states them, and the length of a step.
RANGES = {
    "iteration 7": ("steps are the ranges `iteration`", 990_000),
    "train_step": ("steps are the ranges `train_step`", 990_000),
    "Optimizer.step#AdamW.step": ("a step ends with each `Optimizer.step#AdamW.step`", 1_000_000),
}


@pytest.mark.parametrize("name", RANGES)
def test_steps_without_a_profiler_step(name: str, tmp_path: Path) -> None:
    """Steps of 0.99 ms every millisecond, or iterations that end with an optimizer."""
    events = events_of("last_step_of_length_0.json")
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    for number, event in enumerate(steps):
        event |= {"name": name.replace("7", str(number + 7)), "dur": 990}
    path = write(tmp_path / "a.json", events)
    made = stats(path)
    line, length = RANGES[name]
    assert {row["steps_of"] for row in made["ranks"]} == {name.removesuffix(" 7")} and line in text(path)
    assert [row["step"] for row in made["steps"]] == ([7, 8, 9] if "7" in name else [0, 1, 2])
    assert [row["duration"] for row in made["steps"]][1:] == [length, length]
    middle = made["steps"][1]["step"]
    commands.out("timeline", "merge", path, "-o", tmp_path / "part.json", "--steps", middle)
    part = json.loads((tmp_path / "part.json").read_text())["traceEvents"]
    assert sum(event.get("cat") == "cpu_op" for event in part) == 9
    out = tmp_path / "b.json"
    assert "none of these steps" in commands.complaint("timeline", "merge", path, "-o", out, "--steps", 99)


@pytest.mark.parametrize("covers", [100, 8_900])
def test_steps_on_a_gpu_without_launches(covers: int, tmp_path: Path) -> None:
    """Annotations that contain one of nine kernels are not steps."""
    events = remove(events_of("gpu_step_annotation_of_one_kernel.json"), "cuda_runtime")
    for event in events:
        event["dur"] = covers if event["cat"] == "gpu_user_annotation" else event["dur"]
    made = stats(write(tmp_path / "a.json", events))
    assert {row["duration"] for row in made["steps"]} == {9_900_000 if covers == 100 else 8_900_000}
    assert [len(row["doubts"]) for row in made["ranks"]] == [int(covers == 100)]


@pytest.mark.parametrize("shift", [-HOUR, HOUR, -1_700_000_000_000_000, -8_000])
def test_another_clock_of_the_gpu(shift: int, tmp_path: Path) -> None:
    """Steps are the work launched in them; the time of the rank has no pause between the clocks."""
    events = events_of("gpu_step_annotation_of_one_kernel.json")
    for event in events:
        event["ts"] += shift if event["cat"] in ("kernel", "gpu_user_annotation") else 0
    made = stats(write(tmp_path / "a.json", events))
    assert {(row["compute"], row["communication"]) for row in made["steps"]} == {(6_300_000, 1_800_000)}
    (row,) = made["ranks"]
    assert row["duration"] < 40_000_000
    assert [doubt.split(":")[0] for doubt in row["doubts"]] == ["host and GPU have different clocks"] * (
        shift != -8_000
    )


@pytest.mark.parametrize("width", [80, 60])
def test_figures_are_not_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a narrow terminal, headings are folded and gaps are narrow."""
    path = TRACES / "gpu_step_annotation_of_one_kernel.json"
    figures = re.compile(r"\d+(?:\.\d+)? (?:us|ms|%)")
    wide = text(path)
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = text(path)
    assert figures.findall(narrow) == figures.findall(wide)
    assert max(map(len, narrow.splitlines())) <= 84


@pytest.mark.parametrize("key", ["sycl queue", "l0 queue", "queue", "stream", ""])
@pytest.mark.parametrize("form", [int, str, hex, float])
def test_numbers_of_queues(key: str, form: Callable[[int], object], tmp_path: Path) -> None:
    """Without an argument, a stream is a thread, whose number merges change."""

    def change(event: Event) -> None:
        if "sycl queue" in event["args"]:
            queue = form(event["args"].pop("sycl queue"))
            event["args"].pop("l0 queue", None)
            event |= {"tid": queue} if not key else {}
            event["args"] |= {key: queue} if key else {}

    made = stats(variant("xpu_two_queues.json", tmp_path / "a.json", change))
    assert [row["count"] for row in made["streams"]] == [4, 2]
    assert [row["stream"] for row in made["streams"]] == ([64, 65] if key else [None, None])


def test_escapes_of_printable_characters(tmp_path: Path) -> None:
    """JSON may write any character as an escape, also in the names of members."""
    plain = (TRACES / "gpu_step_annotation_of_one_kernel.json").read_text()
    escaped = plain.replace("dur", "d\\u0075r").replace("kernel", "k\\u0065rnel")
    escaped = escaped.replace("traceEvents", "trace\\u0045vents").replace("ProfilerStep#", "Profiler\\u0053tep\\u0023")
    for name, content in (("a.json", plain), ("b.json", escaped)):
        (tmp_path / name).write_text(content)
        commands.out("timeline", "merge", tmp_path / name, "-o", tmp_path / f"m{name}")
    assert json.loads(escaped) == json.loads(plain)
    first, second = (stats(tmp_path / name) for name in ("a.json", "b.json"))
    assert {**first, "files": []} == {**second, "files": []}
    assert faults(tmp_path / "b.json") == faults(tmp_path / "a.json")
    merged = [json.loads((tmp_path / f"m{name}").read_text())["traceEvents"] for name in ("a.json", "b.json")]
    assert merged[0] == merged[1]


ET = (TRACES / "execution_trace_missing_comma.json").read_text()
SOUND = ET[:4518].rstrip() + "," + ET[4518:]


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        (ET, False),
        (SOUND, True),
        (SOUND[: SOUND.rindex("]")] + "," + SOUND[SOUND.rindex("]") :], False),
        (SOUND + "]", False),
        (SOUND + "{}", False),
        (SOUND.replace(',\n "pid"', '\n "pid"', 1), False),
        (SOUND.replace('"pid": 1000', '"pid": 01000', 1), False),
        (SOUND.replace('"pid": 1000', '"pid" 1000', 1), False),
        (SOUND + " \n", True),
        (SOUND.replace('"nodes"', '"x": "C:\\work", "nodes"', 1), False),
        (SOUND.replace('"nodes"', '"x": "a\tb", "nodes"', 1), False),
        (SOUND.replace('"nodes"', '"x": [NaN, -Infinity], "nodes"', 1), True),
        (SOUND.replace('"nodes"', '"x": nan, "nodes"', 1), False),
    ],
)
def test_execution_traces_are_json(content: str, whole: bool, tmp_path: Path) -> None:
    """``et check`` refuses what ``json.load`` refuses."""
    path = tmp_path / "et.json"
    path.write_text(content)
    status, output, _ = commands.run("et", "check", path)
    try:
        json.loads(content)
    except ValueError:
        assert not whole
    else:
        assert whole
    assert (status, "broken" in output) == (0 if whole else 1, not whole)


def test_queues_of_sycl_are_streams(tmp_path: Path) -> None:
    """Three kernels or copies follow another one on queue 64, one on queue 65."""
    et = {
        "schema": "1.1.1-chakra.0.0.4",
        "pid": 100,
        "nodes": [node(2, 1, "[pytorch|profiler|execution_trace|thread]", 0)],
    }
    et["nodes"] += [node(number, 2, "aten::mm", number, "mm(Tensor x) -> Tensor") for number in range(3, 7)]
    (tmp_path / "et.json").write_text(json.dumps(et))
    commands.out("et", "link", tmp_path / "et.json", TRACES / "xpu_two_queues.json", "-o", tmp_path / "x.json")
    (row,) = commands.document("et", "info", tmp_path / "x.json")["files"]
    assert (row["gpu"], row["streams"], row["edges"]["launch"], row["edges"]["stream"]) == (6, 2, 4, 4)
