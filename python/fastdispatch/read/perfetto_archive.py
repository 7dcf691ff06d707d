"""A TAR of one native timeline per rank, with the manifest that places them on one clock (docs/formats/timeline.md)."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from typing import Any

from fastdispatch.read.trace import Trace

#: Drifts are ps per s.
_DRIFTS = 10**12


def perfetto_archive(trace: Trace, ranks: Iterable[int] | None = None, *, flows: bool = True) -> bytes:
    """Return the archive of the ranks with these numbers (None: all) of a trace loaded with ``timeline=True``. Raises
    Error for a missing rank."""
    indexes = range(len(trace.ranks)) if ranks is None else [trace.index(rank) for rank in ranks]
    manifest = json.dumps(_manifest(trace, list(indexes)), indent=1).encode()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, "perfetto_manifest.json", manifest)
        for index in indexes:
            number = trace.ranks[index]["rank"]
            _add(archive, _name(number), trace.export("perfetto", rank=number, flows=flows))
    return content.getvalue()


def _name(rank: int) -> str:
    return f"rank{rank:05}.pftrace"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _manifest(trace: Trace, indexes: list[int]) -> dict[str, Any]:
    """Return the manifest: a machine per host, and the offset and its bound of each rank on another host than the
    first."""
    clocks = trace.core.clocks()
    first = trace.ranks[indexes[0]]
    files: list[dict[str, Any]] = []
    attributes: dict[str, str | int] = {"fastdispatch.run_id": str(first["meta"].get("run_id", ""))}
    for index in indexes:
        rank = trace.ranks[index]
        entry: dict[str, Any] = {"path": _name(rank["rank"]), "machine": {"name": _machine(trace, rank)}}
        if rank["boot_id"] != first["boot_id"]:
            entry["clocks"] = {
                "clock": "BOOTTIME",
                "sync_to": {"file": _name(first["rank"]), "clock": "BOOTTIME"},
                "offset_ns": _shift(rank, clocks[index]) - _shift(first, clocks[indexes[0]]),
            }
            attributes |= _bounds(rank, clocks[index])
        files.append(entry)
    return {
        "perfetto_manifest": {
            "version": 1,
            "trace_time": {"clock": "BOOTTIME", "file": _name(first["rank"])},
            "files": files,
            "attributes": attributes,
        }
    }


def _machine(trace: Trace, rank: dict[str, Any]) -> str:
    """Return the name of a host, with a part of its boot id if another host has the same name."""
    host = str(rank["meta"].get("host") or "host")
    boots = {each["boot_id"] for each in trace.ranks if (each["meta"].get("host") or "host") == host}
    return host if len(boots) == 1 else f"{host} {rank['boot_id'][:8]}"


def _shift(rank: dict[str, Any], clock: dict[str, Any]) -> int:
    """Return the nanoseconds from BOOTTIME of a rank to the common clock, in the middle of its recording."""
    drifted = (rank["recorded"] // 2 - clock["at_ns"]) * clock["drift_ppt"] // _DRIFTS
    return int(clock["offset_ns"] + drifted - rank["start_monotonic"])


def _bounds(rank: dict[str, Any], clock: dict[str, Any]) -> dict[str, str | int]:
    """Return the attributes of a rank: the method of its clock, and the largest error of the fixed offset."""
    name = f"fastdispatch.rank{rank['rank']}"
    bounds: dict[str, str | int] = {f"{name}.align": clock["method"]}
    if clock["uncertainty_ns"] is not None:
        drifted = rank["recorded"] // 2 * abs(clock["drift_ppt"]) // _DRIFTS
        bounds[f"{name}.uncertainty_ns"] = int(clock["uncertainty_ns"] + drifted)
    return bounds
