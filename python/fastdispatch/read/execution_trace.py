"""Execution traces of PyTorch and Chakra: read, linked with Kineto traces, written and summarized. The C core reads,
links and writes them; this module computes their summaries and identities from their tables."""

from __future__ import annotations

import calendar
import gzip
import io
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fastdispatch._core import Error, ExecutionTrace
from fastdispatch.files.output import write
from fastdispatch.read.et_collectives import described
from fastdispatch.read.et_json import pytorch_json

#: Types of nodes by Chakra's numbers, kinds of dependencies by their bits, collectives by Chakra's numbers.
TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
KINDS = ("order", "launch", "stream", "event", "sync", "group", "data", "given")
COLLECTIVES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST"),
    *("ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
#: The first type of nodes that communicate, and the names of messages.
SEND = TYPES.index("COMM_SEND")
MESSAGES = {SEND: "SEND", SEND + 1: "RECV"}
ALL = (1 << len(KINDS)) - 1
#: Flags of nodes.
GPU, TIMED, THREAD, PROCESS, GUESSED = 1, 2, 4, 8, 16

_PYTORCH, _KINETO = "PyTorch execution trace", "Kineto trace"
_SECOND, _MOST = 10**9, (1 << 63) - 1
_DTYPE_BYTES = 63
#: Earlier times are counted from the boot of the machine.
_YEAR_2001 = 978307200 * _SECOND
#: Time zones differ from UTC by up to 14 hours.
_ZONES = 15 * 3600 * _SECOND

_TracePath = str | os.PathLike[str]


def row(trace: ExecutionTrace, table: str) -> dict[str, Any]:
    """Return the only row of a table."""
    return {name: column[0] for name, column in trace.columns(table).items()}


def rows(trace: ExecutionTrace, table: str) -> list[dict[str, Any]]:
    columns = trace.columns(table)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def texts_of(trace: ExecutionTrace, numbers: Iterable[int]) -> dict[int, str]:
    return {number: trace.text(number) for number in {*numbers}}


def opened(path: _TracePath) -> ExecutionTrace:
    """Return an execution trace that is not complete; raise Error for a Kineto trace."""
    trace = ExecutionTrace(path)
    if row(trace, "head")["format"] == _KINETO:
        raise Error(
            f"{os.fspath(path)}: a Kineto trace, not an execution trace: join it with the execution trace of its rank "
            "by fastdispatch et link"
        )
    return trace


def complete(trace: ExecutionTrace, edges: int = ALL, rank: int = -1) -> None:
    """Find communication, times, and the edges of these kinds."""
    trace.complete(edges, rank, described(trace))


def et_info(path: _TracePath, *, edges: int = ALL, rank: int = -1) -> dict[str, Any]:
    """Return the contents of an execution trace (``docs/reference/schemas/et-info.schema.json``). ``edges`` is a mask
    of :data:`KINDS`; ``rank`` is used if the file has none. Raises :class:`Error`."""
    trace = opened(path)
    complete(trace, edges, rank)
    return summary(trace)


def et_tables(path: _TracePath, *, edges: int = ALL, rank: int = -1) -> dict[str, Any]:
    """Return the same as :func:`et_info`, and ``tables``: the columns of nodes, comms and edges (``_core.pyi``), and
    texts: names by their numbers."""
    trace = opened(path)
    complete(trace, edges, rank)
    tables: dict[str, Any] = {name: trace.columns(name) for name in ("nodes", "comms", "edges")}
    texts = texts_of(trace, [*tables["nodes"]["name"], *tables["comms"]["group"]])
    return {**summary(trace), "tables": {**tables, "texts": texts}}


def save(trace: ExecutionTrace, path: _TracePath) -> None:
    """Write a complete trace in the format of the suffix: .et, .json, each also with .gz."""
    name = os.fspath(path)
    if not re.fullmatch(r".+\.json(\.gz)?", name, re.DOTALL):
        trace.save(path)
        return
    made = io.BytesIO()
    made.writelines(pytorch_json(trace))
    write(path, gzip.compress(made.getbuffer(), 1, mtime=0) if name.endswith(".gz") else made.getvalue())


def et_convert(path: _TracePath, output: _TracePath, *, edges: int = ALL, rank: int = -1) -> dict[str, Any]:
    """Convert an execution trace to the format of the suffix of ``output``: .et, .json, each also with .gz. Returns
    the same as :func:`et_info`. Raises :class:`Error` for other files and suffixes."""
    trace = opened(path)
    complete(trace, edges, rank)
    save(trace, output)
    return summary(trace)


def et_export(path: _TracePath, pytorch: _TracePath, chakra: _TracePath, *, edges: int = ALL) -> dict[str, Any]:
    """Write the operators of a recording of ``CallGraph(et=True)`` in both formats. Returns the same as
    :func:`et_info`. Raises :class:`Error`."""
    trace = ExecutionTrace(path, recording=True)
    complete(trace, edges)
    save(trace, pytorch)
    save(trace, chakra)
    return summary(trace)


def et_link(
    path: _TracePath, kineto: _TracePath, output: _TracePath, *, edges: int = ALL, rank: int = -1, force: bool = False
) -> dict[str, Any]:
    """Write PyTorch's execution trace with the times, threads, kernels and waits of a Kineto trace of the same rank.
    Returns the same as :func:`et_info`, and ``link``: numbers of operators that were linked, and that were not, by
    reason. Raises :class:`Error`, also for traces of different ranks, processes or times unless ``force`` is true."""
    from fastdispatch.read.kineto_link import link_kineto  # needs numpy

    trace = ExecutionTrace(path)
    form = row(trace, "head")["format"]
    if form != _PYTORCH:
        raise Error(f"{os.fspath(path)}: a {form}: give PyTorch's execution trace to link")
    own = _identity(trace)
    trace.read_kineto(kineto)
    other = _identity_of_kineto(trace)
    if not force and (difference := _difference(own, other)):
        raise Error(f"{os.fspath(kineto)}: a Kineto trace of {difference}")
    link = link_kineto(trace)
    complete(trace, edges, rank)
    save(trace, output)
    compared = bool(own.pid and other.pid) or None not in (own.rank, other.rank)
    return {**summary(trace), "link": {**link, **row(trace, "kineto"), "compared": compared}}


@dataclass
class Identity:
    """The rank, process and time of a trace, as far as it states them."""

    pid: int  #: 0: unknown
    rank: int | None
    begin_ns: int  #: since 1970, of an execution trace in an unknown time zone; 0: unknown
    end_ns: int
    #: If the rank is unknown: the ranks that are in all process groups; empty: unknown.
    members: list[int]


def et_identity(path: _TracePath) -> Identity:
    """Return the identity of an execution trace or a Kineto trace. Raises :class:`Error`."""
    trace = ExecutionTrace(path)
    if row(trace, "head")["format"] != _KINETO:
        return _identity(trace)
    trace.read_kineto(path)
    return _identity_of_kineto(trace)


def _identity(trace: ExecutionTrace) -> Identity:
    """A trace lists only the process groups that contain its rank, so the rank is the one that is in all of them."""
    head, groups = row(trace, "head"), rows(trace, "groups")
    rank = head["rank"] if head["rank"] is not None else _rank_of_collectives(trace, groups)
    begin, duration = _parsed_time(head["time"]), 10**6 * (head["finish_ts"] - head["start_ts"])
    end = min(begin + (duration if head["finished"] and 0 < duration < _MOST else 0), _MOST)
    lists = [[int(number) for number in re.findall("[0-9]+", group["ranks"])] for group in groups]
    members, *others = [ranks for ranks in lists if ranks] or [[]]
    members = [each for each in members if rank is None and all(each in ranks for ranks in others)]
    return Identity(head["pid"], members[0] if len(members) == 1 else rank, begin, end, members)


def _rank_of_collectives(trace: ExecutionTrace, groups: list[dict[str, Any]]) -> int | None:
    """Return the rank that a collective without a root or peer states: record_param_comms has the process group, a pair
    of texts, and then the rank in the group."""
    nodes, attrs = trace.columns("nodes"), trace.columns("attrs")
    texts = texts_of(trace, nodes["name"])
    for node, name in enumerate(nodes["name"]):
        if texts[name] != "record_param_comms":
            continue
        first = nodes["attrs"][node]
        own = range(first, first + nodes["attr_count"][node])
        kinds = [trace.text(attrs["text"][at]) for at in own if trace.text(attrs["name"][at]) == "collective_name"]
        kind = kinds[0].replace("_", "").lower() if kinds else ""
        if "reducescatterblock" in kind or not re.search("reducescatter|allreduce|allgather", kind):
            continue
        types, values = (_parsed_list(trace.text(nodes[column][node])) for column in ("in_types", "in_values"))
        at = types.index("Tuple[String,String]") if "Tuple[String,String]" in types else len(values)
        pair, member = [*values[at : at + 2], None, None][:2]
        if isinstance(pair, list) and pair and type(member) is int and member >= 0:
            ranks = next((_parsed_list(group["ranks"]) for group in groups if group["name"] == pair[0]), None)
            if ranks is not None and (not ranks or member < len(ranks)):
                return int(ranks[member]) if ranks else member
    return None


def _parsed_list(text: str) -> list[Any]:
    """Return a JSON list; an empty one for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _parsed_time(text: str) -> int:
    """Return ``2026-11-22 05:02:45`` as ns since 1970 in UTC, 0 for another text."""
    found = re.match(r"(\d{4})-(\d\d?)-(\d\d?) (\d\d?):(\d\d?):(\d\d?)", text)
    try:
        ns = calendar.timegm((*map(int, found.groups()), 0, 0, 0)) * _SECOND if found else 0
    except ValueError:
        return 0
    return ns if _YEAR_2001 < ns < _MOST else 0


def _identity_of_kineto(trace: ExecutionTrace) -> Identity:
    kineto = row(trace, "kineto")
    begin, end = (min(kineto["base_ns"] + kineto[name], _MOST) for name in ("begin_ns", "end_ns"))
    if not kineto["operators"] or begin <= _YEAR_2001:
        begin = end = 0
    return Identity(kineto["pid"], kineto["rank"], begin, end, [])


def _difference(et: Identity, kineto: Identity) -> str:
    """Return why the traces are of different ranks, processes or times. The profiler can start late in an execution
    trace of several hours."""
    trace = "but the execution trace is of"
    if kineto.rank is not None and et.rank is not None and et.rank != kineto.rank:
        return f"rank {kineto.rank}, {trace} rank {et.rank}"
    if kineto.rank is not None and et.rank is None and et.members and kineto.rank not in et.members:
        return f"rank {kineto.rank}, which is not in all process groups of the execution trace"
    if et.pid and kineto.pid and et.pid != kineto.pid:
        return f"process {kineto.pid}, {trace} process {et.pid}"
    late, early = kineto.end_ns < et.begin_ns - _ZONES, kineto.begin_ns > et.end_ns + _ZONES
    if et.begin_ns and kineto.begin_ns and (late or early):
        its, own = (time.strftime("%Y-%m-%d %H:%M", time.gmtime(each.begin_ns // _SECOND)) for each in (kineto, et))
        return f"{its} UTC, {trace} {own} local time"
    return ""


def summary(trace: ExecutionTrace) -> dict[str, Any]:
    """Return what ``et info`` prints about a complete trace."""
    nodes, kinds = trace.columns("nodes"), trace.columns("edges")["kinds"]
    texts = texts_of(trace, nodes["name"])
    operators = {number for number, text in texts.items() if _is_operator(text)}
    flags, counts, masks = nodes["flags"], Counter(nodes["type"]), Counter(kinds)
    hosts = [
        (name, schema)
        for flag, name, schema in zip(flags, nodes["name"], nodes["schema"], strict=True)
        if not flag & GPU
    ]
    head = row(trace, "head")
    return {
        **{name: head[name] for name in ("format", "rank", "world")},
        "nodes": len(flags),
        **{name: head[name] for name in ("schema", "finished")},
        "dependencies": len(kinds),
        "cpu": len(hosts),
        "gpu": len(flags) - len(hosts),
        "operators": sum(bool(schema) or name in operators for name, schema in hosts),
        **_lanes(nodes),
        **_times(nodes),
        "steps": sum(texts[name].startswith("ProfilerStep#") for name, _ in hosts),
        "types": {name: counts[number] for number, name in enumerate(TYPES) if counts[number]},
        "edges": {name: sum(masks[mask] for mask in masks if mask >> at & 1) for at, name in enumerate(KINDS)},
        "communication": _communication(nodes, trace.columns("comms")),
        "groups": rows(trace, "groups"),
        "faults": _faults(trace, nodes),
    }


def kind_names(kinds: int) -> list[str]:
    return [name for at, name in enumerate(KINDS) if kinds >> at & 1]


def _faults(trace: ExecutionTrace, nodes: dict[str, Any]) -> dict[str, Any]:
    cut = dict(zip(KINDS, trace.columns("cuts")["edges"], strict=True))
    cycle, sentence = row(trace, "cycle"), ""
    if cycle["kinds"]:
        names = (cycle[f"{end}_name"].encode()[:48].decode(errors="replace") for end in ("from", "to"))
        ends = (f"{cycle[end]} ({name})" for end, name in zip(("from", "to"), names, strict=True))
        sentence = f"of {', '.join(kind_names(cycle['kinds']))}; dropped the edge from {' to '.join(ends)}"
    return {**row(trace, "faults"), **_unknown_dtypes(trace, nodes), "cycle": sentence, "cut": cut}


def _unknown_dtypes(trace: ExecutionTrace, nodes: dict[str, Any]) -> dict[str, Any]:
    """Return the number of nodes with operands, results or messages of an unknown dtype, and the first such dtype."""
    dtypes = [0, *trace.columns("comms")["dtype"]]
    lists = texts_of(trace, [*nodes["in_types"], *nodes["out_types"]])
    listed = {number: re.findall(r"Tensor\((?!nullptr)([^)]+)", text) for number, text in lists.items()}
    stated = listed | {-number: [text] for number, text in texts_of(trace, dtypes).items() if text}
    unknown = {number: [name for name in names if not trace.item_size(name)] for number, names in stated.items()}
    first = {number: names[0] for number, names in unknown.items() if names}
    rows = zip(nodes["comm"], nodes["in_types"], nodes["out_types"], strict=True) if first else ()
    named = (first.get(-dtypes[comm]) or first.get(taken) or first.get(given) for comm, taken, given in rows)
    found = [name for name in named if name]
    name = "".join(found[:1]).encode()[:_DTYPE_BYTES].decode(errors="replace")
    return {"dtypes_unknown": len(found), "dtype": name}


def _is_operator(name: str) -> bool:
    """Whether a name is ``namespace::operator``, as ``aten::mm``; names of the autograd engine have more "::". Nodes of
    Kineto traces have no schema."""
    space, _, rest = name.partition("::")
    return bool(space) and "::" in name and "::" not in rest and not re.search("[ ()/<]", name)


def _lanes(nodes: dict[str, Any]) -> dict[str, int]:
    columns = (nodes[name] for name in ("flags", "device", "stream", "thread", "tid"))
    lanes = {
        (0, device, stream) if flag & GPU else (1, thread, 0) if thread else (2, tid, 0)
        for flag, device, stream, thread, tid in zip(*columns, strict=True)
        if not flag & PROCESS
    }
    streams = sum(not kind for kind, _, _ in lanes)
    return {"threads": len(lanes) - streams, "streams": streams}


def _times(nodes: dict[str, Any]) -> dict[str, int]:
    timed = [node for node, flag in enumerate(nodes["flags"]) if flag & TIMED]
    guessed = sum(bool(nodes["flags"][node] & GUESSED) for node in timed)
    start, duration = nodes["start_ns"], nodes["dur_ns"]
    return {
        "timed": len(timed) - guessed,
        "guessed": guessed,
        "begin_ns": min((start[node] for node in timed), default=0),
        "end_ns": max((min(start[node] + duration[node], _MOST) for node in timed), default=0),
    }


def _communication(nodes: dict[str, Any], comms: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return the number, bytes and time of each kind of collective, then of others and of messages."""
    found = {name: {"count": 0, "bytes": 0, "ns": 0} for name in (*COLLECTIVES, "OTHER", *MESSAGES.values())}
    for type, comm, ns in zip(nodes["type"], nodes["comm"], nodes["dur_ns"], strict=True):
        if type >= SEND:
            name = MESSAGES.get(type) or collective_name(comms["type"][comm - 1] if comm else -1) or "OTHER"
            found[name]["count"] += 1
            found[name]["bytes"] += max(comms["bytes"][comm - 1], 0) if comm else 0
            found[name]["ns"] += ns
    return {name: figures for name, figures in found.items() if figures["count"]}


def collective_name(number: int) -> str:
    """Return the name of a collective, "" if it is unknown."""
    return COLLECTIVES[number] if 0 <= number < len(COLLECTIVES) else ""
