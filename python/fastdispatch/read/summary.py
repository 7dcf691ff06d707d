"""Summary of a recording in two lines, and formats of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fastdispatch.read.trace import Trace, load
from fastdispatch.record import files

#: Kinds of nodes whose calls pass a hook, with the name of their cost in the recording's meta. Calls counted in a
#: ``<folded>`` were hooked like others.
HOOKED = {
    "python": "python_call",
    "c": "python_call",
    "overflow": "python_call",
    "op": "operator",
    "autograd": "operator",
    "range": "operator",
}

#: Prefixes of FLOPs.
_UNITS = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))

#: Maximum valid cost, nanoseconds.
_DEAREST = 1e9


def mapping(value: object) -> dict[str, Any]:
    """Return a value of a recording's meta if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def overhead(trace: Trace, index: int) -> float | None:
    """Return the nanoseconds that recording cost the rank at ``index`` of ``trace.ranks``: its events times their
    calibrated cost; ``None`` without calibration."""
    costs = mapping(trace.ranks[index]["meta"].get("cost_ns"))
    kinds = trace.nodes["kind"]
    table = trace.core.table("node", index)
    total = 0.0
    for node, calls, resumes in zip(table["node"], table["calls"], table["resumes"], strict=True):
        cost = costs.get(HOOKED.get(kinds[node], ""))
        total += (calls + resumes) * (cost if isinstance(cost, (int, float)) and 0 <= cost < _DEAREST else 0.0)
    return total if costs else None


def share_of_overhead(trace: Trace, index: int) -> float | None:
    """Return the overhead as a share of the recorded time, 0 to 1."""
    cost, recorded = overhead(trace, index), trace.ranks[index]["recorded"]
    return None if cost is None or not recorded else min(cost / recorded, 1.0)


def main_role(ranks: Iterable[Mapping[str, Any]]) -> str:
    """Return the role of the threads whose time is 100 %: ``main``, or if it was not recorded the one with most
    time."""
    times = thread_times(ranks)
    return min(times, key=lambda role: (role != "main", -times[role], role), default="main")


def thread_times(ranks: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the self time of the threads of each role, ns."""
    times = Counter[str]()
    for rank in ranks:
        for role, time in zip(rank["threads"]["role"], rank["threads"]["self"], strict=True):
            times[role] += time
    return dict(times)


def whole_time(ranks: Sequence[Mapping[str, Any]]) -> int:
    """Return the time of 100 %, ns: that of the main threads."""
    return thread_times(ranks).get(main_role(ranks), 0)


def printable(text: str) -> str:
    """Return text without line breaks and control characters."""
    return "".join(c if c.isprintable() or c == "\u202f" else repr(c)[1:-1] for c in text)


def grouped(number: int) -> str:
    """Format an integer as ``12 345``."""
    return f"{number:,}".replace(",", "\u202f")


def counted(number: int, noun: str) -> str:
    """Format a number of things: ``1 fault``, ``2 faults``."""
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


def seconds(nanoseconds: float) -> str:
    """Format nanoseconds with a unit for two to four digits: ``41.2 s``, ``7.31 ms``."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        number = nanoseconds / size
        if number >= 0.9995:
            return f"{number:.3g} {unit}" if number < 999.5 else f"{grouped(round(number))} {unit}"
    return f"{nanoseconds:.0f} ns"


def size(number: int) -> str:
    """Format bytes: ``512 B``, ``6.29 MB``."""
    for unit, of in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= 0.9995 * of:
            return f"{number / of:.3g} {unit}"
    return f"{number} B"


def aligned(rows: Iterable[Sequence[str]], sides: str = "", indent: str = "") -> Iterator[str]:
    """Yield the rows of a table as lines. ``sides``: ``>`` or ``<`` per column, ``<`` for further ones."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        columns = zip_longest(row, sides, widths, fillvalue="<")
        yield indent + "  ".join(f"{cell:{side}{width}}" for cell, side, width in columns).rstrip()


def in_flop(number: float, unit: str = "FLOP") -> str:
    """Format a number of FLOPs: ``312 TFLOP``, ``5.24 MFLOP``."""
    for prefix, of in _UNITS:
        if number >= 0.9995 * of:
            return f"{number / of:.3g} {prefix}{unit}" if number < 999.5 * of else f"{number / of:.0f} {prefix}{unit}"
    return f"{number:.3g} {unit}".rstrip()


def spans(ranks: Sequence[int]) -> str:
    """Format sorted numbers as ``1, 4-6``."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def summary_lines(path: str) -> list[str]:
    """Return two lines about a finished recording: its contents and the next command."""
    trace = load(path)
    rank = trace.ranks[0]
    used = sum(1 for kind in trace.nodes["kind"] if kind in HOOKED and kind != "overflow")
    edges = len(trace.edges["caller"])
    paths = len(trace.contexts["node"])
    share = share_of_overhead(trace, 0)
    price = "" if share is None else f"; recording overhead {100 * share:.1f} % of {seconds(rank['recorded'])}"
    steps = f"{rank['steps']} steps, " if rank["steps_source"] != "none" else ""
    folder = path.rpartition("/")[0] or "."
    side = files.side(Path(path))
    previous = Path(path + files.PREVIOUS)
    spilled = f" and {side.stat().st_size / 1e6:.1f} MB of timeline in {side.name}" if side.exists() else ""
    kept = [f"no call was recorded: the previous recording is kept as {previous}"] if previous.exists() else []
    return [
        *kept,
        f"{steps}rank {rank['rank']} of {rank['world']}: {grouped(used)} functions and operators, "
        f"{grouped(edges)} edges, {grouped(paths)} paths{price}",
        f"{path} ({rank['file_bytes'] / 1e6:.1f} MB{spilled}).  Next: fastdispatch report {folder}",
    ]
