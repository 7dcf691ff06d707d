"""Building and installing the package, without PyTorch."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests import processes

PROGRAM = """
import fastdispatch
def work(): return 1
with fastdispatch.CallGraph("out"):
    work()
print(sorted(fastdispatch.load("out").nodes["name"]))
"""


def setup(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "setup.py", "-q", *map(str, arguments)]
    return subprocess.run(
        command, cwd=processes.ROOT, env=processes.environment(**changes), capture_output=True, text=True, check=False
    )


def c_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "csrc").rglob("*.[ch]")}


def unpack(archive: Path) -> Path:
    """The sources, with the compiled objects of this tree, which saves a minute."""
    with tarfile.open(archive) as files:
        files.extractall(archive.parent, filter="data")
    source = archive.parent / archive.name.removesuffix(".tar.gz")
    assert c_files(source) == c_files(processes.ROOT)
    if (processes.ROOT / "build" / "dev").is_dir():
        shutil.copytree(processes.ROOT / "build" / "dev", source / "build" / "dev")
    return source


@pytest.mark.torch
def test_a_source_distribution_installs_where_no_torch_is(tmp_path: Path) -> None:
    assert setup("sdist", "-d", tmp_path).returncode == 0
    (archive,) = tmp_path.glob("*.tar.gz")
    source = unpack(archive)
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", target]
    as_here = processes.environment(FASTDISPATCH_DEV="1")
    subprocess.run([*install, source], check=True, capture_output=True, env=as_here)
    assert (target / "fastdispatch-startup.pth").is_file()
    # -S: no site-packages, so neither PyTorch nor rich is found.
    environment = processes.environment(PYTHONPATH=str(target))
    result = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "'work'" in result.stdout, result.stderr


def test_a_cjson_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = setup("build", "--build-base", tmp_path, CJSON_DIR=str(tmp_path))
    assert result.returncode == 1
    for place in ("CJSON_DIR", "CONDA_PREFIX", "pkg-config", "apt-get install libcjson-dev"):
        assert place in result.stderr


def test_a_zlib_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = setup("build", "--build-base", tmp_path, ZLIB_DIR=str(tmp_path))
    assert result.returncode == 1
    for place in ("ZLIB_DIR", "CONDA_PREFIX", "pkg-config", "apt-get install zlib1g-dev"):
        assert place in result.stderr
