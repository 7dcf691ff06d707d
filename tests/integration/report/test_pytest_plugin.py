"""The pytest plugin, in separate pytest processes."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests import golden, processes

pytest.importorskip("torch")

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.layer(x))

def clipped(x):
    return x / x.norm().item()

def branching(x):
    y = x + 1
    print("break")
    return y * 2
"""

TESTS = """
import pytest
import torch
import net

MODEL = net.Net()
X = torch.ones(2, 4)

@pytest.mark.fastdispatch(limit_ops={"aten::addmm": 1, "aten::relu": 1}, no_syncs=True)
def test_within_limits():
    MODEL(X)

@pytest.mark.fastdispatch(limit_ops=3)
def test_operators():
    for _ in range(3):
        MODEL(X)

@pytest.mark.fastdispatch(limit_ops={"aten::relu": 2, "aten::*mm": 5})
def test_operators_by_name():
    for _ in range(3):
        MODEL(X)

@pytest.mark.fastdispatch(no_syncs=True)
def test_synchronization():
    net.clipped(MODEL(X).detach())

@pytest.mark.fastdispatch(no_syncs=True, limit_ops={"aten::addmm": 2})
def test_block(fastdispatch_recorder):
    with fastdispatch_recorder:
        MODEL(X)
    with fastdispatch_recorder:
        y = MODEL(X)
    assert MODEL(X).sum().item() == y.sum().item()

@pytest.mark.fastdispatch(limit_ops={"aten::addmm": 1})
def test_blocks_are_added_up(fastdispatch_recorder):
    for _ in range(2):
        with fastdispatch_recorder:
            MODEL(X)

@pytest.mark.fastdispatch(no_recompiles=True)
def test_recompilation():
    compiled = torch.compile(net.Net(), backend="eager", dynamic=False)
    compiled(torch.ones(2, 4))
    compiled(torch.ones(3, 4))

@pytest.mark.fastdispatch(max_graph_breaks=0, no_recompiles=True)
def test_graph_break():
    torch.compile(net.branching, backend="eager")(X)

@pytest.mark.fastdispatch(limit_op=3)
def test_wrong_name():
    pass

@pytest.mark.fastdispatch(limit_ops=0)
def test_own_failure():
    MODEL(X)
    assert X is None

def test_without_mark():
    MODEL(X).sum().item()
"""

#: Part of the sentence of each test that fails.
SENTENCES = dict(golden.table("plugin"))


def run(folder: Path, *options: str, file: str = "test_net.py", **changes: str) -> subprocess.CompletedProcess[str]:
    plugin = ("-p", "_fastdispatch_pytest", "-p", "no:cacheprovider")
    changes["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return processes.python("-m", "pytest", *plugin, file, *options, folder=folder, **changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plugin")
    (made / "net.py").write_text(MODEL)
    (made / "test_net.py").write_text(TESTS)
    return made


def test_a_failure_is_one_sentence_with_the_path(folder: Path) -> None:
    done = run(folder, "-q", "-rN", "--strict-markers", "--show-capture=no")
    blocks = dict(re.findall(r"^_+ (\w+) _+\n((?:.*\n)*?)(?=^_|^=)", done.stdout + "=", re.M))
    assert set(blocks) == {*SENTENCES, "test_own_failure"}, done.stdout
    for name, sentence in SENTENCES.items():
        assert re.fullmatch(sentence, blocks[name].strip()), blocks[name]
    assert "assert X is None" in blocks["test_own_failure"]
    assert "limit_ops" not in blocks["test_own_failure"].replace("limit_ops=0", "")
    assert f"{len(blocks)} failed, 3 passed" in done.stdout


def test_a_baseline_holds_exact_counts(folder: Path) -> None:
    tests = ("-q", "-k", "within or block or synchronization")
    baseline = folder / "baseline.json"
    written = run(folder, *tests, "--fastdispatch-baseline", "baseline.json", "--fastdispatch-update")
    assert "2 failed, 2 passed" in written.stdout, written.stdout  # the limits of the marks still apply
    entry = json.loads(baseline.read_text())["tests"]["test_net.py::test_within_limits"]
    assert entry["operators"]["aten::addmm"] == entry["operators"]["aten::relu"] == 1
    assert entry["synchronizations"] == 0
    tests = "within or test_block and not added or operators_by"
    again = run(folder, "-k", tests, "--fastdispatch-baseline", "baseline.json")
    assert "1 failed, 2 passed" in again.stdout, again.stdout
    assert "has no entry for this test: add it with --fastdispatch-update" in again.stdout

    (folder / "changed").mkdir()
    (folder / "changed" / "baseline.json").write_bytes(baseline.read_bytes())
    (folder / "changed" / "test_net.py").write_text(TESTS)
    (folder / "changed" / "net.py").write_text(MODEL.replace("torch.relu(", "torch.relu(x.bool().any() * "))
    changed = run(folder / "changed", "-k", "within", "--fastdispatch-baseline", "baseline.json")
    assert "the baseline has 0 calls of aten::any, the test makes 1, 1 below test_net.py" in changed.stdout
    assert "aten::addmm" not in changed.stdout


def test_bad_options_are_one_line(folder: Path) -> None:
    (folder / "broken.json").write_text("[]")
    for options, message in {
        ("--fastdispatch-update",): "--fastdispatch-update: give the file with --fastdispatch-baseline FILE",
        ("--fastdispatch-baseline", "absent.json"): "absent.json: cannot read",
        ("--fastdispatch-baseline", "broken.json"): "broken.json: not a baseline of version 1",
    }.items():
        done = run(folder, *options)
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_a_recorded_process_cannot_be_checked(folder: Path) -> None:
    done = processes.fastdispatch(
        *("run", "-q", "-o", "out", "-m", "pytest", "-p", "_fastdispatch_pytest", "-k", "within", "test_net.py"),
        folder=folder,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert "the test cannot be recorded: this process is recorded already" in done.stdout


def test_the_plugin_imports_nothing_without_a_mark(folder: Path) -> None:
    (folder / "test_light.py").write_text(
        "import sys\n\n\ndef test_modules():\n    found = {each.partition('.')[0] for each in sys.modules}\n"
        "    assert not found & {'fastdispatch', 'torch'}\n"
    )
    done = run(folder, file="test_light.py")
    assert done.returncode == 0, done.stdout
    project = tomllib.loads((processes.ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"fastdispatch": "_fastdispatch_pytest"}
