"""Environments of the matrix: a suite of Debian in a folder, with its Python and its PyTorch."""

import os
import re
import shutil
import subprocess
import sys
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
RUN = "graphviz python3-rich python3-jinja2 python3-textual python3-numpy python3-wheel"
TORCH = "python3-torch"
TEST = "python3-pytest python3-pytest-timeout python3-hypothesis python3-jsonschema python3-greenlet"

#: What depends on the version of PyTorch: operators, origins, classes, compiled regions, unchanged results.
TORCH_SUBJECTS = ["attach", "backward", "callbacks", "calls", "classes", "cycles", "deep", "dispatch", "evaluators"]
TORCH_SUBJECTS += ["gpu", "gpu_waits", "operators", "recording", "sources", "unchanged"]
TORCH_SUBJECTS += ["unseen"]
#: What differs most between versions of Python.
SHORT = [
    "integration/calls/test_calls",
    "integration/calls/test_sources",
    "integration/calls/test_collections",
    "integration/safety/test_startup",
    "integration/safety/test_attach",
]
SHORT += ["unit/record/test_doctor", "unit/record/test_light"]
#: What differs most between versions of PyTorch.
SHORT_TORCH = ["operators", "backward", "classes", "unchanged"]

#: What depends on the processor: counts of calls, times and kill, the hidden pointer of records, origins, operands,
#: sections of threads.
PROCESSOR = ["calls", "time", "operators", "backward", "measured_steps"]
PROCESSOR_ONLY = {
    "unchanged": ("results_are_bit_identical", "exceptions_are_those_of_the_plain_program"),
    "cycles": ("windows_in_a_loop", "recordings_in_a_loop[timeline=1]"),
}
#: Programs that take minutes under an emulator when packages are installed, and that no test needs: those of Python's
#: packages compile modules, which Python does at the first import.
SLOW = ("var/lib/dpkg/info/*python3*.postinst", "var/lib/dpkg/info/ca-certificates.postinst")

#: A system call that qemu lacks, in a library that the tests load.
MISSING_CALL = "/srv/process_vm_readv.so"
#: How binfmt_misc recognizes programs of a machine: the header of ELF. The flag F keeps qemu open for other roots.
FORMATS = {
    "arm64": r":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    ":/usr/bin/qemu-aarch64-static:F"
}

#: The kernel's name of the counter that programs may read, per machine. An emulator shows the file of its host.
CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
COUNTERS = {"arm64": "arch_sys_counter"}

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
    machine: str = ""  #: Debian's name of another processor, which qemu emulates

    def tests(self, short: bool) -> list[str]:
        """Files and folders of tests: all that matter here, or a short list."""
        if self.machine:
            single = [(subject, name) for subject, names in PROCESSOR_ONLY.items() for name in names]
            return [
                *(_path_of(f"test_{subject}.py") for subject in PROCESSOR),
                *(f"{_path_of(f'test_{subject}.py')}::test_{name}" for subject, name in single),
            ]
        if self.torch:
            return [_path_of(f"test_{subject}.py") for subject in (SHORT_TORCH if short else TORCH_SUBJECTS)]
        return [f"tests/{name}.py" for name in SHORT] if short else ["tests/unit", "tests/integration"]

    @property
    def name(self) -> str:
        return f"{self.folder}-{self.python}{'-torch' if self.torch else ''}"

    @property
    def slowness(self) -> int:
        """How many times longer tests may take."""
        return 12 if self.machine else 1

    @property
    def variables(self) -> str:
        """Settings of the tests, for the shell."""
        emulated = f" TESTS_SLOWNESS={self.slowness} LD_PRELOAD={MISSING_CALL}" if self.machine else ""
        return f"OMP_NUM_THREADS=1 MKL_NUM_THREADS=1{emulated}"

    @property
    def folder(self) -> str:
        return f"{self.suite}-{self.machine}" if self.machine else self.suite


MATRIX = (
    Environment("trixie", "python3.13", torch=True),
    Environment("sid", "python3.14", torch=True),
    Environment("sid", "python3.14", torch=False),
    Environment("sid", "python3.15", torch=False, packages="python3.15-dev python3.15-venv"),
    Environment("trixie", "python3.13", torch=True, machine="arm64"),
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
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        problem = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise MissingTool(": ".join([f"{command[0]} failed with status {done.returncode}", *problem]))


def emulated(machine: str) -> None:
    """Make the kernel run programs of another processor by qemu."""
    if machine not in FORMATS:
        return
    if shutil.which("qemu-aarch64-static") is None:
        raise MissingTool("qemu is missing: apt-get install qemu-user-static")
    formats = Path("/proc/sys/fs/binfmt_misc")
    if not (formats / "register").exists():
        run("mount", "-t", "binfmt_misc", "binfmt_misc", formats)
    if not (formats / "qemu-aarch64").exists():
        (formats / "register").write_text(FORMATS[machine])


@contextmanager
def mounted(folder: Path, machine: str = "") -> Iterator[None]:
    """The kernel's file systems below `folder`; removed at the end, so that the folder can be deleted."""
    emulated(machine)
    with ExitStack() as stack:
        for kind, place in KERNEL_FOLDERS:
            (folder / place).mkdir(parents=True, exist_ok=True)
            run("mount", "-t", kind, kind, folder / place)
            stack.callback(run, "umount", "-l", folder / place)
        if machine in COUNTERS:
            counter, shown = folder / "srv" / "clocksource", folder / CLOCK_SOURCE.lstrip("/")
            counter.write_text(COUNTERS[machine] + "\n")
            run("mount", "--bind", counter, shown)
            stack.callback(run, "umount", "-l", shown)
        yield


def inside(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in the environment."""
    return subprocess.run(["chroot", folder, "sh", "-ec", script], text=True, capture_output=True, check=False)


def made(folder: Path, rows: Sequence[Environment]) -> Path:
    """The folder of the suite of these rows, made once, with the packages of the rows."""
    machine = rows[0].machine
    if os.geteuid() != 0:
        raise MissingTool("an environment needs root: chroot and mount")
    if shutil.which("debootstrap") is None:
        raise MissingTool("debootstrap is missing: apt-get install debootstrap")
    root = folder / rows[0].folder
    packages = [BUILD, RUN, TEST, *(row.packages for row in rows), *(TORCH for row in rows if row.torch)]
    wanted = " ".join(sorted({name for line in packages for name in line.split()}))
    if (root / "complete").exists() and set(wanted.split()) <= set((root / "complete").read_text().split()):
        return root
    bootstrap(root, rows[0])
    with mounted(root, machine):
        done = installed(root, wanted, machine)
    if done.returncode != 0:
        raise MissingTool(f"packages of {root.name}: {done.stderr.strip().splitlines()[-1]}")
    (root / "complete").write_text(wanted)
    return root


def bootstrap(root: Path, row: Environment) -> None:
    """Make the folder of the suite with its essential packages."""
    if (root / "bootstrapped").exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    emulated(row.machine)
    architecture = [f"--arch={row.machine}"] if row.machine else []
    run("debootstrap", "--variant=minbase", *architecture, row.suite, root, mirror())
    shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d", dirs_exist_ok=True)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(Path("/etc") / name, root / "etc" / name)
    (root / "bootstrapped").touch()


def installed(root: Path, packages: str, machine: str) -> subprocess.CompletedProcess[str]:
    """Install packages."""
    quiet = "export DEBIAN_FRONTEND=noninteractive"
    if machine:
        unpack(root, packages, machine)
        done = inside(root, f"{quiet}; dpkg --configure -a; rm -f /var/cache/apt/archives/*.deb")
    else:
        done = inside(root, f"{quiet}; apt-get update -q; apt-get install -qy --no-install-recommends {packages}")
    return inside(root, without_torch()) if done.returncode == 0 else done


def unpack(root: Path, packages: str, machine: str) -> None:
    """Unpack packages of another processor by apt and dpkg of this one, since an emulator is slow."""
    settings = {
        "Dir": root,
        "Dir::State::status": root / "var/lib/dpkg/status",
        "APT::Architecture": machine,
        "APT::Architectures::": machine,
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    run(*apt, "clean")
    run(*apt, "update")
    run(*apt, "install", "-y", "--no-install-recommends", "--download-only", *packages.split())
    archives = sorted((root / "var/cache/apt/archives").glob("*.deb"))
    if archives:  # none after an interrupted installation
        run("dpkg", f"--root={root}", "--force-architecture", "--force-depends", "--unpack", *archives)
    for path in [path for pattern in SLOW for path in root.glob(pattern)]:
        path.unlink()
        path.symlink_to("/bin/true")
    certificates = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    (root / "etc/ssl/certs/ca-certificates.crt").write_text("".join(path.read_text() for path in certificates))


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


def cross_wheel(root: Path, row: Environment) -> str:
    """Build the wheel of AArch64 by a cross compiler, with libraries of tests/c/aarch64.sh. Returns its path inside."""
    libraries, headers, folder = ROOT / "tests/c/build/aarch64/prefix", root / "srv/include", root / "srv/wheels"
    tag = f"cp{row.python.removeprefix('python').replace('.', '')}"
    for path in (headers, folder):
        shutil.rmtree(path, ignore_errors=True)
    for name in (row.python, f"aarch64-linux-gnu/{row.python}"):
        shutil.copytree(root / "usr/include" / name, headers / name)
    environment = {
        "CC": "aarch64-linux-gnu-gcc",
        "LDSHARED": "aarch64-linux-gnu-gcc -shared",
        "AR": "aarch64-linux-gnu-ar",
        "CFLAGS": f"-I{headers / row.python} -I{headers}",
        "SETUPTOOLS_EXT_SUFFIX": f".cpython-{tag[2:]}-aarch64-linux-gnu.so",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "FASTDISPATCH_TARGET": "aarch64",
        "CJSON_DIR": str(libraries),
        "ZLIB_DIR": str(libraries),
    }
    options = ["-q", "--no-build-isolation", "--no-deps", "-w", str(folder)]
    build = [sys.executable, "-m", "pip", "wheel", *options, str(ROOT)]
    subprocess.run(build, check=True, env=os.environ | environment)
    (built,) = folder.glob("*.whl")
    run(sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", tag, "--abi-tag", tag, built)
    (built,) = folder.glob("*.whl")
    return f"/srv/wheels/{built.name}"


def install(root: Path, row: Environment) -> str:
    """Install the tree, for another processor its wheel, in its own virtual environment. Returns the path of that
    Python."""
    venv = f"{VENVS}/{row.name}"
    packages = DISTRIBUTION if row.torch else PACKAGES
    source = "."
    if row.machine:
        source = cross_wheel(root, row)
        call = ROOT / "tests/standin" / Path(MISSING_CALL).with_suffix(".c").name
        run("aarch64-linux-gnu-gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", root / MISSING_CALL.lstrip("/"), call)
    script = f"""
        rm -rf {venv} {TREE}/build
        {row.python} -m venv --without-pip {venv}
        echo {packages} > {venv}/lib/{row.python}/site-packages/distribution.pth
        cd {TREE}
        {row.python} -m pip --python {venv}/bin/python install -q --no-build-isolation --no-deps {source}
    """
    done = inside(root, script)
    if done.returncode != 0:
        raise RuntimeError(f"{row.name}: fastdispatch does not install: {done.stderr[-3000:]}")
    return f"{venv}/bin/python"
