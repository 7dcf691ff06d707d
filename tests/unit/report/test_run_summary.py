"""The summary of a run (docs/formats/summary.md)."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry, Resource

import fastdispatch
from fastdispatch.report.report_flops import flop_report
from fastdispatch.report.run_summary import PREFIX, run_summary
from tests import commands, many_ranks
from tests.conftest import ROOT
from tests.unit.report.test_diff import Dump

torch = pytest.importorskip("torch")

STEPS = 8
SCHEMAS = ROOT / "docs" / "reference" / "schemas"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that reads a value in each step, with FLOPs: two products of 2 * 8 * 4 * 4 in each step."""
    folder = tmp_path_factory.mktemp("summary") / 'a "run"'
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with fastdispatch.CallGraph(folder, measure="flops"):
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(8, 4)).sum().backward()
            optimizer.step()
    return folder


def test_figures(run: Path) -> None:
    trace = fastdispatch.load(run, steps="settled")
    found = trace.summary()
    figures = {name.removeprefix(PREFIX): value for name, value in found.items()}
    assert all(name.startswith(PREFIX) for name in found)
    assert (figures["ranks"], figures["world"], figures["ranks_incomplete"], figures["steps"]) == (1, 1, 0, STEPS)
    report = trace.report().facts
    assert figures["step_seconds"] == report.step / 1e9
    assert figures["steps_measured"] == report.step_count
    shares = [value for name, value in figures.items() if name.startswith("share_")]
    assert len(shares) == 5 and sum(map(float, shares)) == pytest.approx(1)
    findings = trace.findings()
    assert figures["findings"] == len(findings)
    assert figures["not_decided"] == len(findings.not_decided)
    assert figures["first_finding"] == (findings.findings[0].id if findings.findings else "none")
    assert figures["flops_per_step"] == 2 * 2 * 8 * 4 * 4
    assert "mfu" not in figures


def test_peak(run: Path) -> None:
    trace = fastdispatch.load(run)
    figures = trace.summary(peak=1e9)
    assert figures["fastdispatch/hfu"] == pytest.approx(float(figures["fastdispatch/flops_per_second"]) / 1e9)
    assert figures == trace.summary(peak="1e9")
    for wrong in (0, -1, float("nan"), float("inf"), "fp7"):
        with pytest.raises(fastdispatch.ArgumentError, match="FLOP/s of one device"):
            trace.summary(peak=wrong)


def test_flops_are_those_of_the_report(run: Path) -> None:
    """In particular with backward and recomputation, and the median of the steps."""
    trace = fastdispatch.load(run)
    figures = trace.summary(peak=1e9)
    made = flop_report(trace, by="function", rank=None, sort="total", top=None, hide=False, peak="1e9")
    expected = (made.total.flops, made.rate, made.mfu, made.hfu)
    assert tuple(figures[PREFIX + name] for name in ("flops_per_step", "flops_per_second", "mfu", "hfu")) == expected


def test_every_documented_key_and_no_other(run: Path) -> None:
    schema = json.loads((SCHEMAS / "summary.schema.json").read_text())
    keys = {name.removeprefix(PREFIX) for name in schema["properties"]}
    page = (ROOT / "docs" / "formats" / "summary.md").read_text().partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", page, re.M)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == keys
    resource = Resource.from_contents(json.loads((SCHEMAS / "findings.schema.json").read_text()))
    registry: Registry = Registry().with_resource("findings.schema.json", resource)
    figures = run_summary(fastdispatch.load(run), 1e12)
    jsonschema.Draft202012Validator(schema, registry=registry).validate(figures)


def test_absent_figures(tmp_path: Path) -> None:
    """A dump without steps has no times of steps; every other figure is there."""
    Dump([("train.py:[]:step", 3, 100)]).write(tmp_path / "dump.json")
    figures = fastdispatch.load(tmp_path / "dump.json").summary()
    assert figures["fastdispatch/steps_measured"] == 0
    assert figures["fastdispatch/first_finding"] == "none"
    assert not [name for name in figures if "seconds" in name or "share" in name or "flops" in name]


def test_command(run: Path) -> None:
    figures = commands.document("report", run, "--summary", "--peak", "1e9")
    assert figures == fastdispatch.load(run, steps="settled").summary(peak=1e9)
    lines = commands.out("report", run, "--summary").splitlines()
    assert len(lines) == len(figures) - 2  # without mfu and hfu
    assert f"fastdispatch/steps {STEPS}" in [" ".join(line.split()) for line in lines]


def test_many_ranks(run: Path, tmp_path: Path) -> None:
    """More ranks than tables show: they are read as a sum of ranks, and all are counted."""
    many_ranks.write(run / "rank00000.fd", tmp_path / "many", 20)
    figures = commands.document("report", tmp_path / "many", "--summary")
    assert (figures["fastdispatch/ranks"], figures["fastdispatch/world"]) == (20, 20)
    assert (figures["fastdispatch/ranks_incomplete"], figures["fastdispatch/steps"]) == (0, STEPS)
    assert figures["fastdispatch/step_seconds"] > 0
    assert "fastdispatch/cost_share" not in figures  # not measured
