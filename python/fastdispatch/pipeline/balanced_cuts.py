"""The cuts of a row of layers into stages, by the rules of DeepSpeed and by the heaviest stage."""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from fastdispatch._core import Error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

#: Limits: more layers would take minutes.
_LAYERS, _STAGES = 1 << 15, 1 << 20


def cuts_of(sums: Sequence[float], stages: int, rule: str) -> list[int]:
    """Return ``stages`` + 1 cuts. ``sums``: of the first 0, 1, 2, ... weights. With fewer layers than stages the last
    stages are empty, otherwise no stage is.

    rule        uniform     equal numbers of layers; the first stages have the remainder
                balanced    the cuts of DeepSpeed's partition_balanced
                bottleneck  minimize the heaviest stage; of these cuts, maximize the lightest stage
    """
    import numpy as np

    layers = len(sums) - 1
    if not 1 <= stages <= _STAGES:
        raise Error(f"{stages} stages: 1 to {_STAGES}" if stages else "0 stages: at least one")
    if rule != "uniform":
        _check(sums)
    if rule == "uniform" or layers <= stages:
        each, rest = divmod(layers, stages)
        return [stage * each + min(stage, rest) for stage in range(stages + 1)]
    return _cut(np.array(sums), stages, math.inf if rule == "balanced" else _least_bound(sums, stages))


def _check(sums: Sequence[float]) -> None:
    if len(sums) - 1 > _LAYERS:
        raise Error(f"{len(sums) - 1} layers: at most {_LAYERS} can be weighed")
    for layer, (before, after) in enumerate(pairwise(sums)):
        if not before <= after < math.inf:
            raise Error(f"layer {layer}: its weight is negative, not a number, or too large")


def _cut(sums: Numbers, stages: int, bound: float) -> list[int]:
    """Cut by dynamic programming, one more stage per row. A row of ``used`` stages has the cells of ``used``, ``used``
    + 1, ... layers, as long as enough layers are left for the other stages; a cell has the lightest and the heaviest
    stage of its cuts, and the first layer of the last stage."""
    import numpy as np

    width = len(sums) - stages
    heaviest = sums[1 : width + 1]
    lightest = np.where(heaviest <= bound, heaviest, -1.0)
    rows = [np.zeros(width, np.int32)]
    for used in range(2, stages + 1):
        most = np.full(width, np.inf) if bound < np.inf else np.maximum.accumulate(lightest)
        before, row = (lightest, heaviest), np.zeros(width, np.int32)
        lightest, heaviest = np.full(width, -1.0), np.zeros(width)
        for cell in range(0 if used < stages else width - 1, width):
            weights = sums[used + cell] - sums[used - 1 : used + cell]
            first, lightest[cell], heaviest[cell] = _cell(weights, *before, float(most[cell]), bound)
            row[cell] = used - 1 + first if first >= 0 else 0
        rows.append(row)
    cuts = [len(sums) - 1]
    for used in range(stages, 0, -1):
        cuts.append(int(rows[used - 1][cuts[-1] - used]))
    return cuts[::-1]


def _cell(
    weights: Numbers, lightest: Numbers, heaviest: Numbers, most: float, bound: float
) -> tuple[int, float, float]:
    """Return the best start of the last stage (-1: none), and the lightest and heaviest stage. Without a bound the best
    cuts have the smallest difference of the two, as in DeepSpeed; with one, the heaviest lightest stage. Of equally
    good starts the latest one counts.

    Starts are visited from the end in growing blocks. No earlier start is better once the last stage alone is heavier
    than the bound, or than ``most``, the maximum of ``lightest``, by more than the best difference."""
    import numpy as np

    balanced = bound == np.inf
    best, found, end, size = -np.inf if balanced else -1.0, (-1, -1.0, 0.0), len(weights), 64
    while end > 0:
        part = slice(max(end - size, 0), end)
        weight = weights[part]
        low, high = np.minimum(lightest[part], weight), np.maximum(heaviest[part], weight)
        score = low - high if balanced else np.where(weight <= bound, low, -1.0)
        at = len(score) - 1 - int(score[::-1].argmax())
        if score[at] > best:
            best, found = score[at], (part.start + at, float(low[at]), float(high[at]))
        if weight[0] > bound or most - weight[0] <= best:
            break
        end, size = part.start, 2 * size
    return found


def _least_bound(sums: Sequence[float], stages: int) -> float:
    """Return the exact minimum of the weights that no stage needs to exceed: non-negative doubles have the order of
    their bits."""
    (most,) = struct.unpack("<q", struct.pack("<d", sums[-1]))
    return _double(bisect_left(range(most + 1), True, key=lambda bits: _fits(sums, stages, _double(bits))))


def _double(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


def _fits(sums: Sequence[float], stages: int, bound: float) -> bool:
    """Return whether stages that weigh at most ``bound`` are sufficient."""
    begin, used = 0.0, 1
    for before, after in pairwise(sums):
        if after - begin > bound:
            begin, used = before, used + 1
            if used > stages or after - begin > bound:
                return False
    return True
