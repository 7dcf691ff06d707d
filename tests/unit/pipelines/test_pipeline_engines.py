"""Engines that do not do what they plan, or are not as we know them: stand-ins at the paths of the real ones."""

import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import fastdispatch
from fastdispatch import pipeline
from tests.pipelines import rows

UNPLANNED = 128

#: No _exec_reduce_tied_grads: it has moved.
ENGINE = """
class TrainSchedule:
    def __init__(self, micro_batches, stages, stage_id):
        self.micro_batches, self.stages, self.stage_id = micro_batches, stages, stage_id


class OwnSchedule(TrainSchedule):
    pass


class PipelineEngine:
    stage_id, num_stages = 0, 2

    def train_batch(self, schedule, order):
        self._exec_schedule(schedule, order)

    def _exec_schedule(self, pipe_schedule, order):
        for name, buffer in order:
            getattr(self, "_exec_" + name)(*[] if buffer is None else [buffer])

"""
LM, F, B, SA, RG = "load_micro_batch", "forward_pass", "backward_pass", "send_activations", "recv_grads"
END = [("reduce_grads", None), ("optimizer_step", None)]
ENGINE += "".join(f"    def _exec_{name}(self, buffer_id):\n        pass\n" for name in (LM, F, B, SA, RG))
ENGINE += "".join(f"    def _exec_{name}(self):\n        pass\n" for name, _ in END)
#: Jobs of stage 0 of 2 for one micro-batch, without the reduction of tied gradients.
ORDER = [(LM, 0), (F, 0), (SA, 0), (RG, 0), (B, 0), *END]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    path = tmp_path_factory.mktemp("engines") / "deepspeed" / "runtime" / "pipe" / "engine.py"
    path.parent.mkdir(parents=True)
    path.write_text(ENGINE)
    spec = importlib.util.spec_from_file_location("stand_in_engine", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["stand_in_engine"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["stand_in_engine"]


def record(
    engine: ModuleType, *batches: list[tuple[str, int | None]], schedule: str = "TrainSchedule"
) -> fastdispatch.Trace:
    with fastdispatch.CallGraph(None, ops="off", jobs=True) as graph:
        for order in batches:
            engine.PipelineEngine().train_batch(getattr(engine, schedule)(1, 2, 0), order)
    assert graph._session is not None
    return fastdispatch.Trace(graph._session.trace(timeline=True))


def test_the_first_difference_is_named(engine: ModuleType) -> None:
    trace = record(engine, ORDER)
    facts = trace.ranks[0]["meta"]["pipeline"]
    assert facts["schedule"] == "deepspeed-train"
    assert facts["difference"] == "iteration 0, stage 0, job 6: ran RD, planned RT"
    assert not [row for row in rows(trace.jobs()) if row["flags"] & UNPLANNED]  # nothing that is not in the plan


def test_unplanned_jobs_are_flagged(engine: ModuleType) -> None:
    trace = record(engine, [(LM, 0), (F, 0), (F, 1), (SA, 0), (RG, 0), (B, 0), *END])
    facts = trace.ranks[0]["meta"]["pipeline"]
    assert facts["difference"] == (
        "iteration 0, stage 0, job 3: ran F of micro-batch 1 in buffer 1, planned SA of micro-batch 0 in buffer 0"
    )
    flagged = [(row["kind"], row["micro_batch"]) for row in rows(trace.jobs()) if row["flags"] & UNPLANNED]
    assert flagged == [("F", 1)]


def test_the_line_stays_with_the_first_iteration_that_differs(engine: ModuleType) -> None:
    trace = record(engine, ORDER, ORDER[1:], ORDER)
    assert trace.ranks[0]["meta"]["pipeline"]["difference"].startswith("iteration 0, ")


def test_functions_that_moved_are_named(engine: ModuleType) -> None:
    rules = record(engine, ORDER).ranks[0]["meta"]["pipeline"]["rules"]
    assert "PipelineEngine._exec_reduce_tied_grads" in rules["missing"]
    assert "PipelineEngine._exec_recv_activations" in rules["missing"]
    assert "PipelineEngine._exec_forward_pass" in rules["matched"]


def test_a_schedule_of_ones_own_is_counted(engine: ModuleType) -> None:
    trace = record(engine, [(F, 0), (F, 1), (F, 0), (B, 1), (B, 1)], schedule="OwnSchedule")
    facts = trace.ranks[0]["meta"]["pipeline"]
    assert (facts["schedule"], facts["class"], facts["difference"]) == (None, "OwnSchedule", None)
    assert facts["note"].startswith(("no plan of OwnSchedule", "the facts of the engine could not be read"))
    assert [row["micro_batch"] for row in rows(trace.jobs(), kind="F")] == [0, 1, 2]
    assert [row["micro_batch"] for row in rows(trace.jobs(), kind="B")] == [0, 1]
    assert not any(row["flags"] & UNPLANNED for row in rows(trace.jobs()))


def test_an_engine_without_attributes_is_recorded(engine: ModuleType) -> None:
    """The stand-in has no grid: its program does not see our question fail."""
    trace = record(engine, ORDER)
    assert "could not be read" in trace.ranks[0]["meta"]["pipeline"]["note"]
    assert "coordinates" not in trace.ranks[0]["meta"]
    assert len(rows(trace.jobs())) == 1 + len(ORDER)


def test_a_report_names_missing_facts_of_the_engine(engine: ModuleType) -> None:
    trace = record(engine, ORDER, ORDER, schedule="OwnSchedule")
    notes = pipeline.report(trace).notes
    assert trace.ranks[0]["meta"]["pipeline"]["note"] in notes
    (line,) = [note for note in notes if note.startswith("this version of the engine has no ")]
    assert ", ".join(trace.ranks[0]["meta"]["pipeline"]["rules"]["missing"][:4]) in line
