"""Reading recordings: as data frames, from several hosts, from machine folders."""

from pathlib import Path

import pandas
import pytest

import fastdispatch
from tests import processes, programs

PROGRAM = """
import fastdispatch, helper
def work():
    return helper.made()
with fastdispatch.CallGraph({out!r}, ops="off"):
    work()
"""


def record_in(folder: Path, out: Path, rank: int) -> None:
    """The same project, checked out in another folder, as one rank of a run."""
    folder.mkdir(parents=True)
    (folder / "program.py").write_text(PROGRAM.format(out=str(out)))
    (folder / "helper.py").write_text("import json\ndef made():\n    return json.dumps([1])\n")
    processes.python_program("program.py", folder=folder, RANK=str(rank), WORLD_SIZE="2", FASTDISPATCH_RUN_ID="one")


def keys_of(trace: fastdispatch.Trace) -> set[str]:
    return {key for key in trace.nodes["key"] if "program.py" in key or "helper.py" in key or "json/" in key}


def test_hosts_with_other_prefixes_merge_into_one_graph(tmp_path: Path) -> None:
    for rank, place in enumerate(("home/alice/project", "scratch/run 7/project")):
        record_in(tmp_path / place, tmp_path / "out", rank)
    each = [fastdispatch.load(tmp_path / "out" / f"rank0000{rank}.fd") for rank in range(2)]
    assert keys_of(each[0]) == keys_of(each[1])
    assert "program.py:[]:work" in keys_of(each[0])
    both = fastdispatch.load(tmp_path / "out")
    assert len(both.nodes["key"]) == len(set(both.nodes["key"])) == len(each[0].nodes["key"])
    table = both.table("function")
    assert table["calls"][table["where"].index("helper.py:[]:made")] == 2
    for rank in range(2):
        table = both.table("function", rank)
        assert table["calls"][table["where"].index("helper.py:[]:made")] == 1
    with pytest.raises(fastdispatch.Error, match="rank 7 is not in this trace, which has ranks 0, 1"):
        both.table("function", 7)


def test_pandas_accepts_the_tables(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        programs.classes()
    trace = fastdispatch.load(tmp_path)
    frames = trace.to_pandas()
    assert set(frames) == {"nodes", "modules", "contexts", "edges"}
    assert len(frames["contexts"]) == len(trace.contexts["node"])
    calls = frames["contexts"].groupby("node")["calls"].sum()
    leaf = frames["nodes"].index[frames["nodes"]["name"] == "leaf"]
    assert calls[leaf].item() == 13
    assert pandas.DataFrame(trace.table("function")).sort_values("self").iloc[-1]["self"] > 0
    edges = frames["edges"]
    assert edges["callee"].between(0, len(frames["nodes"]) - 1).all()
    assert edges.loc[edges["callee"] == leaf[0], "calls"].sum() == 13
