"""The tools that we compare with, each as a context manager, set up as their own manuals say."""

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastdispatch

HERE = Path(__file__).parent


def plain() -> AbstractContextManager[None]:
    """No recorder: the base of all comparisons."""
    return nullcontext()


def recorded(**options: Any) -> Callable[[], AbstractContextManager[object]]:
    """Ours, into a real file, in every step."""
    options = {"steps": "all"} | options

    @contextmanager
    def side() -> Iterator[fastdispatch.CallGraph]:
        temporary = tempfile.TemporaryDirectory(prefix="fastdispatch-bench-")
        with temporary as folder, fastdispatch.CallGraph(folder, **options) as graph:
            yield graph

    return side


def c_profile() -> AbstractContextManager[object]:
    """CPython's own deterministic profiler."""
    import cProfile

    return cProfile.Profile()


def viz_tracer(*, c_functions: bool) -> Callable[[], AbstractContextManager[object]]:
    """VizTracer with its default buffer, one tracer for all turns, so that its pages are in memory.

    Without C functions it does less than by default and is the closer comparison: we do not record them either.
    """
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, ignore_c_function=not c_functions)
    tracer.start()  # removes the profile function that the constructor has set, at its stop
    tracer.stop()
    tracer.clear()

    @contextmanager
    def side() -> Iterator[None]:
        tracer.start()
        try:
            yield
        finally:
            tracer.stop()
            tracer.clear()

    return side


def _compiler() -> list[str]:
    """The C compiler and its options, as ``CC`` gives them."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


@cache
def _library(source: str, loader: Callable[[str], ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """A C file of this folder, compiled once per process."""
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        library = str(Path(folder) / f"{source}.so")
        include = f"-I{sysconfig.get_paths()['include']}"
        command = [*_compiler(), "-O2", "-shared", "-fPIC", include, "-o", library, str(HERE / source)]
        subprocess.run(command, check=True)
        return loader(library)


def empty_hook(*, clock: bool) -> Callable[[], AbstractContextManager[None]]:
    """An evaluator hook that forwards every call, ``clock``: and reads the time-stamp counter before and after it."""

    @contextmanager
    def side() -> Iterator[None]:
        library = _library("empty_hook.c", ctypes.PyDLL)
        library.hook(2 if clock else 1)
        try:
            yield
        finally:
            library.hook(0)

    return side


#: The events of a call or of a resume of a generator, and of its end.
_CALL_EVENTS = ("PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD")


def empty_monitor(*, clock: bool) -> Callable[[], AbstractContextManager[None]]:
    """Callbacks of ``sys.monitoring`` that do nothing, ``clock``: or only read the time-stamp counter."""

    @contextmanager
    def side() -> Iterator[None]:
        monitoring = sys.monitoring
        make = _library("empty_monitor.c", ctypes.PyDLL).callback
        make.restype = ctypes.py_object
        tool, events = monitoring.OPTIMIZER_ID, [getattr(monitoring.events, name) for name in _CALL_EVENTS]
        monitoring.use_tool_id(tool, "empty callbacks")
        for event in events:
            monitoring.register_callback(tool, event, make(clock))
        monitoring.set_events(tool, sum(events))
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            for event in events:
                monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)

    return side


def installed(name: str) -> bool:
    return find_spec(name) is not None


# -- PyTorch's ---------------------------------------------------------------------------------------------------------


def can_compile() -> bool:
    return shutil.which(_compiler()[0]) is not None


def flop_counter() -> AbstractContextManager[object]:
    """PyTorch's counter of FLOPs, a Python dispatch mode."""
    from torch.utils.flop_counter import FlopCounterMode

    return FlopCounterMode(display=False)


@contextmanager
def empty_callback(*, inputs: bool = False) -> Iterator[None]:
    """PyTorch's record functions, listened to by a C function that does nothing, ``inputs``: but needs the operands."""
    import torch

    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    add = ctypes.cast(library["_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"], ctypes.c_void_p)
    remove = library["_ZN2at14removeCallbackEm"]
    add_empty = _library("empty_callback.c").add_empty_callback
    add_empty.restype, add_empty.argtypes = ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_bool]
    remove.restype, remove.argtypes = None, [ctypes.c_uint64]
    handle = add_empty(add, inputs)
    try:
        yield
    finally:
        remove(handle)


def deepspeed_flops(model: Any) -> Callable[[], AbstractContextManager[object]]:
    """DeepSpeed's profiler, which replaces functions of PyTorch and sees the forward only."""
    from deepspeed.profiling.flops_profiler import FlopsProfiler

    @contextmanager
    def side() -> Iterator[None]:
        profiler = FlopsProfiler(model)
        profiler.start_profile()
        try:
            yield
        finally:
            profiler.end_profile()

    return side


def empty_mode() -> AbstractContextManager[object]:
    """A minimal dispatch mode in Python."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Empty(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            return func(*args, **(kwargs or {}))

    return Empty()


def torch_profiler(**options: bool) -> Callable[[], AbstractContextManager[object]]:
    """torch.profiler on the CPU; its own work after the end is not timed."""

    def side() -> AbstractContextManager[object]:
        from torch.profiler import ProfilerActivity, profile

        return profile(activities=[ProfilerActivity.CPU], **options)

    return side


@contextmanager
def execution_trace() -> Iterator[None]:
    """PyTorch's observer, into a real file."""
    import torch

    observer = torch.profiler.ExecutionTraceObserver()
    with tempfile.TemporaryDirectory(prefix="fastdispatch-bench-") as folder:
        observer.register_callback(str(Path(folder) / "et.json"))
        observer.start()
        yield
        observer.stop()
        observer.unregister_callback()


@contextmanager
def stack_script() -> Iterator[None]:
    """What people write today: the Python stack of every operator, in a Python dispatch mode."""
    import inspect

    from torch.utils._python_dispatch import TorchDispatchMode

    edges: set[tuple[str, str]] = set()

    class Stacks(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            callee = str(func)
            for info in inspect.stack()[1:]:
                owner = type(info.frame.f_locals["self"]).__name__ if "self" in info.frame.f_locals else ""
                caller = f"{info.filename}:[{owner}]:{info.function}"
                edges.add((caller, callee))
                callee = caller
            return func(*args, **(kwargs or {}))

    with Stacks():
        yield
