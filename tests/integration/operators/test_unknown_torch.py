"""PyTorches that the ``record`` back end cannot use: one truthful line, and calls are recorded as before."""

import json
import shutil
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, standin

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler for the stand-in library")

#: Loads the library of argv[1], if any, then runs the self-test with the operators of that library.
PROGRAM = """
import ctypes, sys
from fastdispatch import Error, _core
library = ctypes.CDLL(sys.argv[1]) if len(sys.argv) > 1 else None

def operators():
    library.run_operators(5)
    return 7

session = _core.Session(None, max_mb=1)
session.start()
try:
    session.attach_records(operators)
except Error as error:
    print(error)
session.stop()
"""


def reason(*arguments: object) -> str:
    (line,) = processes.python_program("-c", PROGRAM, *arguments).stdout.splitlines()
    return line


def test_a_static_build() -> None:
    assert reason() == "no library libtorch_cpu.so is loaded"


def test_a_build_without_record_functions(tmp_path: Path) -> None:
    line = reason(standin.build_libtorch(tmp_path, functions=False))
    assert line == "libtorch_cpu.so has no _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"


def test_an_unknown_layout(tmp_path: Path) -> None:
    line = reason(standin.build_libtorch(tmp_path, functions=True))
    assert line.startswith("the self-test received 5 records, which fit none of the ")


TRAINING = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
import torch
def train_step():
    return torch.ones(3).sin().sum()
train_step()
"""


@pytest.mark.torch
def test_two_pytorches_in_one_process(tmp_path: Path) -> None:
    """Calls are recorded, operators by a dispatch mode, and the report and doctor state the reason."""
    library = standin.build_libtorch(tmp_path, functions=True)
    (tmp_path / "train.py").write_text(TRAINING)
    done = processes.fastdispatch("run", "-q", "train.py", library, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    trace = fastdispatch.load(tmp_path / "fastdispatch-out")
    assert {"train_step", "aten::sin"} < set(trace.nodes["name"])
    meta = trace.ranks[0]["meta"]
    assert meta["ops"] == "dispatch"
    assert meta["ops_reason"].startswith(f"record refused: two PyTorch libraries are loaded: {library}, ")
    report = processes.fastdispatch("report", "fastdispatch-out", folder=tmp_path).stdout
    assert "two PyTorch libraries are loaded" in report

    program = f"import ctypes, sys; ctypes.CDLL({str(library)!r})\nfrom fastdispatch.cli import main\nsys.exit(main())"
    doctor = processes.python_program("-c", program, "doctor", "--json", folder=tmp_path)
    (check,) = [each for each in json.loads(doctor.stdout)["checks"] if each["id"] == "operators"]
    assert check["status"] == "limited"
    assert "two PyTorch libraries are loaded" in check["text"]
