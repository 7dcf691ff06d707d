"""Building and installing the package, without PyTorch."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import fastdispatch
from tests import processes

PROGRAM = """
import fastdispatch
def work(): return 1
with fastdispatch.CallGraph("out"):
    work()
print(sorted(fastdispatch.load("out").nodes["name"]))
"""


def setup(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    return processes.python("setup.py", "-q", *arguments, folder=processes.ROOT, **changes)


def c_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "csrc").rglob("*.[ch]")}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution, with the compiled objects of this tree, which saves a minute."""
    folder = tmp_path_factory.mktemp("sdist")
    assert setup("sdist", "-d", folder).returncode == 0
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(archive.parent, filter="data")
    source = archive.parent / archive.name.removesuffix(".tar.gz")
    assert c_files(source) == c_files(processes.ROOT)
    if (processes.ROOT / "build" / "dev").is_dir():
        shutil.copytree(processes.ROOT / "build" / "dev", source / "build" / "dev")
    return source


@pytest.mark.torch
def test_a_source_distribution_installs_where_no_torch_is(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", target]
    as_here = processes.environment(FASTDISPATCH_DEV="1")
    subprocess.run([*install, source], check=True, capture_output=True, env=as_here)
    names = ("fastdispatch-startup.pth", "fastdispatch-startup.start", "_fastdispatch_startup.py")
    assert [name for name in names if (target / name).is_file()] == [*names]
    # -S: no site-packages, so neither PyTorch nor rich is found.
    result = processes.python("-S", "-c", PROGRAM, folder=tmp_path, PYTHONPATH=str(target))
    assert "'work'" in result.stdout, result.stderr


#: With the extension of this installation, whose compilation takes a minute.
EDITABLE = """
import pathlib, shutil, sys
from setuptools.build_meta import build_editable
from setuptools.command.build_ext import build_ext
_, out, core = sys.argv

def build_extension(self, one):
    made = pathlib.Path(self.get_ext_fullpath(one.name))
    made.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(core, made)

build_ext.build_extension = build_extension
build_editable(out)
"""


@pytest.mark.torch
def test_an_editable_installation_has_the_startup_hook(source: Path, tmp_path: Path) -> None:
    """Its files are in the wheel: Python does not look for them in the folder of the sources."""
    core = fastdispatch._core.__file__
    processes.python_program("-c", EDITABLE, tmp_path, core, folder=source, FASTDISPATCH_DEV="1")
    (wheel,) = tmp_path.glob("*.whl")
    target = tmp_path / "site"
    shutil.unpack_archive(wheel, target, "zip")
    assert {"fastdispatch-startup.pth", "fastdispatch-startup.start"} < {path.name for path in target.iterdir()}
    assert not (target / "fastdispatch").exists()
    environment = processes.environment(FASTDISPATCH="1", FASTDISPATCH_OUT=str(tmp_path / "out"))
    environment.pop("PYTHONPATH", None)
    program = f"import site; site.addsitedir({str(target)!r}); exec('def work(): return 1'); work()"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=tmp_path, env=environment, check=True)
    assert "work" in fastdispatch.load(tmp_path / "out").nodes["name"]


@pytest.mark.parametrize(("variable", "package"), [("CJSON_DIR", "libcjson-dev"), ("ZLIB_DIR", "zlib1g-dev")])
def test_a_missing_library_is_named(variable: str, package: str, tmp_path: Path) -> None:
    result = setup("build", "--build-base", tmp_path, **{variable: str(tmp_path)})
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    for place in (variable, "CONDA_PREFIX", "pkg-config", f"apt-get install {package}"):
        assert place in line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("sys.platform = 'darwin'", "Linux only: it cannot be built on macOS"),
        ("sys.version_info = (3, 16, 0)", "supports CPython 3.11 to 3.15, and this is cpython 3.16.0"),
        ("sys.platform = 'win32'", "Linux only: it cannot be built on Windows"),
        ("sys.maxsize = 2**31 - 1", "64-bit little-endian"),
        ("sys.byteorder = 'big'", "64-bit little-endian"),
        ("variables['HOST_GNU_TYPE'] = 'x86_64-pc-linux-musl'", "needs glibc"),
        ("variables['Py_GIL_DISABLED'] = 1", "needs a Python with the GIL"),
    ],
)
def test_other_platforms_are_refused_in_one_line(change: str, words: str) -> None:
    program = f"""
import multiprocessing.pool, runpy, setuptools.command.build_clib, setuptools.command.build_ext, sys, sysconfig
variables = sysconfig.get_config_vars()
sys.argv = ["setup.py", "-q", "build"]
{change}
runpy.run_path("setup.py", run_name="__main__")
"""
    done = processes.python("-c", program, folder=processes.ROOT)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fastdispatch ")
    assert words in line
