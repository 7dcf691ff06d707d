"""Stand-in libraries: the CUDA runtime, libc10_cuda, CUPTI, NVML and a part of the CUDA driver, an unknown
libtorch_cpu, and another user of PEP 523."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import fastdispatch

HERE = Path(__file__).parent

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler for the stand-in")


class Run:
    """The recording of a program that ran on them, and what the program printed."""

    def __init__(self, printed: dict[str, Any], out: Path) -> None:
        self.printed = printed
        self.out = out
        self.trace = fastdispatch.load(out)
        self.rank = self.trace.ranks[0]
        self.contexts = self.trace.contexts
        self.names = [self.trace.nodes["key"][node] for node in self.contexts["node"]]
        self.kinds = [self.trace.nodes["kind"][node] for node in self.contexts["node"]]

    def row(self, name: str) -> int:
        """The only context with such an end of its name."""
        (row,) = (row for row, found in enumerate(self.names) if found.endswith(name))
        return row


def build(folder: Path) -> Path:
    """All libraries, with the names of the real ones."""
    names = {"libcudart.so.13": "cudart.c", "libc10_cuda.so": "c10_cuda.c", "libcupti.so.13": "cupti.c"}
    names |= dict.fromkeys(("libcuda.so.1", "libnvidia-ml.so.1"), "nvml.c")
    for name, source in names.items():
        build_as(folder, source, name, {})
    return folder


def build_as(folder: Path, source: str, library: str, names: dict[str, str]) -> None:
    """One of them as another library, with other names of functions."""
    renamed = [f"-D{name}={other}" for name, other in names.items()]
    command = ["cc", "-O2", "-fPIC", "-shared", *renamed, f"-Wl,-soname,{library}", "-o", folder / library]
    subprocess.run([*command, HERE / source], check=True)


def build_evaluator(folder: Path) -> Path:
    """The other user of PEP 523, for this interpreter. Load it with ``ctypes.PyDLL``."""
    library = folder / "evaluator.so"
    include = sysconfig.get_paths()["include"]
    subprocess.run(
        ["cc", "-O2", "-fPIC", "-shared", f"-I{include}", "-o", library, HERE / "evaluator.c"],
        check=True,
    )
    return library


def build_libtorch(folder: Path, *, functions: bool) -> Path:
    """A library with the name of PyTorch's: the one of libtorch.c, or an empty one without its functions."""
    library = folder / "libtorch_cpu.so"
    source = [f"-I{HERE.parent.parent / 'csrc'}", HERE / "libtorch.c"] if functions else ["-xc", os.devnull]
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", library, *source], check=True)
    return library


def build_refusing(folder: Path) -> Path:
    """The library of refusing.c, to be preloaded."""
    library = folder / "refusing.so"
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", library, HERE / "refusing.c"], check=True)
    return library
