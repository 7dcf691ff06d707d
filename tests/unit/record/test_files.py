"""Where a process records: names, network file systems, file systems without locks."""

import json
import os
import struct
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.files import run_directory
from tests import processes, programs


@pytest.fixture(autouse=True)
def one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTDISPATCH_RUN_ID", "one")


@pytest.fixture
def on_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_directory, "network_file_system", lambda folder: "nfs4")


def record(out: Path, calls: int = 1) -> Path:
    with fastdispatch.CallGraph(out, ops="off") as graph:
        for number in range(calls):
            programs.leaf(number)
    assert graph.path is not None
    return Path(graph.path)


def leaves(path: Path) -> int:
    table = fastdispatch.load(path).table("function")
    calls: int = dict(zip(table["where"], table["calls"], strict=True)).get("tests/programs.py:[]:leaf", 0)
    return calls


def test_on_a_network_file_system_it_is_local_until_it_has_ended(on_a_network: None, tmp_path: Path) -> None:
    record(tmp_path, 1)
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.leaf(1)
        programs.leaf(2)
        assert graph._session is not None and graph._session.path is not None
        local = Path(graph._session.path)
        assert local.parent != tmp_path and local.is_file()
        assert leaves(tmp_path) == 1  # the previous one
    assert not local.exists()
    assert leaves(tmp_path) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"rank00000.fd", "manifest.json", ".manifest.lock"}


def test_files_created_meanwhile_by_another_process_stay(on_a_network: None, tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.leaf(1)
        programs.leaf(2)
        other = record_elsewhere(tmp_path)
    assert graph.path == str(tmp_path / f"rank00000.{os.getpid()}.fd")
    assert leaves(Path(graph.path)) == 2 and other.is_file()
    assert {entry["file"] for entry in run_directory.entries(tmp_path)} == {other.name, Path(graph.path).name}


def record_elsewhere(folder: Path, rank: int = 0) -> Path:
    """In another process of the run."""
    text = f"import fastdispatch\nwith fastdispatch.CallGraph({str(folder)!r}, ops='off'): sorted([1], key=lambda x: x)"
    changes = {"RANK": str(rank), "FASTDISPATCH_RUN_ID": os.environ["FASTDISPATCH_RUN_ID"]}
    processes.python_program("-c", text, **changes)
    return folder / run_directory.recording_name(rank)


@pytest.fixture
def unlocked(tmp_path: Path) -> Path:
    """A recording that has not finished, on a file system without locks (docs/formats/recording.md)."""
    path = record(tmp_path)
    content = bytearray(path.read_bytes())
    assert struct.unpack_from("<I", content, 464) == (1,)
    struct.pack_into("<I", content, 464, 2)
    struct.pack_into("<I", content, 80, 1)
    path.write_bytes(content)
    return path


def test_state_of_the_writer_is_unknown_without_locks(unlocked: Path) -> None:
    assert fastdispatch._core.writer(unlocked) == "unknown"
    rank = fastdispatch.load(unlocked).ranks[0]
    assert rank["state"] == "running"
    assert any("not known" in note for note in rank["notes"])


def test_without_locks_no_file_is_replaced(unlocked: Path) -> None:
    content = unlocked.read_bytes()
    other = record(unlocked.parent, 3)
    assert other == unlocked.with_name(f"rank00000.{os.getpid()}.fd")
    assert unlocked.read_bytes() == content and leaves(other) == 3


def test_names_of_one_process_id_on_two_hosts_differ(unlocked: Path) -> None:
    taken = unlocked.with_name(f"rank00000.{os.getpid()}.fd")
    taken.write_bytes(unlocked.read_bytes())
    assert record(unlocked.parent) == unlocked.with_name(f"rank00000.{os.getpid()}-2.fd")


def test_the_lock_is_held_by_one_at_a_time_and_by_no_child(tmp_path: Path) -> None:
    one, two = run_directory.open_folder(tmp_path), run_directory.open_folder(tmp_path)
    with run_directory.locked(one):
        assert not two.lock(run_directory.LOCK)
        child = os.fork()
        if child == 0:
            del one  # the lock of the parent stays
            os._exit(0)
        os.waitpid(child, 0)
        assert not two.lock(run_directory.LOCK)
    assert two.lock(run_directory.LOCK)
    two.unlock()
    assert (tmp_path / run_directory.LOCK).read_bytes() == b""


def test_a_run_begins_anew_in_the_manifest(tmp_path: Path) -> None:
    folder = run_directory.open_folder(tmp_path)
    for rank in range(3):
        assert run_directory.register(folder, f"rank{rank:05d}.fd", rank, 3, "monday") is None
    assert [entry["rank"] for entry in run_directory.entries(tmp_path)] == [0, 1, 2]
    run_directory.register(folder, "rank00000.fd", 0, 1, "tuesday")
    assert [entry["rank"] for entry in run_directory.entries(tmp_path)] == [0]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["run_id"], manifest["world"]) == ("tuesday", 1)


def test_a_manifest_that_cannot_be_written_is_a_line(tmp_path: Path) -> None:
    folder = run_directory.open_folder(tmp_path)
    (tmp_path / "manifest.json").mkdir()
    line = run_directory.register(folder, "rank00000.fd", 0, 1, "run")
    assert line is not None and "manifest.json" in line and "\n" not in line


def test_a_late_rank_replaces_no_file_of_the_run(tmp_path: Path) -> None:
    """Two processes of one rank, one of them ended, and a recording of an earlier run."""
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.leaf(1)
        other = record_elsewhere(tmp_path, 1)
        graph._rank, graph._world = 1, 2
    assert graph.path == str(tmp_path / "rank00000.fd")
    assert leaves(tmp_path / "rank00000.fd") == 1 and leaves(other) == 0
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.leaf(1)
        programs.leaf(2)
        graph._rank, graph._world = 1, 2
    assert graph.path == str(tmp_path / "rank00001.fd")
    assert leaves(tmp_path / "rank00001.fd") == 2


def test_a_directory_without_a_free_name_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_directory, "_writer", lambda folder, name: "live")
    with pytest.raises(fastdispatch.Error, match="all names for a recording of rank 3 are in use"):
        run_directory.free_name(run_directory.open_folder(tmp_path), 3)
