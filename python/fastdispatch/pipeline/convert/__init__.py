"""From a graph whose nodes have stages to programs that train (docs/pipeline-convert.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastdispatch.pipeline.convert import compat, package
from fastdispatch.pipeline.convert.compat import Written
from fastdispatch.pipeline.convert.imports import read_imports
from fastdispatch.pipeline.convert.layers import from_graph
from fastdispatch.pipeline.convert.plan import plan
from fastdispatch.pipeline.convert.templates import Templates
from fastdispatch.pipeline.graph import Graph


def convert(
    graph: Graph,
    name: str,
    arch: str,
    *,
    replicas: Sequence[int] | None = None,
    imports: Iterable[str] = (),
    templates: Templates | None = None,
    published: bool = False,
) -> Written:
    """The files of a package and what is to be said of them (docs/pipeline-convert.md).

    Parameters
    ----------
    graph:
        With a stage on every node.
    name, arch:
        The class of the model, and its module.
    replicas:
        Ranks of every stage.
    imports:
        ``Name=module:Class(args)``: how classes outside torch.nn are made.
    published:
        The published converter's files, faults included.

    Raises :class:`fastdispatch.Error` for a node that cannot be converted, with the reason.
    """
    layers = from_graph(graph)
    used = templates or Templates()
    if published:
        return compat.write(layers, name, arch, None if replicas is None else [*replicas], used)
    return package.write(plan(layers, read_imports(imports)), name, arch, replicas, used)
