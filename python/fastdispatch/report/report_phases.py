"""Rows of ``report --by phase``: time of the main threads in each phase of training."""

from collections import Counter
from statistics import pstdev

from fastdispatch.read.steps import PHASE_BITS, PHASES, step_phases
from fastdispatch.read.summary import in_role
from fastdispatch.read.trace import Trace
from fastdispatch.report.report_facts import Facts
from fastdispatch.report.report_rows import Hidden, Listing, ReportRow

_SUMS = ("calls", "resumes", "self", "async", "gpu_calls", "gpu_self", "gpu_starved")


def phase_listing(trace: Trace, rank: int | None, facts: Facts, column: str) -> Listing:
    """Return a row per non-empty phase, sorted by ``column`` of :class:`ReportRow`. Each call is in one phase: total is
    self."""
    sums = _sums(trace, rank, facts.whole_role)
    rows = [_row(trace, rank, phase.phase, phase.per_step, sums[PHASES.index(phase.phase)]) for phase in facts.phases]
    rows = [row for row in rows if row.calls or row.self]
    rows.sort(key=lambda row: (-getattr(row, column), -row.self, row.where))
    return Listing(rows, 0, Hidden({}, 0))


def _sums(trace: Trace, rank: int | None, role: str) -> list[Counter[str]]:
    contexts = trace.contexts if rank is None else trace.core.contexts(trace.index(rank))
    own_starved = list(contexts["gpu_starved"])
    for starved, parent in zip(contexts["gpu_starved"], contexts["parent"], strict=True):
        if parent >= 0:
            own_starved[parent] -= starved
    columns = [contexts[name] for name in _SUMS[:-1]] + [own_starved]
    kinds = trace.nodes["kind"]
    sums = [Counter[str]() for _ in PHASES]
    inside = in_role(trace, contexts, role)
    for node, flags, wanted, *figures in zip(contexts["node"], contexts["flags"], inside, *columns, strict=True):
        if wanted:
            sum_ = sums[min(flags & PHASE_BITS, len(PHASES) - 1)]
            sum_.update(dict(zip(_SUMS, figures, strict=True)))
            sum_["ops"] += figures[0] if kinds[node] == "op" else 0
    return sums


def _row(trace: Trace, rank: int | None, phase: str, per_step: int, sums: Counter[str]) -> ReportRow:
    of_steps = step_phases(entry for entry in trace.ranks if rank in (None, entry["rank"]))[phase]
    return ReportRow(
        where=phase,
        kind="phase",
        package="",
        source="none",
        instances=1,
        calls=sums["calls"],
        resumes=sums["resumes"],
        ops=sums["ops"],
        self=sums["self"],
        total=sums["self"],
        backward=0,
        asynchronous=sums["async"],
        unseen_calls=0,
        step_mean=per_step,
        step_deviation=round(pstdev(of_steps)) if of_steps else 0,
        gpu_calls=sums["gpu_calls"],
        gpu_self=sums["gpu_self"],
        gpu_total=sums["gpu_self"],
        gpu_backward=0,
        gpu_starved=sums["gpu_starved"],
    )
