"""A wheel per version of Python: what it contains, what it needs, and a recording with it. ``make test-wheels``."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import processes
from tests.versions import interpreter
from tests.wheels.building import Wheel, build, environment, run

VERSIONS = os.environ.get("WHEELS", "").split()
#: Parts of glibc, which every manylinux system has.
SYSTEM = re.compile(r"linux-vdso|ld-linux|lib(c|m|pthread|dl|rt)\.so")
PROGRAM = "def work():\n    return 1\n\n\nfor _ in range(3):\n    work()\n"

pytestmark = [
    pytest.mark.skipif(not VERSIONS, reason="make test-wheels builds the wheels"),
    pytest.mark.timeout(1200),
]


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"Python {request.param} is not installed here")
    return str(request.param)


@pytest.fixture(scope="module")
def wheel(version: str, tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    python = interpreter(version)
    assert python is not None
    return build(python, tmp_path_factory.mktemp(f"wheel-{version}"))


def test_its_tags(version: str, wheel: Wheel) -> None:
    tag = f"cp{version.replace('.', '')}"
    assert re.fullmatch(rf"fastdispatch-.*-{tag}-{tag}-manylinux_2_\d+_(x86_64|aarch64)\.whl", wheel.file.name)


def test_its_files(wheel: Wheel) -> None:
    names = {str(path.relative_to(wheel.folder)) for path in wheel.folder.rglob("*") if path.is_file()}
    tops = {name.partition("/")[0] for name in names if "dist-info" not in name}
    own = {
        "fastdispatch",
        "_fastdispatch_pytest.py",
        "_fastdispatch_startup.py",
        "fastdispatch-startup.pth",
        "fastdispatch-startup.start",
    }
    assert tops - {"fastdispatch.libs"} == own
    assert {"fastdispatch/py.typed", "fastdispatch/_core.pyi"} < names
    assert not [name for name in names if name.endswith((".c", ".h", ".a"))]


def test_its_size(wheel: Wheel) -> None:
    assert wheel.file.stat().st_size < 3 << 20
    assert sum(path.stat().st_size for path in wheel.folder.rglob("*.so*")) < 3 << 20


def test_it_needs_no_library_but_glibc(wheel: Wheel) -> None:
    """No zlib, no cJSON of the system; a bundled cJSON has its own name and is found next to the extension."""
    lines = [line.strip() for line in run("ldd", wheel.core).splitlines()]
    others = [line for line in lines if not SYSTEM.search(line)]
    assert all(str(wheel.folder) in os.path.realpath(line.split()[2]) for line in others), others
    assert len(others) == len(wheel.bundled)
    for library in wheel.bundled:
        assert re.match(r"libcjson-[0-9a-f]{8}\.so", library.name)


def test_it_is_stripped_and_exports_one_symbol(wheel: Wheel) -> None:
    for library in [wheel.core, *wheel.bundled]:
        assert subprocess.run(["nm", library], capture_output=True, text=True, check=False).stdout == ""
        assert "debug_info" not in run("readelf", "--section-headers", "--wide", library)
    exported = run("nm", "--dynamic", "--defined-only", wheel.core).split()
    assert exported[1:] == ["T", "PyInit__core"]


def test_functions_have_frame_pointers(wheel: Wheel) -> None:
    """A stripped file has no list of functions: count the prologues and the returns."""
    code = run("objdump", "--disassemble", "--no-show-raw-insn", wheel.core)
    prologues = len(re.findall(r"mov +%rsp,%rbp|mov\s+x29, sp|stp\s+x29, x30", code))
    assert prologues > 1000


def test_it_records_and_reports_in_a_fresh_environment(version: str, wheel: Wheel, tmp_path: Path) -> None:
    """The path has only the environment: no compiler, no Graphviz."""
    python = interpreter(version)
    assert python is not None
    fresh = environment(tmp_path / "fresh", python, str(wheel.file))
    (tmp_path / "program.py").write_text(PROGRAM)
    changes = processes.environment(PATH=str(fresh.parent))
    changes.pop("PYTHONPATH", None)
    subprocess.run([fresh, "program.py"], cwd=tmp_path, env=changes | {"FASTDISPATCH": "1"}, check=True)

    def report() -> subprocess.CompletedProcess[str]:
        command = [fresh.parent / "fastdispatch", "report", "fastdispatch-out"]
        return subprocess.run(command, cwd=tmp_path, env=changes, capture_output=True, text=True, check=False)

    alone = report()
    assert (alone.returncode, "pip install 'fastdispatch[view]'" in alone.stderr) == (2, True)
    environment(tmp_path / "fresh", python, f"{wheel.file}[view]")
    done = report()
    assert re.search(r"^\s*3 .*program\.py:\[\]:work", done.stdout, re.M), done.stdout + done.stderr
