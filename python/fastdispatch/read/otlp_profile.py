"""Profiles of OpenTelemetry, ``opentelemetry.proto.profiles.v1development`` (docs/guides/export.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from fastdispatch.read.protobuf import fixed64, message, number, packed
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.version import __version__

#: Column of a call path, type and unit of its profile: names as in the export pprof.
_VALUES = (("self", "cpu", "nanoseconds"), ("calls", "calls", "count"))


def otlp_profile(trace: Trace, rank: int | None = None) -> bytes:
    """Return a ``ProfilesData`` message: per rank (default: all) a profile of self times and one of calls. Raises Error
    for a missing rank."""
    strings = _Strings()
    stacks: dict[tuple[int, ...], int] = {(): 0}
    indexes = range(len(trace.ranks)) if rank is None else [trace.index(rank)]
    resources = [
        message(1, _resource(trace.ranks[index], trace.core.contexts(index), strings, stacks)) for index in indexes
    ]
    tables = b"".join(
        [
            message(1, b""),
            *_locations(trace.nodes),
            *_functions(trace.nodes, strings),
            message(4, b""),
            *(message(5, text.encode()) for text in strings.texts),
            message(6, b""),
            *(message(7, packed(1, stack)) for stack in stacks),
        ]
    )
    return b"".join(resources) + message(2, tables)


class _Strings:
    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}

    def row(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def _functions(nodes: Columns, strings: _Strings) -> Iterator[bytes]:
    """Row 0 is empty, as of all tables; node i has row i + 1."""
    yield message(3, b"")
    for key, name, file, line in zip(nodes["key"], nodes["qualified"], nodes["file"], nodes["line"], strict=True):
        texts = [strings.row(name or key), strings.row(key), strings.row(file)]
        yield message(3, b"".join(number(index + 1, row) for index, row in enumerate(texts)) + number(4, line))


def _locations(nodes: Columns) -> Iterator[bytes]:
    yield message(2, b"")
    for row, line in enumerate(nodes["line"]):
        yield message(2, message(3, number(1, row + 1) + number(2, line)))


def _resource(rank: dict[str, Any], contexts: Columns, strings: _Strings, stacks: dict[tuple[int, ...], int]) -> bytes:
    """Return a ResourceProfiles: attributes of the process, and its profiles."""
    meta = rank["meta"]
    attributes = {
        "service.name": "fastdispatch",
        "host.name": str(meta.get("host") or ""),
        "process.pid": rank["pid"],
        "fastdispatch.rank": rank["rank"],
        "fastdispatch.world": rank["world"],
        "fastdispatch.run_id": str(meta.get("run_id") or ""),
    }
    resource = b"".join(message(1, _attribute(name, value)) for name, value in attributes.items())
    scope = message(1, b"fastdispatch") + message(2, __version__.encode())
    profiles = [message(2, _profile(rank, contexts, each, strings, stacks)) for each in _VALUES]
    return message(1, resource) + message(2, message(1, scope) + b"".join(profiles))


def _profile(
    rank: dict[str, Any],
    contexts: Columns,
    value: tuple[str, str, str],
    strings: _Strings,
    stacks: dict[tuple[int, ...], int],
) -> bytes:
    column, type_, unit = value
    samples = []
    for row, figure in enumerate(contexts[column]):
        if figure:
            stack = stacks.setdefault(tuple(_stack(contexts, row)), len(stacks))
            samples.append(message(2, number(1, stack) + packed(4, [figure])))
    identity = hashlib.sha256(f"{rank['id']} {rank['rank']} {type_}".encode()).digest()[:16]
    sample_type = number(1, strings.row(type_)) + number(2, strings.row(unit))
    span = fixed64(3, rank["start_realtime"]) + number(4, rank["recorded"])
    return message(1, sample_type) + b"".join(samples) + span + message(7, identity)


def _stack(contexts: Columns, row: int) -> Iterator[int]:
    """Yield the locations of a call path, the innermost first."""
    while row >= 0:
        yield contexts["node"][row] + 1
        row = contexts["parent"][row]


def _attribute(name: str, value: str | int) -> bytes:
    typed = message(1, value.encode()) if isinstance(value, str) else number(3, value)
    return message(1, name.encode()) + message(2, typed)
