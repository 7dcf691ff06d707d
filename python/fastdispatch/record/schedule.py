"""Schedules: the steps of a training run to record."""

from collections.abc import Callable
from typing import Protocol, SupportsIndex

from fastdispatch._core import Error

# The values of torch.profiler.ProfilerAction.
NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class _HasValue(Protocol):
    value: int


Schedule = Callable[[int], SupportsIndex | _HasValue]


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], int]:
    """A schedule with the meaning of :func:`torch.profiler.schedule`.

    Steps are counted from 0. The first ``skip_first`` are skipped; then cycles of ``wait`` and ``warmup`` steps, which
    are not recorded, and ``active`` steps, which are, repeat ``repeat`` times (0: until the end). All cycles are added
    up in one recording; ``on_trace_ready`` is called at the end of each cycle. With ``skip_first_wait`` the first
    cycle does not wait.

    Raises :class:`fastdispatch.Error` for negative numbers and for ``active=0``.
    """
    for name, value in {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}.items():
        if value < 0:
            raise Error(f"schedule: {name}={value}: must not be negative")
    if active < 1:
        raise Error(f"schedule: active={active}: at least one step must be recorded")

    def action(step: int) -> int:
        if step < skip_first:
            return NONE
        step += wait - skip_first if skip_first_wait else -skip_first
        cycle = wait + warmup + active
        if repeat > 0 and step >= repeat * cycle:
            return NONE
        place = step % cycle
        if place < wait:
            return NONE
        if place < wait + warmup:
            return WARMUP
        return RECORD_AND_SAVE if place == cycle - 1 else RECORD

    return action


def check_step_function(text: str | None) -> None:
    """Raise Error if the text of ``step_of`` names no function."""
    name = text.rpartition(":")[2] if text is not None else "step"
    if not all(part.isidentifier() or part == "<locals>" for part in name.split(".")):
        raise Error(f"step_of={text}: expected NAME or FILE:NAME, such as train.py:Trainer.train_step")


def window(steps: str | tuple[int, int]) -> Callable[[int], int]:
    """Return the schedule of ``--steps A:B``: steps A to B-1, counted from 0; either side may be empty."""
    if isinstance(steps, str):
        first, colon, last = steps.partition(":")
        try:
            begin = int(first) if first else 0
            end = (int(last) if last else None) if colon else begin + 1
        except ValueError:
            raise Error(f"steps={steps}: expected A:B, two step numbers counted from 0, B excluded") from None
    else:
        begin, end = steps
    if begin < 0 or (end is not None and end <= begin):
        raise Error(f"steps={steps}: no step is selected: steps count from 0 and B is excluded")

    def action(step: int) -> int:
        if step < begin or (end is not None and step >= end):
            return NONE
        return RECORD_AND_SAVE if end is not None and step == end - 1 else RECORD

    return action
