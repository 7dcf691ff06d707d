"""Facts about a timeline from the members beside its events: program, rank, host, time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fastdispatch.read.clock_maps import MOST

#: Members that only one program writes.
_PROGRAMS = {
    "recordings": "fastdispatch",
    "paddle": "Paddle",
    "deviceProperties": "torch.profiler",
    "trace_id": "torch.profiler",
    "traceName": "torch.profiler",
    "viztracer_metadata": "VizTracer",
}
_RANKS, _FILES, _NAME, _HOST = 1 << 21, (1 << 32) - 1, 95, 63
_DECIMAL = re.compile(r"(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}")


def member_facts(members: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read names and values that end with a NUL. Return program ("": unknown), node and coordinates (bytes, as inside a
    JSON string), merged (number of files of a merge), has_rank, world (0: unknown) and unread (a member with an unknown
    value, or None); and what is known about the clock: rank, base, host and ``clock``."""
    facts = {"program": "", "node": b"", "coordinates": b"", "merged": 0, "has_rank": False, "world": 0, "unread": None}
    clock = {"rank": 0, "base": None, "host": b"", "clock": b"", "boot": None, "boottime": 0}

    def take_rank(value: Any) -> None:
        rank = whole(value, _RANKS - 1)
        facts["has_rank"], clock["rank"] = rank is not None, rank or 0
        facts["unread"] = "rank" if rank is None else facts["unread"]

    for key, text in _pairs(members):
        value = _parsed(text)
        inner = value if isinstance(value, dict) else {}
        facts["program"] = _PROGRAMS.get(key, facts["program"])
        if key == "mergedFiles" and text.isdigit() and int(text) <= _FILES:
            facts["merged"] = int(text)
        elif key == "baseTimeNanoseconds":
            clock["base"] = whole(value)
            facts["unread"] = key if clock["base"] is None else facts["unread"]
        elif key == "viztracer_metadata" and clock["base"] is None:
            clock["base"] = whole(inner.get("baseTimeNanoseconds"))
        elif key in ("host_name", "hostname"):
            facts["node"] = words(value)
            clock["host"] = _bytes(value, _HOST) if key == "host_name" and isinstance(value, str) else clock["host"]
        elif key == "coordinates":
            facts["coordinates"] = words(value)
        elif key == "rank" and not facts["has_rank"]:
            take_rank(value)
        elif key == "clock" and inner:
            clock["clock"] = text
        elif key == "distributedInfo":
            facts["world"] = whole(inner.get("world_size"), _RANKS) or 0
            if "rank" in inner:
                take_rank(inner["rank"])
            if "coordinates" in inner:
                facts["coordinates"] = words(inner["coordinates"])
    return facts, clock


def _pairs(members: bytes) -> Iterator[tuple[str, bytes]]:
    parts = members.split(b"\0")
    yield from zip(map(bytes.decode, parts[::2]), parts[1::2], strict=False)


def _parsed(text: bytes) -> Any:
    """Parse JSON; numbers stay texts. None for other text."""
    try:
        decoded = text.decode("utf-8", "surrogateescape")
        return json.loads(decoded, parse_int=str, parse_float=str, parse_constant=str, strict=False)
    except (ValueError, RecursionError):
        return None


def whole(value: Any, most: int = MOST) -> int | None:
    """Return a number that is whole, not negative and at most ``most``, as 8, "8", "0x8", 8.0 or 8e0; else None."""
    text = value if isinstance(value, str) else ""
    if _HEX.fullmatch(text):
        number = int(text, 16)
    elif found := _DECIMAL.fullmatch(text):
        digits, places, exponent = found[1], (found[2] or "").rstrip("0"), int(found[3] or 0)
        if len(digits) + len(places) > _NAME:
            return None
        number, rest = divmod(int(digits + places) * 10 ** max(exponent, 0), 10 ** (len(places) + max(-exponent, 0)))
        if rest:
            return None
    else:
        return None
    return number if number <= most else None


def words(value: Any) -> bytes:
    """Return a name, or the members of an object as ``pipe 1, data 0``; empty if it is too long or has escapes."""
    parts = [f"{name} {_word(each)}" for name, each in value.items()] if isinstance(value, dict) else [_word(value)]
    text = ", ".join(parts)
    return _bytes(text, _NAME) if json.dumps(text, ensure_ascii=False)[1:-1] == text else b""


def _word(value: Any) -> str:
    return value if isinstance(value, str) else "\0" if isinstance(value, dict | list) else json.dumps(value)


def _bytes(text: str, most: int) -> bytes:
    made = text.encode("utf-8", "surrogateescape")
    return made if len(made) <= most else b""
