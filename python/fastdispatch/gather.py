"""The ``gather`` option: recordings of all ranks in rank 0's run directory."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from fastdispatch import files
from fastdispatch.trace import load


def gather_recordings(distributed: ModuleType, path: Path | None, run: str) -> None:
    """Send this rank's finished file to rank 0, which stores those it has not got. Collective: every rank calls it,
    also one without a file."""
    recordings = _collect(distributed, path)
    sides = _collect(distributed, files.side(path) if path else None)
    for other, content in recordings.items():
        if path is not None and other != 0:
            _store(path.with_name(files.recording_name(other)), content, sides.get(other), run)


def _collect(distributed: ModuleType, path: Path | None) -> dict[int, bytes]:
    """On rank 0 the files of the ranks that have one, elsewhere nothing. Collective."""
    import torch

    rank, world = distributed.get_rank(), distributed.get_world_size()
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    there = path is not None and path.exists()
    content = torch.frombuffer(bytearray(path.read_bytes() if path and there else b"\0"), dtype=torch.uint8).to(device)
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


def _store(target: Path, content: bytes, side: bytes | None, run: str) -> None:
    if target.exists():  # the ranks share a disk
        return
    if side is not None:
        files.side(target).write_bytes(side)
    target.write_bytes(content)
    sent = load(target).ranks[0]
    with files.locked(target.parent):
        files.register(target, sent["rank"], sent["world"], run, sent["meta"].get("host"), sent["pid"])
