"""``diff`` on real training: equal runs, planted changes, a slow rank."""

import gc
import re
import time
from itertools import pairwise
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.compare.diff import Diff
from fastdispatch.report.report_activities import activities
from tests import commands, processes

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.alone

STEPS, LAYERS = 40, 6


class Layer(torch.nn.Module):
    """Work in Python, like that of a tokenizer or scheduler."""

    def __init__(self, item: bool = False, rounds: int = 4000) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(128, 128)
        self.item, self.rounds = item, rounds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.work()
        x = torch.relu(self.linear(x))
        if self.item:
            x.mean().item()
        return x

    def work(self) -> None:
        for _ in range(self.rounds):
            pass


class Slow(Layer):
    def work(self) -> None:
        for _ in range(self.rounds):
            pass


def record(folder: Path, **changes: object) -> fastdispatch.Trace:
    slow = changes.pop("slow", 4000)
    layers = [Layer(**changes) for _ in range(LAYERS - 1)] + [Slow(rounds=slow, **changes)]  # type: ignore[arg-type]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    gc.collect()  # garbage of other tests may call back
    gc.disable()
    with fastdispatch.CallGraph(folder) as graph:
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(32, 128)).sum().backward()
            optimizer.step()
            graph.step()
    gc.enable()
    return fastdispatch.load(folder)


@pytest.fixture(scope="module")
def equal_runs(tmp_path_factory: pytest.TempPathFactory) -> list[fastdispatch.Trace]:
    folder = tmp_path_factory.mktemp("equal")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    record(folder / "warm")
    runs = [record(folder / str(number)) for number in range(11)]
    torch.set_num_threads(threads)
    return runs


def test_ten_pairs_of_equal_runs_do_not_differ(equal_runs: list[fastdispatch.Trace], tmp_path: Path) -> None:
    """Other load can disturb a whole run of a tenth of a second, so it is repeated."""
    for index, (before, after) in enumerate(pairwise(equal_runs)):
        diffs = [Diff(before, after)]
        while diffs[-1].changed() and len(diffs) < 10:
            again = tmp_path / f"{index}.{len(diffs)}"
            diffs.append(Diff(record(again / "before"), record(again / "after")))
        assert [(row.key, sorted(row.changes)) for row in diffs[-1].changed()] == []
        assert [call.as_json() for diff in diffs for call in diff.changed_calls()] == []
        assert len(diffs[0].rows) > 50


def test_one_item_a_layer_is_found(equal_runs: list[fastdispatch.Trace], tmp_path: Path) -> None:
    diff = Diff(equal_runs[0], record(tmp_path / "run", item=True))
    found = {(c.caller.key if c.caller else "", c.callee.key): c.calls.change for c in diff.changed_calls()}
    forward = next(caller for caller, callee in found if callee == "aten::item" and "[Layer]" in caller)
    assert forward.endswith("[Layer]:forward")
    assert found[(forward, "aten::item")] == LAYERS - 1
    assert found[(forward, "aten::mean")] == LAYERS - 1
    assert all(change > 0 for change in found.values())


def test_a_module_slower_by_30_percent_is_found(tmp_path: Path) -> None:
    """Other load can slow other parts too, so one of several pairs must name only the planted change."""
    record(tmp_path / "first")  # some calls happen once in a process
    named: list[dict[str, set[str]]] = []
    while {"[Slow]": {"slower"}} not in named and len(named) < 5:
        diff = Diff(record(tmp_path / f"{len(named)}.before"), record(tmp_path / f"{len(named)}.after", slow=5200))
        named.append({row.key.rpartition(":")[0][-6:]: row.changes for row in diff.changed()})
        assert diff.changed_calls() == []
    assert {"[Slow]": {"slower"}} in named


def hold(seconds: float) -> None:
    time.sleep(seconds)


def test_a_lock_that_is_free_in_some_steps_is_a_change(tmp_path: Path) -> None:
    """Neither the fastest nor the median step has it: the times are those of the mean step, so that parts add up."""
    traces = []
    for seconds in (0, 0.03):
        model = torch.nn.Linear(64, 64)
        with fastdispatch.CallGraph(tmp_path / str(seconds)) as graph:
            for number in range(STEPS):
                hold(seconds * (number % 3 == 0))
                model(torch.ones(8, 64)).sum().backward()
                graph.step()
        traces.append(fastdispatch.load(tmp_path / str(seconds)))
    for before, after, sign in ((*traces, 1), (*reversed(traces), -1)):
        made = fastdispatch.diff(before, after).verdict
        assert made.below is not None, made.text
        assert (made.below.rpartition(":")[2], made.mean) == ("hold", True), made.text
        assert made.text.startswith("mean step ")
        assert sign * made.part > 5e6
        assert abs(made.rest) < abs(made.part) / 2


def record_ranks(folder: Path, world: int, seconds: float) -> Path:
    """Record ranks of which rank 1 sleeps for ``seconds`` in each step."""
    ranks = processes.start_ranks(("torch",), "slow_rank.py", world, folder, seconds)
    assert [(rank.communicate(timeout=120)[1], rank.returncode) for rank in ranks] == [("", 0)] * world
    return folder


def test_a_slow_rank_is_distinguished_from_waiting_ranks(tmp_path: Path) -> None:
    run = record_ranks(tmp_path / "run", 3, 0.04)
    assert activities(fastdispatch.load(run, steps="settled")) == []  # nothing evaluates
    document = commands.document("diff", run, "--ranks", "outliers")
    assert document["slow"] == [1]
    (diff,) = document["diffs"]
    slower = [row["key"] for row in diff["rows"] if "slower" in row["changes"]]
    assert slower[0].endswith("slow_rank.py:[]:load_batch")
    printed = commands.out("diff", run, "--ranks", "outliers")
    assert re.match(r"rank 1 on \S+ is slow: ", printed)


def test_a_sleep_of_one_rank_is_that_of_the_rank(tmp_path: Path) -> None:
    """Not the speed of the machine, whichever of both runs is the first."""
    equal, slow = (record_ranks(tmp_path / name, 2, seconds) for name, seconds in (("equal", 0.02), ("slow", 0.06)))
    found = [each for each in fastdispatch.findings(slow) if each.where.key.endswith(":load_batch")]
    assert [(each.id, each.ranks) for each in found] == [("slow-rank", [1])]  # not its input again
    for before, after, word in ((equal, slow, "slow"), (slow, equal, "fast")):
        made = fastdispatch.diff(before, after).verdict
        assert (made.rank, made.below and made.below.rpartition(":")[2]) == (1, "load_batch"), made.text
        assert f": rank 1 became {word}: " in made.text
        parts = made.part + made.machine + made.without_core + made.communication + made.rest
        assert parts == pytest.approx(made.after - made.before)
