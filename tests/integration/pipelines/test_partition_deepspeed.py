"""``pipeline.partition`` beside the installed DeepSpeed, and a DeepSpeed pipeline cut by measured time."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.page.html_timeline import findings_of
from tests import commands, processes, schemas

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where DeepSpeed's engine without a pipeline is recorded, once ``both`` is there."""
    return tmp_path_factory.mktemp("plain")


@pytest.fixture(scope="module")
def both(plain: Path) -> dict[str, Any]:
    output = processes.run_warm("deepspeed_cuts.py", 2000, plain, imports=("torch", "deepspeed"))
    return json.loads(output.splitlines()[-1])


def test_cuts_of_random_weights_are_those_of_deepspeed(both: dict[str, Any]) -> None:
    assert len(both["cuts"]) == 2 * 2001
    assert [case for case in both["cuts"] if case[2] != case[3]] == []
    assert both["rng"]


def test_the_print_out_is_that_of_deepspeed(both: dict[str, Any]) -> None:
    assert len(both["reports"]) == 3 * 6 * 4
    for theirs, ours in both["reports"]:
        assert ours == theirs
    assert sum("  loss: cross_entropy\n" in ours for _, ours in both["reports"]) == 24
    assert all(ours.startswith("Partitioning pipeline stages with method ") for _, ours in both["reports"])


def test_errors_have_the_words_of_deepspeed(both: dict[str, Any]) -> None:
    for theirs, ours in both["errors"]:
        assert ours == theirs
    assert [theirs for theirs, _ in both["errors"]] == [
        "runtime: must provide num_stages or topology",
        "runtime: num_stages (2) must divide distributed world size (1)",
        "not there: RECURSIVE BUILD NOT YET IMPLEMENTED",
        "not there: Partitioning method balanced not implemented.",
        r"runtime: Partitioning 'conv\d' found no valid layers to partition.",
        "no error",
        "runtime: PipelineEngine does not understand instruction Prefetch(buffer_id=1, ahead=2)",
        [0, 1, 2],
    ]


def test_deepspeed_without_a_pipeline_has_phases(both: dict[str, Any], plain: Path) -> None:
    assert both
    document = commands.document("pipeline", "report", plain)
    schemas.valid(document, "pipeline-report")
    assert "DeepSpeed ran without a pipeline: there are no stages, every rank has the whole model" in document["notes"]
    assert (document["stages"], document["table"], document["ranks"]) == (0, [], [])
    [row] = document["phases"]
    assert (row["rank"], row["steps"]) == (0, 3)
    assert all(row[phase] > 0 for phase in ("forward", "backward", "optimizer"))
    assert sum(row[phase] for phase in ("forward", "backward", "optimizer", "data", "other")) <= row["step"]
    printed = commands.out("pipeline", "report", plain)
    assert "Phases of a step" in printed and "there are no stages" in printed


def test_a_pipeline_cut_by_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parameters put all dear layers on the first stage. After a run of it each stage has about half of the time,
    trains the same, and records the layers it was given."""
    ranks = processes.start_ranks(("torch", "deepspeed"), "deepspeed_partition.py", 2, tmp_path)
    printed = processes.outputs(ranks)
    first, last = (json.loads(output.splitlines()[-1]) for output in printed)
    assert first["before"] == last["before"] == [0, 7, 9]
    cut = first["after"][1]
    assert first["after"] == last["after"] == [0, cut, 9]
    assert cut in (3, 4, 5)  # 4 of the times as they are; on a busy machine the naps are longer
    names = [str(layer) for layer in range(9) if layer != 5]  # functions are not children
    assert first["loaded"] == [name for name in names if int(name) < cut]
    assert last["loaded"] == [name for name in names if int(name) >= cut]
    assert first["losses"][0] == pytest.approx(first["losses"][1])
    assert f"Partitioning pipeline stages with method parts\nstage=0 layers={cut}\n     0: Dear\n" in printed[0]
    assert "     5: dearer\n" in printed[0] and "  loss: MSELoss\n" in printed[0]
    assert "stage=" not in printed[1]

    trace = fastdispatch.load(tmp_path / "after")
    modules = trace.table("node")
    ran = [calls for where, calls in zip(modules["where"], modules["calls"], strict=True) if "[Dear]:forward" in where]
    assert ran == [5 * 4 * 5]
    the_imbalance_is_found_without_an_option(tmp_path / "before")
    assert main(["pipeline", "partition", str(tmp_path / "before"), "-n", "2", "--report"]) == 0
    shown, reported = capsys.readouterr()
    assert re.findall(r"\d+: (.*)", shown) == [*5 * ["Dear"], "<no module>", *3 * ["Linear"]]
    assert reported.startswith("fastdispatch: layers 5 are functions or shared modules")
    assert main(["pipeline", "partition", str(tmp_path / "before" / "rank00000.fd"), "-n", "2"]) == 0
    assert "no recording of rank 1: layers that ran only there are missing" in capsys.readouterr().err


def the_imbalance_is_found_without_an_option(run: Path) -> None:
    """Jobs need no option; report and page have the same sentences; no rank is slow, because its stage is."""
    made = fastdispatch.pipeline.report(run)
    assert (made.stages, made.schedule["name"], len(made.layer_times)) == (2, "deepspeed-train", made.cuts[-1])
    page = findings_of(fastdispatch.load(run, timeline=True, steps="settled"))
    assert page["findings"] == made.sentences
    assert not [sentence for sentence in made.sentences if "schedule zb" in sentence]
    found = fastdispatch.findings(run)
    first = found.findings[0]
    assert first.id == "stage-imbalance" and first.title.startswith("stage 0 computes ")
    assert first.advice == f"fastdispatch pipeline partition {run} -n 2 prints a better split"
    assert not {"slow-rank", "unequal-work"} & {each.id for each in found.findings}
    assert {"slow-rank", "unequal-work"} <= {each.id for each in found.not_decided}
