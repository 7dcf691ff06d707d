"""Every planted fault of tests/programs is the first finding, and its clean twin has none."""

import json
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.detectors import Findings, limits
from fastdispatch.detectors.decide import DETECTORS
from tests import commands, processes, schemas, warm

pytest.importorskip("torch")

pytestmark = pytest.mark.alone

PROGRAMS = processes.ROOT / "tests" / "programs"
FILES = {path.stem: path for path in sorted(PROGRAMS.rglob("*.py")) if path.stem != "record"}
NAMES = [name for name, path in FILES.items() if "FINDING" in path.read_text()]

#: Detectors without a program here: they need a GPU (test_findings_gpu.py), a budget, or an engine.
OTHERS = {"launch-bound", "single-precision", "allocator-retry", "own-cost", "pipeline-bubble"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(autouse=True)
def with_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    monkeypatch.syspath_prepend(str(PROGRAMS / "habits"))


@cache
def program(name: str) -> dict[str, Any]:
    sys.path.insert(0, str(PROGRAMS))
    try:
        return runpy.run_path(str(FILES[name]))
    finally:
        sys.path.remove(str(PROGRAMS))


@cache
def record(name: str, variant: str, folder: Path) -> Path:
    """Record a program once, with or without its fault; ranks that hang are killed when rank 0 has run long enough."""
    out, ranks = folder / f"{name}-{variant}", program(name).get("RANKS", 1)
    stuck = program(name).get("HANGS", False) and variant == "fault"
    started = []
    for rank in range(ranks):
        arguments = [str(PROGRAMS / "record.py"), str(out), name, variant]
        arguments += [f"{out}.rendezvous", str(rank), str(ranks)] if ranks > 1 else []
        imports = ("torch", "torch._dynamo", "torch.distributed", "fastdispatch")
        started.append(warm.start(imports, arguments, processes.environment()))
    if stuck:
        processes.wait_for(lambda: hangs(out, ranks))
    for process in started:
        if stuck:
            process.kill()
            process.wait(100)
        else:
            assert process.wait(100) == 0, process.stderr.read()
    return out


def hangs(out: Path, ranks: int) -> bool:
    """Whether the ranks have stood still for longer than the limit and the period of the signs of life."""
    if len([*out.glob("rank*.fd")]) < ranks:
        return False
    found = [each.evidence["quiet_ns"] for each in fastdispatch.findings(out) if each.id == "hang"]
    return bool(found) and found[0] >= (limits.HANG_S + 1.5) * 1e9


def findings(name: str, variant: str, folder: Path) -> Findings:
    return fastdispatch.findings(record(name, variant, folder))


def listed(found: Findings) -> list[str]:
    return [f"{each.id} at {each.where}: {each.title}; {each.proof}" for each in found]


def undecided(found: Findings) -> set[str]:
    """Undecided detectors, other than those that an overloaded machine keeps from a decision."""
    return {each.id for each in found.not_decided if "had no core" not in each.reason}


@pytest.mark.parametrize("name", NAMES)
def test_first_finding_is_the_planted_fault(name: str, folder: Path) -> None:
    found = findings(name, "fault", folder)
    assert [each.id for each in found][:1] == [program(name)["FINDING"]], listed(found)
    first = found.findings[0]
    stem = Path(first.where.file).stem
    assert stem in (name, "small"), first.where
    source = FILES[stem].read_text().splitlines()
    assert 0 < first.where.line <= len(source)
    assert program(name).get("LINE", "") in source[first.where.line - 1], first.where
    assert first.where.path[-1:]
    assert first.advice
    assert first.proof


@pytest.mark.parametrize("name", NAMES)
def test_clean_twin_has_no_finding(name: str, folder: Path) -> None:
    found = findings(name, "clean", folder)
    assert listed(found) == []
    assert program(name)["FINDING"] not in undecided(found)


@pytest.mark.parametrize(
    ("cost", "error", "ids"), [(10**6, 10**5, ["own-cost"]), (10**6, 6 * 10**5, []), (10**5, 10**4, [])]
)
def test_the_cost_of_recording(cost: int, error: int, ids: list[str], folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    fastdispatch.load(record(NAMES[0], "clean", folder)).dump(path)
    dump = json.loads(path.read_text())
    times = {"step": 10**7, "step_low": 10**7, "step_high": 10**7, "cost": cost, "cost_error": error}
    run = {"budget": 0.5, "steps": 10**5, "recorded": 4000, "time": 10**11, "samples": 40}
    dump["ranks"][0]["meta"]["steps_of_run"] = run | times
    path.write_text(json.dumps(dump))
    found = fastdispatch.findings(path)
    assert [each.id for each in found] == ids
    assert ("own-cost" in undecided(found)) == (error > 5 * 10**5)


def test_a_cast_is_not_the_line_that_reads_a_value(folder: Path) -> None:
    """``float(x)`` reads a value, ``x.float()`` does not."""
    first = findings("targets_one_by_one", "fault", folder).findings[0]
    source = FILES["targets_one_by_one"].read_text().splitlines()
    assert source[first.where.line - 1].startswith("def encode(")


def test_a_loop_of_several_layers_is_one_finding(folder: Path) -> None:
    found = findings("mask_of_each_layer", "fault", folder)
    first = found.findings[0]
    assert [each.title for each in found if each.id == "tiny-ops"] == [first.title]
    assert first.evidence["operators_per_step"] >= 2 * 64 * 2  # of both layers


def test_printing_is_one_call_per_step(folder: Path) -> None:
    first = findings("printed_batch", "fault", folder).findings[0]
    assert first.title.startswith("load_batch prints tensors")
    assert first.evidence["calls_per_step"] == 2


def test_messages_are_not_collectives(folder: Path) -> None:
    found = findings("many_messages", "fault", folder)
    assert not [each for each in found if "collectives" in each.title], listed(found)


def test_bytes_of_a_skewed_exchange_are_exact(folder: Path) -> None:
    """Each rank sends 512 rows of 384 numbers; rank 0 receives 64 rows of each rank, rank 1 448."""
    found = findings("skewed_exchange", "fault", folder)
    first = found.findings[0]
    assert first.evidence == {"bytes_per_step": {"0": 512 * 384 * 4, "1": 2 * 448 * 384 * 4}}
    assert first.ranks == [1]
    assert first.where.key == "skewed_exchange.py:[]:exchange"
    reasons = {each.id: each.reason for each in found.not_decided}
    assert reasons["low-intensity"] == "no FLOPs were measured: record with measure='flops'"


def test_a_chain_of_low_intensity_has_its_operators_and_bytes(folder: Path) -> None:
    """A call of gelu has 8 operators with a formula, all of them element-wise."""
    found = findings("activation_by_hand", "fault", folder)
    first = found.findings[0]
    assert first.where.key == "activation_by_hand.py:[]:gelu"
    assert first.evidence["operators_per_call"] == 8
    assert 0 < first.evidence["flops_per_step"] <= limits.LOW_INTENSITY * first.evidence["bytes_per_step"]
    reasons = {each.id: each.reason for each in found.not_decided}
    assert reasons["skewed-comm"] == "one rank"


def test_bytes_of_collectives_are_undecided_without_comm(folder: Path) -> None:
    found = findings("unequal_counts", "clean", folder)
    reasons = {each.id: each.reason for each in found.not_decided}
    assert reasons["skewed-comm"] == "no communication was measured: record with measure='comm'"


def test_every_detector_has_a_program() -> None:
    assert {program(name)["FINDING"] for name in NAMES} == set(DETECTORS) - OTHERS


def test_json_follows_its_schema_and_the_order_is_by_gain(folder: Path) -> None:
    out = record("loop_over_rows", "fault", folder)
    document = commands.document("findings", out)
    schemas.valid(document, "findings")
    gains = [each["gain_ns"] for each in document["findings"]]
    assert gains == sorted(gains, reverse=True)
    assert set(schemas.schema("findings")["$defs"]["id"]["enum"]) == set(DETECTORS)


def test_text_has_location_evidence_and_advice(folder: Path) -> None:
    out = record("branch_on_tensor", "fault", folder)
    first, *lines = commands.out("findings", out).splitlines()
    lines = lines[lines.index("") + 1 :]
    source = (PROGRAMS / "branch_on_tensor.py").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "any()" in text)
    assert "a step takes" in first
    assert lines[0].startswith("1. warning: forward reads values of tensors (aten::is_nonzero)")
    assert f"at branch_on_tensor.py:{line} [host-sync" in lines[0]
    assert lines[1].startswith("   evidence: aten::is_nonzero: 1 call per step during forward")
    assert lines[2].startswith("   to do: ")
    assert any(text.startswith("not decided: ") and "slow-rank" in text for text in lines)


def test_without_steps_nothing_is_decided(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "out", ops="off"):
        sorted([2, 1])
    printed = commands.out("findings", tmp_path / "out")
    assert "nothing was found, since no step was recorded" in printed
    found = fastdispatch.findings(tmp_path / "out")
    assert undecided(found) == set(DETECTORS) - {"hang"}


def test_a_merge_has_findings_too(folder: Path, tmp_path: Path) -> None:
    """A merge has only the settled steps: detectors of other steps do not decide."""
    for name in ("loop_over_rows", "branch_on_tensor"):
        out = record(name, "fault", folder)
        assert main(["merge", str(out), "-o", str(tmp_path / f"{name}.json")]) == 0
        found = fastdispatch.findings(tmp_path / f"{name}.json")
        assert [each.id for each in found] == [each.id for each in fastdispatch.findings(out)]
    reasons = {each.id: each.reason for each in found.not_decided}
    assert "give the recording to select others" in reasons["slowdown"]
    assert "[tiny-ops" in commands.out("report", tmp_path / "loop_over_rows.json")


# -- the gallery -------------------------------------------------------------------------------------------------------


GALLERY = processes.ROOT / "docs" / "gallery"

SECTION = re.compile(r"^## [^\n]+\n.*?\]\((\w+)\.svg\)\n", re.M | re.S)
PICTURES = sorted(picture.stem for picture in GALLERY.glob("*.svg"))


def make(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GALLERY / "make_gallery.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def sections(folder: Path) -> dict[str, str]:
    """The sections of the page by program."""
    return {found[1]: found[0] for found in SECTION.finditer((folder / "README.md").read_text())}


@pytest.mark.parametrize("name", PICTURES)
def test_an_entry_is_recorded_and_drawn(name: str, tmp_path: Path) -> None:
    """The script ends with an error if the first finding is not the planted one."""
    result = make("--into", tmp_path, name)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"README.md", f"{name}.svg"}
    made, kept = sections(tmp_path), sections(GALLERY)
    assert list(made) == [name]
    assert made[name].split("```text")[0] == kept[name].split("```text")[0]  # program and commands
    assert ElementTree.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")
    if name == "item_in_metrics":
        assert "accuracy reads values of tensors (aten::item) 256 times per step" in made[name]
        assert "accuracy" in (tmp_path / f"{name}.svg").read_text()


@pytest.mark.parametrize("name", PICTURES)
def test_a_section_has_the_planted_finding(name: str) -> None:
    text = sections(GALLERY)[name]
    first = next(line for line in text.splitlines() if line.startswith("1. "))
    assert f"[{program(name)['FINDING']}" in first
    assert (GALLERY / f"{name}.svg").stat().st_size < 100_000
    assert str(processes.ROOT) not in text + (GALLERY / f"{name}.svg").read_text()


def test_every_picture_has_a_section() -> None:
    assert len(PICTURES) >= 7
    assert sorted(sections(GALLERY)) == PICTURES


def test_unknown_programs_are_rejected() -> None:
    result = make("nothing")
    assert result.returncode == 2
    assert "unknown programs: nothing" in result.stderr
