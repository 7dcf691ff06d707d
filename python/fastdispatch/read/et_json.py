"""PyTorch's JSON of execution traces, with the additions of its linker: times, kernels, synchronisation
(docs/formats/execution-trace.md)."""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from fastdispatch._core import ExecutionTrace

_SCHEMA = "1.1.1-chakra.0.0.4"
#: Flags of nodes: on the GPU, with times, from a .et file.
_GPU, _TIMED, _WRITTEN = 1, 2, 32
#: Members with the ids of other nodes, by kinds of dependencies. Readers derive the other kinds.
_WAITS = {"sync_dep": 16, "fd_event_dep": 8, "fd_given_dep": 128}
_WAITED = sum(_WAITS.values())
#: Fields of Chakra's AttributeProto.
_BOOL, _STRING = 27, 29
_VARINTS, _FIXED = {7, 9, 11, 13, 15, 17, _BOOL}, {3, 5, 19, 21, 23, 25}
#: Attributes that readers of the format require, if the node has others.
_REQUIRED = ("kernel_backend", "kernel_file")
_COLUMNS = (
    *("id", "parent_id", "parent", "name", "flags", "in_values", "in_shapes", "in_types", "in_strides"),
    *("out_values", "out_shapes", "out_types", "out_strides", "rf_id", "fw_parent", "seq", "scope", "tid"),
    *("fw_tid", "schema", "attrs", "attr_count", "thread"),
)
_LINKED = ("start_ns", "dur_ns", "self_ns", "category", "stream", "device", "comm")
#: Large numbers are written as negative ones.
_SIGNED = ("rf_id", "fw_parent", "thread")
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(32), 127)}
_ESCAPES |= str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"})
_KERNEL = '"kernel"'
_LINES_AT_ONCE, _CACHED = 1000, 1 << 13


def pytorch_json(trace: ExecutionTrace) -> Iterator[bytes]:
    """Yield the file of a complete trace piece by piece: one line per node."""
    head = {name: column[0] for name, column in trace.columns("head").items()}
    begin = {"schema": _SCHEMA, "pid": head["pid"], "time": head["time"], "start_ts": head["start_ts"]}
    yield '{{{},"nodes":['.format(",".join(f'"{key}":{_value(value)}' for key, value in begin.items())).encode()
    between, lines = "\n", _Nodes(trace).lines(cpu_only=head["unlinked"])
    while found := [*islice(lines, _LINES_AT_ONCE)]:
        yield (between + ",\n".join(found)).encode()
        between = ",\n"
    yield f'\n],"finish_ts":{head["finish_ts"]}}}\n'.encode()


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _value(value: str | int) -> str:
    return _quoted(value) if isinstance(value, str) else str(value)


def _micros(ns: int) -> str:
    """With three decimals, unless they are zeros."""
    whole, rest = divmod(abs(ns), 1000)
    return f"{'-' if ns < 0 else ''}{whole}{f'.{rest:03}' if rest else ''}"


def _attribute(name: str, kind: str, value: str | int) -> str:
    return f'{{"name":"{name}","type":"{kind}","value":{_value(value)}}}'


_ABSENT = {name: _attribute(name, "string", "") for name in _REQUIRED}


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _is_list(text: str) -> bool:
    """Return whether a text is a list in JSON, not in Python's spelling as in .et files of other programs."""
    try:
        return text[:1] == "[" and text[-1] == "]" and bool(json.loads(text, parse_constant=_refuse) or True)
    except (ValueError, RecursionError):
        return False


class _Nodes:
    def __init__(self, trace: ExecutionTrace) -> None:
        self.text = trace.text
        self.quoted = lru_cache(_CACHED)(lambda number: _quoted(trace.text(number)))
        self.nodes, attrs, self.comms = (trace.columns(name) for name in ("nodes", "attrs", "comms"))
        self.nodes |= {name: memoryview(self.nodes[name]).cast("B").cast("q") for name in _SIGNED}
        self.attrs = [*zip(*(attrs[name] for name in ("name", "field", "text", "number")), strict=True)]
        #: Lists are in JSON because they were read from JSON.
        self.trusted = not any(flags & _WRITTEN for flags in self.nodes["flags"][:1])
        self.waits: dict[int, list[tuple[int, int]]] = defaultdict(list)
        edges = trace.columns("edges")
        for start, end, kinds in zip(edges["from"], edges["to"], edges["kinds"], strict=True):
            if kinds & _WAITED:
                self.waits[end].append((kinds, self.nodes["id"][start]))

    def lines(self, cpu_only: bool) -> Iterator[str]:
        ids, quoted, listed = self.nodes["id"], self.quoted, lru_cache(_CACHED)(self._list)
        attributes = lru_cache(_CACHED)(self._attributes)
        columns = (self.nodes[name] for name in _COLUMNS)
        for at, (id, parent_id, parent, name, flags, *sides, first, count, thread) in enumerate(
            zip(*columns, strict=True)
        ):
            if cpu_only and flags & _GPU:
                continue
            values, shapes, types, strides, outputs, out_shapes, out_types, out_strides, *own = sides
            rf_id, fw_parent, seq, scope, tid, fw_tid, schema = own
            yield (
                f'{{"id":{id},"name":{quoted(name)},"ctrl_deps":{ids[parent - 1] if parent else parent_id},'
                f'"inputs":{{"values":{listed(values)},"shapes":{listed(shapes)},"types":{listed(types)},'
                f'"strides":{listed(strides)}}},"outputs":{{"values":{listed(outputs)},"shapes":{listed(out_shapes)},'
                f'"types":{listed(out_types)},"strides":{listed(out_strides)}}},'
                f'"attrs":[{{"name":"rf_id","type":"uint64","value":{rf_id}}},'
                f'{{"name":"fw_parent","type":"uint64","value":{fw_parent}}},'
                f'{{"name":"seq_id","type":"int64","value":{seq}}},{{"name":"scope","type":"uint64","value":{scope}}},'
                f'{{"name":"tid","type":"uint64","value":{tid}}},{{"name":"fw_tid","type":"uint64","value":{fw_tid}}},'
                f'{{"name":"op_schema","type":"string","value":{quoted(schema)}}},'
                f"{attributes(*self.attrs[first : first + count])}"
                f"{',' + _attribute('fd_thread', 'uint64', thread) if thread else ''}]"
                f"{self._linked(at, flags) if flags & (_TIMED | _GPU) else ''}"
                f"{self._waits(at) if at in self.waits else ''}}}"
            )

    def _list(self, number: int) -> str:
        text = self.text(number)
        return "[]" if number == 0 else text if self.trusted or _is_list(text) else f"[{_quoted(text)}]"

    def _attributes(self, *attrs: tuple[int, int, int, int]) -> str:
        absent, found = dict(_ABSENT), []
        for name, field, text, number in attrs:
            absent.pop(self.text(name), None)
            if field == _BOOL:
                kind, value = "bool", "true" if number else "false"
            elif field in _VARINTS:
                kind, value = "int64", str(number - (number >> 63 << 64))
            elif field in _FIXED:
                kind, value = "fixed", str(number)
            else:
                kind, value = "string", self.quoted(text if field == _STRING else 0)
            found.append(f'{{"name":{self.quoted(name)},"type":"{kind}","value":{value}}}')
        return ",".join((*found, *absent.values()))

    def _linked(self, at: int, flags: int) -> str:
        start, dur, own, category, stream, device, comm = (self.nodes[name][at] for name in _LINKED)
        made = ""
        if flags & _TIMED:
            made = f',"ts":{_micros(start)},"inclusive_dur":{_micros(dur)},"exclusive_dur":{_micros(own)}'
        if flags & _GPU:
            made += f',"ph":"X","cat":{self.quoted(category) if category else _KERNEL},"stream":{stream}'
            made += f',"fd_device":{device}' if device else ""
            group = self.comms["group"][comm - 1] if comm else 0
            made += f',"pg_name":{self.quoted(group)}' if group else ""
        return made

    def _waits(self, at: int) -> str:
        lists = {key: [id for kinds, id in self.waits[at] if kinds & kind] for key, kind in _WAITS.items()}
        return "".join(f',"{key}":[{",".join(map(str, ids))}]' for key, ids in lists.items() if ids)
