"""The overview, plumbing, threads and heat maps: the figures of the report, and sums that do not change."""

import json
import re
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page

import fastdispatch
from fastdispatch.dataset.run_loading import MANY, load_run
from fastdispatch.detectors import Finding, Where, findings
from fastdispatch.page.html import PageOptions, page
from fastdispatch.page.html_overview import PARTS, block_of
from fastdispatch.read.rank_rows import RankRow
from fastdispatch.report.report_facts import facts
from fastdispatch.text.formats import seconds
from tests import many_ranks
from tests.browser.opened import Dump, address, drawn, look, opened, painted

pytestmark = pytest.mark.torch

RANKS = 5


def number(text: str) -> float:
    return float(re.findall(r"[\d.]+", text)[0])


def half_of_last_digit(text: str) -> float:
    """Error of rounding: 0.05 for "99.9 %"; all below "< 0.01 %" is within it."""
    decimals = len(text.removesuffix(" %").partition(".")[2])
    return 0.5001 * 10**-decimals if "<" not in text else 0.01


def test_the_parts_of_a_step_add_up_to_that_of_the_report(gpt: Path) -> None:
    trace = fastdispatch.load(gpt)
    printed = facts(trace, None)
    values, tables = block_of(trace, printed, findings(trace))
    assert tuple(values["parts"]) == PARTS
    assert sum(values["parts"].values()) == printed.step
    assert sum(tables["ranks"][part][0] for part in PARTS) == printed.step
    by_phase = {phase.phase: phase.per_step for phase in printed.phases}
    assert values["parts"]["forward"] == by_phase["forward"] > 0


class Squares(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(float(index * index))


def test_the_overview_has_the_workers_of_loaders(tmp_path: Path, browser: Browser) -> None:
    run = tmp_path / "run"
    with fastdispatch.CallGraph(run) as graph:
        for _ in torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=1):
            graph.step()
    (tmp_path / "page.html").write_bytes(page(fastdispatch.load(run), str(run), PageOptions()))
    with opened(browser, tmp_path / "page.html") as shown:
        text = shown.locator("#view-overview").inner_text()
        assert "1 DataLoader worker of rank 0 (Squares): " in text and "__getitem__" in text
        assert "rank 0 waited" in text


def test_the_overview_has_step_findings_and_paths(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt)
    printed, found = facts(trace, None), findings(trace)
    with opened(browser, gpt / "page.html") as shown:
        text = shown.locator("#view-overview").inner_text()
        step = seconds(printed.step).replace("us", "\u00b5s")
        assert f"{step} per step" in text
        parts = block_of(trace, printed, found)[0]["parts"]
        exact = {part: 100 * time / sum(parts.values()) for part, time in parts.items()}
        named = [part for part in PARTS if exact[part] >= 0.05]
        shares = shown.locator(".parts b").all_inner_texts()
        for share, part in zip(shares, named, strict=True):
            assert number(share) == pytest.approx(exact[part], abs=half_of_last_digit(share))
        rest = shown.locator(".parts .rest")
        small = [part for part in PARTS if 0 < exact[part] < 0.05]
        assert rest.count() == (1 if small else 0)
        if small:
            count, _, share = re.findall(r"[\d.]+", rest.inner_text())[:3]
            assert int(count) == len(small)
            assert float(share) == pytest.approx(100 - sum(exact[part] for part in named), abs=0.01)
        assert shown.locator(".finding").count() == len(found)
        for finding in found:
            assert finding.title in text
        assert shown.locator("#view-overview tr:has(td.bar)").count() == 12
        shown.locator("#view-overview tbody button").first.click()
        assert "view=flame" in address(shown)
        assert "zoom=" in address(shown)
        assert shown.locator("#view-flame .crumb").count() > 2


def test_sums_of_many_ranks_are_named(gpt: Path, browser: Browser, tmp_path: Path) -> None:
    many_ranks.write(gpt / "rank00000.fd", tmp_path / "run", MANY + 1)
    (tmp_path / "page.html").write_bytes(page(load_run(tmp_path / "run", steps="settled"), "run", PageOptions()))
    with opened(browser, tmp_path / "page.html") as shown:
        text = shown.locator("#view-overview").inner_text()
        assert f"sums of {MANY + 1} ranks" in text
        assert re.search(rf"100 % is .* of {MANY + 1} ranks", text)
        assert "For heat maps" not in text
        assert shown.locator("#view-overview figure canvas").count() == 2  # by phase and by step
    with opened(browser, gpt / "page.html") as shown:
        assert "sums of" not in shown.locator("#view-overview").inner_text()


def test_a_finding_links_to_its_location(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt)
    key = "pretrain.py:[Block]:forward"
    path = ["pretrain.py:[]:pretrain", "pretrain.py:[]:train_step", key, "aten::add"]
    found = findings(trace)
    found.findings = [
        Finding("tiny-ops", "many adds", Where(key, "pretrain.py", 3, path), 0.1, 5000, "4 adds", "fuse", "warning")
    ]
    file = gpt / "finding.html"
    file.write_bytes(page(trace, str(gpt), PageOptions(), found))
    with opened(browser, file) as shown:
        assert "gain up to 5 \u00b5s per step" in shown.locator(".finding.warning").inner_text()
        shown.locator(".finding button", has_text="Flame").click()
        assert shown.locator("#details .key").inner_text() == "aten::add"
        assert shown.locator("#view-flame .crumb").last.inner_text() == "aten::add"
        look(shown, view="overview")
        shown.locator(".finding button", has_text="Graph").click()
        assert shown.locator("#details .key").inner_text() == key
        assert shown.locator("#view-graph .box.focus").count() == 1


def total(shown: Page, name: str) -> list[str]:
    row = shown.locator("#view-table tbody tr").filter(has=shown.locator(f"b:text-is('{name}')")).first
    return row.locator("td").all_inner_texts()


def test_plumbing_is_folded_and_sums_stay(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt)
    assert any(name == "_call_impl" for name in trace.nodes["name"])
    with opened(browser, gpt / "page.html", "view=table&query=_call_impl") as shown:
        rows = shown.locator("#view-table tbody tr")
        assert rows.count() == 0
        assert "of them plumbing" in shown.locator("#found").inner_text()
        matched = shown.locator("#found").inner_text().split("\u00b7")[1:]
        shown.locator("#plumbing").check()
        assert rows.count() > 0
        assert shown.locator("#found").inner_text().split("\u00b7")[1:] == matched
        look(shown, view="table", plumbing=0)
        folded = total(shown, "Block.forward")
        look(shown, view="table", plumbing=1)
        unfolded = total(shown, "Block.forward")
        assert folded[0:4] == unfolded[0:4]  # share and calls
        assert folded[5] == unfolded[5]  # total
        look(shown, view="flame")
        everything = shown.locator("#view-flame .crumbs").first.inner_text()
        shown.keyboard.press("p")
        assert "plumbing=1" in address(shown)
        assert shown.locator("#view-flame .crumbs").first.inner_text() == everything


def test_the_wheel_zooms_and_matches_are_found(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=flame") as shown:
        area = shown.locator("#view-flame .scroller canvas").bounding_box()
        note = shown.locator("#view-flame .note").inner_text()
        shown.mouse.move(area["x"] + 200, area["y"] + 100)
        shown.mouse.wheel(0, -800)
        drawn(shown)
        assert shown.locator("#view-flame .note").inner_text() != note
        shown.keyboard.press("0")
        assert shown.locator("#view-flame .note").inner_text() == note
        shown.fill("#query", "aten::layer_norm")
        shown.keyboard.press("Escape")
        finder = shown.locator("#view-flame .crumbs").nth(1)
        count = int(number(finder.inner_text()))
        assert count > 1
        shown.keyboard.press("n")
        assert finder.inner_text().startswith(f"match 1 of {count}")
        shown.keyboard.press("N")
        assert finder.inner_text().startswith(f"match {count} of {count}")
        assert shown.locator("#details h2").inner_text() == "aten::layer_norm"


def test_the_keys_are_listed(gpt: Path, browser: Browser) -> None:
    with opened(browser, gpt / "page.html", "view=flame") as shown:
        shown.keyboard.press("?")
        assert shown.locator("#keys").is_visible()
        assert "next, previous match" in shown.locator("#keys").inner_text()
        shown.keyboard.press("Escape")
        assert not shown.locator("#keys").is_visible()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ranks of two hosts, pipe stage by pipe stage; an idle thread; the last rank is the slowest."""
    folder = tmp_path_factory.mktemp("heat")
    dump = Dump()
    root = dump.root
    step = dump.call(root, 1, "train.py", "", "step", "project", line=3, own=1000)
    dump.call(step, 2, "", "", "c10d::allreduce_", "", own=3000, flags=2)
    dump.call(step, 1, "train.py", "", "work", "project", line=9, own=9000, flags=1)
    document = json.loads(dump.write(folder / "ranks.json").read_text())
    first = document["ranks"][0]
    document["ranks"] = []
    for rank in range(RANKS):
        more = deepcopy(first) | {"rank": rank, "id": f"{rank:032x}", "world": RANKS}
        more["meta"] = {"host": f"node{1 - rank % 2}", "coordinates": {"pipe": RANKS - rank, "data": 0, "model": 0}}
        more["figures"]["self"][3] *= 1 + rank
        more["recorded"] = sum(more["figures"]["self"])
        more["threads"]["self"] = more["threads"]["covered"] = [more["recorded"]]
        document["ranks"].append(more)
    (folder / "ranks.json").write_text(json.dumps(document))
    trace = fastdispatch.load(folder / "ranks.json")
    (folder / "page.html").write_bytes(page(trace, "ranks.json", PageOptions()))
    return folder


def test_communication_is_a_separate_part(ranks: Path) -> None:
    trace = fastdispatch.load(ranks / "ranks.json")
    values, _ = block_of(trace, facts(trace, None), findings(trace))
    assert values["per"] == "recording"
    assert values["parts"]["communication"] == RANKS * 3000
    assert values["parts"]["backward"] == 0
    assert sum(values["parts"].values()) == facts(trace, None).whole


def test_queries_of_process_groups_are_not_communication(tmp_path: Path) -> None:
    """A DataLoader asks whether there are other ranks, also in a training of one process."""
    dump = Dump()
    step = dump.call(dump.root, 1, "train.py", "", "step", "project", line=3, own=1000)
    dump.call(step, 1, "torch/distributed/distributed_c10d.py", "", "is_initialized", "torch", line=9, own=3000)
    trace = fastdispatch.load(dump.write(tmp_path / "one.json"))
    printed = facts(trace, None)
    values, _ = block_of(trace, printed, findings(trace))
    assert values["parts"]["communication"] == 0
    assert sum(values["parts"].values()) == printed.whole


def test_ranks_are_sorted_heat_maps(ranks: Path, browser: Browser) -> None:
    with opened(browser, ranks / "page.html", "theme=light") as shown:
        assert shown.locator("#view-overview figure canvas").count() >= 1
        choices = shown.locator("#view-overview figure, #view-overview .maps option").all_inner_texts()
        assert {"rank", "host, then rank", "coordinate (pipe, data, model)", "step time"} <= set(choices)
        assert painted(shown, "#view-overview figure canvas")["heat"] > 0


def test_many_ranks_share_lines(gpt: Path, browser: Browser, tmp_path: Path) -> None:
    """A line has the largest value of its ranks, which the tip names."""
    trace = load_run(many_ranks.write(gpt / "rank00000.fd", tmp_path / "run", MANY + 1)[0].parent, steps=None)
    trace.rank_rows = [
        RankRow(
            rank, f"node{rank // 8}", (rank // 64, rank % 64, -1), {"forward": 9000 if rank == 601 else 1000}, {1: 1000}
        )
        for rank in range(1000)
    ]
    (tmp_path / "page.html").write_bytes(page(trace, "run", PageOptions()))
    with opened(browser, tmp_path / "page.html") as shown:
        maps = shown.locator("#view-overview .maps")
        assert "up to 6 ranks" in maps.inner_text() and "slowest rank 601" in maps.inner_text()
        canvas = maps.locator("canvas").first
        canvas.hover(position={"x": 140, "y": 22 + 3 * (601 // 6) + 1})
        tip = shown.locator(".tip").inner_text()
        assert tip.startswith("rank 601 · step\n9 µs\nthe largest of 6 rows\nmedian of the ranks 1 µs")
        maps.locator("select").select_option("place")
        canvas.hover(position={"x": 140, "y": 22 + 1})
        assert shown.locator(".tip").inner_text().endswith("node0\npipe, data, model: 0, 0, \u2013")


def test_nothing_overlaps_on_a_small_screen(ranks: Path, browser: Browser) -> None:
    with opened(browser, ranks / "page.html") as shown:
        for width in (700, 1280, 1440):
            shown.set_viewport_size({"width": width, "height": 700})
            drawn(shown)
            outside = shown.locator("#view-overview .halves > section").evaluate_all(
                "list => list.filter(e => e.scrollWidth > e.clientWidth + 1).length"
            )
            assert outside == 0, width
