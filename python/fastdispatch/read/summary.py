"""Summary of a recording in two lines, and formats of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastdispatch.files import run_directory
from fastdispatch.read.steps import thread_times
from fastdispatch.read.trace import Columns, Trace, load
from fastdispatch.text.formats import grouped, seconds

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


def whole_time(trace: Trace, ranks: Sequence[Mapping[str, Any]]) -> int:
    """Return the time of 100 %, ns: that of the main threads of ``ranks``."""
    return thread_times(ranks).get(trace.main_role, 0)


def in_role(trace: Trace, contexts: Columns, role: str) -> list[bool]:
    """Return for each context whether it is below a thread of this role."""
    keys = trace.nodes["key"]
    inside: list[bool] = []
    for node, parent in zip(contexts["node"], contexts["parent"], strict=True):  # a parent comes before its children
        inside.append(inside[parent] if parent >= 0 else keys[node] == role)
    return inside


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
    previous = Path(path + run_directory.PREVIOUS)
    kept = [f"no call was recorded: the previous recording is kept as {previous}"] if previous.exists() else []
    return [
        *kept,
        f"{steps}rank {rank['rank']} of {rank['world']}: {grouped(used)} functions and operators, "
        f"{grouped(edges)} edges, {grouped(paths)} paths{price}",
        f"{path} ({rank['file_bytes'] / 1e6:.1f} MB).  Next: fastdispatch report {folder}",
    ]
