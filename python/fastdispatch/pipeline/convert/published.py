"""The published converter's rules for one stage, faults included, and where they break the package.

Rules: the description of a node is matched by prefix; inputs are cloned and take the first numbers; each node in
topological order takes one more, whether it needs it or not; an addition writes into the variable of an operand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.constructors import CONSTRUCTORS
from fastdispatch.pipeline.convert.layer_graph import LayerGraph, LayerNode
from fastdispatch.pipeline.convert.published_classes import SPECIAL

_UNDECLARED = (
    *("hidden", "__getitem__", "Add", "Mul", "Concat", "Input", "Size", "View", "Transpose"),
    "self.get_seq_lens",
)

_INDENT = "\n        "

#: Architectures, by their exact names, whose weights the package initializes.
INITIALIZED = ("vgg16", "resnet50")

_INITIALIZE = """def _initialize_weights(self):
        for m in self.modules():
            if isinstance(m, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
                if m.bias is not None:
                    torch.nn.init.constant_(m.bias, 0)
            elif isinstance(m, torch.nn.BatchNorm2d):
                torch.nn.init.constant_(m.weight, 1)
                torch.nn.init.constant_(m.bias, 0)
            elif isinstance(m, torch.nn.Linear):
                torch.nn.init.normal_(m.weight, 0, 0.01)
                torch.nn.init.constant_(m.bias, 0)"""

_SEQ_LENS = """def get_seq_lens(self, input_length):
        seq_len = input_length
        for m in %s.modules():
            if type(m) == torch.nn.modules.conv.Conv2d:
                seq_len = ((seq_len + 2 * m.padding[1] - m.dilation[1] * (m.kernel_size[1] - 1) - 1) / m.stride[1] + 1)
        return seq_len.int()"""


class Stop(Error):
    """Where the published converter ends with a traceback."""

    def __init__(self, node: LayerNode, reason: str):
        super().__init__(f"{node}: the published converter ends here: {reason} (without --compat it may be converted)")


@dataclass
class PublishedStage:
    """One class: what fills its template, and what is known to break it."""

    inputs: list[str]
    outputs: list[str]
    fields: dict[str, str]
    warnings: list[str]
    #: LayerNode -> name of its layer.
    layers: dict[str, str]


def parts(graph: LayerGraph) -> list[LayerGraph]:
    """One graph a stage, with its inner edges; nodes in the order in which the published converter meets them."""
    # The published order is that of a set too: for small numbers the ascending one.
    stages = list({node.stage for node in graph.nodes.values()})
    if len(stages) == 1:
        return [_connected(graph)]
    return [_part(graph, stage) for stage in stages]


def _connected(graph: LayerGraph) -> LayerGraph:
    """Nodes with edges, in the order of the targets of those edges."""
    part = LayerGraph()
    for target in graph.in_order_of_edges:
        for source in graph.sources_of[target]:
            _join(part, graph.nodes[source], graph.nodes[target])
    return part


def _part(graph: LayerGraph, stage: int | None) -> LayerGraph:
    part = LayerGraph()
    for id, node in graph.nodes.items():
        if node.stage == stage:
            if id not in part.nodes:
                part.add(node)
            for target in graph.targets_of[id]:
                if graph.nodes[target].stage == stage:
                    _join(part, node, graph.nodes[target])
    return part


def _join(part: LayerGraph, source: LayerNode, target: LayerNode) -> None:
    for node in (source, target):
        if node.id not in part.nodes:
            part.add(node)
    part.connect(source.id, target.id)


def order(graph: LayerGraph) -> list[LayerNode]:
    """Depth first by description, as published, but without recursion."""
    done: set[str] = set()
    reverse: list[LayerNode] = []
    for root in sorted(graph.nodes.values(), key=_desc):
        if root.id in done:
            continue
        done.add(root.id)
        path = [(root, _targets(graph, root))]
        while path:
            node, targets = path[-1]
            target = next((each for each in targets if each.id not in done), None)
            if target is None:
                reverse.append(node)
                path.pop()
            else:
                done.add(target.id)
                path.append((target, _targets(graph, target)))
    return reverse[::-1]


def _desc(node: LayerNode) -> str:
    return node.desc


def _targets(graph: LayerGraph, node: LayerNode) -> Iterator[LayerNode]:
    return iter(sorted((graph.nodes[id] for id in graph.targets_of[node.id]), key=_desc))


def input_names(part: LayerGraph, graph: LayerGraph, *, whole: bool = False) -> dict[str, str]:
    """What a stage reads from other stages, or as an input of the model. The number grows at repeats too."""
    names: dict[str, str] = {}
    counter = 0
    for id, node in part.nodes.items():
        sources = [graph.nodes[source] for source in graph.sources_of[id]]
        if not sources:
            found = [id] if node.desc.startswith("Input") else []
        elif whole:
            found = []
        else:
            found = [each.id for each in sources if each.stage != node.stage and not each.desc.startswith("hidden")]
        for source in found:
            names[source] = f"input{counter}"
            counter += 1
    return names


def output_names(part: LayerGraph, graph: LayerGraph, counter: int) -> tuple[dict[str, str], int]:
    """Values that other stages read, and values that no node reads."""
    names: dict[str, str] = {}
    for id, node in part.nodes.items():
        targets = [graph.nodes[target] for target in graph.targets_of[id]]
        hidden = node.desc.startswith("hidden")
        for _ in [each for each in targets if each.stage != node.stage and not hidden] if targets else [None]:
            names[id] = f"out{counter}"
            counter += 1
    return names, counter


def by_id(names: dict[str, str]) -> list[str]:
    """Sorted by the id as a text: node10 before node9."""
    return [names[id] for id in sorted(names)]


def as_tuple(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def stage(part: LayerGraph, graph: LayerGraph, name: str, *, initialize: bool) -> PublishedStage:
    """The class of one stage."""
    return _Writer(part, graph).write(name, initialize=initialize)


@dataclass
class _Writer:
    part: LayerGraph
    graph: LayerGraph
    names: dict[str, str] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    declarations: list[tuple[LayerNode, str]] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: The node whose value a variable has.
    contents: dict[str, str] = field(default_factory=dict)
    #: The Size node that a View without one takes, as a variable of Python's that outlives its loop.
    last_size: str | None = None

    def write(self, name: str, *, initialize: bool) -> PublishedStage:
        given = input_names(self.part, self.graph)
        for counter, (id, input) in enumerate(given.items()):
            self.names[id] = f"out{counter}"
            self.contents[f"out{counter}"] = id
            self.statements.append(f"out{counter} = {input}.clone()")
            self._check_clone(self.graph.nodes[id], name)
        for counter, node in enumerate(order(self.part), len(given)):
            self._node(node, f"out{counter}", f"self.layer{counter}")
        made = output_names(self.part, self.graph, 0)[0]
        outputs = by_id({id: self._read(id, None) for id in made})
        self.statements.append(f"return {as_tuple(outputs)}")
        declarations = _INDENT.join(text for _, text in self.declarations)
        if initialize:
            declarations += f"{_INDENT}self._initialize_weights()"
            self.methods.append(_INITIALIZE)
        fields = {
            "layer_declarations": declarations,
            "function_definition": _INDENT.join(self.statements),
            "module_name": name,
            "inputs": ", ".join(by_id(given)),
            "import_statements": "\n".join(sorted(set(self.imports))),
            "module_methods": "\n\n".join(self.methods),
        }
        layers = {node.id: text.split(" = ")[0].removeprefix("self.") for node, text in self.declarations}
        return PublishedStage(by_id(given), outputs, fields, self.warnings, layers)

    def _node(self, node: LayerNode, output: str, layer: str) -> None:
        declaration = f"torch.nn.{node.desc.replace('inplace', 'inplace=True')}"
        self.names.setdefault(node.id, output)
        special = next((prefix for prefix in SPECIAL if node.desc.startswith(prefix)), None)
        if special is not None:
            try:
                declare, origin = SPECIAL[special]
                declaration = declare(node.desc)
            except IndexError:
                raise Stop(node, f"its description is an unknown form of {special}") from None
            self.imports.append(f"from {origin} import {special}")
            if special == "MaskConv":
                self.methods.append(_SEQ_LENS % layer)
        if not node.desc.startswith(_UNDECLARED):
            self.declarations.append((node, f"{layer} = {declaration}"))
            if special is None:
                self._check_declaration(node, declaration)
        sources = self.graph.sources_of[node.id]
        if not sources and node.desc.startswith("Input"):
            return
        call = self._call(node, output, layer, sources)
        if call is not None:
            self.statements.append(call)

    def _call(self, node: LayerNode, output: str, layer: str, sources: list[str]) -> str | None:
        desc = node.desc
        for prefix, rule in _RULES.items():
            if desc.startswith(prefix):
                return rule(self, node, output, sources)
        if desc.startswith("hidden"):
            return None
        if desc == "self.get_seq_lens":
            layer, sources = desc, self._only(node, sources)
        self.contents[output] = node.id
        return f"{output} = {layer}({', '.join(self._read(source, node) for source in sources)})"

    def _size(self, node: LayerNode, output: str, sources: list[str]) -> str:
        (source,) = self._only(node, sources)
        self.contents[output] = node.id
        return f"{output} = {self._read(source, node)}.size({self._number(node, 'Size')})"

    def _view(self, node: LayerNode, output: str, sources: list[str]) -> str:
        sizes = [source for source in sources if self.graph.nodes[source].desc.startswith("Size")]
        data = [source for source in sources if source not in sizes]
        if sizes:
            self.last_size = sizes[-1]
        if not data:
            raise Stop(node, "it has no input")
        found = re.search(r"View\((-?\d+)\)", node.desc)
        if found is None:
            shape = ", ".join(self._read(size, node) for size in sizes)
            if re.search(r"\d", node.desc) or not sizes:
                self.warnings.append(f"{node}: its shape is written as ({shape}), not as described")
        elif self.last_size is None:
            raise Stop(node, "it needs a Size before it")
        else:
            if not sizes:
                self.warnings.append(f"{node}: takes the size of another node, {self.last_size}")
            shape = f"{self._read(self.last_size, node)}, {int(found.group(1))}"
        self.contents[output] = node.id
        return f"{output} = {self._read(data[-1], node)}.view({shape})"

    def _item(self, node: LayerNode, output: str, sources: list[str]) -> str:
        (source,) = self._only(node, sources)
        index = self._number(node, "__getitem__")
        self.contents[output] = node.id
        if "hidden" in self.graph.nodes[source].desc:
            return f"{output} = None"
        return f"{output} = {self._read(source, node)}[{index}]"

    def _add(self, node: LayerNode, output: str, sources: list[str]) -> str:
        return self._binary(node, sources, "+")

    def _multiply(self, node: LayerNode, output: str, sources: list[str]) -> str:
        return self._binary(node, sources, "*")

    def _binary(self, node: LayerNode, sources: list[str], sign: str) -> str:
        if len(sources) != 2:
            raise Stop(node, f"it has {len(sources)} operands, not 2")
        first, second = sources
        if len(self.graph.targets_of[first]) > 1:
            first, second = second, first
        left, right = self._read(first, node), self._read(second, node)
        self.names[node.id] = left
        self.contents[left] = node.id
        return f"{left} = {left} {sign} {right}"

    def _concat(self, node: LayerNode, output: str, sources: list[str]) -> str:
        values = ", ".join(self._read(source, node) for source in sources)
        self.contents[output] = node.id
        return f"{output} = torch.cat([{values}], {self._number(node, 'Concat')})"

    def _transpose(self, node: LayerNode, output: str, sources: list[str]) -> str:
        found = re.search(r"Transpose\((.+)\)", node.desc)
        if found is None:
            raise Stop(node, "it has no dimensions")
        (source,) = self._only(node, sources)
        self.contents[output] = node.id
        return f"{output} = {self._read(source, node)}.transpose({found.group(1)})"

    def _only(self, node: LayerNode, sources: list[str]) -> list[str]:
        if len(sources) != 1:
            raise Stop(node, f"it has {len(sources)} inputs, not 1")
        return sources

    def _number(self, node: LayerNode, name: str) -> int:
        found = re.search(name + r"\((-?\d+)\)", node.desc)
        if found is None:
            raise Stop(node, "it has no number")
        return int(found.group(1))

    def _read(self, id: str, reader: LayerNode | None) -> str:
        """The variable that should hold a node's value."""
        if id not in self.names:
            raise Stop(reader or self.graph.nodes[id], f"{id} has no value in this stage")
        variable = self.names[id]
        owner = self.contents.get(variable)
        who = f"{reader} reads {variable}" if reader else f"{variable} is returned"
        if owner is None and not self.graph.nodes[id].desc.startswith("Input"):
            self.warnings.append(f"{who}, which {self.graph.nodes[id]} never sets")
        elif owner is not None and owner != id:
            self.warnings.append(f"{who} for {id}, which {self.graph.nodes[owner]} has overwritten")
        return variable

    def _check_clone(self, node: LayerNode, name: str) -> None:
        sources = [self.graph.nodes[source] for source in self.graph.sources_of[node.id]]
        if node.desc.startswith("__getitem__") and sources and "hidden" in sources[0].desc:
            self.warnings.append(f"{node}: is None, and {name} calls None.clone()")
        elif any(self.graph.nodes[target].desc.startswith("__getitem__") for target in self.graph.targets_of[node.id]):
            self.warnings.append(f"{node}: is a tuple, and {name} calls its clone()")

    def _check_declaration(self, node: LayerNode, declaration: str) -> None:
        try:
            parsed = ast.parse(declaration, mode="eval")
        except (SyntaxError, ValueError, RecursionError):
            self.warnings.append(f"{node}: its declaration, {_short(declaration)}, is not valid Python")
            return
        names = [each.id for each in ast.walk(parsed) if isinstance(each, ast.Name) and each.id != "torch"]
        name = re.match(r"\w*", node.desc)
        if name is None or name.group() not in CONSTRUCTORS:
            self.warnings.append(f"{node}: torch.nn has no such class")
        elif names:
            self.warnings.append(f"{node}: its declaration, {_short(declaration)}, uses {names[0]} as a name")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


#: By prefix, in the order in which they are tried.
_RULES: dict[str, Callable[[_Writer, LayerNode, str, list[str]], str]] = {
    "Size": _Writer._size,
    "View": _Writer._view,
    "__getitem__": _Writer._item,
    "Add": _Writer._add,
    "Mul": _Writer._multiply,
    "Concat": _Writer._concat,
    "Transpose": _Writer._transpose,
}
