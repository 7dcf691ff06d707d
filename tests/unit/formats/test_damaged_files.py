"""Damaged files, through every command that reads their format: the command works, or prints one line with status 2."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastdispatch import cli
from fastdispatch.cli.messages import message
from fastdispatch.read.collectives import number_of_members
from tests.soak import mutants
from tests.soak.mutants import GRAPHS, LINKS, RECORDED, TIMELINES, TRACES

CORPUS = Path(__file__).parents[2] / "c" / "corpus"

#: Files per corpus, spread evenly over those of libFuzzer.
MOST = 6

KINDS = {
    "reader": (".fd", RECORDED),
    "load": (".json", RECORDED),
    "timeline": (".json", TIMELINES),
    "figures": (".json", TIMELINES),
    "et": (".json", TRACES),
    "chakra": (".et", TRACES),
    "kineto": (".json", LINKS),
    "graph": (".txt", GRAPHS),
}


def sample(name: str) -> dict[str, bytes]:
    with tarfile.open(CORPUS / f"fuzz_{name}.tar.xz") as archive:
        files = [(each, archive.extractfile(each)) for each in archive.getmembers() if each.isfile()]
        found = {Path(each.name).name: file.read() for each, file in files if file is not None}
    names = sorted(found)
    crashes = [each for each in names if each.startswith("crash")]
    return {each: found[each] for each in [*crashes, *names[:: max(len(names) // MOST, 1)]]}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    parser = cli.parser
    yield mutants.prepare(tmp_path_factory.mktemp("inputs"))
    cli.parser = parser


@pytest.mark.parametrize("kind", KINDS)
def test_every_command(kind: str, inputs: Path, tmp_path: Path) -> None:
    """Inputs that the fuzzers of the readers found."""
    end, commands = KINDS[kind]
    for each in inputs.iterdir():
        (tmp_path / each.name).symlink_to(each)
    path = tmp_path / f"F{end}"
    for name, content in sample(kind).items():
        path.write_bytes(content)
        assert mutants.faults(mutants.lines_of(commands, path.name), tmp_path) == [], name
        assert path.read_bytes() == content, name


@pytest.mark.parametrize("number", range(20))
def test_mutated_files(number: int, inputs: Path) -> None:
    """The first files of ``make soak``."""
    name, _, wrong = mutants.check(inputs, "0", number)
    assert wrong == [], name


def test_groups_with_damaged_names() -> None:
    assert [number_of_members(text) for text in ("16", "", "x", "9" * 5000)] == [16, 0, 0, 0]


def test_messages_quote_a_part_of_a_damaged_file(capsys: pytest.CaptureFixture[str]) -> None:
    message("x" * 100_000)
    assert len(capsys.readouterr().err) < 2100
