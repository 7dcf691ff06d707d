"""A DeepSpeed pipeline, recorded on both stages, merged and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.page.html import PageOptions, page
from tests import commands, pipelines, processes, traces
from tests.browser.opened import launched, look, opened

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deepspeed")
    pipelines.record("deepspeed", folder, 2, 2)
    return folder


def edges_of(trace: fastdispatch.Trace, rank: int | None = None) -> set[tuple[str, str]]:
    where = trace.table("function", rank)["where"]
    graph = trace.graph("function", rank)
    return {
        (where[caller], where[callee])
        for caller, callee, calls in zip(graph["caller"], graph["callee"], graph["calls"], strict=True)
        if caller >= 0 and calls
    }


def test_both_stages_are_recorded_step_by_step(run: Path) -> None:
    trace = fastdispatch.load(run)
    for rank in trace.ranks:
        assert (rank["state"], rank["steps"], rank["steps_source"]) == ("stopped", 2, "engine")
        assert not rank["notes"]
    engine = "deepspeed/runtime/pipe/engine.py:[PipelineEngine]"
    calls = traces.column(trace)
    assert calls[f"{engine}:train_batch"] == 2 * 2
    assert calls[f"{engine}:_exec_forward_pass"] == 2 * 3 * 4  # and an evaluation
    assert calls[f"{engine}:_exec_backward_pass"] == 2 * 2 * 4
    assert calls[f"{engine}:_exec_send_activations"] == 3 * 4  # only stage 0
    assert (f"{engine}:train_batch", f"{engine}:_exec_schedule") in edges_of(trace)


def test_the_merge_has_every_edge_of_each_rank(run: Path, tmp_path: Path) -> None:
    merged = tmp_path / "merged.json"
    fastdispatch.merge([run / "rank00001.fd", run / "rank00000.fd"], merged)
    trace = fastdispatch.load(merged)
    both = edges_of(trace)
    for rank in (0, 1):
        alone = edges_of(fastdispatch.load(run / f"rank{rank:05d}.fd"))
        assert alone == edges_of(trace, rank)
        assert alone < both
    coverage = trace.coverage()
    assert coverage["attributed"] >= 0.99 * (coverage["autograd"] - coverage["accumulate"])


def test_it_is_reported_and_drawn(run: Path, tmp_path: Path) -> None:
    assert "train_batch" in commands.out("report", run)
    for style in ("classic", "default"):
        picture = tmp_path / f"{style}.svg"
        processes.successful("svg", run, "-o", picture, "--style", style)
        assert "train_batch" in picture.read_text()
    processes.successful("export", "callgraph", run, "-o", tmp_path)
    graph = json.loads((tmp_path / "call_graph_0.json").read_text())
    assert graph["nodes"] == sorted(graph["nodes"])
    assert any("PipelineEngine" in edge and "train_batch->" in edge for edge in graph["edges"])


def test_the_page_of_both_stages(run: Path) -> None:
    file = run / "page.html"
    file.write_bytes(page(fastdispatch.load(run, timeline=True), "pipeline", PageOptions()))
    with launched() as browser, opened(browser, file, "query=train_batch") as shown:
        assert shown.locator("#found").inner_text().split(" ")[0] != "0"
        for view in ("graph", "table", "modules", "source", "overview"):
            look(shown, view=view)
            assert shown.locator(f"#view-{view}").is_visible()
        text = shown.locator("#view-overview").inner_text()
        assert "0 of 2" in text and "1 of 2" in text
