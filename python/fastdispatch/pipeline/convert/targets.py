"""Programs for other engines from the same plan: the package, and a program that trains it with one rank per stage."""

import keyword
from collections.abc import Sequence
from math import lcm
from pathlib import Path

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.emit import wires
from fastdispatch.pipeline.convert.samples import forms
from fastdispatch.pipeline.convert.stage_plans import PackagePlan, Written, crossing
from fastdispatch.pipeline.convert.templates import render

TARGETS = ("package", "torch", "deepspeed")


def add_program(
    written: Written,
    plan: PackagePlan,
    target: str,
    folder: Path,
    name: str,
    inputs: str | None,
    replicas: Sequence[int] | None = None,
) -> None:
    """Add the program of an engine to a package that is to lie in ``folder``."""
    package = folder.resolve().name
    if not package.isidentifier() or keyword.iskeyword(package):
        raise Error(
            f"-o {folder}: the programs of --target {target} import the folder: {package} is not a Python identifier"
        )
    if len(plan.stages) < 2:
        raise Error(f"--target {target}: the graph has one stage")
    ranks = [1] * len(plan.stages) if replicas is None else [*replicas]
    if target == "deepspeed" and len(set(ranks)) > 1:
        listed = ",".join(f"{stage}:{count}" for stage, count in enumerate(ranks))
        raise Error(
            f"--target deepspeed: {listed}: DeepSpeed requires equal numbers of replicas; --target torch accepts any"
        )
    borders = crossing(plan)
    _check_tensors(plan, borders, target)
    written.files["carry.py"] = render("carry.py", stages=_stages(plan, borders))
    program = f"train_{target}"
    written.files[f"{program}.py"] = render(
        f"{program}.py",
        name=name,
        count=sum(ranks),
        replicas=ranks,
        # As many as the schedule 1f1b needs for each pipeline.
        micro_batches=max(4, len(plan.stages)) * lcm(*ranks),
        package=package,
        program=program,
        inputs=forms(inputs, plan),
        split_points=_split_points(plan),
    )
    written.lines.append(f"torchrun --nproc-per-node {sum(ranks)} -m {package}.{program} --check")


def _check_tensors(plan: PackagePlan, borders: Sequence[Sequence[str]], target: str) -> None:
    for number, border in enumerate(borders, 1):
        for id in border:
            if id in plan.operators and plan.operators[id].kind == "tuple":
                node = plan.graph.nodes[id]
                raise Error(
                    f"{node}: returns a tuple that stage {number} reads: --target {target} transfers only tensors"
                )


def _stages(plan: PackagePlan, borders: Sequence[Sequence[str]]) -> list[tuple[tuple[str, ...], ...]]:
    """Of each stage: given, reads, makes, hands on."""
    names = plan.names
    found: list[tuple[tuple[str, ...], ...]] = []
    for stage in plan.stages:
        given = [names.wire(id) for id in plan.inputs] if stage.index == 0 else _values(plan, borders[stage.index - 1])
        hands = plan.outputs if stage.index == len(borders) else borders[stage.index]
        reads = wires(names, stage.reads, stage.index)
        found.append((tuple(given), tuple(reads), tuple(_values(plan, stage.gives)), tuple(_values(plan, hands))))
    return found


def _values(plan: PackagePlan, ids: Sequence[str]) -> list[str]:
    return [plan.names.value(id) for id in ids]


def _split_points(plan: PackagePlan) -> list[str]:
    """The first module of each stage but the first, by its name in the model, or else in the whole class."""
    found = []
    for stage in plan.stages[1:]:
        declared = [node for node in stage.nodes if plan.operators[node.id].declare is not None]
        if declared:
            module = declared[0].about.get("module")
            own = f"stage{stage.index}.{plan.names.layer(declared[0].id)}"
            found.append(module if isinstance(module, str) else own)
    return found
