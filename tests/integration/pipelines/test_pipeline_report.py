"""``pipeline report`` on pipelines of gloo ranks: a slow stage, a slow sender, a rank that dies or is missing."""

import importlib.util
import json
import shutil
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import fastdispatch
from fastdispatch import pipeline
from fastdispatch.pipeline.report import CAUSES, rows_of
from tests import commands, processes, schemas
from tests.consumers.perfetto import assert_clean, open_trace, query

STAGES, BATCHES = 3, 4
RUNS = {"stage": ["slow-stage=1"], "sender": ["slow-sender=1", "die=2"]}

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="gloo is PyTorch's")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both at once, because they mostly sleep."""
    made, started = {}, []
    for name, planted in RUNS.items():
        made[name] = tmp_path_factory.mktemp(name)
        arguments = (made[name], STAGES, BATCHES, *planted)
        started += processes.start_ranks(processes.TORCH, "pipeline_ranks.py", STAGES, *arguments)
    for at, process in enumerate(started):
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0 or at >= STAGES, errors
    return made


def command(*arguments: object, status: int = 0) -> str:
    words = ("pipeline", "report", *arguments)
    return commands.error(*words, status=status) if status else commands.out(*words)


def test_the_slow_stage_is_named(runs: dict[str, Path]) -> None:
    made = pipeline.report(runs["stage"])
    assert (made.stages, made.schedule["name"], made.schedule["micro_batches"]) == (STAGES, "deepspeed-train", BATCHES)
    assert any(text.startswith("stage 1 is the slowest") for text in made.sentences)
    assert any("of the step for stage 1" in text for text in made.sentences)
    assert not any("slow sender" in text for text in made.sentences)
    gains = {row["stage"]: row["saves"] for row in made.what_if if row["change"] == "stage_faster"}
    assert gains[1] == max(gains.values())
    assert made.critical[0]["stage"] == 1
    assert made.critical[0]["part"] == "busy"
    for row in (made.table[0], made.table[2]):
        assert max(row["waits_for"], key=row["waits_for"].__getitem__) == 1


def test_parts_and_pieces_add_up(runs: dict[str, Path]) -> None:
    made = pipeline.report(runs["stage"], iterations=(0, 3))
    assert made.iterations == [0, 1, 2]
    for row in rows_of(made.shares):
        assert row["busy"] + sum(row[cause] for cause in CAUSES) == row["end"] - row["start"]
    for row in (*made.table, *made.ranks):
        assert row["idle"] == pytest.approx(sum(row[cause] for cause in CAUSES))
    path = rows_of(made.path)
    assert all(before["end"] == after["start"] for before, after in pairwise(path))
    drawn = next(row for row in rows_of(made.shares) if row["iteration"] == made.drawn)
    assert (path[0]["start"], path[-1]["end"]) == (drawn["start"], drawn["end"])
    assert 0 < made.bubble_of_total < 1
    assert made.bubble_of_ideal == pytest.approx(made.bubble_of_total / (1 - made.bubble_of_total))


def test_each_transfer_has_both_ends(runs: dict[str, Path]) -> None:
    made = pipeline.report(runs["stage"])
    assert made.counts["matched"] == 3 * 2 * BATCHES * (STAGES - 1)
    assert made.unmatched == []
    ids = {(row["direction"], row["stage"], row["micro_batch"]) for row in made.transfers}
    assert ids == {(direction, stage, mb) for direction in "AG" for stage in range(STAGES - 1) for mb in range(BATCHES)}
    for row in made.transfers:
        assert abs(row["from"] - row["to"]) == 1
        assert (row["from"] < row["to"]) == (row["direction"] == "A")
        assert min(row["send_wait"], row["receive_wait"]) == 0
    for name in ("in_flight", "in_flight_planned"):
        assert [row[name] for row in made.table] == [3, 2, 1]


FLOWS = """
    select a.name as sent, b.name as received, p.name as sender, q.name as receiver from flow
    join slice a on slice_out = a.id join slice b on slice_in = b.id
    join thread_track s on a.track_id = s.id join thread t using (utid) join process p using (upid)
    join thread_track r on b.track_id = r.id join thread u on r.utid = u.utid join process q on u.upid = q.upid
"""


@pytest.mark.parametrize("form", ["json", "pftrace"])
def test_merged_timelines_have_an_arrow_for_each_transfer(runs: dict[str, Path], tmp_path: Path, form: str) -> None:
    made = pipeline.report(runs["stage"], iterations=(0, 3))
    path = tmp_path / f"merged.{form}"
    commands.out("timeline", "merge", runs["stage"], "-o", path)
    with open_trace(path) as processor:
        assert_clean(processor)
        flows = query(processor, FLOWS)
    assert len(flows) == made.counts["matched"] == 3 * 2 * BATCHES * (STAGES - 1)
    for flow in flows:
        assert flow["received"] == "received"
        assert abs(int(flow["sender"].split()[1]) - int(flow["receiver"].split()[1])) == 1


def test_the_slow_sender_and_the_rank_that_died(runs: dict[str, Path]) -> None:
    made = pipeline.report(runs["sender"])
    assert any(text.startswith("stage 1 is a slow sender") for text in made.sentences)
    assert 2 not in made.iterations
    assert made.iterations
    notes = "\n".join(made.notes)
    assert "rank 2 did not end its recording" in notes
    assert "rank 2 was in" in notes
    assert [job["rank"] for job in made.open if job["rank"] == 2]


def test_a_rank_is_missing(runs: dict[str, Path], tmp_path: Path) -> None:
    for file in runs["stage"].glob("rank0000[02]*"):
        shutil.copy(file, tmp_path)
    made = pipeline.report(tmp_path)
    assert any("no recording of rank 1 of 3" in text for text in made.notes)
    assert any("no recording of stage 1" in text for text in made.notes)
    assert len(made.unmatched) == 3 * 2 * 2 * BATCHES
    assert sum(row["unmatched"] for row in made.table) > 0


def test_clocks_that_are_not_aligned(runs: dict[str, Path], tmp_path: Path) -> None:
    """Rank 1 is of another host with its clock five seconds ahead: transfers correct it within the uncertainty."""
    right = pipeline.report(runs["stage"])
    for file in runs["stage"].iterdir():
        shutil.copy(file, tmp_path)
    with (tmp_path / "rank00001.fd").open("r+b") as file:
        header = bytearray(file.read(192))
        header[64] ^= 1  # boot id
        for at in (144, 176):  # when it started and stopped, since 1970
            struct.pack_into("<Q", header, at, struct.unpack_from("<Q", header, at)[0] + 5 * 10**9)
        file.seek(0)
        file.write(header)
    assert "clocks of rank 0 and rank 1 are not aligned" in command(tmp_path, "--require-aligned-clocks", status=2)
    made = pipeline.report(tmp_path)
    [moved] = [row for row in made.ranks if row["unsure_ns"]]
    assert moved["rank"] == 1 and moved["unsure_ns"] > 0
    assert made.step == pytest.approx(right.step, abs=2 * moved["unsure_ns"])
    assert made.counts["early"] == 0
    assert any(text.startswith("clock of rank 1: shifted by ") and "either way" in text for text in made.notes)


def test_the_command(runs: dict[str, Path], tmp_path: Path) -> None:
    picture = tmp_path / "pipeline.svg"
    document: dict[str, Any] = json.loads(command(runs["stage"], "--json", "--svg", picture))
    schemas.valid(document, "pipeline-report")
    schemas.valid(json.loads(pipeline.report(runs["sender"]).to_json()), "pipeline-report")
    titles = [title.text or "" for title in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}title")]
    for stage in range(STAGES):
        for kind in "FB":
            assert sum(title.startswith(f"{kind} of micro-batch") and f"stage {stage}:" in title for title in titles)
    text = command(runs["stage"])
    assert "* stage 1 is the slowest" in text
    assert "theory: equal stages, transfers free" in text
    assert "stage 1 computes 10 % faster" in command(runs["stage"])


def test_bad_input(runs: dict[str, Path], tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path):
        pass
    assert "no pipeline engine found" in command(tmp_path, status=2)
    assert "no iteration from 7 up to 9" in command(runs["stage"], "--iterations", "7:9", status=2)
    command(runs["stage"], "--iterations", "5:2", status=2)
    assert "no such file" in command(tmp_path / "none", status=2).lower()
