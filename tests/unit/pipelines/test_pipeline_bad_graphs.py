"""Invalid graphs, impossible plans, files without permission to write: one line, status 2, nothing lost."""

import json
from pathlib import Path

import pytest

from tests import commands, golden

FIGURES = "forward_compute_time={}, backward_compute_time=2.0, activation_size=4.0, parameter_size=8.000"
GOOD = FIGURES.format("1.0")
A, B = f"a -- Linear(4, 4) -- {GOOD} -- stage_id=0\n", f"b -- ReLU() -- {GOOD} -- stage_id=1\n"

COMMANDS = {
    "partition": "pipeline partition --method pipedream -n 2 {graph} -o out --svg out.dot --json",
    "convert": "pipeline convert -f {graph} -n Net -a net -o out",
}


def figures(text: str) -> str:
    return f"a -- x -- {text}\n"


TEXTS = {
    "": ": not a graph: it has no nodes",
    "\n\r\n": ": not a graph: it has no nodes",
    f"{A}b -- ReLU()\n": ":2: neither a node",
    f"{A}\x1b[2J\n": r" nor an edge '<TAB>ID -- ID': '\x1b[2J'",
    f"{A}hello\n": ":2: neither a node 'ID -- NAME -- forward_compute_time=...' nor an edge '<TAB>ID -- ID': 'hello'",
    f"{A}{A}": ":2: node 'a': duplicate id",
    f"{A}{B}\ta -- c\n": ":3: an edge of an unknown node: 'c'",
    f"{A}{B}\ta - b\n": ":3: an edge is '<TAB>ID -- ID': 'a - b'",
    f"{A}{B}\ta -- b\n\tb -- a\n": ": a cycle: a needs b needs a",
    f"{A}\ta -- a\n": ": a cycle: a needs a",
    figures(FIGURES.format("-1")): ":1: forward_compute_time is negative: '-1'",
    figures(FIGURES.format("nan")): ":1: forward_compute_time is not a finite number: 'nan'",
    figures(FIGURES.format("inf")): ":1: forward_compute_time is not a finite number: 'inf'",
    figures(FIGURES.format("1e999")): ":1: forward_compute_time is not a finite number: '1e999'",
    figures(FIGURES.format("")): ":1: forward_compute_time is not a finite number: ''",
    figures(GOOD.replace("2.0", "two")): ":1: backward_compute_time is not a finite number: 'two'",
    figures(GOOD.replace("4.0", "[1; x]")): ":1: activation_size is not a finite number: 'x'",
    figures(GOOD.replace("8.000", "-8")): ":1: parameter_size is negative: '-8'",
    figures(GOOD.replace("parameter_size=8.000", "size=8")): ":1: expected parameter_size=: 'size=8'",
    figures(f"{GOOD}, more=1"): ":1: too many figures: 'more=1'",
    figures(f"{GOOD} -- stage_id=-1"): ":1: stage_id is not a non-negative number: '-1'",
    f" -- x -- {GOOD}\n": ":1: a node has no id",
    "a -- x\0y\n": ":1: a byte 0 in the line",
    '{"schema": "fastdispatch-graph/1", "nodes": [': ": not valid JSON at byte",
    '{"schema": "other/1"}': ": schema: not a graph of fastdispatch",
    '{"schema": "fastdispatch-graph/9", "nodes": [], "edges": []}': ": version 9 of the graph",
    '{"schema": "fastdispatch-graph/1", "nodes": [], "edges": []}': ": not a graph: it has no nodes",
    '{"schema": "fastdispatch-graph/1", "nodes": []}': ": edges: a list",
    "[]": ":1: neither a node",
}


def node(**changes: object) -> dict[str, object]:
    figures = {"forward_ms": 1.0, "backward_ms": 2.0, "output_bytes": [4], "parameter_bytes": 8}
    return {"id": "a", "name": "ReLU()", **figures, "stage": 0, **changes}


#: The same faults in the other form.
DOCUMENTS: list[tuple[list[object], list[object], str]] = [
    (["a"], [], ": nodes[0].id: a text"),
    ([node(), node()], [], ": nodes[1]: node 'a': duplicate id"),
    ([node()], [["a", "c"]], ": edges[0]: an edge of an unknown node: 'c'"),
    ([node()], [["a"]], ": edges[0]: not a list of two ids"),
    ([node(), node(id="b")], [["a", "b"], ["b", "a"]], ": a cycle: a needs b needs a"),
    ([node(forward_ms=-1)], [], ": nodes[0].forward_ms: a non-negative number"),
    ([node(backward_ms="two")], [], ": nodes[0].backward_ms: a non-negative number"),
    ([node(parameter_bytes=None)], [], ": nodes[0].parameter_bytes: a non-negative number"),
    ([node(output_bytes=[1, "x"])], [], ": nodes[0].output_bytes: non-negative numbers"),
    ([node(saved_bytes=-1)], [], ": nodes[0].saved_bytes: a non-negative number"),
    ([node(stage=-1)], [], ": nodes[0].stage: a non-negative number"),
    ([node(stage=0.5)], [], ": nodes[0].stage: a whole number"),
    ([node(id=1)], [], ": nodes[0].id: a text"),
    ([node(id="")], [], ": nodes[0]: a node has no id"),
    ([node(id="a -- b")], [], ": nodes[0]: node 'a -- b': an id has no tab, newline or ' -- '"),
    ([node(id="a\nb")], [], r": nodes[0]: node 'a\nb': an id has no tab, newline or ' -- '"),
    ([node(id="a\x1b[2J"), node(id="a\x1b[2J")], [], r": nodes[1]: node 'a\x1b[2J': duplicate id"),
    ([node(id="a" + 40 * "é"), node(id="a" + 40 * "é")], [], f": nodes[1]: node 'a{29 * 'é'}\ufffd': duplicate id"),
    ([node(), node(id="b")], [["b", "b"]], ": a cycle: b needs b"),
]
CASES = [(text.encode(), message) for text, message in TEXTS.items()]
CASES += [
    (json.dumps({"schema": "fastdispatch-graph/1", "nodes": nodes, "edges": edges}).encode(), message)
    for nodes, edges, message in DOCUMENTS
]
CASES += [
    (
        CASES[-1][0].replace(b": 1.0", b": 1e999"),
        "nodes[0]: node 'a': forward_compute_time is inf: not a finite non-negative number",
    ),
    (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", ": not text: byte 0 is not UTF-8"),
    (b"a -- \xff\n", ": not text: byte 5 is not UTF-8"),
]


def refused(words: list[str]) -> str:
    """What a command that must fail says."""
    status, output, errors = commands.run(*words)
    assert (status, output) == (2, ""), errors
    assert errors.startswith("fastdispatch: ") and errors.endswith("\n")
    assert errors[:-1].isprintable()
    return errors[:-1]


#: All files through one command, some through the other, which reads them alike.
FILES = [("partition", *case) for case in CASES] + [("convert", *case) for case in CASES[::10]]


@pytest.mark.parametrize(("command", "content", "message"), FILES, ids=[message for *_, message in FILES])
def test_invalid_graphs(
    command: str, content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph.txt").write_bytes(content)
    reported = refused(COMMANDS[command].format(graph="graph.txt").split())
    assert reported.startswith("fastdispatch: graph.txt") and message in reported
    assert [path.name for path in tmp_path.iterdir()] == ["graph.txt"]


@pytest.mark.parametrize(("words", "wanted"), golden.table("commands/misplaced"))
def test_misplaced_and_surplus_members(
    words: str, wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("good.txt").write_text(f"{A}{B}\ta -- b")
    Path("odd.txt").write_text(f"{A}{B}\ta -- b".replace("ReLU()", "Mine(4)"))
    Path("vast.txt").write_text(f"{A}{B}".replace("=1.0", "=1e308").replace("=2.0", "=1e308"))
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert wanted in refused(words.split())
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert not any(Path("folder").iterdir()) and not Path("out").exists()
