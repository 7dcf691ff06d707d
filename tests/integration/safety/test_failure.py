"""Failures end the recording, never the program, and are reported in one line."""

import ctypes
import os
import shutil
import threading
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, processes, programs


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with fastdispatch.CallGraph(tmp_path / "run", ops="off") as graph:
        programs.classes()
    assert graph.path is not None
    return Path(graph.path)


def test_a_recording_of_a_later_version_and_a_cut_header(tmp_path: Path, recording: Path) -> None:
    content, path = recording.read_bytes(), tmp_path / "other.fd"
    for changed, words in ((content[:100], str(path)), (content[:8] + b"\xff\0\0\0" + content[12:], "upgrade")):
        path.write_bytes(changed)
        for command in (["report", path], ["merge", path, "-o", "out.json"]):
            assert words in commands.complaint(*command)


@pytest.mark.parametrize("trial", range(2))
def test_two_processes_with_one_rank_never_write_one_file(trial: int, tmp_path: Path) -> None:
    """Also if they start at the same time."""
    running = [processes.start("endless.py", tmp_path, "calls") for _ in range(2)]
    assert [process.stdout.readline() for process in running] == ["under way\n"] * 2
    for process in running:
        process.kill()
        process.communicate()
    names = sorted(path.name for path in tmp_path.glob("*.fd"))
    assert len(names) == 2
    assert "rank00000.fd" in names
    trace = fastdispatch.load(tmp_path)
    assert len(trace.ranks) == 1
    assert any("rank 0 is there already" in note for note in trace.ranks[0]["notes"])
    assert "rank 0 is there already" in commands.complaint(
        "merge", *tmp_path.glob("*.fd"), "-o", tmp_path / "merged.json"
    )


def test_a_run_directory_serves_the_next_run(tmp_path: Path) -> None:
    for world in (2, 1):
        for rank in range(world):
            program = f"import fastdispatch; fastdispatch.CallGraph({str(tmp_path)!r}).start()"
            changes = {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
            processes.python_program("-c", program, **changes)
        trace = fastdispatch.load(tmp_path)
        assert [rank["rank"] for rank in trace.ranks] == list(range(world))
    assert any("earlier run" in note for note in trace.ranks[0]["notes"])


@pytest.mark.skipif(os.geteuid() != 0, reason="making a small file system needs root")
def test_a_full_disk_costs_the_recording_and_not_the_program(small_disk: Path) -> None:
    result = processes.run("limited_files.py", small_disk / "run", small_disk / "filler")
    assert result.stdout.startswith("done")
    trace = fastdispatch.load(small_disk / "run")
    assert trace.ranks[0]["counters"]["disk_full"] > 0
    assert "<overflow>" in trace.nodes["name"]
    functions = [
        calls
        for calls, node in zip(trace.contexts["calls"], trace.contexts["node"], strict=True)
        if trace.nodes["name"][node].startswith(("function_", "<overflow>"))
    ]
    assert sum(functions) >= 3000  # every call is counted


def test_a_limit_on_the_size_of_files_costs_the_recording_and_not_the_program(tmp_path: Path) -> None:
    result = processes.run("limited_files.py", tmp_path)
    refused, done = result.stdout.splitlines()
    assert "dump.json: cannot write: File too large" in refused
    assert done.startswith("done")
    trace = fastdispatch.load(tmp_path / "rank00000.fd")
    assert trace.ranks[0]["counters"]["disk_full"] > 0
    assert (tmp_path / "rank00000.fd").stat().st_size <= 1 << 20
    assert not (tmp_path / "dump.json").exists()


def test_entering_twice_nested_and_from_two_threads(tmp_path: Path) -> None:
    graph = fastdispatch.CallGraph(None, ops="off")
    with graph:
        with pytest.raises(fastdispatch.Error, match="started already"):
            graph.start()
        with pytest.raises(fastdispatch.Error, match="recording already"), fastdispatch.CallGraph(None):
            raise AssertionError("entered")
        errors: list[BaseException] = []

        def enter() -> None:
            try:
                fastdispatch.CallGraph(None).start()
            except fastdispatch.Error as error:
                errors.append(error)

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        assert len(errors) == 1
        programs.leaf(1)
    with pytest.raises(fastdispatch.Error, match="started already"):
        graph.start()
    graph.stop()
    trace = fastdispatch.Trace(graph._session.trace())
    assert "leaf" in trace.nodes["name"]


def test_an_exception_inside_the_block_passes_and_is_recorded(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), fastdispatch.CallGraph(tmp_path, ops="off"):
        programs.leaf(1)
        raise ZeroDivisionError
    trace = fastdispatch.load(tmp_path)
    assert trace.ranks[0]["state"] == "stopped"
    assert "leaf" in trace.nodes["name"]


@pytest.mark.parametrize(
    ("kind", "status"),
    (
        ("plain", 0),
        pytest.param("with torch", 0, marks=pytest.mark.torch),
        ("exit in block", 5),
        ("hook stays", 0),
    ),
)
def test_the_interpreter_ends_well_with_everything_hooked(kind: str, status: int, tmp_path: Path) -> None:
    process = processes.start("shutdown.py", tmp_path, kind)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == status
    assert errors == ""
    assert output == ("" if status else "end\n")
    trace = fastdispatch.load(tmp_path)
    assert trace.ranks[0]["state"] == ("killed" if kind == "hook stays" else "stopped")


def test_ranks_of_the_environment(tmp_path: Path) -> None:
    program = f"import fastdispatch, sys\nfastdispatch.CallGraph({str(tmp_path)!r}).start()"
    for ranks, expected in (("0", False), ("0,1", True)):
        changes = {"RANK": "1", "WORLD_SIZE": "2", "FASTDISPATCH_RANKS": ranks}
        processes.python_program("-c", program, **changes)
        assert (tmp_path / "rank00001.fd").exists() == expected
    result = processes.python("-c", program, FASTDISPATCH_RANKS="one")
    assert "FASTDISPATCH_RANKS=one" in result.stderr


def test_a_failing_keep_filter_keeps_and_warns_once() -> None:
    def keep(key: str) -> bool:
        raise LookupError(key)

    with (
        pytest.warns(RuntimeWarning, match="LookupError") as warned,
        fastdispatch.CallGraph(None, ops="off", keep=keep) as graph,
    ):
        programs.classes()
    assert len(warned) == 1
    assert "leaf" in fastdispatch.Trace(graph._session.trace()).nodes["name"]


def test_a_recording_can_be_copied_while_it_is_written(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", ops="off") as graph:
        programs.classes()
        assert graph.path is not None
        shutil.copy(graph.path, tmp_path / "copy.fd")
        live = fastdispatch.load(graph.path)
    assert live.ranks[0]["state"] == "running"
    assert "classes" in live.nodes["name"]
    assert fastdispatch.load(tmp_path / "copy.fd").ranks[0]["state"] == "killed"


def test_an_evaluator_removed_by_another_tool_returns_with_the_next_step() -> None:
    """A tool that saved CPython's evaluator before the recording restores it at its end."""
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = ctypes.c_void_p
    python._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    default = ctypes.cast(python._PyEval_EvalFrameDefault, ctypes.c_void_p)
    with fastdispatch.CallGraph(None, ops="off", calls="frame") as graph:
        programs.leaf(1)
        python._PyInterpreterState_SetEvalFrameFunc(python.PyInterpreterState_Get(), default)
        programs.leaf(2)
        graph.step()
        programs.leaf(3)
    trace = fastdispatch.Trace(graph._session.trace())
    table = trace.table("function")
    assert dict(zip(table["where"], table["calls"], strict=True))["tests/programs.py:[]:leaf"] == 2
    assert trace.ranks[0]["counters"]["hook_lost"] == 1
