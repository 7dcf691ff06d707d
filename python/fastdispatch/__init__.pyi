"""Record a PyTorch training run and inspect its call graph."""

from collections.abc import Sequence

from fastdispatch import pipeline as pipeline
from fastdispatch._core import ArgumentError as ArgumentError
from fastdispatch._core import Error as Error
from fastdispatch._core import RangeError as RangeError
from fastdispatch._core import job as job
from fastdispatch._core import label as label
from fastdispatch.compare.diff import diff as diff
from fastdispatch.dataset.query import scan as scan
from fastdispatch.detectors import findings as findings
from fastdispatch.read.trace import PathLike, Steps
from fastdispatch.read.trace import Trace as _Tables
from fastdispatch.read.trace import merge as merge
from fastdispatch.record.callgraph import CallGraph as _Recorder
from fastdispatch.record.callgraph import dump as dump
from fastdispatch.record.custom_flops import flop_formula as flop_formula
from fastdispatch.record.dispatch import DispatchMode as DispatchMode
from fastdispatch.record.gpu import Gpu as Gpu
from fastdispatch.record.profiler_range import job_schedule_profiler_range as job_schedule_profiler_range
from fastdispatch.record.schedule import schedule as schedule
from fastdispatch.record.timeline import Timeline as Timeline
from fastdispatch.version import __version__ as __version__
from fastdispatch.views import GraphViews, TraceViews

class Trace(TraceViews, _Tables):
    """A recording, or several merged: tables, and the views that are attached to them."""

class CallGraph(GraphViews, _Recorder):
    """Records the calls of a ``with`` block or of a decorated function."""

    @property
    def trace(self) -> Trace: ...

def load(path: PathLike | Sequence[PathLike], *, timeline: bool = False, steps: Steps = None) -> Trace:
    """Read a recording, a dump, a merge or a run directory, or several of them."""

def load_children(path: PathLike) -> list[Trace]:
    """Read the recordings of the other processes of a rank, or of all ranks of a run directory."""

def load_ipython_extension(shell: object) -> None:
    """Register ``%%fastdispatch`` for ``%load_ext fastdispatch``."""
