"""Which files of a run directory are read, and the lines about others."""

import json
import os
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli.timeline.timeline_merge import list_files
from fastdispatch.files.inputs import find
from fastdispatch.files.run_sources import recordings, source_of
from fastdispatch.read import live


def recording(path: Path, world: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"fastdisp".ljust(92, b"\0") + world.to_bytes(4, "little"))
    return path


def read(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the files that are read, and the lines."""
    found = source_of(folder)
    assert isinstance(found, tuple) and found[0] == str(folder)
    return [os.path.relpath(each, folder) for each in found[1]], found[2]


def test_a_file_is_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert source_of(tmp_path / "file") == str(tmp_path / "file")
    with pytest.raises(fastdispatch.Error, match="absent: No such file or directory"):
        source_of(tmp_path / "absent")


def test_dumps_are_read_without_recordings(tmp_path: Path) -> None:
    for name in ("rank00000.json", "rank00001.json", "page.json"):
        (tmp_path / name).write_text("{}")
    assert read(tmp_path) == (["rank00000.json", "rank00001.json"], [])
    recording(tmp_path / "rank00003.fd")
    assert read(tmp_path) == (["rank00003.fd"], [])


def test_folders_of_machines(tmp_path: Path) -> None:
    for name in ("machine-a/rank00000.fd", "machine-b/rank00001.fd", "machine-b/machine-c/x.fd", "other/y.fd", ".fd"):
        recording(tmp_path / name)
    assert read(tmp_path) == (["machine-a/rank00000.fd", "machine-b/rank00001.fd"], [])


def test_the_preferred_recording_is_first(tmp_path: Path) -> None:
    recording(tmp_path / "rank00000.fd", 1)
    recording(tmp_path / "rank00000.4711.fd", 1)
    recording(tmp_path / "rank00000.99.fd", 2)
    os.mkfifo(tmp_path / "rank00009.fd")
    assert read(tmp_path)[0] == ["rank00000.99.fd", "rank00000.fd", "rank00000.4711.fd", "rank00009.fd"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{}", ["a.fd", "b.fd"]),
        ('{"format": "other", "ranks": [{"file": "a.fd"}]}', ["a.fd", "b.fd"]),
        ('{"format": "fastdispatch.run", "ranks": 7}', ["a.fd", "b.fd"]),
        ('{"format": "fastdispatch.run", "ranks": [7, {"rank": 0}, {"file": 1}]}', ["a.fd", "b.fd"]),
        ('{"format": "fastdispatch.run", "ranks": [7, {"rank": 0, "file": "a.fd"}]}', ["a.fd"]),
    ],
)
def test_manifest_names_the_run(text: str, names: list[str], tmp_path: Path) -> None:
    recording(tmp_path / "a.fd")
    recording(tmp_path / "b.fd")
    (tmp_path / "manifest.json").write_text(text)
    line = f"skipped: {tmp_path}/b.fd: not named in manifest.json, so of an earlier run"
    assert read(tmp_path) == (names, [line] if names == ["a.fd"] else [])


@pytest.mark.parametrize("text", ['{"ranks":[{"ra', "[" * 100000, json.dumps({})[:1], b"\xff\xfe{".decode("latin-1")])
def test_damaged_manifest(text: str, tmp_path: Path) -> None:
    recording(tmp_path / "a.fd")
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    line = f"skipped: {tmp_path}/manifest.json: not valid JSON, all recordings beside it are read"
    assert read(tmp_path) == (["a.fd"], [line])


def test_all_commands_read_the_same_recordings(tmp_path: Path) -> None:
    """Of a run directory with folders of machines, a recording of an earlier run and one that is gone."""
    names = ["rank00000.fd", "machine1/rank00001.fd"]
    for name in (*names, "rank00007.fd"):
        recording(tmp_path / name)
    ranks = [{"rank": rank, "file": f"rank{rank:05d}.fd"} for rank in (0, 2)]
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "fastdispatch.run", "ranks": ranks}))
    expected = sorted(str(tmp_path / name) for name in names)
    assert sorted(read(tmp_path)[0]) == sorted(names)
    assert recordings(tmp_path) == expected
    assert [source.path for source in find([str(tmp_path)])] == expected
    assert list(map(str, live.recordings(str(tmp_path)))) == expected
    assert sorted(map(str, list_files([str(tmp_path)], ""))) == expected
