"""``top``, ``stacks``, ``resume`` and ``pause`` on running, hanging and killed training."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.read import live
from tests import commands, processes
from tests.processes import wait_for

torch = pytest.importorskip("torch")


class Ranks:
    """Two ranks of real training that run until they are stopped."""

    def __init__(self, folder: Path) -> None:
        self.run, self.stop_file = folder / "run", folder / "end"
        self.processes = processes.start_ranks(processes.TORCH, "live_ranks.py", 2, self.run, self.stop_file)
        for process in self.processes:
            assert process.stdout is not None and process.stdout.readline() == "under way\n"

    def end(self) -> list[int]:
        """Steps per rank."""
        self.stop_file.touch()
        return [int(process.communicate(timeout=60)[0]) for process in self.processes]

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(30)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    """They run on to the end of the module, whose last tests use them, and have all their steps."""
    made = Ranks(tmp_path_factory.mktemp("live"))
    try:
        yield made
        assert made.end() == steps(made)
    finally:
        made.kill()


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Ranks]:
    made = Ranks(tmp_path)
    yield made
    made.kill()


def steps(ranks: Ranks) -> list[int]:
    return [rank["steps"] for rank in fastdispatch.load(ranks.run).ranks]


def grow(ranks: Ranks) -> bool:
    before = steps(ranks)
    wait_for(lambda: all(now > then for now, then in zip(steps(ranks), before, strict=True)))
    return True


def test_off_and_on_at_steps(ranks: Ranks) -> None:
    line = commands.error("pause", ranks.run, status=0)
    assert line == "fastdispatch: 2 recordings paused from the next step\n"
    wait_for(lambda: all(rank["state"] == "paused" for rank in fastdispatch.load(ranks.run).ranks))
    rest = live.sample(str(ranks.run)).figures
    time.sleep(0.2)
    assert live.sample(str(ranks.run)).figures == rest
    assert "paused" in commands.out("stacks", ranks.run)
    wait_for(lambda: any("live_ranks.py:[]:train_step" in each.calls for each in live.position(str(ranks.run))[0]))
    assert commands.out("top", ranks.run, "--once", "--total").startswith("2 ranks, 2 paused, step")
    commands.out("resume", ranks.run / "rank00001.fd")
    wait_for(lambda: fastdispatch.load(ranks.run).ranks[1]["state"] == "running")
    assert fastdispatch.load(ranks.run).ranks[0]["state"] == "paused"
    commands.out("resume", ranks.run)
    assert grow(ranks)
    made = ranks.end()
    assert all(0 < recorded <= whole for recorded, whole in zip(steps(ranks), made, strict=True))
    assert "no running recording: 2 finished" in commands.error("pause", ranks.run)
    assert not list(ranks.run.glob("*.off"))


def test_where_a_killed_rank_was(ranks: Ranks) -> None:
    ranks.kill()
    assert ", killed: step" in commands.out("stacks", ranks.run)
    assert commands.out("top", ranks.run, "--once", "--total").startswith("2 ranks, 2 ended, step")


def test_the_last_steps_of_a_recording(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", timeline=True) as graph:
        for number in range(7):
            json.dumps(number)
            graph.step()
            if number == 5:
                while_running = processes.fastdispatch(
                    "timeline", "merge", graph.path, "--steps", "last:2", "-o", tmp_path / "running.json"
                )
    assert while_running.returncode == 0, while_running.stderr
    commands.out(
        "timeline", "merge", tmp_path / "run" / "rank00000.fd", "--steps", "last:3", "-o", tmp_path / "last.json"
    )
    commands.out("timeline", "merge", tmp_path / "run", "--steps", "last:2", "-o", tmp_path / "merged.json")

    def steps_in(path: Path) -> list[str]:
        events = json.loads(path.read_text())["traceEvents"]
        return [event["name"] for event in events if event["name"].startswith("step ")]

    assert steps_in(tmp_path / "running.json") == ["step 4", "step 5"]
    assert steps_in(tmp_path / "last.json") == ["step 4", "step 5", "step 6"]
    assert steps_in(tmp_path / "merged.json") == ["step 5", "step 6"]


def test_a_folder_without_recordings(tmp_path: Path) -> None:
    assert "no recording in this folder" in commands.complaint("resume", tmp_path)


def test_top_as_json_has_the_findings_up_to_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fastdispatch.CallGraph(tmp_path):
        read_a_value_often()
        assert main(["top", str(tmp_path), "--once", "--total", "--json"]) == 0
    now = json.loads(capsys.readouterr().out)["findings"]
    later = commands.document("findings", tmp_path)
    found, expected = (
        [(each["where"], each["evidence"]) for each in document["findings"] if each["id"] == "host-sync"]
        for document in (now, later)
    )
    assert len(expected) == 1
    assert [where for where, _ in found] == [where for where, _ in expected]
    assert found[0][1]["calls_per_step"] == expected[0][1]["calls_per_step"] == 400


def read_a_value_often() -> None:
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()
        optimizer.step()
        for _ in range(400):
            loss.item()


def test_top_shows_running_functions(observed: Ranks) -> None:
    printed = commands.out("top", observed.run, "--once", "--interval", "0.5").splitlines()
    assert printed[0].startswith("2 ranks, step") and "steps/s" in printed[0]
    assert any("agree reads values of tensors (aten::item)" in line for line in printed[1:4]), printed[:4]
    document = commands.document("top", observed.run, "--once", "--interval", "0.5")
    rows = {row["key"]: row for row in document["rows"]}
    forward = next(key for key in rows if key.endswith("live_ranks.py:[]:train_step"))
    assert rows["c10d::allreduce_"]["calls"] > 0 and rows[forward]["total"] > rows[forward]["self"]
    assert 0 < rows[forward]["self"] < rows[forward]["total"] < 1.05
    since_start = commands.document("top", observed.run, "--once", "--total")
    assert {row["key"] for row in since_start["rows"]} >= set(rows)


def test_stacks_name_the_awaited_rank(observed: Ranks) -> None:
    stall = observed.stop_file.with_name(f"{observed.stop_file.name}.stall")
    stall.touch()

    def stalled() -> bool:
        found = [each for each in live.position(str(observed.run))[0] if each.thread == "main"]
        inside = [" ".join(each.calls) for each in found]
        return len(found) == 2 and "all_reduce" in inside[0] and "load_batch" in inside[1] and found[0].age > 3e8

    wait_for(stalled)
    lines = commands.out("stacks", observed.run).splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert [head.split(":")[0] for head in heads[:-1]] == ["rank 0 (1 of 2)", "rank 1 (1 of 2)"]
    assert heads[-1].startswith("collectives (")
    assert "calls on rank 1, " in lines[-1] and lines[-1].endswith(" calls on rank 0")
    assert any("live_ranks.py:[]:agree" in line for line in lines)
    document = commands.document("stacks", observed.run, "--all")
    (of_zero,) = [g for g in document["groups"] if g["ranks"] == [0] and g["stacks"][0]["thread"] == "main"]
    ages = [call["ns"] for call in of_zero["stacks"][0]["stack"]]
    assert ages == sorted(ages, reverse=True)
    stall.unlink()
    assert grow(observed)


def test_a_stopped_rank_continues(observed: Ranks) -> None:
    os.kill(observed.processes[1].pid, signal.SIGSTOP)
    wait_for(lambda: min(each.age for each in live.position(str(observed.run))[0] if each.thread == "main") > 3e8)
    assert commands.out("stacks", observed.run)
    os.kill(observed.processes[1].pid, signal.SIGCONT)
    assert grow(observed)


def screen_of(terminal: int, until: bytes) -> bytes:
    """The output on a terminal, up to and including a text."""
    seen = b""
    end = time.monotonic() + 60
    while until not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    assert until in seen, seen[-2000:]
    return seen


def test_top_in_a_terminal_and_neither_side_harms_the_other(observed: Ranks) -> None:
    pytest.importorskip("textual")
    ours, theirs = pty.openpty()
    top = subprocess.Popen(
        [sys.executable, "-m", "fastdispatch", "top", str(observed.run), "--interval", "0.3"],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=processes.environment(TERM="xterm-256color", COLUMNS="120", LINES="30"),
    )  # fmt: skip
    os.close(theirs)
    try:
        screen_of(ours, b"train_step")
        os.write(ours, b"s")
        screen_of(ours, b"by total")
        os.write(ours, b"f")
        screen_of(ours, b"frozen")
        os.write(ours, b"/")
        screen_of(ours, b"part of a name")
        os.write(ours, b"OPTIM")
        drawn = screen_of(ours, b"OPTIM]").partition(b"OPTIM]")[2]
        assert b"Optimizer." in drawn or screen_of(ours, b"Optimizer.")
        assert grow(observed)
    finally:
        top.kill()
        top.wait(30)
        os.close(ours)
