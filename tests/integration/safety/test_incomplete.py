"""The output for a truncated recording begins with a line about it, and omits unread facts."""

import json
from pathlib import Path

import pytest

import fastdispatch
from tests import commands, processes, schemas

pytest.importorskip("torch")

PROGRAM = """
import torch
model = torch.nn.Linear(4, 4)
def step():
    model(torch.ones(1, 4)).sum().backward()
for _ in range(20):
    step()
"""

#: Statements about a recording that are false if their fact was not read.
CLAIMS = (
    "not imported",
    "no steps",
    "nothing ran",
    "not measured",
    " 0.0 %",
    "nothing is being recorded",
    "record with",
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("incomplete")
    (folder / "program.py").write_text(PROGRAM)
    processes.run_in(folder, "fastdispatch", "run", "-q", "--timeline", "--out", "out", "program.py")
    return folder / "out" / "rank00000.fd"


@pytest.fixture(params=(2, 12, 20, 0.5))
def cut(request: pytest.FixtureRequest, recording: Path, tmp_path: Path) -> Path:
    """Truncate to a number of pages; whole recordings to half."""
    content = recording.read_bytes()
    size = int(request.param * 4096) if request.param > 1 else len(content) // 2 // 4096 * 4096
    (tmp_path / "cut.fd").write_bytes(content[:size])
    return tmp_path / "cut.fd"


def lines(*words: object, status: int = 0) -> tuple[list[str], list[str]]:
    found, output, errors = commands.run(*words)
    assert found == status, errors
    return output.splitlines(), errors.splitlines()


def is_reported(line: str) -> bool:
    return "incomplete" in line.lower() and ("cut short" in line or "truncated" in line)


def test_the_first_line_reports_it(cut: Path) -> None:
    for command in (["report"], ["report", "--tree"], ["top", "--once", "--total"], ["stacks"]):
        printed, errors = lines(command[0], cut, *command[1:])
        assert is_reported(printed[0]) and errors == []
        rest = " ".join(printed[1:])
        found = [claim for claim in CLAIMS if claim in rest]
        # The header, which was read, has the number of steps; 0.0 % is a share of a phase.
        assert not {*found} - {"no steps", *([" 0.0 %"] if "phases: " in rest else [])}, rest
    printed, errors = lines("report", cut, "--json")
    document = json.loads("\n".join(printed))
    schemas.valid(document, "report")
    assert document["ranks"][0]["complete"] is False and is_reported(errors[0])


def test_outputs_report_it_first(cut: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for command, output in (("svg", "output.svg"), ("merge", "output.json"), ("html", page.name)):
        _, errors = lines(command, cut, "-o", tmp_path / output)
        assert is_reported(errors[0])
    body = page.read_text().partition("<body>")[2].lstrip()
    assert body.startswith('<p class="status bad"') and is_reported(body.splitlines()[0])
    assert "PyTorch was not imported" not in body


def test_nothing_is_claimed_about_a_timeline_that_was_not_read(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.fd").write_bytes(recording.read_bytes()[: 12 * 4096])
    for arguments in (["export", "chrome"], ["timeline", "merge"]):
        _, errors = lines(*arguments, tmp_path / "cut.fd", "-o", tmp_path / "x.json", status=2)
        assert not [claim for claim in CLAIMS if claim in errors[-1]], errors


def test_a_dump_and_a_merge_keep_it(cut: Path, tmp_path: Path) -> None:
    trace = fastdispatch.load(cut)
    assert trace.ranks[0]["complete"] is False and len(trace.incomplete) == 1
    trace.dump(tmp_path / "dump.json")
    document = json.loads((tmp_path / "dump.json").read_text())
    schemas.valid(document, "dump")
    fastdispatch.merge([tmp_path / "dump.json"], tmp_path / "merged.json")
    assert fastdispatch.load(tmp_path / "merged.json").incomplete == trace.incomplete
    printed, _ = lines("report", tmp_path / "merged.json")
    assert is_reported(printed[0])


def test_damage_is_reported_too(recording: Path, tmp_path: Path) -> None:
    content = bytearray(recording.read_bytes())
    at = content.index(b"\x00fdchunk", 4096)
    content[at : at + 8] = b"damaged!"
    (tmp_path / "hurt.fd").write_bytes(content)
    printed, _ = lines("report", tmp_path / "hurt.fd")
    assert "rank 0 is incomplete" in printed[0] and "damaged pages" in printed[0]


def test_complete_recordings_have_no_report(recording: Path) -> None:
    printed, errors = lines("report", recording)
    assert not is_reported(printed[0]) and errors == []
    trace, target = fastdispatch.load(recording), recording.with_suffix(".json")
    assert trace.ranks[0]["complete"] is True
    trace.dump(target)
    assert "complete" not in json.loads(target.read_text())["ranks"][0]
