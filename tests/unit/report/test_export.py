"""``export callgraph``: two sorted lists per rank."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, programs
from tests.unit.report.call_trees import Dump

STEP = ("train.py:[]:step", 3, 1, [("torch/nn.py:[Net]:_call_impl", 3, 1, [("op:aten::mm", 6, 2)])])


def names(graph: dict[str, list[str]]) -> set[str]:
    return set(graph["nodes"])


def test_it_is_the_call_graph_of_python(tmp_path: Path) -> None:
    trace = fastdispatch.load(Dump([("train.py:[]:main", 1, 1, [STEP, STEP])]).write(tmp_path / "dump.json"))
    assert trace.export("callgraph") == (
        b'{"nodes":[\n"torch/nn.py:[Net]:_call_impl",\n"train.py:[]:main",\n"train.py:[]:step"],\n"edges":[\n'
        b'"train.py:[]:main->train.py:[]:step",\n"train.py:[]:step->torch/nn.py:[Net]:_call_impl"]}\n'
    )


def test_operators_on_request(tmp_path: Path) -> None:
    trace = fastdispatch.load(Dump([STEP]).write(tmp_path / "dump.json"))
    graph = json.loads(trace.export("callgraph", ops="all"))
    assert "torch/nn.py:[Net]:_call_impl->aten::mm" in graph["edges"]
    assert "aten::mm" in graph["nodes"]


def test_every_rank_gets_its_own(tmp_path: Path) -> None:
    dump = Dump(
        [("a.py:[]:main", 1, 1, [("a.py:[]:send", 1, 1)])], [("a.py:[]:main", 1, 1, [("a.py:[]:receive", 1, 1)])]
    )
    path = dump.write(tmp_path / "dump.json")
    processes.successful("export", "callgraph", path, "-o", tmp_path / "new" / "folder")
    graphs = [json.loads((tmp_path / "new" / "folder" / f"call_graph_{rank}.json").read_text()) for rank in (0, 1)]
    assert names(graphs[0]) == {"a.py:[]:main", "a.py:[]:send"}
    assert names(graphs[1]) == {"a.py:[]:main", "a.py:[]:receive"}
    assert graphs[1]["edges"] == ["a.py:[]:main->a.py:[]:receive"]


def test_one_rank_into_one_file(tmp_path: Path) -> None:
    path = Dump([("a.py:[]:zero", 1, 1)], [("a.py:[]:one", 1, 1)]).write(tmp_path / "dump.json")
    processes.successful("export", "callgraph", path, "--rank", 1, "-o", tmp_path / "graph.json")
    assert json.loads((tmp_path / "graph.json").read_text()) == {"nodes": ["a.py:[]:one"], "edges": []}
    refused = processes.fastdispatch("export", "callgraph", path, "-o", tmp_path / "both.json")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1 and "one file cannot hold 2 ranks" in refused.stderr
    missing = processes.fastdispatch("export", "callgraph", path, "--rank", 7, "-o", tmp_path / "seven.json")
    assert (missing.returncode, missing.stderr) == (
        2,
        "fastdispatch: rank 7 is not in this trace, which has ranks 0, 1\n",
    )


def test_names_of_any_kind_stay_json(tmp_path: Path) -> None:
    ugly = ['q"uote', "back\\slash", "new\nline", "<&>", "naïve ∑", "x" * 10_000, "tab\there"]
    calls = [(f"a.py:[]:{name}", 1, 1) for name in ugly]
    trace = fastdispatch.load(Dump([("a.py:[]:main", 1, 1, calls)]).write(tmp_path / "dump.json"))
    graph = json.loads(trace.export("callgraph"))
    assert graph["nodes"] == sorted(graph["nodes"])
    assert names(graph) == {f"a.py:[]:{name}" for name in [*ugly, "main"]}
    assert set(graph["edges"]) == {f"a.py:[]:main->a.py:[]:{name}" for name in ugly}


def test_a_recording_gives_exactly_its_edges(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        programs.classes()
    trace = fastdispatch.load(tmp_path)
    exported = json.loads(trace.export("callgraph", rank=0))
    keys, kinds, edges = trace.nodes["key"], trace.nodes["kind"], trace.edges
    expected = {
        f"{keys[caller]}->{keys[callee]}"
        for caller, callee in zip(edges["caller"], edges["callee"], strict=True)
        if caller >= 0 and kinds[caller] == kinds[callee] == "python"
    }
    assert set(exported["edges"]) == expected
    assert exported["edges"] == sorted(expected)
    assert names(exported) == {key for key, kind in zip(keys, kinds, strict=True) if kind == "python"}


def test_a_failed_write_is_one_line(tmp_path: Path) -> None:
    path = Dump([STEP]).write(tmp_path / "dump.json")
    for output in (path / "below-a-file", tmp_path / "missing" / "graph.json"):
        result = processes.fastdispatch("export", "callgraph", path, "-o", output)
        assert result.returncode == 2
        assert result.stderr.startswith(f"fastdispatch: {output}: cannot ") and result.stderr.count("\n") == 1


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    trace = fastdispatch.load(Dump([STEP]).write(tmp_path / "dump.json"))
    with pytest.raises(ValueError, match="format=nothing is unknown"):
        trace.export("nothing")
    result = processes.fastdispatch("export", "nothing", tmp_path / "dump.json", "-o", tmp_path)
    assert result.returncode == 2 and result.stderr.count("\n") == 1
