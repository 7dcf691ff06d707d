"""The default package: the published file set and interface, with code that is right for every graph."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fastdispatch._core import Error
from fastdispatch.files.output import make_folder
from fastdispatch.files.output import write as write_file
from fastdispatch.files.regular import read_bytes
from fastdispatch.pipeline.convert.emit import emit_stage, emit_whole, wires
from fastdispatch.pipeline.convert.layer_graph import check_names
from fastdispatch.pipeline.convert.stage_plans import PackagePlan, Written, configuration_text, configurations
from fastdispatch.pipeline.convert.templates import init, render
from fastdispatch.pipeline.convert.ties import Ties


def ties_of(plan: PackagePlan) -> Ties:
    declared = [
        (stage.index, node)
        for stage in plan.stages
        for node in stage.nodes
        if plan.operators[node.id].declare is not None
    ]
    return Ties(declared, plan.names)


def write(plan: PackagePlan, name: str, arch: str, replicas: Sequence[int] | None) -> Written:
    """All files of the package."""
    imported = {statement.split()[-1] for each in plan.operators.values() for statement in each.imports}
    check_names(name, arch, sorted(imported))
    count = len(plan.stages)
    if replicas is not None and len(replicas) != count:
        raise Error(f"--stage_to_num_ranks_map has {len(replicas)} stages, the graph has {count}")
    ties = ties_of(plan)
    written = Written(warnings=[*plan.notes])
    layers: list[tuple[int, str, str, str | None]] = []
    for stage in plan.stages:
        file = f"stage{stage.index}" if count > 1 else arch
        made, own = emit_stage(plan, stage, f"Stage{stage.index}" if count > 1 else name, ties)
        written.files[f"{file}.py"] = _tidy(str(made))
        written.lines.append(f"Done generating {file}.py...")
        for id, layer in own.items():
            module = plan.graph.nodes[id].about.get("module")
            layers.append((stage.index, layer, id, module if isinstance(module, str) else None))
            written.layers.setdefault(id, []).append((stage.index, layer))
    written.shared = ties.groups
    written.inputs = {plan.names.wire(id): id for id in plan.inputs}
    written.outputs = {_output_name(plan, id): id for id in plan.outputs}
    if count > 1:
        written.files[f"{arch}.py"] = _tidy(str(emit_whole(plan, name, ties)))
        written.lines.append("Done with sub-graph fusion...")
    shared = [tuple(group) for group in ties.groups]
    written.files["weights.py"] = render("weights.py", layers=[*dict.fromkeys(layers)], shared=shared)
    written.files["__init__.py"] = _init(plan, name, arch)
    for file, content in configurations(count, replicas).items():
        content["stage_to_depth_map"] = _depths(file, count, replicas)
        written.files[file] = configuration_text(content)
    return written


def _tidy(text: str) -> str:
    """Remove the blank lines of empty fields."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for at, line in enumerate(lines) if line or at == 0 or lines[at - 1]]
    return "\n".join(kept).rstrip() + "\n"


def _init(plan: PackagePlan, name: str, arch: str) -> str:
    names = plan.names
    count = len(plan.stages)
    rows = []
    for stage in plan.stages:
        given = [_output_name(plan, id) for id in stage.gives]
        maker = f"Stage{stage.index}()" if count > 1 else f"{name}()"
        rows.append(f"({maker}, {_quoted(wires(names, stage.reads, stage.index))}, {_quoted(given)})")
    last = next(id for id in reversed(plan.outputs) if id in plan.stages[_last(plan)].gives)
    return init(arch, name, count if count > 1 else 0, rows, _output_name(plan, last))


def _output_name(plan: PackagePlan, id: str) -> str:
    """The name of an output of a stage in runtimes."""
    return "output" if len(plan.stages) == 1 and len(plan.outputs) == 1 else plan.names.value(id)


def _last(plan: PackagePlan) -> int:
    """The last stage that makes an output of the model."""
    return max(stage.index for stage in plan.stages if any(id in plan.outputs for id in stage.gives))


def _quoted(names: Sequence[str]) -> str:
    return json.dumps([*names])


def _depths(file: str, count: int, replicas: Sequence[int] | None) -> dict[str, int]:
    """Micro-batches that each stage starts before its first backward."""
    if file == "dp_conf.json":
        return {"0": 0}
    ranks = [1] * count if file == "mp_conf.json" or replicas is None else [*replicas]
    total = sum(ranks)
    return {str(stage): (total - 1 - sum(ranks[:stage])) // ranks[stage] for stage in range(count)}


LIST = ".pipeline-convert.json"
SCHEMA = "fastdispatch-package/1"


def save(folder: Path, files: Mapping[str, str], *, force: bool, keep: bool, listed: bool) -> list[str]:
    """Write all files or none; with ``keep`` all except changed ones, which are returned. ``listed``: write the list of
    digests too, which published packages do not have."""
    if folder.exists() and not folder.is_dir():
        raise Error(f"{folder}: cannot write a package: not a folder")
    contents = {name: text.encode() for name, text in files.items()}
    known = _known(folder)
    changed = [name for name, content in contents.items() if _differs(folder / name, content, known.get(name))]
    if force:
        changed = []
    if changed and not keep:
        names = ", ".join(changed)
        raise Error(f"{folder}: {names}: edited, or not written by this command; --force overwrites")
    make_folder(folder)
    for name, content in contents.items():
        if name not in changed:
            write_file(folder / name, content)
    if listed:
        digests = {name: _digest(content) for name, content in contents.items()}
        write_file(folder / LIST, json.dumps({"schema": SCHEMA, "files": digests}, indent=1).encode())
    return changed


def _differs(path: Path, content: bytes, digest: str | None) -> bool:
    try:
        there = read_bytes(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Error(f"{path}: cannot read: {error.strerror}") from None
    return there != content and _digest(there) != digest


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _known(folder: Path) -> dict[str, str]:
    try:
        found = json.loads(read_bytes(folder / LIST))
    except (OSError, ValueError, RecursionError):
        return {}
    files = found.get("files") if isinstance(found, dict) else None
    return files if isinstance(files, dict) else {}
