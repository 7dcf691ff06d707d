"""Environments of the matrix: a suite of Debian in a folder, with its Python and its PyTorch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DISTRIBUTION = "/usr/lib/python3/dist-packages"
#: Inside an environment: the tree, the packages without PyTorch, the virtual environments, the results.
TREE, PACKAGES, VENVS, REPORT = "/srv/fastdispatch", "/srv/packages", "/srv/venvs", "/srv/report.xml"
BUILD = (
    "gcc make git pkg-config libcjson-dev zlib1g-dev graphviz python3-dev python3-venv python3-pip python3-setuptools"
)
RUN = "graphviz python3-rich python3-jinja2 python3-textual python3-wheel"
TORCH = "python3-torch python3-numpy"
TEST = "python3-pytest python3-pytest-timeout python3-hypothesis python3-jsonschema python3-greenlet"

#: What depends on the version of PyTorch: operators, origins, classes, compiled regions, unchanged results.
TORCH_SUBJECTS = ["attach", "backward", "callbacks", "calls", "classes", "cycles", "deep", "dispatch", "evaluators"]
TORCH_SUBJECTS += ["gpu", "gpu_waits", "monitor", "operators", "other_tools", "recording", "schedule", "unchanged"]
TORCH_SUBJECTS += ["unseen"]
#: What differs most between versions of Python.
SHORT = [
    "integration/calls/test_calls",
    "integration/calls/test_sources",
    "integration/calls/test_collections",
    "integration/calls/test_monitor",
    "integration/safety/test_startup",
    "integration/safety/test_attach",
]
SHORT += ["unit/record/test_doctor", "unit/record/test_light"]
#: What differs most between versions of PyTorch.
SHORT_TORCH = ["operators", "backward", "classes", "unchanged"]

#: Types of file systems and where they are mounted. The clock source is in /sys.
KERNEL_FOLDERS = (("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm"))


def _path_of(name: str) -> str:
    """Return the path of a test of tests/integration."""
    (path,) = (ROOT / "tests" / "integration").rglob(name)
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Environment:
    """One row of the matrix."""

    suite: str
    python: str  #: name of the program
    torch: bool
    packages: str = ""  #: beside those of all environments

    def tests(self, short: bool) -> list[str]:
        """Files and folders of tests: all that matter here, or a short list."""
        if self.torch:
            return [_path_of(f"test_{subject}.py") for subject in (SHORT_TORCH if short else TORCH_SUBJECTS)]
        return [f"tests/{name}.py" for name in SHORT] if short else ["tests/unit", "tests/integration"]

    @property
    def name(self) -> str:
        return f"{self.suite}-{self.python}{'-torch' if self.torch else ''}"


MATRIX = (
    Environment("trixie", "python3.13", torch=True),
    Environment("sid", "python3.14", torch=True),
    Environment("sid", "python3.14", torch=False),
    Environment("sid", "python3.15", torch=False, packages="python3.15-dev python3.15-venv"),
)


class MissingTool(RuntimeError):
    """This machine cannot make an environment; the message says why."""


def mirror() -> str:
    """The archive that this machine's own packages come from."""
    for path in Path("/etc/apt").rglob("*.sources"):
        if found := re.search(r"^URIs:\s*(\S*debian)/?\s*$", path.read_text(), re.MULTILINE):
            return found[1]
    return "http://deb.debian.org/debian"


def run(*command: str | Path) -> None:
    """Run a command that prepares an environment."""
    try:
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        raise MissingTool(f"{error.cmd[0]} failed with status {error.returncode}") from None


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """The kernel's file systems below `folder`; removed at the end, so that the folder can be deleted."""
    with ExitStack() as stack:
        for kind, place in KERNEL_FOLDERS:
            (folder / place).mkdir(parents=True, exist_ok=True)
            run("mount", "-t", kind, kind, folder / place)
            stack.callback(run, "umount", "-l", folder / place)
        yield


def inside(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in the environment."""
    return subprocess.run(["chroot", folder, "sh", "-ec", script], text=True, capture_output=True, check=False)


def made(folder: Path, rows: Sequence[Environment]) -> Path:
    """The folder of the suite of these rows, made once, with the packages of the rows."""
    suite = rows[0].suite
    if os.geteuid() != 0:
        raise MissingTool("an environment needs root: chroot and mount")
    if shutil.which("debootstrap") is None:
        raise MissingTool("debootstrap is missing: apt-get install debootstrap")
    root = folder / suite
    packages = [BUILD, RUN, TEST, *(row.packages for row in rows), *(TORCH for row in rows if row.torch)]
    wanted = " ".join(sorted({name for line in packages for name in line.split()}))
    if (root / "complete").exists() and set(wanted.split()) <= set((root / "complete").read_text().split()):
        return root
    if not (root / "bootstrapped").exists():
        shutil.rmtree(root, ignore_errors=True)
        run("debootstrap", "--variant=minbase", suite, root, mirror())
        shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d", dirs_exist_ok=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(Path("/etc") / name, root / "etc" / name)
        (root / "bootstrapped").touch()
    with mounted(root):
        script = f"apt-get update -q; apt-get install -qy --no-install-recommends {wanted}; {without_torch()}"
        done = inside(root, script)
    if done.returncode != 0:
        raise MissingTool(f"packages of {suite}: {done.stderr.strip().splitlines()[-1]}")
    (root / "complete").write_text(wanted)
    return root


def without_torch() -> str:
    """Commands that make a folder with all packages of the distribution except PyTorch."""
    return (
        f"mkdir -p {PACKAGES}; for entry in {DISTRIBUTION}/*; do case $entry in */torch*|*/functorch*) ;; "
        f"*) ln -sfn $entry {PACKAGES}/ ;; esac; done"
    )


def copy_tree(root: Path) -> None:
    """The files that git knows, as they are now."""
    target = root / TREE.lstrip("/")
    shutil.rmtree(target, ignore_errors=True)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listing.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name, follow_symlinks=False)


def install(root: Path, row: Environment) -> str:
    """Install the tree in its own virtual environment. Returns the path of that Python."""
    venv = f"{VENVS}/{row.name}"
    packages = DISTRIBUTION if row.torch else PACKAGES
    script = f"""
        rm -rf {venv} {TREE}/build
        {row.python} -m venv --without-pip {venv}
        echo {packages} > {venv}/lib/{row.python}/site-packages/distribution.pth
        cd {TREE}
        {row.python} -m pip --python {venv}/bin/python install -q --no-build-isolation --no-deps .
    """
    done = inside(root, script)
    if done.returncode != 0:
        raise RuntimeError(f"{row.name}: fastdispatch does not install: {done.stderr[-3000:]}")
    return f"{venv}/bin/python"
