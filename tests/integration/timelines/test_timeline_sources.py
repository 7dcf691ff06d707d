"""``fastdispatch timeline merge`` of other formats than Chrome JSON: recordings, logs of Paddle, and mixtures."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import processes
from tests.commands import merge_timelines

Event = dict[str, Any]
Trace = dict[str, Any]

RECORD = """
import sys, fastdispatch
def work(n): return sum(range(n))
with fastdispatch.CallGraph(sys.argv[1], timeline=True) as graph:
    for step in range(4):
        for _ in range(10): work(100)
        graph.step()
"""


def merged(folder: Path, *arguments: object) -> Trace:
    out = folder / "merged.json"
    assert merge_timelines(*arguments, "-o", out) == []
    return json.loads(out.read_text())


def named(events: Iterable[Event], what: str) -> dict[int, str]:
    """Names of processes or threads by id."""
    key = "pid" if what == "process_name" else "tid"
    return {each[key]: each["args"]["name"] for each in events if each["name"] == what}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of two ranks."""
    folder = tmp_path_factory.mktemp("run") / "out"
    for rank in range(2):
        environment = processes.environment(RANK=str(rank), WORLD_SIZE="2", FASTDISPATCH_RUN_ID="7")
        subprocess.run([sys.executable, "-c", RECORD, str(folder)], env=environment, check=True)
    return folder


def slices(events: Iterable[Event]) -> list[Event]:
    return [each for each in events if each["ph"] == "X"]


def test_recordings_are_merged_as_they_are_exported(run: Path, tmp_path: Path) -> None:
    trace = merged(tmp_path, run)
    exported = json.loads(fastdispatch.load(run, timeline=True).export("chrome"))
    (host,) = {each["facts"]["host"] for each in exported["recordings"]}
    names = named(trace["traceEvents"], "process_name")
    assert sorted(names.values()) == [f"rank 0 | {host}", f"rank 1 | {host}"]
    for rank in range(2):
        old = [each for each in slices(exported["traceEvents"]) if each["pid"] == rank + 1]
        new = [each for each in slices(trace["traceEvents"]) if names[each["pid"]].startswith(f"rank {rank} ")]
        assert len(old) > 40 and len([each for each in old if each["name"] == "work"]) == 40
        assert [(each["name"], each["dur"]) for each in new] == [(each["name"], each["dur"]) for each in old]
        assert trace["metadata"][str(rank)]["recordings"][0]["facts"]["host"] == host
    assert {row["program"] for row in trace["ranks"]} == {"fastdispatch"}


def test_exports_beside_their_recordings_are_skipped(run: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(run, tmp_path / "run")
    trace = fastdispatch.load(run, timeline=True)
    for name, form in (("a.json", "chrome"), ("b.pftrace", "perfetto")):
        (folder / name).write_bytes(trace.export(form))
    lines = merge_timelines(folder, "-o", tmp_path / "out.json")
    assert lines == [f"fastdispatch: {folder / 'a.json'}: skipped: rank 0 is in another input"]
    merge_timelines(run, "-o", tmp_path / "plain.json")
    out, plain = (json.loads((tmp_path / name).read_text()) for name in ("out.json", "plain.json"))
    assert out["traceEvents"] == plain["traceEvents"]


def test_beside_a_trace_of_another_program(run: Path, tmp_path: Path) -> None:
    """Both programs read one wall clock."""
    exported = json.loads(fastdispatch.load(run, timeline=True).export("chrome"))
    base = exported["recordings"][0]["start"]["realtime"]
    event = {"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": 5, "dur": 1}
    profiled = {"deviceProperties": [], "distributedInfo": {"rank": 0}, "baseTimeNanoseconds": base}
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "trace.json").write_text(json.dumps(profiled | {"traceEvents": [event]}))
    trace = merged(tmp_path, tmp_path / "run")
    names = named(trace["traceEvents"], "process_name")
    assert [name.split(" | ")[0::2] for name in names.values()] == [["rank 0", "fastdispatch"], ["rank 0"], ["rank 1"]]
    assert list(names.values())[1] == "rank 0 | torch.profiler"
    (op,) = [each for each in slices(trace["traceEvents"]) if each["name"] == "op"]
    ours = [each["ts"] for each in slices(trace["traceEvents"]) if names[each["pid"]].endswith("fastdispatch")]
    assert op["ts"] - 5 <= min(ours) < op["ts"] + 1e6


def test_files_of_an_earlier_run_and_dumps(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    shutil.copy(run / "rank00001.fd", tmp_path / "run" / "rank00009.fd")
    fastdispatch.load(run).dump(tmp_path / "run" / "a.json")
    lines = merge_timelines(tmp_path / "run", "-o", tmp_path / "out.json")
    assert [line.rpartition("/")[2] for line in lines] == [
        "rank00009.fd: not named in manifest.json, so of an earlier run",
        "a.json: skipped: a dump has no timeline: use the recording (.fd)",
    ]


# Logs of Paddle. The patterns are those of its tool.
LINE = re.compile(
    r"Profiler Info: Job \((\d+)\), type = (\w+), micro_batch_id = (\d+), "
    r"job_start_time = (\d+.\d+), job_end_time = (\d+.\d+)"
)
EPOCH_US = 1_697_793_307_000_000
STEP_US = 100_000


def job_line(number: int, kind: str, micro_batch: int, start_us: int, end_us: int) -> str:
    times = ", ".join(
        f"job_{name}_time = {us // 1000}.{us % 1000:03d}456" for name, us in (("start", start_us), ("end", end_us))
    )
    return (
        f"I1020 09:15:07.265326 22317 standalone_executor.cc:217] Profiler Info: Job ({number}), type = {kind}, "
        f"micro_batch_id = {micro_batch}, {times}\n"
    )


def log(
    stage: int = 0, steps: Iterable[int] = range(3), variant: str = "list", late_us: int = 0, first: int = 0
) -> str:
    """Of steps with two micro-batches. Three versions of Paddle number jobs in three ways."""
    text = f"INFO: Schedule Profiler start at step {first} and end at step 9\n" if first else "hello\n"
    for step in steps:
        at = EPOCH_US + step * STEP_US + stage * 7000 + late_us
        kinds = [("forward", 0), ("forward", 1), ("backward", 0), ("backward", 1), ("optimizer", 0)]
        seen: dict[str, int] = {}
        for index, (kind, micro_batch) in enumerate(kinds):
            of_kind = seen.setdefault(kind, 0)
            number = {"list": index, "type": of_kind, "micro_batch": micro_batch}[variant]
            text += job_line(number, kind, micro_batch, at + index * 10_000, at + index * 10_000 + 9_000 + index)
            seen[kind] += 1
    return text


def write_logs(folder: Path, logs: dict[str, str]) -> Path:
    for name, text in logs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def pictures(folder: Path, *arguments: object, reported: int = 0) -> tuple[list[Event], list[Event]]:
    lines = merge_timelines("--paddle", *arguments)
    assert len(lines) == reported, lines
    plain, numbered = (
        json.loads((folder / name).read_text(), parse_float=Decimal)["traceEvents"]
        for name in ("pipeline_profile.json", "pipeline_profile_perfetto.json")
    )
    return plain, numbered


def jobs(events: Iterable[Event]) -> dict[Any, list[tuple[str, Decimal, Decimal]]]:
    """Type, begin and end of the jobs of each row."""
    rows: dict[Any, list[tuple[str, Decimal, Decimal]]] = {}
    begun: dict[Any, Event] = {}
    for each in events:
        if each["ph"] == "B":
            assert each["tid"] not in begun
            begun[each["tid"]] = each
        elif each["ph"] == "E":
            begin = begun.pop(each["tid"])
            assert begin["name"] == each["name"] and begin["cat"] == each["cat"]
            rows.setdefault(each["tid"], []).append((each["cat"], begin["ts"], each["ts"]))
    assert not begun
    return rows


@pytest.mark.parametrize("variant", ["list", "type", "micro_batch"])
def test_paddle_intervals_are_those_of_its_patterns(tmp_path: Path, variant: str) -> None:
    logs = {f"machine{i}/workerlog.{d}": log(stage=2 * i + d, variant=variant) for i in range(2) for d in range(2)}
    write_logs(tmp_path, logs)
    plain, numbered = pictures(tmp_path, "--log_dir", tmp_path, "--multi_machine", "--devices", "0,1")
    rows, by_number = jobs(plain), jobs(numbered)
    for index, (name, text) in enumerate(logs.items()):
        machine, device = name[7], name[-1]
        found = [(kind, Decimal(a) * 1000, Decimal(b) * 1000) for _, kind, _, a, b in LINE.findall(text)]
        assert len(found) == 15
        assert rows[f"GPU{device}(machine:{machine})"] == by_number[2334 + index] == found
    names = [each["name"].split(" ")[0] for each in plain if each["ph"] == "B" and each["tid"] == "GPU0(machine:0)"]
    numbers = [f"{kind}_{number}" for number, kind, *_ in LINE.findall(logs["machine0/workerlog.0"])]
    assert names == numbers
    rows_named = {each["tid"]: each["args"]["name"] for each in numbered if each["ph"] == "M"}
    assert rows_named == {2333: "STEP"} | {
        2334 + 2 * i + d: f"GPU:{d}(machine:{i})" for i in range(2) for d in range(2)
    }
    assert {each["cat"]: each.get("cname") for each in plain} == {
        "forward": "thread_state_running",
        "backward": "rail_idle",
        "optimizer": "rail_response",
        "step": "thread_state_unknown",
    }


def test_paddle_files_as_text(tmp_path: Path) -> None:
    jobs_at = "".join(job_line(0, "forward", 0, at, at + 2000) for at in (10_000, 20_000))
    write_logs(tmp_path, {"workerlog.2": f"Schedule Profiler start at step 4 and end at step 5\n{jobs_at}"})
    pictures(tmp_path, tmp_path, "--devices", "2", "--steps", "5")

    def edges(job: object, step: object) -> list[str]:
        made = []
        for name, cat, row, color, args in (
            ("forward_0", "forward", job, "running", ',"args":{"job":0,"micro_batch":0,"step":5}'),
            ("step5", "step", step, "unknown", ""),
        ):
            head, tail = f'{{"name":"{name} (2.000 ms)","cat":"{cat}","ph"', f'"cname":"thread_state_{color}"'
            made.append(f'{head}:"B","ts":20000.456,"pid":0,"tid":{row},{tail}{args}}}')
            made.append(f'{head}:"E","ts":22000.456,"pid":0,"tid":{row},{tail}}}')
        return made

    def text(lines: list[str]) -> str:
        return '{"traceEvents":[\n' + ",\n".join(lines) + "\n]}\n"

    named = '{{"args":{{"name":"{}"}},"cat":"__metadata","name":"thread_name","ph":"M","pid":0,"tid":{},"ts":0}}'
    rows = [named.format("STEP", 2333), named.format("GPU:2", 2334)]
    assert (tmp_path / "pipeline_profile.json").read_text() == text(edges('"GPU2"', '"Step"'))
    assert (tmp_path / "pipeline_profile_perfetto.json").read_text() == text(edges(2334, 2333) + rows)
    bare, _ = pictures(tmp_path, tmp_path, "--devices", "2", "--steps", "5", "--durations", "args")
    assert bare[0]["name"] == "forward_0"
    (line,) = merge_timelines("--paddle", tmp_path, "--steps", "7:9", "-o", tmp_path / "none", status=2)
    assert line.endswith("workerlog.2: no job of these steps in it: nothing is written")
    assert not (tmp_path / "none").exists()


def test_paddle_defect_1_steps_have_their_numbers(tmp_path: Path) -> None:
    """Only one of the workers says which was the first."""
    write_logs(tmp_path, {"workerlog.0": log(), "workerlog.1": log(stage=1, first=5)})
    plain, _ = pictures(tmp_path, tmp_path)
    steps = [each["name"].split(" ")[0] for each in plain if each["ph"] == "B" and each["cat"] == "step"]
    assert steps == ["step5", "step6", "step7"]
    assert {each["args"]["step"] for each in plain if "args" in each} == {5, 6, 7}


@pytest.mark.parametrize("machines", [[10, 2, 0, 1], [0]], ids=["defect 4", "defect 3: a single machine"])
def test_paddle_machines_are_in_their_order(machines: list[int], tmp_path: Path) -> None:
    """Several machines are also found without the flag."""
    write_logs(tmp_path, {f"machine{i}/workerlog.0": log(stage=i) for i in machines})
    plain, numbered = pictures(tmp_path, tmp_path, *(["--multi_machine"] if machines == [0] else []))
    rows, places = jobs(plain), range(len(machines))
    begins = [times[0][1] for name, times in rows.items() if name != "Step"]
    assert [*rows] == [f"GPU0(machine:{i})" for i in places] + ["Step"]
    assert begins == sorted(begins)
    assert set(jobs(numbered)) == {2333, *(2334 + i for i in places)}
    assert "GPU:0(machine:0)" in {each["args"]["name"] for each in numbered if each["ph"] == "M"}


def test_paddle_defect_5_clocks_of_machines(tmp_path: Path) -> None:
    write_logs(tmp_path, {"machine0/workerlog.0": log(), "machine1/workerlog.0": log(late_us=10_000_000)})
    plain, _ = pictures(tmp_path, tmp_path, "--align", "start")
    rows = jobs(plain)
    assert rows["GPU0(machine:0)"] == rows["GPU0(machine:1)"]
    assert len(rows["Step"]) == 3 and rows["Step"][0][2] == rows["GPU0(machine:0)"][4][2]


def test_paddle_defect_6_missing_logs(tmp_path: Path) -> None:
    write_logs(tmp_path, {"workerlog.0": log()})
    (line,) = merge_timelines("--paddle", tmp_path, "--devices", "0,7")
    assert line == f"fastdispatch: {tmp_path}: no log of device 7 (workerlog.N)"
    lines = merge_timelines("--paddle", tmp_path, "--devices", "7", status=2)
    assert len(lines) == 1 and "no log of device 7" in lines[0]
    (tmp_path / "r0.json").write_text('[{"ph": "X", "name": "a", "pid": 0, "ts": 1, "dur": 1}]')
    lines = merge_timelines(tmp_path / "r0.json", "--devices", "0", "-o", tmp_path / "out.json", status=2)
    assert len(lines) == 1 and "--devices selects logs" in lines[0]


def test_paddle_defect_9_a_worker_that_lost_a_step(tmp_path: Path) -> None:
    write_logs(tmp_path, {"workerlog.0": log(), "workerlog.1": log(stage=1, steps=(1, 2))})
    plain, _ = pictures(tmp_path, tmp_path)
    rows = jobs(plain)
    assert [end - begin < STEP_US for _, begin, end in rows["Step"]] == [True] * 3
    assert [each["args"]["step"] for each in plain if each["tid"] == "GPU1" and "args" in each] == [1] * 5 + [2] * 5


def test_paddle_defect_10_logs_are_timelines_as_any_other(tmp_path: Path) -> None:
    """So that statistics are made of them as of all."""
    write_logs(tmp_path / "in", {f"machine{i}/workerlog.{d}": log(stage=2 * i + d) for i in range(2) for d in range(2)})
    trace = merged(tmp_path, tmp_path / "in")
    names = named(trace["traceEvents"], "process_name")
    assert list(names.values()) == [f"rank {2 * i + d} | machine{i} | GPU {d}" for i in range(2) for d in range(2)]
    threads = named(trace["traceEvents"], "thread_name")
    of_jobs = [each for each in slices(trace["traceEvents"]) if threads[each["tid"]] == "Jobs"]
    assert len(of_jobs) == 4 * 15 and all({"job", "micro_batch", "step"} <= each["args"].keys() for each in of_jobs)
    of_steps = [each["name"] for each in slices(trace["traceEvents"]) if threads[each["tid"]] == "Steps"]
    assert of_steps == ["step 0", "step 1", "step 2"] * 4


def test_steps_of_every_kind(run: Path, tmp_path: Path) -> None:
    """Of a recording, of a log, of torch.profiler; one input has none of them."""
    write_logs(tmp_path / "in", {"workerlog.5": log()})
    shutil.copy(run / "rank00000.fd", tmp_path / "in")
    step = {"ph": "X", "pid": 1, "tid": 1, "dur": 10}
    events = [step | {"name": f"ProfilerStep#{at}", "ts": 10 * at} for at in range(4)]
    events += [step | {"name": "op", "ts": 10 * at + 5} for at in range(4)]
    for name, trace in (("r6.json", events), ("r7.json", [step | {"name": "op", "ts": 1}])):
        (tmp_path / "in" / name).write_text(json.dumps({"traceEvents": trace, "baseTimeNanoseconds": 1}))
    lines = merge_timelines(tmp_path / "in", "--steps", "1:3", "-o", tmp_path / "out.json")
    assert [line.rpartition("/")[2] for line in lines if "/" in line] == ["r7.json: skipped: none of these steps"]
    trace = json.loads((tmp_path / "out.json").read_text())
    by_rank: dict[int, list[str]] = {}
    for each in slices(trace["traceEvents"]):
        by_rank.setdefault((each["pid"] - 1) // 1024, []).append(each["name"])
    assert {name for name in by_rank[0] if name.startswith("step ")} == {"step 1", "step 2"}
    assert by_rank[0].count("work") == 20
    assert {name for name in by_rank[5] if name.startswith("step ")} == {"step 1", "step 2"} and len(by_rank[5]) == 12
    assert by_rank[6] == ["ProfilerStep#1", "ProfilerStep#2", "op", "op"]
    assert [row["filtered"] for row in trace["ranks"]][1:] == [6, 4]
    (line,) = merge_timelines(tmp_path / "in", "--steps", "70:80", "-o", tmp_path / "no.json", status=2)
    assert "none of these steps in any input" in line
    (line,) = merge_timelines(tmp_path / "in", "--steps", "3:1", "-o", tmp_path / "no.json", status=2)
    assert "not a range of steps" in line


def test_names_of_jobs_contain_their_duration_once(tmp_path: Path) -> None:
    """Names of other slices have it, too."""
    events = [{"ph": "X", "name": 'a"é', "ts": 0, "dur": 1500}, {"ph": "i", "name": "b", "ts": 0}]
    (tmp_path / "r0.json").write_text(json.dumps(events))
    trace = merged(tmp_path, tmp_path / "r0.json", "--durations", "name")
    assert [each["name"] for each in trace["traceEvents"][:2]] == ['a"é (1.50 ms)', "b"]
    with fastdispatch.CallGraph(tmp_path / "out", jobs=True), fastdispatch.job("forward", mb=3):
        pass
    trace = merged(tmp_path, tmp_path / "out", "--durations", "name")
    (name,) = (each["name"] for each in slices(trace["traceEvents"]) if each["cat"] == "job")
    assert re.fullmatch(r"forward mb3 \(\d+\.\d+ ms\)", name)
