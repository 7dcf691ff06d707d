"""The whole package as the published converter writes it, and what it prints."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from fastdispatch._core import Error
from fastdispatch.pipeline.convert import published
from fastdispatch.pipeline.convert.layer_graph import LayerGraph
from fastdispatch.pipeline.convert.templates import Templates


@dataclass
class Written:
    """Files by name in the order of writing, lines to print, notes, and places."""

    files: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: Node -> (stage, name of its layer), where it has one.
    layers: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    #: What ``model()`` calls the inputs and the outputs of the whole -> node.
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    #: Places of one parameter: (stage, name).
    shared: list[list[tuple[int, str]]] = field(default_factory=list)


def write(graph: LayerGraph, name: str, arch: str, replicas: list[int] | None, templates: Templates) -> Written:
    """The published package of a graph whose nodes have stages."""
    if "/" in arch or "\0" in arch:
        raise Error(f"-a {arch}: not a file name: remove the /")
    if not graph.nodes:
        raise Error("the graph has no nodes")
    graph.ordered()  # reports a cycle with its node
    initialize = arch in published.INITIALIZED
    parts = published.parts(graph.without_dead_items())
    written = Written()
    alone = len(parts) == 1
    _check_replicas(replicas, len(parts))
    stages = []
    for index, part in enumerate(parts):
        file = arch if alone else f"stage{index}"
        made = published.stage(part, graph, name if alone else f"Stage{index}", initialize=initialize)
        written.files[f"{file}.py"] = templates.model.fill(made.fields)
        written.lines.append(f"Done generating {file}.py...")
        written.warnings += made.warnings
        for id, layer in made.layers.items():
            written.layers.setdefault(id, []).append((index, layer))
        stages.append(made)
    imports = [f"from .{arch} import {name}"]
    if alone:
        if len(stages[0].outputs) != 1:
            raise Error(f"the published converter ends here: one stage with {len(stages[0].outputs)} outputs, not 1")
        written.inputs = {
            f"input{index}": id for index, id in enumerate(sorted(published.input_names(parts[0], graph)))
        }
        written.outputs = {"output": next(iter(published.output_names(parts[0], graph, 0)[0]))}
        inputs = ", ".join(f'"{name}"' for name in written.inputs)
        models = [f'({arch}.{name}(), [{inputs}], ["output"])', '(criterion, ["output"], ["loss"])']
    else:
        models = _fuse(graph, parts, name, arch, templates, written)
        imports += [f"from .stage{index} import Stage{index}" for index in range(len(parts))]
    written.files["__init__.py"] = templates.init.fill(
        {
            "arch": arch,
            "import_statements": "\n".join(imports),
            "model": ",\n        ".join(models),
            "full_model": f"{name}()",
        }
    )
    for file, fields in configurations(len(parts), replicas).items():
        written.files[file] = templates.conf.fill(fields)
    return written


def _check_replicas(replicas: list[int] | None, stages: int) -> None:
    if replicas is not None and len(replicas) != stages:
        raise Error(f"--stage_to_num_ranks_map has {len(replicas)} stages, the graph has {stages}")
    if replicas is not None and stages == 1:
        raise Error("--stage_to_num_ranks_map: the published converter rejects it for a graph of one stage")


def _fuse(
    graph: LayerGraph, parts: list[LayerGraph], name: str, arch: str, templates: Templates, written: Written
) -> list[str]:
    """Write the class that chains all stages; return the rows of ``model()``."""
    given = published.input_names(graph, graph, whole=True)
    names = dict(given)
    written.inputs = {name: id for id, name in given.items()}
    rows, statements, counter, last = [], [], 0, [""]
    for index, part in enumerate(parts):
        reads = [*published.input_names(part, graph)]
        for id in reads:
            if id not in names:
                raise published.Stop(graph.nodes[id], f"stage {index} reads a value that no earlier stage computes")
        made, counter = published.output_names(part, graph, counter)
        inputs = published.by_id({id: names[id] for id in reads})
        names.update(made)
        last = published.by_id(made)
        written.outputs = {name: id for id, name in made.items()}
        if not made:
            raise Error(f"stage {index}: the published converter writes no program for a stage without outputs")
        statements.append(f"{published.as_tuple(last)} = self.stage{index}({', '.join(inputs)})")
        rows.append(f"(Stage{index}(), [{_quoted(inputs)}], [{_quoted(last)}])")
        if index < len(parts) - 1:
            lost = [graph.nodes[id] for id in made if not graph.targets_of[id]]
            written.warnings += [f"{node}: no node reads it, and {name} does not return it" for node in lost]
    declarations = [f"self.stage{index} = Stage{index}()" for index in range(len(parts))]
    if arch in published.INITIALIZED:
        declarations.append("self._initialize_weights()")
        written.warnings.append(f"{name} calls _initialize_weights(), which it does not have: full_model() fails")
    written.files[f"{arch}.py"] = templates.model.fill(
        {
            "layer_declarations": "\n        ".join(declarations),
            "function_definition": "\n        ".join([*statements, f"return {published.as_tuple(last)}"]),
            "module_name": name,
            "inputs": ", ".join(published.by_id(given)),
            "import_statements": "\n".join(f"from .stage{i} import Stage{i}" for i in range(len(parts))),
            "module_methods": "",
        }
    )
    written.lines.append("Done with sub-graph fusion...")
    return [*rows, f'(criterion, ["{last[0]}"], ["loss"])']


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def configurations(stages: int, replicas: list[int] | None) -> dict[str, dict[str, object]]:
    """Ranks of every stage: data parallel, one a stage, and by replicas."""
    each = [*range(stages), stages - 1]
    total = stages if replicas is None else sum(replicas)
    confs = {
        "dp_conf.json": ([0] * (stages + 1), {0: [*range(total)]}),
        "mp_conf.json": (each, {stage: [stage] for stage in range(stages)}),
    }
    if replicas is not None:
        starts = [sum(replicas[:stage]) for stage in range(stages)]
        ranks = {stage: [*range(start, start + replicas[stage])] for stage, start in enumerate(starts)}
        confs["hybrid_conf.json"] = (each, ranks)
    return {
        file: {
            "module_to_stage_map": modules,
            "stage_to_rank_map": json.dumps({str(stage): each for stage, each in ranks.items()}),
        }
        for file, (modules, ranks) in confs.items()
    }
