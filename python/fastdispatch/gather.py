"""The ``gather`` option: recordings of all ranks in rank 0's run directory."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from fastdispatch import files


def gather_recordings(distributed: ModuleType, path: Path) -> None:
    """Send this rank's finished file to rank 0, which stores those it has not got. Collective: every rank calls it."""
    import torch

    rank, world = distributed.get_rank(), distributed.get_world_size()
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    content = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).to(device)
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(world)]
    distributed.all_gather(sizes, torch.tensor([content.numel()], device=device))
    largest = int(max(size.item() for size in sizes))
    padded = torch.zeros(largest, dtype=torch.uint8, device=device)
    padded[: content.numel()] = content
    received = [torch.empty_like(padded) for _ in range(world)] if rank == 0 else None
    distributed.gather(padded, received, dst=0)
    for other, data in enumerate(received or []):
        target = path.with_name(files.recording_name(other))
        if other != 0 and not target.exists():
            target.write_bytes(data[: int(sizes[other].item())].cpu().numpy().tobytes())
