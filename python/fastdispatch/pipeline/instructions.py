"""Schedules of DeepSpeed's classes, its own or a user's, as the tables that plans print."""

from collections.abc import Iterable
from typing import Any

from fastdispatch.pipeline.errors import PipelineRuntimeError

#: Instructions of DeepSpeed's engine; derived classes do not count.
_MODULE = "deepspeed.runtime.pipe.schedule"
_KINDS = {
    "LoadMicroBatch": "LM",
    "ForwardPass": "F",
    "BackwardPass": "B",
    "SendActivation": "SA",
    "RecvActivation": "RA",
    "SendGrad": "SG",
    "RecvGrad": "RG",
    "ReduceTiedGrads": "RT",
    "ReduceGrads": "RD",
    "OptimizerStep": "OPT",
}


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
