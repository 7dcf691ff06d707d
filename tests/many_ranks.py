"""Recordings of many ranks, made from one: another rank, id and run, and times scaled (docs/formats/recording.md)."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fastdispatch import Trace
from fastdispatch.dataset.run_loading import load_run
from fastdispatch.dataset.write_dataset import write_dataset

RANK, ID, SELF, CALLS = 88, 32, 32, 16
_FIRST_CHUNK, _CONTEXTS, _RECORD = 4096, 4, 64


def contexts(content: bytes | bytearray) -> Iterator[int]:
    """Yield the offset of each context."""
    at, end = _FIRST_CHUNK, min(struct.unpack_from("<Q", content, 16)[0], len(content))
    while at < end:
        size, kind, _, _, used = struct.unpack_from("<QIIII", content, at + 16)
        if kind == _CONTEXTS:
            yield from range(at + 64, at + 64 + used * _RECORD, _RECORD)
        at += size


def scaled(content: bytes, rank: int, world: int, factor: float) -> bytearray:
    """Return the recording of another rank: ``self`` of every context is multiplied by ``factor``."""
    made = bytearray(content)
    struct.pack_into("<II", made, RANK, rank, world)
    made[ID : ID + 16] = random.Random(rank).randbytes(16)
    for at in contexts(made):
        struct.pack_into("<Q", made, at + SELF, round(struct.unpack_from("<Q", made, at + SELF)[0] * factor))
    return made


def write(sources: Path | Sequence[Path], folder: Path, ranks: int) -> list[Path]:
    """Write recordings of ``ranks`` ranks, of each source in turn, with up to 20 % more time outside of steps; return
    their paths by rank."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = [source.read_bytes() for source in ([sources] if isinstance(sources, Path) else sources)]
    paths = [folder / f"rank{rank:05d}.fd" for rank in range(ranks)]
    for rank, path in enumerate(paths):
        path.write_bytes(scaled(contents[rank % len(contents)], rank, ranks, random.Random(rank).uniform(1.0, 1.2)))
    return paths


def summed(groups: Sequence[Sequence[Path]], folder: Path, steps: Any = None) -> Trace:
    """Return the sum of the ranks in a new data set, to which groups of recordings are added one after the other."""
    for group in groups:
        write_dataset([str(path) for path in group], folder)
    return load_run(folder, steps=steps)
