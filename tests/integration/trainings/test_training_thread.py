"""A training in another thread than Python's main one, as in Ray Train: its thread is what views are about."""

import signal
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.detectors import findings
from fastdispatch.report.report_model import report
from fastdispatch.report.report_rows import ReportOptions
from tests import commands, processes

pytestmark = pytest.mark.torch

STEPS = 24

#: The recording begins in the main thread, which then waits, or in the thread.
PROGRAM = f"""
import contextlib, os, signal, sys, threading
import torch
import fastdispatch

def hits(scores, labels):
    return sum(scores[row].argmax().item() == labels[row].item() for row in range(len(labels)))

def train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
    with recorded("thread"):
        for _ in range({STEPS}):
            scores = model(data)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits(scores.detach(), labels)
            if "die" in sys.argv:
                os.kill(os.getpid(), signal.SIGKILL)

def recorded(where):
    return fastdispatch.CallGraph(sys.argv[1]) if sys.argv[2] == where else contextlib.nullcontext()

with recorded("main"):
    thread = threading.Thread(target=train, name="TrainingThread(train)")
    thread.start()
    thread.join()
"""


@pytest.fixture(scope="module", params=["main", "thread"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "program.py").write_text(PROGRAM)
    processes.run_warm(folder / "program.py", folder / "out", request.param)
    return folder / "out"


def test_the_report_is_about_the_training_thread(recording: Path) -> None:
    trace = fastdispatch.load(recording, steps="settled")
    made = report(trace, ReportOptions())
    assert trace.main_role == made.facts.whole_role == "TrainingThread(train)"
    assert made.facts.step > 0
    threads = trace.ranks[0]["threads"]
    assert made.facts.whole == threads["self"][threads["role"].index("TrainingThread(train)")]
    times = {phase.phase: phase.per_step for phase in made.facts.phases}
    assert all(times[phase] > 0 for phase in ("forward", "backward", "optimizer"))


def test_findings_look_at_the_training_thread(recording: Path) -> None:
    first = findings(recording).findings[0]
    assert (first.id, first.where.key) == ("host-sync", "program.py:[]:hits")


def test_stacks_of_a_rank_without_a_main_thread(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    died = processes.start_warm(processes.TORCH, tmp_path / "program.py", tmp_path / "out", "thread", "die")
    died.communicate()
    assert died.returncode == -signal.SIGKILL
    printed = commands.out("stacks", tmp_path / "out")
    assert "thread TrainingThread(train)" in printed and "program.py:[]:train" in printed
