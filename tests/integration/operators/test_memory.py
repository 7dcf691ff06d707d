"""``measure="memory"``: allocations and frees as PyTorch reports them, compared with torch.profiler."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.call_sites import CallSites
from fastdispatch.measures.memory_report import DeviceMemory, Unfollowed, memory_of, memory_report
from tests import commands, many_ranks, processes

torch = pytest.importorskip("torch")

STEPS = 20
LEAK = 1 << 20


class Net(torch.nn.Module):  # type: ignore[name-defined, misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(32, 64)
        self.second = torch.nn.Linear(64, 8)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x)))


def train(steps: int = 5, kept: list[Any] | None = None) -> list[Any]:
    """A training from model to weights; ``kept`` gets a block of 1 MB per step."""
    torch.manual_seed(3)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(16, 32)).square().mean().backward()
        optimizer.step()
        if kept is not None:
            kept.append(torch.zeros(LEAK // 4))
    return [parameter.detach().clone() for parameter in model.parameters()]


def read(folder: Path) -> tuple[DeviceMemory, Unfollowed]:
    trace = fastdispatch.load(folder)
    devices, missing = memory_of(trace, trace.ranks[0], CallSites(trace))
    return devices[0], missing


def recorded(work: Callable[[], object], folder: Path, **options: Any) -> tuple[DeviceMemory, Unfollowed]:
    with fastdispatch.CallGraph(folder, measure="memory", **options):
        work()
    return read(folder)


def profiled(work: Callable[[], object], folder: Path) -> list[int]:
    """Bytes of each allocation, negative for a free, as torch.profiler sees them."""
    with torch.profiler.profile(profile_memory=True) as profile:
        work()
    profile.export_chrome_trace(str(folder / "profile.json"))
    events = json.loads((folder / "profile.json").read_text())["traceEvents"]
    return [event["args"]["Bytes"] for event in events if event["name"] == "[memory]"]


def sums(device: DeviceMemory) -> tuple[int, int, int, int]:
    paths = device.paths.values()
    return (
        sum(path.blocks for path in paths),
        sum(path.allocated for path in paths),
        sum(path.frees for path in paths),
        sum(path.freed for path in paths),
    )


def test_counts_equal_those_of_the_profiler(tmp_path: Path) -> None:
    train()
    events = profiled(train, tmp_path)
    taken, given = [each for each in events if each > 0], [-each for each in events if each < 0]
    device, missing = recorded(train, tmp_path / "run")
    assert len(taken) > 100
    assert sums(device) == (len(taken), sum(taken), len(given), sum(given))
    highest = live = 0
    for each in events:
        live += each
        highest = max(highest, live)
    assert device.peak == highest
    assert (missing.blocks, missing.frees) == (0, 0)


def test_the_parts_add_up_to_the_peak(tmp_path: Path) -> None:
    device, _ = recorded(lambda: train(10), tmp_path)
    assert sum(path.peak for path in device.paths.values()) == device.peak > 0
    assert sum(sum(path.parts.values()) for path in device.paths.values()) == device.peak
    weights = 4 * sum(each.numel() for each in Net().parameters())
    assert device.part("parameters") == weights
    assert device.part("gradients") == weights
    assert device.part("optimizer state") == 2 * weights + 4 * 4


def test_activations_by_module(tmp_path: Path) -> None:
    def work() -> None:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 4096), torch.nn.Sigmoid(), torch.nn.Linear(4096, 1))
        model(torch.ones(64, 8)).sum().backward()

    with fastdispatch.CallGraph(tmp_path, measure="memory"):
        work()
    rows = memory_report(fastdispatch.load(tmp_path)).devices[0].rows
    kept = [row for row in rows if row.operator == "aten::sigmoid" and row.parts.get("activations")]
    assert [row.peak for row in kept] == [64 * 4096 * 4]
    assert kept[0].where.endswith("work")


def test_a_leak_is_found_with_its_line(tmp_path: Path) -> None:
    """In the report and as a finding; nothing grows without a leak."""
    kept: list[Any] = []
    for name, leak in (("faulty", kept), ("clean", None)):
        with fastdispatch.CallGraph(tmp_path / name, measure="memory"):
            train(STEPS, leak)
    report, still = (memory_report(fastdispatch.load(tmp_path / name)).devices[0] for name in ("faulty", "clean"))
    growing = [row for row in report.rows if row.growth]
    assert [(row.growth, row.error, row.operator) for row in growing] == [(LEAK, 0, "aten::zeros")]
    assert (report.growth, report.steps, still.growth) == (LEAK, STEPS, 0)
    assert report.at_peak.step in (STEPS - 1, STEPS)  # after the last end of a step, the number is the next one
    found, clean = (
        [each for each in fastdispatch.findings(tmp_path / name).findings if each.id == "memory-growth"]
        for name in ("faulty", "clean")
    )
    assert clean == []
    assert [each.evidence["live_bytes_per_step"] for each in found] == [LEAK]
    assert "torch.zeros(LEAK" in source(growing[0].line)
    assert growing[0].line == found[0].where.line


def test_a_failed_allocation(tmp_path: Path) -> None:
    """The error is that of PyTorch; the report has the bytes live then, also of blocks that were freed later."""

    def fail() -> str:
        model = Net()
        kept = [model(torch.randn(16, 32)), torch.zeros(LEAK)]
        with pytest.raises(RuntimeError) as raised:
            torch.empty(1 << 60, dtype=torch.uint8)
        kept.clear()
        return str(raised.value)

    alone = fail()
    errors: list[str] = []
    device, _ = recorded(lambda: errors.append(fail()), tmp_path)
    assert errors == [alone]
    report = memory_report(fastdispatch.load(tmp_path)).devices[0]
    failed = report.refused
    assert failed is not None and device.refusal is not None
    assert (failed.failures, failed.requested) == (1, 1 << 60)
    assert failed.step is report.at_peak.step is None  # the program has no steps
    assert failed.where.endswith(":fail") and "torch.empty(1 << 60" in source(failed.line)
    assert sum(failed.parts.values()) == failed.allocated <= report.peak
    weights = 4 * sum(each.numel() for each in Net().parameters())
    assert (failed.parts["parameters"], failed.parts["other"]) == (weights, 4 * (LEAK + 16 * 32))
    assert failed.parts["activations"] >= 4 * 16 * (64 + 8)
    assert sum(sum(row.held.values()) for row in report.rows) == failed.allocated


def source(line: int) -> str:
    return Path(__file__).read_text().splitlines()[line - 1]


def test_the_profiler_of_the_program_sees_the_same(tmp_path: Path) -> None:
    train()
    alone = profiled(train, tmp_path)
    inside: list[int] = []
    device, _ = recorded(lambda: inside.extend(profiled(train, tmp_path)), tmp_path / "run")
    assert inside == alone
    assert sums(device)[1] >= sum(each for each in alone if each > 0)


def test_frees_on_another_thread(tmp_path: Path) -> None:
    import threading

    def work() -> None:
        blocks = [torch.zeros(1000) for _ in range(10)]
        thread = threading.Thread(target=blocks.clear)
        thread.start()
        thread.join()

    device, missing = recorded(work, tmp_path)
    assert sums(device) == (10, 40000, 10, 40000)
    assert missing.frees == 0


def test_blocks_from_before_are_counted(tmp_path: Path) -> None:
    blocks = [torch.zeros(100) for _ in range(3)]

    def work() -> None:
        torch.zeros(10)
        blocks.clear()

    device, missing = recorded(work, tmp_path)
    assert sums(device) == (1, 40, 1, 40)
    assert missing.frees == 3


def test_between_the_windows_of_a_schedule(tmp_path: Path) -> None:
    kept: list[Any] = []

    def work() -> None:
        for step in range(6):
            kept.append(torch.zeros(100))
            if step % 2:
                kept.clear()
            graph.step()

    graph = fastdispatch.CallGraph(tmp_path, measure="memory", steps="2:4")
    with graph:
        work()
    assert sum(path.live for path in read(tmp_path)[0].paths.values()) == 0


def test_exceptions_and_a_second_recording(tmp_path: Path) -> None:
    def fail() -> None:
        torch.zeros(100)
        raise KeyError("of the program")

    for name in ("first", "second"):
        with pytest.raises(KeyError, match="of the program"):
            recorded(fail, tmp_path / name)
        assert sums(read(tmp_path / name)[0]) == (1, 400, 1, 400)


def test_a_self_test_without_reports_refuses() -> None:
    def fail() -> None:
        raise ValueError

    for probe, reason in (
        (lambda: None, "PyTorch reported no block of the self-test"),
        (lambda: torch.zeros(5), "PyTorch reported no block of the self-test"),
        (fail, "the self-test raised"),
    ):
        session = fastdispatch._core.Session(None)
        with pytest.raises(fastdispatch.Error, match=f"memory is not measured: {reason}"):
            session.attach_memory(probe)


#: Prints the words of the slots of libc10.so before, during and after a recording.
SLOTS = """
import ctypes, os, re, subprocess, sys, torch, fastdispatch
torch.zeros(1)
path = os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so")
base = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if line.rstrip().endswith("/libc10.so"))
names = "ProfiledCPUMemoryReporter3NewEPvm", "ProfiledCPUMemoryReporter6DeleteEPv"
offsets = [int(line.split()[0], 16) for line in subprocess.run(["readelf", "-rW", path], stdout=subprocess.PIPE,
           text=True, check=True).stdout.splitlines() if "SLO" in line and any(name in line for name in names)]
def words():
    return [ctypes.c_uint64.from_address(base + offset).value for offset in offsets]
before = words()
with fastdispatch.CallGraph(sys.argv[1], measure="memory"):
    during = words()
    child = os.fork()
    if child == 0:
        os._exit(0 if words() == before and torch.zeros(3).sum() == 0 else 1)
    forked = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(len(offsets), sum(a != b for a, b in zip(before, during)), words() == before, forked)
"""


def test_the_slots_are_restored(tmp_path: Path) -> None:
    assert processes.python_program("-c", SLOTS, tmp_path / "run").stdout.split() == ["2", "2", "True", "0"]


def test_a_reduced_merge_has_the_memory_of_the_rank_with_the_highest_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranks 1 and 2 have equal peaks: the lower one is reported, in any order and grouping."""
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "memory")
    for rank, steps in enumerate((1, 3, 3, 2)):
        monkeypatch.setenv("RANK", str(rank))
        with fastdispatch.CallGraph(tmp_path / "run", measure="memory"):
            kept = [torch.zeros(LEAK // 4) for _ in range(steps)]
        del kept
    ranks = [tmp_path / "run" / f"rank{rank:05}.fd" for rank in range(4)]
    orders = ([[0, 1, 2, 3]], [[3, 2], [1, 0]], [[2], [0, 3], [1]])
    groupings = [[[ranks[rank] for rank in group] for group in groups] for groups in orders]
    made = memory_report(fastdispatch.load(many_ranks.any_grouping(groupings, tmp_path)))
    assert (made.rank, made.ranks, made.devices[0].peak) == (1, 4, 3 * LEAK)
    one = memory_report(fastdispatch.load(ranks[1]))
    assert made.devices == one.devices and one.kept == (sys.version_info < (3, 12))
    assert "rank 1, the highest of 4 ranks; " in commands.out("report", tmp_path / "made.json", "--memory")
