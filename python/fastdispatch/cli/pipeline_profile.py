"""``fastdispatch pipeline profile``: a graph of layers, measured."""

from __future__ import annotations

import argparse
from typing import Any

from fastdispatch import Error
from fastdispatch.cli.pipeline_partition import attribute, guarded

_DESCRIPTION = """Run a model some steps, forward and backward, and write it as a graph of layers with times and sizes.
MODULE:FUNCTION, looked for in this folder first, is called without arguments and answers the model, a tuple of its
arguments, and if need be a dict of keyword arguments and a function from its result to the loss."""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("profile", help="measure a model as a graph of layers", description=_DESCRIPTION)
    parser.add_argument("input", metavar="MODULE:FUNCTION")
    parser.add_argument("-o", "--output", metavar="FILE", help="graph.txt, or with all there is graph.json")
    parser.add_argument("--steps", type=int, default=5, metavar="N", help="steps that count (default 5)")
    parser.add_argument("--warmup", type=int, default=2, metavar="N", help="steps before them (default 2)")
    parser.add_argument("--json", action="store_true", help="print the graph as JSON")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    try:
        from fastdispatch.pipeline.measure import profile
    except ImportError as error:
        raise Error(f"pipeline profile needs PyTorch: {error}") from None
    text = arguments.input
    made = _setup(text, guarded(text, attribute(text)))
    graph = guarded(text, lambda: profile(*made[:3], loss=made[3], steps=arguments.steps, warmup=arguments.warmup))
    if arguments.output:
        graph.write(arguments.output)
    if arguments.json:
        print(graph.to_json(), end="")
        return
    forward, backward = (sum(getattr(node, name) for node in graph.nodes) for name in ("forward_ms", "backward_ms"))
    saved = sum(node.saved_bytes or 0 for node in graph.nodes)
    parameters = sum(node.parameter_bytes for node in graph.nodes)
    print(f"{len(graph)} layers and operations, {len(graph.edges)} edges")
    print(f"forward {forward:.3f} ms, backward {backward:.3f} ms: medians of {arguments.steps} steps")
    print(f"parameters {parameters / 1e6:.3f} MB, kept for backward {saved / 1e6:.3f} MB")


def _setup(text: str, made: Any) -> tuple[Any, Any, Any, Any]:
    parts = [*made, None, None, None][:4] if isinstance(made, (tuple, list)) else []
    if len(parts) != 4 or not callable(parts[0]) or not isinstance(parts[1], (tuple, list)):
        raise Error(f"{text}: answer the model and a tuple of its arguments")
    return parts[0], parts[1], parts[2], parts[3]
