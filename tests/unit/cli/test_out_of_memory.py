"""Reading under a memory limit: large files fit, and what does not fit is called out of memory, in one line."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import processes

#: Run the command line with that many bytes of address space more than after start-up.
LIMITED = """
import resource, sys
from fastdispatch.cli import main, parser
parser()
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
room = size + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (room, room))
sys.exit(main(sys.argv[2:]))
"""
CONTEXTS = 20_000


def limited(room: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    return processes.python("-c", LIMITED, room, *arguments)


def one_rank(number: int, ranks: int) -> dict[str, Any]:
    zero = [0] * CONTEXTS
    names = "resumes self stepped steps last_step self_min self_max self_squares total_min total_max total_squares"
    figures = {"context": list(range(CONTEXTS)), "calls": [1] * CONTEXTS}
    figures |= {name: [7919 * index % 1000003 for index in range(CONTEXTS)] for name in names.split()}
    threads = {"role": [1], "system_id": [1], "root": [0], "running": [False], "served": [1], "covered": [1]}
    rank = {"rank": number, "world": ranks, "pid": 1, "id": f"{number:032x}", "boot_id": "0" * 32}
    rank |= {"state": "stopped", "timing": True, "steps_source": "none", "steps": 0, "recorded": 1, "file_bytes": 1}
    rank |= {"start": dict.fromkeys(("ticks", "monotonic", "boottime", "realtime"), 1)}
    rank |= {"meta": {}, "counters": {}, "notes": [], "figures": figures | {"resumes": zero}}
    rank |= {"threads": threads | {"self": [1], "events": [0], "events_lost": [0]}}
    rank |= {"open": {"thread": [], "context": [], "age": []}, "step_tops": {"step": [], "context": [], "self": []}}
    steps = ("number", "begin", "end", "other", "forward", "backward", "optimizer", "data")
    return rank | {"latest_steps": {name: [] for name in steps}}


@pytest.fixture(scope="module")
def merge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a merge of about 20 MB."""
    path = tmp_path_factory.mktemp("merge") / "merged.json"
    nodes = {name: [0, 0] for name in ("from", "file", "class", "qualified", "package", "line")}
    first = [-1] * CONTEXTS
    ranks = 15
    document = {
        "format": "fastdispatch.trace",
        "version": 1,
        "strings": ["", "main", "step"],
        "nodes": nodes | {"kind": [7, 1], "name": [1, 2]},
        "modules": {"parent": [], "name": [], "class": [], "parameters": [], "parameter_bytes": []},
        "contexts": {
            "parent": list(range(-1, CONTEXTS - 1)),
            "node": [0, *[1] * (CONTEXTS - 1)],
            "module": first,
            "origin": first,
            "flags": [0] * CONTEXTS,
        },
        "ranks": [one_rank(number, ranks) for number in range(ranks)],
    }
    path.write_text(json.dumps(document, separators=(",", ":")))
    assert path.stat().st_size > 15e6
    return path


def test_a_merge_is_read_and_written_within_four_times_its_size(merge: Path, tmp_path: Path) -> None:
    """The text is in memory while its numbers become arrays, which are about twice as large as these short numbers."""
    again = tmp_path / "again.json"
    run = limited(4 * merge.stat().st_size, "merge", merge, "-o", again)
    assert (run.returncode, run.stderr) == (0, "")
    assert again.stat().st_size > 15e6


@pytest.mark.parametrize(
    "arguments",
    [
        ("merge", "FILE", "-o", "OUT"),
        ("export", "folded", "FILE", "-o", "OUT"),
        ("report", "FILE"),
        ("html", "FILE", "-o", "OUT"),
        ("top", "FILE", "--once"),
        ("diff", "FILE", "FILE"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_too_little_memory_for_a_merge(merge: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    names = {"FILE": merge, "OUT": tmp_path / "out"}
    run = limited(12 << 20, *(names.get(each, each) for each in arguments))
    assert (run.returncode, run.stderr) == (2, f"fastdispatch: {merge}: out of memory\n")
    assert not (tmp_path / "out").exists()


def test_too_little_memory_for_the_engine_of_data_sets(merge: Path) -> None:
    """The engine is installed, but its library does not fit."""
    pytest.importorskip("duckdb")
    run = limited(12 << 20, "sql", merge, "hottest-paths")
    assert (run.returncode, run.stderr) == (2, "fastdispatch: out of memory\n")


def large_timeline(path: Path) -> None:
    """Write one event that is larger than the limit of the test."""
    path.write_text('{"traceEvents": [{"ph": "X", "name": "' + "a" * (15 << 20) + '", "ts": 1, "dur": 1}]}')


def large_graph(path: Path) -> None:
    node = {"forward_ms": 1, "backward_ms": 1, "parameter_bytes": 1, "output_bytes": [1]}
    nodes = [{"id": f"{index}", "name": "Linear"} | node for index in range(100_000)]
    edges = [[f"{index}", f"{index + 1}"] for index in range(len(nodes) - 1)]
    path.write_text(json.dumps({"schema": "fastdispatch-graph/1", "nodes": nodes, "edges": edges}))


def large_execution_trace(path: Path) -> None:
    node = {"ctrl_deps": 0, "inputs": {"values": [], "shapes": [], "types": []}, "attrs": []}
    nodes = [
        {"id": index + 1, "name": f"aten::add{index}"} | node | {"outputs": node["inputs"]} for index in range(60_000)
    ]
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": nodes}))


@pytest.mark.parametrize(
    ("write", "room", "arguments"),
    [
        (large_timeline, 8, ("timeline", "check", "FILE")),
        (large_timeline, 8, ("timeline", "stats", "FILE")),
        (large_timeline, 8, ("timeline", "merge", "FILE", "-o", "OUT")),
        (large_graph, 48, ("pipeline", "optimize", "FILE", "-n", "4")),
        (large_execution_trace, 8, ("et", "info", "FILE")),
        (large_execution_trace, 8, ("et", "convert", "FILE", "-o", "OUT")),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_too_little_memory_for_other_files(tmp_path: Path, write: Any, room: int, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "large.json"
    write(path)
    names = {"FILE": path, "OUT": tmp_path / "out"}
    run = limited(room << 20, *(names.get(each, each) for each in arguments))
    assert run.returncode == 2
    assert run.stderr.startswith("fastdispatch: ")
    assert run.stderr.endswith("out of memory\n")
    assert run.stderr.count("\n") == 1
