"""Shared by the commands for execution traces: files, ranks, kinds of edges, warnings about damage."""

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from fastdispatch._core import Error
from fastdispatch.cli.timeline.timeline_merge import natural
from fastdispatch.files.output import write
from fastdispatch.files.regular import open_regular
from fastdispatch.page.graphviz import FORMS
from fastdispatch.read.execution_trace import ALL, KINDS
from fastdispatch.text.formats import counted, grouped

ENDINGS = (".et", ".et.gz", ".json", ".json.gz")
#: Formats for output only; Graphviz writes the last.
GRAPHS = (".graphml", ".graphml.gz")
DOT = (".dot", ".dot.gz")
PICTURES = tuple(FORMS)
#: Traces that are in memory at a time.
MOST_AT_ONCE = 4

Returned = TypeVar("Returned")


def add_edges(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--edges",
        type=parse_edges,
        default=ALL,
        metavar="LIST",
        help=f"use only these kinds of dependencies: {','.join(KINDS)}; -data: all except data",
    )


def add_layout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--layout",
        choices=("astra-sim",),
        help="also write comm_groups.json, the ranks of each process group, for --comm-group-configuration",
    )


def write_groups(folder: Path, rows: list[dict[str, Any]]) -> None:
    write(folder / "comm_groups.json", (json.dumps(groups_of(rows), indent=1) + "\n").encode())


def groups_of(rows: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Return the ranks of each process group by name; a group without a list of ranks has all."""
    groups: dict[str, list[int]] = {}
    for row in rows:
        for group in row["groups"]:
            ranks = [int(rank) for rank in re.findall(r"\d+", group["ranks"])]
            groups[group["name"]] = ranks or list(range(group["size"] or row["world"] or len(rows)))
    return groups


def parse_edges(text: str) -> int:
    """Return ``order,launch`` as a mask; ``-data,-group``: all except these."""
    names = text.split(",")
    wanted = [name.removeprefix("-") for name in names]
    unknown = [name for name in wanted if name not in KINDS]
    if unknown or len({name.startswith("-") for name in names}) > 1:
        raise argparse.ArgumentTypeError(f"{text!r}: write kinds separated by commas: {', '.join(KINDS)}")
    mask = sum({1 << KINDS.index(name) for name in wanted})
    return ALL & ~mask if text.startswith("-") else mask


def list_traces(paths: Sequence[str]) -> list[tuple[str, int]]:
    """Return each file with its rank: the one in its name, else its place."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(filter(Path.is_file, path.iterdir()), key=lambda each: natural(each.name))
        found = list(filter(is_trace, inside))
        if not found:
            raise Error(f"{path}: no execution trace in this folder")
        files += once(found)
    ranks = [rank_of(path.name) for path in files]
    known = [rank for rank in ranks if rank >= 0]
    whole = len(known) == len(files) == len(set(known))
    return [(str(path), ranks[index] if whole else index) for index, path in enumerate(files)]


def once(found: list[Path]) -> list[Path]:
    """Keep one file per rank: the ``.et`` if a folder has both forms, because it has the linked times."""
    both = {rank_of(path.name) for path in found if ".et" in path.suffixes[-2:]} - {-1}
    return [path for path in found if ".et" in path.suffixes[-2:] or rank_of(path.name) not in both]


def is_trace(path: Path) -> bool:
    """Whether a file is an execution trace, by its content: a folder may have Kineto traces too."""
    if not path.name.endswith(ENDINGS):
        return False
    return ".et" in path.suffixes[-2:] or form_of(path) == "et"


def is_kineto(path: Path) -> bool:
    return path.name.endswith((".json", ".json.gz")) and form_of(path) == "kineto"


def form_of(path: Path) -> str:
    """Return ``et``, ``kineto`` or nothing, by the first of the keys that only one of the two has."""
    keys = re.findall(rb'"(traceEvents|nodes|ctrl_deps|schema)"\s*:', head_of(path, 1 << 16))
    if b"traceEvents" in keys and b"nodes" not in keys[: keys.index(b"traceEvents")]:
        return "kineto"
    return "et" if b"schema" in keys or {b"nodes", b"ctrl_deps"} <= set(keys) else ""


def head_of(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked; empty if it cannot be read, which the command reports."""
    import gzip
    import zlib

    try:
        with open_regular(path) as file:
            return gzip.GzipFile(fileobj=file).read(size) if path.suffix == ".gz" else file.read(size)
    except (OSError, EOFError, zlib.error):
        return b""


def rank_of(name: str) -> int:
    """Return the rank in ``t.3.et``, ``rank3.json`` or ``et_3.json``; -1 without one. Digits within words,
    versions and times do not count."""
    stem = name.split(".gz")[0].rpartition(".")[0]
    found = re.search(r"(?<![A-Za-z])rank[-_=.]?(\d{1,6})(?!\d)", stem)
    if found is None:
        alone = list(re.finditer(r"(?<![A-Za-z0-9])(?<!\d\.)(\d{1,6})(?![A-Za-z0-9])(?!\.\d)", stem))
        found = alone[-1] if alone else None
    return int(found[1]) if found else -1


def each(function: Callable[[int], Returned], count: int) -> list[Returned]:
    """Process traces of many ranks in parallel, a few in memory at a time: the C core releases the GIL."""
    with ThreadPoolExecutor(min(MOST_AT_ONCE, os.cpu_count() or 1)) as pool:
        return list(pool.map(function, range(count)))


def warnings(row: dict[str, Any]) -> Iterator[str]:
    """Yield a line per kind of fault of a trace."""
    faults = row["faults"]
    if faults["lost"]:
        yield (
            f"{faults['trouble']}: {counted(faults['lost'], 'damaged place')}, "
            f"{counted(faults['lost_bytes'], 'byte')} lost, {counted(row['nodes'], 'node')} kept"
        )
    elif not row["finished"]:
        yield "without finish_ts: the program was stopped while it recorded"
    sentences = {
        "repaired": ("value", "NaN or Infinity, read as null"),
        "invalid": ("name or value", "with invalid JSON repaired"),
        "wrong": ("field", "of a wrong type or range skipped"),
        "duplicates": ("node", "with a duplicate id: now with a new one"),
        "orphans": ("node", "with a missing parent: now without a parent"),
        "dangling": ("dependency", "on a missing node skipped"),
        "collectives_unknown": ("collective", "of an unknown kind"),
    }
    plurals = {"name or value": "names and values", "dependency": "dependencies"}
    for key, (noun, text) in sentences.items():
        if faults[key]:
            yield f"{counted(faults[key], noun, plurals.get(noun, ''))} {text}"
    if faults["dtypes_unknown"]:
        yield f"{counted(faults['dtypes_unknown'], 'node')} with an unknown dtype, the first {faults['dtype']}"
    if faults["cycles"]:
        cut = ", ".join(f"{count} {kind}" for kind, count in faults["cut"].items() if count)
        yield f"{counted(faults['cycles'], 'cycle')} cut ({cut}), the first {faults['cycle']}"
    if faults["renumbered"]:
        renumbered = grouped(faults["renumbered"])
        yield f"all {renumbered} nodes have new ids: the old ones did not increase along the dependencies"
