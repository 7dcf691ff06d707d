"""What works on this machine, in this environment: one check per part of the recorder."""

import ctypes
import os
import platform
import resource
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from fastdispatch import _core
from fastdispatch._core import Error
from fastdispatch.files.run_directory import network_file_system
from fastdispatch.record import probe
from fastdispatch.record.dispatch import limits
from fastdispatch.record.environment import free_tool_ids
from fastdispatch.record.gpu import no_timers, other_device
from fastdispatch.version import __version__

Status = Literal["ok", "limited", "missing"]

_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
#: Python 3.15 reads files of PEP 829, and ignores import lines in ``.pth`` files from 3.18.
_ARGUMENTS = "arguments of a call live until its end"

_HOOK = f"fastdispatch-startup.{'start' if sys.version_info >= (3, 15) else 'pth'}"
#: Default of ``CallGraph(max_mb=)``: the largest size of a recording.
_RECORDING_BYTES = 64 << 20
#: Limits above are the kernel's way to write "none".
_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class Check:
    """One line of the result."""

    id: Literal["python", "calls", "torch", "operators", "clock", "output", "gpu", "graphviz", "startup", "limits"]
    status: Annotated[Status, "limited: works with the restriction in the text; missing: this part does not work"]
    text: str


def checks(folder: Path) -> Iterator[Check]:
    """Run all checks; ``folder`` is the output folder of a recording, or the folder that it would be made in.

    PyTorch is imported if it is installed. Nothing is written.
    """
    for check in (_python, _calls, _torch, _operators, _clock, _output, _gpu, _graphviz, _startup, _limits):
        yield check(folder)


def _python(folder: Path) -> Check:
    text = f"fastdispatch {__version__}, {platform.python_implementation()} {platform.python_version()}"
    return Check("python", "ok", f"{text}, {sys.executable}")


def _calls(folder: Path) -> Check:
    if sys.version_info < (3, 12):
        return Check("calls", "ok", f"frame: {_ARGUMENTS} (monitor, without this, needs Python 3.12)")
    if free_tool_ids():
        return Check("calls", "ok", "monitor (default), frame")
    text = f"frame: {_ARGUMENTS}; monitor needs one of the tool ids 2 to 5 of sys.monitoring, and all are in use"
    return Check("calls", "limited", text)


def _torch(folder: Path) -> Check:
    if find_spec("torch") is None:
        return Check("torch", "missing", "not installed: Python calls are recorded, operators are not")
    try:
        import torch
    except Exception as error:
        return Check("torch", "missing", f"the import fails: {error}")
    gpu = "without CUDA"
    if torch.version.cuda or torch.version.hip:
        gpu = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {torch.version.hip}"
    return Check("torch", "ok", f"PyTorch {torch.__version__}, {gpu}, {Path(torch.__file__).parent}")


def _operators(folder: Path) -> Check:
    if "torch" not in sys.modules:
        return Check("operators", "missing", "PyTorch is not imported")
    dispatch = "; ".join(filter(None, ["dispatch", limits()]))
    session = _core.Session(None, max_mb=1)
    session.start()
    try:
        layout = session.attach_records(probe.run)
    except Error as error:
        return Check("operators", "limited", f"record is refused: {error}; {dispatch}")
    finally:
        session.stop()
    return Check("operators", "ok", f"record (self-test passed: {layout}); {dispatch}")


def _clock(folder: Path) -> Check:
    kernel = _first_line(_CLOCK_SOURCE) or "unknown"
    if _core.clock_source() == "counter":
        return Check("clock", "ok", f"the processor's counter ({kernel})")
    text = f"clock_gettime, because the kernel uses {kernel} and not the processor's counter: each call costs more"
    return Check("clock", "limited", text)


def _output(folder: Path) -> Check:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not os.access(place, os.W_OK | os.X_OK):
        return Check("output", "missing", f"{place}: no permission to write: give another folder")
    free = shutil.disk_usage(place).free
    text = f"{place}: {free >> 20} MB free"
    if free < _RECORDING_BYTES:
        return Check("output", "limited", f"{text}: a recording may need {_RECORDING_BYTES >> 20} MB")
    network = network_file_system(place)
    if network is not None:
        return Check("output", "limited", f"{text}, on {network}: recordings move there from a local disk at the end")
    return Check("output", "ok", text)


def _gpu(folder: Path) -> Check:
    try:
        library = _core.gpu_runtime()
    except Error as error:
        return Check("gpu", "missing", no_timers(other_device()) or f"{error}: no GPU times")
    if "torch" in sys.modules and not _core.finds_gpu_stream():
        problem = "PyTorch has no known function for its current stream: no GPU times"
        return Check("gpu", "missing", f"{library} is loaded, but {problem}")
    try:
        kernels = f"{library} and {_core.kernel_library()} are loaded: kernels are recorded"
        return Check("gpu", "ok", f"{kernels}, {_clocks()}")
    except Error as error:
        return Check("gpu", "limited", f"{library} is loaded, but {error}: GPU times of modules, no kernels")


def _clocks() -> str:
    """Return whether the library for clocks, power and errors is there."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return "clocks and power are not (no libnvidia-ml.so.1)"
    return "clocks and power through libnvidia-ml.so.1"


def _graphviz(folder: Path) -> Check:
    program = shutil.which("dot")
    if program is None:
        return Check("graphviz", "missing", "no program dot: svg, png and pdf need it (apt-get install graphviz)")
    return Check("graphviz", "ok", program)


def _startup(folder: Path) -> Check:
    folders = [sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages()]
    found = [path for path in dict.fromkeys(folders) if (Path(path) / _HOOK).is_file()]
    if found:
        return Check("startup", "ok", f"FASTDISPATCH=1 records every process: {found[0]}/{_HOOK}")
    text = f"FASTDISPATCH=1 has no effect: {_HOOK} is in no folder of site packages; use fastdispatch run"
    return Check("startup", "limited", text)


def _limits(folder: Path) -> Check:
    size = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    memory = [int(line) for path in _MEMORY_LIMITS if (line := _first_line(path)) and line.isdigit()]
    if 0 <= size < _RECORDING_BYTES:
        text = f"files of at most {size >> 20} MB (ulimit -f): give CallGraph a max_mb below that"
        return Check("limits", "limited", text)
    limit = min((value for value in memory if value < _NO_LIMIT), default=None)
    if limit is None:
        return Check("limits", "ok", "no limit of file size or memory")
    text = f"{limit >> 20} MB of memory (container); a recording needs at most {_RECORDING_BYTES >> 20} MB"
    return Check("limits", "ok", text)


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").partition("\n")[0].strip()
    except OSError:
        return None
