"""Record a PyTorch training run and inspect its call graph.

    import fastdispatch

    with fastdispatch.CallGraph():
        pretrain(...)

and then, in a shell, ``fastdispatch report fastdispatch-out``.
"""

from fastdispatch._core import Error, job, label, set_own_folder
from fastdispatch.read.trace import Trace, load, merge
from fastdispatch.record.callgraph import CallGraph, dump
from fastdispatch.record.dispatch import DispatchMode
from fastdispatch.record.gpu import Gpu
from fastdispatch.record.profiler_range import job_schedule_profiler_range
from fastdispatch.record.schedule import schedule
from fastdispatch.record.timeline import Timeline
from fastdispatch.version import __version__

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    from fastdispatch import pipeline

set_own_folder(__path__[0])
del set_own_folder


def __getattr__(name: str) -> object:
    """Import ``pipeline`` on first use; most recorded programs do not need it."""
    if name == "pipeline":
        from importlib import import_module

        return import_module("fastdispatch.pipeline")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "CallGraph",
    "DispatchMode",
    "Error",
    "Gpu",
    "Timeline",
    "Trace",
    "__version__",
    "dump",
    "job",
    "job_schedule_profiler_range",
    "label",
    "load",
    "merge",
    "pipeline",
    "schedule",
]
