"""The finding ``hang``, on programs that run and after ``kill -9``, and slow programs without it."""

import os
import re
import signal
from functools import partial
from itertools import chain
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.detectors import Finding, Findings, limits
from fastdispatch.read import live
from tests import processes, warm

pytest.importorskip("torch")

PROGRAM = processes.ISOLATED / "hanging.py"

#: The kinds of a single process: the kind of waiting, and the innermost function.
ALONE = {
    "event": ("lock", "wait"),
    "lock": ("lock", "lock"),
    "from_socket": ("socket", "from_socket"),
    "from_pipe": ("pipe", "from_pipe"),
    "from_fifo": ("pipe", "from_fifo"),
    "thread_of_ended": ("lock", "wait"),
}

#: Lines with the mark of another kind.
MARKS = {"thread_of_ended": "event", "batch_of_a_rank": "batch"}

#: The kinds of two ranks: the ranks to look at, and the innermost function.
RANKS = {
    "other_collective": ([0], "broadcast"),
    "both_receive": ([0, 1], "recv"),
    "other_order": ([0, 1], "all_reduce"),
    "missing": ([1], "wait"),
    "left_loop": ([1], "barrier"),
    "handles": ([0, 1], "handles"),
}

#: Two ranks, with their own tests.
PAIRS = ("slow_rank", "polling_rank", "batch_of_a_rank")

#: Programs without a finding, and a part of the reason.
SLOW = {
    "computes": ": it runs",
    "evaluates": "",
    "slow_rank": "rank 1 is in hanging.py:[]:computes: it runs",
    "thread_computes": "it waits for a lock or another thread",
    "child_computes": "it waits for a child process",
    "child_sleeps": "it waits for a child process",
    "file_is_locked": "it waits for a lock or another thread in `fcntl.flock(",
    "waits_again": "waits_again for",
    "slow_server": "it waits for a socket",
}

#: Programs that return from short waits: the call that does not end.
AGAIN = {"waits_again": "waits_again", "polling_rank": "poll"}

#: Stands for the limit in seconds.
LIMIT = 2.5


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HANG_S", LIMIT)


def started(kind: str, folder: Path) -> list[warm.Program]:
    arguments: list[list[object]] = [[folder / kind, kind]]
    if kind in (*RANKS, *PAIRS):
        arguments = [[folder / kind, kind, folder / f"{kind}.meeting", rank, 2] for rank in range(2)]
    imports = ("torch.distributed", "fastdispatch") if len(arguments) > 1 else ("fastdispatch",)
    return [processes.start_warm(imports, PROGRAM.name, *each) for each in arguments]


def stands(out: Path) -> bool:
    """Whether no rank has made a call for longer than the limits and the period of the signs of life."""
    ages = [stack.age for stack in live.position(str(out))[0] if stack.thread == "main"]
    return min(ages, default=0) >= (limits.HANG_PEER * LIMIT + 2) * 1e9


def is_under_way(kind: str, out: Path) -> bool:
    if kind in AGAIN:
        return _is_open(AGAIN[kind], live.position(str(out))[0], LIMIT + 2)
    return waits_for_its_worker(out) if kind.startswith("batch") else stands(out)


def waits_for_its_worker(out: Path) -> bool:
    """The same of a worker and of the rank that waits for its batch. The recorder's thread, which gives signs of life,
    is gone after a fork, until the next call: that is after ``MP_STATUS_CHECK_INTERVAL``, 5 s."""
    workers = [stack for folder in out.glob("rank*.worker*") for stack in live.position(str(folder))[0]]
    return _is_open("reading_for_ever", workers) and _is_open("__next__", live.position(str(out))[0])


def _is_open(function: str, stacks: list[live.Stack], seconds: float = 5 + 2 + LIMIT) -> bool:
    calls = [call for stack in stacks for call in zip(stack.calls, stack.ages, strict=True)]
    return any(key.endswith(f":{function}") and age >= seconds * 1e9 for key, age in calls)


def found_in(folder: Path, kinds: list[str]) -> dict[str, Findings]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "HANG_S", LIMIT)
        patch.syspath_prepend(processes.ISOLATED)  # the command of the recordings is that of tests/warm.py
        return {kind: fastdispatch.findings(folder / kind) for kind in kinds}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Findings, Findings, Path]]:
    """All programs at once: the findings while they run, those after they were killed, and the recordings."""
    folder = tmp_path_factory.mktemp("hangs")
    kinds = sorted({*ALONE, *RANKS, *PAIRS, *SLOW, "batch"})
    programs = {kind: started(kind, folder) for kind in kinds}
    try:
        for each in programs.values():
            assert [process.stdout.readline() for process in each] == ["under way\n"] * len(each)
        for kind in set(kinds) - {"evaluates"}:
            processes.wait_for(partial(is_under_way, kind, folder / kind))
        running = found_in(folder, kinds)
    finally:
        for process in chain(*programs.values()):
            process.kill()
        for worker in folder.glob("batch*/rank*.worker*"):
            os.kill(int(worker.name.rpartition("-")[2]), signal.SIGKILL)
        for process in chain(*programs.values()):
            process.wait(60)
    dead = found_in(folder, kinds)
    return {kind: (running[kind], dead[kind], folder / kind) for kind in kinds}


def hangs(found: Findings) -> list[Finding]:
    return [each for each in found if each.id == "hang"]


def check_extent(found: Finding) -> None:
    """Check that the run is not shorter than the wait."""
    wait, run = re.fullmatch(r"([\d.]+) s of a run of ([\d.]+) s", found.extent).groups()
    assert float(wait) <= float(run)


def line_of(kind: str) -> int:
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# here: {MARKS.get(kind, kind)}"))


def text_of(line: int) -> str:
    return f" in `{PROGRAM.read_text(encoding='utf-8').splitlines()[line - 1].strip()}`"


@pytest.mark.parametrize("kind", [*ALONE, *RANKS])
def test_programs_that_stand_still(kind: str, runs: dict[str, tuple[Findings, Findings, Path]]) -> None:
    waits, function = ALONE.get(kind, ("", ""))
    ranks, function = RANKS.get(kind, ([0], function))
    running, dead, out = runs[kind]
    for findings in (running, dead):
        (found,) = hangs(findings)
        assert findings.findings[0] is found
        assert (found.ranks, found.severity, Path(found.where.file).name) == (ranks, "critical", PROGRAM.name)
        assert found.where.line == line_of(kind)
        assert found.where.path[-1].endswith(f":{function}")
        assert found.evidence["quiet_ns"] >= LIMIT * 1e9
        check_extent(found)
        assert not waits or found.evidence["waits"] == waits
        assert ("at least" in found.title) == (findings is dead)
        assert found.where.path[-1].startswith(PROGRAM.name) <= (text_of(found.where.line) in found.title)
    stacks = [stack for stack in live.position(str(out))[0] if stack.rank in ranks and stack.thread == "main"]
    assert [stack.state for stack in stacks] == ["killed"] * len(ranks)
    assert all(stack.age >= LIMIT * 1e9 for stack in stacks)


@pytest.mark.parametrize(("kind", "rank"), [("batch", 0), ("batch_of_a_rank", 1)])
def test_a_worker_of_a_loader_that_stands_still(
    kind: str, rank: int, runs: dict[str, tuple[Findings, Findings, Path]]
) -> None:
    for findings in runs[kind][:2]:
        assert hangs(findings), findings.not_decided
        (found,) = hangs(findings)
        assert findings.findings[0] is found and found.ranks == [rank]
        assert (Path(found.where.file).name, found.where.line) == (PROGRAM.name, line_of(kind))
        assert found.evidence["quiet_ns"] == found.gain_ns >= LIMIT * 1e9  # of the batch, not of the innermost call
        assert "for a batch: a worker of the DataLoader has been in hanging.py:[]:reading_for_ever" in found.title
        assert ("rank 0 waits in barrier" in found.proof) == (rank == 1)
        check_extent(found)


def test_a_rank_that_polls_is_as_old_as_its_loop(runs: dict[str, tuple[Findings, Findings, Path]]) -> None:
    for findings in runs["polling_rank"][:2]:
        assert hangs(findings), findings.not_decided
        (found,) = hangs(findings)
        assert found.ranks == [1] and found.where.line == line_of("polling_rank")
        assert found.evidence["quiet_ns"] >= LIMIT * 1e9
        assert "again and again" in found.title and "rank 0 waits in barrier" in found.proof


@pytest.mark.parametrize("kind", SLOW)
def test_slow_programs_are_not_a_hang(kind: str, runs: dict[str, tuple[Findings, Findings, Path]]) -> None:
    for findings in runs[kind][:2]:
        assert not hangs(findings)
        reason = next((each.reason for each in findings.not_decided if each.id == "hang"), "")
        assert SLOW[kind] in reason and bool(reason) == (kind != "evaluates")
        assert ("its other threads or child processes run" in reason) == (kind in ("thread_computes", "child_computes"))
