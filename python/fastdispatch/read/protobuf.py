"""Messages of protobuf, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_NUMBER, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


def number(field: int, value: int) -> bytes:
    return varint(field << 3 | _NUMBER) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little")


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def packed(field: int, values: Iterable[int]) -> bytes:
    return message(field, b"".join(map(varint, values)))


def varint(value: int) -> bytes:
    """Return an unsigned number of protobuf; negative ones have 64 bits."""
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field: an integer, or the bytes of a text or message. Raises ValueError for
    malformed content."""
    at = 0
    while at < len(content):
        tag, at = _read_varint(content, at)
        wire = tag & 7
        if wire == _NUMBER:
            value, at = _read_varint(content, at)
            yield tag >> 3, value
            continue
        size = _FIXED_SIZES.get(wire)
        if wire == _BYTES:
            size, at = _read_varint(content, at)
        if size is None or at + size > len(content):
            raise ValueError(f"malformed field at byte {at}")
        part, at = content[at : at + size], at + size
        yield tag >> 3, part if wire == _BYTES else int.from_bytes(part, "little")


def unpacked(value: int | bytes) -> Iterator[int]:
    """Yield the numbers of a repeated field, which may be packed."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        each, at = _read_varint(value, at)
        yield each


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
    raise ValueError(f"malformed number at byte {at}")
