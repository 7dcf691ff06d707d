"""Run a module of CPython's tests in its own process, with a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.cpython.interpreters import environment, remove

ONE_MODULE = Path(__file__).with_name("one_module.py")
PLAIN_LIMIT = 900.0
#: Seconds to wait for a process that was asked to end.
GRACE = 20.0
#: Of several outcomes of a test, the worst one is kept.
WORST = ("ok", "expected failure", "skipped", "unexpected success", "failed", "error")
#: The name of the outcome of the whole process.
PROCESS = "(process)"


@dataclass(frozen=True)
class Setting:
    """How to record the tests."""

    calls: str  # "frame" or "monitor"
    recording: str  # "recorded", or "paused": hooks are installed and nothing is recorded

    def __str__(self) -> str:
        return f"{self.calls} {self.recording}"

    def variables(self, out: Path) -> dict[str, str]:
        variables = {
            "FASTDISPATCH": "1",
            "FASTDISPATCH_OUT": str(out),
            "FASTDISPATCH_OPTIONS": f"calls={self.calls}",
        }
        if self.recording == "paused":
            variables["FASTDISPATCH_STEPS"] = "1000000:"
        return variables


@dataclass
class Result:
    """Outcomes by test, and how the process ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    recorder: bool = False
    stats: dict[str, int] = field(default_factory=dict)
    log: str = ""

    @property
    def summary(self) -> str:
        tests = [outcome for test, outcome in self.outcomes.items() if test != PROCESS]
        counted = {outcome: tests.count(outcome) for outcome in sorted(set(tests))}
        return ", ".join([f"{count} {outcome}" for outcome, count in counted.items()] + [self.outcomes[PROCESS]])

    def store(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def stored(cls, path: Path) -> Result | None:
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def run(python: Path, module: str, log: Path, limit: float = PLAIN_LIMIT, setting: Setting | None = None) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="cpython-tests-"))
    lines = folder / "lines"
    place = folder / "tmp" / "here"
    place.mkdir(parents=True)
    variables = {"TMPDIR": str(folder / "tmp")} | (setting.variables(folder / "out") if setting else {})
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        with open(log, "wb") as output:
            status = ended(
                subprocess.Popen(
                    [python, ONE_MODULE, module, lines],
                    cwd=place,
                    env=environment(**variables),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                ),
                limit,
            )
        result = read(lines)
        result.outcomes[PROCESS] = status
        result.seconds = time.monotonic() - began
        result.log = str(log)
        return result
    finally:
        remove(folder)


def ended(process: subprocess.Popen[bytes], limit: float, grace: float = GRACE) -> str:
    """Wait for the process. At the limit it writes its tracebacks (faulthandler) and is killed with its children."""
    over = False
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        over = True
        process.send_signal(signal.SIGABRT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if over:
        return "timed out"
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def read(path: Path) -> Result:
    result = Result()
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    times: dict[str, int] = {}
    for line in map(json.loads, texts):
        result.recorder |= line.get("recorder", False)
        result.stats = line.get("stats", result.stats)
        if "test" in line:
            _add(result, times, line)
    return result


def _add(result: Result, times: dict[str, int], line: dict[str, str]) -> None:
    name, outcome = line["test"].removeprefix("test."), line["outcome"]
    if outcome == "not finished":
        times[name] = times.get(name, 0) + 1
    test = name if times.get(name, 1) == 1 else f"{name} #{times[name]}"  # a module can run a test twice
    before = result.outcomes.get(test)
    if before is None or before == "not finished" or WORST.index(outcome) > WORST.index(before):
        result.outcomes[test] = outcome
        result.reasons[test] = line.get("why", "")
