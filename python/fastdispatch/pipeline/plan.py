"""``plan``: the table of a pipeline schedule, simulated with given times (docs/guides/pipeline-plan.md)."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, repeat
from typing import Any, NamedTuple

from fastdispatch import _core
from fastdispatch.pipeline.layers import PipelineRuntimeError
from fastdispatch.read.schedule_jobs import EACH, KINDS, SCHEDULES, F, Orders, W, buffers, in_flight, train_step

SCHEMA = "fastdispatch-plan/1"

Time = int | float | Fraction
Times = Time | Sequence[Time]

#: Ticks of the longest time where a common unit would be finer: 2^24 jobs still add up in 64 bits.
_FINEST = 1 << 36
_LONGEST = 10**15
_SHORTEST = Fraction(1, 10**15)


class Job(NamedTuple):
    """One instruction of a plan. -1: no such number."""

    stage: int  #: global: the place of the chunk in the model; with one chunk the stage
    step: int  #: of its stage, from 0
    kind: str  #: LM F B I W SA RA SG RG RT RD OPT
    mb: int  #: micro-batch, from 0
    buffer: int  #: DeepSpeed's buffer_id
    rank: int  #: the stage of the pipeline that runs it, 0 to stages - 1
    chunk: int  #: of that stage, from 0
    peer: int  #: of a transfer: the global stage at the other end


class TrainStep(NamedTuple):
    """A step of DeepSpeed's ``TrainSchedule``."""

    step: int
    even_step: bool
    even_stage: bool
    mb: int  #: out of range if the step computes nothing
    forward: bool


class PlanTable:
    """The jobs of all stages of a plan, one stage after the other, in the form that the simulator reads."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        #: Kind, step, micro-batch, buffer, global stage, peer of each job; -1: no such number.
        self.jobs = array("i")
        #: The first job of each stage, and the number of jobs.
        self.first = array("I", [0])
        #: Per stage.
        self.in_flight: list[int] = []
        self.buffers: list[int] = []
        for place in range(orders.stages):
            jobs = orders.jobs(place)
            self.jobs.extend(chain.from_iterable(jobs))
            self.first.append(len(self.jobs) // 6)
            self.in_flight.append(in_flight(jobs))
            self.buffers.append(buffers(orders, place, self.in_flight[-1]))

    def column(self, place: int) -> array[int]:
        """Return a column of all jobs."""
        return self.jobs[place::6]

    def replay(self, times: Any, *, posted: Any = None, blocking: bool = False, jobs: bool = False) -> dict[str, Any]:
        """Simulate the plan: :func:`fastdispatch._core.replay`."""
        orders = self.orders
        return _core.replay(
            orders.schedule,
            self.jobs,
            self.first,
            times,
            globals=orders.globals,
            micro_batches=orders.micro_batches,
            waiting=orders.waiting,
            posted=posted,
            blocking=blocking,
            jobs=jobs,
        )


class Replay:
    """The exact simulation of a plan with given times: numbers are fractions, lists have one item per stage.

    Returned by :meth:`Plan.replay`.
    """

    def __init__(
        self,
        simulate: Callable[..., dict[str, Any]],
        tick: Fraction,
        in_flight: list[int],
        times: dict[str, list[Fraction]],
        blocking: bool,
    ) -> None:
        found = simulate()
        self._simulate = simulate
        self._tick = tick
        #: The given times by kind, one per global stage.
        self.times = times
        #: Whether transfers were simulated as blocking.
        self.blocking = blocking
        #: From the start of the first job to the end of the last.
        self.makespan: Fraction = found["makespan"] * tick
        #: In F, B, I and W.
        self.busy = self._scaled(found["busy"])
        #: makespan - busy.
        self.idle = [self.makespan - busy for busy in self.busy]
        #: End of the last computation.
        self.last = self._scaled(found["last"])
        spans = zip(found["first"], found["last"], found["busy"], strict=True)
        #: The part of `idle` between the first and last computation of a stage.
        self.waits = self._scaled([last - first - busy for first, last, busy in spans])
        #: Maximum of forward passes, over all chunks, before their backward pass (W).
        self.in_flight = in_flight
        #: The critical path: rows of the plan, in order.
        self.critical: list[int] = found["critical"]

    def _scaled(self, numbers: Sequence[int]) -> list[Fraction]:
        known = {each: each * self._tick for each in set(numbers)}
        return [known[each] for each in numbers]

    @cached_property
    def _jobs(self) -> dict[str, Any]:
        return self._simulate(jobs=True)

    @cached_property
    def begin(self) -> list[Fraction]:
        """Start of each row of the plan. A send starts when its data is ready, a receive when its stage is."""
        return self._scaled(self._jobs["begin"])

    @cached_property
    def end(self) -> list[Fraction]:
        """End of each row of the plan."""
        return self._scaled(self._jobs["end"])

    @property
    def bubble_of_total(self) -> Fraction:
        """Idle time as a share of all time, over all stages."""
        total = self.makespan * len(self.busy)
        return sum(self.idle, Fraction()) / total if total else Fraction()

    @property
    def bubble_of_ideal(self) -> Fraction:
        """Idle time as a share of the time in computations, over all stages (the convention of Megatron's paper)."""
        busy = sum(self.busy, Fraction())
        return sum(self.idle, Fraction()) / busy if busy else Fraction()

    def figures(self) -> dict[str, Any]:
        """As in :meth:`Plan.to_json`."""
        exact = {
            "makespan": self.makespan,
            "bubble_of_total": self.bubble_of_total,
            "bubble_of_ideal": self.bubble_of_ideal,
        }
        per_stage = zip(self.busy, self.idle, self.waits, self.in_flight, strict=True)
        return {
            "times": {kind: [float(each) for each in times] for kind, times in self.times.items()},
            "transfers": "blocking" if self.blocking else "overlapped",
            **{name: float(value) for name, value in exact.items()},
            "exact": {name: str(value) for name, value in exact.items()},
            "stages": [
                {"busy": float(busy), "idle": float(idle), "waits": float(waits), "in_flight": in_flight}
                for busy, idle, waits, in_flight in per_stage
            ],
        }


class Plan:
    """The jobs of each stage of a pipeline, in order. Returned by :func:`plan`.

    A stage is one process of the pipeline. With several chunks of the model per stage, these are numbered along the
    model as global stages.
    """

    def __init__(self, orders: Orders) -> None:
        self._table = PlanTable(orders)
        self.schedule = orders.schedule
        self.stages = orders.stages
        self.micro_batches = orders.micro_batches
        self.chunks = orders.chunks
        self.group = orders.group
        self.steps = orders.steps

    def __repr__(self) -> str:
        chunks = f", {self.chunks} chunks per stage" if self.chunks > 1 else ""
        return f"<Plan {self.schedule}: {self.stages} stages, {self.micro_batches} micro-batches{chunks}>"

    def _stage(self, stage: int) -> int:
        if not 0 <= stage < self.stages:
            raise _core.Error(f"stage {stage}: the plan has stages 0 to {self.stages - 1}")
        return stage

    def table(self, stage: int) -> str:
        """Return a stage on one line. DeepSpeed: ``LM0 F0|SA0|-``, all instructions with the numbers of buffers, steps
        apart. Else the computations with micro-batches, ``F0 F1 B0``, with the global stage before them where a stage
        has several chunks, ``0F0 2F0 2B0``."""
        jobs = self._table.orders.jobs(self._stage(stage))
        if self._table.orders.waiting == EACH:
            steps: list[list[str]] = [[] for _ in range(self.steps)]
            for kind, step, _, buffer, *_ in jobs:
                steps[step].append(KINDS[kind] + (str(buffer) if buffer >= 0 else ""))
            return "|".join(" ".join(step) or "-" for step in steps)
        computations = (job for job in jobs if F <= job[0] <= W)
        chunked = self.chunks > 1
        return " ".join(f"{stage if chunked else ''}{KINDS[kind]}{mb}" for kind, _, mb, _, stage, _ in computations)

    def buffers(self, stage: int) -> int:
        """Buffers of a stage: DeepSpeed's ``num_pipe_buffers``, else the peak of chunks of micro-batches in flight."""
        return self._table.buffers[self._stage(stage)]

    @cached_property
    def rows(self) -> list[Job]:
        """All jobs, stage by stage, each in its order."""
        table = self._table
        columns: dict[str, Iterable[Any]] = {
            name: table.column(place) for place, name in enumerate(("kind", "step", "mb", "buffer", "stage", "peer"))
        }
        first, stages = table.first, self.stages
        columns["kind"] = [KINDS[kind] for kind in columns["kind"]]
        columns["rank"] = [rank for rank in range(stages) for _ in range(first[rank], first[rank + 1])]
        columns["chunk"] = [stage // stages for stage in columns["stage"]]
        return list(map(tuple.__new__, repeat(Job), zip(*map(columns.__getitem__, Job._fields), strict=True)))

    def train_steps(self, stage: int) -> list[TrainStep]:
        """Return each step of a stage of DeepSpeed's ``TrainSchedule``, including those without a computation."""
        if self.schedule != "deepspeed-train":
            raise _core.Error(f"{self.schedule} has no steps of TrainSchedule: use deepspeed-train")
        place = self._stage(stage)
        about = (train_step(self._table.orders, place, step) for step in range(self.steps))
        return [TrainStep(step, step % 2 == 0, place % 2 == 0, *found) for step, found in enumerate(about)]

    def replay(
        self,
        forward: Times = 1,
        backward: Times = 2,
        *,
        backward_input: Times | None = None,
        backward_weight: Times | None = None,
        transfer: Times = 0,
        transfer_back: Times | None = None,
        blocking: bool = False,
    ) -> Replay:
        """Simulate the plan with the times of one micro-batch, in any unit.

        A time is one number for all stages, one per stage, or one per global stage. The first two are of a whole stage
        and divided evenly among its chunks. ``backward_input`` and ``backward_weight`` default to half of ``backward``.
        A ``transfer`` is counted at its receiver; ``transfer_back`` is that of gradients, by default the same. By
        default transfers run in parallel to the work; with ``blocking`` both ends wait for each other. Other jobs have
        no duration.
        Exact for integers, fractions and short decimals.

        Raises :class:`fastdispatch.Error` for invalid times, and for ``blocking`` if the engines of the
        schedule have no blocking transfers.
        """
        half = [each / 2 for each in self._times("backward", backward)]
        prices = {
            "F": self._times("forward", forward),
            "B": self._times("backward", backward),
            "I": half if backward_input is None else self._times("backward_input", backward_input),
            "W": half if backward_weight is None else self._times("backward_weight", backward_weight),
            "RA": self._times("transfer", transfer, whole=False),
        }
        prices["RG"] = (
            prices["RA"] if transfer_back is None else self._times("transfer_back", transfer_back, whole=False)
        )
        tick = _tick([each for times in prices.values() for each in times])
        ticks = [[round(each / tick) for each in prices.get(kind, [])] for kind in KINDS]
        of_jobs = zip(self._table.column(0), self._table.column(4), strict=True)
        times = array("q", [ticks[kind][stage] if ticks[kind] else 0 for kind, stage in of_jobs])
        simulate = partial(self._table.replay, times, blocking=blocking)
        return Replay(simulate, tick, self._table.in_flight, prices, blocking)

    def _times(self, name: str, times: Times, whole: bool = True) -> list[Fraction]:
        """One per global stage."""
        given = [times] * self.stages if isinstance(times, (int, float, Fraction)) else list(times)
        if len(given) not in (self.stages, self.stages * self.chunks):
            chunked = "" if self.chunks == 1 else f", or {self.stages * self.chunks}: one per chunk"
            raise _core.Error(f"{name}: {len(given)} times; give 1, or {self.stages}: one per stage{chunked}")
        exact = [_exact(name, each) for each in given]
        if len(exact) == self.stages * self.chunks:
            return exact
        share = self.chunks if whole else 1
        orders = self._table.orders
        return [exact[orders.holder(stage)] / share for stage in range(orders.globals)]

    def to_json(self) -> str:
        """The plan and its figures for F = 1, B = 2 as JSON (docs/reference/schemas/pipeline-plan.schema.json)."""
        return self.document(self.replay())

    def document(self, replay: Replay) -> str:
        """Return the same with the figures of ``replay``."""
        stages: list[dict[str, Any]] = [
            {
                "stage": stage,
                "buffers": self._table.buffers[stage],
                "table": self.table(stage),
                "steps": [[] for _ in range(self.steps)],
            }
            for stage in range(self.stages)
        ]
        for row in self.rows:
            job = {"kind": row.kind, "stage": row.stage, "chunk": row.chunk, "mb": row.mb, "buffer": row.buffer}
            job["peer"] = row.peer
            stages[row.rank]["steps"][row.step].append(
                {key: None if value == -1 else value for key, value in job.items()}
            )
        members = {
            name: getattr(self, name) for name in ("schedule", "stages", "micro_batches", "chunks", "group", "steps")
        }
        if self.schedule != "interleaved":
            members["group"] = None
        return json.dumps({"schema": SCHEMA, **members, "figures": replay.figures(), "plan": stages})


def plan(schedule: str, stages: int, micro_batches: int, chunks: int = 1, *, group: int | None = None) -> Plan:
    """Return the plan of a schedule, one of ``SCHEDULES``.

    Parameters
    ----------
    stages:
        Processes of the pipeline.
    micro_batches:
        Micro-batches of one step of the optimizer.
    chunks:
        Pieces of the model per stage: 2 or more for ``interleaved``, for ``zb-v`` always 2, else 1.
    group:
        ``interleaved``: number of micro-batches that pass a chunk before the stage runs the next one (Megatron's
        ``microbatch_group_size_per_vp_stage``). By default the number of stages; if the micro-batches are not a
        multiple of it, the groups of PyTorch.

    Raises :class:`fastdispatch.Error` for plans that no engine runs.
    """
    if schedule not in SCHEDULES:
        raise _core.Error(f"schedule {schedule!r} is unknown: one of {', '.join(SCHEDULES)}")
    given = {"stages": stages, "micro_batches": micro_batches, "chunks": chunks, "group": 1 if group is None else group}
    for name, value in given.items():
        if not 1 <= value < 1 << 31:
            raise _core.Error(f"{name}={value}: a number from 1 to 2147483647")
    return Plan(Orders(schedule, stages, micro_batches, chunks, group or 0))


def _exact(name: str, time: Time) -> Fraction:
    """Return a decimal exactly: 0.1 is a tenth."""
    if isinstance(time, float) and not math.isfinite(time):
        raise _core.Error(f"{name}={time}: a time is a number from 0 to 1e15")
    exact = Fraction(repr(float(time))) if isinstance(time, float) else Fraction(time)
    if not 0 <= exact <= _LONGEST:
        raise _core.Error(f"{name}={exact}: a time is a number from 0 to 1e15")
    if 0 < exact < _SHORTEST:
        raise _core.Error(f"{name}={float(exact)}: a time that is not 0 is at least 1e-15: choose a larger unit")
    return exact


def _tick(times: Sequence[Fraction]) -> Fraction:
    """Return a common unit of all times, rounded if it were too small."""
    exact = Fraction(1, math.lcm(*(each.denominator for each in times)))
    return max(exact, max(times) / _FINEST)


#: Instructions of DeepSpeed's engine; derived classes do not count.
_MODULE = "deepspeed.runtime.pipe.schedule"
_KINDS = {"LoadMicroBatch": "LM", "ForwardPass": "F", "BackwardPass": "B", "OptimizerStep": "OPT"}
_KINDS |= {"SendActivation": "SA", "RecvActivation": "RA", "SendGrad": "SG", "RecvGrad": "RG"}
_KINDS |= {"ReduceTiedGrads": "RT", "ReduceGrads": "RD"}


def table_of(schedule: Any) -> str:
    """Return the instructions of a stage of DeepSpeed on one line, in the format of :meth:`Plan.table`: ``LM0
    F0|SA0|-``.

    ``schedule`` is a ``PipeSchedule``, or its steps: lists of instructions. Nothing is executed. Raises
    :class:`fastdispatch.Error`, which is a ``RuntimeError`` here, for an instruction that DeepSpeed's engine would not
    execute, in its words.
    """
    steps: Iterable[Iterable[Any]] = schedule.steps() if hasattr(schedule, "steps") else schedule
    return "|".join(" ".join(map(_word, step)) or "-" for step in steps)


def _word(instruction: Any) -> str:
    kind = type(instruction)
    if kind.__module__ != _MODULE or kind.__name__ not in _KINDS:
        raise PipelineRuntimeError(f"PipelineEngine does not understand instruction {instruction!r}")
    buffer = instruction.kwargs.get("buffer_id", "")
    return f"{_KINDS[kind.__name__]}{buffer}"
