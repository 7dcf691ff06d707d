"""Search for a function by name, and its callers and callees."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fastdispatch._core import Error
from fastdispatch.read.trace import Columns, Group, Trace
from fastdispatch.report.report_facts import Facts
from fastdispatch.report.report_rows import ReportOptions, ReportRow, row, wrappers

_LISTED = 8


@dataclass
class Neighbour:
    """A caller or callee of a function: the calls between the two and the time of those calls, in nanoseconds.

    ``through``: keys of the library functions between the two that only forward the call, from the caller on.
    """

    where: str
    kind: str
    calls: int
    total: int
    through: list[str]


@dataclass
class Neighbours:
    """Callers or callees (``side``) of ``of``, the most expensive first."""

    side: str
    of: ReportRow
    rows: list[Neighbour]
    more: int


def neighbours(trace: Trace, options: ReportOptions, name: str, facts: Facts) -> Neighbours:
    """Return the callers of ``name``, or the callees. With ``hide``, library functions that only forward a call are
    skipped. Raises Error if ``name`` matches no row or several."""
    if options.by == "phase":
        raise Error("--by phase: phases have no callers or callees")
    table = trace.table(options.by, options.rank)
    index = find(trace, table, name)
    finder = _Finder(trace, options.by, options, table, facts.whole)
    side = "callees" if options.callers is None else "callers"
    found = finder.callees(index) if options.callers is None else finder.callers(index)
    found.sort(key=lambda neighbour: (-neighbour.total, -neighbour.calls, neighbour.where))
    shown = found[: options.top]
    return Neighbours(side, row(trace, table, index), shown, len(found) - len(shown))


class _Finder:
    def __init__(self, trace: Trace, by: Group, options: ReportOptions, table: Columns, whole: int) -> None:
        self.trace, self.table = trace, table
        self.passes = wrappers(trace, by, options.rank, table, whole) if options.hide else {}
        graph = trace.graph(by, options.rank)
        self.into: dict[int, list[tuple[int, int, int]]] = {}  # callee -> caller, calls, total
        self.out: dict[int, list[tuple[int, int, int]]] = {}
        columns = (graph[name] for name in ("caller", "callee", "calls", "total"))
        for caller, callee, *figures in zip(*columns, strict=True):
            self.into.setdefault(callee, []).append((caller, *figures))
            self.out.setdefault(caller, []).append((callee, *figures))

    def callers(self, index: int) -> list[Neighbour]:
        found: dict[int, Neighbour] = {}
        waiting: list[tuple[int, tuple[int, ...]]] = [(index, ())]
        while waiting:
            at, through = waiting.pop()
            for caller, calls, total in self.into.get(at, ()):
                if self.passes.get(caller) == at and caller != index and caller not in through:
                    waiting.append((caller, (caller, *through)))
                else:
                    self.add(found, caller, calls, total, through)
        return list(found.values())

    def callees(self, index: int) -> list[Neighbour]:
        found: dict[int, Neighbour] = {}
        for callee, calls, total in self.out.get(index, ()):
            through: list[int] = []
            while callee in self.passes and callee != index and callee not in through:
                through.append(callee)
                callee = self.passes[callee]
            self.add(found, callee, calls, total, through)
        return list(found.values())

    def add(self, found: dict[int, Neighbour], index: int, calls: int, total: int, through: Iterable[int]) -> None:
        where = self.table["where"]
        if index not in found:
            kind = self.trace.nodes["kind"][self.table["node"][index]] if index >= 0 else "none"
            found[index] = Neighbour(where[index] if index >= 0 else "<outside>", kind, 0, 0, [])
        found[index].calls += calls
        found[index].total += total
        found[index].through += [where[i] for i in through if where[i] not in found[index].through]


def find(trace: Trace, table: Columns, name: str) -> int:
    """Return the row for ``name``: an exact key, else the only key that contains it or matches it as a glob, else the
    only one with this last part. Raises Error for none and for several."""
    where, kinds = table["where"], trace.nodes["kind"]
    rows = [i for i, node in enumerate(table["node"]) if kinds[node] != "thread"]
    found = [i for i in rows if where[i] == name] or [i for i in rows if name in where[i]]
    if not found and any(sign in name for sign in "*?["):
        found = [i for i in rows if fnmatchcase(where[i], name) or fnmatchcase(where[i], f"*{name}*")]
    if len(found) > 1:
        ends = [i for i in found if where[i].endswith((":" + name, "." + name))]
        found = ends if len(ends) == 1 else found
    if not found:
        raise Error(f"no function or operator matches {name!r}: give part of a key, or a glob such as '*:forward'")
    if len(found) > 1:
        found.sort(key=lambda i: (-table["total"][i], where[i]))
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        names = ", ".join(where[i] for i in found[:_LISTED])
        raise Error(f"{name!r} matches {len(found)} keys: give a longer part of one of them: {names}{more}")
    return found[0]
