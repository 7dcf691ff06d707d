"""Inputs of ``load`` as one trace: files, several of them, and directories with damaged files."""

from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.read.open_inputs import read_inputs
from tests import many_ranks, programs


@pytest.fixture
def ranks(tmp_path: Path) -> list[Path]:
    """Recordings of three ranks in a directory."""
    with fastdispatch.CallGraph(tmp_path / "one", ops="off"):
        programs.recursion()
    return many_ranks.write(tmp_path / "one" / "rank00000.fd", tmp_path / "ranks", 3)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "No such file or directory"),
        ("", "the file is empty"),
        ("hello", "neither a recording (.fd) nor a dump (.json) of fastdispatch"),
        ("fastdisp", "cut off within the header, nothing is readable"),
    ],
)
def test_invalid_files(content: str | None, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    if content is not None:
        path.write_text(content)
    with pytest.raises(fastdispatch.Error) as caught:
        read_inputs([path])
    assert str(caught.value) == f"{path}: {fault}"


def test_a_directory_with_bad_files(ranks: list[Path]) -> None:
    """A damaged file and a second one of a rank are skipped and named, in the notes of the first rank."""
    folder = ranks[0].parent
    (folder / "rank00000.again.fd").write_bytes(ranks[0].read_bytes())
    (folder / "rank00007.fd").write_text("fastdisp")
    trace = fastdispatch.load(folder)
    again, damaged = trace.ranks[0]["notes"]
    assert again.startswith(f"skipped: {folder}/rank00000.again.fd: rank 0 is there already")
    assert damaged == f"skipped: {folder}/rank00007.fd: cut off within the header, nothing is readable"
    assert [rank["rank"] for rank in trace.ranks] == [0, 1, 2]


def test_a_directory_without_a_recording(tmp_path: Path) -> None:
    with pytest.raises(fastdispatch.Error, match=r"no recording \(\*\.fd\) in this directory"):
        read_inputs([tmp_path])
    (tmp_path / "rank00000.fd").write_text("fastdisp")
    with pytest.raises(fastdispatch.Error, match=r": skipped: .*rank00000\.fd: cut off"):
        read_inputs([tmp_path])


def test_wrong_arguments_are_not_notes(ranks: list[Path]) -> None:
    with pytest.raises(fastdispatch.ArgumentError, match="the last step is before the first"):
        read_inputs([ranks[0].parent], steps=(5, 2))
