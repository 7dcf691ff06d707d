"""``fastdispatch pipeline plan``: the table, simulated times and diagram of a schedule."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction

from fastdispatch._core import Error
from fastdispatch.cli.numbers import count, whole
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import SvgFile
from fastdispatch.files.output import write
from fastdispatch.pipeline.plan import Plan, Replay, plan
from fastdispatch.read.schedule_jobs import SCHEDULES

_DESCRIPTION = """Print the actions of each stage under a pipeline schedule, and simulate their times. Times are those
of one micro-batch on a whole stage, in any unit: one number, or one per stage, separated by commas."""
_OPTIONS = """
--stages S         number of stages (processes)
--micro-batches M  number of micro-batches per optimizer step
--chunks V         model chunks per stage (interleaved: default 2)
--stage K          print only stage K
--steps            deepspeed-train: print step, even step, even stage, micro-batch and forward
--forward T        forward time (default: 1)
--backward T       backward time (default: 2)
--transfer T       transfer time (default: 0)
--blocking         simulate transfers that block sender and receiver
--json             print everything as JSON (docs/reference/schemas/pipeline-plan.schema.json)
--svg FILE         write a diagram to FILE instead of the table
"""
_TIMES = {"forward": 1, "backward": 2, "transfer": 0}


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("plan", help="print and simulate a schedule", description=_DESCRIPTION)
    parser.add_argument("schedule", choices=SCHEDULES, metavar="SCHEDULE", help=f"one of {', '.join(SCHEDULES)}")
    numbers = {name: {"type": count, "required": True} for name in ("stages", "micro_batches")}
    times = {name: {"type": _times, "default": [Fraction(time)]} for name, time in _TIMES.items()}
    add_options(parser, _OPTIONS, **numbers, chunks=count, stage=whole, **times, svg=SvgFile)
    parser.set_defaults(function=run)


def _times(text: str) -> list[Fraction]:
    try:
        return [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(
            f"{text!r}: write a number, or numbers separated by commas, e.g. 1,2.5,1"
        ) from None


def run(arguments: argparse.Namespace) -> None:
    chunks = arguments.chunks or (2 if arguments.schedule == "interleaved" else 1)
    made = plan(arguments.schedule, arguments.stages, arguments.micro_batches, chunks)
    if arguments.stage is not None and not 0 <= arguments.stage < made.stages:
        raise Error(f"--stage {arguments.stage}: the plan has stages 0 to {made.stages - 1}")
    given = {name: getattr(arguments, name) for name in _TIMES}
    times = {name: each[0] if len(each) == 1 else each for name, each in given.items()}
    replay = made.replay(**times, blocking=arguments.blocking)
    if arguments.svg is not None:
        from fastdispatch.page.plan_svg import draw

        write(arguments.svg, draw(made, replay).encode())
    if arguments.json:
        print(made.document(replay))
    elif arguments.steps:
        sys.stdout.writelines(f"{line}\n" for line in _steps(made, arguments.stage))
    elif arguments.svg is None:
        sys.stdout.writelines(f"{line}\n" for line in _table(made, replay, arguments.stage))


def _shown(made: Plan, stage: int | None) -> range:
    return range(made.stages) if stage is None else range(stage, stage + 1)


def _steps(made: Plan, stage: int | None) -> list[str]:
    lines = []
    for place in _shown(made, stage):
        lines += [f"stage {place}"] if stage is None else []
        lines += ["step even_step even_stage micro_batch forward"]
        lines += [" ".join(map(str, step)) for step in made.train_steps(place)]
    return lines


def _table(made: Plan, replay: Replay, stage: int | None) -> Iterator[str]:
    for place in _shown(made, stage):
        if made.chunks > 1:
            yield f"r{place} {made.table(place)}"
        else:
            yield f"{made.stages}.{place} b{made.buffers(place)}  {made.table(place)}"
    yield ""
    yield from summary(made, replay, _shown(made, stage))


def summary(made: Plan, replay: Replay, stages: range) -> Iterator[str]:
    """Yield the simulated times as sentences."""
    transfers = ""
    if any(replay.times["RA"]):
        transfers = f" and {'blocking' if replay.blocking else 'overlapped'} transfers of {_each(replay, 'RA')}"
    halves = made.schedule.startswith("zb-")
    kinds = ("F", "I", "W") if halves else ("F",) if made.schedule == "deepspeed-inference" else ("F", "B")
    given = ", ".join(f"{kind} = {_each(replay, kind)}" for kind in kinds)
    chunk = " a chunk" if made.chunks > 1 else ""
    yield f"with {given}{chunk}{transfers}: {_number(replay.makespan)} in total"
    yield (
        f"bubble: {_percent(replay.bubble_of_total)} of all time (idle / makespan), "
        f"{_percent(replay.bubble_of_ideal)} of the ideal time (idle / computing)"
    )
    for place in stages:
        idle = replay.idle[place]
        share = idle / replay.makespan if replay.makespan else Fraction()
        count = replay.in_flight[place]
        unit = "micro-batch" if made.chunks == 1 else "pass through a chunk"
        if count != 1:
            unit = "micro-batches" if made.chunks == 1 else "passes through a chunk"
        yield f"stage {place}: idle {_number(idle)}, {_percent(share)}; holds at most {count} {unit} for backward"


def _each(replay: Replay, kind: str) -> str:
    times = [*dict.fromkeys(replay.times[kind])]
    return _number(times[0]) if len(times) == 1 else ", ".join(map(_number, replay.times[kind]))


def _number(value: Fraction) -> str:
    """Format a number exactly if it is short, as decimal or fraction, else rounded."""
    if value == round(value, 4):
        return f"{float(value):.12g}"
    return str(value) if value.denominator < 1000 else f"{float(value):.6g}"


def _percent(share: Fraction) -> str:
    exact = f" ({share})" if 1 < share.denominator < 1000 else ""
    return f"{float(share * 100):.1f} %{exact}"
