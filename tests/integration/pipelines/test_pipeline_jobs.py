"""Pipelines of real engines: their jobs without a change to the program, as planned and matched."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch import pipeline
from fastdispatch.page.html import PageOptions, page
from tests import commands, pipelines, traces
from tests.consumers.perfetto import assert_clean, open_trace, query

pytestmark = pytest.mark.torch

OPEN, EVAL, EXCEPTION, POSTED, FUSED, LOCAL, ATTACHED, UNPLANNED, WAIT = (1 << bit for bit in range(9))
MICRO_BATCHES = 4


class Run:
    """Recordings of all ranks, and what the programs printed."""

    def __init__(self, path: Path, reported: list[list[dict[str, Any]]]) -> None:
        self.path, self.reported = path, reported
        self.trace = fastdispatch.load(path)
        self.jobs = [self.trace.jobs(rank) for rank in range(len(self.trace.ranks))]
        self.facts = [rank["meta"]["pipeline"] for rank in self.trace.ranks]
        self.coordinates = [rank["meta"]["coordinates"] for rank in self.trace.ranks]


@pytest.fixture(scope="module")
def deepspeed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("deepspeed")
    return Run(folder, pipelines.record("deepspeed", folder, 2, 2))


TORCH = {
    "GPipe": "gpipe",
    "1F1B": "1f1b",
    "Interleaved1F1B": "interleaved",
    "ZBVZeroBubble": "zb-v",
    "LoopedBFS": None,
    "InterleavedZeroBubble": None,
    "DualPipeV": None,
}


@pytest.fixture(scope="module")
def torch_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("torch")
    reported = pipelines.record("torch", folder, 2, *TORCH)
    return {name: Run(folder / name, reported) for name in TORCH}


@pytest.fixture(scope="module", params=[1, 2], ids=["1F1B", "interleaved"])
def megatron(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("megatron")
    return Run(folder, pipelines.record("megatron", folder, 2, request.param))


def check_flags(run: Run) -> None:
    for jobs in run.jobs:
        assert all(flags & ATTACHED for flags in jobs["flags"])
        assert not any(flags & (OPEN | EXCEPTION | UNPLANNED) for flags in jobs["flags"])
        assert not any(jobs["open"])
        assert min(jobs["iteration"]) == 0


def check_transfers(run: Run, stages: int, iterations: int) -> None:
    """Of G global stages 2 M (G - 1) in each iteration, and for each send one receive that ends after it began."""
    for iteration in range(iterations):
        sends, receives = pipelines.transfers(run.jobs, iteration)
        assert sends == receives
        assert len(sends) == 2 * MICRO_BATCHES * (stages - 1)


def bytes_of(run: Run, *kinds: str, iteration: int) -> list[int]:
    return [
        row["bytes"] for jobs in run.jobs for row in pipelines.rows(jobs, iteration=iteration) if row["kind"] in kinds
    ]


TRANSFERRED = ("SA", "RA", "SG", "RG")


def table(run: Run, rank: int, iteration: int) -> str:
    jobs = pipelines.rows(run.jobs[rank], iteration=iteration)
    return " ".join(
        f"{job['kind']}{job['buffer'] if job['buffer'] >= 0 else ''}" for job in jobs if job["kind"] != "ITER"
    )


def check_deepspeed(run: Run, stages: int) -> None:
    train = pipeline.plan("deepspeed-train", stages, MICRO_BATCHES)
    inference = pipeline.plan("deepspeed-inference", stages, MICRO_BATCHES)
    for stage in range(stages):
        for iteration in (0, 1):
            assert table(run, stage, iteration).split() == train.table(stage).replace("|", " ").replace("-", "").split()
        assert table(run, stage, 2).split() == inference.table(stage).replace("|", " ").replace("-", "").split()
        jobs = run.jobs[stage]
        assert {row["stage"] for row in pipelines.rows(jobs) if row["kind"] != "ITER"} == {stage}
        assert [row["flags"] & EVAL for row in pipelines.rows(jobs, kind="ITER")] == [0, 0, EVAL]
        for kind in "FB":
            assert [row["micro_batch"] for row in pipelines.rows(jobs, kind=kind, iteration=1)] == [0, 1, 2, 3]
    check_flags(run)
    check_transfers(run, stages, 2)
    sends, receives = pipelines.transfers(run.jobs, 2)
    assert sends == receives
    assert len(sends) == MICRO_BATCHES * (stages - 1)


def test_deepspeed_runs_its_plan(deepspeed: Run) -> None:
    check_deepspeed(deepspeed, 2)
    for rank, facts in enumerate(deepspeed.facts):
        assert deepspeed.coordinates[rank] == {"pipe": rank, "data": 0, "model": 0}
        assert (facts["engine"], facts["schedule"], facts["class"]) == ("deepspeed", "deepspeed-train", "TrainSchedule")
        assert (facts["stages"], facts["chunks"], facts["micro_batches"], facts["held"]) == (2, 1, 4, [rank])
        assert facts["difference"] is None
        assert facts["rules"]["missing"] == []
        assert "PipelineEngine._exec_forward_pass" in facts["rules"]["matched"]
        assert [(layer["first"], layer["end"]) for layer in facts["layers"]] == [(0, 4), (4, 7)]
        assert facts["layers"][1]["names"] == ["Linear", "ReLU", "Slow"]


def test_bytes_are_those_of_the_tensors(deepspeed: Run, torch_runs: dict[str, Run], megatron: Run) -> None:
    activation = 2 * 16 * 4  # micro-batch, width, float32
    assert set(bytes_of(deepspeed, *TRANSFERRED, iteration=1)) == {activation}
    for run in torch_runs.values():
        assert all(
            row["bytes"] == (0 if row["flags"] & WAIT else activation)
            for jobs in run.jobs
            for row in pipelines.rows(jobs)
            if row["kind"] in TRANSFERRED
        )
    first = [bytes_of(deepspeed, kind, iteration=0) for kind in ("SA", "RA")]
    assert first == [[1024 + activation, *[activation] * 3]] * 2  # with the description of the tensor
    assert set(bytes_of(megatron, *TRANSFERRED, iteration=1)) == {4 * 2 * 8 * 4}  # length, micro-batch, width
    layer = 16 * 16 + 16
    assert bytes_of(deepspeed, "RD", iteration=1) == [2 * layer * 4, (layer + 4 * 16 + 4) * 4]
    for run in (deepspeed, megatron, torch_runs["GPipe"]):
        assert set(bytes_of(run, "F", "B", "LM", "OPT", "ITER", iteration=1)) == {0}


def test_four_stages_of_deepspeed(tmp_path: Path) -> None:
    check_deepspeed(Run(tmp_path, pipelines.record("deepspeed", tmp_path, 4, 4)), 4)


def test_the_engines_are_as_they_were(deepspeed: Run, torch_runs: dict[str, Run], megatron: Run) -> None:
    for run in (deepspeed, torch_runs["GPipe"], megatron):
        assert all(printed["same"] for rank in run.reported for printed in rank)
    losses = [rank[-1]["losses"] for rank in deepspeed.reported]
    assert losses[0] == losses[1]


def test_jobs_lie_in_their_iteration_and_make_no_nodes(deepspeed: Run) -> None:
    for jobs in deepspeed.jobs:
        for batch in pipelines.rows(jobs, kind="ITER"):
            end = batch["start"] + batch["duration"]
            for row in pipelines.rows(jobs, iteration=batch["iteration"]):
                assert batch["start"] <= row["start"]
                assert row["start"] + row["duration"] <= end
    nodes, contexts = deepspeed.trace.nodes, deepspeed.trace.contexts
    called = {nodes["name"][contexts["node"][row["context"]]] for row in pipelines.rows(deepspeed.jobs[0], kind="F")}
    assert called == {"_exec_forward_pass"}
    assert ("F", "job") not in zip(nodes["key"], nodes["kind"], strict=True)


def joined(order: list[tuple[int, str, int]]) -> list[tuple[int, str, int]]:
    """I and W right behind each other are B."""
    made: list[tuple[int, str, int]] = []
    for stage, kind, mb in order:
        if kind == "W" and made and made[-1] == (stage, "I", mb):
            made[-1] = (stage, "B", mb)
        elif kind in ("F", "B", "I", "W"):
            made.append((stage, kind, mb))
    return made


@pytest.mark.parametrize("name", TORCH)
def test_torch_runs_its_plan(torch_runs: dict[str, Run], name: str) -> None:
    run = torch_runs[name]
    chunks = 1 if name in ("GPipe", "1F1B") else 2
    check_flags(run)
    check_transfers(run, 2 * chunks, 2)
    for rank, facts in enumerate(run.facts):
        assert (facts["engine"], facts["schedule"]) == ("torch", TORCH[name])
        assert (facts["stages"], facts["chunks"], facts["micro_batches"]) == (2, chunks, 4)
        assert facts["difference"] is None
        assert facts["rules"]["missing"] == []
        assert run.coordinates[rank] == {"pipe": rank}
        jobs = pipelines.rows(run.jobs[rank], iteration=1)
        for stage in facts["held"]:
            assert [job["micro_batch"] for job in jobs if (job["kind"], job["stage"]) == ("F", stage)] == [0, 1, 2, 3]
        assert {job["stage"] for job in jobs if job["kind"] == "F"} == set(facts["held"])
    assert (run.facts[0]["note"] is None) == (TORCH[name] is not None)


@pytest.mark.parametrize("name", [name for name, plan in TORCH.items() if plan is not None])
def test_its_computations_are_in_the_order_of_the_plan(torch_runs: dict[str, Run], name: str) -> None:
    run = torch_runs[name]
    plan = pipeline.plan(TORCH[name], 2, MICRO_BATCHES, 1 if name in ("GPipe", "1F1B") else 2)
    for rank, jobs in enumerate(run.jobs):
        held = run.facts[rank]["held"]
        planned = joined([(job.stage, job.kind, job.mb) for job in plan.rows if job.stage in held])
        executed = [(row["stage"], row["kind"], row["micro_batch"]) for row in pipelines.rows(jobs, iteration=1)]
        assert joined(executed) == planned


@pytest.mark.parametrize("name", [name for name in TORCH if name not in ("GPipe", "1F1B")])
def test_jobs_ran_in_the_order_of_the_schedule(torch_runs: dict[str, Run], name: str) -> None:
    """PyTorch's own table of actions, ``(0F1;3B0)OVERLAP_F_B`` being two."""
    run = torch_runs[name]
    for rank, jobs in enumerate(run.jobs):
        order = next(printed["order"] for printed in run.reported[rank] if printed["schedule"] == name)
        planned = re.findall(r"(\d+)([FBIW])(\d+)", " ".join(order))
        for iteration in (0, 1):
            rows = [row for row in pipelines.rows(jobs, iteration=iteration) if row["kind"] in ("F", "B", "I", "W")]
            assert [(str(row["stage"]), row["kind"], str(row["micro_batch"])) for row in rows] == planned
        assert len(planned) >= 4 * MICRO_BATCHES


def test_megatron_runs_its_plan(megatron: Run) -> None:
    chunks = len(megatron.facts[0]["held"])
    check_flags(megatron)
    check_transfers(megatron, 2 * chunks, 2)
    schedule = "1f1b" if chunks == 1 else "interleaved"
    plan = pipeline.plan(schedule, 2, MICRO_BATCHES, chunks)
    for rank, facts in enumerate(megatron.facts):
        assert (facts["engine"], facts["schedule"], facts["difference"]) == ("megatron", schedule, None)
        assert (facts["stages"], facts["chunks"], facts["micro_batches"]) == (2, chunks, 4)
        assert facts["rules"]["missing"] == []
        assert megatron.coordinates[rank] == {"pipe": rank, "data": 0, "model": 0}
        planned = joined([(job.stage, job.kind, job.mb) for job in plan.rows if job.stage in facts["held"]])
        rows = pipelines.rows(megatron.jobs[rank], iteration=1)
        assert joined([(row["stage"], row["kind"], row["micro_batch"]) for row in rows]) == planned
        fused = [(row["start"], row["duration"]) for row in rows if row["flags"] & FUSED]
        assert min(fused.count(interval) for interval in fused) >= 2
    sends, receives = pipelines.transfers(megatron.jobs, 2)  # the evaluation
    assert sends == receives
    assert len(sends) == MICRO_BATCHES * (2 * chunks - 1)


def test_megatrons_combined_steps_are_both_jobs(megatron: Run) -> None:
    """Forward of a micro-batch and backward of the one before, in one call."""
    made = megatron.reported[0][-1]["combined"]
    fused = ATTACHED | FUSED
    if len(megatron.facts[0]["held"]) == 1:
        assert made == [
            ["F", 0, ATTACHED],
            *(["F", 1, fused], ["B", 0, fused], ["F", 2, fused], ["B", 1, fused]),
            ["B", 2, ATTACHED],
        ]


def test_layers_and_shared_weights_of_stages(torch_runs: dict[str, Run], megatron: Run) -> None:
    for name, stages in (("1F1B", 2), ("ZBVZeroBubble", 4)):
        run = torch_runs[name]
        for facts in run.facts:
            assert [(layer["stage"], layer["names"]) for layer in facts["layers"]] == [
                (stage, ["0: Linear", "1: ReLU"]) for stage in facts["held"]
            ]
            assert facts["tied"] == {}
        found = [layer for row in pipeline.report(run.path).table for layer in row["layers"]]
        assert sorted((layer["stage"], layer["first"], layer["end"]) for layer in found) == [
            (stage, 2 * stage, 2 * stage + 2) for stage in range(stages)
        ]
    chunks = len(megatron.facts[0]["held"])
    for facts in megatron.facts:
        assert facts["tied"] == {"embedding": [0, 2 * chunks - 1]}
        for layer in facts["layers"]:
            stage = layer["stage"]
            ends = ["embedding"] * (stage == 0) + ["output_layer"] * (stage == 2 * chunks - 1)
            assert (layer["first"], layer["end"], layer["also"]) == (2 * stage, 2 * stage + 2, ends)
            assert layer["names"] == ["TransformerLayer"] * 2


TRANSFERS = """
select c.name as receive, a.name as send, a.track_id != b.track_id as apart from flow
join slice a on a.id = slice_out join slice b on b.id = slice_in join slice c on c.id = b.parent_id
where a.category = 'job' and c.category = 'job' and b.category = 'transfer' and b.name = 'received'
and b.dur = 0 and a.ts < b.ts and b.ts + 1 = c.ts + c.dur"""


def check_arrows(run: Run, folder: Path, matched: int, local: int) -> None:
    """From each send that a report matches an arrow to the end of its receive, in both forms, and no other."""
    counts = pipeline.report(run.path).counts
    assert (counts["matched"], counts["local"]) == (matched, local)
    trace = fastdispatch.load(run.path, timeline=True)
    for form, name in (("perfetto", "t.pftrace"), ("chrome", "t.json")):
        options = {"durations": "args"} if form == "chrome" else {}
        (folder / name).write_bytes(trace.export(form, **options))
        with open_trace(folder / name) as processor:
            assert_clean(processor)
            assert query(processor, "select count(*) as n from flow") == [{"n": matched}]
            arrows = query(processor, TRANSFERS)
        assert len(arrows) == matched
        assert sum(arrow["apart"] for arrow in arrows) == matched - local
        assert all(arrow["receive"].replace("R", "S", 1) == arrow["send"] for arrow in arrows)


def test_arrows_from_sends_to_receives(deepspeed: Run, torch_runs: dict[str, Run], tmp_path: Path) -> None:
    check_arrows(deepspeed, tmp_path, 2 * 2 * MICRO_BATCHES, 0)
    check_arrows(torch_runs["ZBVZeroBubble"], tmp_path, 2 * 2 * MICRO_BATCHES * 3, 2 * 2 * MICRO_BATCHES)


def test_every_run_has_the_gain_of_overlapping_transfers(
    deepspeed: Run, torch_runs: dict[str, Run], megatron: Run
) -> None:
    for run in (deepspeed, megatron, *(torch_runs[name] for name, plan in TORCH.items() if plan is not None)):
        made = pipeline.report(run.path)
        assert made.schedule["transfers"] != "unknown"
        assert [row["change"] for row in made.what_if].count("overlapped_transfers") == 1
    assert pipeline.report(deepspeed.path).schedule["transfers"] == "blocking"
    assert pipeline.report(torch_runs["ZBVZeroBubble"].path).schedule["transfers"] in ("posted", "mixed")


def test_transfers_inside_a_rank_are_local(torch_runs: dict[str, Run]) -> None:
    run = torch_runs["ZBVZeroBubble"]  # stages 1 and 2 are both of rank 1
    local = [row for row in pipelines.rows(run.jobs[1], iteration=0) if row["flags"] & LOCAL]
    assert len(local) == 4 * MICRO_BATCHES
    ends = {(row["kind"], row["stage"], row["peer"]) for row in local}
    assert ends == {("SA", 1, 2), ("RA", 2, 1), ("SG", 2, 1), ("RG", 1, 2)}
    assert all(row["flags"] & FUSED for row in local)
    assert not [row for row in pipelines.rows(run.jobs[0]) if row["flags"] & LOCAL]
    posted = [row for row in pipelines.rows(run.jobs[0]) if row["flags"] & POSTED]
    assert {row["kind"] for row in posted} == {"SA", "SG"}


@pytest.mark.parametrize("name", TORCH)
def test_each_posted_send_has_a_wait(torch_runs: dict[str, Run], name: str) -> None:
    for jobs in torch_runs[name].jobs:
        open_sends: dict[tuple[Any, ...], dict[str, Any]] = {}
        waits = 0
        for row in pipelines.rows(jobs):
            numbers = tuple(row[column] for column in ("iteration", "kind", "stage", "peer", "micro_batch", "chunk"))
            if row["flags"] & POSTED:
                assert numbers not in open_sends
                open_sends[numbers] = row
            elif row["flags"] & WAIT:
                posted = open_sends.pop(numbers)
                assert posted["start"] + posted["duration"] <= row["start"]
                waits += 1
        assert not open_sends
        assert waits > 0


def test_a_report_counts_a_send_and_its_wait_once(torch_runs: dict[str, Run]) -> None:
    for name, stages in (("GPipe", 2), ("1F1B", 2), ("LoopedBFS", 4)):
        report = pipeline.report(torch_runs[name].path)
        assert report.counts["matched"] == 2 * 2 * MICRO_BATCHES * (stages - 1)
        assert not report.unmatched


def test_layers_of_all_stages_are_timed(torch_runs: dict[str, Run]) -> None:
    """Stages number their layers anew. Two stages of one rank have the same names: their times are unknown."""
    report = pipeline.report(torch_runs["1F1B"].path)
    assert (report.cuts, len(report.layer_times)) == ([0, 2, 4], 4)
    assert min(report.layer_times) > 0
    cuts = pipeline.partition(torch_runs["1F1B"].path, 2, "uniform")
    assert cuts == [0, 2, 4]
    assert pipeline.report(torch_runs["LoopedBFS"].path).layer_times == []
    with pytest.raises(fastdispatch.Error, match="whose layers have the same names"):
        pipeline.partition(torch_runs["LoopedBFS"].path, 2)


def test_an_evaluation_has_no_backward_passes(torch_runs: dict[str, Run]) -> None:
    for name in ("GPipe", "1F1B"):
        for jobs in torch_runs[name].jobs:
            kinds = [row["kind"] for row in pipelines.rows(jobs, iteration=2)]
            assert kinds.count("F") == MICRO_BATCHES
            assert "B" not in kinds


def edges_of(trace: fastdispatch.Trace, rank: int | None = None) -> set[tuple[str, str]]:
    where = trace.table("function", rank)["where"]
    graph = trace.graph("function", rank)
    ends = zip(graph["caller"], graph["callee"], graph["calls"], strict=True)
    return {(where[caller], where[callee]) for caller, callee, calls in ends if caller >= 0 and calls}


def test_a_merge_has_the_facts_and_edges_of_each_rank(deepspeed: Run, tmp_path: Path) -> None:
    paths = [deepspeed.path / f"rank{rank:05d}.fd" for rank in (1, 0)]
    fastdispatch.merge(paths, tmp_path / "merged.json")
    merged = fastdispatch.load(tmp_path / "merged.json")
    assert [rank["meta"]["pipeline"]["held"] for rank in merged.ranks] == [[0], [1]]
    json.dumps(merged.ranks[0]["meta"]["pipeline"])
    for rank, path in zip((1, 0), paths, strict=True):
        alone = edges_of(fastdispatch.load(path))
        assert alone == edges_of(merged, rank)
        assert alone < edges_of(merged)
    coverage = merged.coverage()
    assert coverage["attributed"] >= 0.99 * (coverage["autograd"] - coverage["accumulate"])


def test_calls_of_both_stages(deepspeed: Run) -> None:
    for rank in deepspeed.trace.ranks:
        assert (rank["state"], rank["steps"], rank["steps_source"], rank["notes"]) == ("stopped", 2, "engine", [])
    calls = traces.column(deepspeed.trace)
    expected = {"train_batch": 2 * 2, "_exec_backward_pass": 2 * 2 * MICRO_BATCHES}
    expected["_exec_forward_pass"] = 2 * 3 * MICRO_BATCHES  # and an evaluation
    expected["_exec_send_activations"] = 3 * MICRO_BATCHES  # only stage 0
    engine = "deepspeed/runtime/pipe/engine.py:[PipelineEngine]"
    assert {name: calls[f"{engine}:{name}"] for name in expected} == expected


def test_the_stages_are_reported_drawn_and_shown(deepspeed: Run, tmp_path: Path) -> None:
    from tests.browser.opened import launched, look, opened

    assert "train_batch" in commands.out("report", deepspeed.path)
    for style in ("classic", "default"):
        picture = tmp_path / f"{style}.svg"
        commands.out("svg", deepspeed.path, "-o", picture, "--style", style)
        assert "train_batch" in picture.read_text()
    commands.out("export", "callgraph", deepspeed.path, "-o", tmp_path)
    graph = json.loads((tmp_path / "call_graph_0.json").read_text())
    assert graph["nodes"] == sorted(graph["nodes"])
    assert any("PipelineEngine" in edge and "train_batch->" in edge for edge in graph["edges"])
    file = tmp_path / "page.html"
    file.write_bytes(page(fastdispatch.load(deepspeed.path, timeline=True), "pipeline", PageOptions()))
    with launched() as browser, opened(browser, file, "query=train_batch") as shown:
        assert shown.locator("#found").inner_text().split(" ")[0] != "0"
        for view in ("graph", "table", "modules", "source", "overview"):
            look(shown, view=view)
            assert shown.locator(f"#view-{view}").is_visible()
        text = shown.locator("#view-overview").inner_text()
        assert "0 of 2" in text and "1 of 2" in text
