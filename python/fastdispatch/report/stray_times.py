"""Events far beyond all others: a time of 0, or of another clock, or a length that was not set."""

import numpy as np

from fastdispatch.read.arrays import Bools, Ints

SECOND = 10**9
#: A slice that lasts far beyond all others is longer by this: work of a device, and waiting, which can be long.
_LONGER = {True: 10 * SECOND, False: 1000 * SECOND}
#: Strays in a trace; groups in memory.
_STRAYS, _GROUPS = 32, 4096
#: The difference of two such times fits into int64.
_LAST = (1 << 62) - 1


class TimeGroups:
    """Groups of events with pauses of more than a second between them. A row has begin, end and number of events.
    The longest slices of at least a second are apart; ``device``: they are work of a device that does not wait."""

    def __init__(self) -> None:
        self._groups = np.empty((0, 3), np.int64)
        self._long = np.empty((0, 3), np.int64)  # begin, end, device; the longest last

    def add(self, start: Ints, end: Ints, device: Bools) -> None:
        start, end = (times.clip(-_LAST, _LAST) for times in (start, end))
        is_long = end - start >= SECOND
        if is_long.any():
            more = np.stack((start, end, device.astype(np.int64)), axis=1)[is_long]
            found = np.concatenate((self._long, more))
            found = found[np.argsort(found[:, 1] - found[:, 0], kind="stable")]
            self._long, rest = found[-_STRAYS - 1 :], found[: -_STRAYS - 1]
            start, end = np.r_[start[~is_long], rest[:, 0]], np.r_[end[~is_long], rest[:, 1]]
        self._group(start, end)

    def _group(self, start: Ints, end: Ints) -> None:
        if not len(start):
            return
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

    def few(self, start: Ints, end: Ints) -> Bools:
        """Return which events are in groups with few events, or long, and may be far beyond all others."""
        start, end = (times.clip(-_LAST, _LAST) for times in (start, end))
        lengths = self._long[:, 1] - self._long[:, 0]
        few: Bools = end - start >= (lengths[0] if len(lengths) > _STRAYS else SECOND)
        if len(self._groups):
            few |= self._groups[np.searchsorted(self._groups[:, 0], start, "right") - 1, 2] <= _STRAYS
        return few

    def window(self) -> tuple[int, int] | None:
        """Return the begin and the end of all events except those that are far away or last far beyond the others, at
        most 32 and an eighth of all, or one of four to seven; None without such events."""
        total = int(self._groups[:, 2].sum()) + len(self._long)
        most = min(total // 8, _STRAYS) or int(total >= 4)
        endless = self._settle(most)
        begin, end = self._near(most) if len(self._groups) else (0, 0)
        whole = int(self._groups[:, 0].min(initial=_LAST)), int(self._groups[:, 1].max(initial=-_LAST))
        return (begin, end) if len(self._groups) and (endless or (begin, end) != whole) else None

    def _settle(self, most: int) -> int:
        """Put long slices into groups, the shortest first, up to the first one that lasts far beyond the others.
        Return how many remain."""
        begin, end = self._near(most) if len(self._groups) else (_LAST, -_LAST)
        place = 0
        for first, last, device in self._long.tolist():
            longer = max(begin - first, last - end)
            if begin <= end and longer >= _LONGER[bool(device)] and longer // 100 >= end - begin:
                break
            begin, end, place = min(begin, first), max(end, last), place + 1
        place = len(self._long) if len(self._long) - place > most else place
        near, self._long = self._long[:place], self._long[place:]
        self._group(near[:, 0], near[:, 1])
        return len(self._long)

    def _near(self, most: int) -> tuple[int, int]:
        """Return the begin and the end of all groups except those that are far away."""
        begin, end, counts = self._groups.T.tolist()
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
        return begin[chosen[0]], end[len(counts) - chosen[1] - 1]


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
