"""Recorded jobs of pipelines: their stages, lines and matches, and flows from sends to receives in timelines."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fastdispatch
from tests import commands, programs

np = pytest.importorskip("numpy")

from fastdispatch import _core  # noqa: E402
from fastdispatch.read.clock_maps import ClockMap  # noqa: E402
from fastdispatch.read.pipeline_flows import flows_of  # noqa: E402
from fastdispatch.read.pipeline_jobs import OTHER, PipelineRank, RankJobs, pipeline_jobs  # noqa: E402
from fastdispatch.read.schedule_jobs import RG, SA, SG, F  # noqa: E402

#: Flags of recorded jobs.
EVAL, POSTED, FUSED = 2, 8, 16
_NUMBERS = ("step", "iteration", "micro_batch", "stage", "peer", "buffer", "flags", "bytes")
_TIMES = ("start", "duration", "gpu_start", "gpu_duration")
_PLUS_ONE = ("iteration", "micro_batch", "stage", "peer", "buffer")

Job = dict[str, Any]


def job(kind: str, stage: int, micro_batch: int, start: int, end: int, **more: Any) -> Job:
    times = {"start": start, "duration": end - start}
    return {"kind": kind, "stage": stage, "micro_batch": micro_batch, "drawn": True} | times | more


def trace_of(ranks: Sequence[list[Job]]) -> Any:
    """A trace of ranks with these jobs, as the core returns it."""

    def arrays(index: int) -> dict[str, Any]:
        rows = ranks[index]
        found: dict[str, Any] = {"kind": [row["kind"] for row in rows]}
        for name in (*_NUMBERS, *_TIMES):
            default = -1 if name in _PLUS_ONE else 0
            found[name] = np.array([row.get(name, default) + (name in _PLUS_ONE) for row in rows], "u8")
        return found | {name: np.array([row.get(name, False) for row in rows], bool) for name in ("open", "drawn")}

    tables: dict[str, Any] = {"rank": {"rank": range(len(ranks))}, "facts": {"key": [], "value": []}}
    return SimpleNamespace(arrays=lambda name, rank: arrays(rank), columns=lambda name, rank=-1: tables[name])


def pipelined(*ranks: list[Job], **known: Sequence[Any]) -> dict[str, Any]:
    trace = trace_of(ranks)
    about = [{name: values[at] for name, values in known.items()} for at in range(len(ranks))]
    made = pipeline_jobs([(RankJobs(trace, at), PipelineRank(at, **each)) for at, each in enumerate(about)])
    for name in ("jobs", "ranks"):
        made[name] = {column: values.tolist() for column, values in made[name].items()}
    return made


def test_numbers_and_times_of_jobs() -> None:
    jobs = [
        job("ITER", -1, -1, 0, 100),
        job("forward", 1, 2, 10, 20, gpu_start=12, gpu_duration=18, step=9, iteration=5, buffer=0),
        job("F", -1, -1, 21, 22, flags=EVAL, gpu_duration=1),
        job("UNSHARD", -1, -1, 22, 23, step=5),
        job("RG", -1, 0, 40, 49, bytes=64, step=5, open=True, flags=POSTED | FUSED),
    ]
    made = pipelined(jobs, position=[1], clock=[ClockMap(offset=1000)], unsure=[4], killed=[True])
    assert (made["evals"], made["unknown"]) == (1, 1)
    rows = made["jobs"]
    assert rows["kind"] == [F, OTHER, RG]
    assert rows["row"] == [1, 3, 4]
    assert rows["start"] == [1012, 1022, 1040]
    assert rows["end"] == [1030, 1023, 1049]
    assert rows["iteration"] == [5, 5, 5]
    assert rows["stage"] == [1, 1, 1]
    assert rows["flags"] == [0, 0, 1 | 2 | 4]
    assert rows["bytes"] == [0, 0, 64]
    ranks = made["ranks"]
    assert [ranks[name] for name in ("open", "killed", "moved_ns", "unsure_ns")] == [[1], [True], [1000], [4]]


def test_the_direction_of_a_transfer_is_that_of_its_peer() -> None:
    ranks = [[job("send", at, 0, 0, 1), job("recv", at, 0, 1, 2), job("RG", at, 0, 2, 3)] for at in range(3)]
    made = pipelined(*ranks)
    rows = made["jobs"]
    assert made["stages"] == 3
    assert made["undirected"] == 2  # the stage in the middle has two neighbours
    assert rows["kind"] == [SA, RG, RG, OTHER, OTHER, RG, SG, 6, RG]
    assert [rows["peer"][at] for at in (0, 2, 6, 8)] == [1, 1, 1, -1]


def test_jobs_without_stages_are_of_the_ranks_in_order() -> None:
    made = pipelined(*[[job("forward", -1, 0, 0, 1)]] * 2)
    assert made["guessed"]
    assert made["jobs"]["stage"] == made["ranks"]["stage"] == [0, 1]


@pytest.mark.parametrize("known", [{}, {"data": [1, 0, 1, 0]}], ids=str)
def test_replicas_are_in_other_lines(known: dict[str, list[int]]) -> None:
    made = pipelined(*[[job("F", at // 2, 0, 0, 1)] for at in range(4)], **known)
    assert (made["lines"], made["stages"]) == (2, 2)
    assert made["ranks"]["line"] == [0, 1, 0, 1]


def test_jobs_are_by_iteration_and_start_and_damaged_stages_are_ignored() -> None:
    first = [job("F", 3, 1, 7, 8), job("F", 0, 0, 5, 6), job("B", 0, 0, 1, 2, step=1), job("F", 1 << 20, 0, 0, 1)]
    made = pipelined(first, [job("F", 1, 0, 0, 1)], [])
    assert made["jobs"]["start"] == [0, 5, 7, 1, 0]
    assert made["jobs"]["stage"] == [-1, 0, 3, 0, 1]
    assert (made["chunks"], made["globals"]) == (2, 4)
    assert pipelined()["stages"] == 0
    assert pipelined([job("F", -1, 0, 0, 1, flags=EVAL)], position=[2])["stages"] == 3


def test_a_receive_that_is_posted_and_awaited_matches_once() -> None:
    receives = [job("RA", 1, 0, 4, 5, flags=POSTED), job("RA", 1, 0, 6, 21)]
    made = pipelined([job("SA", 0, 0, 10, 20)], receives)
    assert (made["matched"], made["local"], made["alone"]) == (1, 0, [])
    assert made["jobs"]["other"] == [1, 0, 0]


def test_transfers_without_another_end_are_alone() -> None:
    receives = [job("RA", 1, mb, at, at + 1) for at, mb in ((4, 0), (22, 0), (24, -1))]
    made = pipelined([job("SA", 0, 0, 10, 20)], [*receives, job("SG", 1, 3, 26, 27)])
    assert (made["matched"], made["alone"]) == (1, [2, 3, 4])


#: Micro-batch 0 as it should be, to a receive that waits; 1 is received before it is sent, as clocks are off; 2 is
#: received in a job that posts and one that waits; stage 2 is of rank 1 as well.
RANKS = (
    [job("SA", 0, mb, start, start + 10, peer=1) for mb, start in enumerate((10, 60, 80))],
    [
        job("RA", 1, 0, 5, 30, peer=0),
        job("RA", 1, 1, 40, 50, peer=0),
        job("RA", 1, 2, 60, 62, peer=0, flags=POSTED),
        job("RA", 1, 2, 70, 95, peer=0),
        job("SA", 1, 0, 100, 110, peer=2),
        job("RA", 2, 0, 112, 120, peer=1),
        job("SA", 1, 1, 130, 140, peer=2),
    ],
)


def ends(shown: int) -> list[list[tuple[int, int, int]]]:
    found = flows_of(trace_of(RANKS), shown, None) or []
    return [np.frombuffer(each, np.dtype(_core.timeline_rows()[1])).tolist() for each in found]


def test_flows_go_from_sends_to_receives() -> None:
    inside = 1 << 32 | 0xC0000004
    between = [0xC0000000, 0xC0000002]
    assert ends(-1) == [
        [(between[0], 0, 0), (between[1], 2, 0)],
        [(between[0], 0, 1), (between[1], 3, 1), (inside, 4, 0), (inside, 5, 1)],
    ]
    assert ends(1) == [[], [(inside, 4, 0), (inside, 5, 1)]]


def test_only_jobs_with_slices_have_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RANKS[0][0], "drawn", False)
    assert [end[1] for end in ends(-1)[1]] == [3, 4, 5]
    assert flows_of(trace_of([[job("F", 0, 0, 0, 1)], []]), -1, None) is None


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Recordings of two ranks: 3 micro-batches in 3 steps, with calls after the receives."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "flows")
    for rank, kind in enumerate(("SA", "RA")):
        monkeypatch.setenv("RANK", str(rank))
        with fastdispatch.CallGraph(folder / str(rank), ops="off", timeline=True) as graph:
            for _ in range(3):
                for mb in range(3):
                    with fastdispatch.job(kind, mb, stage=rank, peer=1 - rank):
                        programs.leaf(mb)
                programs.leaf(1)
                graph.step()
    return [folder / str(rank) / f"rank{rank:05}.fd" for rank in range(2)]


def merged(paths: list[Path], to: Path, *options: object) -> list[dict[str, Any]]:
    commands.out("timeline", "merge", *paths, "-o", to, *options)
    events: list[dict[str, Any]] = json.loads(to.read_text())["traceEvents"]
    return events


def slices(events: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """The slices of rank 1, times in ns."""
    own = next(each["pid"] for each in events if each.get("args", {}).get("name", "").startswith("rank 1"))
    found = [each for each in events if each["ph"] == "X" and each["pid"] == own]
    return {(round(each["ts"] * 1000), round(each["dur"] * 1000), each["name"]) for each in found}


def test_a_merge_has_the_flows_between_its_recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = recorded(tmp_path, monkeypatch)
    events = [each for each in merged(paths, tmp_path / "a.json") if "bind_id" in each]
    out, into = ({each["bind_id"] for each in events if each.get(way)} for way in ("flow_out", "flow_in"))
    assert len(out) == 9
    assert out == into
    assert {each["name"] for each in events if each.get("flow_in")} == {"received"}
    assert not [each for each in merged(paths[1:], tmp_path / "b.json") if "bind_id" in each]


def test_selected_steps_keep_all_their_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = recorded(tmp_path, monkeypatch)
    whole = slices(merged(paths, tmp_path / "a.json"))
    part = slices(merged(paths, tmp_path / "b.json", "--steps", "1:2"))
    begin, length = next((start, duration) for start, duration, name in part if name == "step 1")
    assert part >= {each for each in whole if begin <= each[0] < begin + length}
    assert len([each for each in part if each[2] == "received"]) == 3
