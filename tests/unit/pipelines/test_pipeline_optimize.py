"""Pipelines of least time: against a slow solver, against all plans, and what commands print."""

import json
import math
import random
import shutil
import signal
import sys
import threading
import time
import traceback
from array import array
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

import fastdispatch
from fastdispatch import _core
from fastdispatch.cli.pipeline.pipeline_optimize import _between
from fastdispatch.pipeline import Graph, Node, optimize
from fastdispatch.pipeline.optimize import SYNCHRONOUS
from fastdispatch.pipeline.optimum import chunks_of
from tests import commands, golden, models, schemas
from tests.oracle import pipedream

ROOT = Path(__file__).parents[3]


def same(found: float, wanted: float) -> bool:
    return math.isclose(found, wanted, rel_tol=1e-9)


def time_of(graph: Graph, machines: list[int], bandwidths: list[float], **options: object) -> float:
    try:
        return optimize(graph, machines, bandwidths, **options).time_per_stage_s  # type: ignore[arg-type]
    except fastdispatch.Error:
        return math.inf


@pytest.mark.parametrize("seed", range(40))
def test_as_the_slow_solver(seed: int) -> None:
    draw = random.Random(seed)
    graph = models.scattered(draw.randrange(1, 11), seed)
    if seed % 3 == 1:
        graph = models.branchy(2, (1, 2), seed)
    bandwidth = draw.choice([1e8, 1e9, 1e10])
    options = {
        "compression": draw.choice([None, 1.0, 4.0]),
        "straight": draw.random() < 0.2,
        "fewer": draw.random() < 0.3,
    }
    machines, bandwidths = ([draw.randrange(1, 7)], [bandwidth])
    if seed % 4 == 0:
        machines, bandwidths = [draw.randrange(1, 4), draw.randrange(1, 4)], [1e10, bandwidth]
    room = draw.choice([None, 3e7, 1e8])
    for cut in ("published", "true"):
        found = time_of(
            graph,
            machines,
            bandwidths,
            cut=cut,
            memory="none" if room is None else "published",
            memory_size=room or 1,
            **options,
        )
        wanted = pipedream.solve(graph, machines, bandwidths, true_cut=cut == "true", memory=room, **options)  # type: ignore[arg-type]
        assert same(found, wanted)


@pytest.mark.parametrize("seed", range(12))
def test_no_plan_is_quicker(seed: int) -> None:
    draw = random.Random(100 + seed)
    graph = models.scattered(draw.randrange(4, 13), seed) if seed % 2 else models.chain(9, seed)
    for machines, compression in product((2, 4), (None, 1.0)):
        found = optimize(graph, machines, 1e9, compression=compression)
        assert same(found.time_per_stage_s, pipedream.tried(graph, machines, 1e9, compression))


@pytest.mark.parametrize(
    "graph", [models.residual(3), models.translation(2), models.branchy(2, (1, 3, 2)), models.chain(30)]
)
def test_plans_match_their_figures(graph: Graph) -> None:
    for machines, compression, cut in product((3, 8), (None, 1.0), ("published", "true")):
        found = optimize(graph, machines, 1e9, compression=compression, cut=cut)
        assert found.complete
        assert sum(stage["replicas"] for stage in found.stages) == machines
        again = pipedream.recomputed(found.graph, found.stages, 1e9, compression, cut == "true")
        assert same(found.time_per_stage_s, again)
        for stage in found.stages:
            work = stage["compute_s"] + stage["reduce_s"]
            assert stage["time_s"] == max(work, stage["in_s"], stage["out_s"])


#: Results of the published optimizer for its own profiles: T in seconds.
KNOWN = golden.document("pipeline/known")


@pytest.mark.parametrize(("name", "machines", "options", "wanted"), KNOWN)
def test_known_times(name: str, machines: list[int], options: dict[str, object], wanted: float) -> None:
    graph = Graph.read(ROOT / "tests" / "gold" / "pipeline" / f"{name}.txt")
    assert same(time_of(graph, machines, [1e9] if len(machines) == 1 else [1e10, 1e9], **options), wanted)


@pytest.mark.parametrize(("name", "count"), [("vgg16", 40), ("resnet18", 100), ("gnmt", 99)])
def test_known_numbers_of_states(name: str, count: int) -> None:
    found = optimize(Graph.read(ROOT / "tests" / "gold" / "pipeline" / f"{name}.txt"), 4, 1e9, compression=1.0)
    assert found.states == count and found.complete


def test_windows_lose_nothing() -> None:
    graph = models.branchy(4, (4, 5, 5, 4, 3, 4), 2)
    found = optimize(graph, 5, 1e9, compression=1.0)
    assert found.complete and found.states > 65_536 > found.leaves[-1]["last"]
    again = pipedream.recomputed(found.graph, found.stages, 1e9, 1.0, False)
    assert same(found.time_per_stage_s, again) and found.bound_s == found.time_per_stage_s


def test_a_true_cut_is_never_worse() -> None:
    better = 0
    for seed in range(30):
        graph = models.scattered(14, seed)
        published = optimize(graph, 4, 3e9, compression=1.0).time_per_stage_s
        true = optimize(graph, 4, 3e9, compression=1.0, cut="true").time_per_stage_s
        assert true <= published * (1 + 1e-12)
        better += true < published * (1 - 1e-6)
    assert better > 0


def test_the_order_of_lines_does_not_matter() -> None:
    graph = models.translation(3)
    first = optimize(graph, 8, 1e9, compression=1.0)
    for seed in range(5):
        draw = random.Random(seed)
        nodes, edges = graph.nodes[:], graph.edges[:]
        draw.shuffle(nodes)
        draw.shuffle(edges)
        again = optimize(Graph(nodes, edges), 8, 1e9, compression=1.0)
        assert again.to_dict() == first.to_dict()
        assert {node.id: node.stage for node in again.graph.nodes} == {
            node.id: node.stage for node in first.graph.nodes
        }


def test_a_schedule_of_these_stages(tmp_path: Path) -> None:
    nodes = [Node(f"n{index}", "Linear()", 1, 2) for index in range(4)]
    graph = Graph(nodes, [(f"n{index}", f"n{index + 1}") for index in range(3)])
    found = optimize(graph, 4, 1e9, straight=True)
    # (M + S - 1)(F + B)
    assert same(float(found.replay("1f1b", 8)[1].makespan), 11 * 0.003)
    assert found.replay("zb-v", 8)[0].chunks == 2
    with pytest.raises(fastdispatch.Error, match="3 stages are not a multiple of 2 chunks"):
        optimize(graph, 3, 1e9, straight=True).replay("interleaved", 6)
    graph.write(tmp_path / "graph.txt")
    words = ["pipeline", "partition", "--method", "pipedream", "-n", "4", "--straight_pipeline", "--schedule", "1f1b"]
    printed = commands.out(*words, tmp_path / "graph.txt")
    assert "1f1b           33 ms, 2.91 times one machine, bubble 27.3%" in printed


@pytest.mark.parametrize("seed", range(30))
def test_schedules_against_all_plans(seed: int) -> None:
    """The step is the simulated one; no plan is shorter than the best of all, which is mostly near."""
    draw = random.Random(seed)
    schedule = SYNCHRONOUS[seed % len(SYNCHRONOUS)]
    graph = models.scattered(draw.randrange(2, 8), seed)
    machines, micro_batches = draw.randrange(1, 4), draw.randrange(1, 6)
    bandwidth = draw.choice([1e8, 1e9, 1e10])
    compression = draw.choice([None, 1.0, 4.0])
    options = {"compression": compression, "fewer": draw.random() < 0.3, "straight": draw.random() < 0.2}
    room = draw.choice([math.inf, math.inf, 8e7, 2e8])
    memory = {"memory": "flushed", "memory_size": room} if room < math.inf else {}
    least = pipedream.scheduled(
        graph, machines, bandwidth, schedule, micro_batches, chunks=chunks_of(schedule), room=room, **options
    )
    try:
        found = optimize(
            graph, machines, bandwidth, schedule=schedule, micro_batches=micro_batches, **options, **memory
        )
    except fastdispatch.Error:
        assert least == math.inf or room < math.inf
        return
    about = found.schedule
    assert about is not None
    assert same(about["step_s"], pipedream.step(found, bandwidth, compression, room))
    assert least * (1 - 1e-9) <= about["step_s"] <= 2 * least
    assert all(stage["memory_bytes"] <= room for stage in found.stages)


@pytest.mark.parametrize("schedule", ["1f1b", "zb-h1", "zb-v"])
def test_schedules_are_never_worse_than_without(schedule: str) -> None:
    graph = Graph.read(ROOT / "tests" / "gold" / "pipeline" / "gnmt.txt")
    found = optimize(graph, 8, 1e10, schedule=schedule, micro_batches=16, compression=1.0, straight=True)
    about = found.schedule
    assert about is not None and found.bound_s is None
    makespan = float(found.replay(schedule, 16)[1].makespan)
    assert same(about["step_s"], makespan)
    for compression in (1.0, None):  # the fastest pipeline; equal stages
        without = optimize(graph, 8 * about["chunks"], 1e10, compression=compression, straight=True)
        assert makespan <= pipedream.step(without, 1e10, 1.0, math.inf, schedule, 16) * (1 + 1e-9)


def test_memory_of_stages() -> None:
    nodes = [Node(f"n{index}", "Linear()", 1, 2, (1e6,), 4e6) for index in range(4)]
    graph = Graph(nodes, [(f"n{index}", f"n{index + 1}") for index in range(3)])
    found = optimize(graph, 4, 1e9, straight=True, memory="stashed", memory_size=1e9)
    # Weights for each in flight, gradients, two bytes of optimizer a byte; activations for each in flight.
    assert [stage["memory_bytes"] for stage in found.stages] == [4e6 * (n + 3) + n * 1e6 for n in (4, 3, 2, 1)]
    flushed = optimize(graph, 4, 1e9, straight=True, memory="flushed", memory_size=1e9)
    assert [stage["memory_bytes"] for stage in flushed.stages] == [4e6 * 4 + n * 1e6 for n in (4, 3, 2, 1)]
    with pytest.raises(fastdispatch.Error, match=r"stage 0 \(1 layers, n0 to n0\) lacks 2\.2e\+07 bytes"):
        optimize(graph, 4, 1e9, straight=True, memory="stashed", memory_size=1e7)


def test_parts_that_do_not_hang_together() -> None:
    nodes = [Node(f"n{index}", "Linear()", 1, 1) for index in range(6)]
    graph = Graph(nodes, [("n0", "n1"), ("n2", "n3"), ("n4", "n5")])
    found = optimize(graph, 3, 1e9, straight=True)
    assert same(found.time_per_stage_s, 0.004)
    assert sorted(node.stage or 0 for node in found.graph.nodes) == [0, 0, 1, 1, 2, 2]


def test_deep_chains() -> None:
    for count, machines in ((300, [4, 4]), (5000, [16])):
        found = optimize(models.chain(count), machines, [1e10, 1e9][-len(machines) :], compression=1.0)
        assert found.complete and same(found.bound_s, found.time_per_stage_s)
        assert found.time_per_stage_s <= found.data_parallel_s
        assert sum(leaf["replicas"] for leaf in found.leaves) <= 16


def test_a_deep_chain_with_a_schedule() -> None:
    found = optimize(models.chain(400), 8, 1e9, schedule="1f1b", micro_batches=16)
    assert found.schedule is not None
    assert 0 < found.schedule["step_s"] < 16 * found.single_machine_s


@pytest.mark.parametrize("machines", [[16], [4, 4]])
def test_many_branches(machines: list[int]) -> None:
    """Far more states than fit: the plan on chains is within 10 % of the bound."""
    found = optimize(models.nasnet(8), machines, [1e10] * len(machines))
    assert not found.complete and found.bound_s is not None
    assert 0.9 * found.time_per_stage_s <= found.bound_s <= found.time_per_stage_s
    stage_of = {node.id: node.stage for node in found.graph.nodes}
    assert all(stage_of[first] <= stage_of[second] for first, second in found.graph.edges)  # type: ignore[operator]


@pytest.mark.parametrize("machines", [18, 40])
def test_data_parallelism_is_always_a_plan(machines: int) -> None:
    """Parameters are free and cuts are dear."""
    nodes = [Node(f"n{index}", "Linear()", 1, 2, (4e9,), 0) for index in range(60)]
    graph = Graph(nodes, [(f"n{index}", f"n{index + 1}") for index in range(59)])
    plain = optimize(graph, machines, 1e9, compression=1.0)
    assert same(plain.time_per_stage_s, plain.data_parallel_s)
    scheduled = optimize(graph, machines, 1e9, compression=1.0, schedule="1f1b", micro_batches=4).schedule
    assert scheduled is not None
    assert scheduled["ranks"] == 1 and same(scheduled["step_s"], 4 * plain.data_parallel_s)


@pytest.mark.parametrize(("arguments", "message"), golden.table("commands/pipedream"))
def test_bad_requests(arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models.chain(8).write(tmp_path / "graph.txt")
    monkeypatch.chdir(tmp_path)
    words = ["pipeline", "partition", "--method", "pipedream", *arguments.split()]
    assert commands.error(*words) == f"fastdispatch: {message}\n"


def test_output(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    models.residual(2).write(path)
    words = ["pipeline", "partition", "--method", "pipedream", "-n", "2", "2", "-b", "1e10", "1e9", str(path)]
    schemas.valid(commands.document(*words), "pipeline-optimize")
    words[2:4] = ["--method=pipedream"]
    document = commands.document("pipeline", "optimize", "-n", 2, path, "--schedule", "zb-v")
    schemas.valid(document, "pipeline-optimize")
    assert document["schedule"]["rank_of_stage"] in ([0, 0], [0, 1, 1, 0])
    text = commands.out(*words, "-o", tmp_path / "out", "--svg", tmp_path / "graph.dot")
    assert "the slowest" in text and "bound by" in text
    saved = Graph.read(tmp_path / "out" / "gpus=4.txt")
    assert None not in {node.stage for node in saved.nodes}
    schemas.valid(json.loads((tmp_path / "out" / "gpus=4.json").read_text()), "pipeline-optimize")
    picture = (tmp_path / "graph.dot").read_text()
    assert picture.count("subgraph cluster_") == len({node.stage for node in saved.nodes})
    crossing = [1 for first, second in saved.edges if saved[first].stage != saved[second].stage]
    assert picture.count("fontcolor=") == len(crossing) > 0


def test_a_search_can_be_watched() -> None:
    watch = array("d", 3 * [0])
    found = optimize(models.branchy(2, (2, 3, 3)), 5, 1e9, compression=1.0, watch=watch)
    low, high, done = watch
    step = found.time_per_stage_s
    assert 0 < low <= step * (1 + 1e-9) and step <= high * (1 + 1e-9) and 0 < done <= 1
    assert _between(low, math.inf) in _between(low, high)
    optimize(models.chain(4), 3, 1e9, schedule="1f1b", watch=watch)
    assert watch[2] == 1
    with pytest.raises(ValueError, match="three numbers"):
        optimize(models.chain(3), 2, watch=bytearray(8))  # type: ignore[arg-type]


def test_ctrl_c_ends_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()

    def main_functions() -> list[str]:
        frame = sys._current_frames()[threading.main_thread().ident or 0]
        return [each.f_code.co_name for each, _ in traceback.walk_stack(frame)]

    def search(*arguments: object, **options: object) -> None:
        while "start" in main_functions():  # CPython 3.13 fails if Thread.start() is interrupted
            time.sleep(0.001)
        signal.raise_signal(signal.SIGINT)
        forever.wait(60)

    monkeypatch.setattr("fastdispatch.cli.pipeline.pipeline_optimize.optimize", search)
    models.chain(3).write(tmp_path / "graph.txt")
    words = ["pipeline", "partition", "--method", "pipedream", "-n", "2", str(tmp_path / "graph.txt")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        assert commands.error(*words, status=130) == "fastdispatch: interrupted\n"
    finally:
        signal.signal(signal.SIGINT, before)
        forever.set()


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz draws it")
def test_odd_names_are_drawn(tmp_path: Path) -> None:
    from fastdispatch.page.graphviz import layout
    from fastdispatch.page.pipeline_dot import dot_of

    nodes = [Node('a"b', 'Odd("\\n<b>&")', stage=0), Node("c\\", "x", stage=1), Node("é", "y")]
    nodes += [Node("\x01%s", "two\nlines\x1b[2J\ufffe")]
    picture = layout(dot_of(Graph(nodes, [('a"b', "c\\")])))
    assert b"&lt;b&gt;&amp;" in picture and b"two lines" in picture
    ElementTree.fromstring(picture)


def test_excluded_nodes_have_the_stage_of_a_neighbour() -> None:
    names = {"n10": "x", "n9": "x", "n2": "x", "in": "Input0", "out": "__getitem__(1)", "alone": "Input1"}
    edges = [("in", "n2"), ("n2", "n9"), ("n9", "n10"), ("n9", "out")]
    found = optimize(Graph([Node(id, name, 1.0) for id, name in names.items()], edges), 3, straight=True)
    assert [stage["first_node"] for stage in found.stages] == ["n2", "n9", "n10"]
    assert [node.stage for node in found.graph.nodes] == [2, 1, 0, 0, 1, 0]
    with pytest.raises(fastdispatch.Error, match="the graph has no layer"):
        optimize(Graph([Node("a", "Input0")]), 1)


def test_columns_of_the_planner() -> None:
    costs, edges = array("d", 10 * [1.0]), array("I", [0, 1])
    assert _core.optimize((b"a", b"b"), costs, edges, [2], [1e9])["layers"] == 2
    for wrong in (((b"a",), costs, edges), ((b"a", b"b"), costs[:9], edges), ((b"a", b"b"), costs, edges[:1])):
        with pytest.raises(ValueError, match="five numbers per id"):
            _core.optimize(*wrong, [2], [1e9])
    for unsorted in ([1, 1], [0, 2], [0, 1, 1, 0]):
        with pytest.raises(fastdispatch.Error, match="the edges are not in order"):
            _core.optimize((b"a", b"b"), costs, array("I", unsorted), [2], [1e9])
