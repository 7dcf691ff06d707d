"""Measured FLOPs and bytes as weights of the page: the totals of ``report --flops``, ``--memory`` and ``--comm``."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import fastdispatch
from fastdispatch.measures.memory_report import memory_report
from fastdispatch.page.html import PageOptions, page
from fastdispatch.report.comm_report import comm_rows
from fastdispatch.report.flops_text import in_flop
from fastdispatch.report.report_flops import flop_report
from fastdispatch.text.formats import size
from tests import processes
from tests.browser.opened import look, opened

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available():
    pytest.skip("PyTorch without torch.distributed", allow_module_level=True)

pytestmark = pytest.mark.torch

WEIGHTS = {"flops", "memory", "comm"}


def train(rank: int, folder: str) -> None:
    """Train on one of two ranks: rank 1 has a larger batch."""
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 32))
    batch = torch.ones(4 + 4 * rank, 64)
    with fastdispatch.CallGraph(f"{folder}/run", measure="flops,memory,comm") as graph:
        for _ in range(6):
            model(batch).sum().backward()
            graph.step()
    dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measures")
    processes.spawn_ranks(train, str(folder))
    run = folder / "run"
    (run / "page.html").write_bytes(page(fastdispatch.load(run), str(run), PageOptions()))
    return run


def totals(trace: fastdispatch.Trace, rank: int | None) -> dict[str, str]:
    """Return the totals of the reports, as the page prints them."""
    flops = flop_report(trace, by="node", rank=rank, sort="total", top=None, hide=False, peak=None)
    ranks = (0, 1) if rank is None else (rank,)
    allocated = sum(device.allocated for each in ranks for device in memory_report(trace, each).devices)
    kept = {"flops": in_flop(flops.total.flops), "memory": size(allocated)}
    if rank is None:
        kept["comm"] = size(sum(max(row.sent, row.received) for row in comm_rows(trace, "run")))
    return kept


@pytest.mark.parametrize("rank", [None, 0, 1])
def test_totals_are_those_of_the_reports(run: Path, browser: Browser, rank: int | None) -> None:
    wanted = totals(fastdispatch.load(run), rank)
    with opened(browser, run / "page.html", "view=flame&thread=*") as shown:
        for weight, text in wanted.items():
            look(shown, view="flame", thread="*", weight=weight, rank=-1 if rank is None else rank)
            assert f"{text} in all threads" in shown.locator("#view-flame .crumbs").first.inner_text()


def test_flame_graph_and_table_have_the_weights(run: Path, browser: Browser) -> None:
    key = "torch/nn/modules/linear.py:[Linear]:forward"
    node = fastdispatch.load(run).nodes["key"].index(key)
    with opened(browser, run / "page.html", f"view=flame&weight=flops&node={node}") as shown:
        assert set(shown.locator("#weight option").evaluate_all("l => l.map(o => o.value)")) >= WEIGHTS
        assert "100.0 %" in shown.locator("#details").inner_text()  # forward and backward of the only layer
        look(shown, view="graph", weight="flops")
        assert shown.locator("#view-graph .box").count() > 1
        look(shown, view="table", weight="memory", thread="*")
        heads = shown.locator("#view-table thead button").all_inner_texts()
        assert {"FLOPs per step, total", "Allocated bytes, total", "Communicated bytes, self"} <= set(heads)


def test_a_recording_without_measures_has_no_such_weight(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=flame") as shown:
        offered = shown.locator("#weight option").evaluate_all("l => l.map(o => o.value)")
    assert "time" in offered and not WEIGHTS & set(offered)


def test_the_flops_of_a_layer_are_two_per_weight_and_row_three_times(run: Path) -> None:
    found = fastdispatch.load(run).ranks[1]["measures"]
    steps = sum(count for kind, count in zip(found["kind"], found["count"], strict=True) if kind == "steps")
    assert steps == 6
    # Forward, and backward for the weight: the batch needs no gradient.
    assert totals(fastdispatch.load(run), 1)["flops"] == in_flop(2 * 2 * 8 * 64 * 32)
