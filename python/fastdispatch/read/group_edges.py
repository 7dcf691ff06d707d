"""Call graphs: which group of calls calls which."""

from collections import Counter
from typing import Any

from fastdispatch import _core

_FIGURES = ("calls", "resumes", "total")


def group_edges(core: _core.Trace, by: str, rank: int) -> dict[str, list[Any]]:
    """Return caller and callee (rows of ``table(by)``, -1: nothing in the graph), calls, resumes and total, sorted.

    Paths without a group are contracted: their callees are those of their callers. ``total`` is without calls inside a
    call of the same edge.
    """
    contexts, groups = core.contexts(rank), core.groups(by)
    callees: dict[int, list[int]] = {}
    for at, parent in enumerate(contexts["parent"]):
        callees.setdefault(parent, []).append(at)
    calls, resumes, total = (contexts[name] for name in _FIGURES)
    sums: dict[tuple[int, int], list[int]] = {}
    open: Counter[tuple[int, int]] = Counter()
    left = [(at, -1) for at in callees.get(-1, ())]  # a path and its caller; ~path at its end
    while left:
        at, caller = left.pop()
        if at < 0:
            open[caller, groups[~at]] -= 1
            continue
        group = groups[at]
        if group >= 0:
            edge = caller, group
            figures = sums.setdefault(edge, [0, 0, 0])
            figures[0] += calls[at]
            figures[1] += resumes[at]
            figures[2] += 0 if open[edge] else total[at]
            if caller >= 0:
                open[edge] += 1
                left.append((~at, caller))
        left += [(callee, group if group >= 0 else caller) for callee in callees.get(at, ())]
    rows = [[*edge, *figures] for edge, figures in sorted(sums.items())]
    return {name: [row[at] for row in rows] for at, name in enumerate(("caller", "callee", *_FIGURES))}
