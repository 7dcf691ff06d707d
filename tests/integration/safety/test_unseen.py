"""A recorded program has no additional low descriptor, no warning of the recorder, no traceback at its end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import processes
from tests.traces import SOURCES


def recorded(folder: Path, text: str, *options: str, **changes: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    changes |= {"FASTDISPATCH": "1", "FASTDISPATCH_OUT": str(folder / "out")}
    return processes.python_program(*options, "program.py", folder=folder, **changes)


DESCRIPTORS = """
import json, os
found = [int(name) for name in os.listdir("/proc/self/fd")]
print(json.dumps({"low": sorted(fd for fd in found if fd < 200)[:-1], "next": os.open("/dev/null", os.O_RDONLY)}))
"""


@pytest.mark.parametrize("options", ("", "timeline=python,jobs=1"))
def test_low_descriptors_are_the_programs(options: str, tmp_path: Path) -> None:
    result = recorded(tmp_path, DESCRIPTORS, FASTDISPATCH_OPTIONS=options)
    assert json.loads(result.stdout) == {"low": [0, 1, 2], "next": 3}, result.stderr
    assert (tmp_path / "out" / "rank00000.fd").is_file()


def test_the_descriptors_of_few_are_enough(tmp_path: Path) -> None:
    text = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))\n" + DESCRIPTORS
    result = recorded(tmp_path, text)
    assert json.loads(result.stdout)["next"] == 3
    limited = ["sh", "-c", 'ulimit -n 24; exec "$@"', "sh", sys.executable, "-m", "fastdispatch", "run", "program.py"]
    done = subprocess.run(
        limited, cwd=tmp_path, env=processes.environment(), text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "fastdispatch-out/rank00000.fd" in done.stderr


def test_warnings_about_encodings_are_not_ours(tmp_path: Path) -> None:
    options = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    text = "import multiprocessing\nprint('ran')\n"
    result = recorded(tmp_path, text, *options, FASTDISPATCH_OPTIONS="timeline=python", RANK="0", WORLD_SIZE="2")
    assert (result.stdout, result.stderr) == ("ran\n", "")
    done = processes.python(*options, "-m", "fastdispatch", "run", "-q", "program.py", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


ENDINGS = {
    "threads that go on": """
import threading, time
def forever():
    while True:
        work()
def work(): pass
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.1)
""",
    "a graph that a thread started": """
import threading
import fastdispatch
def inside():
    graph = fastdispatch.CallGraph("inner")
    graph.start()
    work()
def work(): pass
thread = threading.Thread(target=inside)
thread.start()
""",
    "an atexit handler that stops it": """
import atexit, fastdispatch.record.callgraph
graph = fastdispatch.record.callgraph.current()
atexit.register(graph.stop)
def work(): pass
work()
""",
    "modules that are gone": """
import sys
def work(): pass
work()
for name in ("json", "socket", "tempfile", "warnings", "os"):
    sys.modules[name] = None
""",
    "standard error is closed": """
import sys
def work(): pass
work()
sys.stderr.close()
""",
    "interpreters beside this one": """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def work(): pass
work()
for _ in range(3):
    made = interpreters.create()
    interpreters.run_string(made, "def other(): pass\\nother()")
    interpreters.destroy(made)
""",
}


@pytest.mark.parametrize("kind", ENDINGS)
def test_no_output_at_the_end_of_a_program(kind: str, tmp_path: Path) -> None:
    result = recorded(tmp_path, ENDINGS[kind])
    assert (result.stdout, result.stderr) == ("", "")
    trace = fastdispatch.load(tmp_path / "out")
    assert "work" in trace.nodes["name"] and trace.ranks[0]["state"] == "stopped"
    assert len(list((tmp_path / "out").glob("*.fd"))) == 1


def run(*command: str | Path, folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """A Python process recorded through the environment."""
    variables = {"FASTDISPATCH": "1", "FASTDISPATCH_OUT": str(folder / "out")} | changes
    return processes.python(*command, folder=folder, **variables)


def test_the_destructor_of_a_tool_is_called_only_for_code_that_the_tool_has_seen() -> None:
    """Also at the end of the interpreter, when Python destructors can no longer run."""
    assert processes.run("code_extras.py").stdout == "[100, 200]\n"


@pytest.mark.parametrize("kind", ("isolated", "legacy"))
@pytest.mark.parametrize("calls", SOURCES)
def test_other_interpreters_of_the_process_run_unrecorded(calls: str, kind: str, tmp_path: Path) -> None:
    program = processes.ISOLATED / "subinterpreters.py"
    result = run(program, kind, folder=tmp_path, FASTDISPATCH_OPTIONS=f"calls={calls}")
    assert (result.stdout, result.stderr, result.returncode) == ("end\n", "", 0)
    names = fastdispatch.load(tmp_path / "out").nodes["name"]
    assert "in_the_program" in names
    assert "leaf" not in names


def test_an_extension_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "fastdispatch").mkdir()
    (tmp_path / "fastdispatch" / "__init__.py").write_text("raise ImportError('libcjson.so.1 is missing')\n")
    shutil.copy(processes.ROOT / "python" / "_fastdispatch_startup.py", tmp_path)
    startup = (processes.ROOT / "python" / "fastdispatch-startup.pth").read_text()
    result = run("-S", "-c", f"exec({startup!r})\nprint('ran')", folder=tmp_path)
    assert (result.stdout, result.stderr) == ("ran\n", "fastdispatch: not recording: libcjson.so.1 is missing\n")


def test_a_recording_leaves_it_to_the_program_to_import_threading_first(tmp_path: Path) -> None:
    """threading regards the first importing thread as the main one."""
    result = run("-c", "import sys; print({'threading', 'logging', 'asyncio'} & set(sys.modules))", folder=tmp_path)
    assert (result.stdout, result.stderr) == ("set()\n", "")


@pytest.mark.parametrize("name", ("email", "hashlib", "platform", "random", "shutil", "tempfile", "uuid", "zipfile"))
def test_a_module_of_the_program_is_found_before_one_of_the_standard_library(name: str, tmp_path: Path) -> None:
    """As without the recorder, which starts before the folder of the program is on the path."""
    (tmp_path / f"{name}.py").write_text("print('of the program')")
    (tmp_path / "program.py").write_text(f"import {name}")
    result = run("program.py", folder=tmp_path)
    assert (result.stdout, result.stderr) == ("of the program\n", "")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
@pytest.mark.parametrize("calls", SOURCES)
def test_a_recording_leaves_the_usual_tool_ids_to_the_program(calls: str, tmp_path: Path) -> None:
    program = "import sys\nfor tool in range(5): sys.monitoring.use_tool_id(tool, 'tool')"
    result = run("-c", program, folder=tmp_path, FASTDISPATCH_OPTIONS=f"calls={calls}")
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


# -- lifetimes of arguments (docs/concepts/reliability.md has the exception) -------------------------------------------


AUTO = "monitor" if sys.version_info >= (3, 12) else "frame"


def lifetimes(source: str, mode: str = "recorded") -> dict[str, Any]:
    result: dict[str, Any] = json.loads(processes.run("lifetimes.py", source, mode).stdout)
    return result


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    found = lifetimes("plain")
    assert len(found) > 30 and found["positional"] == [2 if sys.version_info < (3, 14) else 1, "freed a", "released"]
    return found


@pytest.mark.skipif(AUTO == "frame", reason="the evaluator keeps arguments alive")
@pytest.mark.parametrize("mode", ["recorded", "paused"])
def test_arguments_live_as_long_as_without_a_recorder(plain: dict[str, Any], mode: str) -> None:
    assert lifetimes("auto", mode) == plain


@pytest.mark.parametrize("mode", ["recorded", "paused"])
def test_the_evaluator_keeps_arguments_until_the_end_of_the_call(plain: dict[str, Any], mode: str) -> None:
    """The known difference: the same destructors run, later, and temporaries need twice the memory."""
    found = lifetimes("frame", mode)
    assert found["positional"][1:] == ["released", "freed a"]
    assert (plain["megabytes"], found["megabytes"]) == (100, 200)
    for name in plain.keys() - {"megabytes"}:
        texts = [sorted(line for line in log[name] if isinstance(line, str)) for log in (plain, found)]
        assert texts[0] == texts[1], name
