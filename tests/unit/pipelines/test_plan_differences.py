"""Jobs of engines compared with plans, as readers of recordings do it: differences, and jobs that no plan contains."""

import json
from typing import Any

import pytest

from fastdispatch.read.plan_differences import differences, settle
from fastdispatch.read.schedule_jobs import LM, OPT, RA, RD, SCHEDULES, SG, B, F, I, Orders, W

ATTACHED, EVAL, EXCEPTION, UNPLANNED, WAIT = 64, 2, 4, 128, 256
KNOWN, ENDED, OWN_ORDER, CUT = 1, 2, 4, 8

Jobs = list[tuple[int, int, int, int]]


def planned(orders: Orders, place: int) -> Jobs:
    """The jobs of a plan, as if they had run."""
    return [(kind, stage, mb, buffer) for kind, _, mb, buffer, stage, _ in orders.jobs(place)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_plans_match_themselves(schedule: str) -> None:
    orders = Orders(schedule, 3, 6, 2 if schedule == "interleaved" else 0)
    for place in range(3):
        jobs = planned(orders, place)
        assert differences(jobs, orders, place) == ("", [])
        if not schedule.startswith("zb"):  # unknown numbers of I and W look like B
            unknown = [(kind, -1 if F <= kind <= W else stage, -1, -1) for kind, stage, _, _ in jobs]
            assert differences(unknown, orders, place) == ("", [])


def test_a_job_too_many_and_one_too_few() -> None:
    orders = Orders("deepspeed-train", 2, 4)
    text, unplanned = differences([(LM, 0, 0, 0), (LM, 0, 1, 1), *planned(orders, 0)], orders, 0)
    words = "ran LM of micro-batch 1 in buffer 1, planned F of micro-batch 0 in buffer 0"
    assert text == f"stage 0, job 2: {words}"
    assert unplanned == [1, 2]  # until the lists are equal again
    assert differences(planned(orders, 1)[:-1], orders, 1) == ("stage 1, job 23: ran nothing, planned OPT", [])


def test_other_engines_post_transfers_at_any_time() -> None:
    jobs: Jobs = [(RA, 1, mb, -1) for mb in range(2)]
    for mb in range(2):
        jobs += [(LM, 1, mb, -1), (F, 1, mb, -1), (I, 1, mb, -1), (SG, 1, mb, -1), (W, 1, mb, -1)]  # I and W are B
    orders = Orders("1f1b", 2, 2)
    assert differences([*jobs, (RD, 1, -1, -1), (OPT, 1, -1, -1)], orders, 1) == ("", [])
    assert differences([*jobs, (SG, 1, 1, -1)], orders, 1) == (
        "stage 1, job 13: ran SG of micro-batch 1, planned nothing",
        [12],
    )


def test_another_order() -> None:
    jobs = [(F, 0, 0, -1), (F, 0, 1, -1), (B, 0, 0, -1), (B, 0, 1, -1)]
    line = "stage 0, job 2: ran F of micro-batch 1, planned B of micro-batch 0"
    assert differences(jobs, Orders("1f1b", 1, 2), 0) == (line, [1])


class Core:
    """A trace with one iteration of a rank: GPipe, stage 0 of 2, one micro-batch."""

    def __init__(self, *kinds: str, batch: int = 0, facts: str | None = None, **iteration: Any) -> None:
        names = ["ITER", *kinds]
        flags = [ATTACHED | batch, *(ATTACHED for _ in kinds)]
        self._jobs = {"kind": names, "flags": flags, "iteration": [3] * len(names), "buffer": [-1] * len(names)}
        self._jobs |= {name: [-1, *(0 for _ in kinds)] for name in ("stage", "micro_batch")}
        row = {"job": 0, "flags": KNOWN | ENDED, "micro_batches": 1, "stages": 2, "processes": 2, "position": 0}
        self._iterations = {name: [value] for name, value in (row | {"schedule": "ScheduleGPipe"} | iteration).items()}
        empty = {"class": "X", "schedule": None, "difference": None, "note": None}
        self._facts = json.dumps(empty) if facts is None else facts
        self.settled: tuple[list[int], dict[str, str]] = [], {}

    def columns(self, table: str, rank: int = 0) -> dict[str, list[Any]]:
        assert rank == 0
        facts = {"key": ["torch", "pipeline"], "value": ['"2.13"', self._facts]}
        return {"rank": {"rank": [0]}, "facts": facts, "jobs": self._jobs, "iterations": self._iterations}[table]

    def replace(self, changes: list[Any]) -> None:
        tables = {table: columns for table, _, _, columns in changes}
        assert ("iterations", 0, 0, {}) in changes
        unplanned = [row for row, flags in enumerate(tables["jobs"]["flags"]) if flags & UNPLANNED]
        facts = json.loads(tables["facts"]["value"][1]) if "facts" in tables else {}
        before = json.loads(self._facts) if facts else {}
        self.settled = unplanned, {name: text for name, text in facts.items() if text != before[name]}


def settled(*kinds: str, **about: Any) -> tuple[list[int], dict[str, str]]:
    core = Core(*kinds, **about)
    settle(core)  # type: ignore[arg-type]
    return core.settled


def test_facts_of_a_recording() -> None:
    assert settled("F", "SA", "RG", "B") == ([], {"schedule": "gpipe"})
    assert settled("F", "SA", "RG", "B", position=-1) == ([], {"schedule": "gpipe"})
    line = "iteration 3, stage 0, job 1: ran B of micro-batch 0, planned F of micro-batch 0"
    assert settled("B", "SA", "RG", "F") == ([1], {"schedule": "gpipe", "difference": line})
    for facts in ('{"schedule": "1f1b"}', "{}", "7", "[", "{"):
        assert settled("B", "SA", "RG", "F", facts=facts) == ([1], {})


@pytest.mark.parametrize(
    ("about", "planned"),
    [
        ({"schedule": "X"}, False),
        ({"flags": KNOWN}, False),
        ({"flags": KNOWN | ENDED | OWN_ORDER}, False),
        ({"micro_batches": -1}, False),
        ({"processes": 3}, False),
        ({"stages": 4}, False),
        ({"flags": KNOWN | ENDED | CUT}, True),
        ({"batch": EVAL}, True),
        ({"batch": EXCEPTION}, True),
        ({"position": 2}, True),
        ({"micro_batches": 1 << 20}, True),
    ],
)
def test_iterations_that_are_not_compared(about: dict[str, Any], planned: bool) -> None:
    note = "no plan of X: jobs are not compared"
    assert settled("B", **about) == ([], {"schedule": "gpipe"} if planned else {"note": note})


def test_the_latest_training_iteration_names_the_schedule() -> None:
    core = Core("F", batch=EVAL, schedule="Schedule1F1B")
    core._jobs = {name: 2 * column for name, column in core._jobs.items()}
    core._jobs["flags"][2] = ATTACHED
    core._iterations = {name: 2 * column for name, column in core._iterations.items()}
    core._iterations |= {"job": [0, 2], "schedule": ["Schedule1F1B", "ScheduleGPipe"]}
    settle(core)  # type: ignore[arg-type]
    assert core.settled[1]["schedule"] == "gpipe"
    core._jobs["flags"][0], core._jobs["flags"][2] = ATTACHED, ATTACHED | EVAL
    settle(core)  # type: ignore[arg-type]
    assert core.settled[1]["schedule"] == "1f1b"
