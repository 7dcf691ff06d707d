"""``fastdispatch report``: tables, call tree, hot paths, callers and callees."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fastdispatch._core import Error
from fastdispatch.cli.numbers import add_steps, check_gpu, count, peak, percent, whole
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import add_input

if TYPE_CHECKING:
    from fastdispatch.report.run_summary import Summary

_TOP, _LEAST = 20, 1.0

#: Columns of tables of measures in a narrower terminal.
_NARROWEST = 60

_DESCRIPTION = """Print a recording as a table of functions, operators, modules, packages, kernels or phases, as the
tree of call paths, or as the callers and callees of one function. Shares are fractions of the time of the main threads
in the steps that the first lines of the report name."""
_OPTIONS = f"""
--by {{function,operator,module,package,kernel,phase}}  group rows by this
--sort {{calls,ops,self,total,backward,spread,gpu,flops,bytes,comm,allocated}}  sort by this column (default: gpu if
                       kernels were recorded, else total); the last four require a recording with --measure
--top N                print N rows (default: {_TOP}; with --json all)
--all                  print all rows, including functions of libraries
--tree                 print the tree of call paths
--depth N              limit the tree to N levels
--min-percent PERCENT  hide branches of the tree below this share of the time (default: 1; with --json 0)
--paths [N]            print the N hottest paths (default: as many as cover 80 %% of the time)
--callers NAME         print the callers of the function whose key contains NAME
--callees NAME         print the callees of the function whose key contains NAME
--summary              print the figures of the run for trackers
--flops                print floating-point operations per step (recorded with --measure flops)
--peak PEAK            with --flops and --summary, compare with FLOP/s (312e12), with the dtype (fp32, tf32, bf16, fp16,
                       fp8) of the recorded GPU, or with a short matrix product here (measure, measure:bf16)
--comm                 print calls, bytes and bandwidth of communication
--memory               print who holds memory at the peak or a failed allocation, and growth (recorded with --measure
                       memory)
--shapes               print shapes of operands (recorded with --measure shapes)
--rank N               report only rank N
"""
_OUTPUT = """
--time  print times instead of shares
--json  print everything as JSON, with times in nanoseconds
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("report", help="print a table or tree of a recording", description=_DESCRIPTION)
    add_input(parser)
    more = {name: count for name in ("top", "depth")} | {"min_percent": percent, "peak": peak, "rank": whole}
    add_options(parser, _OPTIONS, **more, paths={"type": count, "const": 0})
    add_steps(parser)
    add_options(parser, _OUTPUT)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.report.report_model import report
    from fastdispatch.report.report_rows import ReportOptions
    from fastdispatch.report.run_summary import run_summary

    if arguments.peak is not None and not (arguments.flops or arguments.summary):
        raise Error("--peak requires --flops or --summary")
    views = (arguments.callers, arguments.callees, arguments.paths)
    if arguments.tree + arguments.summary + sum(view is not None for view in views) > 1:
        raise Error("--tree, --paths, --callers, --callees and --summary cannot be combined: give only one")
    if arguments.flops or arguments.comm or arguments.memory or arguments.shapes:
        _print_measures(arguments)
        return
    neighbours = arguments.callers is not None or arguments.callees is not None
    for option in ("--depth", "--min-percent"):
        if getattr(arguments, option[2:].replace("-", "_")) is not None and not arguments.tree:
            raise Error(f"{option} requires --tree")
    trace = load_run(arguments.path, steps=arguments.steps, rank=arguments.rank)
    if arguments.summary:
        print_summary(run_summary(trace, arguments.peak), arguments.json)
        return
    if arguments.sort == "gpu":
        check_gpu(trace, arguments.path, "--sort")
    everything = arguments.all or arguments.json
    options = ReportOptions(
        **{name: getattr(arguments, name) for name in ("sort", "rank", "tree", "depth", "callers", "callees", "paths")},
        by=arguments.by or ("node" if neighbours else "function"),
        top=arguments.top if everything else arguments.top or _TOP,
        hide=not everything,
        min_share=(arguments.min_percent if arguments.min_percent is not None else 0.0 if arguments.json else _LEAST)
        / 100,
    )
    made = report(trace, options)
    if arguments.json:
        print(json.dumps(made.as_json()))
        return
    from fastdispatch.report.report_text import print_report

    print_report(made, sys.stdout, times=arguments.time)


def print_summary(summary: Summary, as_json: bool) -> None:
    if as_json:
        print(json.dumps(summary))
        return
    width = max(map(len, summary))
    for name, value in summary.items():
        print(f"{name:{width}}  {f'{value:.6g}' if isinstance(value, float) else value}")


def _print_measures(arguments: argparse.Namespace) -> None:
    """Print the figures of a measure."""
    printers = {"flops": _print_flops, "comm": _print_comm, "memory": _print_memory, "shapes": _print_shapes}
    chosen = next(name for name in printers if getattr(arguments, name))
    others = ["summary", "tree", "depth", "min_percent", "paths", "callers", "callees", "time"]
    others += [name for name in printers if name != chosen]
    others += {"comm": ["rank"], "shapes": ["by"]}.get(chosen, [])
    for option in others:
        value = getattr(arguments, option)
        if value is not None and value is not False:
            raise Error(f"--{option.replace('_', '-')} and --{chosen} cannot be combined: give only one")
    printers[chosen](arguments)


def _rows_of(arguments: argparse.Namespace, sorts: Iterable[str], measure: str) -> dict[str, Any]:
    """Return the arguments that select rows of a measure. Raises Error for a column that it does not have."""
    sort = arguments.sort or "total"
    if sort not in sorts:
        raise Error(f"--sort {sort}: with --{measure} one of {', '.join(sorts)}")
    top = arguments.top if arguments.all or arguments.json else arguments.top or _TOP
    return {"rank": arguments.rank, "sort": sort, "top": top}


def _print_flops(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.report.report_flops import SORTS, flop_report

    rows = _rows_of(arguments, SORTS, "flops")
    trace = load_run(arguments.path, steps=arguments.steps, rank=arguments.rank)
    hide = not (arguments.all or arguments.json)
    made = flop_report(trace, by=arguments.by or "function", hide=hide, peak=arguments.peak, **rows)
    _print(made, arguments, "flops")


def _print_comm(arguments: argparse.Namespace) -> None:
    """Print the communication of whole recordings: measures have no figures of single steps."""
    from fastdispatch import load
    from fastdispatch.report.comm_report import back_end_lines, comm_json, comm_lines, comm_rows, step_lines, wait_lines

    trace = load(arguments.path)
    rows = comm_rows(trace, arguments.path)
    if arguments.json:
        print(json.dumps(comm_json(trace, rows)))
    else:
        tables = [*comm_lines(rows[: arguments.top]), *wait_lines(trace), *back_end_lines(trace)]
        print("\n".join([*step_lines(trace), *tables]))


def _print_shapes(arguments: argparse.Namespace) -> None:
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.report.report_shapes import SORTS, shape_report

    rows = _rows_of(arguments, SORTS, "shapes")
    trace = load_run(arguments.path, steps=arguments.steps, rank=arguments.rank)
    _print(shape_report(trace, everything=arguments.all or arguments.json, **rows), arguments, "shapes")


def _print_memory(arguments: argparse.Namespace) -> None:
    """Print the memory of whole recordings: measures have no figures of single steps."""
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.measures.memory_report import memory_report

    made = memory_report(load_run(arguments.path, rank=arguments.rank), arguments.rank)
    _print(made, arguments, "memory", top=None if arguments.all else arguments.top or _TOP)


def _print(made: Any, arguments: argparse.Namespace, name: str, **options: Any) -> None:
    """Print figures of a measure as JSON, or as the text of this name."""
    if arguments.json:
        print(json.dumps(made.as_json()))
        return
    from fastdispatch.report.terminal import print_parts

    parts = import_module(f"fastdispatch.report.{name}_text").parts(made, **options)
    print_parts(parts, sys.stdout, least=_NARROWEST)
