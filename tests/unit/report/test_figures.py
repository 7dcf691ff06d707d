"""One meaning per figure: report, page, end message, diff and top have the same figures of one recording."""

import base64
import gzip
import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.compare.diff import Diff
from fastdispatch.compare.ranks import times
from fastdispatch.text.formats import seconds
from tests import commands, processes

#: Recursion, a generator, a second thread, and time before the first step, which is not time of a step.
PROGRAM = """
import threading, time
import fastdispatch

def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

def numbers():
    yield from range(5)

def other():
    for _ in range(3):
        fibonacci(9)

with fastdispatch.CallGraph("run") as graph:
    time.sleep(0.05)
    graph.step()
    for _ in range(4):
        thread = threading.Thread(target=other)
        thread.start()
        fibonacci(12)
        sum(numbers())
        thread.join()
        graph.step()
"""

FUNCTIONS = ("program.py:[]:fibonacci", "program.py:[]:numbers", "program.py:[]:other")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    (folder / "program.py").write_text(PROGRAM)
    processes.python_program("program.py", folder=folder)
    return folder / "run"


@pytest.fixture
def report(run: Path) -> dict[str, Any]:
    made: dict[str, Any] = commands.document("report", run, "--all")
    return made


@pytest.fixture
def rows(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["where"]: row for row in report["rows"] if row["where"] in FUNCTIONS}


def block(page: str, name: str) -> dict[str, Any]:
    """Values and tables of a block of the page, as its JavaScript reads them."""
    text = re.search(rf'<script[^>]*id="{name}"[^>]*>([^<]*)</script>', page)
    assert text is not None
    content = gzip.decompress(base64.b64decode(text[1]))
    size = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + size])
    types = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f64": "d"}
    made: dict[str, Any] = {"values": head["values"]}
    for table, described in head["tables"].items():
        columns = {}
        for column, what in described["columns"].items():
            cells = memoryview(content[4 + size + what["at"] :])
            width = {"B": 1, "H": 2, "I": 4, "i": 4, "d": 8}[types[what["type"]]]
            values = cells[: width * described["rows"]].cast(types[what["type"]]).tolist()
            columns[column] = [head["texts"][value] for value in values] if what["text"] else values
        made[table] = columns
    return made


def totals(core: dict[str, Any], weight: str) -> dict[str, tuple[int, int]]:
    """Self and total of functions in the page's table: every path counts once."""
    parents, nodes, own = (core["contexts"][name] for name in ("parent", "node", weight))
    below = list(own)
    for context in range(len(parents) - 1, 0, -1):
        if parents[context] >= 0:
            below[parents[context]] += below[context]
    found: dict[str, tuple[int, int]] = {}
    above: list[set[int]] = []
    for context, node in enumerate(nodes):
        callers = above[parents[context]] if parents[context] >= 0 else set()
        above.append(callers | {node})
        self_, total = found.get(core["nodes"]["key"][node], (0, 0))
        outermost = 0 if node in callers else below[context]
        found[core["nodes"]["key"][node]] = self_ + own[context], total + outermost
    return found


def test_the_page_has_the_figures_of_the_report(
    run: Path, report: dict[str, Any], rows: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    assert main(["html", str(run), "-o", str(tmp_path / "x.html")]) == 0
    core = block((tmp_path / "x.html").read_text(), "data-core")
    times = totals(core, "time")
    assert {key: times[key] for key in rows} == {key: (row["self"], row["total"]) for key, row in rows.items()}
    assert {key: totals(core, "calls")[key][0] for key in rows} == {key: row["calls"] for key, row in rows.items()}
    about = core["values"]["about"]
    assert {name: about[name] for name in ("whole", "step", "phases", "threads")} | {"phases": report["phases"]} == {
        name: report[name] for name in ("whole", "step", "phases", "threads")
    }
    assert next(weight["whole"] for weight in core["values"]["weights"] if weight["id"] == "time") == report["whole"]


def test_step_time(run: Path, report: dict[str, Any]) -> None:
    """The median of the settled steps of the main thread, everywhere; step 0, which includes set-up, is not one."""
    rank = fastdispatch.load(run).ranks[0]
    steps, first = rank["latest_steps"], rank["settled"]["steps"]["first"]
    assert steps["number"] == [0, 1, 2, 3, 4] and steps["other"][0] >= 50_000_000
    assert first >= 1
    middle = median(sum(steps[phase["phase"]][i] for phase in report["phases"]) for i in range(first, 5))
    assert report["step"] == pytest.approx(middle, abs=1)
    assert report["step"] == sum(phase["per_step"] for phase in report["phases"])
    assert f"a step of {seconds(report['step'])}" in commands.out("report", run)
    trace = fastdispatch.load(run)
    assert [side.whole for side in Diff(trace, trace).sides] == [report["step"]] * 2
    assert f"{seconds(report['step'])} per step" in commands.out("diff", run, run)
    assert [each.whole for each in times(trace)] == [report["step"]]


def test_shares(run: Path, report: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
    """100 % is the time of main threads, also in `top`."""
    top = commands.document("top", run, "--once", "--total")
    found = {row["key"]: row for row in top["rows"]}
    all_time = commands.document("report", run, "--all", "--steps", "all")
    for row in all_time["rows"]:
        if row["where"] in FUNCTIONS:
            key = row["where"]
            assert found[key]["total"] == pytest.approx(row["total"] / all_time["whole"])
            assert found[key]["self"] == pytest.approx(row["self"] / all_time["whole"])
            assert found[key]["calls"] * all_time["ranks"][0]["recorded"] / 1e9 == pytest.approx(row["calls"])
    share = f"{100 * rows[FUNCTIONS[0]]['total'] / report['whole']:.1f} %"
    line = next(line for line in commands.out("report", run, "--top", 100).splitlines() if FUNCTIONS[0] in line)
    assert f" {share} " in line


def test_the_end_message(run: Path) -> None:
    from fastdispatch.read.summary import summary_lines

    rank = commands.document("report", run, "--steps", "all")["ranks"][0]
    line = summary_lines(str(run / "rank00000.fd"))[0]
    assert line.startswith(f"{rank['steps']} steps, rank 0 of 1")
    assert line.endswith(f" paths in {seconds(rank['recorded'])}")
