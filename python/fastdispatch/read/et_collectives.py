"""The communication of nodes: for each communication, the innermost node that describes it, with its group, size and
peers."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from fastdispatch._core import ExecutionTrace

#: Chakra's types of nodes, and numbers of collectives by names: a name precedes the names that it contains.
_METADATA, _COMP, _SEND, _RECV, _COLL, _BARRIER = 1, 4, 5, 6, 7, 9
_KINDS = {
    **{b"reducescatterblock": (_COLL, 8), b"reducescatter": (_COLL, 7), b"allreduce": (_COLL, 0)},
    **{b"allgather": (_COLL, 2), b"alltoall": (_COLL, 6), b"broadcast": (_COLL, 5), b"barrier": (_COLL, _BARRIER)},
    **{b"scatter": (_COLL, 4), b"gather": (_COLL, 3), b"reduce": (_COLL, 1), b"sendrecv": (_COLL, -1)},
    **{b"send": (_SEND, -1), b"recv": (_RECV, -1), b"receive": (_RECV, -1)},
}
_GPU, _PROCESS, _WRITTEN = 1, 8, 32
#: Levels of the nodes of a communication: a call (c10d::...), record_param_comms, the work of a backend, a kernel.
_CALL, _PARAMS, _WORK, _KERNEL = 1, 2, 3, 4
_BACKENDS = ("gloo:", "nccl:", "ucc:", "mpi:", "xccl:", "hccl:")
#: Positions of the rank among the arguments of calls.
_RANKS = {
    **{"c10d::send": 2, "c10d::recv_": 2, "c10d::broadcast_": 2},
    **{"c10d::reduce_": 3, "c10d::gather_": 3, "c10d::scatter_": 3},
}
#: Maximum distance of a communication from its call: in levels, and in nodes before the work.
_LEVELS, _FARTHEST = 8, 4096
_CACHED = 1 << 14
_NAME_BYTES, _GROUP_BYTES, _MOST_32, _MOST_64 = 127, 256, (1 << 31) - 1, (1 << 63) - 1
#: A string, or the numbers of a tensor: id, storage, offset, elements, bytes per element.
_TENSOR = re.compile(r'"(?:[^"\\]|\\.)*"|\[' + "([0-9]+)," * 5 + '(?=")')
_scan = json.JSONDecoder().raw_decode

#: A node, the reference of the call that started it (0: none), its type, and for communication: group, dtype, Chakra's
#: number of the collective, source, destination, tag and bytes; -1: unknown.
DescribedNode = tuple[int, int, int, str, str, int, int, int, int, int]


@dataclass
class _Comm:
    type: int
    group: str = ""
    dtype: str = ""
    collective: int = -1
    source: int = -1
    destination: int = -1
    tag: int = -1
    bytes: int = -1

    def set_peer(self, peer: int) -> None:
        if self.type == _SEND:
            self.destination = peer if self.destination < 0 else self.destination
        else:
            self.source = peer if self.source < 0 else self.source


def described(trace: ExecutionTrace) -> list[DescribedNode]:
    """Return the nodes of a trace that communicate or describe the process. Nodes of .et files state it themselves."""
    return [*_Finding(trace).all()]


@lru_cache(_CACHED)
def kind_of(name: str) -> tuple[int, int]:
    """Return the type of a call and Chakra's number of its collective by its name."""
    plain = name.encode().replace(b"_", b"").lower()[:_NAME_BYTES]
    return next((kind for text, kind in _KINDS.items() if text in plain), (_COMP, -1))


@lru_cache(_CACHED)
def level_of(name: str, gpu: bool = False) -> int:
    if gpu:
        return _KERNEL if name.startswith("nccl") or re.search("nccl(Dev)?Kernel|ncclSymk|rccl", name) else 0
    if name.startswith(_BACKENDS):
        return _WORK
    return (
        _PARAMS if name == "record_param_comms" else _CALL if name.startswith(("c10d::", "_c10d_functional::")) else 0
    )


def _items(text: str) -> list[str]:
    """Return the values of a list in JSON without white space, as they are spelled."""
    found, at = [], 1
    try:
        while text[0] == "[" and text[at] != "]":
            end = _scan(text, at)[1]
            found.append(text[at:end])
            at = end + (text[end] == ",")
    except (IndexError, ValueError, RecursionError):
        pass
    return found


def _number(items: list[str], at: int) -> int:
    """Return a small number of a list; -1 for any other value."""
    text = items[at] if at < len(items) else ""
    number = int(text) if len(text) <= 10 and text.isascii() and text.isdigit() else -1
    return number if number <= _MOST_32 else -1


def _inside(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == '"' else text


class _Finding:
    def __init__(self, trace: ExecutionTrace) -> None:
        self.text, self.item_size = cache(trace.text), trace.item_size
        nodes, self.attrs, self.comms = (trace.columns(table) for table in ("nodes", "attrs", "comms"))
        self.nodes, self.parents, self.flags = nodes, nodes["parent"], nodes["flags"]
        names = {number: trace.text(number).partition("\0")[0] for number in {*nodes["name"]}}
        self.names = [names[number] for number in nodes["name"]]
        groups = trace.columns("groups")
        self.groups = {group: _items(ranks) for group, ranks in zip(groups["name"], groups["ranks"], strict=True)}
        #: By node: the level that it may describe, and the highest level that it contains.
        self.levels, self.claims = bytearray(len(self.names)), bytearray(len(self.names))

    def all(self) -> Iterator[DescribedNode]:
        for node, (name, flags) in enumerate(zip(self.names, self.flags, strict=True)):
            if not flags & _WRITTEN:
                self.levels[node] = level_of(name, bool(flags & _GPU))
                if flags & _PROCESS or "process_group:init" in name:
                    yield (node, 0, _METADATA, "", "", -1, -1, -1, -1, -1)
        # From kernels down, so that every communication is counted once.
        for level in (_KERNEL, _WORK, _PARAMS, _CALL):
            node = -1
            while (node := self.levels.find(level, node + 1)) >= 0:
                if not any(self.claims[each] > level for each in self._around(node)):
                    yield self._describe(node, level)

    def _describe(self, node: int, level: int) -> DescribedNode:
        call = self._starter(node) if level == _WORK else -1
        made = self._comm(node, call)
        self._claim(node, call, level)
        if call >= 0:
            self._claim(call, -1, level)
        numbers = (made.collective, made.source, made.destination, made.tag, made.bytes)
        return (node, call + 1, made.type, made.group, made.dtype, *numbers)

    def _outer(self, node: int) -> int:
        """Return the communication call around a node; -1: no call. The parent of a call in PyTorch is any open call of
        its thread, even the previous one."""
        outer = self.parents[node] - 1
        if outer < 0 or not level_of(self.names[outer]):
            return -1
        apart = self.names[node].startswith("c10d::") and self.names[outer].startswith("c10d::")
        return -1 if apart else outer

    def _around(self, node: int, most: int = _LEVELS) -> Iterator[int]:
        """Yield a node and the communication calls around it."""
        for _ in range(most):
            if node < 0:
                return
            yield node
            node = self._outer(node)

    def _is_around(self, call: int, node: int) -> bool:
        return call in self._around(node, _LEVELS + 1)

    def _claim(self, node: int, call: int, level: int) -> None:
        """Mark a communication as described by its innermost node, not by the calls around it up to ``call``."""
        for each in self._around(node):
            self.levels[each], self.claims[each] = 0, max(level, self.claims[each])
            if call >= 0 and not self._is_around(call, each):
                return

    def _starter(self, node: int) -> int:
        """Return the call that started work: the last earlier one with the same kind and tensors and without work, else
        the enclosing call; -1: no call."""
        outer = [each for each in self._around(node, _LEVELS + 1) if each != node]
        around = next((each for each in outer if level_of(self.names[each]) == _CALL), -1)
        kind, low, at = kind_of(self.names[node]), max(node - _FARTHEST, 0), node
        storage = next((tensor[1] for tensor in self._tensors(node)), None)
        while (at := max(self.levels.rfind(_CALL, low, at), around if low <= around < at else -1)) >= 0:
            # The operands of a call include receive buffers as well as send buffers.
            if kind_of(self.names[at]) == kind and (
                storage is None or any(tensor[1] == storage for tensor in self._tensors(at))
            ):
                return at
        return around

    def _tensors(self, node: int) -> Iterator[list[int]]:
        for match in _TENSOR.finditer(self.text(self.nodes["in_values"][node])):
            if match[1]:
                tensor = [int(number[:21]) for number in match.groups()]
                if max(tensor) < 1 << 64:
                    yield tensor

    def _attributes(self, node: int, name: str) -> list[int]:
        first = self.nodes["attrs"][node]
        own = range(first, first + self.nodes["attr_count"][node])
        return [at for at in own if self.text(self.attrs["name"][at]) == name]

    def _attribute(self, node: int, name: str) -> str:
        """Return the first text that is not empty."""
        return next(filter(None, (self.text(self.attrs["text"][at]) for at in self._attributes(node, name))), "")

    def _kind(self, node: int) -> tuple[int, int]:
        """Return the type of a communication and its collective: by its own name, otherwise by the names of the nodes
        around it; a kernel of sends and receives has the kind of its call."""
        type = _COMP
        for _ in range(_LEVELS):
            stated = self._attributes(node, "collective_name")[:1]
            found, number = kind_of("".join(self.text(self.attrs["text"][at]) for at in stated))
            if found == _COMP:
                found, number = kind_of(self.names[node])
            # The first node that states a kind is used; "SendRecv" states none.
            if found in (_SEND, _RECV) or number >= 0:
                return found, number
            type = found if found != _COMP else type
            node = self.parents[node] - 1
            if node < 0 or not level_of(self.names[node]):
                break
        return type, -1

    def _comm(self, node: int, call: int) -> _Comm:
        """Collect the facts about a communication from its node and the calls around it, up to the call that started
        it."""
        type, number = self._kind(node)
        made, known = _Comm(type, collective=number), self.nodes["comm"][node] - 1
        if type == _COMP:
            return made
        if known >= 0:
            made.group, made.dtype = (self.text(self.comms[name][known]) for name in ("group", "dtype"))
            made.source, made.destination = self.comms["src"][known], self.comms["dst"][known]
            made.tag, made.bytes = self.comms["tag"][known], self.comms["bytes"][known]
        around = call < 0 or self._is_around(call, node)
        for each in self._around(node, _LEVELS + 1) if around else (node, call):
            self._read(each, made)
            if each == call:
                break
        if not made.group and len(self.groups) == 1:
            made.group = next(iter(self.groups))
        ranks = self.groups.get(made.group, [])
        if type == _SEND and made.destination >= 0:
            made.destination = rank if (rank := _number(ranks, made.destination)) >= 0 else made.destination
        if type == _RECV and made.source >= 0:
            made.source = rank if (rank := _number(ranks, made.source)) >= 0 else made.source
        return made

    def _read(self, node: int, made: _Comm) -> None:
        """Read the facts of a communication from its node or a node around it."""
        self._read_attributes(node, made)
        values = _items(self.text(self.nodes["in_values"][node]))
        if self.names[node] == "record_param_comms":
            self._read_params(node, values, made)
        at = _RANKS.get(self.names[node], 0)
        peer, tag = _number(values, at), _number(values, at + 1)
        if at and peer >= 0:
            made.set_peer(peer)
            made.tag = tag if made.type != _COLL and made.tag < 0 else made.tag
        # The device of a barrier follows from its operands.
        if made.bytes < 0 and made.collective != _BARRIER:
            sizes = [tensor[3] * tensor[4] for tensor in self._tensors(node)]
            made.bytes = sum(sizes) if sizes and sum(sizes) <= _MOST_64 else -1

    def _read_attributes(self, node: int, made: _Comm) -> None:
        made.group = made.group or self._attribute(node, "pg_name")
        made.dtype = made.dtype or self._attribute(node, "dtype")
        for at in self._attributes(node, "in_msg_nelems")[:1]:
            elements, item = self.attrs["number"][at], self.item_size(made.dtype)
            if made.bytes < 0 and self.attrs["text"][at] == 0 and item and elements < _MOST_64 // 64:
                made.bytes = elements * item

    def _read_params(self, node: int, values: list[str], made: _Comm) -> None:
        """Read the arguments of record_param_comms: (tensors,) seq, (group, description), rank, name, ...; positions
        are counted from the group."""
        types = _items(self.text(self.nodes["in_types"][node]))
        for at in range(min(len(types), len(values))):
            pair = _items(values[at])
            if _inside(types[at]) != "Tuple[String,String]" or not pair:
                continue
            peer, name = _number(values, at + 1), _inside(pair[0])
            if peer >= 0 and made.type != _COLL:
                made.set_peer(peer)
            if not made.group and len(name.encode()) < _GROUP_BYTES:
                made.group = name
                return
