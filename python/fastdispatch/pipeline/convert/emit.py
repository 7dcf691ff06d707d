"""Python of one stage, and of the class that chains all stages."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.layer_graph import Names
from fastdispatch.pipeline.convert.published import as_tuple
from fastdispatch.pipeline.convert.stage_plans import PackagePlan, StagePlan
from fastdispatch.pipeline.convert.ties import Ties

_INDENT = "\n        "

_SEQ_LENS = """def get_seq_lens(self, input_length):
        seq_len = input_length
        for m in self.{layer}.modules():
            if type(m) == torch.nn.modules.conv.Conv2d:
                seq_len = ((seq_len + 2 * m.padding[1] - m.dilation[1] * (m.kernel_size[1] - 1) - 1) / m.stride[1] + 1)
        return seq_len.int()"""


@dataclass
class Emitted:
    """A class as the fields of its template."""

    fields: dict[str, str]
    #: Layers by node.
    layers: dict[str, str]


def emit_stage(plan: PackagePlan, stage: StagePlan, name: str, ties: Ties) -> Emitted:
    """Return the class of a stage, with one variable per node."""
    names = plan.names
    inputs = {id: f"input{number}" for number, id in enumerate(stage.reads)}
    declarations: list[str] = []
    layers: dict[str, str] = {}
    imports: set[str] = set()
    statements: list[str] = []
    nothing = plan.nothing

    def value(id: str) -> str:
        return "None" if id in nothing else inputs.get(id) or names.value(id)

    for node in stage.nodes:
        operator = plan.operators[node.id]
        if operator.kind == "none":
            continue
        layer = ties.layer(stage.index, node.id) or names.layer(node.id)
        if operator.declare is not None:
            layers[node.id] = layer
            imports |= operator.imports
            if layer == names.layer(node.id):
                registered = f'self.register_buffer("{layer}", {operator.declare})'
                declarations.append(registered if operator.buffer else f"self.{layer} = {operator.declare}")
        sources = [value(source) for source in plan.graph.sources_of[node.id]]
        for index in range(len(sources)):
            if (node.id, index) in stage.copies:
                sources[index] = f"{sources[index]}.clone()"
        statements.append(f"{value(node.id)} = {operator.text(sources, f'self.{layer}')}")
    declarations += ties.statements(stage.index)
    statements.append(f"return {as_tuple([value(id) for id in stage.gives])}")
    fields = {
        "layer_declarations": _INDENT.join(declarations) or "pass",
        "function_definition": _INDENT.join(statements),
        "module_name": name,
        "inputs": ", ".join(inputs.values()),
        "import_statements": "\n".join(sorted(imports)),
        "module_methods": _methods(stage, layers),
    }
    return Emitted(fields, layers)


def _methods(stage: StagePlan, layers: dict[str, str]) -> str:
    """What a stage needs beside ``forward``."""
    callers = [node for node in stage.nodes if node.desc == "self.get_seq_lens"]
    if not callers:
        return ""
    masks = [layers[node.id] for node in stage.nodes if node.desc.startswith("MaskConv")]
    if not masks:
        raise Error(f"{callers[0]}: cannot be converted: its MaskConv is in another stage than {stage.index}")
    return _SEQ_LENS.format(layer=masks[0])


def emit_whole(plan: PackagePlan, name: str, ties: Ties) -> dict[str, str]:
    """Write the class that chains all stages and returns all outputs of the graph."""
    names = plan.names
    stages = range(len(plan.stages))
    statements = []
    for stage in plan.stages:
        call = f"self.stage{stage.index}({', '.join(wires(names, stage.reads, stage.index))})"
        given = [names.value(id) for id in stage.gives]
        statements.append(f"{as_tuple(given)} = {call}" if given else call)
    statements.append(f"return {as_tuple([names.value(id) for id in plan.outputs])}")
    declarations = [f"self.stage{index} = Stage{index}()" for index in stages]
    return {
        "layer_declarations": _INDENT.join([*declarations, *ties.across()]),
        "function_definition": _INDENT.join(statements),
        "module_name": name,
        "inputs": ", ".join(names.wire(id) for id in plan.inputs),
        "import_statements": "\n".join(f"from .stage{index} import Stage{index}" for index in stages),
        "module_methods": "",
    }


def wires(names: Names, reads: Sequence[str], stage: int) -> list[str]:
    """What a stage reads: the first stage the inputs of the model, later ones what earlier ones gave."""
    return [names.wire(id) if stage == 0 else names.value(id) for id in reads]
