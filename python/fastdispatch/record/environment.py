"""Facts of the recorded process: rank, run, hardware, versions, and its file system."""

import json
import os
import site
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from fastdispatch import _core
from fastdispatch._core import Session
from fastdispatch.record import launchers
from fastdispatch.record.compiler import Compiler, kernel_sources
from fastdispatch.record.gpu import is_in_use

# Where files come from, as numbered in csrc/recording/recording_format.h.
FROM_USER, FROM_SITE, FROM_STDLIB = range(3)

_RUN_VARIABLES = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
#: Each names a job of MPI alone.
_JOB_VARIABLES = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_PORT", "PALS_APID", "FLUX_JOB_ID")

CallSource = Literal["auto", "frame", "monitor", "off"]

#: Sources of Python calls, as numbered in csrc/capture/state/session_state.h.
CALLS = {"off": 0, "frame": 1, "monitor": 2}

#: Ids of sys.monitoring that the recorder uses, in this order; as in csrc/capture/python/monitoring.c.
_TOOL_IDS = (5, 4, 3, 2)


def free_tool_ids() -> list[int]:
    """Return the ids of sys.monitoring that the recorder can claim; none before Python 3.12."""
    monitoring = getattr(sys, "monitoring", None)
    return [tool for tool in _TOOL_IDS if monitoring is not None and monitoring.get_tool(tool) is None]


def source_of_calls(wanted: CallSource) -> CallSource:
    """Return the source of Python calls: for ``auto`` sys.monitoring if an id of a tool is free, else the evaluator."""
    if wanted != "auto":
        return wanted
    return "monitor" if free_tool_ids() else "frame"


def torch_distributed() -> ModuleType | None:
    """Return ``torch.distributed`` if the program has imported and initialised it; import nothing."""
    module = sys.modules.get("torch.distributed")
    ready = module is not None and getattr(module, "is_available", lambda: False)() and module.is_initialized()
    return module if ready else None


def rank_and_world() -> tuple[int, int]:
    """Return rank and world size from torch.distributed, else from the launcher's variables, else 0 of 1."""
    distributed = torch_distributed()
    if distributed is not None:
        return distributed.get_rank(), distributed.get_world_size()
    process = launchers.process_rank()
    return process.rank, process.world


def rank_facts() -> dict[str, object]:
    """Return the rank on this host, None if unknown, and the source of the rank."""
    process = launchers.process_rank()
    source = process.source if torch_distributed() is None else "torch.distributed"
    return {"local_rank": process.local_rank, "rank_source": source or None}


def run_id() -> str:
    """Return an id of the run, equal on all its ranks.

    Sources, in this order: ``FASTDISPATCH_RUN_ID``; an id in the store of torch.distributed if that is initialised (one
    request, no waiting); the launcher's variables; the recording of the process that spawned this one; that process.
    """
    given = os.environ.get("FASTDISPATCH_RUN_ID")
    return given or agreed_run_id() or _launched_run_id() or _spawned_run_id() or os.urandom(6).hex()


def agreed_run_id(proposed: str | None = None) -> str | None:
    """Return the id in the store of torch.distributed, set by the first rank that reads it; None without one."""
    distributed = torch_distributed()
    if distributed is None:
        return None
    try:
        store = distributed.distributed_c10d._get_default_store()
        return str(store.compare_set("fastdispatch/run_id", "", proposed or os.urandom(6).hex()).decode())
    except (AttributeError, RuntimeError, ValueError):
        return None


def _hash(text: str) -> str:
    import uuid  # only if needed: the program may have its own module of that name

    return uuid.uuid5(uuid.NAMESPACE_URL, text).hex[:12]


def _launched_run_id() -> str | None:
    values = [f"{name}={os.environ[name]}" for name in _RUN_VARIABLES if name in os.environ]
    jobs = [f"{name}={os.environ[name]}" for name in _JOB_VARIABLES if name in os.environ]
    return _hash(" ".join(values + jobs)) if len(values) > 1 or jobs else None


def _spawned_run_id() -> str | None:
    with suppress(KeyError, TypeError, ValueError):
        if any("multiprocessing.spawn" in argument for argument in sys.orig_argv):
            return str(json.loads(os.environ["FASTDISPATCH_PARENT"])["run"])
    multiprocessing = sys.modules.get("multiprocessing.process")  # loaded in every process spawned by it
    parent = multiprocessing.parent_process() if multiprocessing is not None else None
    if parent is None:
        return None
    try:
        started = Path(f"/proc/{parent.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        started = ""
    return _hash(f"{os.uname().nodename} {parent.pid} {started}")


def _standard_library() -> set[str]:
    """Return the path of sysconfig, without importing it: it would import threading before the program does."""
    bases = {sys.base_prefix, sys.exec_prefix}
    folders = {"lib", sys.platlibdir}
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = {os.path.join(base, folder, version) for base in bases for folder in folders}
    return found | {os.path.dirname(os.__file__)}


def prefixes() -> list[tuple[str, int]]:
    """Return folders whose path depends on the host, with the origin of their files."""
    found = [(path, FROM_STDLIB) for path in _standard_library()]
    sites = {*site.getsitepackages(), site.getusersitepackages()}
    sites |= {path for path in sys.path if path.rstrip("/").endswith(("site-packages", "dist-packages"))}
    found += [(path, FROM_SITE) for path in sorted(sites)]
    known = {path for path, _ in found} | {os.path.join(path, "lib-dynload") for path in _standard_library()}
    found += [(os.path.abspath(path), FROM_USER) for path in [*sys.path, os.getcwd()] if os.path.isdir(path or ".")]
    return [(path, kind) for path, kind in found if path not in known or kind != FROM_USER]


def torch_version() -> str | None:
    """Return the version of the PyTorch that the program has imported."""
    return str(sys.modules["torch"].__version__) if "torch" in sys.modules else None


def process_groups(distributed: ModuleType) -> list[dict[str, object]]:
    """Return the process groups as in PyTorch's traces, and their addresses; empty if this version has none."""
    try:
        world = distributed.distributed_c10d._world
        groups: list[dict[str, object]] = world.pg_config_info
        addresses = {name: _core.process_group_address(group) for group, name in world.pg_names.items()}
        return [group | {"fd_address": addresses.get(group["pg_name"], 0)} for group in groups]
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):
        return []


def named_groups(distributed: ModuleType) -> list[tuple[int, str]]:
    """Return the address of each process group and its name and size, "0:8"; empty if this version has none."""
    try:
        names = distributed.distributed_c10d._world.pg_names
        return [(_core.process_group_address(group), f"{name}:{group.size()}") for group, name in names.items()]
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return []


def facts() -> dict[str, object]:
    """Return facts for the meta of the recording, all JSON values."""
    from fastdispatch.version import __version__

    return {
        "fastdispatch": __version__,
        "python": sys.version.split()[0],
        "implementation": "CPython" if sys.implementation.name == "cpython" else sys.implementation.name,
        "torch": torch_version(),
        "host": os.uname().nodename,
        "machine": os.uname().machine,
        "kernel": os.uname().release,
        "command": [sys.executable, *sys.orig_argv[1:]],
        "folder": os.getcwd(),
    } | rank_facts()


def ranks_of_environment() -> list[int] | None:
    """Return the ranks to record that ``FASTDISPATCH_RANKS`` names; None for all. Raises Error for other texts."""
    text = os.environ.get("FASTDISPATCH_RANKS", "")
    try:
        return [int(part) for part in text.split(",")] if text else None
    except ValueError:
        raise _core.Error(f"FASTDISPATCH_RANKS={text}: expected rank numbers separated by commas, e.g. 0,3") from None


def current_folder() -> str:
    """Return the working directory, "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def failure(*, at_exit: bool = False) -> str:
    """Return the name of the exception that propagates or, ``at_exit``, has ended the program, "" without one or for a
    normal exit."""
    error = sys.exc_info()[1]
    if error is None and at_exit and not hasattr(sys, "ps1"):
        error = getattr(sys, "last_value", None)  # the exception that the interpreter printed
    if error is None or isinstance(error, GeneratorExit):
        return ""
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        return f"SystemExit({code})" if code else ""
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


class RuntimeFacts:
    """Compilations, garbage collections, and retries of the allocator of the GPU, since this object was made."""

    def __init__(self) -> None:
        self._compiler = Compiler()
        self._before = {each["device"]: each["retries"] for each in _allocators()}

    def facts(self, session: Session) -> dict[str, object]:
        """Return facts for the meta of the recording (docs/formats/recording.md)."""
        runs, collected, uncollectable = zip(*session.collections(), strict=True)
        found: dict[str, object] = {"gc": {"collections": runs, "collected": collected, "uncollectable": uncollectable}}
        compiled = self._compiler.facts()
        if compiled is not None:
            found["compile"] = compiled
        sources = kernel_sources()
        if sources:
            found["kernel_sources"] = sources
        name = _gpu_name()
        if name:
            found["gpu_name"] = name
        return found | self.allocators(ended=True)

    def allocators(self, *, ended: bool) -> dict[str, object]:
        """Return the facts of the allocators of GPUs, with their figures if the recording ``ended``; empty if the
        program has not used CUDA yet."""
        devices = _allocators()
        for each in devices:
            each["retries"] -= self._before.get(each["device"], 0)
            if not ended:
                del each["retries"], each["reserved"]
        return {"gpu_allocator": {"devices": devices}} if devices else {}


def _gpu_name() -> str:
    """Return the name of the current GPU, for the peaks of ``report --flops``; empty without CUDA."""
    if not is_in_use():
        return ""
    try:
        return str(sys.modules["torch"].cuda.get_device_name())
    except Exception:  # a device in an error state, or without a driver
        return ""


def _allocators() -> list[dict[str, int]]:
    """Return for each GPU how often its allocator has freed its cache to allocate again, the maximum of the bytes that
    it reserved, and the bytes of the GPU; empty without CUDA."""
    if not is_in_use():
        return []
    cuda: Any = sys.modules["torch"].cuda
    try:
        found = [_allocator(device, cuda.memory_stats(device)) for device in range(cuda.device_count())]
    except Exception:  # a device in an error state, or an allocator without statistics
        return []
    with suppress(Exception):  # a device in an error state, or without a driver
        for each in found:
            each["total"] = int(cuda.get_device_properties(each["device"]).total_memory)
    return found


def _allocator(device: int, statistics: dict[str, Any]) -> dict[str, int]:
    return {
        "device": device,
        "retries": int(statistics["num_alloc_retries"]),
        "reserved": int(statistics["reserved_bytes.all.peak"]),
    }
