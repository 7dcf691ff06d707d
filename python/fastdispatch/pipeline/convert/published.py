"""The package as the published converter writes it for graphs like GNMT's, byte for byte.

The description of a node is matched by prefix; inputs are cloned and take the first numbers; each node in topological
order takes one more, whether it needs it or not; an addition writes into the variable of an operand.
"""

import re
from collections.abc import Iterator, Sequence

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.layer_graph import LayerGraph
from fastdispatch.pipeline.convert.stage_plans import Written, configuration_text, configurations
from fastdispatch.pipeline.convert.templates import ModuleText, init
from fastdispatch.pipeline.graph import Node

#: Classes outside torch.nn: a pattern of their arguments, and their module.
_SPECIAL = {
    "EmuBidirLSTM": (r"LSTM\((\d+), (\d+)\)", "seq2seq.models.encoder"),
    "RecurrentAttention": (r"LSTM\((\d+), (\d+)\).*in_features=(\d+), out_features", "seq2seq.models.decoder"),
    "Classifier": (r"in_features=(\d+), out_features=(\d+)", "seq2seq.models.decoder"),
}
_OPERATIONS = ("hidden", "__getitem__", "Add", "Concat", "Input")
_OTHERS = ("Mul", "Size", "View", "Transpose", "self.get_seq_lens")


def write(graph: LayerGraph, name: str, arch: str, replicas: Sequence[int] | None) -> Written:
    """The package of a graph with at least two stages."""
    if "/" in arch or "\0" in arch:
        raise Error(f"-a {arch}: not a file name: remove the /")
    graph = graph.without_dead_items()
    for node in graph.nodes.values():
        if node.name.startswith(_OTHERS):
            raise Error(f"{node}: not written by --compat: leave it out")
    # The published order is that of a set: for small numbers the ascending one.
    stages = list({node.stage for node in graph.nodes.values()})
    if len(stages) < 2:
        raise Error("--compat: the graph has one stage, at least two are needed")
    if replicas is not None and len(replicas) != len(stages):
        raise Error(f"--stage_to_num_ranks_map has {len(replicas)} stages, the graph has {len(stages)}")
    written = Written()
    parts = [_part(graph, stage) for stage in stages]
    for index, part in enumerate(parts):
        written.files[f"stage{index}.py"] = str(_Writer(part, graph).text(f"Stage{index}"))
        written.lines.append(f"Done generating stage{index}.py...")
    rows, loss = _fuse(graph, parts, name, arch, written)
    written.files["__init__.py"] = init(arch, name, len(parts), rows, loss)
    for file, content in configurations(len(parts), replicas).items():
        written.files[file] = configuration_text(content)
    return written


def _part(graph: LayerGraph, stage: int | None) -> LayerGraph:
    """The nodes of a stage with its inner edges, in the order in which the published converter meets them."""
    part = LayerGraph()
    for id, node in graph.nodes.items():
        if node.stage != stage:
            continue
        inner = [graph.nodes[target] for target in graph.targets_of[id] if graph.nodes[target].stage == stage]
        for each in (node, *inner):
            if each.id not in part.nodes:
                part.add(each)
        for target in inner:
            part.connect(id, target.id)
    return part


def _order(graph: LayerGraph) -> list[Node]:
    """Depth first by description."""

    def targets(node: Node) -> Iterator[Node]:
        return iter(sorted((graph.nodes[id] for id in graph.targets_of[node.id]), key=lambda node: node.name))

    done: set[str] = set()
    reverse: list[Node] = []
    for root in sorted(graph.nodes.values(), key=lambda node: node.name):
        path = [] if root.id in done else [(root, targets(root))]
        done.add(root.id)
        while path:
            target = next((each for each in path[-1][1] if each.id not in done), None)
            if target is None:
                reverse.append(path.pop()[0])
            else:
                done.add(target.id)
                path.append((target, targets(target)))
    return reverse[::-1]


def _input_names(part: LayerGraph, graph: LayerGraph, *, whole: bool = False) -> dict[str, str]:
    """What a stage reads from other stages, or as an input of the model. The number grows at repeats too."""
    names: dict[str, str] = {}
    counter = 0
    for id, node in part.nodes.items():
        sources = [graph.nodes[source] for source in graph.sources_of[id]]
        if not sources:
            found = [id] if node.name.startswith("Input") else []
        elif whole:
            found = []
        else:
            found = [each.id for each in sources if each.stage != node.stage and not each.name.startswith("hidden")]
        for source in found:
            names[source] = f"input{counter}"
            counter += 1
    return names


def _output_names(part: LayerGraph, graph: LayerGraph, counter: int) -> tuple[dict[str, str], int]:
    """Values that other stages read, and values that no node reads."""
    names: dict[str, str] = {}
    for id, node in part.nodes.items():
        targets = [graph.nodes[target] for target in graph.targets_of[id]]
        hidden = node.name.startswith("hidden")
        for _ in [each for each in targets if each.stage != node.stage and not hidden] if targets else [None]:
            names[id] = f"out{counter}"
            counter += 1
    return names, counter


def _by_id(names: dict[str, str]) -> list[str]:
    """Sorted by the id as a text: node10 before node9."""
    return [names[id] for id in sorted(names)]


def as_tuple(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


class _Writer:
    """The class of one stage."""

    def __init__(self, part: LayerGraph, graph: LayerGraph) -> None:
        self.part = part
        self.graph = graph
        self.inputs = _input_names(part, graph)
        self.names: dict[str, str] = {id: f"out{at}" for at, id in enumerate(self.inputs)}
        self.statements = [f"out{at} = {name}.clone()" for at, name in enumerate(self.inputs.values())]
        self.declarations: list[str] = []
        self.imports: set[str] = set()

    def text(self, name: str) -> ModuleText:
        for counter, node in enumerate(_order(self.part), len(self.inputs)):
            self._node(node, f"out{counter}", f"self.layer{counter}")
        made = _output_names(self.part, self.graph, 0)[0]
        self.statements.append(f"return {as_tuple(_by_id({id: self._value(id) for id in made}))}")
        return ModuleText(name, _by_id(self.inputs), self.declarations, self.statements, sorted(self.imports))

    def _node(self, node: Node, output: str, layer: str) -> None:
        self.names.setdefault(node.id, output)
        sources = self.graph.sources_of[node.id]
        if node.name.startswith(("hidden", "Input")):
            return
        if not node.name.startswith(_OPERATIONS):
            self.declarations.append(f"{layer} = {self._declaration(node)}")
        if node.name.startswith("Add"):
            self.statements.append(self._add(node, sources))
            return
        if node.name.startswith("__getitem__") and "hidden" in self.graph.nodes[sources[0]].name:
            self.statements.append(f"{output} = None")
            return
        values = ", ".join(self._value(source) for source in sources)
        if node.name.startswith("__getitem__"):
            self.statements.append(f"{output} = {values}[{_number(node)}]")
        elif node.name.startswith("Concat"):
            self.statements.append(f"{output} = torch.cat([{values}], {_number(node)})")
        else:
            self.statements.append(f"{output} = {layer}({values})")

    def _declaration(self, node: Node) -> str:
        for name, (pattern, module) in _SPECIAL.items():
            if node.name.startswith(name):
                found = re.search(pattern, node.name)
                if found is None:
                    raise Error(f"{node}: its description is an unknown form of {name}")
                self.imports.add(f"from {module} import {name}")
                return f"{name}({', '.join(found.groups())})"
        return f"torch.nn.{re.sub('inplace(?!=)', 'inplace=True', node.name)}"

    def _add(self, node: Node, sources: list[str]) -> str:
        if len(sources) != 2:
            raise Error(f"{node}: it has {len(sources)} operands, not 2")
        first, second = sources
        if len(self.graph.targets_of[first]) > 1:
            first, second = second, first
        left = self._value(first)
        self.names[node.id] = left
        return f"{left} = {left} + {self._value(second)}"

    def _value(self, id: str) -> str:
        if id not in self.names:
            raise Error(f"{self.graph.nodes[id]}: has no value in a stage that reads it")
        return self.names[id]


def _number(node: Node) -> int:
    found = re.search(r"\((-?\d+)\)", node.name)
    if found is None:
        raise Error(f"{node}: it has no number")
    return int(found.group(1))


def _fuse(graph: LayerGraph, parts: list[LayerGraph], name: str, arch: str, written: Written) -> tuple[list[str], str]:
    """Write the class that chains all stages; return the rows of ``model()``, and the output that has a loss."""
    given = _input_names(graph, graph, whole=True)
    names = dict(given)
    rows: list[str] = []
    statements: list[str] = []
    counter = 0
    last = [""]
    for index, part in enumerate(parts):
        reads = [*_input_names(part, graph)]
        for id in reads:
            if id not in names:
                raise Error(f"{graph.nodes[id]}: stage {index} reads its value, which no earlier stage computes")
        made, counter = _output_names(part, graph, counter)
        if not made:
            raise Error(f"stage {index}: it has no outputs")
        inputs = _by_id({id: names[id] for id in reads})
        names.update(made)
        last = _by_id(made)
        statements.append(f"{as_tuple(last)} = self.stage{index}({', '.join(inputs)})")
        rows.append(f"(Stage{index}(), [{_quoted(inputs)}], [{_quoted(last)}])")
    stages = range(len(parts))
    declarations = [f"self.stage{i} = Stage{i}()" for i in stages]
    imports = [f"from .stage{i} import Stage{i}" for i in stages]
    statements.append(f"return {as_tuple(last)}")
    written.files[f"{arch}.py"] = str(ModuleText(name, _by_id(given), declarations, statements, imports))
    written.lines.append("Done with sub-graph fusion...")
    return rows, last[0]
