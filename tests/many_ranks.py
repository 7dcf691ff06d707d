"""Recordings of many ranks, made from one: another rank, id and run, and other times (docs/formats/recording.md)."""

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fastdispatch import Trace
from fastdispatch.dataset.run_loading import load_run
from fastdispatch.dataset.write_dataset import write_dataset

RANK, ID, RECORDED, SELF, CALLS = 88, 32, 192, 32, 16
_FIRST_CHUNK, _CONTEXTS, _SNAPSHOTS, _FIGURES = 4096, 4, 17, 18
_UNIT = 64  # of the ids of records


def _records(content: bytes | bytearray, kind: int) -> Iterator[int]:
    """Yield the offset of each record in chunks of this kind."""
    at, end = _FIRST_CHUNK, min(struct.unpack_from("<Q", content, 16)[0], len(content))
    while at < end:
        size, found, record, _, used = struct.unpack_from("<QIIII", content, at + 16)
        if found == kind:
            yield from range(at + 64, at + 64 + used * record, record)
        at += size


def contexts(content: bytes | bytearray) -> Iterator[int]:
    """Yield the offset of each context."""
    return _records(content, _CONTEXTS)


def with_calls(content: bytes | bytearray, calls: int) -> list[int]:
    """Return the offsets of the contexts with this number of calls."""
    return [at for at in contexts(content) if struct.unpack_from("<Q", content, at + CALLS)[0] == calls]


def scaled(content: bytes, rank: int, world: int, factor: float) -> bytearray:
    """Return the recording of another rank: ``self`` of every context is multiplied by ``factor``."""
    made = bytearray(content)
    struct.pack_into("<II", made, RANK, rank, world)
    made[ID : ID + 16] = random.Random(rank).randbytes(16)
    for at in contexts(made):
        struct.pack_into("<Q", made, at + SELF, round(struct.unpack_from("<Q", made, at + SELF)[0] * factor))
    return made


def paced(content: bytes, steps: Sequence[int]) -> bytes:
    """Return the recording with these times of its steps, in any unit, and an equal share of the time of each context
    in every step."""
    made = bytearray(content)
    (recorded,) = struct.unpack_from("<Q", made, RECORDED)
    figures, first = list(_records(made, _FIGURES)), 0
    for at in _records(made, _SNAPSHOTS):
        number, end = (struct.unpack_from("<Q", made, at + field)[0] for field in (8, 32))
        struct.pack_into("<Q", made, at + 24, recorded * sum(steps[:number]) // sum(steps))
        for figure in figures[first:end]:
            (context,) = struct.unpack_from("<I", made, figure)
            (own,) = struct.unpack_from("<Q", made, context * _UNIT + SELF)
            struct.pack_into("<Q", made, figure + 24, own * number // len(steps))
        first = max(first, end)
    return bytes(made)


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


def any_grouping(groupings: Sequence[Sequence[Sequence[Path]]], folder: Path, steps: Any = None) -> Path:
    """Return the dump of the sum of the ranks, which is the same for all groupings."""
    path, texts = folder / "made.json", set()
    for number, groups in enumerate(groupings):
        summed(groups, folder / f"{number}.parquet", steps).dump(path)
        texts.add(path.read_bytes())
    assert len(texts) == 1
    return path
