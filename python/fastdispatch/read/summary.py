"""Summary of a recording in two lines, and formats of numbers."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastdispatch.files import run_directory
from fastdispatch.read.columns import rows
from fastdispatch.read.recording_cost import recording_cost
from fastdispatch.read.steps import ended_steps, thread_times
from fastdispatch.read.trace import Columns, Trace, load
from fastdispatch.text.formats import grouped, seconds, spans

#: Kinds of nodes whose calls pass a hook.
_HOOKED = frozenset({"python", "c", "op", "autograd", "range"})


def mapping(value: object) -> dict[str, Any]:
    """Return a value of a recording's meta if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def whole_time(trace: Trace, ranks: Sequence[Mapping[str, Any]]) -> int:
    """Return the time of 100 %, ns: that of the main threads of ``ranks``."""
    return thread_times(ranks).get(trace.main_role, 0)


def contexts_of(trace: Trace, rank: int | None) -> Columns:
    """Return the contexts with the figures of rank number ``rank``; None: of all ranks."""
    return trace.contexts if rank is None else trace.core.contexts(trace.index(rank))


def entries_of(trace: Trace, rank: int | None) -> list[dict[str, Any]]:
    """Return the entry of rank number ``rank``; None: of all ranks."""
    return [entry for entry in trace.ranks if rank in (None, entry["rank"])]


def path_of(contexts: Columns, context: int) -> Iterator[int]:
    """Yield a context and those above it, the innermost first."""
    while context >= 0:
        yield context
        context = contexts["parent"][context]


def with_below(parents: Sequence[int], values: Sequence[int]) -> list[int]:
    """Return for each context its value and those of all contexts below it."""
    sums = [*values]
    for row in range(len(sums) - 1, -1, -1):  # a parent comes before its children
        if parents[row] >= 0:
            sums[parents[row]] += sums[row]
    return sums


def in_role(trace: Trace, contexts: Columns, role: str) -> list[bool]:
    """Return for each context whether it is below a thread of this role."""
    keys = trace.nodes["key"]
    inside: list[bool] = []
    for node, parent in rows(contexts, "node parent"):  # a parent comes before its children
        inside.append(inside[parent] if parent >= 0 else keys[node] == role)
    return inside


def summary_lines(path: str, whole: Trace | None = None) -> list[str]:
    """Return two lines about a finished recording, or a run directory as a ``whole``: contents and next command."""
    trace = whole or load(path)
    rank = max(trace.ranks, key=lambda each: each["recorded"])
    used = sum(1 for kind in trace.nodes["kind"] if kind in _HOOKED)
    edges = len(trace.edges["caller"])
    paths = len(trace.contexts["node"])
    cost = recording_cost(trace.ranks)
    price = "" if cost.share is None else f"; {cost.text}"
    recorded, ended = rank["steps"], ended_steps(rank)
    of = f" of {grouped(ended)}" if ended > recorded else ""
    steps = f"{grouped(recorded)}{of} steps, " if rank["steps_source"] != "none" else ""
    folder = path if whole is not None else path.rpartition("/")[0] or "."
    who = spans(sorted(each["rank"] for each in trace.ranks))
    who = f"rank{'s' if len(trace.ranks) > 1 else ''} {who} of {rank['world']}"
    file_bytes = sum(each["file_bytes"] for each in trace.ranks)
    previous = Path(path + run_directory.PREVIOUS)
    kept = [f"no call was recorded: the previous recording is kept as {previous}"] if previous.exists() else []
    return [
        *kept,
        f"{steps}{who}: {grouped(used)} functions and operators, "
        f"{grouped(edges)} edges, {grouped(paths)} paths in {seconds(rank['recorded'])}{price}",
        f"{path} ({file_bytes / 1e6:.1f} MB).  Next: fastdispatch report {folder}",
    ]
