"""Record a PyTorch training run and inspect its call graph.

    import fastdispatch

    with fastdispatch.CallGraph():
        pretrain(...)

and then, in a shell, ``fastdispatch report fastdispatch-out``.
"""

from fastdispatch._core import ArgumentError, Error, RangeError, job, label, set_own_folder
from fastdispatch.read.processes import load_children
from fastdispatch.read.trace import Trace, load, merge
from fastdispatch.record.callgraph import CallGraph, dump
from fastdispatch.record.child_recordings import watch_forks
from fastdispatch.record.custom_flops import flop_formula
from fastdispatch.record.dispatch import DispatchMode
from fastdispatch.record.gpu import Gpu
from fastdispatch.record.profiler_range import job_schedule_profiler_range
from fastdispatch.record.schedule import schedule
from fastdispatch.record.timeline import Timeline
from fastdispatch.version import __version__
from fastdispatch.views import GraphViews, TraceViews, attach

set_own_folder(__path__[0])
watch_forks()
attach(TraceViews, Trace)
attach(GraphViews, CallGraph)
del set_own_folder, watch_forks, attach, GraphViews, TraceViews


def __getattr__(name: str) -> object:
    """Import ``pipeline``, ``findings``, ``diff`` and ``scan`` on first use; most recorded programs do not need
    them."""
    if name == "pipeline":
        from importlib import import_module

        return import_module("fastdispatch.pipeline")
    if name == "findings":
        from fastdispatch.detectors import findings

        return findings
    if name == "diff":
        from fastdispatch.compare.diff import diff

        return diff
    if name == "scan":
        from fastdispatch.dataset.query import scan

        return scan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """Register ``%%fastdispatch`` for ``%load_ext fastdispatch``."""
    from fastdispatch.record.magics import register

    register(shell)


__all__ = [
    "ArgumentError",
    "CallGraph",
    "DispatchMode",
    "Error",
    "Gpu",
    "RangeError",
    "Timeline",
    "Trace",
    "__version__",
    "diff",
    "dump",
    "findings",
    "flop_formula",
    "job",
    "job_schedule_profiler_range",
    "label",
    "load",
    "load_children",
    "merge",
    "pipeline",
    "scan",
    "schedule",
]
