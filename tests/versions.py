"""Build the package and run its tests on other versions of Python, without PyTorch and without those of the sources.

Usage: versions.py FOLDER VERSION...   FOLDER has one environment per version. Missing versions are reported and
skipped. Tests of what is read and computed run the first cases of their tables (tests/conftest.py).
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "pytest>=8",
    "pytest-timeout>=2",
    "hypothesis>=6.100",
    "jsonschema>=4.20",
    "greenlet",
    "rich>=13.7",
    "jinja2>=3.1",
    "numpy>=1.26",
)


def interpreter(version: str) -> str | None:
    """The newest Python of this version on the path or in pyenv."""
    found = shutil.which(f"python{version}")
    # pyenv also has shims for versions that are not enabled.
    if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
        return found
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(versions.glob(f"{version}.*/bin/python"), key=lambda path: int(path.parts[-3].split(".")[2]))
    return str(kept[-1]) if kept else None


def run(*command: object, **environment: str) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, env=os.environ | environment, check=True)


@contextmanager
def alone() -> Iterator[None]:
    """Serialize builds of this tree: they share folders, and `make -j` starts several."""
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check(version: str, folder: Path) -> bool:
    python = interpreter(version)
    if python is None:
        print(f"Python {version} is not installed here: not tested with it")
        return True
    home = (folder / version).resolve()
    installed = home / "bin" / "python"
    if not installed.exists():
        run(python, "-m", "venv", home)
    run(installed, "-m", "pip", "install", "-q", "setuptools>=77", "wheel", *PACKAGES)
    with alone():
        run(installed, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", ".", FASTDISPATCH_DEV="1")
    print(f"Python {version}", flush=True)
    command = [installed, "-m", "pytest", "tests", "--ignore=tests/lint"]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"FEW_CASES": "1"}, check=False).returncode == 0


def main() -> int:
    folder = Path(sys.argv[1])
    results = [check(version, folder) for version in sys.argv[2:]]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
