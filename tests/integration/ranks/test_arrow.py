"""Tables of a trace as Arrow columns, read by real consumers."""

import gc
import sys
import threading
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, programs

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

TABLES = ["nodes", "modules", "contexts", "ranks", "facts", "counters", "figures", "steps", "threads", "jobs"]
TABLES += ["open_calls", "measures", "gpu"]  # docs/formats/columns.md


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> fastdispatch.Trace:
    folder = tmp_path_factory.mktemp("recorded")
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        for _ in range(3):
            programs.classes()
            graph.step()
    return fastdispatch.load(folder)


def test_names(trace: fastdispatch.Trace) -> None:
    assert trace.core.streams() == TABLES
    page = (Path(__file__).parents[3] / "docs" / "formats" / "columns.md").read_text()
    for name in TABLES:
        assert f"| `{name}` |" in page
    with pytest.raises(ValueError, match="no such table"):
        trace.columns("figure")
    with pytest.raises(ValueError, match="no such table"):
        trace.core.stream("figure")


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_valid(trace: fastdispatch.Trace, name: str) -> None:
    table = pyarrow.table(trace.columns(name))
    table.validate(full=True)
    assert len(set(table.column_names)) == len(table.column_names)


def test_columns_equal_the_tables_of_the_trace(trace: fastdispatch.Trace) -> None:
    nodes = pyarrow.table(trace.columns("nodes")).to_pydict()
    assert {name: nodes[name] for name in trace.nodes} == dict(trace.nodes)
    contexts = pyarrow.table(trace.columns("contexts")).to_pydict()
    for name in ("parent", "node", "module", "origin"):
        assert [-1 if value is None else value for value in contexts[name]] == trace.contexts[name]
    assert len(set(contexts["path"])) == len(contexts["path"])
    figures = pyarrow.table(trace.columns("figures")).to_pydict()
    for name in ("calls", "resumes", "self", "total", "backward", "ops"):
        by_context = dict(zip(figures["context"], figures[name], strict=True))
        assert [by_context.get(row, 0) for row in range(len(trace.contexts[name]))] == trace.contexts[name]
    spread = trace.core.columns("figures", 0)
    by_context = dict(zip(figures["context"], figures["total_max"], strict=True))
    assert [by_context[row] for row in spread["context"]] == spread["total_max"]
    ranks = pyarrow.table(trace.columns("ranks")).to_pylist()
    assert [(each["rank"], each["state"], each["steps"]) for each in ranks] == [(0, "stopped", 3)]
    steps = pyarrow.table(trace.columns("steps")).to_pydict()
    assert steps["end"] == trace.ranks[0]["latest_steps"]["end"]


def test_units(trace: fastdispatch.Trace) -> None:
    schema = pyarrow.table(trace.columns("figures")).schema
    assert schema.field("self").metadata == {b"unit": b"ns"}
    assert schema.field("self_squares").metadata == {b"unit": b"ns^2"}
    assert schema.field("calls").metadata is None


def test_consumers_read_the_same(trace: fastdispatch.Trace) -> None:
    nodes = trace.columns("nodes")
    expected = pyarrow.table(nodes).to_pydict()
    assert polars.DataFrame(nodes).to_dict(as_series=False) == expected
    frame = pandas.DataFrame.from_arrow(nodes)
    assert {name: list(frame[name]) for name in frame} == expected
    assert duckdb.sql("SELECT key, kind::VARCHAR, line FROM nodes ORDER BY id").fetchall() == list(
        zip(expected["key"], expected["kind"], expected["line"], strict=True)
    )
    figures, contexts = trace.columns("figures"), trace.columns("contexts")
    assert figures.name == "figures" and contexts.name == "contexts"
    query = """SELECT sum(f.calls) FROM figures f JOIN contexts c ON c.id = f.context JOIN nodes n ON n.id = c.node
               WHERE n.name = 'leaf'"""
    assert duckdb.sql(query).fetchall() == [(trace.table("function")["calls"][leaf(trace)],)]


def leaf(trace: fastdispatch.Trace) -> int:
    return next(i for i, where in enumerate(trace.table("function")["where"]) if where.endswith(":leaf"))


def test_a_stream_keeps_its_trace(trace: fastdispatch.Trace, tmp_path: Path) -> None:
    trace.dump(tmp_path / "dump.json")
    capsule = fastdispatch.load(tmp_path / "dump.json").columns("nodes").__arrow_c_stream__()
    gc.collect()
    reader = pyarrow.RecordBatchReader._import_from_c_capsule(capsule)
    del capsule
    gc.collect()
    assert reader.read_all().num_rows == len(trace.nodes["key"])


def references(trace: fastdispatch.Trace) -> int:
    return sys.getrefcount(trace.core)


def test_an_unread_stream_is_released(trace: fastdispatch.Trace) -> None:
    gc.collect()
    before = references(trace)
    capsule = trace.columns("figures").__arrow_c_stream__()
    assert references(trace) == before + 1
    del capsule
    assert references(trace) == before


def test_a_stream_is_released_on_another_thread(trace: fastdispatch.Trace) -> None:
    gc.collect()
    before = references(trace)
    readers = [pyarrow.RecordBatchReader.from_stream(trace.columns("figures"))]
    thread = threading.Thread(target=readers.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert references(trace) == before


# -- reading recordings ------------------------------------------------------------------------------------------------


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
