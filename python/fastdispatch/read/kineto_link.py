"""The link of an execution trace with the Kineto trace of its rank: operators get times and threads, kernels become
nodes, synchronisation becomes edges.

The key is "Record function id", and names must be equal. Without this id, names and order are the key
(operator_order.py).
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastdispatch._core import ExecutionTrace
from fastdispatch.read.arrays import Ints, Rows
from fastdispatch.read.operator_order import nodes_by_order

#: Flags of nodes, kinds of edges, and what a call of CUDA waits for, as in csrc/et/.
_GPU, _THREAD, _PROCESS, _GUESSED = 1, 4, 8, 16
_EVENT, _SYNC = 8, 16
_DEVICE, _COPY = 1, 3
#: Tolerance for differences of the host and GPU clocks; kernels before a wait that are considered.
_SLACK_NS, _LOOK_BACK = 2000, 64
_MOST, _MOST_IDS = (1 << 63) - 1, (1 << 64) - 2
_TIMES = np.dtype([("start_ns", np.int64), ("dur_ns", np.int64), ("thread", np.uint64), ("linked", np.uint64)])


def link_kineto(trace: ExecutionTrace) -> dict[str, Any]:
    """Link the Kineto trace that was read; nodes are then sorted by time, with ids from 1 on. Return numbers: linked
    (operators in both traces), only_et (nodes without an operator in Kineto), only_kineto (operators without a node),
    by_order (linked without a number), unnumbered (neither a number nor a node), renamed (equal numbers, but different
    names, with a message about the first as example), again (the number of an earlier operator), kernels, by_external
    (kernels without a launch, linked by "External id") and alone (with neither a launch nor an operator)."""
    link = _Link(trace)
    link.set_times()
    return link.counts | link.add_kernels()


def _arrays(trace: ExecutionTrace, table: str) -> dict[str, Rows]:
    return {name: np.asarray(column) for name, column in trace.columns(table).items()}


def _rows_of(keys: Rows, wanted: Rows, side: Any = "right") -> Ints:
    """Return the last row of each wanted key, the first one on the left side; -1 for other keys and 0."""
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted, side) - (side == "right")
    there = (wanted != 0) & (at >= 0) & (at < len(keys))
    there[there] = keys[order[at[there]]] == wanted[there]
    return _chosen(order, np.where(there, at, -1), -1)


def _chosen(values: Rows, rows: Ints, others: Any) -> Ints:
    """Return the values of rows, and of others for -1."""
    found: Ints = np.array(np.broadcast_to(others, rows.shape), dtype=np.int64)
    found[rows >= 0] = values[rows[rows >= 0]]
    return found


def _ends(table: dict[str, Rows]) -> Ints:
    return _plus(table["start"], table["dur"])


def _plus(times: Ints, more: Ints | int) -> Ints:
    late: Ints = np.minimum(more, _MOST - np.maximum(times, 0)) + times
    return late


def _queues(table: dict[str, Rows], stream: str) -> Ints:
    """Return device and stream as one number."""
    return table["device"].astype(np.int64) << 32 | table[stream].astype(np.uint32)


class _Link:
    def __init__(self, trace: ExecutionTrace) -> None:
        self.trace = trace
        self.nodes, self.ops, self.kernels, self.calls, self.syncs = (
            _arrays(trace, table) for table in ("nodes", "ops", "kernels", "calls", "syncs")
        )
        self.parents = self.nodes["parent"].astype(np.int64) - 1
        numbered = self.ops["rf_id"] != 0
        if numbered.any():
            found = _rows_of(self.nodes["rf_id"], self.ops["rf_id"], "left")
        else:
            order = np.lexsort((-self.ops["dur"], self.ops["start"]))
            self.ops = {name: column[order] for name, column in self.ops.items()}
            found = nodes_by_order(self.nodes, self.ops, _GPU | _THREAD | _PROCESS)
        at = np.flatnonzero(found >= 0)
        same = self.nodes["name"][found[at]] == self.ops["name"][at]
        first = np.unique(found[at[same]], return_index=True)[1]
        linked = at[same][first]
        #: By operator: its node, or -1.
        self.node_of = np.full(len(found), -1)
        self.node_of[linked] = found[linked]
        self.counts: dict[str, Any] = {
            "linked": len(linked),
            "only_et": 0,
            "only_kineto": int(np.count_nonzero(numbered & (found < 0))),
            "by_order": int(np.count_nonzero(~numbered & (found >= 0))),
            "unnumbered": int(np.count_nonzero(~numbered & (found < 0))),
            "renamed": int(np.count_nonzero(~same)),
            "again": int(np.count_nonzero(same)) - len(linked),
            "kernels": len(self.kernels["start"]),
            "by_external": 0,
            "alone": 0,
            "example": "".join(self._example(op, found[op]) for op in at[~same][:1]),
        }

    def _example(self, op: int, node: int) -> str:
        texts = (self.trace.text(int(number)) for number in (self.nodes["name"][node], self.ops["name"][op]))
        names = [text.partition("\0")[0].encode()[:64].decode(errors="replace") for text in texts]
        return f"{self.ops['rf_id'][op]} is {names[0]} in one and {names[1]} in the other"

    def set_times(self) -> None:
        """Set the times of linked nodes, and the threads of all."""
        times = np.zeros(len(self.parents), _TIMES)
        times["thread"] = self.nodes["thread"]
        ops = np.flatnonzero(self.node_of >= 0)
        linked = self.node_of[ops]
        for name, column in (("start_ns", "start"), ("dur_ns", "dur"), ("thread", "thread")):
            times[name][linked] = self.ops[column][ops]
        times["linked"][linked] = 1
        others = (times["linked"] == 0) & (self.nodes["flags"] & (_THREAD | _PROCESS) == 0)
        self.counts["only_et"] = int(np.count_nonzero(others))
        times["thread"] = self._threads(times["thread"])
        self.trace.link("times", times.tobytes())

    def _threads(self, known: Rows) -> Rows:
        """Return the threads of nodes, also without an operator in Kineto: a node is on the thread of its parent, the
        root of a thread on the thread of its children."""
        threads, parents, flags = known.tolist(), self.parents.tolist(), self.nodes["flags"]
        below = self.parents >= 0
        roots = np.flatnonzero(below & (flags[self.parents] & _THREAD != 0))
        for node in roots[::-1].tolist():
            threads[parents[node]] = threads[node] or threads[parents[node]]
        unknown = below & (np.array(threads, np.uint64) == 0) & (flags & _PROCESS == 0)
        for node in np.flatnonzero(unknown).tolist():
            threads[node] = threads[parents[node]]
        return np.array(threads, np.uint64)

    def add_kernels(self) -> dict[str, int]:
        """Add kernels, and edges of waits; sort and number all nodes by time. Operators are sorted by start, kernels by
        launch; every node follows its parent, even if clocks disagree."""
        if int(self.nodes["id"].max(initial=0)) + len(self.kernels["start"]) > _MOST_IDS:
            self._reorder(np.arange(len(self.parents)))
        self.nodes = _arrays(self.trace, "nodes")
        if len(self.calls["start"]):
            order = np.lexsort((self.calls["start"], self.calls["thread"]))
            self.calls = {name: column[order] for name, column in self.calls.items()}
            order = np.lexsort((-self.ops["dur"], self.ops["start"], self.ops["thread"]))
            self.ops = {name: column[order] for name, column in self.ops.items()}
            self.node_of = self.node_of[order]
        call = _rows_of(self.calls["correlation"], self.kernels["correlation"])
        launched = _chosen(self.calls["start"], call, self.kernels["start"])
        op = _chosen(self._ops_around(), call, -1)
        external = np.where(op < 0, _rows_of(self.ops["external"], self.kernels["external"]), -1)
        node = _chosen(self.node_of, np.maximum(op, external), -1)
        when = np.where((call < 0) & (node >= 0), _chosen(self.nodes["start_ns"], node, 0), launched)
        self.trace.link("kernels", (node + 1).astype(np.uint32).tobytes())
        edges = [*self._syncs(launched), *self._events()] if len(node) else []
        self.trace.link("edges", np.array(edges, np.uint32).tobytes())
        self._reorder(self._order(np.concatenate((self.nodes["start_ns"], when))))
        return {"by_external": int(np.count_nonzero(external >= 0)), "alone": int(np.count_nonzero(node < 0))}

    def _ops_around(self) -> Ints:
        """Return the operator around each call: the innermost one that is linked and still open when the call begins;
        -1: none. Both are sorted by thread and time."""
        rows = np.flatnonzero(self.node_of >= 0)
        places = [*zip(self.ops["thread"][rows].tolist(), self.ops["start"][rows].tolist(), strict=True)]
        ends = _ends(self.ops)[rows].tolist()
        around, op, current = np.full(len(self.calls["start"]), -1), 0, 0
        open: list[int] = []
        for call, place in enumerate(zip(self.calls["thread"].tolist(), self.calls["start"].tolist(), strict=True)):
            if place[0] != current:
                open, current = [], place[0]
            while op < len(places) and places[op] <= place:
                if places[op][0] == current:
                    open.append(op)
                op += 1
            while open and ends[open[-1]] < place[1]:
                open.pop()
            if open:
                around[call] = rows[open[-1]]
        return around

    def _reorder(self, order: Ints) -> None:
        self.trace.link("order", order.astype(np.uint32).tobytes())

    def _order(self, keys: Ints) -> Ints:
        nodes = _arrays(self.trace, "nodes")
        keys[nodes["flags"] & _PROCESS != 0] = -_MOST - 1
        parents = nodes["parent"].astype(np.int64) - 1
        below = np.flatnonzero((parents >= 0) & (parents < np.arange(len(parents))))
        while len(early := below[keys[parents[below]] > keys[below]]):
            keys[early] = keys[parents[early]]
        return np.argsort(keys, kind="stable")

    def _syncs(self, launched: Ints) -> Iterator[tuple[int, int, int]]:
        """Yield the edges to threads that wait for kernels. An edge ends at the first node of the thread after the
        call, since the operator around the call may have launched the kernel itself."""
        calls = {name: column[self.calls["wait"] != 0] for name, column in self.calls.items()}
        sync, work = (_rows_of(rows["correlation"], calls["correlation"]) for rows in (self.syncs, self.kernels))
        queues = np.where(
            _chosen(self.syncs["stream"], sync, -1) < 0, -1, _chosen(_queues(self.syncs, "stream"), sync, -1)
        )
        by_end = np.argsort(_ends(self.kernels), kind="stable")
        ended = np.searchsorted(_ends(self.kernels)[by_end], _plus(_ends(calls), _SLACK_NS), "right")
        kernels = _queues(self.kernels, "stream")[by_end].tolist(), launched[by_end].tolist()
        places = by_end.tolist()
        first = len(self.nodes["start_ns"])
        rows = (calls["wait"], calls["start"], self._next_nodes(calls), work, ended, queues)
        for wait, start, to, own, last, queue in zip(*(row.tolist() for row in rows), strict=True):
            if to < 0:
                continue
            if wait == _COPY:
                found = [own] if own >= 0 else []
            else:
                found = [places[at] for at in _awaited(kernels, start, last, queue, wait == _DEVICE)]
            yield from ((first + kernel, to, _SYNC) for kernel in found)

    def _next_nodes(self, calls: dict[str, Rows]) -> Ints:
        """Return the first node of the thread after each call; -1: none."""
        threads, starts, flags = (self.nodes[name] for name in ("thread", "start_ns", "flags"))
        order = np.flatnonzero((threads != 0) & (flags & (_GPU | _THREAD | _GUESSED) == 0))
        order = order[np.lexsort((starts[order], threads[order]))]
        ends, found = _ends(calls), np.full(len(calls["start"]), -1)
        for thread in np.unique(calls["thread"]):
            own = order[threads[order] == thread]
            mine = np.flatnonzero(calls["thread"] == thread)
            at = np.searchsorted(starts[own], ends[mine])
            found[mine] = _chosen(own, np.where(at < len(own), at, -1), -1)
        return found

    def _events(self) -> Iterator[tuple[int, int, int]]:
        """Yield the edges to streams that wait for an event: from the last kernel before it to the next one after."""
        syncs = self.syncs
        waits = (syncs["record"] != 0) & (syncs["source"] >= 0) & (syncs["source"] != syncs["stream"])
        if not waits.any():
            return
        queues = _queues(self.kernels, "stream")
        order = np.lexsort((self.kernels["correlation"], queues))
        keys = [*zip(queues[order].tolist(), self.kernels["correlation"][order].tolist(), strict=True)]
        first = len(self.nodes["start_ns"])
        columns = (_queues(syncs, "source"), syncs["record"], _queues(self.syncs, "stream"), syncs["correlation"])
        for source, record, queue, correlation in zip(*(column[waits].tolist() for column in columns), strict=True):
            before, after = bisect_left(keys, (source, record)), bisect_left(keys, (queue, correlation))
            if before > 0 and after < len(keys) and (keys[before - 1][0], keys[after][0]) == (source, queue):
                yield first + int(order[before - 1]), first + int(order[after]), _EVENT


def _awaited(kernels: tuple[list[int], list[int]], start: int, last: int, queue: int, device: bool) -> Iterator[int]:
    """Yield the kernels that a call waited for, out of queues and launches sorted by end: the last one of one stream,
    given as queue if it is known, or of each stream of the device."""
    queues, launched = kernels
    seen: set[int] = set()
    for at in range(last - 1, max(last - 1 - _LOOK_BACK, -1), -1):
        if queues[at] in seen or launched[at] > start or (not device and queue >= 0 and queues[at] != queue):
            continue
        yield at
        if not device:
            return
        seen.add(queues[at])
