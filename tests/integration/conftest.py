"""Runs used by several modules."""

import gc
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import processes


@pytest.fixture(scope="session")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A read-only folder with traces of torch.profiler of four ranks of a real training."""
    folder = tmp_path_factory.mktemp("profiles") / "in"
    processes.run_warm("profiled_ranks.py", folder)
    return folder


@pytest.fixture(scope="module")
def group() -> Iterator[None]:
    """The process group of a training on one rank."""
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte. Making one needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def collector_off() -> Iterator[None]:
    """For recordings that are compared with each other: no finalizer of earlier tests runs in one of them."""
    gc.disable()
    yield
    gc.enable()
