"""Match of the operators of a Kineto trace that has no "Record function id" (PyTorch before 2.2) with the nodes of an
execution trace, by names and order."""

from collections import Counter
from itertools import takewhile

import numpy as np

from fastdispatch.read.arrays import Ints, Rows

#: Maximum number of consecutive calls that only one of the traces has; number of calls that must agree after them.
_MOST_SKIPPED, _CONTEXT = 256, 4
#: Calls of two threads that start within this time can be in a different order in the two traces.
_UNORDERED_NS = 100_000
_MOST = (1 << 32) - 1


#: A node: its name, index, and autograd's number; -1: unknown.
_Node = tuple[int, int, int]
#: An operator: its name, the range of indices of its node, autograd's number and its own index. The node is after the
#: nodes of operators that started clearly before it, and before those of later ones.
_Operator = tuple[int, int, int, int, int]


def nodes_by_order(nodes: dict[str, Rows], ops: dict[str, Rows], others: int) -> Ints:
    """Return the node of each operator; -1: none. Nodes are sorted by id, operators by start; nodes with flags
    ``others`` are not calls of operators."""
    found = np.full(len(ops["start"]), -1)
    rows = np.flatnonzero(nodes["flags"] & others == 0)
    calls = [*zip(nodes["name"][rows].tolist(), rows.tolist(), nodes["seq"][rows].tolist(), strict=True)]
    #: Places in the lists of calls and operators, by thread; thread numbers differ between the traces.
    own, its = _by_thread(nodes["tid"][rows]), _by_thread(ops["thread"])
    sides = (nodes["name"][rows], own), (ops["name"], its)
    names = [[Counter(table[at].tolist()) for at in side] for table, side in sides]
    common = {(one, two): (names[0][one] & names[1][two]).total() for one in range(len(own)) for two in range(len(its))}
    pairs = [(-1, -1)]
    while pairs:
        bounded = _bounded(ops, found)
        best, pairs = (-1, -1), []
        # The pair of threads with the most calls in common, at most as many as it has common names.
        for pair in sorted(common, key=lambda pair: (-common[pair], pair)):
            if common[pair] < len(pairs):
                break
            aligned = _aligned([calls[at] for at in own[pair[0]]], [bounded[at] for at in its[pair[1]]])
            if len(aligned) > len(pairs) or (len(aligned) == len(pairs) and pair < best):
                best, pairs = pair, aligned
        for node, op in pairs:
            found[op] = node
        common = {pair: count for pair, count in common.items() if pair[0] != best[0] and pair[1] != best[1]}
    used = {*found.tolist()}
    left = [call for call in calls if call[1] not in used]
    for node, op in _work(left, [op for op in bounded if found[op[-1]] < 0]):
        found[op] = node
    return found


def _by_thread(threads: Rows) -> list[Ints]:
    return [np.flatnonzero(threads == thread) for thread in np.unique(threads)]


def _bounded(ops: dict[str, Rows], found: Ints) -> list[_Operator]:
    start = ops["start"]
    first = np.maximum.accumulate(np.r_[0, found + 1])[np.searchsorted(start, start - _UNORDERED_NS)]
    later = np.minimum.accumulate(np.r_[_MOST, np.where(found < 0, _MOST, found)[::-1]])[::-1]
    end = later[np.searchsorted(start, start + _UNORDERED_NS, "right")]
    rows = (ops["name"].tolist(), first.tolist(), end.tolist(), ops["seq"].tolist(), range(len(start)))
    return [*zip(*rows, strict=True)]


def _equal(node: _Node, op: _Operator) -> bool:
    """Return whether a node may be an operator."""
    name, index, seq = node
    its, first, end, number, _ = op
    return name == its and first <= index < end and (seq < 0 or number < 0 or seq == number)


def _aligned(nodes: list[_Node], ops: list[_Operator]) -> list[tuple[int, int]]:
    """Return the calls that two threads have in common, in order: indices of nodes and operators."""
    pairs, node, op = [], 0, 0
    while node < len(nodes) and op < len(ops):
        if _equal(nodes[node], ops[op]):
            pairs.append((nodes[node][1], ops[op][-1]))
            node, op = node + 1, op + 1
        else:
            skipped = _skipped(nodes, ops, node, op)
            node, op = node + skipped[0], op + skipped[1]
    return pairs


def _skipped(nodes: list[_Node], ops: list[_Operator], node: int, op: int) -> tuple[int, int]:
    """Return the calls of one side to skip until the next ones agree: as few as possible, or a few more if more calls
    agree then."""
    best, steps = _MOST, (1, 1)
    for step in range(1, _MOST_SKIPPED + 1):
        if step - 2 * _CONTEXT >= best:
            break
        for taken in ((step, 0), (0, step)):
            one, other = node + taken[0], op + taken[1]
            if one < len(nodes) and other < len(ops) and nodes[one][0] == ops[other][0]:
                rest = zip(nodes[one : one + _CONTEXT], ops[other : other + _CONTEXT], strict=False)
                count = sum(1 for _ in takewhile(lambda pair: _equal(*pair), rest))
                if count and step - 2 * count < best:
                    best, steps = step - 2 * count, taken
    return steps


def _work(nodes: list[_Node], ops: list[_Operator]) -> list[tuple[int, int]]:
    """Match work of other threads, which an execution trace can assign to the thread of its caller: the n-th node of a
    name is the n-th operator of the other threads, within its range of indices."""
    nodes, pairs, at = sorted(nodes), [], 0
    for op in sorted(ops, key=lambda op: (op[0], op[-1])):
        while at < len(nodes) and nodes[at][:2] < op[:2]:
            at += 1
        if at < len(nodes) and _equal(nodes[at], op):
            pairs.append((nodes[at][1], op[-1]))
            at += 1
    return pairs
