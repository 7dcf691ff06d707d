"""``fastdispatch pipeline partition --method pipedream``: the pipeline of least time for a graph."""

from __future__ import annotations

import argparse
import json
import math
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fastdispatch import Error
from fastdispatch.cli.numbers import count
from fastdispatch.cli.output import check_folder, check_place, make_folder, write
from fastdispatch.cli.paths import Input, OutputFolder, Picture, SvgFile
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.optimize import MEMORY, SYNCHRONOUS, Optimum, Stage, optimize
from fastdispatch.summary import printable

#: Seconds without a word.
_PATIENCE = 0.5

_BOUND_BY = {
    "compute": "computing",
    "reduce": "the all-reduce of gradients",
    "in": "receiving activations",
    "out": "sending activations",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Its options, by the names of the published optimizer where that has them."""
    group = parser.add_argument_group(
        "pipedream", "INPUT is a graph (docs/formats/pipeline-graph.md); -n machines a level"
    )
    group.add_argument("-f", "--profile_filename", type=Input, metavar="GRAPH", help="the same as INPUT")
    group.add_argument(
        "-b", "--network_bandwidths", nargs="+", metavar="BYTES", help="a second, one a level (default 1e9)"
    )
    group.add_argument("-s", "--memory_size", type=float, default=16e9, metavar="BYTES", help="default: 16e9")
    group.add_argument(
        "-o", "--output_directory", type=OutputFolder, metavar="DIR", help="write gpus=N.txt, .json, .dot (.svg)"
    )
    group.add_argument("--straight_pipeline", action="store_true", help="a machine a stage")
    group.add_argument("--use_memory_constraint", action="store_true", help="the same as --memory published")
    group.add_argument("--use_fewer_machines", action="store_true", help="machines may be left over")
    group.add_argument(
        "--activation_compression_ratio", type=float, metavar="R", help="without it sending activations is free"
    )
    group.add_argument(
        "--cut", choices=("published", "true"), default="published", help="how bytes at a cut are counted"
    )
    group.add_argument("--memory", choices=MEMORY, help="what must fit in -s")
    group.add_argument(
        "--optimizer-bytes", type=float, default=2.0, metavar="X", help="a byte of parameters; default 2"
    )
    group.add_argument("--in-flight", type=count, metavar="N", help="micro-batches in flight at most")
    group.add_argument("--max-states", type=count, metavar="N", help="places to cut that are looked at")
    group.add_argument("--second", action="store_true", help="the second best plan too")
    group.add_argument("--explain", action="store_true", help="what a machine more or twice the bandwidth would give")
    group.add_argument("--each", action="store_true", help="times for 1, 2, ... machines of the outermost level")
    group.add_argument(
        "--schedule", metavar="NAME", help=f"make its step short, as it is played: {', '.join(SYNCHRONOUS)}"
    )
    group.add_argument("--micro-batches", type=count, default=8, metavar="M", help="of that schedule (default 8)")
    group.add_argument("--chunks", type=count, metavar="V", help="stages a rank, of interleaved (default 2)")
    group.add_argument("--schedule-svg", type=SvgFile, metavar="FILE", help="a picture of it")
    group.add_argument("--svg", type=Picture, metavar="FILE", help="a picture of the stages; .dot: its source")


def numbers(texts: list[str]) -> tuple[list[str], list[str]]:
    """Leading numbers, and what an option with several values took of others."""
    for place, text in enumerate(texts):
        try:
            float(text)
        except ValueError:
            return texts[:place], texts[place:]
    return texts, []


def run(arguments: argparse.Namespace, path: str, machines: list[int]) -> None:
    graph = Graph.read(path)
    for place in filter(None, (arguments.svg, arguments.schedule_svg)):
        check_place(place)
    if arguments.output_directory:
        check_folder(Path(arguments.output_directory))
    speeds = [float(text) for text in arguments.network_bandwidths or ["1e9"]]
    found = _solve(arguments, graph, machines, speeds, second=arguments.second, gains=arguments.explain)
    each = _each(arguments, graph, machines, speeds) if arguments.each else []
    if found.schedule is None and found.bound_s < found.time_per_stage_s:
        looked = f"{found.states} " + ("on two chains were looked at" if found.chains else "were not all compared")
        print(
            f"fastdispatch: {path}: too many places to cut: {looked}; "
            f"no plan takes less than {found.bound_s:g} s (--max-states)",
            file=sys.stderr,
        )
    if arguments.output_directory:
        _save(found, Path(arguments.output_directory))
    if arguments.svg:
        _draw(found, Path(arguments.svg))
    if arguments.schedule_svg:
        from fastdispatch.views.pipeline_plan import draw

        made, replay = found.replay(arguments.schedule or "1f1b", arguments.micro_batches)
        write(arguments.schedule_svg, draw(made, replay).encode())
    if arguments.json:
        name = "time_per_stage_s" if found.schedule is None else "step_s"
        extra = {"each": [{"machines": count, name: time} for count, time in each]} if each else {}
        print(json.dumps(found.to_dict() | extra))
        return
    print("\n".join(map(printable, _lines(found, arguments))))
    for number, time in each:
        print(f"{number:6d} machines  {_seconds(time) if time is not None else 'no plan'}")


def _solve(
    arguments: argparse.Namespace, graph: Graph, machines: list[int], speeds: list[float], **more: bool
) -> Optimum:
    return _watched(
        optimize,
        graph,
        machines,
        speeds,
        compression=arguments.activation_compression_ratio,
        straight=arguments.straight_pipeline,
        fewer=arguments.use_fewer_machines,
        cut=arguments.cut,
        memory=arguments.memory or ("published" if arguments.use_memory_constraint else "none"),
        memory_size=arguments.memory_size,
        optimizer_bytes=arguments.optimizer_bytes,
        in_flight=arguments.in_flight,
        max_states=arguments.max_states,
        schedule=arguments.schedule,
        micro_batches=arguments.micro_batches,
        chunks=arguments.chunks,
        **more,
    )


def _watched(search: Callable[..., Optimum], *arguments: Any, **options: Any) -> Optimum:
    """The search beside the main thread, which Ctrl-C ends with status 130; a terminal shows how far it is."""
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
        if thread.is_alive() and sys.stderr.isatty():
            _show(thread, watch)
        thread.join()
    except KeyboardInterrupt:
        print("fastdispatch: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    if failed:
        raise failed[0]
    return done[0]


def _show(thread: threading.Thread, watch: array[float]) -> None:
    """A bar until the thread has ended: of the question at hand, there are several."""
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


def _each(
    arguments: argparse.Namespace, graph: Graph, machines: list[int], speeds: list[float]
) -> list[tuple[int, float | None]]:
    made: list[tuple[int, float | None]] = []
    for number in range(1, machines[-1] + 1):
        try:
            made.append((number, _step(_solve(arguments, graph, [*machines[:-1], number], speeds))))
        except Error:
            made.append((number, None))
    return made


def _step(found: Optimum) -> float:
    """What was made short."""
    return found.time_per_stage_s if found.schedule is None else float(found.schedule["step_s"])


def _save(found: Optimum, folder: Path) -> None:
    make_folder(folder)
    stem = f"gpus={math.prod(found.machines)}"
    found.graph.write(folder / f"{stem}.txt")
    write(folder / f"{stem}.json", json.dumps(found.to_dict()).encode())
    _draw(found, folder / f"{stem}.dot")


def _draw(found: Optimum, path: Path) -> None:
    from fastdispatch.views.pipeline_graph import dot_of
    from fastdispatch.views.svg import drawn

    source = dot_of(found.graph, [_title(stage, place) for place, stage in enumerate(found.leaves)])
    write(path, drawn(source, path))


def _title(stage: Stage, place: int) -> str:
    machines = f" on {stage['replicas']} machines" if stage["replicas"] > 1 else ""
    return f"stage {place}{machines}: {_seconds(stage['time_s'])}"


def _lines(found: Optimum, arguments: argparse.Namespace) -> Iterator[str]:
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
    if found.second is not None:
        time = found.second.get("step_s", found.second["time_per_stage_s"])
        yield f"second best: {_seconds(time)}{_unproven(time, found.second['bound_s'])}"
        yield from _table(found.second["stages"], "")
    if arguments.explain:
        yield _gain(found, found.one_more_s, found.one_more_bound_s, "one machine more")
        yield _gain(found, found.twice_bandwidth_s, found.twice_bandwidth_bound_s, "twice the bandwidth")


def _scheduled(found: Optimum, about: dict[str, Any]) -> Iterator[str]:
    step = about["step_s"]
    one = found.single_machine_s * about["micro_batches"]
    share = float(found.replay(about["name"], about["micro_batches"])[1].bubble_of_total)
    yield f"one machine    {_seconds(one)} a step of {about['micro_batches']} micro-batches"
    yield f"{about['name']:14} {_seconds(step)}, {one / step if step else 0:.2f} times one machine, bubble {share:.1%}"
    if about["proven"]:
        yield "               proven: no plan is shorter"
    else:
        bound = about["bound_s"]
        yield f"               not proven: no plan is shorter than {_seconds(bound)} ({bound / step - 1:.1%})"
    if about["asynchronous_s"] is not None:
        yield f"               the plan without a schedule takes {_seconds(about['asynchronous_s'])} under it"


def _gain(found: Optimum, time: float | None, bound: float | None, what: str) -> str:
    if time is None:
        return f"{what}: no such plan"
    saved = 1 - time / _step(found) if _step(found) else 0
    less = _unproven(time, bound)
    if abs(saved) < 1e-9:
        return f"{what} would change nothing{less}"
    return f"{what} would make it {_seconds(time)}, {abs(saved):.1%} {'less' if saved > 0 else 'more'}{less}"


def _unproven(time: float, bound: float | None) -> str:
    return f" (not proven: not less than {_seconds(bound)})" if bound is not None and bound < time * (1 - 1e-9) else ""


def _table(stages: list[Stage], indent: str) -> Iterator[str]:
    slowest = max(stage["time_s"] for stage in stages)
    for place, stage in enumerate(stages):
        mark = " <- the slowest" if stage["time_s"] >= slowest * (1 - 1e-12) else ""
        ends = stage["first_node"] if stage["layers"] == 1 else f"{stage['first_node']} .. {stage['last_node']}"
        memory = f", {stage['memory_bytes'] / 1e9:.3g} GB" if stage["memory_bytes"] else ""
        yield (
            f"{indent}stage {place}: {stage['layers']} layers ({ends}) on {stage['replicas']}, "
            f"{_seconds(stage['time_s'])}{memory}, bound by {_BOUND_BY[stage['bound_by']]}{mark}"
        )
        if "stages" in stage:
            yield from _table(stage["stages"], indent + "  ")


def _seconds(time: Any) -> str:
    return f"{time * 1e3:.6g} ms"
