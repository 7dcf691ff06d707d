"""Recordings with given times, to test drawn and hidden functions without a clock."""

import json
from collections.abc import Callable
from pathlib import Path

import fastdispatch

MS = 1_000_000


def timed(recording: Path, own: Callable[[list[str]], int]) -> Path:
    """A dump of a recording in which each call has the self time, in nanoseconds, that ``own`` returns for its path:
    the names from the thread down."""
    path = recording.with_name(f"{recording.name}.json")
    fastdispatch.load(recording).dump(path)
    dump = json.loads(path.read_text())
    names = [dump["strings"][place] for place in dump["nodes"]["name"]]
    parents, nodes = dump["contexts"]["parent"], dump["contexts"]["node"]
    paths: list[list[str]] = []
    for parent, node in zip(parents, nodes, strict=True):
        paths.append([*(paths[parent] if parent >= 0 else []), names[node]])
    for rank in dump["ranks"]:
        figures = rank["figures"]
        calls = zip(figures["context"], figures["calls"], strict=True)
        figures["self"] = [int(count) * own(paths[context]) for context, count in calls]
        of_thread = dict.fromkeys(rank["threads"]["root"], 0)
        for context, time in zip(figures["context"], figures["self"], strict=True):
            while context not in of_thread and context >= 0:
                context = parents[context]
            if context >= 0:
                of_thread[context] += time
        for column in ("self", "covered"):
            rank["threads"][column] = [of_thread[root] for root in rank["threads"]["root"]]
        rank["recorded"] = max(of_thread.values())
    path.write_text(json.dumps(dump))
    return path
