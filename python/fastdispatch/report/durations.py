"""Sums and percentiles of durations; percentiles of many come from counts in buckets.

A bucket has the highest bits of its values, so that its width is at most 1/64 of them:

    value   1 0 1 1 0 1 1 | 0 1 1 0 ...   in binary
            bucket: 1 + 6 bits
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastdispatch.read.arrays import Ints, Unsigned

_BITS = 6
#: Buckets of 64-bit values have smaller numbers.
_BUCKETS = 12
#: The maximum relative error of a percentile: half the width of a bucket.
ERROR = 1 / (2 << _BITS)

_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

#: Rows of a tally before it joins those of the same key and bucket.
_ROWS = 1 << 18


def _buckets(values: Unsigned) -> Ints:
    high = np.maximum(np.frexp(values.astype(np.float64))[1] - 1, 0).astype(np.uint64)
    high -= (values >> high == 0) & (high > 0)  # a float above 2^53 may be rounded up to the next power
    exponent = np.maximum(high.astype(np.int64) - _BITS, 0)
    made: Ints = (exponent << _BITS) + (values >> exponent.astype(np.uint64)).astype(np.int64)
    return made


def _middle(bucket: int) -> int:
    exponent = max((bucket >> _BITS) - 1, 0)
    return int((bucket - (exponent << _BITS) << exponent) + ((1 << exponent) - 1) // 2)


def _figures(buckets: Ints, rows: Unsigned) -> dict[str, Any]:
    """Sum rows of count, total, minimum and maximum, sorted by their buckets."""
    ends = np.cumsum(rows[:, 0])
    count = int(ends[-1])
    least, most = int(rows[:, 2].min()), int(rows[:, 3].max())
    total = int(rows[:, 1].sum())
    made = {"count": count, "total": total, "mean": total / count, "min": least, "max": most}
    for key, share in _PERCENTILES.items():
        place = np.searchsorted(ends, max(math.ceil(share * count), 1))
        made[key] = min(max(_middle(int(buckets[place])), least), most)
    return made


def _rows(durations: Unsigned) -> Unsigned:
    return np.stack((np.ones_like(durations), durations, durations, durations), axis=1)


def summary(durations: Ints) -> dict[str, Any]:
    """Return count, total, mean, minimum, maximum and percentiles."""
    if not len(durations):
        return {"count": 0, "total": 0, "mean": 0.0, "min": 0, "max": 0, **dict.fromkeys(_PERCENTILES, 0)}
    ordered = np.sort(durations).astype(np.uint64)
    return _figures(_buckets(ordered), _rows(ordered))


class Tally:
    """Durations by key, in memory that grows with the number of keys only. A key is a list of integers, the last one
    not negative and below 2^50."""

    def __init__(self) -> None:
        self._keys: list[Ints] = []
        self._sums: list[Unsigned] = []
        self._held = 0

    def add(self, keys: list[Ints], durations: Ints) -> None:
        if len(durations):
            values = durations.astype(np.uint64)
            keys = [*keys[:-1], keys[-1] << _BUCKETS | _buckets(values)]
            made = _joined(np.stack(keys, axis=1), _rows(values))
            self._keys.append(made[0])
            self._sums.append(made[1])
            self._held += len(made[0])
        if self._held > _ROWS:
            self._settle()
            self._held = 0

    def _settle(self) -> tuple[Ints, Unsigned]:
        made = _joined(np.concatenate(self._keys), np.concatenate(self._sums))
        self._keys, self._sums = [made[0]], [made[1]]
        return made

    def rows(self) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Yield each key with its figures."""
        if not self._keys:
            return
        keys, sums = self._settle()
        buckets = keys[:, -1] & (1 << _BUCKETS) - 1
        keys[:, -1] >>= _BUCKETS
        first = _firsts(keys)
        for start, end in zip(first, np.r_[first[1:], len(keys)], strict=True):
            yield keys[start].tolist(), _figures(buckets[start:end], sums[start:end])


def _firsts(keys: Ints) -> Ints:
    """Return the places in sorted rows where another key begins."""
    return np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])


def _joined(keys: Ints, sums: Unsigned) -> tuple[Ints, Unsigned]:
    order = np.lexsort(keys.T[::-1])
    keys, sums = keys[order], sums[order]
    first = _firsts(keys)
    made = np.add.reduceat(sums, first)
    made[:, 2] = np.minimum.reduceat(sums[:, 2], first)
    made[:, 3] = np.maximum.reduceat(sums[:, 3], first)
    return keys[first], made
