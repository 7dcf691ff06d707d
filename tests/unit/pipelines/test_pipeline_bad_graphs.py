"""Invalid graphs, impossible plans, files without permission to write: one line, status 2, nothing lost."""

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


#: Invalid graphs in both forms, and their messages.
CASES = [(text.encode(), message) for text, message in golden.document("commands/graphs")]
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
