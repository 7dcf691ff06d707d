"""Reading recordings back: ``load`` and ``merge``."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from fastdispatch import _core
from fastdispatch.files import run_directory
from fastdispatch.files.run_sources import recordings
from fastdispatch.read import dump_text
from fastdispatch.read import steps as steps_of_ranks
from fastdispatch.read.columns import ArrowTable
from fastdispatch.read.open_inputs import PathLike as PathLike
from fastdispatch.read.open_inputs import Steps as Steps
from fastdispatch.read.open_inputs import read_inputs
from fastdispatch.read.plan_differences import settle
from fastdispatch.read.rank_dicts import rank_dicts
from fastdispatch.read.rank_rows import RankRow

if TYPE_CHECKING:
    import pandas

Columns = dict[str, list[Any]]

Group = Literal["node", "function", "operator", "module", "package", "kernel"]

#: Tables inside the dict of a rank.
_OF_RANK = ("threads", "open", "latest_steps", "marks", "gpu", "measures", "spreads", "step_tops")


class Trace:
    """A recording, or several merged. Times are nanoseconds; a table is a dict of columns of equal length.

    ``pandas.DataFrame(trace.nodes)`` works as expected. Rows count from 0; a column of rows of another table has -1 for
    no row. The argument ``rank`` of methods is the rank's number, ``None`` the sum over all; a rank that is not in the
    trace raises :class:`fastdispatch.Error`.
    """

    def __init__(self, core: _core.Trace) -> None:
        settle(core)
        self.core = core
        #: Inputs of :func:`load`; empty for others.
        self.sources: list[PathLike] = []
        #: Steps of each rank, if this is a sum of ranks.
        self.rank_rows: list[RankRow] = []

    @property
    def name(self) -> str:
        """The first input, as reports print it."""
        return os.fspath(self.sources[0]) if self.sources else "memory"

    @property
    def _shown(self) -> Trace:
        return self

    def _with_timeline(self) -> Trace:
        if not self.sources:
            return self
        steps: Steps = None
        if self.window is not None:
            steps = "settled" if self.window.settled else (self.window.first, self.window.last)
        return load(self.sources, timeline=True, steps=steps)

    @cached_property
    def nodes(self) -> Columns:
        """One row per function, operator, range, ...: kind, from (names), file, class, name, qualified, package, key
        (texts; the key of a Python function is ``file:[class]:name``, of others the name), line (0: none)."""
        return self.core.columns("nodes")

    @cached_property
    def modules(self) -> Columns:
        """One row per ``nn.Module`` instance: path (``blocks.3.attn``), class, parent (row, -1: none), name,
        parameters (elements, with those of modules below, each once; the most of any rank; 0: none, or unknown) and
        parameter_bytes."""
        return self.core.columns("modules")

    @cached_property
    def contexts(self) -> Columns:
        """One row per call path, parents first; summed over ranks.

        parent, node, module, origin (rows), flags (docs/formats/recording.md); calls and resumes (of generators);
        self, and total with all below (ns); ops (calls of operators at or below); backward (ns of autograd that this
        and all below caused, in no total); async (ns, in no total); gpu_calls, gpu_self, gpu_total, gpu_backward,
        gpu_starved, gpu_drained (idle time while it ran, and idle times that began in it), gpu_launch_bound (of sampled
        steps, docs/guides/gpu.md; ns, and numbers of calls); steps in which it was active.
        """
        return self.core.contexts()

    @cached_property
    def edges(self) -> Columns:
        """One row per caller and callee (rows of ``nodes``, -1: the outside), with calls and total (ns; a recursion
        counts once)."""
        rows = self.core.table("node")["node"]
        edges = group_edges(self.core, "node", -1)
        for end in ("caller", "callee"):
            edges[end] = [rows[group] if group >= 0 else -1 for group in edges[end]]
        return edges

    @cached_property
    def ranks(self) -> list[dict[str, Any]]:
        """One dict per rank, by rank: identity (rank, world, pid, id, ...), state (``stopped``, ``killed``, ...),
        complete (false if the file is truncated or damaged),
        recorded (ns), steps, steps_source, counters of dropped events, notes, meta, flows and flows_lost (arrows of a
        timeline, and those without one end), and the tables threads, open (calls that were open; age in
        ns), latest_steps (ns since the start) and step_tops.

        Steps: settled (verdict: settled, varying, few, unmarked, untimed or unclear; slower: mean time of skipped steps
        relative to the others; steps: first, last, steps, skipped, from and to, or None), window (the same numbers for
        the steps that the figures cover, None: the whole recording), whole (recorded ns of the whole recording), and
        marks, a table: number, steps, end, recorded and time of phases up to ends of steps, and memory in bytes then
        (0: unknown)."""
        ranks = rank_dicts(self.core)
        for index, rank in enumerate(ranks):
            rank |= {name: self.core.columns(name, index) for name in _OF_RANK}
            rank["threads"] |= self.core.columns("live", index)
            rank["open"] |= self.core.columns("open_lines", index)
            rank["meta"] = {key: json.loads(value) for key, value in rank["meta"].items()}
        about = steps_of_ranks.reduced_of(ranks)
        if about is not None:
            ranks[0]["latest_steps"] = steps_of_ranks.mean_steps(about)
        return ranks

    @property
    def reduced(self) -> dict[str, Any] | None:
        """The ranks of a sum of ranks (docs/guides/scale.md), the only entry of ``ranks`` of such a trace; None of
        others."""
        return steps_of_ranks.reduced_of(self.ranks)

    @cached_property
    def spreads(self) -> Columns:
        """One row per call path of the sum of a data set: context, ranks (that have it), and of calls, self and total
        minimum, maximum and the first rank that has each (``self_max_rank``), of self and total also median and 95th
        percentile. Empty for other traces."""
        found: Columns = self.ranks[0]["spreads"] if self.ranks else {}
        return found

    @cached_property
    def main_role(self) -> str:
        """The role of the threads whose time is 100 %: those that run the optimizer, else ``main``, or if it was not
        recorded the role with most time."""
        return steps_of_ranks.main_role(self.ranks, self.contexts, self.nodes["key"])

    @property
    def incomplete(self) -> list[str]:
        """One line for each rank whose file is truncated or damaged."""
        return [
            f"rank {rank['rank']} is incomplete: {'; '.join(rank['notes']) or 'its file was damaged'}"
            for rank in self.ranks
            if not rank["complete"]
        ]

    @cached_property
    def window(self) -> steps_of_ranks.Window | None:
        """The steps that the figures cover; None: the whole recording, for the reason ``whole_reason``."""
        return steps_of_ranks.window_of(self.ranks)

    @property
    def whole_reason(self) -> str:
        """Why the figures cover the whole recording: it was requested, or why the settled steps are not decided; ``""``
        with a window."""
        if self.window is not None:
            return ""
        return steps_of_ranks.undecided(self.ranks) or "requested"

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about the run, from its first rank."""
        return self.ranks[0]["meta"] if self.ranks else {}

    def table(self, by: Group = "function", rank: int | None = None) -> Columns:
        """Sums by ``function``, ``operator``, ``module``, ``package``, ``kernel`` or ``node``: one row per group.

        where (text), node (row of one of its nodes), instances, calls, resumes, ops, self, total, backward, async (ns),
        hidden (calls without a hook), gpu_calls, gpu_self, gpu_total, gpu_backward, gpu_starved (of
        sampled steps), step_mean and step_deviation of the total (ns). Any other ``by`` raises
        ``ArgumentError``.
        """
        return self.core.table(by, self.index(rank))

    def graph(self, by: Group = "function", rank: int | None = None) -> Columns:
        """Caller and callee (rows of ``table(by)``, -1: the outside), calls and total, of those groups."""
        return group_edges(self.core, by, self.index(rank))

    def coverage(self, rank: int | None = None) -> dict[str, int]:
        """Backward time, ns: ``autograd`` in total, of which ``accumulate`` (AccumulateGrad, of no call) and
        ``attributed`` to a forward call."""
        kinds, names = self.nodes["kind"], self.nodes["name"]
        contexts = self.contexts if rank is None else self.core.contexts(self.index(rank))
        made = {"autograd": 0, "accumulate": 0, "attributed": 0}
        within: list[bool] = [False]  # of each path, and of -1: whether it is autograd's, or below such a path
        columns = (contexts[name] for name in ("parent", "node", "origin", "total"))
        for parent, node, origin, total in zip(*columns, strict=True):
            outermost = kinds[node] == "autograd" and not within[parent + 1]
            within.append(outermost or within[parent + 1])
            if outermost:
                made["autograd"] += total
                made["accumulate"] += total * (accumulates := "AccumulateGrad" in names[node])
                made["attributed"] += total * (origin >= 0 and not accumulates)
        return made

    def jobs(self, rank: int | None = None) -> Columns:
        """One row per :class:`fastdispatch.job` of a recording with a timeline of jobs, by start.

        kind (text), context (row), thread (row of the rank's threads), step, iteration (of the engine), micro_batch,
        stage, chunk, peer, buffer (-1: none), bytes (0: unknown), flags (fd_job in docs/formats/recording.md), start
        (ns since the start of the recording), duration (ns), open (unfinished; duration is its age), and with
        ``load(timeline=True)`` the first interval on a GPU: device (-1: none), gpu_start, gpu_duration (ns). ``rank``
        is optional if the trace has one rank; a dump has no jobs.
        """
        if rank is None and len(self.ranks) != 1:
            raise _core.Error(f"the trace has {len(self.ranks)} ranks: select one with jobs(rank)")
        return self.core.columns("jobs", 0 if rank is None else self.index(rank))

    def dump(self, path: PathLike) -> None:
        """Write as JSON (docs/formats/dump.md); ``load`` returns an equal trace. Raises Error if it cannot be
        written."""
        dump_text.save(self.core, path)

    def columns(self, table: str) -> ArrowTable:
        """Return a table as Arrow columns, which pyarrow, polars, pandas and DuckDB read without a copy: ``nodes``,
        ``modules``, ``contexts``, ``ranks``, ``facts``, ``counters``, ``figures``, ``steps``, ``threads``, ``jobs``,
        ``open_calls``, ``measures`` or ``gpu`` (docs/formats/columns.md). Any other name raises ``ArgumentError``."""
        return ArrowTable(self.core, table)

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """``nodes``, ``modules``, ``contexts`` and ``edges`` as data frames (needs pandas)."""
        from pandas import DataFrame

        return {name: DataFrame(getattr(self, name)) for name in ("nodes", "modules", "contexts", "edges")}

    def index(self, rank: int | None) -> int:
        """Return the index of rank number ``rank`` in ``ranks``; -1 for all. Raises Error if it is missing."""
        if rank is None:
            return -1
        for index, found in enumerate(self.ranks):
            if found["rank"] == rank:
                return index
        known = ", ".join(str(found["rank"]) for found in self.ranks)
        raise _core.Error(f"rank {rank} is not in this trace, which has rank{'s' * (len(self.ranks) > 1)} {known}")


def load(path: PathLike | Sequence[PathLike], *, timeline: bool = False, steps: Steps = None) -> Trace:
    """Read a recording, a dump, a merge or a run directory (its ranks merged), or several of them.

    With ``timeline`` the timelines of recordings are read too (24 bytes per call), for ``export``.

    ``steps`` reduces the trace to some steps: ``"settled"`` to those after the first ones, whose times have settled,
    or the whole recording if they are not decided; ``(first, last)`` to the steps between the nearest snapshots of a
    recording (docs/guides/report.md). :attr:`Trace.window` has the result. GPU figures, counters, open calls and
    timelines remain those of the whole recording.

    ``path`` may be a :class:`fastdispatch.CallGraph`. Raises :class:`fastdispatch.Error` with one line for other
    inputs.
    """
    from_graph = getattr(path, "_load", None)
    if from_graph is not None and getattr(path, "path", "") is None:  # in memory
        in_memory: Trace = from_graph(timeline=timeline, steps=steps)
        return in_memory
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return _loaded(read_inputs(paths, timeline=timeline, steps=steps), paths)


def load_part(*paths: PathLike, only: Literal["totals", "open_calls"]) -> Trace:
    """Read of recordings only the threads, and the totals of all call paths or of those of open calls and
    collectives."""
    return _loaded(read_inputs(paths, only=only), list(paths))


def _loaded(core: _core.Trace, paths: list[PathLike]) -> Trace:
    trace = Trace(core)
    trace.sources = paths
    report_incomplete(f"{os.fspath(paths[0])}: {line}" for line in trace.incomplete)
    return trace


#: Begin of the line about a recording that cannot be read.
SKIPPED = "skipped: "

_on_incomplete: ContextVar[Callable[[str], object] | None] = ContextVar("fastdispatch_on_incomplete", default=None)


@contextmanager
def reporting_incomplete(report: Callable[[str], object] | None) -> Iterator[None]:
    """Within this context :func:`load` calls ``report`` with each line of :attr:`Trace.incomplete`."""
    token = _on_incomplete.set(report)
    try:
        yield
    finally:
        _on_incomplete.reset(token)


def report_incomplete(lines: Iterable[str]) -> None:
    """Report lines about damaged files to the function of :func:`reporting_incomplete`."""
    report = _on_incomplete.get()
    if report is not None:
        for line in lines:
            report(line)


def merge(inputs: Iterable[PathLike], output: PathLike) -> None:
    """Merge recordings, dumps, merges and run directories into one JSON file.

    The order does not matter, nor do earlier merges: ranks are kept separate. Duplicate ranks, ranks of different
    runs, and more than 16 ranks, which need a data set (docs/guides/scale.md), raise :class:`fastdispatch.Error`.
    """
    merged(inputs, output)


def merged(inputs: Iterable[PathLike], output: PathLike) -> Trace:
    """Merge as :func:`merge`; return the merge."""
    paths = list(inputs)
    _check_number(sum(max(len(recordings(path)), 1) for path in paths), output)
    trace = load(paths)
    _check_number(len(trace.ranks), output)
    trace.dump(output)
    return trace


def _check_number(ranks: int, output: PathLike) -> None:
    if ranks > run_directory.FEW:
        raise _core.Error(
            f"{os.fspath(output)}: {ranks} ranks are too many for one JSON file: write a data set: -o NAME.parquet"
        )


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
