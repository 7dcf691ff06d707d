"""Estimate the time of a step by the rules of docs/guides/execution-trace.md from the .et files of all ranks.

Each time is computed on demand and cached. Uses nothing of fastdispatch."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ORDER, LAUNCH, SYNC = 1, 2, 16  # kinds of dependencies
SEND, COLLECTIVE = 5, 7  # types of nodes
REDUCE, GATHER, SCATTER, BROADCAST = 1, 3, 4, 5
NUMBERS, BYTES = 0, 2  # of protobuf


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        assert key & 7 in (NUMBERS, BYTES)
        value, at = varint(data, at)
        if key & 7 == BYTES:
            yield key >> 3, data[at : at + value]
            at += value
        else:
            yield key >> 3, value


def packed(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


@dataclass(eq=False)
class Node:
    place: int
    rank: int
    id: int = 0
    name: str = ""
    type: int = 0
    parent: Node | None = None
    waits: list[tuple[Node, int]] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    last: Node | None = None  # the last enclosed node
    synced: Node | None = None  # the kernel it waits for
    meeting: list[Node] = field(default_factory=list)

    @property
    def gpu(self) -> bool:
        return not self.attrs["is_cpu_op"]

    @property
    def root(self) -> bool:
        return self.name.startswith("[pytorch|profiler|execution_trace|")

    @property
    def moves(self) -> bool:
        return self.type >= SEND


def attribute(data: bytes) -> tuple[str, Any]:
    name, value = "", None
    for number, content in fields(data):
        if number == 1:
            name = content.decode()
        else:
            signed = number in (7, 9) and content >= 1 << 63
            value = content - (1 << 64) if signed else content
    return name, value


def read(path: Path, rank: int) -> list[Node]:
    data = path.read_bytes()
    size, at = varint(data, 0)
    at += size  # the head
    nodes: list[Node] = []
    by_id: dict[int, Node] = {}
    while at < len(data):
        size, at = varint(data, at)
        node, deps = Node(len(nodes), rank), []
        for number, content in fields(data[at : at + size]):
            if number == 1:
                node.id = content
            elif number == 2:
                node.name = content.decode()
            elif number == 3:
                node.type = content
            elif number == 4:
                (parent,) = packed(content)
                node.parent = by_id[parent]
            elif number == 5:
                deps = packed(content)
            elif number == 10:
                name, value = attribute(content)
                node.attrs[name] = value
        node.waits = [(by_id[dep], kinds) for dep, kinds in zip(deps, node.attrs.get("fd_edges", b""), strict=True)]
        by_id[node.id] = node
        nodes.append(node)
        at += size
    return nodes


class Replay:
    """``scales``: name to factor. Times are ns."""

    def __init__(self, paths: list[Path], scales: dict[str, float], bandwidth: float = 1, latency: int = 0) -> None:
        self.ranks = [read(path, rank) for rank, path in enumerate(paths)]
        self.scales, self.bandwidth, self.latency = scales, bandwidth, latency
        self.known: dict[tuple[str, Node], Any] = {}
        self.least = [{False: 0, True: 0} for _ in paths]
        for rank, nodes in enumerate(self.ranks):
            self.measure(rank, nodes)
        self.meet()

    # -- measured ----------------------------------------------------------------------------------------------------

    def begin(self, node: Node) -> int:
        return int(node.attrs.get("fd_start_ns", 0))

    def over(self, node: Node) -> int:
        return self.begin(node) + (0 if node.root else int(node.attrs.get("fd_dur_ns", 0)))

    def measure(self, rank: int, nodes: list[Node]) -> None:
        for gpu in (False, True):
            launches = [
                self.begin(node) - self.begin(cause)
                for node in nodes
                for cause, kinds in node.waits
                if kinds & LAUNCH and node.gpu == gpu
            ]
            self.least[rank][gpu] = min((time for time in launches if time >= 0), default=0)
        for node in nodes:
            around = node.parent
            if around and not (node.gpu or around.root or around.moves):
                same = around.attrs.get("fd_thread", 0) == node.attrs.get("fd_thread", 0)
                if same and self.over(node) <= self.over(around):
                    around.last = node
        for node in nodes:
            self.find_kernel(node)

    def find_kernel(self, node: Node) -> None:
        before = [cause for cause, kinds in node.waits if kinds & ORDER]
        kernels = [cause for cause, kinds in node.waits if kinds & SYNC]
        if not before or not kernels:
            return
        kernel = max(kernels, key=self.over)
        at: Node | None = before[-1]
        while at is not None and at is not node.parent:
            if self.begin(at) <= self.over(kernel) <= self.over(at) and kernel.place < at.place and not at.root:
                at.synced = kernel
                return
            at = at.parent

    def meet(self) -> None:
        """The n-th collective of a group; the n-th message from one rank to another."""
        meetings: dict[Any, list[Node]] = {}
        for nodes in self.ranks:
            count: dict[Any, int] = {}
            for node in nodes:
                if node.type == COLLECTIVE:
                    key: Any = node.attrs.get("pg_name", b"")
                elif node.moves:
                    peer = node.attrs["comm_dst" if node.type == SEND else "comm_src"]
                    key = (node.rank, peer) if node.type == SEND else (peer, node.rank)
                else:
                    continue
                count[key] = count.get(key, 0) + 1
                meetings.setdefault((key, count[key]), []).append(node)
                node.meeting = meetings[key, count[key]]

    def launch(self, node: Node) -> int:
        (begin,) = [self.begin(cause) for cause, kinds in node.waits if kinds & LAUNCH]
        least = self.least[node.rank][node.gpu]
        busy = [self.over(cause) for cause, kinds in node.waits if not kinds & LAUNCH]
        return self.begin(node) - begin if max(busy, default=begin) <= begin + least else least

    def delay(self, node: Node) -> int:
        ready = self.ready(node, replayed=False)
        delay = 0 if ready is None else self.begin(node) - ready
        return delay if node.gpu else max(delay, 0)

    # -- replayed ----------------------------------------------------------------------------------------------------

    def remember(self, what: str, node: Node, find: Callable[[Node], Any]) -> Any:
        if (what, node) not in self.known:
            self.known[what, node] = find(node)
        return self.known[what, node]

    def factor(self, node: Node | None) -> float:
        if node is None:
            return 1.0
        return float(self.remember("factor", node, lambda n: self.factor(n.parent) * self.scales.get(n.name, 1.0)))

    def ready(self, node: Node, *, replayed: bool) -> int | None:
        times = [self.ready_by(cause, kinds, node, replayed) for cause, kinds in node.waits if not cause.root]
        return max((time for time in times if time is not None), default=None)

    def ready_by(self, cause: Node, kinds: int, node: Node, replayed: bool) -> int | None:
        if kinds & LAUNCH:
            return (self.start(cause) if replayed else self.begin(cause)) + self.launch(node)
        if kinds & ORDER:
            call: Node | None = cause
            if cause is node.parent:
                call = None  # continues inside the enclosed node
            else:
                while call is not None and call.parent is not node.parent:
                    call = call.parent
                call = call or cause
            if call is None or self.over(call) > self.begin(node):
                return self.start(cause) if replayed else self.begin(cause)
            return self.end(call) if replayed else self.over(call)
        late = 0 if node.gpu else max(self.over(cause) - self.begin(node), 0)
        if late > (self.over(cause) - self.begin(cause)) // 10:
            return None  # it had not ended: no wait
        return (self.end(cause) if replayed else self.over(cause)) - late

    def start(self, node: Node) -> int:
        return int(self.remember("start", node, self.find_start))

    def find_start(self, node: Node) -> int:
        ready = self.ready(node, replayed=True)
        if ready is None:
            return self.begin(node)
        return ready + (self.delay(node) if node.gpu else int(self.delay(node) * self.factor(node.parent)))

    def waited_for(self, node: Node) -> list[Node]:
        def waits(other: Node) -> bool:
            if other is node or self.over(node) < self.begin(other):
                return False
            root, kind = node.attrs.get("comm_src", -1), node.attrs.get("comm_type")
            if node.type != COLLECTIVE or root < 0 or len(node.meeting) != len(self.ranks):
                return True
            if kind in (BROADCAST, SCATTER):
                return bool(other.rank == root)
            return bool(node.rank == root) if kind in (REDUCE, GATHER) else True

        return [other for other in node.meeting if waits(other)]

    def end(self, node: Node) -> int:
        """The time with all enclosed nodes on its thread."""
        return int(self.remember("end", node, self.find_end))

    def find_end(self, node: Node) -> int:
        if node.synced:
            rest = self.over(node) - self.over(node.synced)
            return max(self.end(node.synced), self.start(node)) + int(rest * self.factor(node))
        if node.last:
            return self.end(node.last) + int((self.over(node) - self.over(node.last)) * self.factor(node))
        if not node.moves:
            return self.start(node) + int((self.over(node) - self.begin(node)) * self.factor(node))
        others = self.waited_for(node)
        begun = max([self.start(node), *map(self.start, others)])
        came = max([self.begin(node), *map(self.begin, others)])
        transfer = int((self.over(node) - came) * (self.factor(node) / self.bandwidth)) + self.latency
        return begun + max(transfer, 0)

    def steps(self) -> dict[str, tuple[int, int]]:
        """Measured and replayed time by name, over all ranks, including kernels below."""
        found: dict[str, list[tuple[int, int, int, int]]] = {}
        for node in (node for nodes in self.ranks for node in nodes):
            step: Node | None = node
            while step is not None and not step.name.startswith("ProfilerStep#"):
                step = step.parent
            if step is not None and (step is node or node.gpu):
                times = self.begin(node), self.over(node), self.start(node), self.end(node)
                found.setdefault(step.name, []).append(times)
        rows = {name: list(zip(*times, strict=True)) for name, times in found.items()}
        return {
            name: (max(over) - min(begin), max(end) - min(start)) for name, (begin, over, start, end) in rows.items()
        }

    def whole(self) -> tuple[int, int]:
        """Measured and replayed time from the first start to the last end."""
        nodes = [node for nodes in self.ranks for node in nodes if self.begin(node) > 0]
        begin = min(map(self.begin, nodes))
        work = [node for node in nodes if not node.root]
        return max(map(self.over, nodes)) - begin, max(map(self.end, work)) - begin


def replayed(
    paths: list[Path], scales: dict[str, float], bandwidth: float = 1, latency: int = 0
) -> tuple[tuple[int, int], dict[str, tuple[int, int]]]:
    """``whole`` and ``steps``, on a thread with enough stack for one call per node."""
    found: list[Any] = []

    def work() -> None:
        replay = Replay(paths, scales, bandwidth, latency)
        found.extend((replay.whole(), replay.steps()))

    before = sys.getrecursionlimit(), threading.stack_size(1 << 29)
    sys.setrecursionlimit(1_000_000)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    sys.setrecursionlimit(before[0])
    threading.stack_size(before[1])
    whole, steps = found
    return whole, steps
