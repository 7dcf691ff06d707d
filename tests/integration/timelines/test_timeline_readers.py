"""Timelines of real training in the real readers: the Perfetto trace processor, its interface, chrome://tracing."""

import itertools
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import fastdispatch
from tests import commands, processes
from tests.consumers.browser import catapult_warnings, needs_chromium, show
from tests.consumers.perfetto import assert_clean, decode, open_trace, query
from tests.training import make_step

RANKS, EPOCHS, STEPS = 2, 2, 4  # steps of all epochs

SLICES = """
    select slice.name as name, slice.ts as begin, slice.ts + slice.dur as end, process.pid as pid, track.name as track,
    process.name as process, thread.name as thread
    from slice join track on slice.track_id = track.id
    left join thread_track on slice.track_id = thread_track.id left join thread using (utid)
    left join process_track on slice.track_id = process_track.id
    join process on process.upid = coalesce(thread.upid, process_track.upid)
"""


def train(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(RANKS))
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    model, step = make_step(layers=1)
    with fastdispatch.CallGraph(f"{folder}/run", timeline=True) as graph:
        for epoch in range(EPOCHS):
            with fastdispatch.label(f"epoch {epoch}"):
                for _ in range(STEPS // EPOCHS):
                    step()
                    for parameter in model.parameters():
                        dist.all_reduce(parameter.grad)
                    graph.step()
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timeline")
    processes.spawn_ranks(train, str(folder), ranks=RANKS)
    return folder / "run"


@pytest.fixture(scope="module")
def trace(run: Path) -> fastdispatch.Trace:
    return fastdispatch.load(run, timeline=True)


@pytest.fixture(scope="module")
def native(trace: fastdispatch.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "run.pftrace"
    path.write_bytes(trace.export("perfetto"))
    return path


@pytest.fixture(scope="module")
def chrome(trace: fastdispatch.Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chrome") / "run.json"
    path.write_bytes(trace.export("chrome"))
    return path


def expected(chrome: Path) -> list[tuple[int, str, int]]:
    """Process, name and duration of every slice, asynchronous ones too, by the JSON itself."""
    events = json.loads(chrome.read_text())["traceEvents"]
    found = [(e["pid"], e["name"], round(e["dur"] * 1000)) for e in events if e["ph"] == "X"]
    begun = {(e["pid"], e["id2"]["local"]): e for e in events if e["ph"] == "b"}
    ended = {(e["pid"], e["id2"]["local"]): e for e in events if e["ph"] == "e"}
    assert begun.keys() == ended.keys()
    found += [(e["pid"], e["name"], round((ended[i]["ts"] - e["ts"]) * 1000)) for i, e in begun.items()]
    return sorted(found)


def phases_of(rank: dict[str, Any]) -> int:
    """How many phases the steps of a rank had that were not one "other" alone."""
    latest = rank["latest_steps"]
    steps = zip(*(latest[phase] for phase in ("forward", "backward", "optimizer", "data", "other")), strict=True)
    return sum(len([time for time in times if time]) for times in steps if any(times[:-1]))


def test_both_forms_hold_every_event(trace: fastdispatch.Trace, native: Path, chrome: Path) -> None:
    wanted = expected(chrome)
    threads = [rank["threads"] for rank in trace.ranks]
    opened = sum(map(len, (rank["open"]["thread"] for rank in trace.ranks)))
    steps_of_the_optimizer = RANKS  # one each before step() was called, which alone counts from then on
    phases = sum(map(phases_of, trace.ranks))
    assert phases > RANKS
    assert len(wanted) == sum(sum(table["events"]) for table in threads) + opened + phases - steps_of_the_optimizer
    assert sum(sum(table["events_lost"]) for table in threads) == 0
    for path in (native, chrome):
        with open_trace(path) as processor:
            assert_clean(processor)
            rows = query(processor, SLICES)
            assert sorted((row["pid"], row["name"], row["end"] - row["begin"]) for row in rows) == wanted


def test_a_plain_slice_takes_at_most_30_bytes(native: Path) -> None:
    """Its begin and its end; the first one of a name has the name besides."""
    sizes = [
        packet.ByteSize() + 2  # tag and length
        for packet in decode(native).packet
        if packet.HasField("track_event") and not packet.HasField("interned_data")
        if not packet.track_event.flow_ids and not packet.track_event.terminating_flow_ids
    ]
    assert len(sizes) > 10_000
    assert 2 * sum(sizes) <= 30 * len(sizes)


ARROWS = """
    select a.name as operator, b.name as node, a.ts as made, b.ts as run, thread_a.upid as from_rank,
    thread_b.upid as to_rank from flow join slice a on a.id = slice_out join slice b on b.id = slice_in
    left join thread_track track_a on track_a.id = a.track_id left join thread thread_a on thread_a.utid = track_a.utid
    left join thread_track track_b on track_b.id = b.track_id left join thread thread_b on thread_b.utid = track_b.utid
"""


def test_every_node_with_an_origin_has_an_arrow_from_its_operator(
    trace: fastdispatch.Trace, native: Path, chrome: Path
) -> None:
    kinds, names = trace.nodes["kind"], trace.nodes["name"]
    contexts = trace.contexts
    wanted: Counter[tuple[str, str]] = Counter()
    for node, origin, calls in zip(contexts["node"], contexts["origin"], contexts["calls"], strict=True):
        if kinds[node] == "autograd" and origin >= 0:
            wanted[names[contexts["node"][origin]], names[node]] += calls
    assert sum(wanted.values()) > 100
    for path in (native, chrome):
        with open_trace(path) as processor:
            rows = query(processor, ARROWS)
        assert all(row["made"] < row["run"] and row["from_rank"] == row["to_rank"] for row in rows)
        assert Counter((row["operator"], row["node"]) for row in rows) == wanted
    assert sum(rank["flows"] for rank in trace.ranks) == sum(wanted.values())
    assert [rank["flows_lost"] for rank in trace.ranks] == [0] * RANKS
    for form in ("perfetto", "chrome"):
        plain = trace.export(form, flows=False)
        assert b"fwdbwd" not in plain
        assert len(plain) < (native if form == "perfetto" else chrome).stat().st_size


def test_arrows_without_one_of_their_ends_are_counted() -> None:
    _, step = make_step(layers=1)
    step()
    with fastdispatch.CallGraph(None, timeline="ops>20us", ops="record") as graph:
        step()
    rank = fastdispatch.Trace(graph._session.trace(timeline=True)).ranks[0]
    assert rank["flows_lost"] > 0
    counters = rank["counters"]
    contexts = fastdispatch.Trace(graph._session.trace()).contexts
    known = sum(calls for calls, origin in zip(contexts["calls"], contexts["origin"], strict=True) if origin >= 0)
    assert rank["flows"] + rank["flows_lost"] == known
    assert counters["origin_none"] == 0


@pytest.mark.parametrize("form", ["run.pftrace", "merged.pftrace", "merged.json"])
def test_a_collective_runs_at_one_time_on_all_ranks_and_in_its_step(
    form: str, run: Path, native: Path, tmp_path: Path
) -> None:
    """Exported, and of both forms of a merge: below its call, in its step and in its epoch."""
    path = native if form == native.name else tmp_path / form
    if path != native:
        commands.merge_timelines(run, "-o", path)
    with open_trace(path) as processor:
        assert_clean(processor)
        rows = query(processor, SLICES)
        shown = query(processor, "select name from process where pid > 0 order by pid")
    names = [f"rank {rank} | {os.uname().nodename}" for rank in range(RANKS)]
    assert shown == [{"name": name} for name in names]
    rows.sort(key=lambda row: row["begin"])
    ranks = [[row for row in rows if row["process"] == name] for name in names]
    collectives = [[row for row in rank if row["name"] == "gloo:all_reduce"] for rank in ranks]
    for both in zip(*collectives, strict=True):
        assert max(row["begin"] for row in both) <= min(row["end"] for row in both)
    for found, runs in zip(ranks, collectives, strict=True):
        calls = [row for row in found if row["name"] == "c10d::allreduce_"]
        assert all(a["begin"] < b["begin"] < b["end"] for a, b in zip(calls, runs, strict=True))
        for name, count in (("step", STEPS), ("epoch", EPOCHS)):
            spans = [row for row in found if re.fullmatch(rf"{name} \d+", row["name"])]
            assert [row["name"] for row in spans] == [f"{name} {number}" for number in range(count)]
            assert {row["thread"] for row in spans if name == "epoch"} <= {"main"}
            assert {row["track"] for row in spans if name == "step" and path == native} <= {"Steps"}
            assert all(before["end"] <= after["begin"] for before, after in itertools.pairwise(spans))
            within = [sum(a["begin"] <= b["begin"] and b["end"] <= a["end"] for b in runs) for a in spans]
            assert within == [len(runs) // count] * count


def test_a_merge_of_profiles_loses_nothing_in_the_reader(profiles: Path, tmp_path: Path) -> None:
    """Of torch.profiler on four ranks: every slice of every rank, each thread on its own track."""
    commands.out("timeline", "merge", profiles, "-o", tmp_path / "merged.json")
    inputs = [json.loads(path.read_text())["traceEvents"] for path in sorted(profiles.glob("*.json"))]
    with open_trace(tmp_path / "merged.json") as processor:
        assert_clean(processor)
        rows = query(processor, "select count(*) as slices from slice")
        tracks = query(
            processor,
            "select count(distinct utid) as tracks from slice join thread_track on track_id = thread_track.id",
        )
    assert rows == [{"slices": sum(event["ph"] in "Xi" for events in inputs for event in events)}]
    threads = [{(str(e["pid"]), str(e["tid"])) for e in events if e["ph"] == "X"} for events in inputs]
    assert tracks == [{"tracks": sum(map(len, threads))}]


@pytest.mark.parametrize("ops", ("record", "dispatch"))
def test_every_call_of_a_training_is_one_slice(ops: str) -> None:
    compared = ("op", "python", "autograd") if ops == "record" else ("op", "python")
    _, step = make_step(layers=1)
    step()
    with fastdispatch.CallGraph(None, ops=ops, timeline="python,ops") as graph:
        for _ in range(2):
            step()
            graph.step()
    trace = fastdispatch.Trace(graph._session.trace(timeline=True))
    nodes, contexts = trace.nodes, trace.contexts
    calls: Counter[tuple[str, str]] = Counter()
    for node, called, resumed in zip(contexts["node"], contexts["calls"], contexts["resumes"], strict=True):
        if nodes["kind"][node] in compared:
            calls[nodes["kind"][node], nodes["name"][node]] += called + resumed
    assert {kind for kind, _ in +calls} == set(compared)
    kinds = dict(zip(nodes["name"], nodes["kind"], strict=True))
    events = [event for event in json.loads(trace.export("chrome"))["traceEvents"] if event["ph"] == "X"]
    slices = Counter(
        (kinds[name], name)
        for event in events
        if "open" not in event.get("args", {}) and event["cat"] not in ("step", "phase")
        for name in [re.split(r"[ ]|(?<=\]):", event["name"])[-1]]
        if kinds[name] in compared
    )
    assert slices == +calls
    assert sum(slices.values()) > 1000
    assert sum(event["cat"] == "step" for event in events) == 2
    assert trace.ranks[0]["notes"] == []


def test_one_rank_alone(trace: fastdispatch.Trace, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(trace.export("chrome", rank=1))
    document = json.loads(path.read_text())
    assert {event["pid"] for event in document["traceEvents"]} == {2}
    assert document["distributedInfo"] == {"rank": 1, "world_size": RANKS}


@needs_chromium
def test_people_can_look_at_it(native: Path, chrome: Path, tmp_path: Path) -> None:
    titles = show(native, tmp_path / "timeline.png")
    assert {"Steps", "gloo:all_reduce"} <= set(titles)
    assert sum(title.startswith(("rank 0", "rank 1")) for title in titles) == RANKS
    assert catapult_warnings(chrome) == []


JOBS = """
    select slice.name as name, slice.dur as duration, extract_arg(slice.arg_set_id, 'debug.step') as step,
    extract_arg(slice.arg_set_id, 'debug.micro_batch') as micro_batch,
    extract_arg(slice.arg_set_id, 'debug.peer') as peer from slice where category = 'job' order by slice.ts
"""


def test_jobs_are_slices_with_their_numbers(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", timeline=True) as graph:
        for mb in range(3):
            with fastdispatch.job("forward", mb):
                torch.ones(3) + mb
            with fastdispatch.job("send", mb, peer=1):
                pass
        graph.step()
        with fastdispatch.job("optimizer"):
            pass
    trace = fastdispatch.load(tmp_path / "run", timeline=True)
    jobs = trace.jobs()
    for form, durations in (("perfetto", "args"), ("chrome", "args")):
        path = tmp_path / form
        path.write_bytes(trace.export(form, durations=durations))
        with open_trace(path) as processor:
            assert_clean(processor)
            rows = query(processor, JOBS.replace("debug", "debug" if form == "perfetto" else "args"))
        assert [row["name"] for row in rows] == [
            *("forward mb0", "send mb0", "forward mb1", "send mb1"),
            *("forward mb2", "send mb2", "optimizer"),
        ]
        for name in ("duration", "step"):
            assert [row[name] for row in rows] == jobs[name]
        for name in ("micro_batch", "peer"):
            assert [row[name] for row in rows] == [None if value < 0 else value for value in jobs[name]]
