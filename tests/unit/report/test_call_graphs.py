"""The graph of a picture: which functions are boxes, their figures, regions and labels; the lists of callgraph."""

import re
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.graphs import dot_parts
from fastdispatch.graphs.box_graph import Box, BoxGraph, stacked
from fastdispatch.graphs.call_tree import PictureOptions
from fastdispatch.graphs.function_selection import DELETED, INNER, JOINED, OTHER, RUNNING, TORCH
from tests.unit.report.call_trees import Dump

OPTIMIZER = 3

GREY = '<BR/><FONT POINT-SIZE="12" COLOR="#5B6570">'
DARK = '<BR/><FONT POINT-SIZE="12" COLOR="#20262E">'


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def load_calls(*calls: Any, threads: Any = ()) -> fastdispatch.Trace:
        dump = Dump(list(calls))
        for thread in threads:
            dump.add(-1, thread)
        return fastdispatch.load(dump.write(tmp_path / "dump.json"))

    return load_calls


def graph_of(trace: fastdispatch.Trace, **options: Any) -> BoxGraph:
    return BoxGraph(trace, PictureOptions(**options))


def boxes_of(graph: BoxGraph) -> dict[str, Box]:
    return {graph.tree.nodes["key"][node]: box for node, box in graph.boxes.items()}


def edges_of(graph: BoxGraph) -> dict[tuple[str, str], tuple[int, int]]:
    """Return calls and total of each edge, in ms."""
    keys = {box.number: key for key, box in boxes_of(graph).items()}
    found = ((edge, edge.figures) for edge in graph.edges)
    return {
        (keys[edge.caller.number], keys[edge.callee.number]): (each.calls, each.total // 10**6) for edge, each in found
    }


def states_of(graph: BoxGraph) -> dict[str, int]:
    return {graph.tree.nodes["key"][node]: state for node, state in graph.selection.states.items()}


def dot(trace: fastdispatch.Trace, **options: Any) -> str:
    return trace.export("dot", **options).decode()


def test_a_framework_alone_is_folded(load: Any) -> None:
    gelu = ("torch/nn/functional.py:[]:gelu", 1, 10)
    graph = graph_of(load(("stdlib/threading.py:[Thread]:start", 1, 10, [gelu])))
    assert states_of(graph) == {"stdlib/threading.py:[Thread]:start": OTHER, "torch/nn/functional.py:[]:gelu": TORCH}


def test_one_path_is_enough(load: Any) -> None:
    """Private folders and names, and functions that a drawn function of the framework calls, are folded."""
    public = ("torch/a.py:[]:public", 1, 9, [("torch/a.py:[]:second", 1, 9), ("torch/a.py:[]:third", 1, 9)])
    private = [("torch/a.py:[]:_hidden", 1, 9), ("torch/_dynamo/a.py:[]:check", 1, 9), ("torch/a.py:[]:<lambda>", 1, 9)]
    graph = graph_of(load(("a.py:[]:main", 1, 9, [public, ("torch/a.py:[]:second", 1, 9), *private])))
    assert set(boxes_of(graph)) == {"a.py:[]:main", "torch/a.py:[]:public", "torch/a.py:[]:second"}
    assert edges_of(graph)["torch/a.py:[]:public", "torch/a.py:[]:second"] == (1, 9)


def test_wrappers_of_decorators_are_folded(load: Any) -> None:
    names = {"wrapper": "timed.<locals>.wrapper", "inner": "timed.<locals>.inner", "wrap_model": "wrap_model"}
    names["step"] = "timed.<locals>.step"
    calls = [(f"a.py:[]:{name}", 1, 9, [], "", {"qualified": qualified}) for name, qualified in names.items()]
    graph = graph_of(load(("a.py:[]:main", 1, 9, calls)))
    assert set(boxes_of(graph)) == {"a.py:[]:main", "a.py:[]:wrap_model", "a.py:[]:step"}
    assert list(states_of(graph).values()).count(INNER) == 2


def test_collectives_are_drawn_and_running_libraries_folded(load: Any) -> None:
    gather = "torch/distributed/distributed_c10d.py:[]:all_gather"
    helper = "torch/distributed/distributed_c10d.py:[]:_helper"
    manager = "torch/autograd/profiler.py:[record_function]:__init__"
    deep = ("torch/_fsdp/_state.py:[State]:_pre_forward", 5, 9, [(gather, 5, 9, [(helper, 5, 9)])])
    step = ("train.py:[Net]:training_step", 5, 9, [(manager, 5, 9), deep])
    graph = graph_of(load(("train.py:[]:main", 0, 9, [("megatron/trainer.py:[Trainer]:fit", 0, 9, [step])])))
    assert set(boxes_of(graph)) == {"train.py:[]:main", "train.py:[Net]:training_step", gather}
    states = states_of(graph)
    assert states["megatron/trainer.py:[Trainer]:fit"] == RUNNING
    assert states[helper] == states[manager] == TORCH


def test_ranges_of_the_user_are_drawn(load: Any) -> None:
    outer = ("range:outer", 1, 9, [("range:inner", 1, 9)])
    adam = ("torch/optim/adam.py:[Adam]:step", 1, 9, [("range:Optimizer.step#Adam", 1, 9, [("range:nested", 1, 9)])])
    trace = load(("train.py:[]:main", 1, 9, [outer, adam]))
    assert set(boxes_of(graph_of(trace))) == {"train.py:[]:main", "torch/optim/adam.py:[Adam]:step", "outer", "inner"}
    assert "nested" in boxes_of(graph_of(trace, all=True))
    assert set(boxes_of(graph_of(trace, style="classic"))) == {"train.py:[]:main", "torch/optim/adam.py:[Adam]:step"}


def test_all_and_classic_fold_only_what_was_asked_for(load: Any) -> None:
    trace = load(("a.py:[]:main", 1, 90, [("torch/_x.py:[]:_y", 1, 9), ("a.py:[]:instant", 1, 0)]))
    for options in ({"all": True}, {"style": "classic"}):
        assert len(graph_of(trace, **options).boxes) == 3
        assert set(boxes_of(graph_of(trace, min_percent=20, **options))) == {"a.py:[]:main"}
    assert "a.py:[]:instant" not in boxes_of(graph_of(trace))
    assert "a.py:[]:instant" in boxes_of(graph_of(trace, min_percent=0))


def test_a_crowd_raises_the_threshold(load: Any) -> None:
    """The last place is shared by two functions of equal time."""
    functions = [(f"a.py:[]:f{i}", 1, 110 if i == 60 else 100 + i) for i in range(70)]
    operators = [(f"op:aten::o{i}", 1, 200 + i) for i in range(70)]
    trace = load(("a.py:[]:main", 1, 1, [*functions, *operators]))
    graph = graph_of(trace, ops="all")
    drawn = boxes_of(graph)
    assert len([key for key in drawn if key.startswith("a.py")]) == 61 and len(drawn) == 61 + 40
    assert {"a.py:[]:f60", "a.py:[]:f10"} <= set(drawn) and "a.py:[]:f9" not in drawn
    assert graph.selection.small == 229 * 10**6
    assert len(graph_of(trace, ops="all", min_percent=0).boxes) == 71 + 70


def test_globs_decide_last(load: Any) -> None:
    gelu, dumps, forward = "torch/nn/functional.py:[]:gelu", "stdlib/json.py:[]:dumps", "megatron/m.py:[GPT]:forward"
    calls = [(gelu, 1, 9), (dumps, 1, 9), (forward, 1, 9), ("a.py:[]:tiny", 1, 0), ("op:aten::mm", 1, 9)]
    trace = load(("a.py:[]:main", 1, 9, calls))
    globs = {"hide": ["*:[]:gelu", "stdlib", "aten::*"], "contract": ["*gelu", "megatron", "*tiny"]}
    states = states_of(graph_of(trace, **globs))
    assert states[gelu] == states[dumps] == DELETED and states[forward] == states["a.py:[]:tiny"] == JOINED
    assert "aten::mm" not in states  # operators were not requested: none is deleted
    assert states_of(graph_of(trace, ops="all", **globs))["aten::mm"] == DELETED


BLOCK = "model.py:[Block]:forward"
GPT = "model.py:[GPT]:forward"
MODEL = ("train.py:[]:main", 1, 1000, [
    ("torch/module.py:[GPT]:_call_impl", 2, 100, [
        (GPT, 2, 1000, [
            ("torch/module.py:[Block]:_call_impl", 4, 100, [
                (BLOCK, 4, 1000, [], "", {"module": "blocks.0"}),
                (BLOCK, 6, 1000, [("op:aten::linear", 6, 100, [("op:aten::mm", 6, 700)])], "", {"module": "blocks.1"}),
            ]),
        ]),
    ]),
    (BLOCK, 1, 500, [], "", {"resumes": 3}),
])  # fmt: skip
BACKWARD = ("thread:autograd:0", 0, 0, [("autograd:MmBackward0", 6, 4000, [("op:aten::mm", 12, 2000)])])


def own_of(graph: BoxGraph) -> dict[str, int]:
    return {key: box.own // 10**6 for key, box in boxes_of(graph).items()}


def test_contraction_keeps_sums(load: Any) -> None:
    graph = graph_of(load(MODEL, threads=[BACKWARD]))
    main = "train.py:[]:main"
    assert edges_of(graph) == {(main, GPT): (2, 3900), (GPT, BLOCK): (10, 2800), (main, BLOCK): (1, 500)}
    assert boxes_of(graph)[BLOCK].figures.calls == 11
    assert own_of(graph) == {main: 1100, GPT: 1100, BLOCK: 3300}
    assert graph.tree.whole == 5500 * 10**6 and graph.tree.timed  # of the main thread alone


def test_operators_take_the_time_below_them(load: Any) -> None:
    trace = load(MODEL, threads=[BACKWARD])
    every = graph_of(trace, ops="all")
    assert own_of(every) == {
        "train.py:[]:main": 1100, GPT: 1100, BLOCK: 2500, "aten::linear": 100, "aten::mm": 2700, "MmBackward0": 4000
    }  # fmt: skip
    top = graph_of(trace, ops="top")
    assert "aten::mm" not in boxes_of(top)
    assert own_of(top)["aten::linear"] == 800 and own_of(top)["MmBackward0"] == 6000
    assert edges_of(top)[BLOCK, "aten::linear"] == (6, 800)


def test_python_below_operators_is_called_by_the_top_one(load: Any) -> None:
    product = ("op:aten::mm", 1, 10, [("a.py:[]:hook", 1, 10)])
    graph = graph_of(load(("a.py:[]:main", 1, 10, [("op:aten::linear", 1, 10, [product])])), ops="top")
    assert own_of(graph) == {"a.py:[]:main": 10, "aten::linear": 20, "a.py:[]:hook": 10}
    assert edges_of(graph)["aten::linear", "a.py:[]:hook"] == (1, 10)


def test_edges_of_deleted_functions_are_deleted(load: Any) -> None:
    main, trace = "train.py:[]:main", load(MODEL)
    for options, edge, line in (
        ({"hide": [GPT]}, (1, 500), "1 deleted (--hide)"),
        ({"contract": [GPT]}, (11, 3300), "1 joined (--merge-into-caller)"),
    ):
        assert edges_of(graph_of(trace, **options)) == {(main, BLOCK): edge}
        assert line in dot(trace, **options)


def test_the_whole_is_the_thread_that_optimizes(load: Any) -> None:
    """A thread of autograd is not, even if it has more time."""
    step = ("op:Optimizer.step", 1, 5, [], "", {"flags": OPTIMIZER})
    worker = ("thread:worker", 0, 30, [("m.py:[]:train", 1, 10, [step])])
    autograd = ("thread:autograd:0", 0, 0, [("op:Optimizer.step", 1, 70, [], "", {"flags": OPTIMIZER})])
    trace = load(("m.py:[]:main", 1, 900), threads=[worker, autograd])
    assert graph_of(trace).tree.whole == 45 * 10**6
    assert trace.main_role == "worker"


def test_functions_without_calls_are_present_if_they_have_time_or_callees(load: Any) -> None:
    step, part = ("t.py:[]:step", 1, 10), ("t.py:[]:part", 0, 5)
    generator = ("t.py:[]:generator", 0, 0, [], "", {"resumes": 1})
    trace = load(("t.py:[]:early", 0, 0, [step, part, generator]), ("t.py:[]:never", 0, 0))
    names = [key.rpartition(":")[2] for key in boxes_of(graph_of(trace, all=True))]
    assert sorted(names) == ["early", "generator", "part", "step"]


def test_a_package_that_is_entered_again_has_another_region(load: Any) -> None:
    helper, other = ("megatron/b.py:[]:helper", 1, 10, [("model.py:[]:hook", 1, 10)]), ("megatron/b.py:[]:other", 1, 10)
    engine = ("megatron/a.py:[]:step", 1, 10, [
        ("megatron/a.py:[]:inner", 1, 10), ("model.py:[]:forward", 1, 10, [helper, other]),
    ])  # fmt: skip
    graph = graph_of(load(("train.py:[]:main", 1, 10, [("train.py:[]:log", 1, 10), engine])))
    keys = graph.tree.nodes["key"]
    assert [{keys[box.node].partition(":")[0] for box in boxes} for boxes in graph.regions()] in (
        [{"train.py"}, {"megatron/a.py"}, {"model.py"}, {"megatron/b.py"}, {"model.py"}],
    )
    assert {key: box.depth for key, box in boxes_of(graph).items() if "model" in key} == {
        "model.py:[]:forward": 2, "model.py:[]:hook": 4
    }  # fmt: skip


@pytest.mark.parametrize(("direct", "through", "together"), [(10, 50, False), (50, 10, True), (10, 10, True)])
def test_the_main_caller_decides_the_region(load: Any, direct: int, through: int, together: bool) -> None:
    second = ("deepspeed/o.py:[]:second", 1, 10, [("megatron/z.py:[]:used", 1, through)])
    first = ("megatron/a.py:[]:first", 1, 10, [second, ("megatron/z.py:[]:used", 9, direct)])
    boxes = boxes_of(graph_of(load(("a.py:[]:main", 1, 10, [first])), all=True))
    assert (boxes["megatron/z.py:[]:used"].region == boxes["megatron/a.py:[]:first"].region) == together


def test_recursion_through_another_package_ends(load: Any) -> None:
    inner = ("a.py:[]:f", 1, 90, [("a.py:[]:f", 1, 90)])
    graph = graph_of(load(("a.py:[]:f", 1, 10, [("megatron/l.py:[]:g", 1, 10, [inner])])))
    assert {key: (box.region, box.depth) for key, box in boxes_of(graph).items()} == {
        "a.py:[]:f": (1, 0), "megatron/l.py:[]:g": (2, 1)
    }  # fmt: skip
    assert edges_of(graph)["a.py:[]:f", "a.py:[]:f"][0] == edges_of(graph)["megatron/l.py:[]:g", "a.py:[]:f"][0] == 1


def test_boxes_without_callees_are_on_lines(load: Any) -> None:
    """Shallow ones first; of four, none is below another."""
    deep = ("a.py:[]:caller", 1, 10, [("a.py:[]:deep", 1, 10)])
    graph = graph_of(load(("a.py:[]:main", 1, 10, [deep, *((f"a.py:[]:f{i}", 1, 10) for i in range(5))])))
    boxes = boxes_of(graph)
    above = {box.number: name for name, box in boxes.items()}
    lines = {above[number]: above[box.number] for number, box in stacked(list(graph.boxes.values()), 3).items()}
    assert lines == {"a.py:[]:f3": "a.py:[]:f0", "a.py:[]:f4": "a.py:[]:f1", "a.py:[]:deep": "a.py:[]:f2"}
    assert stacked(list(graph.boxes.values()), 6) == {}
    assert dot(graph.trace, leaves=3).count("[style=invis, weight=0]") == 3


def test_titles(load: Any) -> None:
    same = [("a.py:[A&B]:<lambda>", 1, 10, [], "", {"line": line}) for line in (3, 4)]
    long = ("a.py:[]:f234567890123456789012345678901234567890ABCDE", 1, 10)
    text = dot(load(("/home/me/train.py:[]:<module>", 1, 10, [*same, long, ("range:", 1, 10)])))
    assert f"label=<<B>train.py</B>{DARK}" in text
    assert all(f"<B>A&amp;B.&lt;lambda&gt;@{line}</B>" in text for line in (3, 4))
    assert "<B>f234567890123456789012345678901234567890ABCD…</B>" in text
    assert f"<B>(no name)</B>{DARK}" in text  # an empty label is invalid
    assert "<B>NaiveSelfAttention.<BR/>forward</B>" in dot(load(("a.py:[NaiveSelfAttention]:forward", 1, 10)))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("megatron/models/gpt/mod.py", "megatron/models/gpt/mod.py"),
        ("x/megatron/core/models/gpt/model22.py", "…/models/gpt/model22.py"),
        ("x/a_name_of_more_than_thirty_four_characters.py", "…a_name_of_more_than_thirty_four_characters.py"),
        ("<b>.py", "&lt;b&gt;.py"),
        (f"y/{'1234567890' * 6}.py", f"…{'1234567890' * 5}12…"),
    ],
)
def test_places_are_the_ends_of_paths(load: Any, path: str, shown: str) -> None:
    assert f"{GREY}{shown}</FONT>" in dot(load((f"{path}:[]:f", 1, 10)))


def test_modules_of_a_forward(load: Any) -> None:
    blocks = [("m.py:[Block]:forward", 1, 10, [], "", {"module": f"blocks.{i}"}) for i in range(2)]
    norms = [("m.py:[Norm]:forward", 1, 10, [], "", {"module": name}) for name in ("norm", "last", "first")]
    text = dot(
        load(("m.py:[]:main", 1, 10, [*blocks, *norms, ("m.py:[H]:forward", 1, 10, [], "", {"module": "head"})]))
    )
    assert f"{GREY}blocks.* \N{MULTIPLICATION SIGN} 2</FONT>{DARK}" in text and f"{GREY}3 modules</FONT>{DARK}" in text
    assert "head" not in text


def test_packages_have_tints(load: Any) -> None:
    names = ("torch/a.py:[]:f", "megatron/a.py:[]:f", "deepspeed/a.py:[]:f", "z/a.py:[]:f")
    text = dot(load(("a.py:[]:main", 1, 10, [(name, 1, 10 - at) for at, name in enumerate(names)])))
    tints = dict(re.findall(r'label="(\w+)" tooltip="\w+" bgcolor="(#\w+)" color="\2"', text))
    assert tints == {
        "project": "#FDEFDC", "torch": "#DDF0FE", "megatron": "#DDFBFD", "deepspeed": "#FBE3E9", "z": "#F0F1F3"
    }  # fmt: skip


def test_lines_by_weight(load: Any) -> None:
    """Width is the root of the share of the largest. Into another region the deepest caller pulls."""
    two = ("a.py:[]:two", 25, 1000, [("torch/a.py:[]:f", 1, 0)])
    trace = load(("a.py:[]:main", 1, 100, [("a.py:[]:one", 100, 250), two, ("torch/a.py:[]:f", 1, 0)]))
    text, calls = dot(trace), dot(trace, weight="calls", min_percent=0)
    assert "n1 -> n2 [penwidth=2.85, weight=11, " in text and "n1 -> n3 [penwidth=5.00, weight=21, " in text
    assert "n1 -> n2 [penwidth=5.00, weight=21, " in calls and "n1 -> n3 [penwidth=2.85, weight=11, " in calls
    assert "n1 -> n4 [penwidth=1.13, weight=1, " in calls and "n3 -> n4 [penwidth=1.13, weight=20, " in calls


def test_times_are_those_of_gpus_if_there_are_kernels(load: Any) -> None:
    """The host spends most of its time in ``slow``, the GPU in ``fast``; a kernel of autograd is in no box."""
    fast = ("a.py:[]:fast", 1, 1, [("op:aten::mm", 1, 1, [("kernel:gemm", 0, 0, [], "", {"gpu": 6000})])])
    slow = ("a.py:[]:slow", 1, 90, [("kernel:copy", 0, 0, [], "", {"gpu": 1000})])
    backward = ("thread:autograd:0", 0, 0, [("kernel:gemm", 0, 0, [], "", {"gpu": 3000})])
    trace = load(("a.py:[]:main", 1, 1, [fast, slow]), threads=[backward])
    text = dot(trace)
    assert "1 rank, 10.0 µs on GPUs, 30.0 % of it outside of these functions. Colour: GPU time in the" in text
    assert "Width of lines: GPU time." in text and text == dot(trace, weight="gpu")
    total = "\\nGPU total 6.00 µs (6 000 ns, 60.0 %)\\n"
    assert f"{total}GPU self 0 ns (0 ns, 0 %)" in text
    assert f"-&gt; a.py:[]:fast\\n1 call{total}total on the host 2.00 ms" in text
    assert {key: box.own for key, box in boxes_of(graph_of(trace)).items()} == {
        "a.py:[]:main": 0, "a.py:[]:fast": 6000, "a.py:[]:slow": 1000
    }  # fmt: skip
    assert edges_of(graph_of(trace, weight="time"))["a.py:[]:main", "a.py:[]:slow"] == (1, 90)
    assert "GPU" not in dot(trace, weight="time") and "Width of lines: calls." in dot(trace, weight="calls")
    assert sorted(trace.export("folded").decode().splitlines()) == [
        "autograd:0;gemm 3000",
        "main;a.py:[]:main;a.py:[]:fast;aten::mm;gemm 6000",
        "main;a.py:[]:main;a.py:[]:slow;copy 1000",
    ]


def test_tooltips_have_exact_figures(load: Any) -> None:
    product = ("op:aten::mm", 3, 5000)
    gpt = (GPT, 2, 4000, [("torch/a.py:[]:_x", 1, 1000), product], "", {"resumes": 1500})
    backward = ("thread:autograd:0", 0, 0, [("autograd:MmBackward0", 3, 6000, [], "op:aten::mm")])
    text = dot(load(("train.py:[]:main", 0, 10000, [gpt]), threads=[backward]))
    figures = (
        "2 calls, 1 500 resumes, 3 operators below\\ntotal 10.0 s (10 000 000 000 ns, 50.0 %)"
        "\\nself 4.00 s (4 000 000 000 ns, 20.0 %)"
        "\\nself and what is folded into it 10.0 s (10 000 000 000 ns, 50.0 %)"
        "\\nbackward of what it made 6.00 s (6 000 000 000 ns, 30.0 %)"
    )
    assert f'tooltip="{GPT}\\n{figures}"' in text
    assert "train.py:[]:main\\nalready running, 3 operators below\\n" in text
    assert (
        f'tooltip="train.py:[]:main -&gt; {GPT}\\n2 calls, 1 500 resumes\\ntotal 10.0 s (10 000 000 000 ns, 50.0 %)"'
        in text
    )


def test_classic_colours_and_labels(load: Any) -> None:
    files = {"megatron/a.py": "73FBFD", "src/megatron/a.py": "73FBFD", "src/xmegatron/a.py": "C0C0C0"}
    files |= {"megatron.py": "C0C0C0", "src/megatron.py/deepspeed/a.py": "FA8D89", "c\\d.py": "C0C0C0"}
    text = dot(
        load(*((f"{file}:[]:f{at}", 1, 1) for at, file in enumerate(files)), ("op:aten::mm", 1, 1)),
        style="classic",
        ops="all",
    )
    for at, (file, colour) in enumerate(files.items()):
        lines = "\\n".join([*file.replace("\\", "\\\\").split("/"), "[]", f"f{at}"])
        assert f'[fillcolor="#{colour}", label="{lines}", ' in text
    assert '[fillcolor="#C0C0C0", label="aten\\nmm", ' in text


@pytest.mark.parametrize(("style", "limits"), [("default", ""), ("classic", ", nodesep=0.02")])
def test_the_layout_of_large_pictures_is_limited(load: Any, style: str, limits: str) -> None:
    for count in (249, 250):
        text = dot(load(*((f"a.py:[]:f{i}", 1, 1) for i in range(count))), style=style, all=True)
        assert (f", splines=line, nslimit=0.2, nslimit1=0.2, mclimit=0.05{limits}]\n" in text) == (count == 250)


def test_lists_are_sorted_by_bytes(load: Any) -> None:
    """Capitals are before ``_``, and ``_`` before small letters. Ranges are omitted."""
    hook = ("op:aten::linear", 2, 5, [("hook.py:[]:on_linear", 2, 1)])
    evaluate = ("range:evaluate", 1, 10, [("torch/nn/module.py:[GPT]:_call_impl", 2, 5, [hook])])
    trace = load(("train.py:[]:step", 1, 10, [evaluate, ("a.py:[]:B", 1, 1), ("a.py:[]:_", 1, 1)]))
    assert trace.export("callgraph", hide=["hook*"], contract=["*_call_impl"]).decode() == (
        '{"nodes":[\n"a.py:[]:B",\n"a.py:[]:_",\n"train.py:[]:step"],\n'
        '"edges":[\n"train.py:[]:step->a.py:[]:B",\n"train.py:[]:step->a.py:[]:_"]}\n'
    )
    text = trace.export("callgraph", ops="all").decode()
    assert '"a.py:[]:_",\n"aten::linear",\n"hook.py:[]:on_linear"' in text
    assert '"aten::linear->hook.py:[]:on_linear"' in text and "_call_impl->hook.py" not in text


def test_an_empty_trace(load: Any) -> None:
    trace = load()
    assert trace.export("callgraph") == b'{"nodes":[],\n"edges":[]}\n'
    assert "1 rank Width of lines: calls.</FONT>>\n}\n" in dot(trace)
    assert dot(trace, style="classic").endswith("edge [penwidth=2.0]\n}\n")


def test_escapes() -> None:
    text = 'a"b\\N\n<&>\x07'
    assert dot_parts.label_text(text, 99) == 'a\\"b\\\\N\\n&lt;&amp;&gt;\N{REPLACEMENT CHARACTER}'
    assert (
        dot_parts.tooltip_text(text, 99)
        == 'a\\"b\N{FULLWIDTH REVERSE SOLIDUS}N\\n&lt;&amp;&gt;\N{REPLACEMENT CHARACTER}'
    )
    assert (
        dot_parts.html_text(text, 99) == "a&quot;b\N{FULLWIDTH REVERSE SOLIDUS}N &lt;&amp;&gt;\N{REPLACEMENT CHARACTER}"
    )
    assert dot_parts.label_text("é<é", 3) == "é&lt;é" and dot_parts.label_text("é<é!", 3) == "é&lt;é…"


def test_numbers_have_units() -> None:
    times = {
        0: "0 ns",
        999: "999 ns",
        1000: "1.00 µs",
        9994: "9.99 µs",
        9996: "10.0 µs",
        99960: "100 µs",
        999499: "999 µs",
    }
    times |= {999500: "1.00 ms", 80 * 10**6: "80.0 ms", 999500000: "1.00 s", 3600 * 10**9: "3600 s"}
    assert {time: dot_parts.time_text(time) for time in times} == times
    shares = {(0, 0): "0 %", (0, 9): "0 %", (1, 3): "33.3 %", (1, 2500): "0.04 %", (1, 1000): "0.1 %"}
    shares |= {(1, 10**6): "0.00 %", (9994, 10000): "99.9 %", (9995, 10000): "100 %", (3, 2): "150 %"}
    assert {share: dot_parts.percent_text(*share) for share in shares} == shares
    assert dot_parts.count_text(1234567) == "1 234 567"


def named_edges(trace: fastdispatch.Trace, by: Any) -> dict[tuple[str, str], tuple[int, int]]:
    """Return calls and total of each edge of a table, in ms."""
    names, edges = [*trace.table(by)["where"], ""], trace.graph(by)
    ends = list(zip(edges["caller"], edges["callee"], strict=True))
    assert ends == sorted(set(ends))
    figures = zip(edges["calls"], (total // 10**6 for total in edges["total"]), strict=True)
    return {(names[caller], names[callee]): each for (caller, callee), each in zip(ends, figures, strict=True)}


def test_nested_edges_count_once(load: Any) -> None:
    """f, g, f, g: the inner call of g is within the outer one."""
    f, g = "a.py:[]:f", "a.py:[]:g"
    trace = load((f, 1, 10, [(g, 1, 10, [(f, 1, 10, [(g, 1, 10)])])]), (g, 3, 5, [(g, 2, 1, [(g, 1, 1)])]))
    assert named_edges(trace, "function") == {
        ("", f): (1, 40),
        ("", g): (3, 7),
        (f, g): (2, 30),
        (g, f): (1, 20),
        (g, g): (3, 2),
    }


def test_paths_without_a_group_are_contracted(load: Any) -> None:
    trace = load(("a.py:[]:a", 1, 1, [("op:aten::mm", 1, 2, [("a.py:[]:b", 3, 4)])]))
    assert named_edges(trace, "function") == {("", "a.py:[]:a"): (1, 7), ("a.py:[]:a", "a.py:[]:b"): (3, 4)}
    assert trace.graph("function")["resumes"] == [0, 0]
