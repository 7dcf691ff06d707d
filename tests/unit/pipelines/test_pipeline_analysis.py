"""The analysis of recorded jobs: pipelines that follow a plan exactly, with known figures, and jobs one by one."""

from array import array
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from fastdispatch import Error, pipeline
from fastdispatch.pipeline.analysis import analysis
from fastdispatch.pipeline.idle_time import FUSED, PARTS, POSTED
from fastdispatch.pipeline.plan import KINDS
from fastdispatch.pipeline.sentences import move_text

UNIT = 1_000_000
_FORMATS = {"kind": "B", "flags": "B", "start": "q", "end": "q"}
_COLUMNS = (
    *("at", "row", "iteration", "kind", "flags", "stage", "peer"),
    *("micro_batch", "buffer", "bytes", "start", "end"),
)

Row = dict[str, Any]


def job(at: int, kind: str, stage: int, micro_batch: int, start: int, end: int, **more: int) -> Row:
    known = {"peer": -1, "iteration": 0, "flags": 0, "bytes": 0, "buffer": -1}
    times = {"start": start, "end": end, "micro_batch": micro_batch}
    number = KINDS.index(kind) if kind in KINDS else len(KINDS)
    return known | {"at": at, "kind": number, "stage": stage} | times | more


def recorded(jobs: list[Row], lines: Sequence[int] = (), **about: object) -> Row:
    """What ``pipeline_jobs`` returns for these jobs; the ends of a transfer have the same micro-batch."""
    jobs = sorted(jobs, key=lambda row: (row["at"], row["iteration"], row["start"]))
    count = max(row["at"] for row in jobs) + 1
    lines = lines or [0] * count
    ends: dict[object, int] = {}
    for at, row in enumerate(jobs):
        row["row"] = at
        low = min(row["stage"], row["peer"])
        key = (lines[row["at"]], row["iteration"], KINDS[row["kind"]][1:] if row["kind"] < 12 else "", low)
        row["key"] = (KINDS[row["kind"]][0] if row["kind"] < 12 else "", *key, row["micro_batch"])
        ends.setdefault(row["key"], at)
    for row in jobs:
        side, *rest = row.pop("key")
        row["other"] = ends.get(({"S": "R", "R": "S"}.get(side), *rest), -1) if row["peer"] >= 0 else -1
    columns = {name: array(_FORMATS.get(name, "i"), [row[name] for row in jobs]) for name in (*_COLUMNS, "other")}
    stages = [min(row["stage"] for row in jobs if row["at"] == at) for at in range(count)]
    first = [sum(row["at"] < at for row in jobs) for at in range(count + 1)]
    ranks: dict[str, Sequence[int]] = {"rank": range(count), "stage": stages, "line": lines}
    ranks |= {"first": first[:-1], "end": first[1:]} | {name: [0] * count for name in ("killed", "unsure_ns")}
    places = max(stages) + 1
    chunks = -(-(max(row["stage"] for row in jobs) + 1) // places)
    counts = dict.fromkeys(("evals", "unknown", "undirected", "matched", "local"), 0)
    sizes = {"stages": places, "chunks": chunks, "lines": max(lines) + 1, "guessed": False}
    return counts | sizes | {"alone": [], "ranks": ranks, "jobs": columns} | about


def followed(
    schedule: str,
    stages: int,
    micro_batches: int,
    forward: Sequence[int] = (),
    transfer: int = 0,
    moves: bool = True,
) -> list[Row]:
    """The jobs of ranks that follow a plan. F takes 10 or as given, B twice as long; transfers that take time block."""
    plan = pipeline.plan(schedule, stages, micro_batches, 2 if schedule in ("interleaved", "zb-v") else 1)
    times = list(forward) or [10] * (stages * plan.chunks)
    replay = plan.replay(times, [2 * each for each in times], transfer=transfer, blocking=transfer > 0)
    jobs = []
    for row, begin, end in zip(plan.rows, replay.begin, replay.end, strict=True):
        if moves or row.kind[0] not in "SR" or row.kind[1] not in "AG":
            posts = transfer == 0 and row.kind in ("SA", "SG")
            until = begin if posts else end
            about = {"peer": row.peer, "bytes": 100, "flags": POSTED if posts else 0}
            jobs.append(job(row.rank, row.kind, row.stage, row.mb, int(begin * UNIT), int(until * UNIT), **about))
    return jobs


def rows(columns: dict[str, list[Any]]) -> list[Row]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def saved(made: Row, change: str, **about: object) -> list[int]:
    found = [row for row in made["what_if"] if row["change"] == change]
    return [row["saves"] / UNIT for row in found if all(row[name] == value for name, value in about.items())]


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize(
    ("schedule", "stages", "micro_batches", "forward", "transfer", "length", "idle"),
    [
        ("1f1b", 2, 4, (), 0, 150, [30] * 2),
        ("1f1b", 4, 8, (), 0, 330, [90] * 4),
        ("gpipe", 4, 8, (), 0, 330, [90] * 4),
        ("interleaved", 2, 4, [5] * 4, 0, 135, [15] * 2),
        ("1f1b", 3, 4, [10, 20, 10], 0, 280, [160, 40, 160]),
        ("1f1b", 2, 4, [30, 10], 0, 360, [0, 240]),
        ("deepspeed-train", 2, 4, (), 1, 158, [38] * 2),
        ("deepspeed-train", 4, 8, (), 1, 362, [122] * 4),
    ],
)
def test_known_figures(
    schedule: str,
    stages: int,
    micro_batches: int,
    forward: Sequence[int],
    transfer: int,
    length: int,
    idle: list[int],
    moves: bool,
) -> None:
    made = analysis(recorded(followed(schedule, stages, micro_batches, forward, transfer, moves)))
    shares = rows(made["shares"])
    assert [row["end"] - row["start"] for row in shares] == [length * UNIT] * stages
    assert [row["end"] - row["start"] - row["busy"] for row in shares] == [each * UNIT for each in idle]
    assert [sum(row[part] for part in PARTS) for row in shares] == [length * UNIT] * stages
    assert made["schedule"]["base"]["makespan"] == length * UNIT or not moves
    path = rows(made["path"])
    assert sum(row["end"] - row["start"] for row in path) == length * UNIT
    if moves or not transfer:
        assert not any(row["job"] < 0 or made["jobs"]["slack"][row["job"]] for row in path)


@pytest.mark.parametrize(
    ("schedule", "stages", "micro_batches"),
    [
        ("1f1b", 4, 8),
        ("gpipe", 3, 5),
        ("interleaved", 2, 4),
        ("zb-h1", 4, 8),
        ("zb-v", 2, 6),
        ("deepspeed-train", 4, 4),
    ],
)
def test_passes_in_flight_are_those_of_the_plan(schedule: str, stages: int, micro_batches: int) -> None:
    made = analysis(recorded(followed(schedule, stages, micro_batches)))
    assert made["schedule"]["name"] == schedule
    assert made["shares"]["in_flight"] == made["schedule"]["in_flight"]


def test_waits_and_transfers_are_apart() -> None:
    made = analysis(recorded(followed("deepspeed-train", 2, 4, transfer=1)))
    for row in rows(made["shares"]):
        assert (row["transfer"], row["launch"], row["steady"]) == (8 * UNIT, 0, 0)
        assert row["warm_up"] + row["cool_down"] == 30 * UNIT
    receive = next(row for row in rows(made["jobs"]) if (row["kind"], row["micro_batch"]) == ("RA", 0))
    assert (receive["ready"] - receive["start"], receive["end"] - receive["ready"]) == (10 * UNIT, UNIT)
    # Stage 0 of three sends 100 bytes per micro-batch, has three of them, and receives 100.
    assert analysis(recorded(followed("deepspeed-train", 3, 4, transfer=1)))["shares"]["bytes"] == [400, 500, 100]


def test_slack_ends_at_the_next_pass_of_another_stage() -> None:
    """Stage 1 is busy for 35 of 60; stage 0 waits for its first backward pass."""
    jobs = [job(0, "F", 0, 0, 0, 10), job(0, "F", 0, 1, 10, 20), job(0, "B", 0, 0, 40, 50), job(0, "B", 0, 1, 50, 60)]
    jobs += [job(1, "F", 1, 0, 10, 20), job(1, "B", 1, 0, 20, 40), job(1, "F", 1, 1, 40, 42), job(1, "B", 1, 1, 42, 45)]
    made = analysis(recorded(jobs))["jobs"]
    assert made["slack"] == [0, 20, 0, 0, 0, 0, 5, 5]
    assert made["critical"] == [True, False, True, True, True, True, False, False]


def test_each_part_of_one_rank() -> None:
    """A load, nothing, F with a receive in it, RD, OPT and a job of no kind."""
    jobs = [job(0, "LM", 0, 0, 0, 3), job(0, "F", 0, 0, 5, 10), job(0, "RG", 0, 0, 6, 8), job(0, "RD", 0, -1, 11, 12)]
    jobs += [job(0, "OPT", 0, -1, 12, 14), job(0, "what", 0, -1, 14, 15)]
    made = analysis(recorded(jobs))
    known = {"busy": 3, "unmatched": 2, "load": 3, "launch": 3, "reduce": 1, "optimizer": 2, "other": 1}
    assert {part: made["shares"][part][0] for part in PARTS} == dict.fromkeys(PARTS, 0) | known
    intervals = rows(made["intervals"])
    assert [row["start"] for row in intervals[1:]] == [row["end"] for row in intervals[:-1]]
    assert [row["part"] for row in intervals[2:5]] == ["busy", "unmatched", "busy"]


def test_two_transfers_of_one_call_wait_for_the_later_end() -> None:
    fused = {"flags": FUSED, "peer": 1}
    jobs = [job(0, "SA", 0, 1, 0, 10, **fused), job(0, "RG", 0, 0, 0, 10, **fused), job(0, "B", 0, 0, 10, 20)]
    jobs += [job(1, "SG", 1, 0, 8, 10, peer=0), job(1, "RA", 1, 1, 4, 10, peer=0)]
    made = analysis(recorded(jobs))
    first = rows(made["shares"])[0]
    assert (first["start"], first["transfer"], first["busy"]) == (4, 2, 10)
    assert made["waits"] == [[0, 4], [0, 0]]


def test_a_send_that_was_over_did_not_wait() -> None:
    made = analysis(recorded([job(0, "SA", 0, 0, 10, 20, peer=1), job(1, "RA", 1, 0, 30, 31, peer=0)]))
    assert made["jobs"]["ready"] == [10, 30]
    early = analysis(recorded([job(0, "SA", 0, 0, 10, 20, peer=1), job(1, "RA", 1, 0, 4, 5, peer=0)]))
    assert (early["early"], early["jobs"]["ready"]) == (1, [10, 5])


def test_what_unequal_stages_would_save() -> None:
    """F = (30, 60, 30): 840; the balance of it is 720. A tenth of the stage in the middle is 72, less a longer wait."""
    made = analysis(recorded(followed("1f1b", 3, 4, [30, 60, 30], moves=False)))
    schedule = made["schedule"]
    lengths = [schedule[name]["makespan"] for name in ("base", "stages", "ideal")]
    assert lengths == [840 * UNIT, 840 * UNIT, 720 * UNIT]
    assert (schedule["ideal"]["of_total"], schedule["ideal"]["of_ideal"]) == (1 / 3, 0.5)
    assert saved(made, "balanced") == [120]
    assert saved(made, "stage_faster") == [9, 66, 9]
    assert saved(made, "overlapped_transfers") == saved(made, "move_layer") == []


def test_what_other_schedules_would_save() -> None:
    made = analysis(recorded(followed("gpipe", 4, 8, moves=False)))
    assert saved(made, "double_micro_batches") == [45]
    for name, saves in {"1f1b": [0], "interleaved": [45], "zb-h1": [60], "gpipe": []}.items():
        assert saved(made, "schedule", schedule=name) == saves


def test_what_overlapped_transfers_would_save() -> None:
    made = analysis(recorded(followed("deepspeed-train", 4, 8, transfer=1)))
    assert made["schedule"]["transfers"] == "blocking"
    [saves] = saved(made, "overlapped_transfers")
    assert 0 < saves <= 32
    jobs = followed("1f1b", 2, 4, transfer=1)
    next(row for row in jobs if KINDS[row["kind"]] == "SA")["flags"] = POSTED
    assert analysis(recorded(jobs))["schedule"]["transfers"] == "mixed"


@pytest.mark.parametrize(("weights", "down"), [(None, 90), ([1.0, 0.0, 2.0, 1.0, 1.0, 1.0], 0)])
def test_what_a_moved_layer_would_save(weights: list[float] | None, down: int) -> None:
    """Stage 1 has layers 1 to 4: a quarter less of 40 + 80, and 10 + 20 more at one end."""
    jobs = recorded(followed("1f1b", 3, 4, [10, 40, 10], moves=False))
    made = analysis(jobs, layers=[0, 1, 5, 6], weights=weights)
    assert saved(made, "move_layer", layer=1, to=0) == [down]
    assert saved(made, "move_layer", layer=4, to=2) == [90]
    assert len(saved(made, "move_layer")) == 2


def test_the_first_difference_from_the_order_of_the_engine() -> None:
    jobs = followed("1f1b", 2, 4, moves=False)
    made = analysis(recorded(jobs), schedule="gpipe")
    text = "rank 0: B of micro-batch 0 on stage 0 where the schedule has F of micro-batch 2 on stage 0"
    assert made["schedule"] == {"name": None, "difference": text, "micro_batches": 4}
    assert made["what_if"] == []


def test_the_longest_replica_is_drawn_and_the_first_iteration_skipped() -> None:
    jobs = [job(at, "F", 0, 0, 10 * n, 10 * n + 3 + at, iteration=n) for at in range(2) for n in range(4)]
    jobs[-2]["end"] += 2  # of the second replica
    made = analysis(recorded(jobs, lines=[0, 1]))
    assert (made["drawn"], made["drawn_line"]) == (2, 1)
    assert made["shares"]["chosen"] == [False, True, True, True] * 2
    assert analysis(recorded(jobs, lines=[0, 1]), iterations=(0, 1))["drawn"] == 0
    with pytest.raises(Error, match="no iteration from 7 up to 9 was recorded whole: there are 0 to 3"):
        analysis(recorded(jobs, lines=[0, 1]), iterations=(7, 9))


@pytest.mark.parametrize(("chunks", "stage"), [(1, "stage"), (2, "virtual stage")])
def test_a_move_between_chunks_names_virtual_stages(chunks: int, stage: str) -> None:
    made: Any = SimpleNamespace(chunks=chunks)
    move = {"layer": 4, "stage": 3, "to": 2}
    assert move_text(made, move, "layer {} moves") == f"layer 4 moves from {stage} 3 to {stage} 2"
