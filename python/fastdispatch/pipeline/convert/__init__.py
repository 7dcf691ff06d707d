"""From a graph whose nodes have stages to programs that train (docs/guides/pipeline-convert.md).

Submodules are imported on first use: they would double the import time of fastdispatch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastdispatch._core import Error

if TYPE_CHECKING:
    from fastdispatch.pipeline.convert.stage_plans import Written
    from fastdispatch.pipeline.graph import Graph


def convert(
    graph: Graph,
    name: str,
    arch: str,
    *,
    replicas: Sequence[int] | None = None,
    imports: Iterable[str] = (),
    published: bool = False,
    target: str = "package",
    folder: str | os.PathLike[str] = "package",
    inputs: str | None = None,
) -> Written:
    """Return the files of a package, with warnings (docs/guides/pipeline-convert.md).

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
        The published converter's files, for graphs like GNMT's.
    target:
        "package"; "torch" and "deepspeed" add a program that trains it.
    folder, inputs:
        For these programs: where the package will lie, and shapes of the inputs of a micro-batch as in ``--inputs``.

    Raises :class:`fastdispatch.Error` for a node that cannot be converted, with the reason.
    """
    from fastdispatch.pipeline.convert import package
    from fastdispatch.pipeline.convert.imports import read_imports
    from fastdispatch.pipeline.convert.layer_graph import from_graph
    from fastdispatch.pipeline.convert.stage_plans import plan
    from fastdispatch.pipeline.convert.targets import TARGETS, add_program

    layers = from_graph(graph)
    if target not in TARGETS or (published and target != "package"):
        raise Error(f"target {target}: there are {', '.join(TARGETS)}, the first alone in the published form")
    if published:
        from fastdispatch.pipeline.convert.published import write

        return write(layers, name, arch, replicas)
    made = plan(layers, read_imports(imports))
    written = package.write(made, name, arch, replicas)
    if target != "package":
        add_program(written, made, target, Path(folder), name, inputs, replicas)
    return written
