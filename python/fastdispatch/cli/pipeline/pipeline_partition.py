"""``fastdispatch pipeline partition``: layers of each stage."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input
from fastdispatch.files.regular import open_regular, read_text
from fastdispatch.pipeline.layers import Number, is_module, is_spec
from fastdispatch.pipeline.partition import Partition, cut, megatron_layout, split_points, stage_report
from fastdispatch.text.formats import aligned

_DESCRIPTION = """Partition a sequence of layers into the stages of a pipeline. INPUT is a file of weights (a JSON list,
or one number per line), a recording or run directory of a model whose layers are numbered modules, or
MODULE:ATTRIBUTE, a model or a function without arguments that returns one: nn.Sequential, PipelineModule, or a list of
layers. For a graph of layers see `fastdispatch pipeline optimize`."""
_OPTIONS = """
input INPUT          layers to partition, see above
-n, --stages STAGES  number of stages
--method METHOD      uniform, parameters (default), type:REGEX, profile (default for a recording) or bottleneck;
                     pipedream: same as `fastdispatch pipeline optimize`
--times PATH         use the times of a recording as weights of the layers of a model
--layers-of MODULE   use the numbered children of MODULE as layers (of a recording)
--world-size N       number of ranks, a multiple of the number of stages
--report             print only the list of layers, as DeepSpeed does
--json               print everything as JSON
"""

SCHEMA = "fastdispatch-partition/1"


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "partition", help="partition a sequence of layers into stages", description=_DESCRIPTION
    )
    add_options(parser, _OPTIONS, input=Input, stages=count, times=Input, world_size=count)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    path = arguments.input
    given = read(path)
    recording = isinstance(given, Path)
    done = cut(
        given,
        arguments.stages,
        arguments.method or ("profile" if recording or arguments.times else "parameters"),
        weights=arguments.times,
        world_size=arguments.world_size,
        within=arguments.layers_of,
    )
    for note in done.notes:
        message(note)
    if arguments.json:
        print(json.dumps(as_json(done)))
        return
    print(stage_report(done), end="")
    if not arguments.report:
        print("\n".join(summary(done)))


def read(text: str) -> Any:
    """Weights, a model, or the path of a recording."""
    path = Path(text)
    if path.is_dir():
        return path
    if path.exists():
        return weights_in(path) if holds_weights(path) else path
    if ":" not in text:
        raise Error(f"{text}: no such file; give a model as MODULE:ATTRIBUTE")
    found = attribute(text)
    if callable(found) and not (is_module(found) or is_spec(found)):
        return guarded(text, found)
    return found


def holds_weights(path: Path) -> bool:
    """Return whether a file starts with a number, unlike a recording or dump."""
    try:
        with open_regular(path) as file:
            start = file.read(4096).lstrip()
    except OSError as error:
        raise Error(f"{path}: cannot read: {error.strerror}") from None
    return not start or start[:1] in b"[0123456789+-.#"


def weights_in(path: Path) -> list[Number]:
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path}: cannot read: {error}") from None
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Error(f"{path}: invalid JSON: {error}") from None
        for index, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise Error(f"{path}: weight {index} is {str(value)[:40]!r}: not a number")
    else:
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        values = [number(line, f"{path}:{at}") for at, line in enumerate(lines, 1) if line]
    if not values:
        raise Error(f"{path}: no weights")
    return list(values)


def number(text: str, where: str) -> Number:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    raise Error(f"{where}: {text[:40]!r} is not a number")


def attribute(text: str) -> Any:
    """Return the object MODULE:ATTRIBUTE, searched in the current folder first."""
    module, _, names = text.partition(":")
    if not module or not names:
        raise Error(f"{text}: write MODULE:ATTRIBUTE")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found = guarded(text, lambda: importlib.import_module(module))
    for name in names.split("."):
        found = guarded(text, lambda found=found, name=name: getattr(found, name))
    return found


def guarded(text: str, call: Any) -> Any:
    """Run user code; report its errors as one line."""
    try:
        return call()
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        raise Error(f"{text}: {type(error).__name__}: {words}") from None


def text_of(weight: Number, unit: str) -> str:
    if unit == "ns":
        return f"{weight / 1e6:.3f} ms"
    return f"{weight:.6g}" if isinstance(weight, float) else str(weight)


def summary(done: Partition) -> list[str]:
    """Return the cuts and the weights of stages as lines."""
    units = {"ns": "time", "": "weight"}
    table = [("stage", "layers", units.get(done.unit, done.unit), "of mean")]
    mean = sum(done.stage_weights) / len(done.stage_weights)
    for stage, weight in enumerate(done.stage_weights):
        layers = done.parts[stage + 1] - done.parts[stage]
        share = f"{weight / mean:.2f}" if mean else "-"
        table.append((str(stage), str(layers), text_of(weight, done.unit), share))
    return ["", f"parts {done.parts}", *aligned(table, ">>>>", " ")]


def as_json(done: Partition) -> dict[str, Any]:
    """docs/reference/schemas/partition.schema.json."""
    stages = done.stage_weights
    empty = any(first == last for first, last in zip(done.parts, done.parts[1:], strict=False))
    return {
        "schema": SCHEMA,
        "method": done.method,
        "stages": len(stages),
        "parts": done.parts,
        "unit": done.unit,
        "layers": [
            {"name": name, "path": path, "weight": weight}
            for name, path, weight in zip(done.layers.shown, done.layers.paths, done.weights, strict=True)
        ],
        "stage_weights": stages,
        "heaviest": max(stages),
        "mean": sum(stages) / len(stages),
        "split_points": None if empty else split_points(done.parts, done.layers.paths),
        "megatron_layout": megatron_layout(done.parts),
        "notes": list(done.notes),
    }
