"""Steps chosen when reading: windows of recordings, dumps and merges."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.read import steps
from tests import programs

Figures = dict[tuple[str, ...], tuple[int, int, int]]


def figures(trace: fastdispatch.Trace) -> Figures:
    """Calls, resumes and self time (or duration) of each call path."""
    columns = trace.contexts
    paths: list[tuple[str, ...]] = []
    for parent, node, module in zip(*(columns[name] for name in ("parent", "node", "module")), strict=True):
        key = trace.nodes["key"][node], trace.modules["path"][module] if module >= 0 else ""
        paths.append((*(paths[parent] if parent >= 0 else ()), *key))
    sums: Figures = {}
    rows = zip(paths, *(columns[name] for name in ("origin", "calls", "resumes", "self", "async")), strict=True)
    for path, origin, calls, resumes, own, asynchronous in rows:
        key = (*path, *(paths[origin] if origin >= 0 else ()))
        before = sums.get(key, (0, 0, 0))
        sums[key] = before[0] + calls, before[1] + resumes, before[2] + own + asynchronous
    return {key: values for key, values in sums.items() if any(values)}


def minus(a: Figures, b: Figures) -> Figures:
    left = {path: tuple(x - y for x, y in zip(a.get(path, (0, 0, 0)), b.get(path, (0, 0, 0)), strict=True)) for path in
            a.keys() | b.keys()}  # fmt: skip
    return {path: values for path, values in left.items() if any(values)}  # type: ignore[misc]


def calls(trace: fastdispatch.Trace, name: str) -> int:
    table = trace.table()
    return sum(n for where, n in zip(table["where"], table["calls"], strict=True) if where.endswith(f":{name}"))


def worker(requests: Any, answers: Any) -> None:
    while requests.get() is not None:
        answers.put(programs.leaf(1))


def numbers() -> Iterator[int]:
    for number in range(10**9):
        yield programs.leaf(number)


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """20 steps of three calls of leaf: one of the step, one of a generator, one of a thread. And a set-up, and calls
    after the last step."""
    from queue import SimpleQueue

    requests: Any = SimpleQueue()
    answers: Any = SimpleQueue()
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        thread = threading.Thread(target=worker, args=(requests, answers), name="helper")
        thread.start()
        source = numbers()
        programs.classes()
        time.sleep(0.05)
        for _ in range(20):
            programs.leaf(1)
            next(source)
            requests.put(1)
            answers.get()
            graph.step()
        programs.leaf(1)
        requests.put(None)
        thread.join()
    return tmp_path / "rank00000.fd"


def test_a_step_is_the_sum_of_its_parts(trained: Path) -> None:
    whole = figures(fastdispatch.load(trained))
    for first, last in ((0, 19), (1, 5), (4, 11), (8, 19)):
        window = fastdispatch.load(trained, steps=(first, last))
        assert window.window is not None
        assert window.ranks[0]["steps"] == window.window.steps == last - first + 1
        set_up = calls(fastdispatch.load(trained, steps=(0, 0)), "leaf") - 3 if first == 0 else 0
        assert calls(window, "leaf") == 3 * (last - first + 1) + set_up
        before = fastdispatch.load(trained, steps=(0, first - 1)) if first else None
        start = figures(before) if before is not None else {}
        after = minus(minus(whole, start), figures(window))
        assert all(value >= 0 for values in after.values() for value in values)
        rest = fastdispatch.load(trained, steps=(last + 1, 19)) if last < 19 else None
        ended = figures(fastdispatch.load(trained, steps=(0, 19)))
        assert minus(minus(ended, start), figures(window)) == (figures(rest) if rest is not None else {})


def test_settled_steps(trained: Path) -> None:
    trace = fastdispatch.load(trained, steps="settled")
    window = trace.window
    assert window is not None and window.settled and trace.whole_reason == ""
    assert (window.last, window.ended) == (19, 20)
    assert window.steps + window.skipped == 20 and 1 <= window.skipped <= 10
    assert calls(trace, "leaf") == 3 * window.steps
    assert not any("classes" in key for key in trace.nodes["key"])
    assert trace.ranks[0]["latest_steps"]["number"] == list(range(window.first, 20))


def test_times_of_threads(trained: Path) -> None:
    """No thread covers more than the window, and each path is in the time of its thread."""
    trace = fastdispatch.load(trained, steps=(4, 11))
    rank = trace.ranks[0]
    assert sorted(rank["threads"]["role"]) == ["helper", "main"]
    for covered, cpu in zip(rank["threads"]["covered"], rank["threads"]["cpu"], strict=True):
        assert 0 < covered <= rank["recorded"] + 1
        assert cpu > 0
    main = rank["threads"]["role"].index("main")
    assert abs(rank["threads"]["covered"][main] - rank["recorded"]) <= 1
    assert rank["threads"]["covered"] == rank["threads"]["self"]


def test_dumps_keep_the_settled_steps(trained: Path, tmp_path: Path) -> None:
    settled = fastdispatch.load(trained, steps="settled")
    fastdispatch.load(trained).dump(tmp_path / "dump.json")
    again = fastdispatch.load(tmp_path / "dump.json", steps="settled")
    assert again.window == settled.window
    assert figures(again) == figures(settled)
    assert again.ranks == settled.ranks
    with pytest.raises(fastdispatch.Error, match=r"dump\.json: a dump has all steps and the settled ones"):
        fastdispatch.load(tmp_path / "dump.json", steps=(1, 2))
    with pytest.raises(fastdispatch.Error, match="cannot be dumped: load it without steps"):
        settled.dump(tmp_path / "no.json")
    assert not (tmp_path / "no.json").exists()


def test_the_step_time_is_the_same_for_all_readers(trained: Path, tmp_path: Path) -> None:
    whole, settled = fastdispatch.load(trained), fastdispatch.load(trained, steps="settled")
    whole.dump(tmp_path / "dump.json")
    dumped = fastdispatch.load(tmp_path / "dump.json")
    found = steps.step_times(whole.ranks)
    assert found is not None and found.low <= found.median <= found.high
    assert steps.step_times(settled.ranks) == steps.step_times(dumped.ranks) == found
    assert sum(steps.phase_times(whole.ranks).values()) == found.median
    assert steps.parts(settled.ranks) == steps.parts(whole.ranks) == steps.parts(dumped.ranks)


def test_parts_of_the_run_add_up(trained: Path) -> None:
    trace = fastdispatch.load(trained)
    startup, first, training, after = steps.parts(trace.ranks)
    assert startup.time + first.time + training.time + after.time == trace.ranks[0]["recorded"]
    assert startup.time >= 50_000_000  # the sleep before the first step
    assert first.steps + training.steps == 20


def test_too_few_steps(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        for _ in range(3):
            programs.leaf(1)
            graph.step()
    trace = fastdispatch.load(tmp_path, steps="settled")
    assert trace.window is None and trace.whole_reason == "fewer than 4 steps ended"
    assert figures(trace) == figures(fastdispatch.load(tmp_path))
    assert steps.parts(trace.ranks) == []


def test_no_steps(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        programs.leaf(1)
    assert fastdispatch.load(tmp_path, steps="settled").window is None
    with pytest.raises(fastdispatch.Error, match="no steps were recorded, so none can be selected"):
        fastdispatch.load(tmp_path, steps=(0, 1))


def test_wrong_requests(trained: Path) -> None:
    for wrong in ("all", (1,), (1, 2, 3), 4, (2, 1), ("a", 1)):
        with pytest.raises((ValueError, TypeError)):
            fastdispatch.load(trained, steps=wrong)  # type: ignore[arg-type]


def test_training(tmp_path: Path) -> None:
    """Backward runs in the autograd engine, with origins in forward."""
    pytest.importorskip("torch")
    from tests.training import make_step

    _, step = make_step()
    with fastdispatch.CallGraph(tmp_path):
        for _ in range(12):
            step()
    whole = fastdispatch.load(tmp_path)
    before, window = fastdispatch.load(tmp_path, steps=(0, 3)), fastdispatch.load(tmp_path, steps=(4, 11))
    assert window.window is not None and window.window.steps == 8
    after = minus(minus(figures(whole), figures(before)), figures(window))
    assert all(value >= 0 for values in after.values() for value in values)
    operators = dict(zip(window.table("operator")["where"], window.table("operator")["calls"], strict=True))
    for name, count in zip(*(before.table("operator")[column] for column in ("where", "calls")), strict=True):
        if name == "aten::linear":
            assert operators[name] == 2 * count  # 8 steps, and 4
    phases = steps.phase_times(window.ranks)
    assert phases["forward"] > 0 and phases["backward"] > 0 and phases["optimizer"] > 0
