"""Train with the recorder for a given time while injecting faults: ``python -m tests.soak SECONDS``.

Two ranks write to one folder. Each run of a rank has its own options and one end (it finishes, Ctrl-C, kill -9);
during the run, recordings are paused and resumed, and read by ``top``, ``report`` and ``stacks``. After each run the
losses must be a prefix of those of a run without a recorder, the exit status must be the expected one, the recording
readable and not empty, and memory constant. Prints a table of faults, times tried and failures; the exit status is 1
after a failure.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastdispatch.read import live

RANKS = 2
STEPS = 400
MEMORY_MB = 48  # allowed growth after the first quarter of a run: chunks of the recording, compiled code
ENDS = ("finish", "finish", "interrupt", "kill")
LOOKS = ("pause", "resume", "top", "report", "stacks")


@dataclass
class Soak:
    folder: Path
    random: random.Random
    tried: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=dict)
    reference: list[list[str]] = field(default_factory=list)

    def count(self, fault: str, problem: str | None) -> None:
        self.tried[fault] += 1
        if problem is not None:
            self.failures.setdefault(fault, []).append(problem)
            print(f"soak: {fault}: {problem}", file=sys.stderr, flush=True)


@dataclass
class Life:
    """One process of a rank, from its start to its end."""

    rank: int
    end: str
    process: subprocess.Popen[str]
    folder: Path
    options: dict[str, Any] | None
    ends_at_step: int
    on_since: int | None = None  # step since which recording has not been paused
    recorded: bool = False  # for several steps


def environment(rank: int) -> dict[str, str]:
    own = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "FASTDISPATCH_RUN_ID": "soak", "OMP_NUM_THREADS": "1"}
    return {name: value for name, value in os.environ.items() if not name.startswith("FASTDISPATCH")} | own


def begin(soak: Soak, rank: int, options: dict[str, Any] | None, end: str) -> Life:
    log = soak.folder / f"rank{rank}.log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.soak.trainee", str(STEPS), str(soak.folder), json.dumps(options)]
    process = subprocess.Popen(
        command, env=environment(rank), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    return Life(rank, end, process, soak.folder, options, soak.random.randrange(5, STEPS))


def options_of(chance: random.Random) -> dict[str, Any]:
    timed = chance.random() < 0.8
    return {
        "ops": chance.choice(["record", "record", "dispatch"]),
        "timing": timed,
        "timeline": timed and chance.random() < 0.3,
        "period": chance.choice([0, 0, 2, 5]),
    }


def lines(life: Life) -> list[list[str]]:
    log = life.folder / f"rank{life.rank}.log"
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return [line.split() for line in text.split("\n")[:-1]]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fastdispatch", *map(str, arguments)],
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )


def look(soak: Soak, out: Path) -> None:
    """Run a random command while the ranks run. It may only fail because nothing is recorded yet."""
    if not any(out.glob("*.fd")):
        return
    what = soak.random.choice(LOOKS)
    arguments = {"top": ["--once"], "report": ["--json"], "stacks": ["--json"]}.get(what, [])
    done = command(what, out, *arguments)
    broken = done.returncode < 0 or done.returncode > 2 or "Traceback" in done.stderr
    soak.count(what, f"status {done.returncode}: {done.stderr[-300:]}" if broken else None)


def intervene(life: Life) -> bool:
    """End the run at its step. True if it has ended."""
    if life.process.poll() is not None:
        return True
    if life.end in ("kill", "interrupt") and len(lines(life)) >= life.ends_at_step:
        life.process.send_signal(signal.SIGKILL if life.end == "kill" else signal.SIGINT)
        life.end += " sent"
    return False


def problem_of(soak: Soak, life: Life, errors: str) -> str | None:
    status = life.process.returncode
    expected = {"kill": -signal.SIGKILL, "interrupt": 130}.get(life.end.removesuffix(" sent"), 0)
    if status == -signal.SIGINT and life.end == "interrupt sent" and len(lines(life)) == STEPS:
        status = 0  # the signal arrived during shutdown of the interpreter, which also happens without a recorder
    if status not in (expected, 0):
        return f"status {status}, not {expected}, after {len(lines(life))} steps with {life.options}: {errors[-500:]}"
    done = lines(life)
    losses = [line[1] for line in done]
    if losses != soak.reference[life.rank][: len(losses)]:
        return f"other losses with {life.options}"
    if status == 0 and len(losses) != STEPS:
        return f"{len(losses)} steps of {STEPS} with {life.options}"
    memory = [int(line[2]) for line in done]
    if len(memory) > STEPS // 2 and memory[-1] - memory[len(memory) // 4] > MEMORY_MB * 1024:
        return f"memory grew from {memory[len(memory) // 4]} to {memory[-1]} KB with {life.options}"
    return None


def recording_problem(life: Life) -> str | None:
    """The recording must be readable and complete up to the end."""
    path = life.folder / "out" / f"rank{life.rank:05}.fd"
    done = command("report", path, "--json")
    if done.returncode != 0:
        return f"report of {path.name} after {life.end}: {done.stderr[-300:]}"
    found = json.loads(done.stdout)
    return None if found["rows"] else f"an empty recording after {life.end} with {life.options}"


def watch(life: Life) -> None:
    """Note whether the rank has recorded for several steps: a paused rank has an empty recording."""
    done = len(lines(life))
    if (life.folder / "out" / f"rank{life.rank:05}.fd{live.OFF}").exists():
        life.on_since = None
    elif life.on_since is None:
        life.on_since = done
    life.recorded = life.recorded or (life.on_since is not None and done - life.on_since > 20)


def finish(soak: Soak, life: Life) -> None:
    _, errors = life.process.communicate(timeout=60)
    fault = {"interrupt sent": "Ctrl-C", "kill sent": "kill -9 and restart"}.get(life.end, "training to its end")
    problem = problem_of(soak, life, errors)
    if problem is None and life.recorded:
        problem = recording_problem(life)
    soak.count(fault, problem)
    assert life.options is not None
    soak.count(f"operators by {life.options['ops']}", None)
    if life.options["period"]:
        soak.count("windows of a schedule", None)


def lives(soak: Soak, seconds: float) -> Iterator[None]:
    """Restart ranks until the time is over."""
    until = time.monotonic() + seconds
    running: dict[int, Life] = {}
    while running or time.monotonic() < until:
        for rank in range(RANKS):
            life = running.get(rank)
            if life is not None:
                watch(life)
            if life is not None and intervene(life):
                finish(soak, running.pop(rank))
            if rank not in running and time.monotonic() < until:
                running[rank] = begin(soak, rank, options_of(soak.random), soak.random.choice(ENDS))
        yield


def table(soak: Soak) -> str:
    rows = [
        f"| {fault} | {times} | {len(soak.failures.get(fault, []))} |" for fault, times in sorted(soak.tried.items())
    ]
    return "\n".join(["| fault | times tried | failures |", "|---|---|---|", *rows])


def main() -> int:
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    folder = Path(tempfile.mkdtemp(prefix="fastdispatch-soak-"))
    soak = Soak(folder, random.Random(seed))
    try:
        for rank in range(RANKS):
            life = begin(soak, rank, None, "finish")
            _, errors = life.process.communicate(timeout=300)
            if life.process.returncode != 0:
                sys.exit(f"soak: the training itself fails: {errors}")
            soak.reference.append([line[1] for line in lines(life)])
        for _ in lives(soak, seconds):
            look(soak, folder / "out")
            time.sleep(0.2)
        print(table(soak))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
