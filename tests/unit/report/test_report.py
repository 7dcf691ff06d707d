"""``fastdispatch report``: its figures against the trace, its text against known programs."""

import contextlib
import functools
import io
import json
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.read.recording_cost import recording_cost
from fastdispatch.read.steps import time_of_run
from fastdispatch.report import report_model
from fastdispatch.report.report_facts import _NO_LOSS, facts
from fastdispatch.report.report_lines import _DROPPED, _MISSES
from fastdispatch.report.report_model import Report, report
from fastdispatch.report.report_rows import ReportOptions
from fastdispatch.report.report_text import print_report
from fastdispatch.text.formats import grouped, module_pattern, seconds
from tests import commands, processes, programs
from tests.unit.report.timed import MS, timed

THIS = "test_report.py"


def spend(milliseconds: float) -> None:
    end = time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < end:
        pass


def cheap() -> None:
    spend(1)


def dear() -> None:
    for _ in range(3):
        cheap()
    spend(20)


def program() -> None:
    dear()
    cheap()
    functools.wraps(cheap)(lambda: None)()  # functions of the standard library, far below 0.1 %


def spending(path: list[str]) -> int:
    """Spend time in known functions, and wait for it elsewhere."""
    return 500 * MS if path[-1] in ("spend", "join") else 1000


def in_thread(work: Callable[[], object]) -> None:
    """Run on a thread, without the frames of pytest."""
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded") / "run"
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        for _ in range(4):
            program()
            graph.step()
    return folder


def made(path: Path, **options: object) -> Report:
    return report(fastdispatch.load(path), ReportOptions(**options))


@pytest.mark.parametrize(
    "options, times",
    [([], 1), (["--by", "module"], 1), (["--tree"], 0), (["--paths"], 0), (["--callers", "spend"], 0), (["--json"], 0)],
)
def test_detectors_run_where_findings_are_printed(
    options: list[str], times: int, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided = []
    found = report_model.findings
    monkeypatch.setattr(report_model, "findings", lambda trace: decided.append(trace) or found(trace))
    assert main(["report", str(recording), *options]) == 0
    assert len(decided) == times


def printed(
    path: Path, *, width: int | None = 120, times: bool = False, encoding: str = "utf-8", **options: object
) -> str:
    """The output for a pipe, ``width`` columns wide; None: without a limit."""
    buffer = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)
        if width is not None:
            patch.setenv("COLUMNS", str(width))
        with io.TextIOWrapper(buffer, encoding=encoding, write_through=True) as file:
            print_report(made(path, **options), file, times=times)
            return buffer.getvalue().decode(encoding)


def line_of(text: str, end: str) -> str:
    lines = [line for line in text.splitlines() if line.endswith(end)]
    assert len(lines) == 1, text
    return lines[0]


def key(name: str) -> str:
    return f"tests/unit/report/{THIS}:[]:{name}"


# -- the table ---------------------------------------------------------------------------------------------------------


def test_rows_are_those_of_the_trace(recording: Path) -> None:
    trace = fastdispatch.load(recording)
    table = trace.table("function")
    rows = {row.where: row for row in made(recording, hide=False).listing.rows}
    assert set(rows) == set(table["where"])
    for i, where in enumerate(table["where"]):
        row = rows[where]
        assert (row.calls, row.self, row.total) == (table["calls"][i], table["self"][i], table["total"][i])
    assert rows[key("cheap")].calls == 16
    assert rows[key("dear")].calls == 4


@pytest.mark.parametrize("sort", ("calls", "ops", "self", "total", "backward", "spread"))
def test_rows_are_sorted(sort: str, recording: Path) -> None:
    rows = made(recording, sort=sort, hide=False).listing.rows
    figures = [row.step_deviation if sort == "spread" else getattr(row, sort) for row in rows]
    assert figures == sorted(figures, reverse=True)
    assert len(rows) > 4


def test_top_rows_and_the_rest(recording: Path) -> None:
    everything = made(recording, hide=False).listing
    top = made(recording, hide=False, top=2).listing
    assert top.rows == everything.rows[:2]
    assert top.more == len(everything.rows) - 2
    assert f"{top.more} more rows (--top N)" in printed(recording, hide=False, top=2)


def test_plumbing_of_libraries_is_hidden_and_counted(recording: Path) -> None:
    dump = timed(recording, spending)
    everything = made(dump, hide=False).listing
    some = made(dump).listing
    gone = {row.where for row in everything.rows} - {row.where for row in some.rows}
    assert gone
    assert all(row.source in ("site", "stdlib") for row in everything.rows if row.where in gone)
    assert sum(some.hidden.small.values()) + some.hidden.pass_on == len(gone)
    assert some.hidden.small["stdlib"] >= 1
    assert re.search(r"hidden: \d+ functions of .*stdlib.* under 0.1 %.* \(--all\)", printed(dump))


def test_a_wrapper_of_a_library_is_hidden_and_looked_through(tmp_path: Path) -> None:
    cached = functools.singledispatch(spend)  # its wrapper is a function of functools
    cached(0)
    with fastdispatch.CallGraph(tmp_path / "run", ops="off"):
        cached(0)
    dump = timed(tmp_path / "run", spending)
    wrapper = "functools.py:[]:wrapper"
    assert wrapper in [row.where for row in made(dump, hide=False).listing.rows]
    some = made(dump).listing
    assert wrapper not in [row.where for row in some.rows]
    assert some.hidden.pass_on >= 1
    found = made(dump, by="node", callers="spend").neighbours.rows
    assert [(row.where, row.calls, row.through) for row in found] == [
        (key("test_a_wrapper_of_a_library_is_hidden_and_looked_through"), 1, [wrapper])
    ]
    direct = made(dump, by="node", callers="spend", hide=False).neighbours.rows
    assert [row.where for row in direct] == [wrapper]


def test_shares_and_times(recording: Path) -> None:
    row = next(row for row in made(recording).listing.rows if row.where == key("dear"))
    whole = facts(fastdispatch.load(recording), None).whole
    share = f"{100 * row.total / whole:.1f} %"
    assert share in line_of(printed(recording), key("dear"))
    timed = line_of(printed(recording, times=True), key("dear"))
    assert "%" not in timed
    assert seconds(row.total) in timed
    spread = seconds(row.step_deviation) if row.step_deviation else ""  # steps can be equal
    assert spread in line_of(printed(recording, sort="spread", width=160), key("dear"))


def test_a_hundred_percent_is_the_main_thread(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        programs.threads()
    found = made(tmp_path).facts
    rank = fastdispatch.load(tmp_path).ranks[0]
    main_thread = rank["threads"]["role"].index("main")
    assert found.whole == rank["threads"]["self"][main_thread] > 0
    text = printed(tmp_path, width=None)
    assert "100 % = " + seconds(found.whole) + ": the main thread" in text
    helpers = [thread for thread in found.threads if thread.role != "main"]
    assert all(f"thread {each.role}" in text or each.idle for each in helpers) and helpers
    assert sum(thread.count for thread in found.threads) == 5
    rows = {row.where: row for row in made(tmp_path).listing.rows}
    assert rows["tests/programs.py:[]:threads"].threads == ["main"]
    assert rows["tests/programs.py:[]:work"].threads == ["worker-*"]
    assert line_of(printed(tmp_path, top=None), "tests/programs.py:[]:work   in worker-*")


def test_counts_without_times(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", timing=False):
        programs.classes()
    text = printed(tmp_path)
    assert "counts only" in text
    assert "%" not in text.replace("0.1 %", "") or "CPU" not in text
    rows = made(tmp_path).listing.rows
    assert [row.calls for row in rows] == sorted((row.calls for row in rows), reverse=True)
    assert line_of(text, "programs.py:[]:leaf").split()[0] == "13"
    branches = made(tmp_path, tree=True, min_share=0.0).tree
    assert sum(branch.calls for branch in branches if branch.where.endswith(":leaf")) == 13


# -- the tree ----------------------------------------------------------------------------------------------------------


def test_the_tree_is_that_of_the_contexts(recording: Path) -> None:
    trace = fastdispatch.load(recording)
    rows = made(recording, tree=True, min_share=0.0, hide=False).tree
    assert sum(row.calls for row in rows) == sum(trace.contexts["calls"])
    path: list[str] = []
    paths = {}
    for row in rows:
        assert row.depth <= len(path)
        path[row.depth :] = [row.where]
        paths[tuple(path[-2:])] = row.calls
    assert paths[key("dear"), key("cheap")] == 12
    assert paths[key("program"), key("cheap")] == 4


def test_the_tree_can_be_cut(recording: Path) -> None:
    whole = made(recording).facts.whole
    assert {row.depth for row in made(recording, tree=True, depth=2).tree} == {0, 1}
    rows = made(recording, tree=True, min_share=0.2).tree
    assert all(row.total >= 0.2 * whole for row in rows)
    assert any(row.small > 0 and row.small_time > 0 for row in rows)


def test_the_drawn_tree(tmp_path: Path) -> None:
    def own(path: list[str]) -> int:
        if path[-1] == "spend":
            return 20 * MS if path[-2] == "dear" else 1 * MS
        return 24 * MS if path[-1] == "join" else 1000

    with fastdispatch.CallGraph(tmp_path / "run", ops="off"):
        in_thread(program)
    dump = timed(tmp_path / "run", own)
    lines = [re.split(r" %   +", line)[-1].strip() for line in printed(dump, tree=True).splitlines()]
    at = lines.index("worker")
    assert lines[at : at + 6] == [
        "worker",
        "└ " + key("program"),
        "├ " + key("dear"),
        "│ ├ " + key("spend"),
        "│ └ " + key("cheap"),
        "│   └ " + key("spend"),
    ]


def test_callees_reached_through_different_wrappers_are_one_branch(tmp_path: Path) -> None:
    class Nothing(contextlib.ContextDecorator):
        def __enter__(self) -> None: ...

        def __exit__(self, *error: object) -> None: ...

    dispatched, decorated = functools.singledispatch(spend), Nothing()(spend)

    def work() -> None:
        dispatched(0)
        decorated(0)

    dispatched(0)
    with fastdispatch.CallGraph(tmp_path / "run", ops="off"):
        in_thread(work)
    dump = timed(tmp_path / "run", spending)
    branches = made(dump, tree=True).tree
    assert [branch.calls for branch in branches if branch.where == key("spend")] == [2]
    assert next(branch.passed for branch in branches if branch.where == key("spend")) == 1
    everything = made(dump, tree=True, hide=False).tree
    assert [branch.calls for branch in everything if branch.where == key("spend")] == [1, 1]


# -- callers and callees -----------------------------------------------------------------------------------------------


def test_callers_and_callees(recording: Path) -> None:
    found = made(recording, by="node", callers="cheap").neighbours
    assert {row.where: row.calls for row in found.rows} == {key("dear"): 12, key("program"): 4}
    assert found.of.calls == 16
    found = made(recording, by="node", callees=key("program")).neighbours
    calls = {row.where: row.calls for row in found.rows}
    assert (calls[key("dear")], calls[key("cheap")]) == (4, 4)
    assert [row.total for row in found.rows] == sorted((row.total for row in found.rows), reverse=True)
    text = printed(recording, by="node", callees="*:program")
    assert "calls " + key("dear") in text


def test_ambiguous_and_unknown_names(recording: Path) -> None:
    for name, words in ((THIS, (key("dear"), key("cheap"))), ("absent", ("no function", "'absent'"))):
        errors = commands.complaint("report", recording, "--callers", name)
        assert all(word in errors for word in words)


# -- facts beside the rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        ({}, "0 of 44 recorded steps could be compared with others, at least 8 are needed"),
        (
            {
                "samples": 9,
                "step": 10**7,
                "step_low": 9 * 10**6,
                "step_high": 2 * 10**7,
                "cost": 10**6,
                "cost_error": 10**5,
            },
            "recorded steps cost 0.6 % of the run (10.0 ± 1.0 % of a step each; 44 of 700 steps are recorded)",
        ),
        ({"samples": "9"}, "not decided: the default budget measures it"),
        ({"recorded": 700}, "not decided: all 4 steps were recorded"),
    ],
)
def test_the_cost_of_recording(cost: dict[str, object], text: str, recording: Path, tmp_path: Path) -> None:
    assert "not decided: all 4 steps were recorded" in printed(recording)
    fastdispatch.load(recording).dump(tmp_path / "dump.json")
    dump = json.loads((tmp_path / "dump.json").read_text())
    run = {"budget": 0.01, "steps": 700, "recorded": 44, "time": 7 * 10**9, "samples": 0}
    dump["ranks"][0]["meta"]["steps_of_run"] = run | cost
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    assert text in printed(tmp_path / "dump.json")


def test_the_cost_covers_the_steps_after_the_facts_were_noted(recording: Path) -> None:
    (rank,) = fastdispatch.load(recording).ranks
    noted = {"budget": 0.01, "steps": 2, "recorded": 1, "time": 1, "samples": 9}
    times = {"step": 10**7, "step_low": 9 * 10**6, "step_high": 2 * 10**7, "cost": 10**6, "cost_error": 10**5}
    rank |= {"run_steps": 871, "meta": {"steps_of_run": noted | times}}
    cost = recording_cost([rank])
    assert (cost.steps_recorded, cost.steps) == (rank["steps"], 871)
    assert cost.share == rank["steps"] * 10**6 / time_of_run(rank)


def test_the_cost_of_followed_calls(tmp_path: Path) -> None:
    def nothing() -> None:
        pass

    with fastdispatch.CallGraph(tmp_path, calls="frame", ops="off", budget=0.01) as graph:
        for _ in range(120):
            for _ in range(1000):
                nothing()
            graph.step()
    (rank,) = fastdispatch.load(tmp_path).ranks
    run = rank["meta"]["steps_of_run"]
    assert run["followed_calls"] > 1000 * run["followed"] > 0  # also those of the steps after recorded ones
    assert " of the run: recorded steps " in printed(tmp_path)


def test_an_earlier_exception_has_not_ended_the_recording(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "stopped" in printed(recording, width=None)
    monkeypatch.setattr(sys, "last_value", ValueError("of an earlier test"), raising=False)
    with fastdispatch.CallGraph(tmp_path / "later", ops="off"):
        program()
    assert fastdispatch.load(tmp_path / "later").ranks[0]["meta"].get("exception") is None


def test_the_head_states_the_recording(recording: Path) -> None:
    text = printed(recording, width=None)
    assert text.startswith(f"{recording}: rank 0 of 1, 4 steps (by step()), stopped")
    assert "operators: off (requested)" in text


def test_the_head_states_the_recorded_part(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", steps="1:2") as graph:
        for _ in range(3):
            program()
            graph.step()
    assert "1 of 3 steps (by step())" in printed(tmp_path, width=None)


def test_operators_without_pytorch(tmp_path: Path) -> None:
    command = f"import fastdispatch\nwith fastdispatch.CallGraph({str(tmp_path)!r}): sorted([1], key=lambda x: x)"
    processes.python_program("-c", command)
    text = printed(tmp_path, width=None)
    assert "operators: off (PyTorch was not imported)" in text and "not decided: no steps were found" in text


def test_a_process_killed_while_it_runs_has_no_times_of_0(tmp_path: Path) -> None:
    """Nothing is known of the duration of a call that began after the last sign of life."""
    with processes.killed("endless.py", tmp_path, "calls"):
        pass
    text = commands.out("stacks", tmp_path)
    assert "killed: step 0, " in text and "endless.py:[]:work" in text
    assert " 0 ns" not in text


def test_a_killed_process_shows_its_open_calls(tmp_path: Path) -> None:
    with processes.killed("endless.py", tmp_path, "calls"):
        time.sleep(0.2)
    found = made(tmp_path)
    assert found.facts.ranks[0].state == "killed"
    stacks = {call.thread for call in found.facts.open}
    assert len(stacks) == 2
    work = [call for call in found.facts.open if call.where.endswith("endless.py:[]:work")]
    assert len(work) == 2
    assert all(call.age > 100_000_000 for call in work)
    text = printed(tmp_path)
    assert "open calls of rank 0 (killed), thread main, with their time so far:" in text
    for call in work:
        assert f" {seconds(call.age)}  {call.where}" in text
    table = {row.where: row for row in found.listing.rows}
    assert table[work[0].where].total > 100_000_000


def test_losses_are_reported(tmp_path: Path) -> None:
    space: dict[str, object] = {}
    source = "\n".join(f"def f{i}(): pass\nf{i}()" for i in range(9000))
    with fastdispatch.CallGraph(tmp_path, ops="off", max_mb=1):
        exec(compile(source, "many.py", "exec"), space)
    found = made(tmp_path).facts
    dropped = found.ranks[0].dropped
    assert dropped["nodes_full"] > 0
    assert f"dropped: {grouped(dropped['nodes_full'])} functions without room" in printed(tmp_path)
    overflow = [special for special in found.special if special.where == "<overflow>"]
    assert overflow[0].calls > 0


def test_every_counter_has_its_words(recording: Path) -> None:
    known = {*_DROPPED, *_MISSES, *_NO_LOSS}
    assert {*fastdispatch.load(recording).ranks[0]["counters"], "events_lost"} == known


def rank_of_two(folder: Path, rank: int) -> None:
    command = f"import fastdispatch\nwith fastdispatch.CallGraph({str(folder)!r}): sorted([1], key=lambda x: x)"
    changes = {"RANK": str(rank), "WORLD_SIZE": "2", "FASTDISPATCH_RUN_ID": "one"}
    processes.python_program("-c", command, **changes)


def test_ranks(tmp_path: Path) -> None:
    for rank in range(2):
        rank_of_two(tmp_path, rank)
    both, one = made(tmp_path), made(tmp_path, rank=1)
    lambdas = [next(row.calls for row in each.listing.rows if row.where.endswith(":<lambda>")) for each in (both, one)]
    assert lambdas == [2, 1]
    assert [rank.rank for rank in one.facts.ranks] == [1]
    assert 0 < one.facts.whole < both.facts.whole
    assert "ranks 0-1 of 2" in printed(tmp_path)
    assert "rank 5 is not in this trace" in commands.error("report", tmp_path, "--rank", "5")


def test_ranks_that_ended_differently(tmp_path: Path) -> None:
    rank_of_two(tmp_path, 0)
    with processes.killed("endless.py", tmp_path, "calls", RANK="1", WORLD_SIZE="2", FASTDISPATCH_RUN_ID="one"):
        pass
    text = printed(tmp_path, width=None)
    assert "stopped: rank 0, killed: rank 1" in text
    assert "open calls of rank 1 (killed)" in text
    assert "open calls of rank 0" not in text


@pytest.mark.parametrize("arguments", ([], ["--tree"], ["--json"], ["--by", "package"], ["--time"]), ids=str)
def test_a_recording_of_nothing(arguments: list[str], tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", steps="5:6"):
        program()
    text = commands.out("report", tmp_path, *arguments)
    if arguments == ["--json"]:
        assert json.loads(text)["rows"] == []
    else:
        assert "no time was recorded" in text


# -- how it is printed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", (80, 100, 140))
@pytest.mark.parametrize(
    "options", ({}, {"tree": True, "min_share": 0.05}, {"by": "package"}, {"sort": "spread"}), ids=str
)
def test_lines_fit_and_figures_are_complete(width: int, options: dict[str, object], tmp_path: Path) -> None:
    long = type("A" * 60, (), {"method": lambda self: spend(3)})
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        for _ in range(2):
            in_thread(long().method)
            graph.step()
    text = printed(tmp_path, width=width, hide=False, **options)
    assert "…" not in text
    path = str(tmp_path)
    assert max(len(line) for line in text.splitlines() if path not in line) <= width
    assert not any(line != line.rstrip() for line in text.splitlines())
    if options.get("by") != "package":
        assert "A" * 60 in re.sub(r"[\s│]", "", text)


def test_one_line_per_row_in_a_pipe(recording: Path) -> None:
    text = printed(recording, width=None, hide=False)
    for row in made(recording, hide=False).listing.rows:
        line_of(text, row.where)


def test_output_without_unicode(recording: Path) -> None:
    text = printed(recording, width=80, encoding="ascii", tree=True, hide=False)
    assert text.isascii()
    assert "` " in text


def test_names_cannot_drive_the_terminal(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"), fastdispatch.label("red \x1b[31m\nline"):
        spend(2)
    text = printed(tmp_path)
    assert "\x1b" not in text
    assert line_of(text, r"red \x1b[31m\nline")


@pytest.mark.parametrize(
    ("number", "text"),
    ((0, "0 ns"), (7, "7 ns"), (1500, "1.5 us"), (999_600, "1 ms"), (7.31e6, "7.31 ms"), (41.23e9, "41.2 s"),
     (999.9e9, "1\u202f000 s"), (float("inf"), "inf s")),
)  # fmt: skip
def test_seconds(number: float, text: str) -> None:
    assert seconds(number) == text


def test_module_patterns() -> None:
    assert module_pattern("blocks.3.attn") == "blocks.*.attn"
    assert module_pattern("0") == "*"
    assert module_pattern("layer12.4.0") == "layer12.*.*"
    assert module_pattern("") == ""


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_json_has_every_row(recording: Path) -> None:
    rows = commands.document("report", recording, "--steps", "all")["rows"]
    table = fastdispatch.load(recording).table("function")
    assert {row["where"]: row["total"] for row in rows} == dict(zip(table["where"], table["total"], strict=True))


@pytest.mark.skipif(sys.version_info[:2] != (3, 13), reason="only 3.13 enters constructors past a hook")
@pytest.mark.usefixtures("every_tool_id_is_taken")
def test_unseen_constructors_are_named(tmp_path: Path) -> None:
    class Made:
        def __init__(self) -> None:
            cheap()

    def work() -> None:
        for _ in range(50):
            Made()

    with fastdispatch.CallGraph(tmp_path, ops="off"):
        work()
    counters = fastdispatch.load(tmp_path).ranks[0]["counters"]
    unseen = [special for special in made(tmp_path).facts.special if special.what == "unseen"]
    assert sum(special.calls for special in unseen) >= counters["hidden_frames"] > 0
    assert all(special.where.endswith(":__init__") for special in unseen)
    text = printed(tmp_path, width=None)
    assert "enters past the hook" in text
    assert f"{unseen[0].where} ({grouped(unseen[0].calls)} calls" in text
    rows = {row.where: row.unseen_calls for row in made(tmp_path).listing.rows}
    assert rows[unseen[0].where] == unseen[0].calls


@pytest.mark.parametrize("value", (None, 3, "text", [1], {"a": None}, {"python_call": "x"}), ids=str)
def test_meta_of_the_wrong_type(value: object, recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    fastdispatch.load(recording).dump(path)
    dump = json.loads(path.read_text())
    meta = dump["ranks"][0]["meta"]
    assert meta
    dump["ranks"][0]["meta"] = dict.fromkeys(meta, value)
    path.write_text(json.dumps(dump))
    assert key("cheap") in printed(path)
    json.dumps(made(path).as_json())
