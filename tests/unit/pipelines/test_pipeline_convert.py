"""Programs of stages: written, refused and unchanged files. Nothing is run here."""

import ast
import json
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.pipeline import Graph, Node, convert
from fastdispatch.pipeline.convert.describe import describe
from tests import schemas

ROOT = Path(__file__).parents[3]
GOLD = ROOT / "tests" / "gold" / "convert"


def run(graph: str | Path, folder: Path, *options: str, name: str = "pd", arch: str = "net") -> int:
    where = graph if isinstance(graph, Path) else GOLD / f"{graph}.txt"
    command = ["pipeline", "convert", "-f", str(where), "-n", name, "-a", arch, "-o", str(folder)]
    return main([*command, *options])


def package(folder: Path, printed: str = "") -> str:
    """All files as one text."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    parts = [f"=== {path.name}\n{path.read_text()}" for path in files]
    return "".join(parts) + (f"=== standard output\n{printed}" if printed else "")


def chain(*names: str, stages: int = 1) -> Graph:
    """Layers in a row behind an input."""
    row = ["Input0", *names]
    nodes = [Node(f"node{at}", name, stage=(at - 1) * stages // len(row)) for at, name in enumerate(row, 1)]
    return Graph(nodes, [(f"node{at}", f"node{at + 1}") for at in range(1, len(row))])


def written(graph: Graph, **options: object) -> dict[str, str]:
    return convert(graph, "pd", "net", **options).files  # type: ignore[arg-type]


def refusal(graph: Graph, **options: object) -> str:
    with pytest.raises(fastdispatch.Error) as caught:
        written(graph, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_compat_is_the_published_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gnmt_10_stages", tmp_path / "out", "--compat", arch="gnmt") == 0
    assert package(tmp_path / "out", capsys.readouterr().out) == (GOLD / "gnmt_10_stages.package.txt").read_text()


def test_compat_refuses_other_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for graph, message in (
        (GOLD / "syn_view_const.txt", "node2 (View"),
        (GOLD / "syn_add_alias.txt", "--compat: the graph has one stage"),
    ):
        assert run(graph, tmp_path / "out", "--compat") == 2
        assert message in capsys.readouterr().err
    assert run("gnmt_10_stages", tmp_path / "out", "--compat", "--verify") == 2
    assert "--verify: not with --compat" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_default_package_has_the_same_files_and_interface(tmp_path: Path) -> None:
    run("gnmt_10_stages", tmp_path / "own", arch="gnmt")
    run("gnmt_10_stages", tmp_path / "published", "--compat", arch="gnmt")
    own, published = ({path.name for path in (tmp_path / name).iterdir()} for name in ("own", "published"))
    assert own - published == {"weights.py", ".pipeline-convert.json"} and not published - own
    functions = {
        node.name for node in ast.parse((tmp_path / "own" / "__init__.py").read_text()).body if hasattr(node, "name")
    }
    assert functions == {"arch", "model", "full_model"}


def test_configurations_have_ranks_and_depths(tmp_path: Path) -> None:
    run("two_stages", tmp_path, "--stage_to_num_ranks_map", "0:3,1:1")
    read = {path.name: json.loads(path.read_text()) for path in tmp_path.glob("*.json") if path.name[0] != "."}
    assert read["dp_conf.json"]["stage_to_rank_map"] == {"0": [0, 1, 2, 3]}
    assert read["hybrid_conf.json"] == {
        "module_to_stage_map": [0, 1, 1],
        "stage_to_rank_map": {"0": [0, 1, 2], "1": [3]},
        "stage_to_depth_map": {"0": 1, "1": 0},
    }
    assert read["mp_conf.json"]["stage_to_depth_map"] == {"0": 1, "1": 0}


def test_in_place_layers_copy_only_inputs_with_other_readers() -> None:
    alone = written(chain("Linear(4, 4)", "ReLU(inplace=True)"))["net.py"]
    assert ".clone()" not in alone
    nodes = [Node("a1", "Input0"), Node("a2", "Linear(4, 4)"), Node("a3", "View(2, 2)"), Node("a4", "ReLU(inplace)")]
    nodes += [Node("a5", "Add"), Node("a6", "Size(0)")]
    edges = [("a1", "a2"), ("a2", "a6"), ("a2", "a3"), ("a6", "a3"), ("a3", "a4"), ("a4", "a5")]
    assert ".clone()" not in written(Graph(nodes, [*edges, ("a4", "a5")]))["net.py"]
    made = convert(Graph(nodes, [*edges, ("a2", "a5")]), "pd", "net")
    assert "self.layer4(out3.clone())" in made.files["net.py"]
    assert made.warnings == [
        "a4 (ReLU(inplace)): writes a2 in place, which a5 (Add) also reads: the write goes to a copy",
    ]
    assert "self.layer2(input0.clone())" in written(chain("ReLU(inplace)"))["net.py"]


def test_numbers_are_computed_where_they_are_read() -> None:
    nodes = [
        ("1", "Input0", 0),
        ("2", "Linear(4, 4)", 0),
        ("3", "Size(0)", 0),
        ("4", "ReLU()", 1),
        ("5", "View(-1)", 1),
    ]
    edges = [("1", "2"), ("2", "3"), ("2", "4"), ("4", "5"), ("3", "5")]
    files = written(Graph([Node(id, name, stage=stage) for id, name, stage in nodes], edges))
    assert ".size(" not in files["stage0.py"] and "out3 = input0.size(0)" in files["stage1.py"]


@pytest.mark.parametrize(
    "name",
    [
        "torch.load('x', %0)",
        "__import__('os').system('%0')",
        "%0.__class__",
        "torch.hub.load(%0)",
        "(lambda: %0)()",
        "[x for x in %0]",
        "Linear(4, __import__('os'))",
        "Linear(4, 4); import os",
        "Conv2d(3, 4, kernel_size=<function f>)",
        "Foo(%9)",
    ],
)
def test_nothing_but_known_calls_gets_into_a_program(name: str) -> None:
    assert refusal(chain(name)).startswith("node2 (")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Block(4)", "torch.nn has no Block"),
        ("Linear(4)", "lacks out_features"),
        ("Linear(4, 4, depth=3)", "does not accept depth"),
        ("Linear(4, in_features=4)", "in_features is given twice"),
        ("MultiheadAttention(\n  (out_proj): Linear(8, 8))", "lacks embed_dim and num_heads"),
        ("View(-1)", "first size was a number"),
        ("Size(0", "cannot be read at column 7"),
        ("Add", "it has 1 input, not at least 2"),
    ],
)
def test_refusals_name_the_node_and_the_reason(name: str, reason: str) -> None:
    text = refusal(chain(name))
    assert text.startswith("node2 (") and reason in text


def test_stages_only_feed_later_ones() -> None:
    nodes = [Node("1", "Input0"), Node("2", "ReLU()", stage=1), Node("3", "ReLU()", stage=0)]
    assert "3 (ReLU()): is in stage 0 and reads 2 (ReLU()) of the later stage 1" in refusal(
        Graph(nodes, [("1", "2"), ("2", "3")])
    )
    assert "has no stage" in refusal(Graph([*nodes[:2], Node("3", "ReLU()")], [("1", "2"), ("2", "3")]))


def test_imports_take_arguments_from_the_description() -> None:
    graph = chain(
        "Block(  (attn): Attention(heads=2)  (up): Linear(in_features=8, out_features=32))", "Own(3, bias=False)"
    )
    made = written(
        graph, imports=["Block=my.blocks:FastBlock(up.in_features, heads=attn.heads, norm='none', up=up)", "Own=my:Own"]
    )["net.py"]
    assert "from my import Own\nfrom my.blocks import FastBlock" in made
    assert "FastBlock(8, heads=2, norm='none', up=torch.nn.Linear(in_features=8, out_features=32))" in made
    assert "self.layer3 = Own(3, bias=False)" in made
    assert "its description has no up.depth" in refusal(graph, imports=["Block=a:B(up.depth)", "Own=my:Own"])
    assert "write NAME=MODULE:CLASS" in refusal(graph, imports=["Block"])


def test_descriptions_are_read_as_old_and_new_versions_print_them() -> None:
    read = describe("Conv2d(3, 4, kernel_size=(3, 3), padding=same, bias=False)")
    assert read.args == ["3", "4"]
    assert read.keywords == {"kernel_size": "(3, 3)", "padding": "'same'", "bias": "False"}
    assert describe("LeakyReLU(0.2, inplace)").keywords == {"inplace": "True"}
    nested = describe("Sequential(  (0-1): 2 x Linear(4, 4)  (2): GELU(approximate='none'))")
    assert [*nested.children] == ["0", "1", "2"] and nested.children["2"].keywords == {"approximate": "'none'"}


def test_names_invalid_in_python_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (
        {"name": "my net"},
        {"name": "class"},
        {"name": "Stage1"},
        {"arch": "resnet-50"},
        {"arch": "stage0"},
    ):
        assert run("two_stages", tmp_path / "out", **options) == 2
        assert capsys.readouterr().err.count("\n") == 1
    odd = Graph([Node("first 'node'", "Input0"), Node('1"', "Linear(4, 4)")], [("first 'node'", '1"')])
    assert "out1 = self.layer1(input0)" in written(odd)["net.py"]


def test_a_changed_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("two_stages", tmp_path) == run("two_stages", tmp_path) == 0
    stage = tmp_path / "stage1.py"
    stage.write_text(stage.read_text() + "# mine\n")
    before = package(tmp_path)
    assert run("two_stages", tmp_path, "--stage_to_num_ranks_map", "0:2,1:2") == 2
    assert "stage1.py: edited, or not written" in capsys.readouterr().err and package(tmp_path) == before
    assert run("two_stages", tmp_path, "--force") == 0 and "# mine" not in stage.read_text()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "net.py").write_text("mine")
    assert run("two_stages", tmp_path / "other") == 2


@pytest.mark.parametrize("map", ["0:3", "0:3,1:1,2:1", "0-3,1-1", "0:0,1:1", "", "0:x,1:1"])
def test_maps_of_replicas_are_checked(map: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("two_stages", tmp_path / "out", "--stage_to_num_ranks_map", map) == 2
    assert "--stage_to_num_ranks_map" in capsys.readouterr().err


def test_shared_modules_are_declared_once_and_named_across_stages() -> None:
    nodes = [
        Node("1", "Input0"),
        Node("2", "Embedding(10, 4)", stage=0, about={"module": "embed"}),
        Node("3", "Linear(4, 4)", stage=0, about={"module": "twice"}),
        Node("4", "Linear(4, 4)", stage=0, about={"module": "twice"}),
        Node("5", "Linear(4, 10, bias=False)", stage=1, about={"module": "head", "tied": {"weight": "embed.weight"}}),
        Node("6", "Linear(4, 10, bias=False)", stage=1, about={"tied": {"weight": "embed.weight"}}),
    ]
    files = written(Graph(nodes, [(str(at), str(at + 1)) for at in range(1, 6)]))
    assert files["stage0.py"].count("Linear(") == 1 and "out4 = self.layer3(out3)" in files["stage0.py"]
    assert "self.layer6.weight = self.layer5.weight" in files["stage1.py"]
    assert "self.stage1.layer5.weight = self.stage0.layer2.weight" in files["net.py"]
    assert "((0, 'layer2.weight'), (1, 'layer5.weight'), (1, 'layer6.weight'))" in files["weights.py"]
    assert "(1, 'layer5', '5', 'head')" in files["weights.py"]


def test_the_order_of_lines_does_not_show() -> None:
    graph = Graph.read(GOLD / "gnmt_10_stages.txt")
    turned = Graph(reversed(graph.nodes), graph.edges)
    assert written(graph) == written(turned)


def test_written_files_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("two_stages", tmp_path, "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    schemas.valid(reported, "pipeline-convert")
    assert {*reported["files"]} == {path.name for path in tmp_path.iterdir()} - {".pipeline-convert.json"}
    assert reported["verified"] is None
