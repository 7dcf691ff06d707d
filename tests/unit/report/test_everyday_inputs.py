"""Commands on recordings that are valid but unusual: a table or one line, never a traceback."""

import io
import os
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.measures.memory_report import DeviceReport, MemoryReport, MemoryRow, Moment, Unfollowed
from fastdispatch.record import attach
from fastdispatch.report.memory_text import parts
from fastdispatch.report.terminal import print_parts
from tests import commands


def renamed(name: str, folder: Path) -> str:
    """Record 12 steps inside a function of this name."""
    scope: dict[str, object] = {"work": lambda: sum(range(1000))}
    exec(f"def {name}(graph):\n for _ in range(12):\n  work()\n  graph.step()\n", scope)
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        scope[name](graph)
    return str(folder)


def test_a_difference_of_functions_that_are_open_in_all_steps(tmp_path: Path) -> None:
    before, after = renamed("main_v1", tmp_path / "a"), renamed("main_v2", tmp_path / "b")
    assert "main_v2" in commands.out("diff", before, after, "--all")


def test_stacks_of_a_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for rank in range(2):
        for name, value in (("RANK", str(rank)), ("WORLD_SIZE", "2"), ("TORCHELASTIC_RUN_ID", "one")):
            monkeypatch.setenv(name, value)
        with fastdispatch.CallGraph(tmp_path / "run", ops="off") as graph:
            graph.dump(tmp_path / f"{rank}.json")  # this call is open
        paths.append(tmp_path / f"{rank}.json")
    fastdispatch.merge(paths, tmp_path / "merge.json")
    assert "rank" in commands.out("stacks", tmp_path / "merge.json")


@pytest.mark.parametrize("kind", ["fifo", "text", "deep", "folder", "list", "number", "link"])
def test_a_response_of_a_hostile_process(tmp_path: Path, kind: str) -> None:
    result = tmp_path / "result"
    if kind == "fifo":
        os.mkfifo(result)
    elif kind == "folder":
        result.mkdir()
    elif kind == "link":
        result.symlink_to(tmp_path / "nothing")
    else:
        result.write_text({"text": "x", "deep": "[" * 200_000, "list": "[]", "number": '{"path": 1}'}[kind])
    with pytest.raises(fastdispatch.Error, match="cannot be read"):
        attach._result(os.getpid(), tmp_path)


def test_a_response(tmp_path: Path) -> None:
    (tmp_path / "result").write_text('{"path": "run/rank00000.fd"}')
    assert attach._result(os.getpid(), tmp_path) == {"path": "run/rank00000.fd"}


def test_the_memory_of_a_device_without_a_peak() -> None:
    row = MemoryRow("train.py:step", "train.py", 3, "", "aten::add", {}, {}, 0, 0, 0, 64, 1, 0, 0, 0)
    device = DeviceReport(
        "cpu", 0, None, None, 0, Moment("", "", 0, None, 0), None, "", 0, 0, 0, 12, {"activations": 0}, [row]
    )
    printed = io.StringIO()
    print_parts(parts(MemoryReport("run", 0, 1, [device], Unfollowed(0, 0, 1), kept=True), None), printed)
    assert "peak 0 B on cpu" in printed.getvalue() and "(calls=frame) keeps arguments" in printed.getvalue()
