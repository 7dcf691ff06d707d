"""``fastdispatch run`` behaves as ``python`` does, and records."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, traces

PROGRAM = """
import sys, os
def work(n):
    return sum(helper(i) for i in range(n))
def helper(i):
    return i
print(sys.argv, __name__, __file__, os.path.basename(sys.path[0]), work(5))
print(sorted(name for name in globals() if name.startswith("__")))
assert sys.modules["__main__"].work is work
"""


def both(folder: Path, *program: str) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """The same program by ``python`` and by ``fastdispatch run``."""
    return processes.python(*program, folder=folder), processes.fastdispatch("run", "--quiet", *program, folder=folder)


def write(folder: Path, text: str, name: str = "program.py") -> str:
    (folder / name).write_text(text)
    return name


def test_arguments_and_namespace_are_those_of_python(tmp_path: Path) -> None:
    plain, recorded = both(tmp_path, write(tmp_path, PROGRAM), "--layers", "6", "-m", "x")
    assert plain.returncode == 0
    assert recorded.stdout == plain.stdout
    assert (recorded.returncode, recorded.stderr) == (0, "")
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    calls = traces.column(trace)
    assert calls["program.py:[]:work"] == 1
    assert calls["program.py:[]:helper"] == 5
    assert not [key for key in calls if "fastdispatch" in key or "runpy" in key]


def test_modules(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PROGRAM)
    (package / "tool.py").write_text(PROGRAM)
    for name in ("package", "package.tool"):
        plain, recorded = both(tmp_path, "-m", name, "argument")
        assert plain.returncode == 0
        assert recorded.stdout == plain.stdout
    plain, recorded = both(tmp_path, str(package))
    assert recorded.stdout == plain.stdout


@pytest.mark.parametrize(
    "text",
    (
        "import sys; sys.exit(7)",
        "import sys; sys.exit('a message')",
        "raise SystemExit",
        "def fail():\n    raise KeyError('x')\nfail()",
        "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('y') from e",
        "import sys\nsys.excepthook = lambda *a: print('own hook', a[0])\n1/0",
        "def f(:\n",
        "raise KeyboardInterrupt",
        "import atexit; atexit.register(print, 'at exit')",
    ),
)
def test_ends_are_those_of_python(text: str, tmp_path: Path) -> None:
    plain, recorded = both(tmp_path, write(tmp_path, text))
    assert recorded.returncode == plain.returncode
    assert recorded.stdout == plain.stdout
    assert recorded.stderr == plain.stderr


def test_tracebacks_of_modules_are_those_of_python(tmp_path: Path) -> None:
    write(tmp_path, "def fail():\n    raise KeyError('x')\nfail()")
    plain, recorded = both(tmp_path, "-m", "program")
    assert recorded.stderr == plain.stderr
    assert recorded.returncode == plain.returncode == 1


def test_the_summary_names_the_recording(tmp_path: Path) -> None:
    result = processes.fastdispatch("run", write(tmp_path, PROGRAM), folder=tmp_path)
    first, second = result.stderr.splitlines()
    assert "rank 0 of 1" in first
    assert "fastdispatch-out/rank00000.fd" in second


def test_threads_that_outlive_the_main_program_are_recorded(tmp_path: Path) -> None:
    text = "import threading, time\ndef late():\n    time.sleep(0.2)\n    after()\ndef after(): pass\n"
    text += "threading.Thread(target=late).start()\n"
    processes.fastdispatch("run", write(tmp_path, text), folder=tmp_path)
    assert "after" in fastdispatch.load(tmp_path / "fastdispatch-out").nodes["name"]


def test_os_exit_keeps_the_recording(tmp_path: Path) -> None:
    text = "import os\ndef work(): pass\nwork()\nos._exit(3)"
    result = processes.fastdispatch("run", write(tmp_path, text), folder=tmp_path)
    assert result.returncode == 3
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    assert "work" in trace.nodes["name"]
    assert trace.ranks[0]["state"] == "killed"


def test_a_signal_kills_as_before(tmp_path: Path) -> None:
    text = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"
    result = processes.fastdispatch("run", write(tmp_path, text), folder=tmp_path)
    assert result.returncode == -signal.SIGTERM


def test_an_inner_callgraph_is_a_region_of_the_outer_recording(tmp_path: Path) -> None:
    text = (
        "import fastdispatch\ndef work(): pass\n"
        "with fastdispatch.CallGraph('other') as graph:\n    work()\n    graph.step()\n"
        "    print(graph.path, graph.stats()['steps'])\n    graph.dump('dump.json')"
    )
    result = processes.fastdispatch("run", write(tmp_path, text), folder=tmp_path)
    assert result.stdout == "fastdispatch-out/rank00000.fd 1\n"
    assert not (tmp_path / "other").exists()
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    edges = traces.edges(trace)
    assert ("CallGraph", "work") in edges
    assert fastdispatch.load(tmp_path / "dump.json").nodes["name"]


@pytest.mark.torch
def test_steps_under_run(tmp_path: Path) -> None:
    text = (
        "import torch\nm = torch.nn.Linear(2, 2)\no = torch.optim.SGD(m.parameters(), lr=0.1)\n"
        "def step(n):\n    o.zero_grad()\n    m(torch.ones(1, 2)).sum().backward()\n    o.step()\n"
        "for n in range(10): step(n)"
    )
    processes.run_in(tmp_path, "fastdispatch", "run", "--steps", "2:5", write(tmp_path, text))
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    table = trace.table("function")
    assert table["calls"][table["where"].index("program.py:[]:step")] == 3
    assert trace.ranks[0]["steps"] == 3
    assert trace.ranks[0]["latest_steps"]["number"] == [2, 3, 4]
    assert trace.ranks[0]["steps_source"] == "optimizer"


@pytest.mark.torch
def test_torchrun(tmp_path: Path) -> None:
    text = "import torch.distributed as dist\ndist.init_process_group('gloo')\nprint(dist.get_rank())\n"
    text += "dist.barrier()\ndist.destroy_process_group()"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "fastdispatch", "run", "--ranks", "1", write(tmp_path, text)]
    subprocess.run(command, cwd=tmp_path, env=processes.environment(), check=True, capture_output=True)
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    assert [(rank["rank"], rank["world"]) for rank in trace.ranks] == [(1, 2)]
    assert "c10d::barrier" in trace.nodes["name"]


def test_two_dashes_before_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nprint(sys.argv)\n")
    done = processes.fastdispatch("run", "-q", "--", "program.py", "--", "x", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "['program.py', '--', 'x']\n")
