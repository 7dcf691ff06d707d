"""The picture: drawn and folded functions, with exact figures."""

import json
import os
import re
import shutil
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.graphs.call_tree import CallFigures
from fastdispatch.graphs.dot_parts import calls_text
from fastdispatch.page.graphviz import layout
from tests import commands, processes
from tests.unit.report.call_trees import Dump

GOLD = Path(__file__).parents[2] / "gold" / "svg"

BLOCK = [
    ("torch/nn/modules/module.py:[Block]:_call_impl", 4, 1, [
        ("model.py:[Block]:forward", 4, 8, [
            ("torch/nn/functional.py:[]:gelu", 4, 2, [("op:aten::gelu", 4, 30)]),
            ("op:aten::mm", 8, 60, [("op:aten::empty", 8, 0.5)]),
        ]),
    ]),
]  # fmt: skip
BACKWARD = ("torch/_tensor.py:[Tensor]:backward", 2, 1, [("autograd:MmBackward0", 4, 20, [("op:aten::mm", 8, 80)])])
TRAINING = [
    ("train.py:[]:main", 1, 2, [
        ("deepspeed/engine.py:[Engine]:train_batch", 2, 4, [
            ("megatron/core/models/gpt.py:[GPT]:forward", 2, 3, BLOCK),
            BACKWARD,
            ("train.py:[]:<genexpr>", 5, 0.5),
        ]),
        ("stdlib/json/__init__.py:[]:dumps", 3, 6, [("stdlib/json/encoder.py:[JSONEncoder]:encode", 3, 4)]),
        ("train.py:[]:tiny", 1, 0.01),
        ("range:evaluate", 1, 5, [("model.py:[Block]:forward", 1, 7)]),
    ]),
]  # fmt: skip

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@pytest.fixture
def trace(tmp_path: Path) -> fastdispatch.Trace:
    return Dump(TRAINING).load(tmp_path)


@dataclass
class Picture:
    """Parse a dot text: keys are in the first line of tooltips."""

    text: str
    boxes: dict[str, str] = field(default_factory=dict)
    edges: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ids = {}
        for line in self.text.splitlines():
            if tooltip := re.search(r'tooltip="((?:[^"\\]|\\.)*)"\]$', line):
                first, _, rest = tooltip[1].partition(r"\n")
                if edge := re.match(r"\s*(n\d+) -> (n\d+) ", line):
                    self.edges[ids[edge[1]], ids[edge[2]]] = rest
                else:
                    ids[line.split()[0]] = first.replace("&lt;", "<").replace("&gt;", ">")
                    self.boxes[ids[line.split()[0]]] = rest

    def calls(self, figures: str) -> int:
        found = re.match(r"([\d ]+) calls?", figures)
        return int(found[1].replace(" ", "")) if found else 0

    def time(self, title: str, figures: str) -> int:
        found = re.search(rf"\\n{title} [^(]*\(([\d ]+) ns", figures)
        assert found is not None, (title, figures)
        return int(found[1].replace(" ", ""))

    def into(self, key: str) -> int:
        return sum(self.calls(figures) for (_, callee), figures in self.edges.items() if callee == key)


def draw(trace: fastdispatch.Trace, **options: object) -> Picture:
    return Picture(trace.export("dot", **options).decode())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("default", {}),
        ("calls", {"weight": "calls"}),
        ("ops", {"ops": "all"}),
        ("ops-top", {"ops": "top"}),
        ("all", {"all": True}),
        ("classic", {"style": "classic"}),
    ],
)
def test_texts_are_as_agreed(trace: fastdispatch.Trace, name: str, options: dict[str, object]) -> None:
    gold = GOLD / f"{name}.dot"
    text = trace.export("dot", **options).decode()
    if "UPDATE_GOLD" in os.environ:
        gold.write_text(text)
    assert text == gold.read_text()


def test_the_order_of_a_trace_does_not_show(tmp_path: Path) -> None:
    def turned(calls: list[tuple]) -> list[tuple]:
        return [(*call[:3], turned(call[3]) if len(call) > 3 else []) for call in reversed(calls)]

    one = Dump(TRAINING, BLOCK).load(tmp_path)
    two = Dump(turned(TRAINING), turned(BLOCK)).load(tmp_path)
    for options in ({}, {"ops": "all"}, {"style": "classic"}):
        assert one.export("dot", **options) == two.export("dot", **options) == one.export("dot", **options)


@pytest.mark.parametrize("ops", ["none", "top", "all"])
@pytest.mark.parametrize("contract", [(), ("model.py*",), ("megatron", "deepspeed"), ("*forward", "aten::*")])
def test_sums_are_kept(trace: fastdispatch.Trace, ops: str, contract: tuple[str, ...]) -> None:
    picture = draw(trace, ops=ops, contract=contract, min_percent=0)
    own = sum(picture.time("self and what is folded into it", figures) for figures in picture.boxes.values())
    assert own == sum(trace.contexts["self"])
    for key, figures in picture.boxes.items():
        if key != "train.py:[]:main":
            assert picture.into(key) == picture.calls(figures), key


def test_brackets_in_globs_are_literal(trace: fastdispatch.Trace) -> None:
    assert "model.py:[Block]:forward" not in draw(trace, hide=["model.py:[Block]:forw?rd"]).boxes
    assert "model.py:[Block]:forward" in draw(trace, hide=["model.py:[B]lock:forward", "Block", "[Block]"]).boxes


@needs_dot
@pytest.mark.parametrize(("style", "letters", "widest"), [("default", 44, 1490), ("classic", 50, 6000)])
def test_wide_pictures_have_more_lines(tmp_path: Path, style: str, letters: int, widest: int) -> None:
    calls = [(f"train.py:[]:{'W' * letters}{i}", 1, 100) for i in range(24)]
    trace = Dump([("train.py:[]:main", 1, 1, calls)]).load(tmp_path)
    pictures = {"first": layout(trace.export("dot", style=style)), "fitted": trace.svg(style=style).encode()}
    width = {name: int(re.search(rb'<svg width="(\d+)', image)[1]) for name, image in pictures.items()}
    assert width["first"] > widest >= width["fitted"]
    assert all(image.count(b'class="node"') == 25 for image in pictures.values())
    assert trace.svg(tmp_path / "x.png", style=style) and (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("cpu", [9_000_000, 11_000_000])
def test_functions_of_idle_threads_are_counted(tmp_path: Path, cpu: int) -> None:
    shared = ("a.py:[]:shared", 1, 10)
    dump = Dump([("a.py:[]:main", 1, 100, [shared])])
    other = dump.add(-1, ("thread:monitor", 0, 0, [("a.py:[]:wait", 1, 990), shared]))
    path = dump.write(tmp_path / "dump.json")
    document = json.loads(path.read_text())
    threads = document["ranks"][0]["threads"]
    threads |= {name: 2 * threads[name] for name in threads}
    threads |= {"role": [threads["role"][0], document["strings"].index("monitor")], "root": [dump.root, other]}
    threads |= {"covered": [110_000_000, 10**9], "self": [110_000_000, 10**9], "cpu": [110_000_000, cpu]}
    path.write_text(json.dumps(document))
    trace = fastdispatch.load(path)
    busy = cpu > 10_000_000
    assert set(draw(trace).boxes) == {"a.py:[]:main", "a.py:[]:shared"} | ({"a.py:[]:wait"} if busy else set())
    assert ("1 of idle threads" in draw(trace).text) == (not busy)
    assert draw(trace).calls(draw(trace).boxes["a.py:[]:shared"]) == (2 if busy else 1)
    assert "a.py:[]:wait" in draw(trace, all=True).boxes


def test_ranks_are_drawn_apart(tmp_path: Path) -> None:
    trees = ([("a.py:[]:main", 1, 1, [("a.py:[]:send", 2, 1)])], [("a.py:[]:main", 1, 1, [("a.py:[]:receive", 1, 1)])])
    trace = Dump(*trees).load(tmp_path)
    assert set(draw(trace).boxes) == {"a.py:[]:main", "a.py:[]:send", "a.py:[]:receive"}
    assert set(draw(trace, rank=0).boxes) == {"a.py:[]:main", "a.py:[]:send"}
    assert set(draw(trace, rank=1, style="classic").boxes) == {"a.py:[]:main", "a.py:[]:receive"}


def test_without_times_calls_decide(tmp_path: Path) -> None:
    counted = [("a.py:[]:main", 1, 0, [("a.py:[]:often", 5000, 0), ("a.py:[]:seldom", 1, 0)])]
    picture = draw(Dump(counted, timing=False).load(tmp_path))
    assert set(picture.boxes) == {"a.py:[]:main", "a.py:[]:often"}
    assert " ns" not in picture.text and "Width of lines: calls." in picture.text


@pytest.mark.parametrize(
    ("calls", "resumes", "text"),
    [(2, 3, "2 calls"), (0, 3, "3 resumes"), (0, 1, "1 resume"), (0, 0, "already running")],
)
def test_text_of_calls(calls: int, resumes: int, text: str) -> None:
    """A generator that was called before the first step of the figures has resumes only."""
    assert calls_text(CallFigures(calls, resumes)) == text


@pytest.mark.parametrize("height", [4, 9])
def test_a_tower_of_running_functions(height: int, tmp_path: Path) -> None:
    """The first function and the last two of a high tower are drawn."""
    tree = ("a.py:[]:step", 5, 9)
    for number in range(height):
        tree = (f"a.py:[]:f{height - 1 - number}", 0, 0, [tree])
    picture = draw(Dump([tree]).load(tmp_path))
    drawn = range(4) if height == 4 else (0, 7, 8)
    assert set(picture.boxes) == {"a.py:[]:step", *(f"a.py:[]:f{number}" for number in drawn)}
    assert ("6 that were already running" in picture.text) == (height == 9)


def test_a_compiled_region_is_drawn(tmp_path: Path) -> None:
    """Its calls are not recorded: without it, compiled code would look like the caller."""
    region = ("op:Torch-Compiled Region: 0/0", 5, 9, [("op:aten::mm", 5, 3)])
    picture = draw(Dump([("a.py:[]:main", 1, 1, [region])]).load(tmp_path))
    assert set(picture.boxes) == {"a.py:[]:main", "Torch-Compiled Region: 0/0"}


UGLY = [
    'q"uote',
    "back\\slash\\",
    "new\nline",
    "<b>&amp;</b>",
    "naïve ∑ 函数",
    "long" * 2500,
    "bell\x07",
    "\\N\\G",
    "]] >",
]


@needs_dot
@pytest.mark.parametrize("style", ["default", "classic"])
def test_any_name_gives_good_xml(tmp_path: Path, style: str) -> None:
    calls = [(f"a/{name}.py:[{name}]:{name}", 1, 5) for name in UGLY]
    path = Dump([("a.py:[]:main", 1, 1, calls)]).write(tmp_path / "dump.json")
    assert commands.error("svg", path, "-o", tmp_path / "x.svg", "--style", style, status=0) == ""
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    titles = [value for element in root.iter() for name, value in element.items() if name.endswith("}title")]
    drawn = ("\n".join(titles) + "".join(root.itertext())).replace("\N{FULLWIDTH REVERSE SOLIDUS}", "\\")
    assert "n2callgraph" not in drawn  # Graphviz's expansion of \\N and \\G
    for shown in ('q"uote', "back\\slash\\", "naïve ∑ 函数", "longlong", "\\N\\G", "bell\N{REPLACEMENT CHARACTER}"):
        assert shown in drawn, shown
    assert len([element for element in root.iter() if element.get("class") == "node"]) == 1 + len(UGLY)


def test_the_text_needs_no_graphviz(tmp_path: Path) -> None:
    path = Dump(TRAINING).write(tmp_path / "dump.json")
    result = processes.fastdispatch("svg", path, "-o", tmp_path / "x.dot", PATH="")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "x.dot").read_bytes() == fastdispatch.load(path).export("dot")
    for options, expected in (([], {}), (["--style", "classic", "--ops"], {"style": "classic", "ops": "all"})):
        assert main(["svg", str(path), "-o", str(tmp_path / "y.dot"), *options]) == 0
        assert (tmp_path / "y.dot").read_bytes() == fastdispatch.load(path).export("dot", **expected)
    missing = processes.refused("svg", path, "-o", tmp_path / "x.svg", PATH="")
    assert "Graphviz" in missing and "FILE.dot" in missing
    assert not (tmp_path / "x.svg").exists()


@pytest.fixture(scope="module")
def training_trace(tmp_path_factory: pytest.TempPathFactory) -> fastdispatch.Trace:
    pytest.importorskip("torch")
    from tests import training

    folder = tmp_path_factory.mktemp("training")
    _, step = training.make_step(layers=3)
    step()
    with fastdispatch.CallGraph(folder):
        for _ in range(3):
            step()
    return fastdispatch.load(folder)


@pytest.mark.parametrize("options", [{}, {"ops": "all"}, {"style": "classic"}, {"all": True}])
def test_picture_of_a_training(training_trace: fastdispatch.Trace, options: dict[str, object]) -> None:
    picture = draw(training_trace, **options)
    kinds, keys, contexts = training_trace.nodes["kind"], training_trace.nodes["key"], training_trace.contexts
    above: set[tuple[str, str]] = set()
    direct: set[tuple[str, str]] = set()
    for node, parent in zip(contexts["node"], contexts["parent"], strict=True):
        nearest = True
        while parent >= 0:
            caller = contexts["node"][parent]
            above.add((keys[caller], keys[node]))
            if nearest and kinds[caller] == kinds[node] == "python":
                direct.add((keys[caller], keys[node]))
            nearest = nearest and kinds[caller] != "python"
            parent = contexts["parent"][parent]
    assert set(picture.edges) <= above
    if options.get("style") == "classic":
        assert set(picture.edges) == direct


def test_a_training_reads_from_top_to_bottom(training_trace: fastdispatch.Trace) -> None:
    picture = draw(training_trace)
    path = ["pretrain.py:[]:train_step", "pretrain.py:[GPT]:forward", "pretrain.py:[Block]:forward"]
    path += ["pretrain.py:[Attention]:forward", "torch/nn/modules/linear.py:[Linear]:forward"]
    for caller, callee in pairwise(path):
        assert (caller, callee) in picture.edges
    assert picture.calls(picture.edges[path[1], path[2]]) == 3 * 3
    for other in ("torch/_tensor.py:[Tensor]:backward", "torch/optim/adam.py:[AdamW]:step"):
        assert (path[0], other) in picture.edges
    assert not any("_call_impl" in key or "_engine_run_backward" in key for key in picture.boxes)
    assert re.search(r"blocks\.\* \S 3<", picture.text) and re.search(r"blocks\.\*\.attn \S 3<", picture.text)
    table = training_trace.table("node")
    for key, figures in picture.boxes.items():
        row = table["where"].index(key)
        assert picture.calls(figures) == table["calls"][row]
        assert picture.time("total", figures) == table["total"][row]


def test_hidden_and_drawn_functions_add_up(training_trace: fastdispatch.Trace) -> None:
    picture = draw(training_trace)
    counts = re.search(r"hidden: (.*?)<BR", picture.text)
    assert counts is not None
    hidden = sum(int(part.split()[0]) for part in counts[1].split(", "))
    kinds = training_trace.nodes["kind"]
    assert len(picture.boxes) + hidden == sum(kind in ("python", "range") for kind in kinds)
