"""Comparison of the jobs of pipeline engines with the plans of their schedules, once, when a recording is read.

DeepSpeed executes its plan instruction by instruction: the two lists are equal. Other engines post transfers in
parallel to the work: computations must have the order of the plan, and so must the transfers of each direction at each
global stage. Plans of those engines do not contain loads, reductions and optimizer steps. I directly followed by W of
the same micro-batch is B.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fastdispatch import _core
from fastdispatch.read.rank_dicts import facts_of
from fastdispatch.read.schedule_jobs import EACH, KINDS, RG, SA, B, F, I, Orders, W

_CLASSES = {
    "TrainSchedule": "deepspeed-train",
    "InferenceSchedule": "deepspeed-inference",
    "DataParallelSchedule": "deepspeed-dp",
    "ScheduleGPipe": "gpipe",
    "Schedule1F1B": "1f1b",
    "ScheduleInterleaved1F1B": "interleaved",
    "ScheduleZBVZeroBubble": "zb-v",
    "forward_backward_no_pipelining": "1f1b",
    "forward_backward_pipelining_without_interleaving": "1f1b",
    "forward_backward_pipelining_with_interleaving": "interleaved",
}
_KINDS = {name: kind for kind, name in enumerate(KINDS)}
_EVAL, _EXCEPTION, _LOCAL, _ATTACHED, _UNPLANNED, _WAIT = 2, 4, 32, 64, 128, 256  # of jobs (docs/formats/recording.md)
_ENDED, _OWN_ORDER, _CUT = 2, 4, 8  # of iterations
#: Jobs of one iteration that are compared.
_MOST = 1 << 18
#: Jobs within which two lists are aligned again.
_NEAR = 64


class _Row(NamedTuple):
    kind: int
    stage: int
    mb: int
    buffer: int
    at: int  #: in the executed jobs
    parts: int  #: more than 1: up to a W directly after its I


def settle(core: _core.Trace) -> None:
    """Compare every iteration of every rank with its plan. Jobs that the plan does not contain get flag 128; the fact
    ``pipeline`` gets the schedule, the first difference, or the reason for a missing plan. Recordings of versions that
    compared while recording stay unchanged."""
    changes: list[tuple[str, int, int, dict[str, Any]]] = []
    for index in range(len(core.columns("rank")["rank"])):
        iterations = core.columns("iterations", index)
        jobs = core.columns("jobs", index) if iterations["job"] else {}
        found = _ComparedIterations(jobs, iterations)
        if iterations["job"]:
            for row in found.unplanned:
                jobs["flags"][row] |= _UNPLANNED
            flags = {"flags": array("Q", jobs["flags"])}
            changes += [("jobs", index, len(jobs["flags"]), flags), ("iterations", index, 0, {})]
        facts = facts_of(core, index)
        if found_out := _changes(facts.get("pipeline"), found):
            facts["pipeline"] = json.dumps(json.loads(facts["pipeline"]) | found_out)
            changes.append(("facts", index, len(facts), {"key": list(facts), "value": list(facts.values())}))
    if changes:
        core.replace(changes)


def _changes(text: str | None, found: _ComparedIterations) -> dict[str, str]:
    """Return the facts that the recording process did not set."""
    try:
        facts = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(facts, dict) or facts.get("schedule", "") is not None:
        return {}
    changes = {}
    if found.schedule is not None:
        changes["schedule"] = found.schedule
    elif facts.get("note", "") is None:
        name = facts.get("class")
        changes["note"] = f"no plan of {name if isinstance(name, str) else 'the engine'}: jobs are not compared"
    if found.difference and facts.get("difference", "") is None:
        changes["difference"] = found.difference
    return changes


class _ComparedIterations:
    """The iterations of one rank."""

    def __init__(self, jobs: dict[str, list[Any]], iterations: dict[str, list[Any]]) -> None:
        self._jobs = jobs
        #: Of the latest training iteration; before the first one, of the latest evaluation. None: not known.
        self.schedule: str | None = None
        self._trained = False
        self.difference = ""
        #: Rows of jobs outside the plan.
        self.unplanned: list[int] = []
        rows = [dict(zip(iterations, row, strict=True)) for row in zip(*iterations.values(), strict=True)]
        for row, end in zip(rows, [*iterations["job"][1:], len(jobs.get("kind", ()))], strict=False):
            orders = _orders(row["schedule"], row["processes"], row["stages"], row["micro_batches"])
            self._note_schedule(row, orders)
            if orders is not None and self._is_comparable(row, orders):
                self._compare(row, end, orders)

    def _note_schedule(self, row: dict[str, Any], orders: Orders | None) -> None:
        evaluates = bool(self._jobs["flags"][row["job"]] & _EVAL)
        if row["flags"] & _ENDED and not (evaluates and self._trained):
            self._trained = not evaluates
            self.schedule = orders.schedule if orders is not None and not row["flags"] & _OWN_ORDER else None

    def _is_comparable(self, row: dict[str, Any], orders: Orders) -> bool:
        """Return whether the iteration can be compared. Evaluations run a part of their plan; DeepSpeed has a separate
        plan for them."""
        flags = self._jobs["flags"][row["job"]]
        evaluates = (flags & _EVAL) != 0
        return (
            evaluates == (orders.schedule == "deepspeed-inference")
            and not flags & _EXCEPTION
            and row["flags"] & (_ENDED | _OWN_ORDER | _CUT) == _ENDED
        )

    def _compare(self, row: dict[str, Any], end: int, orders: Orders) -> None:
        jobs, first = self._jobs, row["job"]
        number = jobs["iteration"][first]
        places = [
            at
            for at in range(first + 1, end)
            if jobs["iteration"][at] == number
            and jobs["kind"][at] in _KINDS
            and jobs["flags"][at] & (_ATTACHED | _LOCAL | _WAIT) == _ATTACHED
        ]
        ran = [
            (_KINDS[jobs["kind"][at]], jobs["stage"][at], jobs["micro_batch"][at], jobs["buffer"][at]) for at in places
        ]
        place = row["position"]
        if place < 0:
            place = next((orders.holder(job[1]) for job in ran if 0 <= job[1] < orders.globals), -1)
        # A plan that is far longer is that of a damaged recording.
        if not 0 <= place < orders.stages or len(ran) > _MOST or orders.steps > _NEAR * (_NEAR + len(ran)):
            return
        text, unplanned = differences(ran, orders, place)
        self.unplanned += [places[at] for at in unplanned if at < len(places)]
        if text and not self.difference:
            self.difference = f"iteration {number}, {text}"


@lru_cache(maxsize=16)
def _orders(name: str, processes: int, stages: int, micro_batches: int) -> Orders | None:
    """Return the plan of an iteration; None: unknown, or no engine runs it."""
    if name not in _CLASSES or micro_batches <= 0 or processes <= 0 or stages < processes:
        return None
    try:
        return Orders(_CLASSES[name], processes, micro_batches, stages // processes)
    except _core.Error:
        return None


def differences(ran: Sequence[tuple[int, int, int, int]], orders: Orders, place: int) -> tuple[str, list[int]]:
    """Return a line about the first difference of the jobs of a stage (kind, global stage, micro-batch, buffer; -1:
    unknown) from its plan, or "", and the jobs that the plan does not contain. After a difference, jobs are aligned
    with the plan again."""
    planned = [(kind, stage, mb, buffer) for kind, _, mb, buffer, stage, _ in orders.jobs(place)]
    done, meant = _tracks(ran, orders), _tracks(planned, orders)
    held = [stage for stage in range(orders.globals) if orders.holder(stage) == place]
    text, unplanned = "", []
    for track in [(-1, F), *((stage, kind) for stage in held for kind in range(SA, RG + 1))]:
        for at, next_, extra in _walk(done[track], meant[track]):
            if not text:
                text = _sentence(at, next_, place, len(ran))
            unplanned += [row.at + part for row in extra for part in range(row.parts)]
    return text, unplanned


def _tracks(jobs: Iterable[tuple[int, int, int, int]], orders: Orders) -> dict[tuple[int, int], list[_Row]]:
    """Return the lists of jobs that are compared in order: all, or computations and each direction of transfers."""
    tracks: dict[tuple[int, int], list[_Row]] = defaultdict(list)
    for index, job in enumerate(jobs):
        kind, stage, mb, _ = job
        if orders.waiting == EACH or F <= kind <= W:
            rows = tracks[-1, F]
            if rows and kind == W and rows[-1][:3] == (I, stage, mb):
                rows[-1] = rows[-1]._replace(kind=B, parts=index - rows[-1].at + 1)
                continue
        elif SA <= kind <= RG:
            rows = tracks[stage, kind]
        else:
            continue
        rows.append(_Row(*job, index, 1))
    return tracks


def _walk(ran: list[_Row], planned: list[_Row]) -> Iterable[tuple[_Row | None, _Row | None, list[_Row]]]:
    """Yield each difference: the executed job, the planned job, and the executed jobs until both lists agree again."""
    at = next_ = 0
    while at < len(ran) or next_ < len(planned):
        done, meant = (rows[place] if place < len(rows) else None for rows, place in ((ran, at), (planned, next_)))
        if done is not None and meant is not None and _are_equal(done, meant):
            at, next_ = at + 1, next_ + 1
            continue
        if done is None:
            yield None, meant, []
            return
        begin = at
        at, next_ = (at + 1, next_) if meant is None else _realigned(ran, planned, at, next_)
        yield done, meant, ran[begin:at]


def _realigned(ran: list[_Row], planned: list[_Row], at: int, next_: int) -> tuple[int, int]:
    """Find the executed job later in the plan, and the planned job later among the executed ones. The nearer match
    decides which of the two lists has additional jobs."""
    for far in range(1, _NEAR):
        if at + far < len(ran) and _are_equal(ran[at + far], planned[next_]):
            return at + far, next_
        if next_ + far < len(planned) and _are_equal(ran[at], planned[next_ + far]):
            return at, next_ + far
    return at + 1, next_ + 1


def _are_equal(ran: _Row, planned: _Row) -> bool:
    if ran[:4] == planned[:4]:
        return True
    return ran.kind == planned.kind and all(
        a < 0 or b < 0 or a == b for a, b in zip(ran[1:4], planned[1:4], strict=True)
    )


def _sentence(ran: _Row | None, planned: _Row | None, place: int, count: int) -> str:
    stage = planned.stage if planned is not None else place
    if ran is not None and ran.stage >= 0:
        stage = ran.stage
    at = (ran.at if ran is not None else count) + 1
    return f"stage {stage}, job {at}: ran {_words(ran)}, planned {_words(planned)}"


def _words(row: _Row | None) -> str:
    if row is None:
        return "nothing"
    of = f" of micro-batch {row.mb}" if row.mb >= 0 else ""
    return KINDS[row.kind] + of + (f" in buffer {row.buffer}" if row.buffer >= 0 else "")
