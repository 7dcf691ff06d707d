"""The calls of a timeline in rows by depth, for pictures: the longest ones of a rank.

    depth 0   a───────────────────────        calls of a thread in the order of their start: a b c d
    depth 1     b────────   d─────
    depth 2       c──

A range can outlive the ``__enter__`` in which it was opened, and end before its ``__exit__``: of two calls that
overlap, neither within the other, the later one is shown from the end of the earlier one on
(csrc/profile/call_slices.h)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fastdispatch import _core
from fastdispatch.read.arrays import Bools, Ints

#: Kinds of events: ``FD_EVENT_*`` in csrc/recording/recording_format.h and csrc/trace/trace.h.
_CALL, _ASYNC, _JOB, _OPEN = 1, 2, 7, 255


@dataclass
class TimelineCalls:
    #: thread (row of the rank's threads), depth, context (row; -1: none), start and duration (ns), open, async (may
    #: overlap others)
    rows: list[dict[str, Any]]
    #: Arrows: from and to, rows.
    flows: list[list[int]]
    #: Numbers of calls and arrows that are not there.
    left_out: int
    flows_left_out: int


def calls_of(core: _core.Trace, rank: int, most: int) -> TimelineCalls:
    """Return the ``most`` longest calls of the rank at an index; of equal ones, the first."""
    events = {name: np.asarray(values) for name, values in core.arrays("events", rank).items()}
    flows = np.array(list(core.arrays("flows", rank).values()), np.int64)
    of_jobs = np.asarray(core.arrays("jobs", rank)["context"], np.int64)
    jobs = events["kind"] == _JOB
    events["context"] = events["context"].astype(np.int64)
    events["context"][jobs] = of_jobs[events["context"][jobs]]
    return longest(events, flows, most)


def longest(events: Mapping[str, Any], flows: Ints, most: int) -> TimelineCalls:
    """Return the longest calls of events, by thread and end: thread, kind, start, duration, context (row + 1)."""
    kind, durations = events["kind"], events["duration"].astype(np.int64)
    timed = np.isin(kind, (_CALL, _ASYNC, _JOB, _OPEN))
    least, equals = _bound(durations[timed], most)
    candidates: Bools = timed & (durations >= least)
    placed = _placed(events, candidates)
    equal = durations[placed[:, 0]] == least
    at, depths, starts = placed[~equal | (np.cumsum(equal) <= equals)].T
    ends = events["start"][at].astype(np.int64) + durations[at]
    columns = {
        "thread": events["thread"][at],
        "depth": depths,
        "context": events["context"][at].astype(np.int64) - 1,
        "start": starts,
        "duration": np.maximum(ends - starts, 0),
        "open": kind[at] == _OPEN,
        "async": kind[at] == _ASYNC,
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
    row_of = np.full(len(kind), -1)
    row_of[at] = np.arange(len(at))
    shown = row_of[flows]
    shown = shown[:, (shown >= 0).all(axis=0)]
    left_out = int(timed.sum()) - len(rows)
    return TimelineCalls(rows, shown.T.tolist(), left_out, flows.shape[1] - shown.shape[1])


def _bound(durations: Ints, most: int) -> tuple[int, int]:
    """Return the minimum duration of the ``most`` longest calls, and how many of exactly that duration are shown."""
    if len(durations) <= most:
        return 0, len(durations)
    if most == 0:
        return int(durations.max()) + 1, 0
    least = int(np.partition(durations, len(durations) - most)[len(durations) - most])
    return least, most - int((durations > least).sum())


def _placed(events: Mapping[str, Any], candidates: Bools) -> Ints:
    """Return a row per call that may be shown, in the order of the picture: its position, its depth and its start."""
    threads, starts = events["thread"].astype(np.int64), events["start"].astype(np.int64)
    ends = starts + events["duration"].astype(np.int64)
    alone = events["kind"] == _ASYNC
    nested = np.isin(events["kind"], (_CALL, _JOB, _OPEN))
    edges = [0, *(np.flatnonzero(np.diff(threads)) + 1).tolist(), len(threads)]
    made = [np.empty((0, 3), np.int64)]
    for first, end in pairwise(edges):
        own = np.flatnonzero(nested[first:end]) + first
        order, depths, shown = _nested(starts[own], ends[own])
        rows = np.column_stack((own[order], depths, shown))
        other = np.flatnonzero((alone & candidates)[first:end]) + first
        made += [rows[candidates[rows[:, 0]]], np.column_stack((other, np.zeros_like(other), starts[other]))]
    return np.concatenate(made)


def _nested(starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the calls of a thread, which are in the order of their ends, in the order of the picture: their positions,
    their depths, and where they begin there."""
    first, last = starts.tolist(), ends.tolist()
    shown: list[int] = []
    earlier: list[int] = []  # number of calls that end before each begins
    outermost: list[int] = []
    for at, start in enumerate(first):
        while outermost and shown[outermost[-1]] >= start:
            outermost.pop()
        before = outermost[-1] if outermost else -1
        earlier.append(before + 1)
        shown.append(min(last[before], last[at]) if outermost and last[before] > start else start)
        outermost.append(at)
    places, ended = np.arange(len(shown)), np.array(earlier, np.int64)
    order = np.lexsort((-places, ended))
    return order, places - ended[order], np.array(shown, np.int64)[order]
