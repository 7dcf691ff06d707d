"""Single events far from all others: a time of 0, or of another clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastdispatch.report.spans import Ints

SECOND = 10**9
#: Strays in a trace; groups in memory.
_STRAYS, _GROUPS = 32, 4096
#: The difference of two such times fits into int64.
_LAST = (1 << 62) - 1


class TimeGroups:
    """Groups of events with pauses of more than a second between them. A row has begin, end and number of events."""

    def __init__(self) -> None:
        self._groups = np.empty((0, 3), np.int64)

    def add(self, start: Ints, end: Ints) -> None:
        if not len(start):
            return
        start, end = (times.clip(-_LAST, _LAST) for times in (start, end))
        if len(self._groups):
            first, last, _ = self._groups[-1]
            if start.min() >= first - SECOND and end.max() <= last + SECOND and start.min() > self._before_last():
                self._groups[-1] = min(first, start.min()), max(last, end.max()), self._groups[-1, 2] + len(start)
                return
        events = np.stack((start, end, np.ones(len(start), np.int64)), axis=1)
        self._groups = joined_groups(np.concatenate((self._groups, events)), SECOND)
        pause = SECOND
        while len(self._groups) > _GROUPS:
            pause *= 2
            self._groups = joined_groups(self._groups, pause)

    def _before_last(self) -> int:
        return int(self._groups[-2, 1]) + SECOND if len(self._groups) > 1 else -_LAST

    def few(self, start: Ints) -> NDArray[np.bool_]:
        """Return which events are in groups with few events, and may be far from all others."""
        if not len(start):
            return np.empty(0, np.bool_)
        place = np.searchsorted(self._groups[:, 0], start.clip(-_LAST, _LAST), "right") - 1
        few: NDArray[np.bool_] = self._groups[place, 2] <= _STRAYS
        return few

    def window(self) -> tuple[int, int] | None:
        """Return the begin and the end of all events except those that are far away, at most 32 and an eighth of all,
        or one of four to seven; None without such events."""
        begin, end, counts = self._groups.T.tolist()
        total = sum(counts)
        most = min(total // 8, _STRAYS) or int(total >= 4)
        chosen = 0, 0
        for early in range(min(len(counts), most + 1)):
            for late in range(min(len(counts) - early, most + 1)):
                last = len(counts) - late - 1
                span = end[last] - begin[early]
                if (
                    early + late > sum(chosen)
                    and sum(counts[:early]) + sum(counts[last + 1 :]) <= most
                    and (not early or is_far(begin[early] - end[early - 1], span))
                    and (not late or is_far(begin[last + 1] - end[last], span))
                ):
                    chosen = early, late
        return (begin[chosen[0]], end[len(counts) - chosen[1] - 1]) if sum(chosen) else None


def joined_groups(groups: Ints, pause: int) -> Ints:
    """Sort groups, and join those with a pause of at most ``pause``."""
    groups = groups[np.argsort(groups[:, 0], kind="stable")]
    last = np.maximum.accumulate(groups[:, 1])
    first = np.flatnonzero(np.r_[True, groups[1:, 0] - last[:-1] > pause])
    ends, counts = np.maximum.reduceat(groups[:, 1], first), np.add.reduceat(groups[:, 2], first)
    return np.stack((groups[first, 0], ends, counts), axis=1)


def is_far(gap: int, span: int) -> bool:
    """Return whether a gap is too long for a pause of a program whose other events take ``span``."""
    return gap > span and (gap >= 1000 * SECOND or (gap >= SECOND and gap // 100 >= span))
