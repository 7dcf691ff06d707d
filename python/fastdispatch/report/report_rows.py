"""Rows of a report: functions, operators, modules or packages, selected and sorted, with library details hidden."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import pstdev
from typing import Any, Literal

from fastdispatch._core import Error
from fastdispatch.measures.measured import FIGURES, Measured, SiteGroups, measured, required
from fastdispatch.read.compilations import kernel_origins
from fastdispatch.read.plumbing import is_library, plumbing
from fastdispatch.read.steps import PHASE_BITS, PHASES, step_phases
from fastdispatch.read.summary import contexts_of, entries_of, in_role
from fastdispatch.read.trace import Columns, Group, Trace
from fastdispatch.report.report_facts import Facts
from fastdispatch.text.formats import module_pattern

#: Sort keys, with their column in ``Trace.table`` and of measured figures.
SORTS = {name: name for name in ("calls", "ops", "self", "total", "backward", "flops", "bytes", "allocated")}
SORTS |= {"spread": "step_deviation", "gpu": "gpu_total", "comm": "communicated"}

GroupBy = Group | Literal["phase"]

#: Columns of ``Trace.table`` with the names of fields.
_OF_TABLE = ["where", "instances", "resumes", "ops", "self", "total", "backward"]
_OF_TABLE += ["gpu_calls", "gpu_self", "gpu_total", "gpu_backward", "gpu_starved"]

#: Library functions below this share of the whole are hidden.
SMALL = 0.001

#: Library functions that only forward calls are hidden too: plumbing by name, and those that spend this share of their
#: time in one callee, each with a self time of at most this share of the whole.
PASSED_ON, KEPT = 0.95, 0.005


@dataclass
class ReportOptions:
    """Options of a report."""

    by: GroupBy = "function"  # phase: not for callers and callees
    sort: str | None = None  # None: by GPU time if there are kernels, else by total time
    top: int | None = None
    hide: bool = True
    rank: int | None = None
    tree: bool = False
    depth: int | None = None
    min_share: float = 0.01  # minimum share of a branch of the tree
    callers: str | None = None
    callees: str | None = None
    paths: int | None = None  # number; 0: as many as cover most of the time


@dataclass
class Modules:
    """Instances of ``nn.Module`` with one pattern of names, of calls of a function."""

    pattern: str
    instances: int


@dataclass
class ReportRow:
    """Sums of one group. Times in nanoseconds; ``where`` is the printed key."""

    where: str
    kind: str
    package: str
    source: str  # project, site, stdlib or generated
    instances: int
    calls: int
    resumes: int
    ops: int
    self: int
    total: int
    backward: int = 0
    asynchronous: int = 0
    unseen_calls: int = 0  # calls without a hook: a lower bound
    step_mean: int = 0  # of the total per step
    step_deviation: int = 0
    gpu_calls: int = 0  # of sampled steps, like the next three
    gpu_self: int = 0
    gpu_total: int = 0
    gpu_backward: int = 0
    gpu_starved: int = 0
    parameters: int = 0  # elements, for modules of all instances and their children
    parameter_bytes: int = 0
    modules: list[Modules] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)  # roles of the threads it ran in
    flops: float = 0.0  # these four: of one rank with its callees, at the forward calls (measures/measured.py)
    bytes: float = 0.0
    communicated: float = 0.0
    allocated: float = 0.0
    origin: dict[str, Any] = field(default_factory=dict)  # of Inductor's kernels (read/compilations.py)


@dataclass
class Hidden:
    """Hidden rows of libraries: ``small`` by package, and wrappers that ``pass_on`` to one callee."""

    small: dict[str, int]
    pass_on: int
    idle: int = 0  # functions that ran in idle threads only


@dataclass
class Listing:
    """The listed rows, and the number of others. ``measured``: sums of the measured figures, of one rank and, if
    ``by_step``, of one step (allocated bytes: of the recording)."""

    rows: list[ReportRow]
    more: int
    hidden: Hidden
    measured: dict[str, float] = field(default_factory=dict)
    by_step: bool = False


def listing(trace: Trace, by: Group, options: ReportOptions, facts: Facts) -> Listing:
    """Return the rows by ``options.sort``. With ``hide``, functions of idle threads and small and forwarding functions
    of libraries are omitted."""
    table = trace.table(by, options.rank)
    found = measured(trace, options.rank)
    column = SORTS[options.sort or "total"]
    if column in FIGURES:
        required(found, column, f"--sort {options.sort}", trace.name)
    table |= _sums(trace, by, found, len(table["where"]))
    kinds = trace.nodes["kind"]
    indexes = [i for i, node in enumerate(table["node"]) if by != "package" or kinds[node] != "thread"]
    hidden = Hidden({}, 0)
    if options.hide and by == "function":
        busy = _busy(trace, options.rank, table, indexes, facts)
        number = len(indexes) - len(busy)
        indexes, hidden = _hide(trace, options.rank, table, busy, column, facts.whole)
        hidden.idle = number
    where, figure = table["where"], table[column]
    indexes.sort(key=lambda i: (-figure[i], -table["total"][i], -table["calls"][i], where[i]))
    rows = {i: row(trace, table, i) for i in indexes[: options.top]}
    for i, made in rows.items():
        for name in found.figures:
            setattr(made, name, table[name][i])
    if by in ("function", "operator"):
        _add_places(trace, options.rank, {table["node"][i]: made for i, made in rows.items()})
    elif by == "module":
        _add_parameters(trace, rows.values())
    elif by == "kernel":
        origins = kernel_origins(trace)
        for i, made in rows.items():
            made.origin = origins.get(table["node"][i], {})
    totals = {name: found.total(name) for name in found.figures}
    return Listing([*rows.values()], len(indexes) - len(rows), hidden, totals, found.by_step)


def _sums(trace: Trace, by: Group, found: Measured, rows: int) -> Columns:
    """Return a column of each measured figure."""
    groups = SiteGroups(trace, by)
    sums = {name: groups.sums(of) for name, of in found.figures.items()}
    return {name: [of.get(index, 0.0) for index in range(rows)] for name, of in sums.items()}


def row(trace: Trace, table: Columns, index: int) -> ReportRow:
    node = table["node"][index]
    nodes = trace.nodes
    is_kernel = nodes["kind"][node] == "kernel"
    return ReportRow(
        **{name: table[name][index] for name in _OF_TABLE},
        calls=table["gpu_calls" if is_kernel else "calls"][index],
        kind=nodes["kind"][node],
        package=nodes["package"][node],
        source=nodes["from"][node],
        asynchronous=table["async"][index],
        unseen_calls=table["hidden"][index],
        step_mean=round(table["step_mean"][index]),
        step_deviation=round(table["step_deviation"][index]),
    )


def _busy(trace: Trace, rank: int | None, table: Columns, indexes: list[int], facts: Facts) -> list[int]:
    """Return the rows of functions that ran in a thread that is not idle too."""
    idle = [thread.role for thread in facts.threads if thread.idle and thread.role != facts.whole_role]
    if not idle:
        return indexes
    contexts, keys = contexts_of(trace, rank), trace.nodes["key"]
    elsewhere: list[bool] = []
    busy = set()
    columns = (contexts[name] for name in ("node", "parent", "calls", "resumes", "self"))
    for node, parent, *figures in zip(*columns, strict=True):
        elsewhere.append(elsewhere[parent] if parent >= 0 else keys[node] not in idle)
        if elsewhere[-1] and any(figures):
            busy.add(node)
    return [i for i in indexes if table["node"][i] in busy]


def _hide(
    trace: Trace, rank: int | None, table: Columns, indexes: list[int], column: str, whole: int
) -> tuple[list[int], Hidden]:
    figure, total, backward = table[column], table["total"], table["backward"]
    small_figure = SMALL * max(figure, default=0)
    small_time = SMALL * whole
    passing: set[int] = set(wrappers(trace, "function", rank, table, whole))
    named = plumbing(trace.nodes)
    passing.update(i for i in indexes if named[table["node"][i]] and table["self"][i] <= KEPT * whole)
    left, small, pass_on = [], Counter[str](), 0
    for i in indexes:
        node = table["node"][i]
        if not is_library(trace, node):
            left.append(i)
        elif figure[i] <= small_figure and total[i] <= small_time and backward[i] <= small_time:
            small[trace.nodes["package"][node]] += 1
        elif i in passing:
            pass_on += 1
        else:
            left.append(i)
    return left, Hidden(dict(small.most_common()), pass_on)


def wrappers(trace: Trace, by: Group, rank: int | None, table: Columns, whole: int) -> dict[int, int]:
    """Return rows of library functions that only forward a call, with the row of the callee."""
    if whole <= 0:
        return {}
    graph = trace.graph(by, rank)
    total, own, node = table["total"], table["self"], table["node"]
    kinds = trace.nodes["kind"]
    found = {}
    for caller, callee, time in zip(graph["caller"], graph["callee"], graph["total"], strict=True):
        is_passed = caller >= 0 and time >= PASSED_ON * total[caller] > 0 and own[caller] <= KEPT * whole
        if is_passed and caller != callee and kinds[node[callee]] != "overflow" and is_library(trace, node[caller]):
            found[caller] = callee
    return found


def _add_parameters(trace: Trace, rows: Iterable[ReportRow]) -> None:
    """Group instances by pattern: nested instances differ in their number of parts."""
    modules = trace.modules
    elements, sizes = Counter[str](), Counter[str]()
    for path, name, count, size in zip(
        *(modules[column] for column in ("path", "class", "parameters", "parameter_bytes")), strict=True
    ):
        where = module_pattern(path) or name  # a root has only its class as a name
        elements[where] += count
        sizes[where] += size
    for row in rows:
        row.parameters, row.parameter_bytes = elements[row.where], sizes[row.where]


def _add_places(trace: Trace, rank: int | None, rows: dict[int, ReportRow]) -> None:
    """Fill in the modules and threads of the functions of ``rows``, by node."""
    contexts = contexts_of(trace, rank)
    nodes, keys, paths = contexts["node"], trace.nodes["key"], trace.modules["path"]
    roots: list[int] = []  # per context: the node of its thread
    for node, parent in zip(nodes, contexts["parent"], strict=True):  # a parent comes before its children
        roots.append(roots[parent] if parent >= 0 else node)
    modules: dict[int, Counter[str]] = {node: Counter() for node in rows}
    threads: dict[int, set[str]] = {node: set() for node in rows}
    for node, module, root in set(zip(nodes, contexts["module"], roots, strict=True)):
        if node in rows:
            threads[node].add(keys[root])
            if module >= 0 and paths[module]:  # a root has only its class as a name, which the key has
                modules[node][module_pattern(paths[module])] += 1
    for node, made in rows.items():
        made.modules = [Modules(pattern, count) for pattern, count in sorted(modules[node].items())]
        made.threads = sorted(threads[node])


_OF_PHASES = ("calls", "resumes", "self", "async", "gpu_calls", "gpu_self", "gpu_starved")


def phase_listing(trace: Trace, options: ReportOptions, facts: Facts) -> Listing:
    """Return a row per non-empty phase, sorted by a figure of :class:`ReportRow`. Each call is in one phase: total is
    self."""
    column = SORTS[options.sort or "total"]
    if column in FIGURES:
        raise Error(f"--by phase: phases have no column for --sort {options.sort}")
    sums = _phase_sums(trace, options.rank, facts.whole_role)
    rows = [
        _phase_row(trace, options.rank, phase.phase, phase.per_step, sums[PHASES.index(phase.phase)])
        for phase in facts.phases
    ]
    rows = [row for row in rows if row.calls or row.self]
    rows.sort(key=lambda row: (-getattr(row, column), -row.self, row.where))
    return Listing(rows, 0, Hidden({}, 0))


def _phase_sums(trace: Trace, rank: int | None, role: str) -> list[Counter[str]]:
    contexts = contexts_of(trace, rank)
    own_starved = list(contexts["gpu_starved"])
    for starved, parent in zip(contexts["gpu_starved"], contexts["parent"], strict=True):
        if parent >= 0:
            own_starved[parent] -= starved
    columns = [contexts[name] for name in _OF_PHASES[:-1]] + [own_starved]
    kinds = trace.nodes["kind"]
    sums = [Counter[str]() for _ in PHASES]
    inside = in_role(trace, contexts, role)
    for node, flags, wanted, *figures in zip(contexts["node"], contexts["flags"], inside, *columns, strict=True):
        if wanted:
            sum_ = sums[min(flags & PHASE_BITS, len(PHASES) - 1)]
            sum_.update(dict(zip(_OF_PHASES, figures, strict=True)))
            sum_["ops"] += figures[0] if kinds[node] == "op" else 0
    return sums


def _phase_row(trace: Trace, rank: int | None, phase: str, per_step: int, sums: Counter[str]) -> ReportRow:
    figures: dict[str, Any] = {name: sums[name] for name in ("ops", *_OF_PHASES) if name != "async"}
    of_steps = step_phases(entries_of(trace, rank))[phase]
    return ReportRow(
        where=phase,
        kind="phase",
        package="",
        source="none",
        instances=1,
        **figures,
        total=sums["self"],
        asynchronous=sums["async"],
        step_mean=per_step,
        step_deviation=round(pstdev(of_steps)) if of_steps else 0,
        gpu_total=sums["gpu_self"],
    )
