"""Plans of pipeline schedules: tables, order, figures; against DeepSpeed's and PyTorch's own classes."""

import importlib.util
import json
import random
import re
import sys
import types
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import jsonschema
import pytest

import fastdispatch
from fastdispatch import _core, cli
from fastdispatch.pipeline import SCHEDULES, Plan, Replay, plan, table_of
from fastdispatch.read.schedule_jobs import EACH, Orders
from tests import commands, golden, schemas

ROOT = Path(__file__).parents[3]
GRID = [(stages, micro_batches) for stages in range(1, 9) for micro_batches in (*range(1, 10), 12, 15, 16)]


def all_plans(only: Sequence[str] = SCHEDULES) -> Iterator[Plan]:
    for schedule in only:
        for stages, micro_batches in GRID:
            for chunks in (2, 3) if schedule == "interleaved" else (1,):
                if schedule != "interleaved" or micro_batches % max(1, micro_batches // stages) == 0:
                    yield plan(schedule, stages, micro_batches, chunks)


def computed(made: Plan) -> list[list[str]]:
    """The computations of each stage as PyTorch writes them."""
    found: list[list[str]] = [[] for _ in range(made.stages)]
    for job in made.rows:
        if job.kind in "FBIW":
            found[job.rank].append(f"{job.stage}{job.kind}{job.mb}")
    return found


@pytest.mark.parametrize("schedule", ["deepspeed-train", "deepspeed-inference"])
def test_tables_of_deepspeed(schedule: str) -> None:
    for stages in (2, 3, 4):
        printed = commands.out("pipeline", "plan", schedule, "--stages", stages, "--micro-batches", 4)
        rows = printed.partition("\n\n")[0].splitlines()
        assert rows == [line for line in golden.text(f"plan/{schedule}").splitlines() if line.startswith(str(stages))]


def test_tables_of_the_others() -> None:
    interleaved = commands.out("pipeline", "plan", "interleaved", "--stages=2", "--micro-batches=4", "--chunks=2")
    assert interleaved.startswith(golden.text("plan/interleaved"))
    assert plan("deepspeed-dp", 2, 2).table(1) == "LM0 F0 B0|LM0 F0 B0 RD OPT"
    assert plan("deepspeed-dp", 2, 2).buffers(1) == 1
    assert plan("gpipe", 2, 3).table(1) == "F0 F1 F2 B0 B1 B2"
    assert plan("1f1b", 3, 4).table(1) == "F0 F1 B0 F2 B1 F3 B2 B3"
    assert plan("zb-h1", 3, 4).table(1) == "F0 F1 I0 F2 I1 W0 F3 I2 W1 I3 W2 W3"


def test_steps_of_deepspeed() -> None:
    words = ("deepspeed-train", "--stages=2", "--micro-batches=32", "--stage=0", "--steps")
    rows = commands.out("pipeline", "plan", *words).splitlines()
    assert len(rows) == 1 + 66
    assert rows[1:7] == [
        "0 True True 0 True",
        "1 False True -1 False",
        "2 True True 1 True",
        "3 False True 0 False",
        "4 True True 2 True",
        "5 False True 1 False",
    ]
    assert rows[-1] == "65 False True 31 False"
    assert [(step.mb, step.forward) for step in plan("deepspeed-train", 4, 2).train_steps(3)][:4] == [
        (-2, False),
        (-1, True),
        (-1, False),
        (0, True),
    ]


def test_deepspeed_agrees() -> None:
    theirs = schedules_of_deepspeed()
    classes = {"train": "TrainSchedule", "inference": "InferenceSchedule", "dp": "DataParallelSchedule"}
    for name, title in classes.items():
        for stages, micro_batches in GRID:
            made = plan(f"deepspeed-{name}", stages, micro_batches)
            for stage in range(stages):
                schedule = getattr(theirs, title)(micro_batches, stages, stage)
                assert made.table(stage) == table_of(schedule), (name, stages, micro_batches, stage)
                assert made.buffers(stage) == schedule.num_pipe_buffers()
                if name == "train":
                    reported = [schedule._step_to_micro_batch(step) for step in range(made.steps)]
                    assert [step[3:] for step in made.train_steps(stage)] == reported


def schedules_of_deepspeed() -> Any:
    """DeepSpeed's file alone: its package takes seconds to import."""
    found = importlib.util.find_spec("deepspeed")
    if found is None or not found.submodule_search_locations:
        pytest.skip("needs DeepSpeed")
    path = Path(found.submodule_search_locations[0], "runtime", "pipe", "schedule.py")
    parts = {f"deepspeed.runtime{name}": types.ModuleType(name) for name in ("", ".pipe", ".utils")}
    parts["deepspeed.runtime.utils"].call_to_str = str  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("deepspeed.runtime.pipe.schedule", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, parts):
        spec.loader.exec_module(module)
    return module


def orders_of_torch(title: str, stages: int, micro_batches: int, chunks: int) -> list[list[str]]:
    """``pipeline_order`` of a schedule of PyTorch without its gaps, on stand-ins for stages."""
    from torch.distributed.pipelining import schedules

    stage = types.SimpleNamespace(group_rank=0, group_size=stages, num_stages=stages * chunks, submod=None)
    given = stage if title in ("GPipe", "1F1B") else [stage] * chunks
    # What sends and receives it would add comes after the order and takes long.
    with mock.patch.object(schedules._PipelineScheduleRuntime, "_prepare_schedule_with_comms"):
        order = schedules.get_schedule_class(title)(given, micro_batches).pipeline_order
    actions = [[str(action) for action in order[rank] if action is not None] for rank in range(stages)]
    return [[each for each in rank if "REDUCE" not in each] for rank in actions]


@pytest.mark.torch
def test_torch_agrees() -> None:
    pytest.importorskip("torch.distributed.pipelining")
    # Theirs is what takes the time.
    for stages, micro_batches in (each for each in GRID if each[0] < 4 or each[1] % 4 == each[0] % 4):
        expected = [("ZBVZeroBubble", "zb-v", 2)]
        if micro_batches >= stages:
            expected += [("GPipe", "gpipe", 1)]
        if micro_batches % max(1, micro_batches // stages) == 0:
            expected += [("Interleaved1F1B", "interleaved", 2), ("Interleaved1F1B", "interleaved", 3)]
            expected += [("InterleavedZeroBubble", "zb-h1", 1)]
        for title, schedule, chunks in expected:
            made = plan(schedule, stages, micro_batches, chunks)
            theirs = orders_of_torch(title, stages, micro_batches, chunks)
            assert computed(made) == theirs, (title, stages, micro_batches)


@pytest.mark.torch
def test_three_engines_have_one_order() -> None:
    """DeepSpeed's training, Megatron's 1F1B and PyTorch's."""
    for stages, micro_batches in GRID:
        assert computed(plan("deepspeed-train", stages, micro_batches)) == computed(plan("1f1b", stages, micro_batches))
    pytest.importorskip("torch.distributed.pipelining")
    for stages, micro_batches in ((1, 1), (2, 4), (3, 4), (4, 4), (4, 16), (8, 16)):
        theirs = orders_of_torch("1F1B", stages, micro_batches, 1)
        ours = computed(plan("1f1b", stages, micro_batches))
        assert ours[:-1] == theirs[:-1]
        # PyTorch 2.13 numbers the forward passes of the last stage from 1 in this list; it runs them from 0.
        assert [re.sub(r"F\d+", "F", each) for each in ours[-1]] == [re.sub(r"F\d+", "F", each) for each in theirs[-1]]


def test_plans_are_valid() -> None:
    """Each computation once and after its inputs, each send with one receive, no buffer taken while it is in use."""
    for made in all_plans():
        forward_only, copies = made.schedule == "deepspeed-inference", made.schedule == "deepspeed-dp"
        last = made.stages * made.chunks - 1
        ends: dict[tuple[str, int, int], list[str]] = defaultdict(list)
        done: dict[int, dict[tuple[str, int, int], None]] = defaultdict(dict)
        holders = {job.stage: job.rank for job in made.rows}
        for job in made.rows:
            before = done[job.rank]
            if job.peer >= 0:
                assert abs(job.peer - job.stage) == 1 and holders[job.peer] != job.rank
                assert (job.peer > job.stage) == (job.kind in ("SA", "RG"))
                ends[job.kind[1], min(job.stage, job.peer), job.mb].append(job.kind)
            inputs = []
            if job.kind == "F" and job.stage > 0 and not copies:
                there = holders[job.stage - 1] == job.rank
                inputs = [("F", job.stage - 1, job.mb) if there else ("RA", job.stage, job.mb)]
            elif job.kind in "BI" and not copies:
                inputs = [("F", job.stage, job.mb)]
                if job.stage < last:
                    there = holders[job.stage + 1] == job.rank
                    inputs += [(job.kind, job.stage + 1, job.mb) if there else ("RG", job.stage, job.mb)]
            elif job.kind == "W":
                inputs = [("I", job.stage, job.mb)]
            elif job.kind in ("SA", "SG"):
                made_by = "F" if job.kind == "SA" else "B" if ("B", job.stage, job.mb) in before else "I"
                inputs = [(made_by, job.stage, job.mb)]
            assert all(each in before for each in inputs), (made.schedule, made.stages, made.micro_batches, job)
            before[job.kind, job.stage, job.mb] = None
        computations = [each for stage in done.values() for each in stage if each[0] in "FBIW"]
        passes = 1 if forward_only else 3 if made.schedule.startswith("zb") else 2
        assert len(computations) == len(set(computations)) == passes * (last + 1) * made.micro_batches
        crossing = 0 if copies else sum(holders[at] != holders[at + 1] for at in range(last))
        assert len(ends) == crossing * made.micro_batches * (1 if forward_only else 2)
        assert all(sorted(kinds) in (["RA", "SA"], ["RG", "SG"]) for kinds in ends.values())
        check_buffers(made)


def check_buffers(made: Plan) -> None:
    uses: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, job in enumerate(made.rows):
        if job.buffer >= 0:
            assert job.buffer < made.buffers(job.stage)
            uses[job.stage, job.buffer][job.mb].append(at)
    for held in uses.values():
        spans = sorted((min(places), max(places)) for places in held.values())
        assert all(one[1] < other[0] for one, other in pairwise(spans))


def played(made: Plan, replay: Replay) -> dict[tuple[int, str, int], tuple[Fraction, Fraction]]:
    spans = zip(made.rows, replay.begin, replay.end, strict=True)
    return {(job.stage, job.kind, job.mb): (begin, end) for job, begin, end in spans}


def test_blocking_transfers() -> None:
    expected = {
        (2, 4): ("15.8", "19/79"),
        (3, 4): ("19.4", "37/97"),
        (4, 4): ("22.6", "53/113"),
        (2, 8): ("28.6", "23/143"),
        (3, 8): ("33.0", "3/11"),
        (4, 8): ("36.2", "61/181"),
    }
    for (stages, micro_batches), (makespan, bubble) in expected.items():
        replay = plan("deepspeed-train", stages, micro_batches).replay(transfer=0.1, blocking=True)
        assert replay.makespan == Fraction(makespan)
        assert [idle / replay.makespan for idle in replay.idle] == [Fraction(bubble)] * stages
    made = plan("deepspeed-train", 2, 4)
    spans = played(made, made.replay(blocking=True))
    drawn = """0 F0[0,1] F1[1,2] B0[4,6] F2[6,7] B1[7,9] F3[9,10] B2[10,12] B3[13,15]
               1 F0[1,2] B0[2,4] F1[4,5] B1[5,7] F2[7,8] B2[8,10] F3[10,11] B3[11,13]"""
    for stage, line in enumerate(drawn.splitlines()):
        for kind, mb, begin, end in re.findall(r"([FB])(\d)\[(\d+),(\d+)\]", line):
            assert spans[stage, kind, int(mb)] == (int(begin), int(end))


def test_closed_forms_of_time() -> None:
    for stages, micro_batches in GRID:
        for forward, backward in ((1, 2), (2, 3)):
            total = (micro_batches + stages - 1) * (forward + backward)
            for schedule in ("gpipe", "1f1b", "deepspeed-train"):
                made = plan(schedule, stages, micro_batches)
                replay = made.replay(forward, backward)
                assert replay.makespan == total
                assert replay.bubble_of_total == Fraction(stages - 1, micro_batches + stages - 1)
                assert replay.bubble_of_ideal == Fraction(stages - 1, micro_batches)
                held = [
                    micro_batches if schedule == "gpipe" else min(stages - at, micro_batches) for at in range(stages)
                ]
                assert replay.in_flight == held
                if schedule != "gpipe":
                    assert made.replay(forward, backward, blocking=True).makespan == total
        if micro_batches % stages == 0:
            for chunks in (2, 3):
                replay = plan("interleaved", stages, micro_batches, chunks).replay()
                assert replay.makespan == micro_batches * 3 + Fraction((stages - 1) * 3, chunks)
                assert replay.bubble_of_ideal == Fraction(stages - 1, chunks * micro_batches)
        if micro_batches >= stages:
            # Exact as long as W does not take longer than F.
            for times in ((1, 1, 1), (2, 2, 1), (2, 3, 2)):
                forward, backward_input, weight = times
                made = plan("zb-h1", stages, micro_batches)
                replay = made.replay(forward, backward_input=backward_input, backward_weight=weight)
                assert replay.idle == [(stages - 1) * (forward + backward_input - weight)] * stages
                assert replay.in_flight == [stages] * stages
        if micro_batches >= 2 * stages - 1:
            replay = plan("zb-v", stages, micro_batches).replay()
            assert replay.waits == [0] * stages
            assert replay.in_flight == [2 * stages] * stages


def slowly(made: Plan, times: dict[str, list[Fraction]]) -> dict[tuple[str, int, int], Fraction]:
    """When each computation ends with overlapped transfers: the longest way to it, by looking again and again."""
    last = made.stages * made.chunks - 1
    holders = {job.stage: job.rank for job in made.rows}
    left = {rank: [job for job in made.rows if job.rank == rank and job.kind in "FBIW"] for rank in range(made.stages)}
    free, ends = dict.fromkeys(left, Fraction()), {}

    def inputs(job: Any) -> list[tuple[tuple[str, int, int], Fraction]]:
        if job.kind == "W":
            return [(("I", job.stage, job.mb), Fraction())]
        other = job.stage - 1 if job.kind == "F" else job.stage + 1
        if not 0 <= other <= last or made.schedule == "deepspeed-dp":
            return []
        kind = "RA" if job.kind == "F" else "RG"
        wait = Fraction() if holders[other] == job.rank else times[kind][job.stage]
        return [((job.kind, other, job.mb), wait)]

    while any(left.values()):
        for rank, jobs in left.items():
            while jobs and all(need in ends for need, _ in inputs(jobs[0])):
                job = jobs.pop(0)
                begin = max([free[rank], *(ends[need] + wait for need, wait in inputs(job))])
                free[rank] = ends[job.kind, job.stage, job.mb] = begin + times[job.kind][job.stage]
    return ends


def test_simulation_is_the_longest_path() -> None:
    choose = random.Random(7)
    for made in all_plans():
        if choose.random() < 0.8:
            continue
        globals_ = made.stages * made.chunks

        def some() -> list[Fraction]:
            return [Fraction(choose.randint(0, 30), choose.choice((1, 2, 3))) for _ in range(globals_)]  # noqa: B023

        halves = {"backward_input": some(), "backward_weight": some()}
        replay = made.replay(some(), some(), **halves, transfer=some())
        ends = slowly(made, replay.times)
        spans = played(made, replay)
        assert all(spans[stage, kind, mb][1] == end for (kind, stage, mb), end in ends.items())
        assert replay.makespan == max(replay.end)
        check_critical(made, replay)
        if made.schedule not in ("interleaved", "zb-v"):
            blocking = made.replay(some(), some(), **halves, transfer=some(), blocking=True)
            check_critical(made, blocking)


def check_critical(made: Plan, replay: Replay) -> None:
    """The jobs on the critical path fill the whole time."""
    jobs = [made.rows[at] for at in replay.critical]
    takes = sum((replay.times[job.kind][job.stage] for job in jobs if job.kind in "FBIW"), Fraction())
    crossed = {
        ("RA" if job.kind[1] == "A" else "RG", min(job.stage, job.peer), job.mb) for job in jobs if job.peer >= 0
    }
    for kind, lower, _ in crossed:
        takes += replay.times[kind][lower + 1 if kind == "RA" else lower]
    assert takes == replay.makespan
    assert replay.end[replay.critical[-1]] == replay.makespan


def test_times() -> None:
    made = plan("zb-v", 2, 4)
    assert made.replay([1, 3]).times["F"] == [Fraction(1, 2), Fraction(3, 2), Fraction(3, 2), Fraction(1, 2)]
    assert made.replay([1, 3, 5, 7]).times["F"] == [1, 3, 5, 7]
    assert made.replay(transfer=1).times["RA"] == [1, 1, 1, 1]
    assert plan("1f1b", 2, 4).replay(0, 0).makespan == 0
    # No common unit: nearly exact.
    replay = plan("1f1b", 2, 4).replay(0.30000000000000004, 1e12 + 0.1)
    assert abs(replay.makespan / (5 * Fraction("1000000000000.4")) - 1) < 1e-9


@pytest.mark.parametrize(("arguments", "words"), golden.table("commands/plan"))
def test_bad_input_is_one_line(arguments: str, words: str) -> None:
    line = commands.complaint("pipeline", "plan", *arguments.split())
    assert words in line and line.startswith("fastdispatch: ")


@pytest.mark.parametrize(
    ("schedule", "micro_batches", "group", "words"),
    [
        ("interleaved", 6, 2, "at least as many micro-batches as there are stages"),
        ("interleaved", 7, 5, "the last group would have 2"),
        ("1f1b", 7, 5, "1f1b has no groups"),
    ],
)
def test_bad_groups(schedule: str, micro_batches: int, group: int, words: str) -> None:
    with pytest.raises(fastdispatch.Error, match=words):
        plan(schedule, 3, micro_batches, 2 if schedule == "interleaved" else 1, group=group)


@pytest.mark.parametrize(
    ("schedule", "numbers", "words"),
    [
        ("1f1b", (4, 4, 2), "1f1b has 1 chunk per stage, not 2"),
        ("zb-v", (4, 4, 3), "zb-v has 2 chunks per stage, not 3"),
        ("interleaved", (4, 9, 2), "9 micro-batches are not a multiple of the 2 rounds that 4 stages make of them"),
        ("interleaved", (4, 8, 2, 9), r"at most all \(8\), not 9"),
        ("gpipe", (40000, 1), "at most 32767 chunks, and 16777216 jobs and steps"),
        ("gpipe", (1000, 100000), "too many"),
        ("deepspeed-train", (30000, 1), "too many"),
        ("interleaved", (1 << 31, 1 << 31, 1 << 31), "too many"),
    ],
)
def test_impossible_plans(schedule: str, numbers: tuple[int, ...], words: str) -> None:
    with pytest.raises(fastdispatch.Error, match=words):
        Orders(schedule, *numbers)


def test_groups() -> None:
    """As Megatron has them, by default as PyTorch has."""
    for stages, micro_batches, asked, made in ((4, 8, 0, 4), (4, 10, 0, 5), (4, 3, 0, 3), (4, 8, 8, 8), (2, 7, 5, 5)):
        assert Orders("interleaved", stages, micro_batches, 2, asked).group == made


def test_bad_calls() -> None:
    for given in (("1f1b", 0, 4), ("1f1b", 2, -1), ("nothing", 2, 4), ("interleaved", 2, 4, 1), ("gpipe", 2, 4, 2)):
        with pytest.raises(fastdispatch.Error):
            plan(*given)
    made = plan("1f1b", 2, 4)
    for call in (lambda: made.table(2), lambda: made.buffers(-1), lambda: made.replay(float("nan")), made.train_steps):
        with pytest.raises((fastdispatch.Error, TypeError)):
            call()
    table, count = made._table, len(made.rows)
    for times, posted in ((array("q", [1]), None), (bytes(count), None), (array("q", [1] * count), b"1")):
        with pytest.raises(ValueError, match=f"{count} items of"):
            table.replay(times, posted=posted)
    with pytest.raises(fastdispatch.Error, match="negative"):
        table.replay(array("q", [1] * (count - 1) + [-1]))
    with pytest.raises(fastdispatch.Error, match="too large"):
        table.replay(array("q", [1] * (count - 1) + [1 << 62]))
    for place, number in ((0, 12), (2, 4), (4, -1), (5, 2)):
        jobs = array("i", table.jobs)
        jobs[6 * 1 + place] = number  # the send of the first forward pass
        with pytest.raises(ValueError, match="rows, first: not a plan"):
            _core.replay("1f1b", jobs, table.first, array("q", [1] * count), globals=2, micro_batches=4, waiting=EACH)


def test_the_document_shows_the_output() -> None:
    page = (ROOT / "docs" / "guides" / "pipeline-plan.md").read_text()
    shown = re.search(r"^```\n\$ fastdispatch (.*)\n((?:.*\n)*?)```$", page, re.M)
    assert shown is not None
    assert commands.out(*shown[1].split()) == shown[2]
    assert all(f"| `{schedule}` |" in page for schedule in SCHEDULES)


def test_document() -> None:
    schema = schemas.schema("pipeline-plan")
    check = jsonschema.Draft202012Validator(schema)
    for schedule in SCHEDULES:
        made = plan(schedule, 3, 6, 2 if schedule == "interleaved" else 1)
        document = json.loads(made.to_json())
        check.validate(document)
        assert [stage["table"] for stage in document["plan"]] == [made.table(stage) for stage in range(3)]
        reported = [
            (job["stage"], step, job["kind"], job["mb"], job["buffer"], stage["stage"], job["chunk"], job["peer"])
            for stage in document["plan"]
            for step, jobs in enumerate(stage["steps"])
            for job in jobs
        ]
        assert reported == [tuple(None if each == -1 else each for each in row) for row in made.rows]
        assert [len(stage["steps"]) for stage in document["plan"]] == [made.steps] * 3
        assert document["figures"]["exact"]["makespan"] == str(made.replay().makespan)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({**document, "schedule": "foo"})


def test_picture(tmp_path: Path) -> None:
    for schedule in SCHEDULES:
        made = plan(schedule, 3, 6, 2 if schedule == "interleaved" else 1)
        extra = [] if schedule in ("interleaved", "zb-v") else ["--blocking"]
        command = ["pipeline", "plan", schedule, "--stages", "3", "--micro-batches", "6", "--transfer", "0.25"]
        assert cli.main([*command, *extra, "--svg", str(tmp_path / "x.svg")]) == 0
        picture = ElementTree.parse(tmp_path / "x.svg").getroot()
        tips = [tip.text for tip in picture.iter("{http://www.w3.org/2000/svg}title")]
        jobs = [job for job in made.rows if job.kind in "FBIW"]
        assert len(tips) == 1 + len(jobs)  # the first is of the drawing
        words = [text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert sum(word in {str(mb) for mb in range(6)} for word in words) >= len(jobs)
        lines = [line for line in picture.iter("{http://www.w3.org/2000/svg}line") if line.get("stroke") == "#c00"]
        assert len(lines) == sum(job.kind in ("RA", "RG") for job in made.rows)
        assert any("idle / makespan" in word and "idle / computing" in word for word in words)
    empty = ["pipeline", "plan", "1f1b", "--stages", "1", "--micro-batches", "1", "--forward", "0", "--backward", "0"]
    assert cli.main([*empty, "--svg", str(tmp_path / "empty.svg")]) == 0
    ElementTree.parse(tmp_path / "empty.svg")


def test_figures_in_words() -> None:
    printed = commands.out("pipeline", "plan", "zb-h1", "--stages", 2, "--micro-batches", 2)
    assert printed.startswith(
        "2.0 b2  F0 F1 I0 W0 I1 W1\n2.1 b2  F0 I0 F1 I1 W0 W1\n\nwith F = 1, I = 1, W = 1: 7 in total"
    )
    assert "bubble: 14.3 % (1/7) of all time (idle / makespan), 16.7 % (1/6) of the ideal time" in printed
