"""The events of a timeline as rows, in the order of its file: their properties, and the pairs of begins and ends."""

from enum import IntFlag
from typing import Any

import numpy as np

from fastdispatch._core import timeline_rows
from fastdispatch.read.arrays import Bools, Rows
from fastdispatch.read.clock_maps import MOST

ROW = np.dtype(timeline_rows()[0])

#: Properties of an event, as in csrc/events/stats/event_rows.h.
Has = IntFlag(
    "Has",
    "EMPTY NAME PID ODD_ID START DURATION END ID ENCLOSES COUNTS ARGUMENT PROCESS STEP KERNEL PROFILED OTHER RANK "
    "NUMBER IDLE DEVICE GPU_STEP LAUNCH WORK ARROW TIMED LOSS",
)
_ASYNC = np.array([ord(phase) for phase in "beSF"])
_ENDS = np.array([ord(phase) for phase in "EeF"])
_X = ord("X")
#: A step or a stage that is not known.
NO_STEP = -(1 << 63)
#: Times beyond it are not those of slices.
FAR = MOST // 2


def among(rows: Rows, flags: Has) -> Bools:
    """Return which rows have all of these properties."""
    found: Bools = rows["flags"] & flags == flags
    return found


def filtered(rows: Rows, mask: Bools) -> Rows:
    """Return ``rows[mask]``, without a copy if these are all rows."""
    found: Rows = rows if mask.all() else rows[mask]
    return found


def has_times(rows: Rows) -> Bools:
    """Return which events have valid times, whose sums and differences do not overflow."""
    start, timed = rows["start"], among(rows, Has.START)
    ends = among(rows, Has.END) & (rows["end"] < FAR)
    found: Bools = timed & (start > -FAR) & (start < FAR) & (ends | (rows["phase"] != _X))
    return found


class Pairs:
    """Receives begins and ends, and finds the pairs: an end belongs to the last open begin of its thread or id.
    ``left``: begins without an end so far; ``endless``: number of ends without a begin."""

    def __init__(self) -> None:
        self.endless = 0
        self.left = np.empty(0, ROW)

    def take(self, rows: Rows) -> tuple[Rows, dict[str, Any]]:
        """Add rows, by their numbers. Return the begins of the pairs that are now complete, and columns of the ends."""
        rows = np.concatenate((self.left, rows))
        key = np.where(np.isin(rows["phase"], _ASYNC), ~rows["track"], rows["thread"])
        at = np.argsort(key, kind="stable")
        ends = np.isin(rows["phase"], _ENDS)[at]
        depth, group, matched = nested(key[at], ends)
        self.endless += int((~matched).sum())
        at, ends, track = at[matched], ends[matched], (group * (len(rows) + 2) + depth)[matched]
        order = np.argsort(track, kind="stable")
        at, ends, track = at[order], ends[order], track[order]
        pair = np.flatnonzero(~ends[:-1] & ends[1:] & (track[:-1] == track[1:]))
        open = ~ends
        open[pair] = False
        self.left = rows[np.sort(at[open])]
        return rows[at[pair]], {name: rows[name][at[pair + 1]] for name in ("event", "pid", "start")}


def nested(key: Any, ends: Bools) -> tuple[Any, Any, Bools]:
    """Return the depth of rows that are sorted by key, the number of their group, and whether they are not an end
    without a begin. A begin and its end have the same depth."""
    first = np.r_[True, key[1:] != key[:-1]][: len(key)]
    group, step = first.cumsum() - 1, np.where(ends, -1, 1)
    level = level_of(step, first, group)
    far = group * (2 * len(key) + 1)  # groups do not reach each other
    low = np.minimum.accumulate(level.clip(max=0) - far) + far
    matched = ~(ends & (level < np.where(first, 0, np.r_[0, low[:-1]][: len(key)])))
    level = level_of(np.where(matched, step, 0), first, group)
    return level + ends, group, matched


def level_of(step: Any, first: Bools, group: Any) -> Any:
    """Return the sum of steps in each group."""
    total = step.cumsum()
    return total - (total - step)[first][group] if len(step) else total


def whole_slices(rows: Rows, pairs: Pairs) -> Rows:
    """Return complete slices, and those whose end is among the rows, by their ends."""
    whole = rows["phase"] == _X
    slices: Rows = rows[whole]
    if len(slices) == len(rows):
        return slices
    begins, ends = pairs.take(rows[~whole])
    begins["end"] = np.maximum(begins["start"], ends["start"])
    place = np.empty(len(slices) + len(begins), np.int64)
    place[np.argsort(np.r_[slices["event"], ends["event"]], kind="stable")] = np.arange(len(place))
    made: Rows = np.empty(len(place), ROW)
    made[place[: len(slices)]], made[place[len(slices) :]] = slices, begins
    return made
