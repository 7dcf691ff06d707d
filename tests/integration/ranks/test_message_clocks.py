"""Messages of gloo in traces of torch.profiler without recorded shapes: clocks aligned by them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import commands, processes

pytestmark = pytest.mark.torch
#: The clock of rank 1 is ahead, in ns: the ranks ran on one machine.
AHEAD = 3_000_000_000
WAYS = ("one_by_one", "batched")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages") / "run"
    processes.run_warm("messages_without_shapes.py", folder)
    for way in WAYS:
        path = folder / f"{way}_1.json"
        trace = json.loads(path.read_text())
        for event in trace["traceEvents"]:
            assert "Concrete Inputs" not in event.get("args", {})
            if "ts" in event:
                event["ts"] += AHEAD / 1000
        path.write_text(json.dumps(trace))
    return folder


def aligned(out: Path, *paths: Path) -> list[dict[str, Any]]:
    commands.out("timeline", "merge", *paths, "-o", out, "--align", "p2p")
    rows: list[dict[str, Any]] = json.loads(out.read_text())["ranks"]
    return rows


@pytest.mark.parametrize("way", WAYS)
def test_two_ranks_are_aligned(way: str, traces: Path, tmp_path: Path) -> None:
    one, other = aligned(tmp_path / "merged.json", traces / f"{way}_0.json", traces / f"{way}_1.json")
    assert (one["align"], other["align"], other["violations"]) == ("reference", "p2p", 0)
    assert abs(other["offset_ns"] - one["offset_ns"] + AHEAD) <= other["uncertainty_ns"]


def test_peers_among_more_ranks_are_not_guessed(traces: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{rank}.json" for rank in (0, 1)]
    for rank, path in enumerate(paths):
        trace = json.loads((traces / f"batched_{rank}.json").read_text())
        trace["distributedInfo"]["world_size"] = 4
        path.write_text(json.dumps(trace))
    assert {row["align"] for row in aligned(tmp_path / "merged.json", *paths)} == {"wall"}
