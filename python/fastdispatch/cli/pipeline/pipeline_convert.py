"""``fastdispatch pipeline convert``: programs of the stages of a graph."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, OutputFolder
from fastdispatch.pipeline.convert import convert
from fastdispatch.pipeline.convert.imports import read_imports
from fastdispatch.pipeline.convert.layer_graph import from_graph
from fastdispatch.pipeline.convert.package import save
from fastdispatch.pipeline.convert.stage_plans import Written
from fastdispatch.pipeline.convert.targets import TARGETS
from fastdispatch.pipeline.convert.verify import Verification, verify
from fastdispatch.pipeline.graph import Graph

SCHEMA = "fastdispatch-convert/1"

_DESCRIPTION = """Generate the program of a partitioned graph: one module per stage, the model that chains them, and the
configurations of the runtime (docs/guides/pipeline-convert.md)."""
_PUBLISHED = """
-f, --profile_filename GRAPH   partitioned graph, as text or JSON (docs/formats/pipeline-graph.md)
-n, --model_name NAME          class name of the model
-a, --arch ARCH                module name of the model
-o, --output_directory FOLDER  output folder
--stage_to_num_ranks_map MAP   replicas of each stage in order, e.g. 0:3,1:1
"""
_OPTIONS = """
--target TARGET          runtime of the program: package (default; modules only), torch or deepspeed
--compat                 write the same files as the published converter, for graphs like GNMT's
--import NAME=MODULE:CLASS(ARGS)  use this constructor for modules of class NAME outside torch.nn; repeatable
--verify [{train,eval}]  run the stages and compare them with the whole model, in training (default) or evaluation mode,
                         even if FOLDER was edited
--inputs SHAPES          shapes of the inputs, e.g. 2x3x32x32,4x8:int64:100@1
--force                  overwrite files that were edited
--json                   print the written files as JSON
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("convert", help="generate the programs of stages", description=_DESCRIPTION)
    needed = parser.add_argument_group("options of the published converter")
    given = {"required": True}
    graph, folder = given | {"type": Input}, given | {"type": OutputFolder}
    add_options(needed, _PUBLISHED, profile_filename=graph, model_name=given, arch=given, output_directory=folder)
    add_options(
        parser,
        _OPTIONS,
        target={"choices": TARGETS, "default": "package"},
        **{"import": {"dest": "imports", "action": "append", "default": []}},
        verify={"const": "train"},
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.compat and arguments.verify:
        raise Error("--verify: not with --compat, whose packages cannot run")
    graph = Graph.read(arguments.profile_filename)
    folder = Path(arguments.output_directory)
    written = convert(
        graph,
        arguments.model_name,
        arguments.arch,
        replicas=replicas_of(arguments.stage_to_num_ranks_map),
        imports=arguments.imports,
        published=arguments.compat,
        target=arguments.target,
        folder=folder,
        inputs=arguments.inputs,
    )
    kept = save(folder, written.files, force=arguments.force, keep=bool(arguments.verify), listed=not arguments.compat)
    notes = [*written.warnings, *(f"{folder / name}: not overwritten, because it was edited" for name in kept)]
    verdict = None
    if arguments.verify:
        imports = read_imports(arguments.imports)
        train = arguments.verify == "train"
        verdict = verify(folder, written, from_graph(graph), imports, arguments.inputs, train=train)
    for line in notes:
        message(line)
    if arguments.json:
        print(json.dumps(as_json(folder, written, notes, verdict)))
    else:
        sys.stdout.writelines(f"{line}\n" for line in [*written.lines, *_verdict_lines(verdict)])
    return 1 if verdict and verdict.faults else 0


def _verdict_lines(verdict: Verification | None) -> list[str]:
    if verdict is None:
        return []
    if verdict.faults:
        return [f"stages and whole model differ: {fault}" for fault in verdict.faults]
    return [f"stages and whole model are equal bit for bit: {verdict}"]


def as_json(folder: Path, written: Written, notes: list[str], verdict: Verification | None) -> dict[str, Any]:
    """docs/reference/schemas/pipeline-convert.schema.json."""
    return {
        "schema": SCHEMA,
        "folder": str(folder),
        "files": [*written.files],
        "notes": notes,
        "verified": verdict and {"equal": verdict.equal, "faults": verdict.faults},
    }


def replicas_of(text: str | None) -> list[int] | None:
    """``0:3,1:1``. The stages' numbers are ignored, as published; their order counts."""
    if text is None:
        return None
    found = []
    for entry in text.split(","):
        match = re.fullmatch(r"\s*\d+\s*:\s*(\d{1,6})\s*", entry)
        if match is None or not int(match[1]):
            raise Error(
                f"--stage_to_num_ranks_map {text}: {entry.strip()!r}: write STAGE:RANKS,STAGE:RANKS, e.g. 0:3,1:1"
            )
        found.append(int(match[1]))
    return found
