"""An environment per version of CPython, with this package."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tests import versions


@dataclass(frozen=True)
class Interpreter:
    version: str  # "3.12.1"
    python: Path
    tests: Path  # the folder of the package `test`

    @property
    def short(self) -> str:
        return ".".join(self.version.split(".")[:2])

    def has(self, module: str) -> bool:
        path = self.tests.joinpath(*module.split("."))
        return path.is_dir() or path.with_suffix(".py").exists()


def find(version: str) -> Interpreter | None:
    """The Python of this version ("3.12", "3.12.1") with its own tests, or None."""
    short = ".".join(version.split(".")[:2])
    own = short == f"{sys.version_info.major}.{sys.version_info.minor}"
    python = sys._base_executable if own else versions.interpreter(version)  # type: ignore[attr-defined]
    if python is None:
        return None
    probe = "import platform, test.test_code; print(platform.python_version(), test.__path__[0])"
    answer = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False).stdout.split()
    if not answer or not f"{answer[0]}.".startswith(f"{version}."):
        return None
    return Interpreter(answer[0], Path(python), Path(answer[1]))


def with_package(base: Interpreter, home: Path, build: bool = True) -> Interpreter:
    """The interpreter of an environment in `home` in which only this tree is installed.

    setuptools is in a separate environment, because every process of its environment imports it.
    """
    python, builder = home / "bin" / "python", home / "build" / "bin" / "python"
    if build or not python.exists():
        if not python.exists():
            versions.run(base.python, "-m", "venv", "--without-pip", home)
            versions.run(base.python, "-m", "venv", home / "build")
        pip = (builder, "-m", "pip", "-q")
        versions.run(*pip, "install", "setuptools>=77", "wheel")
        remove(home / "wheels")
        options = ("--no-build-isolation", "--no-deps")
        with versions.alone():
            versions.run(*pip, "wheel", *options, "-w", home / "wheels", ".", FASTDISPATCH_DEV="1")
        wheels = (home / "wheels").glob("*.whl")
        versions.run(*pip, "--python", python, "install", "--force-reinstall", "--no-deps", *wheels)
    return replace(base, python=python)


def environment(**changes: str) -> dict[str, str]:
    """The environment variables of tests: without those that change Python or belong to an outer recording."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FASTDISPATCH", "PYTHON"))}
    kept.pop("VIRTUAL_ENV", None)
    return kept | changes


def remove(folder: Path) -> None:
    """Remove a folder, also if a test has made it unreadable."""
    subprocess.run(["chmod", "-R", "u+rwX", folder], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)
