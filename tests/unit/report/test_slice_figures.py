"""Figures of slices: durations, times, steps and streams, against plain computations."""

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastdispatch import Error
from fastdispatch.report import durations, slice_figures, spans
from fastdispatch.report.gpu_streams import NO_STREAM, Streams
from fastdispatch.report.timeline_figures import read_stats
from fastdispatch.report.timeline_steps import RankSteps


@pytest.mark.parametrize("batch", [1, 7, 4000])
def test_a_tally_of_batches(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of all sizes: sums are exact, and percentiles within the error that is stated."""
    monkeypatch.setattr(durations, "_ROWS", 100)
    random.seed(batch)
    values = [(key, random.getrandbits(random.choice((3, 7, 20, 50)))) for key in range(5) for _ in range(80 * key + 1)]
    values += [(5, value) for power in range(62) for value in (2**power - 1, 2**power, 2**power + 1)]
    random.shuffle(values)
    tally = durations.Tally()
    for at in range(0, len(values), batch):
        keys, numbers = np.array(values[at : at + batch], np.int64).T
        tally.add([-keys, keys], numbers)
    found = {key: figures for (_, key), figures in tally.rows()}
    assert sorted(found) == list(range(6))
    for key, figures in found.items():
        own = sorted(value for of, value in values if of == key)
        assert figures == durations.summary(np.array(own))
        assert (figures["count"], figures["min"], figures["max"]) == (len(own), own[0], own[-1])
        assert figures["total"] == sum(own) and figures["mean"] == sum(own) / len(own)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            exact = own[max(math.ceil(share * len(own)), 1) - 1]
            assert abs(figures[name] - exact) <= exact * durations.ERROR


def test_nothing_has_figures_of_zero() -> None:
    assert set(durations.summary(np.empty(0, np.int64)).values()) == {0}
    assert list(durations.Tally().rows()) == []


def test_sets_of_times_as_sets_of_numbers() -> None:
    random.seed(4)
    for _ in range(300):
        pairs = [[(start, start + random.randrange(6)) for start in random.sample(range(40), 6)] for _ in range(2)]
        sets = [{each for start, end in some for each in range(start, end)} for some in pairs]
        one, other = (spans.union(np.array(some, np.int64)) for some in pairs)

        def numbers(of: Any) -> set[int]:
            return {each for start, end in of for each in range(start, end)}

        assert numbers(one) == sets[0] and (one[1:, 0] > one[:-1, 1]).all()
        assert numbers(spans.joined(one, other)) == sets[0] | sets[1]
        assert numbers(spans.without(one, other)) == sets[0] - sets[1]
        starts, ends = np.array([0, 7, 13, 50]), np.array([45, 7, 30, 60])
        measured = [len(sets[0] & set(range(start, end))) for start, end in zip(starts, ends, strict=True)]
        assert spans.within(one, starts, ends).tolist() == measured


def steps(*rows: tuple[int, int, int]) -> RankSteps:
    layout = [("number", "i8"), ("start", "i8"), ("end", "i8"), ("open", "?")]
    return RankSteps(np.array([(*row, False) for row in rows], layout))


def test_steps_by_their_work() -> None:
    """A step lasts as annotated if the host is in step with the GPU. Otherwise it ends where the work of the next one
    begins, but not after a pause."""
    made = steps((0, 0, 1000), (1, 1000, 2000), (2, 52000, 53000))
    assert made.by_work() is None
    made.launch(np.array([10, 5000]), np.array([200, 0]), np.array([1005, 9000]))
    assert made.by_work() == [(0, 0, 1000), (1, 1000, 2000), (2, 52000, 53000)]
    made.launch(np.array([20, 1500, 52001]), np.array([100, 1600, 52100]), np.array([900, 2600, 52600]))
    assert made.by_work() == [(0, 100, 1600), (1, 1600, 2600), (2, 52100, 52600)]


def columns(**values: list[int]) -> dict[str, Any]:
    return {key: np.array(column, np.int64) for key, column in values.items()}


def streams(correlations: list[int], processes: list[int]) -> Streams:
    """Three launches at 0, 100 and 200, and a call of the driver within the first; work 50 later on a stream."""
    launches = columns(
        rank=[0] * 4,
        process=[*processes, processes[0]],
        thread=[1] * 4,
        start=[0, 100, 200, 2],
        end=[10, 110, 210, 8],
        correlation=[*correlations, correlations[0]],
    )
    work = columns(
        rank=[0] * 3,
        process=[each + 10 for each in processes],
        thread=[7] * 3,
        start=[50, 150, 250],
        end=[70, 160, 255],
        correlation=correlations,
        device=[0] * 3,
        stream=[NO_STREAM] * 3,
    )
    return Streams(launches, work)


@pytest.mark.parametrize(
    ("correlations", "processes", "launch_of", "repeated"),
    [
        ([1, 2, 3], [1, 1, 1], [0, 1, 2], {}),
        ([1, 1, 1], [1, 1, 1], [0, 1, 2], {0: 2}),  # joined traces: by time
        ([1, 1, 1], [1, 2, 1], [0, 1, 2], {0: 2}),  # by process and time
        ([0, 2, 3], [1, 1, 1], [0, 1, 2], {}),  # 0 is the first number
        ([0, 0, 3], [1, 1, 1], [-1, -1, 2], {}),  # 0 is an unknown number
    ],
)
def test_launches_of_work(
    correlations: list[int], processes: list[int], launch_of: list[int], repeated: dict[int, int]
) -> None:
    made = streams(correlations, processes)
    assert (made.launch_of.tolist(), made.repeated) == (launch_of, repeated)


def test_idle_time_and_delays() -> None:
    made = streams([1, 2, 3], [1, 1, 1])
    (stream,), (delays,) = made.figures(), made.delays()
    assert (stream["device"], stream["stream"], stream["count"], stream["launched"]) == (0, None, 3, 3)
    assert (stream["busy"], stream["idle"], stream["host_wait"], stream["kernel_wait"]) == (35, 170, 170, 0)
    assert (delays["delay"]["count"], delays["delay"]["min"], delays["delay"]["max"]) == (3, 40, 40)
    assert (delays["call"]["total"], delays["early"], delays["skew"]) == (30, 0, 0)


def trace(path: Path, rank: str) -> tuple[str, int]:
    name = {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": rank}}
    slices = [{"ph": "X", "pid": 1, "cat": "op", "name": "a", "ts": ts, "dur": 1} for ts in range(0, 60, 2)]
    path.write_text(json.dumps([name, *slices]))
    return str(path), int(path.stem)


def test_a_rank_in_two_files_and_unknown_ranks(tmp_path: Path) -> None:
    files = [trace(tmp_path / "0.json", "rank 0"), trace(tmp_path / "1.json", "rank 0")]
    with pytest.raises(Error, match=r"1\.json: rank 0 is also in another file"):
        read_stats(files, "wall", None, None)
    with pytest.raises(Error, match="no slices of these ranks"):
        read_stats(files[:1], "wall", [7], None)
    (tmp_path / "0.json").write_text('{"traceEvents":[]}')
    with pytest.raises(Error, match="no slices in these traces"):
        read_stats(files[:1], "wall", None, None)


def test_busy_times_are_joined_while_slices_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = trace(tmp_path / "0.json", "rank 0")
    whole = read_stats([(path, 0)], "wall", None, None)
    assert whole.ranks[0]["busy"] == 30_000
    monkeypatch.setattr(slice_figures, "_SPANS", 4)
    assert read_stats([(path, 0)], "wall", None, None) == whole
