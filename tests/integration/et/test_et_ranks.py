"""Execution traces of three real ranks on gloo: their communication."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import commands, processes
from tests.oracle.chakra_nodes import Node, read

pytest.importorskip("torch")

RANKS = 3  # of et_ranks.py


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders ``run``, two steps of a training, and ``comms``, each kind of communication."""
    folder = tmp_path_factory.mktemp("ranks")
    processes.run_ranks("et_ranks.py", RANKS, folder)
    for name in ("run", "comms"):
        words = ("et", "export", folder / name, "-o", folder / "traces" / name, "--layout", "astra-sim")
        errors = commands.error(*words, status=0)
        assert "cycles" not in errors and "new ids" not in errors
    return folder / "traces"


def moves(path: Path) -> list[Node]:
    return [node for node in read(path) if node.moves]


def printed(node: Node) -> tuple[Any, ...]:
    """Name, type, collective, bytes, group, root or source, destination, tag."""
    get = node.attrs.get
    numbers = [get(name, -1) for name in ("comm_src", "comm_dst", "comm_tag")]
    return (node.name, node.type, get("comm_type"), get("comm_size"), get("pg_name", b"").decode(), *numbers)


X = 4 * 3 * 4  # bytes of a tensor that all have
COLLECTIVES = [  # type 7 and ALL_REDUCE 0, REDUCE 1 ... of Chakra
    ("gloo:all_reduce", 7, 0, X, "0", -1, -1, -1),
    ("gloo:broadcast", 7, 5, X, "0", 1, -1, -1),
    ("gloo:reduce", 7, 1, X, "0", 2, -1, -1),
    ("gloo:all_gather", 7, 2, X, "0", -1, -1, -1),
    ("gloo:gather", 7, 3, X, "0", 0, -1, -1),
    ("gloo:scatter", 7, 4, X, "0", 1, -1, -1),
    ("gloo:all_to_all", 7, 6, 48, "0", -1, -1, -1),
    ("gloo:barrier", 7, 9, None, "0", -1, -1, -1),
]
MESSAGES = {  # of ranks as all are numbered, in the pair too
    0: [("gloo:send", 5, None, 40, "0", -1, 1, 3)],
    1: [
        ("gloo:recv", 6, None, 40, "0", 0, -1, 3),
        ("gloo:all_reduce", 7, 0, 56, "1", -1, -1, -1),
        ("gloo:send", 5, None, 16, "1", -1, 2, 0),
    ],
    2: [
        ("gloo:all_reduce", 7, 0, 56, "1", -1, -1, -1),
        ("gloo:recv", 6, None, 16, "1", 1, -1, 0),
    ],
}


@pytest.mark.parametrize("rank", range(RANKS))
def test_each_communication_field_by_field(rank: int, traces: Path) -> None:
    found = [printed(node) for node in moves(traces / "comms" / f"trace.{rank}.et")]
    expected = COLLECTIVES + MESSAGES[rank]
    if rank == 1:  # which has what it scatters
        expected = [(*row[:3], RANKS * X, *row[4:]) if row[0] == "gloo:scatter" else row for row in expected]
    assert found == expected
    # The call says how many rows go to whom and come from whom.
    nodes = json.loads((traces / "comms" / f"et_{rank}.json").read_text())["nodes"]
    (call,) = [node for node in nodes if node["name"] == "c10d::alltoall_base_"]
    assert call["inputs"]["values"][3:5] == [[rank + 1] * RANKS, [1, 2, 3]]
    assert call["inputs"]["shapes"][:2] == [[3 * (rank + 1), 2], [6, 2]]


def test_the_ranks_match(traces: Path) -> None:
    """In two groups, of which one numbers its ranks anew."""
    found = commands.document("et", "check", traces / "comms")
    assert (found["collectives"], found["messages"]) == (len(COLLECTIVES) + 1, 2)
    groups = json.loads((traces / "comms" / "comm_groups.json").read_text())
    assert groups == {"0": [0, 1, 2], "1": [1, 2]}
    assert sorted(path.name for path in (traces / "comms").glob("*.et")) == [
        f"trace.{rank}.et" for rank in range(RANKS)
    ]
