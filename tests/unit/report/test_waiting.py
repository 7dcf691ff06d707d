"""Work, waiting and the queue for a CPU: what reports and findings derive from them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fastdispatch
from fastdispatch.detectors import pipeline_stages
from fastdispatch.detectors.decide import DETECTORS, results_of
from fastdispatch.detectors.device_copy import device_copy, rare_saves
from fastdispatch.detectors.input_wait import input_wait
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided, sentence
from fastdispatch.detectors.rank_work import slow_rank
from fastdispatch.detectors.repeated_work import evaluation
from fastdispatch.read.steps import PHASES
from fastdispatch.read.waiting import PhaseSplit, busy_time, queued_share
from fastdispatch.report.report_lines import overload
from tests.unit.report.call_trees import STEP_COLUMNS, Dump, put_on_cpus

MS = 1_000_000
ENGINE = "torch/autograd/graph.py:[]:_engine_run_backward"


def marked(queued: list[int], first: int = 0) -> dict[str, Any]:
    """A rank with marks at every 100 ms, of which those from ``first`` on are covered."""
    marks = {"queued": [ns * MS for ns in queued], "recorded": [100 * MS * (i + 1) for i in range(len(queued))]}
    return {"marks": marks, "window": {"from": first, "to": len(queued)}}


@pytest.mark.parametrize(
    ("queued", "first", "share"),
    [
        ([10, 20, 60, 0], 0, 0.2),  # unknown at the last end of a step
        ([10, 20, 60, 0], 1, 0.25),
        ([0, 0, 0, 0], 0, None),
        ([0, 20, 60, 0], 1, None),
        ([10, 0, 0, 0], 1, None),
    ],
)
def test_the_share_without_a_core(queued: list[int], first: int, share: float | None) -> None:
    assert queued_share(marked(queued, first)) == share


def dumped(path: Path, *trees: list[Any], cpu: int = 0, queued: int = 0, steps: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Dump(*trees).write(path).read_text())
    put_on_cpus(document, cpu, queued)
    path.write_text(json.dumps(document))
    return document


def test_waiting_and_no_core_are_two_figures(tmp_path: Path) -> None:
    dumped(tmp_path / "run.json", [("train.py:[]:step", 3, 100)], cpu=30, queued=39)
    trace = fastdispatch.load(tmp_path / "run.json")
    assert busy_time(trace, trace.ranks) == 69 * MS
    report = trace.report()
    assert overload(report.facts) == "31.0 % waiting, 39.0 % without a core: the machine is overloaded"
    assert "31.0 % waiting, 39.0 % without a core: the machine is overloaded" in str(report).splitlines()[1]
    assert str(fastdispatch.findings(trace)).splitlines()[1] == overload(report.facts)


def test_a_machine_with_free_cores_is_not_overloaded(tmp_path: Path) -> None:
    dumped(tmp_path / "run.json", [("train.py:[]:step", 3, 100)], cpu=30, queued=2)
    report = fastdispatch.load(tmp_path / "run.json").report()
    assert overload(report.facts) == ""
    assert "68.0 % of it waiting, 2.0 % without a core" in str(report)


def test_waiting_in_the_engine_and_for_messages_is_communication(tmp_path: Path) -> None:
    """In a program of one rank the engine waits for none."""
    post = ("torch/distributed/distributed_c10d.py:[]:batch_isend_irecv", 3, 1, [("op:c10d::recv_", 3, 1)])
    pipe = ("megatron/p2p.py:[Communicator]:_communicate", 3, 30, [post])
    tree = [("train.py:[]:step", 3, 40, [(ENGINE, 3, 20), pipe])]
    parts = []
    for number, trees in enumerate(([tree, tree], [tree])):
        path = Dump(*trees).write(tmp_path / f"{number}.json")
        trace = fastdispatch.load(path)
        split = PhaseSplit(trace, "main")
        parts.append(split.parts(split.phases(trace.contexts), trace.contexts))
        talks, other = (100 * parts[-1][name] / sum(parts[-1].values()) for name in ("communication", "other"))
        assert sum(phase.communication for phase in trace.report().facts.phases) == parts[-1]["communication"]
        assert f": communication {talks:.1f} %, other {other:.1f} %" in str(trace.report())
    assert (parts[0]["communication"], parts[0]["other"]) == (2 * 52 * MS, 2 * 40 * MS)
    assert (parts[1]["communication"], parts[1]["other"]) == (32 * MS, 60 * MS)


def stepped(path: Path, times: list[int]) -> MeasuredSteps:
    """A run of which each step has a reading of a tensor with one of ``times`` in microseconds."""
    document = dumped(path, [("train.py:[]:step", 10, 100, [("op:aten::item", 10, sum(times) / 1000)])], cpu=100)
    (rank,) = document["ranks"]
    rank |= {"steps": len(times), "steps_source": "explicit"}
    numbers = list(range(len(times)))
    rank["latest_steps"] = {name: [0] * len(times) for name in STEP_COLUMNS} | {"number": numbers}
    item = 2  # main, step, item
    late = [(number, item, 1000 * time) for number, time in enumerate(times) if time > 100]
    rank["step_tops"] = {name: [row[i] for row in late] for i, name in enumerate(("step", "context", "self"))}
    rank["figures"]["steps"] = [len(times)] * len(rank["figures"]["context"])
    del rank["marks"], rank["settled_from"], rank["settled_to"]
    path.write_text(json.dumps(document))
    return MeasuredSteps(fastdispatch.load(path))


def test_an_operator_that_was_late_in_few_steps_counts_as_usual(tmp_path: Path) -> None:
    """Another process had its core: it reads a value of a CPU, which takes no time, in every step."""
    (row,) = (steps := stepped(tmp_path / "late.json", [2, 2, 2, 5000, 2, 2, 2, 3000, 2, 2])).named("aten::item")
    assert (steps.own(row), steps.total(row)) == (2000, 2000)
    (row,) = (steps := stepped(tmp_path / "every.json", [5000, 3000] * 5)).named("aten::item")
    assert steps.own(row) == 4_000_000


def test_both_figures_of_an_evaluation_are_of_a_usual_step(tmp_path: Path) -> None:
    """Another process had the core in one step, in training and in evaluation: half of each step is evaluation."""
    flags = {"flags": PHASES.index("forward")}
    product = ("op:aten::mm", 10, 400, [], "", flags)
    forward = ("model.py:[Net]:forward", 10, 0, [product], "", flags | {"module": "net"})
    backward = ("autograd:MmBackward0", 10, 1, [], "model.py:[Net]:forward")
    trains = ("train.py:[]:train", 10, 0, [forward, backward])
    tree = [("train.py:[]:main", 1, 0, [trains, ("train.py:[]:validate", 10, 0, [forward])])]
    figures(path := tmp_path / "run.json", tree, cpu=[200], data=70)
    document = json.loads(path.read_text())
    document["ranks"][0]["step_tops"] = {"step": [3, 3], "context": [4, 8], "self": [300 * MS, 300 * MS]}
    path.write_text(json.dumps(document))
    (found,) = evaluation(MeasuredSteps(fastdispatch.load(path)))
    assert found.proof == "1 call per step without a backward pass, 34.8 ms or 50 % of a step"
    assert (found.gain_ns, found.share) == (pytest.approx(34.8 * MS, 0.01), pytest.approx(0.5, 0.01))


@pytest.mark.parametrize(("reads", "calls", "found"), [(1600, 20, 1), (0, 20, 0), (1600, 4, None)])
def test_calls_of_a_model_are_steps_if_nothing_is_trained(
    tmp_path: Path, reads: int, calls: int, found: int | None
) -> None:
    """A server: a step includes repeated calls of its loop, but not the start."""
    flags = {"flags": PHASES.index("forward"), "module": "net"}
    read = [("op:aten::is_nonzero", reads, 100)] * bool(reads)
    parts = [("serve.py:[Ranker]:forward", calls, 100, [], "", flags), ("serve.py:[]:answer", calls, 100, read)]
    serve = ("serve.py:[]:serve", 1, 100, [("serve.py:[]:load", 1, 500), ("serve.py:[]:handle", calls, 100, parts)])
    path = Dump([("serve.py:[]:<module>", 1, 3000, [serve])]).write(tmp_path / "run.json")
    made = fastdispatch.findings(path)
    if found is None:
        assert str(made).splitlines()[0].endswith(": no training step was recorded")
        return
    line = f"a step is a call of the model Ranker; it takes {25 if reads else 20} ms (mean of 20)"
    assert str(made).splitlines()[0].endswith(f": no training step was recorded: {line}")
    titles = [f"{each.severity}: {each.title}, {each.share}" for each in made]
    assert titles == ["critical: answer reads values of tensors (aten::is_nonzero) 80 times per step, 0.4"] * found
    assert ("not decided: 21 detectors (no training step was recorded)" in str(made)) and len(made.not_decided) == 21


def test_a_gain_is_at_most_a_step_and_other_time_is_of_the_run(tmp_path: Path) -> None:
    steps = stepped(tmp_path / "run.json", [2] * 10)
    found = steps.finding("slow", steps.where(0), 1e12, "", "")
    assert (found.share, found.gain_ns) == (1.0, round(steps.step))
    steps.ranks[0]["recorded"] = 73_000 * MS
    found = steps.finding("slow", steps.where(0), 1e12, "", "", id="recompile", **steps.extent(65_000 * MS))
    assert sentence(found).endswith("[recompile, 65 s of a run of 73 s]")
    assert found.share == round(65 / 73, 4)


def figures(path: Path, *trees: list[Any], cpu: list[int], queued: int = 0, data: int = 0) -> MeasuredSteps:
    """Ranks of 10 steps, of ``data`` ms of input each; paths with fewer calls ran in as many steps. No path has a
    shortest time. ``cpu``: of all steps per rank, ms."""
    document = dumped(path, *trees, queued=queued)
    for rank, time in zip(document["ranks"], cpu, strict=True):
        rank |= {"steps": 10, "steps_source": "explicit"}
        rank["threads"]["cpu"] = [time * MS]
        rank["figures"]["steps"] = [min(calls, 10) or 10 for calls in rank["figures"]["calls"]]
        latest = {"number": list(range(10)), "end": [1] * 10, "data": [data * MS] * 10}
        rank["latest_steps"] = {name: [0] * 10 for name in STEP_COLUMNS} | latest
        if not queued:
            del rank["marks"], rank["settled_from"], rank["settled_to"]
    path.write_text(json.dumps(document))
    return MeasuredSteps(fastdispatch.load(path))


@pytest.mark.parametrize(("cpu", "calls", "decided"), [(900, 10, True), (420, 10, False), (900, 2, False)])
def test_cpu_time_of_every_step_decides_whether_a_rank_is_slow(
    tmp_path: Path, cpu: int, calls: int, decided: bool
) -> None:
    trees = [
        [("train.py:[]:augment", calls, own), ("train.py:[]:step", 10, 300), ("op:c10d::allreduce_", 10, 1200 - own)]
        for own in (20, 1000)
    ]
    (found,) = slow_rank(figures(tmp_path / "run.json", *trees, cpu=[400, cpu]))
    assert isinstance(found, Finding) == decided
    if isinstance(found, Finding):
        assert (found.ranks, found.where.key) == ([1], "train.py:[]:augment")
    else:
        assert found == "rank 1 works longer in some steps only"


@pytest.mark.parametrize(("queued", "share"), [(600, None), (200, 0.6)])
def test_waits_for_workers_without_a_core_are_not_decided(tmp_path: Path, queued: int, share: float | None) -> None:
    """The loop waits for its input for 900 of 1000 ms, at most for those in which it could not run."""
    flags = {"flags": PHASES.index("data")}
    file = "torch/utils/data/dataloader.py"
    wait = (f"{file}:[_MultiProcessingDataLoaderIter]:_get_data", 10, 900, [], "", flags)
    tree = [("train.py:[]:step", 10, 100), (f"{file}:[_BaseDataLoaderIter]:__next__", 10, 0, [wait], "", flags)]
    (found,) = input_wait(figures(tmp_path / "run.json", tree, cpu=[200], queued=queued, data=90))
    assert (found.share if isinstance(found, Finding) else None) == share


def test_a_checkpoint_of_some_steps_counts_with_all_that_it_does(tmp_path: Path) -> None:
    saves = ("train.py:[]:checkpoint", 2, 380, [("torch/serialization.py:[]:save", 2, 20)])
    model = ("model.py:[Net]:forward", 10, 600, [], "", {"flags": PHASES.index("forward")})
    tree = [("train.py:[]:main", 0, 0, [model, saves])]
    (found,) = rare_saves(figures(tmp_path / "run.json", tree, cpu=[900]))
    assert found.title == "checkpoint saves tensors in 2 of 10 steps"
    assert (found.share, found.severity, found.gain_ns) == (0.4, "critical", 40 * MS)
    assert found.proof.endswith("200 ms each")


FILLS = "the pipeline fills and drains with 1 micro-batch per step: its stages are idle for 30 ms of 100 ms"
LONGER = "stages wait 38.8 ms of a step longer than their schedule and their times explain"


@pytest.mark.parametrize(
    ("busy", "micro_batches", "wait", "transfer", "queued", "found"),
    [
        ((20, 80), 4, 30, 10, 40, ["critical: stage 1 computes 80 ms per step, the mean stage 50 ms"]),
        ((20, 80), 4, 30, 10, 0, ["critical: stage 1 computes 80 ms per step, the mean stage 50 ms"]),
        ((12, 18), 99, 30, 10, 40, ["stage-imbalance"]),
        ((30, 30), 1, 30, 0, 0, [f"warning: {FILLS}"]),
        ((30, 30), 1, 30, 0, 40, ["pipeline-bubble"]),
        ((20, 20), 16, 0, 40, 0, ["warning: each stage of the pipeline spends 40 ms of a step in transfers"]),
        (
            (20, 20),
            16,
            0,
            40,
            40,
            ["pipeline-bubble", f"{LONGER}, but main threads had no core for up to 40 ms of a step"],
        ),
        ((20, 20), 16, 40, 0, 0, ["pipeline-bubble", LONGER]),
        ((80, 80), 16, 6, 4, 0, []),
    ],
)
def test_verdicts_of_a_pipeline(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    busy: tuple[int, int],
    micro_batches: int,
    wait: int,
    transfer: int,
    queued: int,
    found: list[str],
) -> None:
    """A person can change the split, the number of micro-batches and transfers; other idle time is not decided."""
    steps = figures(tmp_path / "run.json", [("train.py:[]:step", 10, 1000)], cpu=[300], queued=10 * queued)
    parts = {"warm_up": 0, "steady": wait * MS, "cool_down": 0, "transfer": transfer * MS}
    table = [{"stage": at, "busy": ms * MS, "ranks": [at], "layers": []} | parts for at, ms in enumerate(busy)]
    made = SimpleNamespace(table=table, step=100 * MS, lines=1, stages=2, layer_times=None, engine="torch")
    made.bubble_of_total = 1 - sum(busy) / 200
    ideal = {"of_total": 1 / (micro_batches + 1), "makespan": sum(busy) / 2 * MS * (micro_batches + 1) / micro_batches}
    made.schedule = {"name": "1f1b", "micro_batches": micro_batches, "ideal": ideal, "stages": ideal}
    made.what_if = [{"change": "balanced", "share": 0.3}, {"change": "overlapped_transfers", "share": transfer / 100}]
    monkeypatch.setattr(pipeline_stages, "analysis", lambda steps: made)
    ids = ("stage-imbalance", "pipeline-bubble")
    results = [each for id in ids for each in results_of(id, DETECTORS[id], steps)]
    sentences = [f"{each.severity}: {each.title}" for each in results if isinstance(each, Finding)]
    reasons = [text for each in results if isinstance(each, NotDecided) for text in (each.id, each.reason)]
    assert [*sentences, *reasons][: max(len(found), 1)] == found


def test_a_tensor_that_is_made_anew_in_each_step(tmp_path: Path) -> None:
    tree = [("gan.py:[]:remember", 10, 0, [("op:aten::cat", 10, 300)]), ("gan.py:[]:step", 10, 700)]
    (found,) = device_copy(figures(tmp_path / "run.json", tree, cpu=[1000]))
    assert found.title == "remember makes tensors anew, 1 call per step (aten::cat)"
    assert found.share == 0.3
