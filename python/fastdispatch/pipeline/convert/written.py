"""A generated package: its files, and what is known of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field


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


def configurations(stages: int, replicas: Sequence[int] | None) -> dict[str, dict[str, object]]:
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
        file: {"module_to_stage_map": modules, "stage_to_rank_map": ranks} for file, (modules, ranks) in confs.items()
    }


def configuration_text(content: dict[str, object]) -> str:
    """A configuration as its file."""
    return "{\n" + ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()) + "\n}\n"
