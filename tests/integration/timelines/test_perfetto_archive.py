"""``export perfetto -o FILE.tar``: the ranks as files, and Perfetto's manifest of their machines and clocks.

The manifest is checked against the published description of version 1: the trace processor of the other tests is older
than it."""

from __future__ import annotations

import json
import socket
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fastdispatch
from fastdispatch.cli import main
from tests import processes, programs

RANKS = 3
BOOT_ID = 64  # offset in a recording: docs/formats/recording.md

#: https://perfetto.dev/docs/reference/perfetto-manifest, version 1
CLOCK = {"enum": ["REALTIME", "REALTIME_COARSE", "MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW", "BOOTTIME"]}


def only(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
SYNC = only(["file"], file=TEXT, machine=TEXT, clock=CLOCK)
CLOCKS = only(["sync_to"], clock=CLOCK, machine=TEXT, sync_to=SYNC, offset_ns={"type": "integer"})
ENTRY = only(["path"], path=TEXT, machine=only(["name"], name=TEXT), clocks=CLOCKS)
MANIFEST = only(
    ["version"],
    version={"const": 1},
    trace_time=only(["clock"], clock=CLOCK, file=TEXT, machine=TEXT),
    files={"type": "array", "items": ENTRY},
    attributes={"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
)


def contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def manifest_of(files: dict[str, bytes]) -> dict[str, Any]:
    text = files["perfetto_manifest.json"].decode()
    assert "".join(text.split()).startswith('{"perfetto_manifest"')  # how Perfetto detects it
    found = json.loads(text)["perfetto_manifest"]
    jsonschema.validate(found, MANIFEST)
    paths = [entry["path"] for entry in found["files"]]
    assert set(files) == {"perfetto_manifest.json", *paths}
    references = [entry["clocks"]["sync_to"]["file"] for entry in found["files"] if "clocks" in entry]
    assert {found["trace_time"]["file"], *references} <= set(paths)
    return found  # type: ignore[no-any-return]


def archive(folder: Path, *options: str) -> dict[str, bytes]:
    path = folder.parent / "run.tar"
    assert main(["export", "perfetto", str(folder), *options, "-o", str(path)]) == 0
    return contents(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ranks that measured each other's clocks, with boot ids as of three hosts. Their clock is one, in truth."""
    folder = tmp_path_factory.mktemp("clocked") / "run"
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes.run("clocked_ranks.py", folder, port, RANKS)
    for rank in range(RANKS):
        with (folder / f"rank{rank:05}.fd").open("r+b") as file:
            file.seek(BOOT_ID)
            file.write(bytes([rank + 1]) * 16)
    return folder


@pytest.mark.torch
def test_ranks_of_other_hosts_have_offsets_with_bounds(run: Path) -> None:
    files = archive(run)
    manifest = manifest_of(files)
    assert len({entry["machine"]["name"] for entry in manifest["files"]}) == RANKS
    first, *others = manifest["files"]
    assert "clocks" not in first and manifest["trace_time"] == {"clock": "BOOTTIME", "file": first["path"]}
    attributes = manifest["attributes"]
    for rank, entry in enumerate(others, 1):
        assert attributes[f"fastdispatch.rank{rank}.align"] == "pingpong"
        assert abs(entry["clocks"]["offset_ns"]) <= attributes[f"fastdispatch.rank{rank}.uncertainty_ns"]
    assert attributes["fastdispatch.run_id"] == fastdispatch.load(run).meta["run_id"]
    trace = fastdispatch.load(run, timeline=True)
    assert [files[entry["path"]] for entry in manifest["files"]] == [
        trace.export("perfetto", rank=rank) for rank in range(RANKS)
    ]


@pytest.mark.torch
def test_each_file_loads_alone(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("perfetto")
    from tests.consumers.perfetto import assert_clean, open_trace, query

    for name, content in archive(run).items():
        if name.endswith(".pftrace"):
            (tmp_path / name).write_bytes(content)
            with open_trace(tmp_path / name) as processor:
                assert_clean(processor)
                assert query(processor, "select count(*) as n from slice")[0]["n"] > 100


def test_ranks_of_one_host_share_its_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("FASTDISPATCH_RUN_ID", "one")
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        with fastdispatch.CallGraph(tmp_path / "run", ops="off", timeline=True):
            programs.leaf(1)
    manifest = manifest_of(archive(tmp_path / "run"))
    assert [entry["path"] for entry in manifest["files"]] == ["rank00000.pftrace", "rank00001.pftrace"]
    assert all("clocks" not in entry for entry in manifest["files"])
    assert len({entry["machine"]["name"] for entry in manifest["files"]}) == 1
    (one,) = manifest_of(archive(tmp_path / "run", "--rank", "1"))["files"]
    assert one["path"] == "rank00001.pftrace"


def test_clock_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", ops="off", timeline=True):
        programs.leaf(1)
    command = ["export", "perfetto", str(tmp_path / "run"), "--align", "wall", "-o", str(tmp_path / "run.tar")]
    assert main(command) == 2
    assert "an archive has clocks of --align auto" in capsys.readouterr().err
