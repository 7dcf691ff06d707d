"""Effects of the recorder on the program and on other tools in its process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from tests import processes

CALLS = ("frame", "monitor") if sys.version_info >= (3, 12) else ("frame",)


def run(*command: str | Path, folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """A Python process recorded through the environment."""
    variables = {"FASTDISPATCH": "1", "FASTDISPATCH_OUT": str(folder / "out")} | changes
    return processes.python(*command, folder=folder, **variables)


def test_the_destructor_of_a_tool_is_called_only_for_code_that_the_tool_has_seen() -> None:
    """Also at the end of the interpreter, when Python destructors can no longer run."""
    assert processes.run("code_extras.py").stdout == "[100, 200]\n"


@pytest.mark.parametrize("kind", ("isolated", "legacy"))
@pytest.mark.parametrize("calls", CALLS)
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
@pytest.mark.parametrize("calls", CALLS)
def test_a_recording_leaves_the_usual_tool_ids_to_the_program(calls: str, tmp_path: Path) -> None:
    program = "import sys\nfor tool in range(5): sys.monitoring.use_tool_id(tool, 'tool')"
    result = run("-c", program, folder=tmp_path, FASTDISPATCH_OPTIONS=f"calls={calls}")
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)
