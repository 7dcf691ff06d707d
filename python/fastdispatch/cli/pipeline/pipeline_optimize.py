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
from fastdispatch.cli.paths import Input, OutputFolder, PictureFile, SvgFile, check_input
from fastdispatch.files.output import check_folder, check_place, make_folder, write
from fastdispatch.pipeline.graph import Graph
from fastdispatch.pipeline.optimize import MEMORY, SYNCHRONOUS, Optimum, Stage, optimize
from fastdispatch.text.formats import printable

#: Seconds before the progress bar.
_PATIENCE = 0.5

_BOUND_BY = {
    "compute": "computing",
    "reduce": "the all-reduce of gradients",
    "in": "receiving activations",
    "out": "sending activations",
}


_DESCRIPTION = """Find the fastest pipeline for a graph of layers (docs/guides/pipeline-optimize.md): the stages, their
replicas and, with --schedule, a step under that schedule. Options of
the published optimizer of PipeDream keep their names."""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "optimize", help="find the fastest pipeline for a graph of layers", description=_DESCRIPTION
    )
    parser.add_argument(
        "input", nargs="?", type=Input, metavar="GRAPH", help="graph of layers (docs/formats/pipeline-graph.md)"
    )
    parser.add_argument(
        "-n",
        "--machines",
        "--all_num_machines",
        dest="stages",
        nargs="+",
        metavar="N",
        help="machines per level, the innermost level first",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_options(parser, hidden=False)
    parser.set_defaults(function=run)


def add_options(parser: argparse.ArgumentParser, *, hidden: bool) -> None:
    """Add the options, under the names of the published optimizer where it has them."""
    group = parser.add_argument_group()
    group.add_argument("-f", "--profile_filename", type=Input, metavar="GRAPH", help="same as the argument GRAPH")
    group.add_argument(
        "-b", "--network_bandwidths", nargs="+", metavar="BYTES", help="bytes per second, per level (default: 1e9)"
    )
    group.add_argument(
        "-s",
        "--memory_size",
        type=float,
        default=16e9,
        metavar="BYTES",
        help="bytes of memory per machine (default: 16e9)",
    )
    group.add_argument(
        "-o", "--output_directory", type=OutputFolder, metavar="DIR", help="write gpus=N.txt, .json and .dot to DIR"
    )
    group.add_argument("--straight_pipeline", action="store_true", help="use one machine per stage")
    group.add_argument("--use_memory_constraint", action="store_true", help="same as --memory published")
    group.add_argument("--use_fewer_machines", action="store_true", help="allow unused machines")
    group.add_argument(
        "--activation_compression_ratio",
        type=float,
        metavar="R",
        help="compression of activations, above 0; without it, transfers of activations take no time",
    )
    group.add_argument(
        "--cut",
        choices=("published", "true"),
        default="published",
        help="how to count the bytes at a cut (default: published)",
    )
    group.add_argument("--memory", choices=MEMORY, help="memory model that must fit in -s")
    group.add_argument(
        "--optimizer-bytes",
        type=float,
        default=2.0,
        metavar="X",
        help="bytes of optimizer state per byte of parameters (default: 2)",
    )
    group.add_argument("--in-flight", type=count, metavar="N", help="keep at most N micro-batches in flight")
    group.add_argument("--max-states", type=count, metavar="N", help="consider at most N cuts of the graph")
    group.add_argument("--second", action="store_true", help="also print the second best plan")
    group.add_argument(
        "--explain", action="store_true", help="also print the gain of one more machine and of twice the bandwidth"
    )
    group.add_argument(
        "--each-machine-count",
        action="store_true",
        help="also print the times for 1, 2, ... machines of the outermost level",
    )
    group.add_argument(
        "--schedule", metavar="NAME", help=f"minimize the step under this schedule: {', '.join(SYNCHRONOUS)}"
    )
    group.add_argument(
        "--micro-batches", type=count, default=8, metavar="M", help="micro-batches of the schedule (default: 8)"
    )
    group.add_argument("--chunks", type=count, metavar="V", help="interleaved: stages per rank (default: 2)")
    group.add_argument("--schedule-svg", type=SvgFile, metavar="FILE", help="write an image of the schedule to FILE")
    group.add_argument(
        "--svg",
        type=PictureFile,
        metavar="FILE",
        help="write an image of the stages to FILE, or its Graphviz source (.dot)",
    )
    for action in group._group_actions if hidden else ():
        action.help = argparse.SUPPRESS


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
    for place in filter(None, (arguments.svg, arguments.schedule_svg)):
        check_place(place)
    if arguments.output_directory:
        check_folder(Path(arguments.output_directory))
    speeds = [float(text) for text in arguments.network_bandwidths or ["1e9"]]
    found = _solve(arguments, graph, machines, speeds, second=arguments.second, gains=arguments.explain)
    each = _each(arguments, graph, machines, speeds) if arguments.each_machine_count else []
    if found.schedule is None and not found.complete and found.bound_s < found.time_per_stage_s:
        looked = f"{found.states} " + ("were considered" if found.chains else "were not all compared")
        message(
            f"{path}: too many possible cuts: {looked}; no plan takes less than {found.bound_s:g} s (--max-states)",
        )
    if arguments.output_directory:
        _save(found, Path(arguments.output_directory))
    if arguments.svg:
        _draw(found, Path(arguments.svg))
    if arguments.schedule_svg:
        from fastdispatch.page.plan_svg import draw

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
    """Return the minimized time."""
    return found.time_per_stage_s if found.schedule is None else float(found.schedule["step_s"])


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
    yield f"one machine    {_seconds(one)} per step of {about['micro_batches']} micro-batches"
    yield f"{about['name']:14} {_seconds(step)}, {one / step if step else 0:.2f} times one machine, bubble {share:.1%}"
    if about["proven"]:
        yield "               proven: no plan is shorter"
    else:
        bound = about["bound_s"]
        yield f"               not proven: no plan is shorter than {_seconds(bound)} ({bound / step - 1:.1%})"
    if about["asynchronous_s"] is not None:
        yield f"               the plan without a schedule takes {_seconds(about['asynchronous_s'])} with this schedule"


def _gain(found: Optimum, time: float | None, bound: float | None, what: str) -> str:
    if time is None:
        return f"{what}: no plan was found"
    saved = 1 - time / _step(found) if _step(found) else 0
    less = _unproven(time, bound)
    if abs(saved) < 1e-9:
        return f"{what} would change nothing{less}"
    return f"{what} would change the time to {_seconds(time)}, {abs(saved):.1%} {'less' if saved > 0 else 'more'}{less}"


def _unproven(time: float, bound: float | None) -> str:
    return f" (not proven: not less than {_seconds(bound)})" if bound is not None and bound < time * (1 - 1e-9) else ""


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
