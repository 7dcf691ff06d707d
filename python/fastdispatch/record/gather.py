"""The ``gather`` option: recordings of all ranks in rank 0's run directory."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from fastdispatch._core import Error
from fastdispatch.read.trace import load
from fastdispatch.record import files
from fastdispatch.record.environment import torch_distributed


def gather_finished(place: files.Place | None, run: str) -> None:
    """Send the finished recording over torch.distributed, if that is initialised; warn if it fails."""
    distributed = torch_distributed()
    if distributed is None:
        return
    try:
        gather_recordings(distributed, place, run)
    except (RuntimeError, Error) as error:
        warnings.warn(f"fastdispatch: the recordings were not gathered: {error}", RuntimeWarning, stacklevel=4)


def gather_recordings(distributed: ModuleType, place: files.Place | None, run: str) -> None:
    """Send this rank's finished file to rank 0, which stores missing ones. Collective: every rank calls it, even
    without a file."""
    recordings = _collect(distributed, _content(place, ""))
    sides = _collect(distributed, _content(place, files.SIDE))
    for other, content in recordings.items():
        if place is not None and other != 0:
            _store(place, other, content, sides.get(other), run)


def _content(place: files.Place | None, ending: str) -> bytes | None:
    return place.folder.read(place.name + ending, 1 << 62) if place is not None else None


def _collect(distributed: ModuleType, own: bytes | None) -> dict[int, bytes]:
    """Return on rank 0 the contents of all files, on other ranks nothing. Collective."""
    import torch

    rank, world = distributed.get_rank(), distributed.get_world_size()
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    content = torch.frombuffer(bytearray(own or b"\0"), dtype=torch.uint8).to(device)
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(world)]
    distributed.all_gather(sizes, torch.tensor([content.numel()], device=device))
    largest = int(max(size.item() for size in sizes))
    padded = torch.zeros(largest, dtype=torch.uint8, device=device)
    padded[: content.numel()] = content
    received = [torch.empty_like(padded) for _ in range(world)] if rank == 0 else None
    distributed.gather(padded, received, dst=0)
    lengths = [int(size.item()) for size in sizes]
    return {
        other: data[: lengths[other]].cpu().numpy().tobytes()
        for other, data in enumerate(received or [])
        if lengths[other] > 1
    }


def _store(place: files.Place, rank: int, content: bytes, side: bytes | None, run: str) -> None:
    """Store a recording unless it exists: ranks may share a disk. It replaces that of a previous run."""
    folder, name = place.folder, files.recording_name(rank)
    with files.locked(folder, best_effort=True):
        here = [name, *(entry["file"] for entry in files.entries(Path(folder.path)))]
        if content[32:48] in (files.recording_id(folder, each) for each in here):
            return
        name = files.free_name(folder, rank, best_effort=True)
        arriving = f".{name}.arriving"
        try:
            if side is not None:
                folder.write(arriving + files.SIDE, side)
            folder.write(arriving, content)
            folder.move(arriving, folder, name)
        finally:
            folder.remove(arriving)
            folder.remove(arriving + files.SIDE)
        sent: dict[str, Any] = load(place.shown / name).ranks[0]
        writer = {"host": sent["meta"].get("host") or "", "pid": sent["pid"]}
        files.register(folder, name, sent["rank"], sent["world"], run, **writer)
