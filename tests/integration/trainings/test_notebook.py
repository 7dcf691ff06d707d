"""Recordings in IPython and in a notebook's kernel, and their views as values."""

import asyncio
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch import CallGraph, Error, label


def work(count: int) -> int:
    return sum(inner(i) for i in range(count))


def inner(i: int) -> int:
    return i


def calls(trace: fastdispatch.Trace) -> dict[str, int]:
    table = trace.table()
    return {key.rpartition(":")[2]: number for key, number in zip(table["where"], table["calls"], strict=True)}


def test_a_graph_is_read_and_shown(tmp_path: Path) -> None:
    with CallGraph(tmp_path / "run") as graph:
        work(7)
    assert calls(graph.trace) == calls(fastdispatch.load(graph)) == calls(fastdispatch.load(tmp_path / "run"))
    assert calls(graph.trace)["inner"] == 7
    report = graph.report(by="function", all=True)
    assert "inner" in str(report)
    assert "inner" in (report._repr_html_() or "")
    assert "<table" in (graph._repr_html_() or "")
    assert "<table" in (graph.trace._repr_html_() or "")
    assert report.as_json()["rows"]
    assert [each.id for each in graph.findings()] == []
    assert "nothing was found" in str(graph.findings())
    assert "nothing was found" in (graph.findings()._repr_html_() or "")
    assert str(fastdispatch.findings(graph)) == str(graph.findings())
    difference = fastdispatch.diff(graph, graph.trace)
    assert difference.changed() == []
    assert "unchanged" in str(difference)
    assert "unchanged" in (difference._repr_html_() or "")


def test_pages_and_pictures(tmp_path: Path) -> None:
    with CallGraph(tmp_path / "run") as graph:
        work(3)
    page = graph.html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == page
    assert page.startswith(b"<!DOCTYPE html>")
    assert page._repr_html_().startswith("<iframe")
    dot = tmp_path / "graph.dot"
    picture = graph.svg(dot, all=True)
    assert dot.read_text().startswith("digraph")
    assert "</svg>" in picture._repr_svg_()


def test_a_graph_in_memory() -> None:
    graph = CallGraph(None)
    with pytest.raises(Error, match="start the CallGraph first"):
        fastdispatch.load(graph)
    assert "has not started" in (graph._repr_html_() or "")
    with graph:
        work(5)
        assert "recording to memory" in (graph._repr_html_() or "")
    assert calls(fastdispatch.load(graph))["inner"] == 5
    assert calls(fastdispatch.load(graph, steps="settled"))["inner"] == 5
    assert "inner" in str(graph.report(all=True))
    with pytest.raises(Error, match="is in memory"):
        fastdispatch.merge([graph], "never.json")


def test_decorators(tmp_path: Path) -> None:
    @CallGraph(tmp_path / "run")
    def outer(depth: int) -> int:
        return work(4) if depth == 0 else outer(depth - 1)

    @label("a range")
    def ranged() -> str:
        return "value"

    @label("another")
    async def awaited() -> int:
        await asyncio.sleep(0)
        return 3

    assert outer(2) == 6
    assert outer.__name__ == "outer"
    trace = fastdispatch.load(tmp_path / "run")
    assert (calls(trace)["inner"], calls(trace)["outer"]) == (4, 3)
    assert outer(0) == 6  # again, with a new CallGraph
    assert calls(fastdispatch.load(tmp_path / "run"))["outer"] == 1
    with CallGraph(None) as graph:
        assert (ranged(), asyncio.run(awaited())) == ("value", 3)
    found = graph.trace.table("node")
    kinds = dict(zip(found["where"], found["calls"], strict=True))
    assert (kinds["a range"], kinds["another"]) == (1, 1)
    below = graph.trace.graph("node")
    names = [found["where"][row] for row in below["callee"]]
    parents = [found["where"][row] if row >= 0 else "" for row in below["caller"]]
    assert ("a range", "ranged") in {
        (p, n.rpartition(":")[2].rpartition(".")[2]) for p, n in zip(parents, names, strict=True)
    }
    for wrong in (CallGraph(None), label("x")):
        with pytest.raises(Error, match="generator: use `with`"):
            wrong(lambda: (yield))
        with pytest.raises(Error, match="not 'type' objects"):
            wrong(int)


def test_errors_are_one_family() -> None:
    with CallGraph(None) as graph:
        work(1)
    for kind, base in ((fastdispatch.ArgumentError, ValueError), (fastdispatch.RangeError, IndexError)):
        assert issubclass(kind, Error)
        assert issubclass(kind, base)
    with pytest.raises(Error, match="nothing is unknown"):
        graph.trace.export("nothing")  # type: ignore[arg-type]
    with pytest.raises(Error, match="no such table"):
        graph.trace.columns("nothing")
    with pytest.raises(Error):
        graph.trace.table("nothing")  # type: ignore[arg-type]
    with pytest.raises(Error):
        fastdispatch.job("forward", mb=-1)


CELLS = (
    "%load_ext fastdispatch",
    "def work(count):\n    return sum(inner(i) for i in range(count))\n\ndef inner(i):\n    return i",
    "%%fastdispatch -o OUT --name graph\nfor _ in range(3):\n    work(10)\nprint('printed')\nwork(2)",
    "import fastdispatch, asyncio\nbegun = fastdispatch.CallGraph(None)\nbegun.start()",
    "print(work(4))\nawait asyncio.sleep(0.01)",
    "begun.stop()",
)
#: Functions that a recording in a notebook must not have.
KERNEL = ("IPython/", "ipykernel/", "tornado/", "zmq/", "traitlets/", "jupyter_client/", "selectors.py", "json/")


def is_clean(trace: fastdispatch.Trace) -> bool:
    return not [key for key in trace.nodes["key"] if key.startswith(KERNEL)]


def test_an_ipython_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell.instance()
    try:
        for cell in CELLS:
            shell.run_cell(cell.replace("OUT", str(tmp_path / "run"))).raise_error()
        names = shell.user_ns
        assert calls(names["graph"].trace)["inner"] == 32
        assert calls(names["begun"].trace)["inner"] == 4
        assert is_clean(names["graph"].trace)
        assert is_clean(names["begun"].trace)
        printed = capsys.readouterr().out
        assert "printed\n" in printed
        assert "Out[" in printed
        assert isinstance(shell.run_cell("%%fastdispatch --memory\n1/0").error_in_exec, ZeroDivisionError)
        assert isinstance(shell.run_cell("%%fastdispatch --unknown\n1").error_in_exec, Error)
        assert isinstance(shell.run_cell("%%fastdispatch --options ops\n1").error_in_exec, Error)
        assert isinstance(shell.run_cell("%%fastdispatch --options nothing=1\n1").error_in_exec, Error)
        assert isinstance(shell.run_cell("%%fastdispatch --memory\nwork(1);").result, CallGraph)
    finally:
        shells.InteractiveShell.clear_instance()


def test_a_notebook(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [*CELLS, "print(*begun.trace.nodes['key'], sep='\\n')\ngraph.path", "graph", "graph.findings()"]
    sources = [cell.replace("OUT", str(tmp_path / "run")) for cell in cells]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    recorded = fastdispatch.load(tmp_path / "run")
    assert is_clean(recorded)
    assert calls(recorded)["inner"] == 32
    outputs = [cell["outputs"] for cell in notebook["cells"]]
    *_, shown = outputs[2]
    assert "<table" in shown["data"]["text/html"]
    keys = outputs[6][0]["text"].splitlines()
    assert not [key for key in keys if key.startswith((*KERNEL, "asyncio/runners"))]
    assert [key for key in keys if key.endswith(":[]:inner")]
    assert "inner" in outputs[7][0]["data"]["text/html"]
    assert "<pre" in outputs[8][0]["data"]["text/html"]
