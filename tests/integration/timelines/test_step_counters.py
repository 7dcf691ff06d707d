"""Counters of measured figures of steps: the columns of ``latest_steps``, Chrome and Perfetto timelines."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import torch
import torch.distributed as dist

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.measures.flops import flops_of
from tests.consumers.perfetto import assert_clean, open_trace, query

STEPS = 4
ROWS, COLUMNS = 8, 16
#: A product of ROWS x COLUMNS and COLUMNS x COLUMNS, multiplications and additions.
PRODUCT = 2 * ROWS * COLUMNS * COLUMNS
REDUCED = 4 * COLUMNS

VALUES = """
    select counter.value as value from counter join counter_track on counter.track_id = counter_track.id
    where counter_track.name like '{}%' order by counter.ts
"""


def record(folder: Path, **options: Any) -> dict[str, Any]:
    """Step n reduces a vector n times, and keeps a block of n kilobytes."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    kept: list[torch.Tensor] = []
    vector = torch.ones(COLUMNS)
    with fastdispatch.CallGraph(folder / "run", timeline=True, **options) as graph:
        for step in range(STEPS):
            for _ in range(step):
                dist.all_reduce(vector)
            kept.append(torch.empty(1024 * step, dtype=torch.uint8))
            graph.step()
    dist.destroy_process_group()
    return fastdispatch.load(folder / "run").ranks[0]["latest_steps"]


def test_figures_of_each_step(tmp_path: Path) -> None:
    steps = record(tmp_path, measure="all")
    assert steps["communicated"] == [step * REDUCED for step in range(STEPS)]
    grown = [after - before for before, after in zip(steps["live"], steps["live"][1:], strict=False)]
    assert grown == [1024 * step for step in range(1, STEPS)]


def test_figures_that_are_not_measured(tmp_path: Path) -> None:
    steps = record(tmp_path, measure="comm")
    assert steps["communicated"] == [step * REDUCED for step in range(STEPS)]
    assert steps["live"] == [None] * STEPS


def test_the_first_step_of_an_optimizer_and_of_step_is_measured(tmp_path: Path) -> None:
    """``step()`` makes one step of the two whose ends were an optimizer's and its own."""
    weight = torch.nn.Parameter(torch.ones(COLUMNS, COLUMNS))
    optimizer = torch.optim.SGD([weight])
    with fastdispatch.CallGraph(tmp_path, measure="flops") as graph:
        for _ in range(3):
            (torch.ones(ROWS, COLUMNS) @ weight).sum().backward()
            optimizer.step()
            graph.step()
    trace = fastdispatch.load(tmp_path)
    rank = trace.ranks[0]
    assert sum(work.flops for work in flops_of(trace).sites.values()) == 3 * 2 * PRODUCT
    kinds = rank["measures"]["kind"]
    assert [rank["measures"]["count"][kinds.index("steps")]] == [3]


def test_other_forms_keep_the_figures(tmp_path: Path) -> None:
    steps = record(tmp_path, measure="all")
    merged = tmp_path / "merged.json"
    assert main(["merge", str(tmp_path / "run"), "-o", str(merged)]) == 0
    assert fastdispatch.load(merged).ranks[0]["latest_steps"] == steps
    assert json.loads(merged.read_text())["ranks"][0]["latest_steps"]["communicated"] == steps["communicated"]
    columns = pyarrow.table(fastdispatch.load(tmp_path / "run").columns("steps")).to_pydict()
    for name in ("communicated", "live"):
        assert columns[name] == steps[name]


@pytest.mark.parametrize("form", ["chrome", "perfetto"])
def test_counters_in_the_trace_processor(tmp_path: Path, form: str) -> None:
    steps = record(tmp_path, measure="all")
    path = tmp_path / ("out.json" if form == "chrome" else "out.pftrace")
    assert main(["export", form, str(tmp_path / "run"), "-o", str(path)]) == 0
    with open_trace(path) as trace:
        assert_clean(trace)
        for name, column in (
            ("Communicated bytes per step", "communicated"),
            ("Allocated bytes at ends of steps", "live"),
        ):
            values = [row["value"] for row in query(trace, VALUES.format(name))]
            assert values == [value for value in steps[column] if value is not None], name
