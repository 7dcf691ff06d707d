"""Graphs of models: text, JSON, Python, each from the others."""

import json
import random
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import fastdispatch
from fastdispatch import cli
from fastdispatch.page.pipeline_bars import picture
from fastdispatch.pipeline import Graph, Node
from tests import models, schemas

ROOT = Path(__file__).parents[3]


def random_graph(seed: int) -> Graph:
    draw = random.Random(seed)
    count = draw.randrange(1, 30)
    names = ["ReLU(inplace)", 'odd "name"', "a -- b", "Ä\u2028", "LSTM(2, 3, mode='x')"]
    nodes = [
        Node(
            f"node{place}",
            draw.choice(names),
            draw.random() * 10,
            draw.choice([0, 1.5, 1e-9, 1e20]),
            tuple(float(draw.randrange(1 << 40)) for _ in range(draw.randrange(1, 4))),
            float(draw.randrange(1 << 50)),
            stage=draw.choice([None, 0, 7]),
        )
        for place in draw.sample(range(count), count)
    ]
    edges = [sorted(draw.sample(range(count), 2)) for _ in range(2 * count) if count > 1]
    return Graph(nodes, [(f"node{first}", f"node{second}") for first, second in edges])


@pytest.mark.parametrize("seed", range(20))
def test_text_and_json_agree(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed)
    schemas.valid(json.loads(graph.to_json()), "pipeline-graph")
    for name in ("graph.txt", "graph.json"):
        graph.write(tmp_path / name)
        back = Graph.read(tmp_path / name)
        assert back.nodes == graph.nodes
        assert back.edges == graph.edges
        assert back.to_text() == graph.to_text()
        assert back.to_json() == graph.to_json()


def test_members_of_json_only() -> None:
    node = Node("a", "Two\nlines", saved_bytes=8.0, forward_spread_ms=0.25, about={"dtype": {"weight": "bfloat16"}})
    graph = Graph([node], about={"steps": 5})
    schemas.valid(json.loads(graph.to_json()), "pipeline-graph")
    back = Graph.parse(graph.to_json())
    assert back.nodes == [node]
    assert back.about == {"steps": 5}
    assert Graph.parse(graph.to_text()).nodes == [Node("a", "Twolines", output_bytes=(0.0,))]


def test_neighbours_and_stages() -> None:
    graph = Graph(map(lambda id: Node(id, "x"), "cab"), [("b", "c"), ("a", "c"), ("a", "b"), ("b", "c")])
    assert graph.inputs("c") == ["b", "a", "b"]
    assert graph.outputs("a") == ["c", "b"]
    assert graph["a"].stage is None
    staged = graph.with_stages({"a": 0, "c": 1})
    assert [node.stage for node in staged.nodes] == [1, 0, None]
    assert staged.edges == graph.edges


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([Node("a", "x"), Node("a", "y")], [], "graph: nodes[1]: node 'a': duplicate id"),
        ([Node("a", "x")], [("a", "z")], "graph: edges[0]: an edge of an unknown node: 'z'"),
        ([Node("a", "x")], [("a", "a")], "graph: a cycle: a needs a"),
        ([Node("a", "x", forward_ms=-1)], [], "graph: nodes[0].forward_ms: a non-negative number"),
        ([Node("a", "x", forward_ms=float("nan"))], [], "Out of range float values are not JSON compliant"),
        ([Node("a", "\ud800")], [], "graph: nodes[0]: a text is not UTF-8"),
    ],
)
def test_invalid_graphs(nodes: list[Node], edges: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(fastdispatch.Error) as error:
        Graph(nodes, edges)
    assert message in str(error.value)


def test_branches_become_one_node() -> None:
    graph = models.residual(2)
    small = graph.compressed()
    # A branch of five and a shortcut of two in each of two blocks.
    assert len(graph) - len(small) == len(graph.edges) - len(small.edges) == 2 * (4 + 1)
    assert [node.name for node in small.nodes].count("Branch 1") == 1
    assert small.totals()["forward_ms"] == pytest.approx(graph.totals()["forward_ms"])
    assert small.totals()["parameter_bytes"] == graph.totals()["parameter_bytes"]
    assert len(models.chain(9).compressed()) == 9


@pytest.mark.parametrize(("name", "left"), [("vgg16", 41), ("resnet18", 71 - 8 * 4 - 3), ("gnmt", None)])
def test_shapes_of_known_models(name: str, left: int | None) -> None:
    graph = Graph.read(ROOT / "tests" / "gold" / "pipeline" / f"{name}.txt")
    assert graph.is_series_parallel() == (name != "gnmt")
    if left is not None:
        assert len(graph.compressed()) == left


def test_series_parallel_graphs() -> None:
    assert models.branchy(3, (1, 4, 2)).is_series_parallel()
    assert Graph([Node("a", "x")]).is_series_parallel()
    nodes = [Node(id, "x") for id in "abcd"]
    crossed = [("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d")]
    assert not Graph(nodes, crossed).is_series_parallel()
    assert Graph(nodes, crossed[:2] + crossed[3:]).is_series_parallel()


def test_the_same_graph_under_other_ids() -> None:
    graph = models.translation(3)
    draw = random.Random(0)
    other = {node.id: f"x{index}" for index, node in enumerate(draw.sample(graph.nodes, len(graph)))}
    nodes = [Node(other[node.id], node.name) for node in graph.nodes]
    edges = [(other[first], other[second]) for first, second in graph.edges]
    draw.shuffle(nodes)
    assert graph.is_same(Graph(nodes, draw.sample(edges, len(edges))))
    moved = [*edges[1:], (edges[0][0], edges[-1][1])]
    assert not graph.is_same(Graph(nodes, moved))
    assert not graph.is_same(models.translation(2))


def test_order_and_predecessors() -> None:
    graph = models.scattered(40, 3)
    place = {node.id: at for at, node in enumerate(graph.order())}
    assert len(place) == 40
    assert all(place[first] < place[second] for first, second in graph.edges)
    diamond = Graph([Node(id, "x") for id in "abcd"], [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    assert diamond.before("d") == {"a", "b", "c"} and diamond.behind("b") == {"d"} and diamond.before("a") == set()


def test_ends_ways_and_parts() -> None:
    nodes = [Node(id, "x", 1.0, stage=stage) for id, stage in zip("abcdef", (0, 0, 1, 1, None, 0), strict=True)]
    graph = Graph(nodes, [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("f", "d"), ("a", "b")], {"steps": 5})
    assert [node.id for node in graph.sources()] == ["a", "e", "f"]
    assert [node.id for node in graph.sinks()] == ["d", "e"]
    assert graph.depths() == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 0, "f": 0}
    assert graph.heights() == {"a": 3, "b": 2, "c": 1, "d": 0, "e": 0, "f": 1}
    parts = graph.parts()
    assert [*parts] == [None, 0, 1]
    assert [node.id for node in parts[0].nodes] == ["a", "b", "f"] and parts[0].edges == [("a", "b"), ("a", "b")]
    assert parts[1].edges == [("c", "d")] and parts[None].edges == [] and parts[1].about == {"steps": 5}
    assert sum(part.totals()["forward_ms"] for part in parts.values()) == graph.totals()["forward_ms"] == 6


def test_antichains() -> None:
    edges = [("0", id) for id in "124"] + [(id, "3") for id in "124"]
    graph = Graph([Node(id, "x") for id in "01234"], edges)
    assert graph.before("3") == {"0", "1", "2", "4"}
    assert graph.augmented(["2"]) == {"0", "2"} and graph.augmented(["3"]) == {"3"}
    assert graph.latest(["1", "3"]) == {"3"}
    assert sorted(map(sorted, graph.next_antichains(["2"]))) == [["1", "2"], ["2", "4"], ["3"]]
    assert len(graph.antichains()) == 9
    assert graph.antichains()[frozenset("3")] == []


def test_nodes_and_edges_are_taken_out() -> None:
    graph = Graph([Node(id, "ReLU()") for id in "abcd"], [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    without = graph.without(ids=["b"], edges=[("c", "d")])
    assert [node.id for node in without.nodes] == ["a", "c", "d"]
    assert without.edges == [("a", "c")]
    assert len(graph.edges) == 4
    for gone in ({"ids": ["x"]}, {"edges": [("d", "a")]}):
        with pytest.raises(KeyError):
            graph.without(**gone)


def bars(graph: Graph) -> tuple[list[str], list[str], list[float]]:
    """Titles of bars, headings, and how high the lines of sums end, of a picture."""
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(picture(graph))
    ends = [float(line.attrib["points"].split(",")[-1]) for line in root.iter(f"{svg}polyline")]
    titles = [str(title.text) for group in root.iter(f"{svg}g") for title in group.iter(f"{svg}title")]
    return titles, [str(text.text) for text in root.iter(f"{svg}text") if "class" not in text.attrib], ends


def test_bars_of_layer_costs() -> None:
    layers = [Node("a", "<Linear>", 1.0, 3.0, [64], 80), Node("b", "ReLU()", 1.0, 0.0), Node("c", "Free()")]
    titles, headings, ends = bars(Graph(layers, [("a", "b")]))
    assert titles == [
        "a: <Linear>: forward 1 ms, backward 3 ms",
        "b: ReLU(): forward 1 ms, backward 0 ns",
        "a: <Linear>: 64 B",
        "a: <Linear>: 80 B",
    ]
    assert headings[0] == "time (forward below, backward above): 5 ms, 80 % of it in 1 of 3 bars"
    assert len(ends) == 3  # all sums end at the top of their panel
    assert [round(after - before) for before, after in pairwise(ends)] == [184, 184]


def test_more_layers_than_pixels_share_bars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph([Node(f"node{index}", "ReLU()", 1.0) for index in range(3000)], [])
    titles, headings, _ = bars(graph)
    assert len(titles) == 1000
    assert titles[0] == "node0 to node2: ReLU(): forward 3 ms, backward 0 ns"
    assert headings[1:] == ["output: none", "parameters: none"]
    graph.write(tmp_path / "graph.txt")
    assert cli.main(["pipeline", "profile", str(tmp_path / "graph.txt"), "--svg", str(tmp_path / "bars.svg")]) == 0
    assert (tmp_path / "bars.svg").read_text() == picture(graph)
    assert "3000 layers and operations, 0 edges\nforward 3000.000 ms" in capsys.readouterr().out
