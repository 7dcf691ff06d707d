"""Alignment of clocks of ranks that are seconds apart and drift."""

import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fastdispatch import load
from tests import commands, processes
from tests.consumers.perfetto import assert_clean, open_trace, own_times, query

RANKS = 4
BASE = 1_790_857_026_000_000_000
SKEWS = {
    rank: (0, 0) if rank == 0 else (random.Random(rank).uniform(-1e10, 1e10), 1e-4 * (-1) ** rank)
    for rank in range(RANKS)
}

Event = dict[str, Any]


def shown(rank: int, time: float) -> int:
    """The time on the rank's clock at a true time, in ns."""
    offset, drift = SKEWS[rank]
    return round(time + offset + drift * time)


def delay(choose: random.Random) -> float:
    return 1000 * min(20 + choose.expovariate(1 / 45), 200)


def slice_of(rank: int, name: str, begin: float, end: float, **args: Any) -> Event:
    ts, dur = shown(rank, begin), shown(rank, end) - shown(rank, begin)
    return {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": ts / 1000, "dur": dur / 1000, "args": args}


def marks(rank: int) -> list[Event]:
    """The same true moments on every rank."""
    return [slice_of(rank, "mark", second * 1e9, second * 1e9 + 1000, at=second) for second in range(1, 100, 7)]


def collectives() -> dict[int, list[Event]]:
    choose = random.Random(1)
    events: dict[int, list[Event]] = {rank: [] for rank in range(RANKS)}
    for number in range(100):
        begins = [number * 1e9 + choose.expovariate(1 / 500e3) for _ in range(RANKS)]
        for rank, begin in enumerate(begins):
            end = max(begins) + delay(choose)
            events[rank].append(slice_of(rank, "gloo:all_reduce", begin, end, **{"Input Dims": [[72]]}))
    return events


def messages() -> dict[int, list[Event]]:
    """Forward and back through a pipeline."""
    choose = random.Random(2)
    events: dict[int, list[Event]] = {rank: [] for rank in range(RANKS)}
    for number in range(100):
        for rank in range(RANKS - 1):
            for source, target, when in ((rank, rank + 1, 0.1), (rank + 1, rank, 0.6)):
                sent = (number + when + rank / 100) * 1e9
                got = sent + delay(choose)
                events[source].append(slice_of(source, "send", sent, sent + 5000, peer=target))
                events[target].append(slice_of(target, "recv", sent - 50000, got, peer=source))
    return events


def pings(rank: int) -> list[list[int]]:
    choose = random.Random(rank)
    found = []
    for start in (1e9, 99e9):
        for number in range(16):
            sent = start + number * 1e6
            there = sent + delay(choose)
            found.append([0, shown(rank, sent), shown(0, there), shown(rank, there + delay(choose))])
    return found


def write(folder: Path, events: dict[int, list[Event]], members: Callable[[int], dict[str, Any]]) -> Path:
    folder.mkdir()
    for rank in range(RANKS):
        trace = {"traceEvents": [*marks(rank), *events.get(rank, [])], "distributedInfo": {"rank": rank}}
        (folder / f"{rank}.json").write_text(json.dumps(trace | {"baseTimeNanoseconds": BASE} | members(rank)))
    return folder


def merge(folder: Path, *arguments: object, status: int = 0) -> dict[str, Any]:
    out = folder.with_suffix(".merged")
    line = commands.error("timeline", "merge", folder, "-o", out, *arguments, status=status)
    return json.loads(out.read_text(), parse_float=Decimal) if status == 0 else {"line": line}


def errors(trace: dict[str, Any]) -> list[float]:
    """The largest distance of marks from those of rank 0, per rank, in ns."""
    times: dict[int, dict[int, Decimal]] = {rank: {} for rank in range(RANKS)}
    for event in trace["traceEvents"]:
        if event["name"] == "mark":
            times[(event["pid"] - 1) // 1024][event["args"]["at"]] = event["ts"] * 1000
    middle = sorted(times[0])[4:-4]
    return [max(abs(float(times[rank][at] - times[0][at])) for at in middle) for rank in range(RANKS)]


def no_members(rank: int) -> dict[str, Any]:
    return {}


def test_collectives(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", collectives(), no_members)
    wrong = merge(folder, "--align", "wall")
    assert min(errors(wrong)[1:]) > 1e6
    for way in ("collective", "auto"):
        trace = merge(folder, "--align", way, "--require-aligned-clocks")
        assert max(errors(trace)) < 5000
        assert [row["align"] for row in trace["ranks"]] == ["reference"] + ["collective"] * 3
        assert all(row["violations"] == 0 for row in trace["ranks"])
        assert all(
            error <= row["uncertainty_ns"] for error, row in zip(errors(trace)[1:], trace["ranks"][1:], strict=True)
        )
        assert all(abs(row["drift_ppb"] + Decimal(SKEWS[row["rank"]][1] * 1e9)) < 500 for row in trace["ranks"])
    assert merge(folder) == trace
    assert (
        "unknown clock error of rank 0, 1, 2, 3"
        in merge(folder, "--align", "wall", "--require-aligned-clocks", status=2)["line"]
    )


def figures(folder: Path, *arguments: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(commands.out("timeline", "stats", folder, "--json", *arguments))
    return made


def test_figures_of_files_are_on_the_clock_of_their_merge(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", collectives(), no_members)
    rows = merge(folder)["ranks"]
    made = figures(folder)
    for file, row in zip(made["files"], rows, strict=True):
        assert (file["rank"], file["align"]) == (row["rank"], row["align"])
        assert (file["offset_ns"], file["uncertainty_ns"]) == (row["offset_ns"], row["uncertainty_ns"])
    (ended,) = (row["end"] for row in made["collectives"])
    assert ended["max"] < 200_000 + 2 * 5000  # delays differ by 180 us, clocks by less than 5 us each
    (apart,) = (row["end"] for row in figures(folder, "--align", "wall")["collectives"])
    assert apart["p50"] > 1e9


def test_messages(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", messages(), no_members)
    trace = merge(folder)
    assert [row["align"] for row in trace["ranks"]] == ["reference"] + ["p2p"] * 3
    assert all(row["violations"] == 0 for row in trace["ranks"])
    assert all(
        error <= row["uncertainty_ns"] < 100_000
        for error, row in zip(errors(trace)[1:], trace["ranks"][1:], strict=True)
    )


def pairs(events: dict[int, list[Event]]) -> dict[int, list[Event]]:
    """The same slices as begins and ends, by time."""
    made = {}
    for rank, slices in events.items():
        begins = [event | {"ph": "B"} for event in slices]
        ends = [
            {"ph": "E", "pid": event["pid"], "tid": event["tid"], "ts": event["ts"] + event["dur"]} for event in slices
        ]
        made[rank] = sorted(begins + ends, key=lambda event: (event["ts"], event["ph"] == "B"))
    return made


def test_messages_in_pairs(tmp_path: Path) -> None:
    """Begin and end events give the same result as complete slices."""
    slices = messages()
    folder = write(tmp_path / "in", slices, no_members)
    expected = merge(folder)["ranks"]
    other = write(tmp_path / "pairs", pairs(slices), no_members)
    for row, exact in zip(merge(other)["ranks"], expected, strict=True):
        assert row["align"] == exact["align"] and row["violations"] == 0
        assert abs(row["offset_ns"] - exact["offset_ns"]) <= 2  # digits below a nanosecond differ
        assert abs(row["uncertainty_ns"] - exact["uncertainty_ns"]) <= 2


def test_pings(tmp_path: Path) -> None:
    def clock(rank: int) -> dict[str, Any]:
        return {"clock": {"boot_id": f"{rank:032x}", "boottime_ns": 0, "pings": pings(rank)[: 64 * rank]}}

    folder = write(tmp_path / "in", collectives(), clock)
    trace = merge(folder, "--require-aligned-clocks")
    assert [row["align"] for row in trace["ranks"]] == ["reference"] + ["pingpong"] * 3
    for error, row in zip(errors(trace)[1:], trace["ranks"][1:], strict=True):
        trips = [received - sent for _, sent, _, received in pings(row["rank"])]
        best = max(min(trips[:16]), min(trips[16:]))
        assert error <= row["uncertainty_ns"] <= best / 2 + 1
        assert abs(row["residual_ns"]) < row["uncertainty_ns"] + 5000  # the collectives agree


@pytest.mark.parametrize("way", ["none", "start"])
def test_recordings_without_calibration_are_rejected(tmp_path: Path, way: str) -> None:
    folder = write(tmp_path / "in", {}, no_members)
    assert "docs/concepts/clocks.md" in merge(folder, "--align", way, "--require-aligned-clocks", status=2)["line"]
    assert [row["uncertainty_ns"] for row in merge(folder, "--align", way)["ranks"]] == [None] * RANKS


def test_one_host_is_exact(tmp_path: Path) -> None:
    def clock(rank: int) -> dict[str, Any]:
        return {"clock": {"boot_id": "ab", "boottime_ns": 1000 * rank}, "baseTimeNanoseconds": BASE + rank}

    trace = merge(write(tmp_path / "in", {}, clock), "--require-aligned-clocks")
    assert [row["align"] for row in trace["ranks"]] == ["reference"] + ["host"] * 3
    assert [row["offset_ns"] for row in trace["ranks"]] == [0, 1000, 2000, 3000]
    assert {row["uncertainty_ns"] for row in trace["ranks"]} == {0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four ranks with different host ids."""
    folder = tmp_path_factory.mktemp("run")
    processes.run_warm("clocked_ranks.py", folder, processes.free_port(), RANKS)
    return folder


def reductions(trace: dict[str, Any], key: Callable[[Event], bool]) -> list[list[tuple[float, float]]]:
    """The times of each collective, per rank."""
    lanes: dict[int, list[tuple[float, float]]] = {}
    begun: dict[str, float] = {}
    for event in trace["traceEvents"]:
        if event["name"] == "gloo:all_reduce" and key(event):
            if event["ph"] == "b":
                begun[event["id2"]["local"]] = event["ts"]
                continue
            span = (begun[event["id2"]["local"]], event["ts"]) if event["ph"] == "e" else (0, 0)
            span = (event["ts"], event["ts"] + event["dur"]) if event["ph"] == "X" else span
            lanes.setdefault(event["pid"], []).append(span)
    assert len(lanes) == RANKS
    return [list(times) for times in zip(*map(sorted, lanes.values()), strict=True)]


def overlaps(collectives: list[list[tuple[float, float]]]) -> int:
    return sum(max(begin for begin, _ in times) <= min(end for _, end in times) for times in collectives)


@pytest.mark.torch
def test_pings_of_real_ranks(run: Path) -> None:
    """The ranks share a clock: measured offsets must be 0 within the stated uncertainty."""
    trace = load(run, timeline=True)
    exact, pinged = (
        {row["rank"]: row for row in json.loads(trace.export("chrome", align=way, strict=True))["ranks"]}
        for way in ("auto", "pingpong")
    )
    assert [row["align"] for row in exact.values()] == ["reference"] + ["host"] * 3
    assert [row["align"] for row in pinged.values()] == ["reference"] + ["pingpong"] * 3
    for rank, row in exact.items():
        assert row["uncertainty_ns"] == row["violations"] == 0
        if rank > 0:
            trips = [received - sent for _, sent, _, received in trace.ranks[rank]["meta"]["clock"]["pings"]]
            assert abs(row["residual_ns"]) <= pinged[rank]["uncertainty_ns"]
            assert min(trips) / 2 <= pinged[rank]["uncertainty_ns"] + 1 and len(trips) >= 4
    assert trace.ranks[0]["meta"]["clock"] == {}


def with_drift(run: Path, folder: Path) -> list[Path]:
    """The recordings, with pings of clocks with a drift of 400 ppm."""
    folder.mkdir()
    for path in run.glob("*.fd"):
        content = path.read_bytes()
        for found in re.finditer(rb'"pings": ?(\[\[\d+, ?(\d+),.*?\]\])', content):
            sent, rank = int(found[2]), int(re.findall(r"\d+", path.name)[0])
            later = sent + 2 * 10**9
            gained = round(2 * 10**9 * 4e-4 * (1, -1)[rank % 2])
            made = [[0, sent, sent + 1000, sent + 2000], [0, later, later + 1000 + gained, later + 2000]]
            text = json.dumps(made).encode()[:-1].ljust(len(found[1]) - 1) + b"]"
            content = content[: found.start(1)] + text + content[found.end(1) :]
        (folder / path.name).write_bytes(content)
    return sorted(folder.iterdir())


@pytest.mark.torch
def test_native_exports_rewrite_no_event(run: Path, tmp_path: Path) -> None:
    """Times are those of each rank's clock; snapshots give the common time within a microsecond."""
    trace = load(with_drift(run, tmp_path / "in"), timeline=True)
    exact = json.loads(trace.export("chrome", align="pingpong", strict=True))
    assert [abs(round(row["drift_ppb"] / 1000)) for row in exact["ranks"]] == [0, 400, 400, 400]
    shown = {}
    for align in ("none", "pingpong"):
        path = tmp_path / f"{align}.pftrace"
        path.write_bytes(trace.export("perfetto", align=align))
        shown[align] = own_times(path)
    assert shown["none"] == shown["pingpong"]
    with open_trace(tmp_path / "pingpong.pftrace") as processor:
        assert_clean(processor)
        found = query(
            processor,
            """select s.name as name, ts as begin, ts + dur as end, pid from slice s
            join thread_track on s.track_id = thread_track.id join thread using (utid) join process using (upid)
            where dur >= 0 order by pid, name, ts""",
        )
    made = [row for row in found if row["name"] == "aten::addmm"]
    whole = sorted(
        (event["pid"], event["ts"], event["ts"] + event["dur"])
        for event in exact["traceEvents"]
        if event["ph"] == "X" and event["name"] == "aten::addmm"
    )
    assert len(made) == len(whole) >= 4 * 8
    start = made[0]["begin"] - round(whole[0][1] * 1000)  # boot time where Chrome's times are 0
    for row, (pid, begin, end) in zip(made, whole, strict=True):
        assert row["pid"] == pid
        assert abs(row["begin"] - start - begin * 1000) <= 1002 and abs(row["end"] - start - end * 1000) <= 1002


@pytest.mark.torch
def test_collectives_of_real_ranks_overlap(run: Path, tmp_path: Path) -> None:
    own = json.loads(load(run, timeline=True).export("chrome", align="collective"))
    assert all(row["violations"] == 0 for row in own["ranks"])
    reduced = reductions(own, lambda event: True)
    assert len(reduced) == 8 and overlaps(reduced) == 8
    foreign = merge_traces(run, tmp_path / "merged.json")
    assert [row["align"] for row in foreign["ranks"]] == ["reference"] + ["collective"] * 3
    reduced = reductions(foreign, lambda event: event["ph"] == "X")
    assert len(reduced) == 8 and overlaps(reduced) == 8
    assert all(row["violations"] == 0 for row in foreign["ranks"])


def merge_traces(run: Path, out: Path) -> dict[str, Any]:
    """Traces of torch.profiler, after one rank's clock was set 3 s ahead."""
    paths = sorted(run.glob("trace_*.json"))
    wrong = json.loads(paths[2].read_text())
    wrong["baseTimeNanoseconds"] += 3_000_000_000
    paths[2] = out.with_name("trace_2.json")
    paths[2].write_text(json.dumps(wrong))
    commands.out("timeline", "merge", *paths, "-o", out, "--align", "collective")
    trace: dict[str, Any] = json.loads(out.read_text())
    return trace


# -- messages of gloo in traces of torch.profiler without recorded shapes ----------------------------------------------


#: The clock of rank 1 is ahead, in ns: the ranks ran on one machine.
AHEAD = 3_000_000_000
WAYS = ("one_by_one", "batched")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages") / "run"
    processes.run_warm("messages_without_shapes.py", folder)
    for way in WAYS:
        path = folder / f"{way}_1.json"
        trace = json.loads(path.read_text())
        for event in trace["traceEvents"]:
            assert "Concrete Inputs" not in event.get("args", {})
            if "ts" in event:
                event["ts"] += AHEAD / 1000
        path.write_text(json.dumps(trace))
    return folder


def aligned(out: Path, *paths: Path) -> list[dict[str, Any]]:
    commands.out("timeline", "merge", *paths, "-o", out, "--align", "p2p")
    rows: list[dict[str, Any]] = json.loads(out.read_text())["ranks"]
    return rows


@pytest.mark.torch
@pytest.mark.parametrize("way", WAYS)
def test_two_ranks_are_aligned(way: str, traces: Path, tmp_path: Path) -> None:
    one, other = aligned(tmp_path / "merged.json", traces / f"{way}_0.json", traces / f"{way}_1.json")
    assert (one["align"], other["align"], other["violations"]) == ("reference", "p2p", 0)
    assert abs(other["offset_ns"] - one["offset_ns"] + AHEAD) <= other["uncertainty_ns"]


@pytest.mark.torch
def test_peers_among_more_ranks_are_not_guessed(traces: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{rank}.json" for rank in (0, 1)]
    for rank, path in enumerate(paths):
        trace = json.loads((traces / f"batched_{rank}.json").read_text())
        trace["distributedInfo"]["world_size"] = 4
        path.write_text(json.dumps(trace))
    assert {row["align"] for row in aligned(tmp_path / "merged.json", *paths)} == {"wall"}
