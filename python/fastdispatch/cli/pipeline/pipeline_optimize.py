"""``fastdispatch pipeline optimize``: the fastest pipeline for a graph of layers."""

from __future__ import annotations

import argparse
import json
import math
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.numbers import count
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, OutputFolder, PictureFile, check_input
from fastdispatch.files.output import check_folder, check_place, make_folder, write
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.optimize import MEMORY, SYNCHRONOUS, optimize
from fastdispatch.pipeline.optimum import Optimum, Stage
from fastdispatch.text.formats import printable

#: Seconds before the progress bar.
_PATIENCE = 0.5

_BOUND_BY = {
    "compute": "computing",
    "reduce": "the all-reduce of gradients",
    "in": "receiving activations",
    "out": "sending activations",
}


_DESCRIPTION = """Find the fastest pipeline for a graph of layers (docs/guides/pipeline-partition.md): the stages and
their replicas; with --schedule, a plan with a short step under that schedule. Options of the published optimizer of
PipeDream keep their names."""
_OPTIONS = f"""
input [GRAPH]                   graph of layers (docs/formats/pipeline-graph.md)
-n, --machines, --all_num_machines N...  machines per level, the innermost level first
-f, --profile_filename GRAPH    same as the argument GRAPH
-b, --network_bandwidths BYTES...  bytes per second, per level (default: 1e9)
-s, --memory_size BYTES         bytes of memory per machine (default: 16e9)
-o, --output_directory DIR      write gpus=N.txt, .json and .dot to DIR
--straight_pipeline             use one machine per stage
--use_memory_constraint         same as --memory published
--use_fewer_machines            allow unused machines
--activation_compression_ratio R  compression of activations, above 0; without it, transfers of activations take no time
--cut {{published,true}}          how to count the bytes at a cut (default: published)
--memory {{{",".join(MEMORY)}}}  memory model that must fit in -s
--schedule NAME                 choose a short step under this schedule: {", ".join(SYNCHRONOUS)}
--micro-batches M               micro-batches of the schedule (default: 8)
--svg FILE                      write an image of the stages to FILE, or its Graphviz source (.dot)
--json                          print everything as JSON
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "optimize", help="find the fastest pipeline for a graph of layers", description=_DESCRIPTION
    )
    add_options(
        parser,
        _OPTIONS,
        input=Input,
        machines={"dest": "stages"},
        profile_filename=Input,
        memory_size={"type": float, "default": 16e9},
        output_directory=OutputFolder,
        activation_compression_ratio=float,
        cut={"default": "published"},
        micro_batches={"type": count, "default": 8},
        svg=PictureFile,
    )
    parser.set_defaults(function=run)


def numbers(texts: list[str]) -> tuple[list[str], list[str]]:
    """Split values of an option into leading numbers and the rest, which belongs to other arguments."""
    for index, text in enumerate(texts):
        try:
            float(text)
        except ValueError:
            return texts[:index], texts[index:]
    return texts, []


def inputs(arguments: argparse.Namespace) -> tuple[str, list[int]]:
    """Return INPUT, which may follow an option with several values, and the numbers of -n."""
    counts, found = numbers(arguments.stages or [])
    arguments.network_bandwidths, more = numbers(arguments.network_bandwidths or [])
    named = [*found, *more, *([arguments.input] if arguments.input else [])]
    named += [arguments.profile_filename] if arguments.profile_filename else []
    if len(named) != 1:
        raise Error(f"expected one INPUT, got {len(named)}: {' '.join(named)}" if named else "INPUT is missing")
    check_input(named[0])
    try:
        return named[0], [count(text) for text in counts]
    except argparse.ArgumentTypeError as error:
        raise Error(f"-n {error}") from None


def run(arguments: argparse.Namespace) -> None:
    path, machines = inputs(arguments)
    if not machines:
        raise Error("-n is missing: give the number of machines")
    graph = Graph.read(path)
    if arguments.svg:
        check_place(arguments.svg)
    if arguments.output_directory:
        check_folder(Path(arguments.output_directory))
    found = _solve(arguments, graph, machines)
    if found.bound_s is not None and not found.complete and found.bound_s < found.time_per_stage_s:
        message(
            f"{path}: too many possible cuts: {found.states} were considered; "
            f"no plan takes less than {found.bound_s:g} s"
        )
    if arguments.output_directory:
        _save(found, Path(arguments.output_directory))
    if arguments.svg:
        _draw(found, Path(arguments.svg))
    if arguments.json:
        print(json.dumps(found.to_dict()))
    else:
        print("\n".join(map(printable, _lines(found))))


def _solve(arguments: argparse.Namespace, graph: Graph, machines: list[int]) -> Optimum:
    return _watched(
        optimize,
        graph,
        machines,
        [float(text) for text in arguments.network_bandwidths or ["1e9"]],
        compression=arguments.activation_compression_ratio,
        straight=arguments.straight_pipeline,
        fewer=arguments.use_fewer_machines,
        cut=arguments.cut,
        memory=arguments.memory or ("published" if arguments.use_memory_constraint else "none"),
        memory_size=arguments.memory_size,
        schedule=arguments.schedule,
        micro_batches=arguments.micro_batches,
    )


def _watched(search: Callable[..., Optimum], *arguments: Any, **options: Any) -> Optimum:
    """Run the search in a thread, so that Ctrl-C ends it with status 130; show progress in a terminal."""
    watch = array("d", (0, math.inf, 0))
    done: list[Optimum] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            done.append(search(*arguments, watch=watch, **options))
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
        thread.join(_PATIENCE)
        if thread.is_alive() and sys.stderr.isatty() and find_spec("rich") is not None:
            _show(thread, watch)
        thread.join()
    except KeyboardInterrupt:
        message("interrupted")
        raise SystemExit(130) from None
    if failed:
        raise failed[0]
    return done[0]


def _show(thread: threading.Thread, watch: array[float]) -> None:
    """Show a progress bar until the thread ends."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("planning", total=1)
        while thread.is_alive():
            bar.update(task, completed=watch[2], description=_between(watch[0], watch[1]))
            thread.join(0.1)


def _between(low: float, high: float) -> str:
    return f"planning: above {_seconds(low)}" + (f", at most {_seconds(high)}" if high < math.inf else "")


def _save(found: Optimum, folder: Path) -> None:
    make_folder(folder)
    stem = f"gpus={math.prod(found.machines)}"
    found.graph.write(folder / f"{stem}.txt")
    write(folder / f"{stem}.json", json.dumps(found.to_dict()).encode())
    _draw(found, folder / f"{stem}.dot")


def _draw(found: Optimum, path: Path) -> None:
    from fastdispatch.page.graphviz import drawn
    from fastdispatch.page.pipeline_dot import dot_of

    source = dot_of(found.graph, [_title(stage, index) for index, stage in enumerate(found.leaves)])
    write(path, drawn(source, path))


def _title(stage: Stage, index: int) -> str:
    machines = f" on {stage['replicas']} machines" if stage["replicas"] > 1 else ""
    return f"stage {index}{machines}: {_seconds(stage['time_s'])}"


def _lines(found: Optimum) -> Iterator[str]:
    if found.schedule is not None:
        yield from _scheduled(found, found.schedule)
    else:
        gain = found.single_machine_s / found.time_per_stage_s if found.time_per_stage_s else 0
        yield f"one machine    {_seconds(found.single_machine_s)}"
        yield f"data parallel  {_seconds(found.data_parallel_s)}"
        yield f"pipeline       {_seconds(found.time_per_stage_s)}, {gain:.2f} times one machine"
    if found.unused:
        yield f"machines of the outermost level not used: {found.unused}"
    yield ""
    yield from _table(found.stages, "")


def _scheduled(found: Optimum, about: dict[str, Any]) -> Iterator[str]:
    step = about["step_s"]
    one = found.single_machine_s * about["micro_batches"]
    share = float(found.replay(about["name"], about["micro_batches"])[1].bubble_of_total)
    yield f"one machine    {_seconds(one)} per step of {about['micro_batches']} micro-batches"
    yield f"{about['name']:14} {_seconds(step)}, {one / step if step else 0:.2f} times one machine, bubble {share:.1%}"


def _table(stages: list[Stage], indent: str) -> Iterator[str]:
    slowest = max(stage["time_s"] for stage in stages)
    for index, stage in enumerate(stages):
        mark = " <- the slowest" if stage["time_s"] >= slowest * (1 - 1e-12) else ""
        ends = stage["first_node"] if stage["layers"] == 1 else f"{stage['first_node']} .. {stage['last_node']}"
        memory = f", {stage['memory_bytes'] / 1e9:.3g} GB" if stage["memory_bytes"] else ""
        yield (
            f"{indent}stage {index}: {stage['layers']} layers ({ends}) on {stage['replicas']}, "
            f"{_seconds(stage['time_s'])}{memory}, bound by {_BOUND_BY[stage['bound_by']]}{mark}"
        )
        if "stages" in stage:
            yield from _table(stage["stages"], indent + "  ")


def _seconds(time: Any) -> str:
    return f"{time * 1e3:.6g} ms"
