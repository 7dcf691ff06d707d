"""Python of one stage, and of the class that chains all stages."""

from collections.abc import Sequence

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.layer_graph import Names
from fastdispatch.pipeline.convert.published import as_tuple
from fastdispatch.pipeline.convert.stage_plans import PackagePlan, StagePlan
from fastdispatch.pipeline.convert.templates import ModuleText
from fastdispatch.pipeline.convert.ties import Ties


def emit_stage(plan: PackagePlan, stage: StagePlan, name: str, ties: Ties) -> tuple[ModuleText, dict[str, str]]:
    """Return the class of a stage, with one variable per node, and its layers by node."""
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
    mask = _mask(stage, layers)
    return ModuleText(name, [*inputs.values()], declarations or ["pass"], statements, sorted(imports), mask), layers


def _mask(stage: StagePlan, layers: dict[str, str]) -> str:
    """The layer whose convolutions change the lengths of sequences, if the stage computes them."""
    callers = [node for node in stage.nodes if node.name == "self.get_seq_lens"]
    if not callers:
        return ""
    masks = [layers[node.id] for node in stage.nodes if node.name.startswith("MaskConv")]
    if not masks:
        raise Error(f"{callers[0]}: cannot be converted: its MaskConv is in another stage than {stage.index}")
    return masks[0]


def emit_whole(plan: PackagePlan, name: str, ties: Ties) -> ModuleText:
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
    inputs = [names.wire(id) for id in plan.inputs]
    imports = [f"from .stage{index} import Stage{index}" for index in stages]
    return ModuleText(name, inputs, [*declarations, *ties.across()], statements, imports)


def wires(names: Names, reads: Sequence[str], stage: int) -> list[str]:
    """What a stage reads: the first stage the inputs of the model, later ones what earlier ones gave."""
    return [names.wire(id) if stage == 0 else names.value(id) for id in reads]
