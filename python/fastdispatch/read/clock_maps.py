"""Corrections between two clocks, and their fits by pings and by messages in both directions.

Integers are nanoseconds of 64 bits, and results saturate. Fits compute in doubles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRILLION = 10**12
LEAST, MOST = -(1 << 63), (1 << 63) - 1

#: The minimum time to fit a drift, ns, and the maximum drift.
SPAN, MOST_DRIFT = 10**9, 500e-6

_SEARCH_STEPS = 80


def saturated(ns: int) -> int:
    return min(max(ns, LEAST), MOST)


def rounded(ns: float) -> int:
    """Round to an integer; saturates, also if the number is not finite."""
    if not -9.2e18 < ns < 9.2e18:
        return MOST if ns > 0 else LEAST
    return round(ns)


def _quotient(number: int, divisor: int) -> int:
    """Divide, rounded to 0."""
    return number // divisor if number >= 0 else -(-number // divisor)


class ClockMap(NamedTuple):
    """``corrected = own + offset + drift * (own - at)``; the drift is in units of 1e-12."""

    at: int = 0
    offset: int = 0
    drift: int = 0

    def __call__(self, ns: int) -> int:
        product = (ns - self.at) * self.drift
        half = TRILLION // 2 if product >= 0 else -TRILLION // 2
        return saturated(ns + self.offset + _quotient(product + half, TRILLION))

    def moved(self, ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert an array of times within ``+-MOST // 2``."""
        import numpy as np

        if max(abs(self.at), abs(self.offset)) >= 1 << 61 or abs(self.drift) >= 1 << 31:
            return np.array([self(each) for each in ns.tolist()], np.int64)
        since = ns - self.at
        whole, rest = np.divmod(abs(since), TRILLION)
        high, low = np.divmod(rest, 10**6)
        drift = abs(self.drift)
        ahead = whole * drift + (high * drift + low * drift // 10**6 + 10**6 // 2) // 10**6
        moved: NDArray[np.int64] = ns + self.offset + np.where((since < 0) == (self.drift < 0), ahead, -ahead)
        return moved

    def then(self, outer: ClockMap) -> ClockMap:
        """Return the map that applies this one, then ``outer``."""
        both = _quotient(self.drift * outer.drift, TRILLION)
        offset = outer(self(self.at)) - self.at
        return ClockMap(self.at, saturated(offset), saturated(both + self.drift + outer.drift))

    def inverse(self) -> ClockMap:
        """Return the map in the other direction, at the same time."""
        drift = _quotient(self.drift * self.drift, TRILLION) - self.drift
        return ClockMap(self(self.at), saturated(-self.offset), saturated(drift))


class Fit(NamedTuple):
    clock: ClockMap
    uncertainty: int  #: ns; -1: unknown

    def then(self, outer: Fit) -> Fit:
        return Fit(self.clock.then(outer.clock), saturated(self.uncertainty + outer.uncertainty))


def _limited(slope: float) -> int:
    return rounded(min(max(slope * 1e12, -MOST_DRIFT * 1e12), MOST_DRIFT * 1e12))


class Ping(NamedTuple):
    """A round trip: sent by the own clock, replied by the other clock, received by the own clock."""

    sent: int
    replied: int
    received: int

    @property
    def half(self) -> float:
        return (self.received - self.sent) / 2

    @property
    def middle(self) -> int:
        return _quotient(self.sent + self.received, 2)


def fit_pings(pings: Sequence[Ping]) -> Fit | None:
    """Fit the map from the own clock to the other, by the fastest round trip of each half of the time; the error is at
    most half of the slower one. None without a ping that was received after it was sent."""
    sent = [ping.sent for ping in pings] or [0]
    first, last = min(sent), max(sent)
    half = _quotient(first + last, 2)
    whole = last - first < SPAN
    valid = [ping for ping in pings if ping.received >= ping.sent]
    halves = ([ping for ping in valid if whole or ping.sent <= half], [ping for ping in valid if ping.sent >= half])
    best = [min(each, key=lambda ping: ping.half) for each in halves[: 1 if whole else 2] if each]
    if not best:
        return None
    at, slope, off = best[0].middle, 0.0, best[0].half
    if best[-1].middle > at:
        apart = float(best[-1].middle - at)
        slope = (float(best[-1].replied - best[0].replied) - apart) / apart
        off = max(off, best[-1].half)
    return Fit(ClockMap(at, saturated(best[0].replied - at), _limited(slope)), rounded(math.ceil(off)))


def between(times: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
    """Return the differences as doubles, rounded once, without overflow."""
    low = (1 << 32) - 1
    high = (times >> 32) - (other >> 32)
    apart: NDArray[np.float64] = high * 2.0**32 + ((times & low) - (other & low))
    return apart


class Bound(NamedTuple):
    """Times of two related events, of which the own one is the ``earlier`` or the later one."""

    own: int
    other: int
    earlier: bool


def fit_bounds(bounds: Sequence[Bound]) -> Fit | None:
    """Fit the map from the own clock to the other.

    The offset is the middle of the feasible interval, with half its width as uncertainty. If no offset satisfies all
    bounds, it is the one with the smallest maximum violation, which is then the uncertainty. None without bounds of
    both kinds.
    """
    if len({each.earlier for each in bounds}) < 2:
        return None
    import numpy as np

    own, other, earlier = (np.array(column) for column in zip(*bounds, strict=True))
    at = between(own, bounds[0].own)
    apart = between(other, bounds[0].other) - at
    sides = ((apart[earlier], at[earlier]), (apart[~earlier], at[~earlier]))

    def interval(slope: float) -> tuple[float, float]:
        (high, high_at), (low, low_at) = sides
        return float((low - slope * low_at).max()), float((high - slope * high_at).min())

    slope = _widest(interval) if at.max() - at.min() >= SPAN else 0.0
    low, high = interval(slope)
    offset = bounds[0].other - bounds[0].own + rounded((low + high) / 2)
    return Fit(ClockMap(bounds[0].own, saturated(offset), _limited(slope)), rounded(math.ceil(abs(high - low) / 2)))


def _widest(interval: Any) -> float:
    """Return the slope with the widest interval; the width is a concave function of the slope."""
    low, high = -MOST_DRIFT, MOST_DRIFT
    for _ in range(_SEARCH_STEPS):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        width, other = [end - begin for begin, end in (interval(a), interval(b))]
        low, high = (a, high) if width < other else (low, b)
    return (low + high) / 2
