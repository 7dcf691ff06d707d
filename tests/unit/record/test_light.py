"""Recording alone: what ``import fastdispatch`` imports, and commands without the packages of the extra ``view``."""

import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import processes

#: The import of a module that is None in sys.modules fails as if it were not installed.
WITHOUT_VIEW = "import sys; sys.modules.update(rich=None, jinja2=None, textual=None, numpy=None)"
HEAVY = {"rich", "jinja2", "textual", "importlib.metadata", "importlib.resources", "torch", "numpy", "pandas"}
HEAVY |= {"argparse", "asyncio", "email", "multiprocessing", "socket", "subprocess", "tempfile", "threading", "uuid"}


def without_view(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    program = f"{WITHOUT_VIEW}\nfrom fastdispatch.cli import main\nsys.exit(main())"
    return processes.python("-c", program, *arguments, folder=folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("light")

    def work() -> int:
        return 1

    with fastdispatch.CallGraph(folder / "out", ops="off"):
        work()
    with fastdispatch.CallGraph(folder / "jobs", ops="off", jobs=True) as graph:
        for _ in range(12):
            with fastdispatch.job("forward", 0, stage=0):
                work()
            graph.step()
    return folder


def test_the_import_is_light() -> None:
    """Without site-packages, because a start-up file there may import more."""
    folder = Path(fastdispatch.__path__[0]).parent
    program = f"""
import sys
sys.path.insert(0, {str(folder)!r})
before = set(sys.modules)
import fastdispatch
print(*set(sys.modules) - before)
"""
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "fastdispatch.record.callgraph" in imported
    assert not imported & HEAVY


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("report out", "rich"),
        ("html out -o page.html", "jinja2"),
        ("top out --once", "rich"),
        ("timeline stats out", "numpy"),
        ("diff out out", "numpy"),
        ("pipeline report jobs --json", "numpy"),
    ],
)
def test_a_view_without_its_packages_is_one_line(command: str, package: str, run: Path) -> None:
    done = without_view(*command.split(), folder=run)
    name = command.partition(" ")[0]
    assert done.returncode == 2
    assert done.stderr == f"fastdispatch: {name} needs the package {package}: pip install 'fastdispatch[view]'\n"
    assert not (run / "page.html").exists()


def test_a_finding_without_its_package_is_not_decided(run: Path) -> None:
    done = without_view("findings", "jobs", folder=run)
    assert done.returncode == 0, done.stderr
    assert "stage-imbalance, pipeline-bubble (jobs of a pipeline need the package numpy" in done.stdout


@pytest.mark.parametrize(
    "command",
    ["report --json out", "stacks out", "doctor", "export folded out -o out.txt", "svg out -o x.dot", "--help"],
)
def test_other_commands_need_no_package(command: str, run: Path) -> None:
    done = without_view(*command.split(), folder=run)
    assert done.returncode == 0, done.stderr


def test_a_program_that_misses_a_package_has_its_own_traceback(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def start():\n    import rich\n\n\nstart()\n")
    done = without_view("run", "-q", "program.py", folder=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "fastdispatch[view]" not in done.stderr
    assert "start" in fastdispatch.load(tmp_path / "fastdispatch-out").nodes["name"]
