"""The paths of both sides of a comparison as one tree: figures of each side, and what identifies a path."""

import json
from pathlib import Path
from typing import Any

import fastdispatch
from fastdispatch.compare.joined_paths import JoinedPaths
from fastdispatch.read.trace import Trace
from tests.unit.report.call_trees import Call, Dump

MS = 1_000_000

#: ``twin`` is there twice, ``same`` stands on another line, the rest is new or gone.
BEFORE: list[Call] = [
    ("a.py:[]:main", 1, 10, [
        ("a.py:[]:same", 2, 20), ("a.py:[]:twin", 1, 3), ("a.py:[]:other", 1, 4), ("a.py:[]:gone", 1, 30),
    ]),
]  # fmt: skip
AFTER: list[Call] = [("a.py:[]:main", 1, 11, [("a.py:[]:same", 4, 50, [("op:aten::new", 4, 60)])])]
SECOND: list[Call] = [("a.py:[]:main", 1, 0, [("a.py:[]:same", 1, 5)])]


def read(folder: Path, *trees: list[Call], lines: dict[str, int], twin: bool = False) -> Trace:
    dump = Dump(*trees)
    name_of_twin = dump.text("twin")

    def change(document: dict[str, Any]) -> None:
        nodes = document["nodes"]
        for row, name in enumerate(nodes["name"]):
            nodes["line"][row] = lines.get(document["strings"][name], nodes["line"][row])
            if twin and document["strings"][name] == "other":  # a second ``twin``, on another line
                nodes["name"][row] = nodes["qualified"][row] = name_of_twin

    return dump.load(folder, change)


def both(folder: Path) -> JoinedPaths:
    before = read(folder, BEFORE, lines={"same": 5, "twin": 7, "other": 9, "gone": 11}, twin=True)
    return JoinedPaths(before, read(folder, AFTER, SECOND, lines={"same": 6}))


def figures(joined: JoinedPaths, side: int, rank: int, column: str) -> dict[str, int]:
    keys = [joined.nodes["key"][node] for node in joined.contexts["node"]]
    return dict(zip(keys, joined.figures(side, rank)[column], strict=True))


def test_paths_by_keys_without_lines(tmp_path: Path) -> None:
    joined = both(tmp_path)
    keys = [joined.nodes["key"][node] for node in joined.contexts["node"]]
    assert sorted(keys) == ["a.py:[]:gone", "a.py:[]:main", "a.py:[]:same", "a.py:[]:twin", "aten::new", "main"]
    assert all(parent < row for row, parent in enumerate(joined.contexts["parent"]))
    assert figures(joined, 0, -1, "self") == {
        "main": 0,
        "a.py:[]:main": 10 * MS,
        "a.py:[]:same": 20 * MS,
        "a.py:[]:twin": 7 * MS,
        "a.py:[]:gone": 30 * MS,
        "aten::new": 0,
    }
    assert figures(joined, 1, -1, "calls")["a.py:[]:same"] == 5
    assert figures(joined, 1, -1, "total")["a.py:[]:main"] == (11 + 50 + 60 + 5) * MS


def test_figures_of_one_rank(tmp_path: Path) -> None:
    joined = both(tmp_path)
    assert figures(joined, 1, 1, "self")["a.py:[]:same"] == 5 * MS
    assert figures(joined, 1, 1, "calls")["aten::new"] == 0


def test_lines_of_the_later_recording(tmp_path: Path) -> None:
    """Removed functions keep their line."""
    nodes = both(tmp_path).nodes
    lines = dict(zip(nodes["key"], nodes["line"], strict=True))
    assert (lines["a.py:[]:same"], lines["a.py:[]:gone"]) == (6, 11)


def test_modules_by_name_and_pattern(tmp_path: Path) -> None:
    path = Dump([("a.py:[Block]:forward", 2, 10, [("a.py:[Block]:inner", 2, 5)])]).write(tmp_path / "dump.json")
    document = json.loads(path.read_text())
    traces = []
    for number in ("0", "1"):
        strings = document["strings"] = [*document["strings"], "GPT", "blocks", number]
        gpt, blocks, name = map(strings.index, ("GPT", "blocks", number))
        document["modules"] = {"parent": [-1, 0, 1], "name": [0, blocks, name], "class": [gpt] * 3}
        document["contexts"]["module"] = [-1, 2, 2]
        path.write_text(json.dumps(document))
        traces.append(fastdispatch.load(path))
    joined = JoinedPaths(*traces)
    assert sorted(joined.modules["path"]) == ["", "blocks", "blocks.0", "blocks.1"]
    table = joined.module_table((-1, -1), ("before", "after"))
    row = {name: values[table["where"].index("blocks.*")] for name, values in table.items()}
    assert (row["instances"], row["calls.before"], row["total.before"], row["total.after"]) == (2, 4, 15 * MS, 15 * MS)


def test_a_trace_and_itself(tmp_path: Path) -> None:
    """Origins can come after the paths that they caused."""
    backward = ("autograd:MulBackward0", 3, 50, [], "a.py:[]:late")
    trace = read(tmp_path, [backward, ("a.py:[]:late", 3, 20)], lines={})
    joined = JoinedPaths(trace, trace)
    assert len(joined.contexts["node"]) == len(trace.contexts["node"])
    for side in range(2):
        assert figures(joined, side, 0, "backward")["a.py:[]:late"] == 50 * MS
