"""Sets of times as disjoint intervals: arrays with a row (start, end) per interval, in order."""

import numpy as np

from fastdispatch.read.arrays import Ints

#: Two columns, start and end.
Spans = Ints

NONE: Spans = np.empty((0, 2), np.int64)


def union(spans: Spans) -> Spans:
    """Join intervals in any order; empty ones disappear."""
    spans = spans[spans[:, 1] > spans[:, 0]]
    if not len(spans):
        return NONE
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    ends = np.maximum.accumulate(spans[:, 1])
    first = np.flatnonzero(np.r_[True, spans[1:, 0] > ends[:-1]])
    return np.stack((spans[first, 0], ends[np.r_[first[1:], len(spans)] - 1]), axis=1)


def joined(*sets: Spans) -> Spans:
    return union(np.concatenate((NONE, *sets)))


def pieces(*sets: Spans) -> tuple[Ints, Ints, Ints]:
    """Cut time where an interval of any set starts or ends. Return starts and ends of the pieces, some of them empty,
    and which sets cover each: bit n is set n."""
    edges = np.sort(np.concatenate([each.ravel() for each in sets]))
    covering = np.zeros(max(len(edges) - 1, 0), np.int64)
    for index, spans in enumerate(sets):
        if len(spans):
            place = np.searchsorted(spans[:, 0], edges[:-1], "right") - 1
            covering |= ((place >= 0) & (edges[:-1] < spans[place, 1])).astype(np.int64) << index
    return edges[:-1], edges[1:], covering


def without(spans: Spans, other: Spans) -> Spans:
    """Return the times in one set and not in the other."""
    starts, ends, covering = pieces(spans, other)
    made: Spans = np.stack((starts, ends), axis=1)[covering == 1]
    return made


def within(spans: Spans, starts: Ints, ends: Ints) -> Ints:
    """Return how much of a set lies between each start and end."""
    return _before(spans, ends) - _before(spans, starts)


def _before(spans: Spans, times: Ints) -> Ints:
    sums = np.r_[0, np.cumsum(spans[:, 1] - spans[:, 0])]
    place = np.searchsorted(spans[:, 0], times, "right")
    ends = np.r_[0, spans[:, 1]][place]
    made: Ints = sums[place] - np.where((place > 0) & (ends > times), ends - times, 0)
    return made
