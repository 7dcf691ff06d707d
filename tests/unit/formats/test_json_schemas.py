"""Every ``--json`` has a schema in docs/reference/schemas, and its output follows it."""

import json
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from tests import commands, golden, processes
from tests.unit.cli.test_command_line import PARSER, files, leaves
from tests.unit.report.test_diff import Dump

pytest.importorskip("torch")

__all__ = ["files"]

SCHEMAS = processes.ROOT / "docs" / "reference" / "schemas"

#: Command lines with ``--json``, and the schemas of their output. They run in the folder of the fixture ``files``.
COMMANDS = {line: schema for schema, line in golden.table("commands/json")}

#: A recording of jobs, one of a process that kills itself inside a call, and one without times.
PROGRAM = """
import os
import signal
import fastdispatch
import torch

with fastdispatch.CallGraph("jobs", timeline="jobs") as graph:
    for step in range(2):
        for micro_batch in range(2):
            with fastdispatch.job("forward", mb=micro_batch, stage=0):
                sorted([2, 1])
            with fastdispatch.job("backward", mb=micro_batch, stage=0):
                sorted([2, 1])
        graph.step()

with fastdispatch.CallGraph("untimed", timing=False):
    (lambda: None)()

import torch.distributed as dist

with fastdispatch.CallGraph("measured", measure="flops,shapes"):
    torch.nn.functional.pad(torch.ones(2, 2) @ torch.ones(2, 2), (0, 1))
    [torch.ones(size).neg() for size in (1, 2)]
with fastdispatch.CallGraph("allocated", measure="memory"):
    torch.ones(2, 2) @ torch.ones(2, 2)
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=0, world_size=1)
with fastdispatch.CallGraph("reduced", measure="comm"):
    dist.all_reduce(torch.ones(3))
dist.destroy_process_group()

def wait():
    os.kill(os.getpid(), signal.SIGKILL)

fastdispatch.CallGraph("killed").start()
wait()
"""

#: A slice without a time, and an end without a begin.
FAULTY = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "dur": 2}, {"ph": "E", "pid": 1, "tid": 1, "ts": 1}]


@pytest.fixture(scope="module")
def more_files(files: Path) -> Path:
    Path("more.py").write_text(PROGRAM)
    processes.python("more.py")
    step = "train.py:[]:step"
    Dump([(step, 3, 100)], [(step, 3, 200)], [(step, 3, 101)]).write(Path("ranks.json"))
    Path("faulty.json").write_text(json.dumps({"traceEvents": FAULTY}))
    return files


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


REGISTRY: Registry[Any] = Registry().with_resources(
    (path.name, Resource.from_contents(json.loads(path.read_text()))) for path in SCHEMAS.iterdir()
)


def test_every_command_with_json_is_run() -> None:
    lines = [tuple(line.split()) for line in COMMANDS]
    with_json = {words for words, parser in leaves(PARSER) if "--json" in parser._option_string_actions}
    assert [words for words in with_json if not any(line[: len(words)] == words for line in lines)] == []


def test_every_schema_has_the_layout_of_the_others() -> None:
    namespace = runpy.run_path(str(SCHEMAS.parent / "format_schemas.py"))
    assert [path.name for path in SCHEMAS.iterdir() if path.read_text() != namespace["formatted"](path)] == []


def test_every_schema_is_valid_and_used() -> None:
    names = {path.name.removesuffix(".schema.json") for path in SCHEMAS.iterdir()}
    assert names - {"dump"} == set(COMMANDS.values())  # files of `merge`: test_dump.py
    for name in names:
        jsonschema.Draft202012Validator.check_schema(schema(name))


@pytest.mark.parametrize("line", COMMANDS)
def test_output_follows_its_schema(line: str, more_files: Path) -> None:
    status, output, errors = commands.run(*line.split(), "--json")
    assert status in (0, 1), errors
    jsonschema.Draft202012Validator(schema(COMMANDS[line]), registry=REGISTRY).validate(json.loads(output))


@pytest.mark.parametrize("name", ["diff", "top", "stacks", "timeline-check", "ranks"])
def test_schema_rejects_an_unknown_field(name: str, more_files: Path) -> None:
    line = next(line for line, expected in COMMANDS.items() if expected == name)
    document = json.loads(commands.run(*line.split(), "--json")[1]) | {"unknown": 1}
    assert not jsonschema.Draft202012Validator(schema(name), registry=REGISTRY).is_valid(document)
