"""The timeline: lanes, slices with all their fields, arrows, steps, pipelines."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import fastdispatch
from fastdispatch.page.html import PageOptions, page
from fastdispatch.page.plan_svg import colours
from fastdispatch.page.timeline_calls import calls_of
from fastdispatch.pipeline import report
from tests.browser.opened import address, look, opened

pytestmark = pytest.mark.torch

MICRO_BATCHES = 3
#: Pixels. A box has at least a column of so many; blended edges of letters have fewer of any one colour.
SLICE_HEIGHT = 14


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stages, one after the other in one process."""
    folder = tmp_path_factory.mktemp("jobs")
    with fastdispatch.CallGraph(folder, timeline=True, jobs=True, ops="off") as graph:
        for stage in range(2):
            for kind in ("forward", "backward"):
                for mb in range(MICRO_BATCHES):
                    with fastdispatch.job(kind, mb=mb, stage=stage):
                        sum(range(1000))
                    sum(range(3000))
        graph.step()
    file = folder / "page.html"
    file.write_bytes(page(fastdispatch.load(folder, timeline=True), str(folder), PageOptions()))
    return folder


@pytest.fixture
def shown(gpt: Path, browser: Browser) -> Iterator[Page]:
    with opened(browser, gpt / "page.html", "view=timeline") as opened_page:
        yield opened_page


def numbers(shown: Page) -> list[int]:
    text = shown.locator("#view-timeline .note").inner_text().replace("\u202f", "")
    return [int(word) for word in re.findall(r"\d+", text)]


def window(shown: Page) -> tuple[float, float]:
    shown.wait_for_selector("#view-timeline:not(:has([aria-busy=true]))")
    found = dict(re.findall(r"(from|to)=(-?\d+)", address(shown)))
    return float(found["from"]), float(found["to"])


def fields(shown: Page) -> dict[str, str]:
    names = shown.locator("#view-timeline .facts dt").all_inner_texts()
    return dict(zip(names, shown.locator("#view-timeline .facts dd").all_inner_texts(), strict=True))


def test_timeline_rows_are_the_longest_of_all_calls(gpt: Path) -> None:
    trace = fastdispatch.load(gpt, timeline=True)
    every = calls_of(trace.core, 0, 10**6)
    events = sum(trace.ranks[0]["threads"]["events"]) - len(trace.ranks[0]["latest_steps"]["number"])
    assert every.left_out == every.flows_left_out == 0
    assert len(every.rows) == pytest.approx(events, rel=0.01)
    few = calls_of(trace.core, 0, 100)
    assert len(few.rows) == 100
    assert few.left_out == len(every.rows) - 100
    # A call that begins while another one still runs is shown from the end of that on: a few are longer than shown.
    longest, kept = (sorted(row["duration"] for row in made.rows) for made in (every, few))
    assert set(longest[-90:]) <= set(kept)


def test_all_slices_are_there_and_those_that_can_be_seen_are_drawn(shown: Page, gpt: Path) -> None:
    drawn, whole = numbers(shown)[:2]
    assert whole == len(calls_of(fastdispatch.load(gpt, timeline=True).core, 0, 10**6).rows)
    assert 100 < drawn < whole


def test_the_view_opens_at_the_steps(shown: Page, gpt: Path) -> None:
    trace = fastdispatch.load(gpt, timeline=True)
    (steps,) = (rank["latest_steps"] for rank in trace.ranks)
    first = min(row["start"] for row in calls_of(trace.core, 0, 10**6).rows)  # the first step begins with the recording
    shown.locator("#view-timeline .scroller canvas").focus()
    shown.keyboard.press("d")  # the address has the window as soon as it has moved
    begin, end = window(shown)
    assert end - begin == pytest.approx(steps["end"][-1] - max(steps["begin"][0], first), rel=0.01)


def test_keys_and_drags_move_the_window(shown: Page) -> None:
    canvas = shown.locator("#view-timeline .scroller canvas")
    canvas.focus()
    shown.keyboard.press("w")
    first = window(shown)
    shown.keyboard.press("d")
    right = window(shown)
    assert right[0] > first[0]
    assert right[1] - right[0] == pytest.approx(first[1] - first[0], rel=0.01)
    shown.keyboard.press("a")
    assert window(shown)[0] == pytest.approx(first[0], abs=10)
    shown.keyboard.press("s")
    area = canvas.bounding_box()
    shown.keyboard.press("w")
    before = window(shown)
    shown.mouse.move(area["x"] + 600, area["y"] + 60)
    shown.mouse.down()
    shown.mouse.move(area["x"] + 500, area["y"] + 60, steps=4)
    shown.mouse.up()
    assert window(shown)[0] > before[0]


def test_a_click_shows_every_field_and_the_address_has_it(shown: Page, gpt: Path, browser: Browser) -> None:
    area = shown.locator("#view-timeline .scroller canvas").bounding_box()
    shown.mouse.click(area["x"] + 300, area["y"] + 34 + 20 + 7)
    found = fields(shown)
    assert {"Key", "Start", "Duration", "Lane", "Depth", "Kind", "Phase"} <= set(found)
    assert found["Lane"].startswith("rank 0 · thread main")
    assert found["Depth"] == "0"
    assert found["Key"] == shown.locator("#details .key").inner_text()
    place = address(shown).split("#")[1]
    with opened(browser, gpt / "page.html", place) as again:
        assert fields(again) == found
        again.keyboard.press("Escape")


def test_arrows_join_forward_and_backward(shown: Page, gpt: Path) -> None:
    flows = calls_of(fastdispatch.load(gpt, timeline=True).core, 0, 10**6).flows
    assert len(flows) > 20

    def red() -> int:
        return shown.evaluate(
            """() => { const c = document.querySelector('#view-timeline .scroller canvas');
            const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', { willReadFrequently: true });
            copy.drawImage(c, 0, 0);
            const d = copy.getImageData(0, 0, c.width, c.height).data; let n = 0;
            for (let i = 0; i < d.length; i += 4) if (d[i] === 179 && d[i + 1] === 38 && d[i + 2] === 30) n++;
            return n; }"""
        )

    assert red() == 0
    look(shown, view="timeline", slice=flows[0][0], theme="light")
    assert red() > 10


def test_a_lane_folds(shown: Page) -> None:
    drawn = numbers(shown)[0]
    area = shown.locator("#view-timeline .scroller canvas").bounding_box()
    shown.mouse.click(area["x"] + 40, area["y"] + 34 + 8)
    assert numbers(shown)[0] < drawn


def test_jobs_are_a_chart_with_bubbles(pipeline: Path, browser: Browser) -> None:
    with opened(browser, pipeline / "page.html", "view=timeline&slice=0") as shown:
        findings = shown.locator("#view-timeline .findings li").all_inner_texts()
        assert findings == report(pipeline).sentences[:3]
        assert findings[0].startswith("a step takes ")
        found = fields(shown)
        assert (found["Job"], found["stage"], found["micro-batch"]) == ("forward", "0", "0")
        assert found["Lane"] == "rank 0 · pipeline stage 0"
        shown.locator("#view-timeline .scroller canvas").focus()
        shown.keyboard.press("ArrowRight")
        assert fields(shown)["micro-batch"] == "1"
        shown.keyboard.press("f")
        first, last = window(shown)
        assert last > first
        look(shown, view="overview")
        text = shown.locator("#view-overview").inner_text()
        assert "The pipeline" in text and findings[0] in text


def test_a_timeline_without_room_is_thinned_out(gpt: Path, browser: Browser) -> None:
    trace = fastdispatch.load(gpt, timeline=True)
    most = (gpt / "page.html").stat().st_size - 20_000
    made = page(trace, str(gpt), PageOptions(source=True, most=most))
    assert len(made) <= most
    file = gpt / "thin.html"
    file.write_bytes(made)
    with opened(browser, file) as shown:
        assert "shorter slices of the timeline" in shown.locator("#view-overview").inner_text()


def test_no_view_without_a_timeline(gpt: Path, browser: Browser) -> None:
    file = gpt / "still.html"
    file.write_bytes(page(fastdispatch.load(gpt), str(gpt), PageOptions()))
    with opened(browser, file, "view=timeline") as shown:
        assert shown.locator("#tab-timeline").count() == 0
        assert shown.locator("#view-overview").is_visible()


def pixels(shown: Page, colour: str) -> int:
    """The number of pixels of a colour in the timeline."""
    wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    count: int = shown.evaluate(
        """wanted => { const c = document.querySelector('#view-timeline .scroller canvas');
        const copy = new OffscreenCanvas(c.width, c.height).getContext('2d');
        copy.drawImage(c, 0, 0);
        const d = copy.getImageData(0, 0, c.width, c.height).data; let count = 0;
        for (let i = 0; i < d.length; i += 4) count += [0, 1, 2].every((n) => Math.abs(d[i + n] - wanted[n]) < 2);
        return count; }""",
        wanted,
    )
    return count


@pytest.mark.parametrize("receive", ["receive", "RG"])
def test_jobs_have_the_colours_of_the_drawing_and_receives_are_hatched(
    receive: str, tmp_path: Path, browser: Browser
) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", timeline="jobs", jobs=True, calls="off", ops="off"):
        for kind in ("forward", receive, "backward"):
            with fastdispatch.job(kind, mb=2, stage=0):
                sum(range(100_000))
    file = tmp_path / "page.html"
    file.write_bytes(page(fastdispatch.load(tmp_path / "run", timeline=True), "run", PageOptions()))
    with opened(browser, file, "view=timeline&theme=light") as shown:
        assert min(pixels(shown, colours(2, kind)[0]) for kind in ("F", "B")) > 300
        assert pixels(shown, "#37474f") < SLICE_HEIGHT  # of transfers


def test_the_view_opens_at_two_steps_with_folded_threads_below_stages(tmp_path: Path, browser: Browser) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", timeline=True, ops="off", steps="all") as graph:
        for _ in range(10):
            with fastdispatch.job("forward", mb=0, stage=0):
                sum(map(abs, range(300_000)))
            graph.step()
    file = tmp_path / "page.html"
    trace = fastdispatch.load(tmp_path / "run", timeline=True)
    file.write_bytes(page(trace, "run", PageOptions()))
    steps = trace.ranks[0]["latest_steps"]
    with opened(browser, file, "view=timeline&theme=light") as shown:
        view = shown.locator("#view-timeline .note").inner_text()
        took = (steps["end"][5] - steps["begin"][4]) / 1e6
        assert float(re.search(r"([\d.]+) ms in view", view)[1]) == pytest.approx(took, rel=0.02)  # type: ignore[index]


def test_keys_work_at_once(shown: Page) -> None:
    shown.keyboard.press("w")
    assert window(shown)[1] > 0


def test_the_strip_moves_the_window(shown: Page) -> None:
    for _ in range(4):
        shown.keyboard.press("w")
    before = window(shown)
    area = shown.locator("#view-timeline .strip-map").bounding_box()
    shown.mouse.click(area["x"] + 0.9 * area["width"], area["y"] + 20)
    after = window(shown)
    assert after[0] > before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], rel=0.01)


def test_plumbing_is_folded_in_the_timeline_too(shown: Page) -> None:
    folded = numbers(shown)[0]
    shown.keyboard.press("p")
    assert "plumbing=1" in address(shown)
    assert numbers(shown)[0] > folded
