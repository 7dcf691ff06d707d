"""Places of findings: the function that makes the call, and the line from which the program calls a library."""

import subprocess
import sys
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.detectors import Finding
from tests import processes

torch = pytest.importorskip("torch")

LIBRARY = """
class Trainer:
    def __init__(self, step):
        self.step = step

    def train(self, count):
        total = 0
        for _ in range(count):
            total += self.log(self.step())
        return total

    def log(self, loss):
        values = [1, 2]
        return loss.item() + values[0]
"""

PROGRAM = """
import sys
import torch
from looplib.trainer import Trainer

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)

def step():
    optimizer.zero_grad()
    loss = model(torch.ones(8, 64)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.detach()

def by_library(count):
    return Trainer(step).train(count)

def by_itself(words):
    count = int(words[0])
    where = float(sys.argv[1])
    text = sys.argv[1]
    rate = int(text)
    total = 0.0
    for _ in range(count):
        loss = step()
        total += float(loss)
    return total

def main():
    steps = int(sys.argv[1])
    if sys.argv[2] == "library":
        by_library(steps)
    else:
        by_itself(sys.argv[1:])

main()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))  # where the sources of libraries are
    library = tmp_path / "site-packages" / "looplib"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "trainer.py").write_text(LIBRARY)
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def read_of(program: Path, variant: str) -> Finding:
    """The finding about ``loss.item()`` of a recorded run of the program."""
    out = program.with_name("out")
    command = [sys.executable, "-m", "fastdispatch", "run", "-o", str(out), str(program), "8", variant]
    path = str(program.parent / "site-packages")
    subprocess.run(command, check=True, env=processes.environment(PYTHONPATH=path), capture_output=True)
    return next(each for each in fastdispatch.findings(out) if each.id == "host-sync")


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_read_of_a_library_is_at_its_line_and_for_information(program: Path) -> None:
    found = read_of(program, "library")
    assert found.where.key.endswith("looplib/trainer.py:[Trainer]:log")
    assert found.where.line == line_of(LIBRARY, "loss.item()")
    assert found.where.called_from == f"train.py:{line_of(PROGRAM, 'train(count)')}"
    assert str(found.where).endswith(f", called from your {found.where.called_from}")
    assert found.severity == "info"
    assert found.title.startswith("log reads values of tensors")


def test_a_conversion_of_a_word_is_not_a_read_of_a_tensor(program: Path) -> None:
    found = read_of(program, "itself")
    assert found.where.key.endswith("train.py:[]:by_itself")
    assert (found.where.line, found.where.called_from) == (line_of(PROGRAM, "float(loss)"), "")


READS = """
import sys
import time
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)

def read_state():
    time.sleep(0.01)
    return torch.ones(8, 8)

def used():
    return model(read_state())

def not_used():
    read_state()
    return model(torch.ones(8, 8))

class Loader:
    def read_next(self):
        time.sleep(0.01)
        self.batch = torch.ones(8, 8)

loader = Loader()

def stored():
    loader.read_next()
    return model(loader.batch)

def main(forward):
    for _ in range(20):
        forward().sum().backward()
        optimizer.step()

main({"used": used, "not_used": not_used, "stored": stored}[sys.argv[1]])
"""


@pytest.mark.parametrize(("kind", "function"), [("used", "read_state"), ("not_used", ""), ("stored", "read_next")])
def test_a_function_named_as_one_of_input_is_one_if_its_result_is_used(
    kind: str, function: str, tmp_path: Path
) -> None:
    (tmp_path / "reads.py").write_text(READS)
    processes.run_in(tmp_path, "fastdispatch", "run", "--out", "out", "--steps", "all", "reads.py", kind)
    titles = [each.title for each in fastdispatch.findings(tmp_path / "out") if each.id == "input-wait"]
    expected = f"the loop waits for its input, in {function} (judged by its name)"
    assert titles == ([expected] if function else [])
