"""Nine trainings of new users: the planted fault is the first finding, and nothing false is printed."""

import importlib.util
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.detectors import limits
from fastdispatch.read import live
from tests import commands, processes, warm

pytestmark = [pytest.mark.torch, pytest.mark.alone]

#: Stands for the limit of a hang in seconds.
LIMIT = 2.5


@dataclass(frozen=True)
class Training:
    finding: str
    where: str  # end of the place's key
    ranks: int = 1
    steps: int = 12
    guilty: tuple[int, ...] = ()
    program: str = "first_users.py"
    imports: tuple[str, ...] = ("torch.distributed", "fastdispatch")
    stages_or_chunks: int = 0  # argument of a program of a pipeline
    slow: dict[str, str] = field(default_factory=dict)  # variables of the last rank
    line: str = "# here: "  # part of the line of the place
    false: tuple[str, ...] = ()  # what must not be printed


NOT_SLOW = (r"\[slow-rank", "its host, other programs", "no jobs of a pipeline", "no pipeline engine")

#: A pipeline whose last stage is slow.
PIPELINE: dict[str, Any] = {"ranks": 2, "line": "", "false": NOT_SLOW}
DEEPSPEED = {"program": "pipeline_deepspeed.py", "imports": ("torch", "deepspeed"), "stages_or_chunks": 2}
MEGATRON = {"program": "pipeline_megatron.py", "imports": ("torch", "megatron.core"), "stages_or_chunks": 1}

TRAININGS = {
    "huggingface": Training(
        "input-wait", "[Tokens]:__getitem__", imports=("torch.distributed", "transformers", "accelerate")
    ),
    "data_parallel": Training("slow-rank", ":augment", 2, 24, (1,), false=(r"\[input-wait",)),
    "deepspeed": Training("stage-imbalance", "", steps=8, slow={"SLOW": "0.02"}, **PIPELINE, **DEEPSPEED),
    "lightning": Training("host-sync", ":training_step", imports=("torch.distributed", "lightning")),
    "compiled": Training("graph-break", "", steps=24, imports=("torch._dynamo", "fastdispatch")),
    "fully_sharded": Training("unequal-work", "", 2, 16, (1,), false=("main calls", "flatten_dense_tensors")),
    "megatron": Training("stage-imbalance", "", slow={"SLEEP": "0.01"}, **PIPELINE, **MEGATRON),
    "hang": Training("hang", ":wait_for_checkpoint", 2, 24, (1,), false=(r"^ *[\d.]+ [nu]s +\S*:all_reduce",)),
    "notebook": Training("host-code", ":log_loss", steps=50, line="", false=(r"(critical|warning): .*host-sync",)),
}

#: False in all of them.
FALSE = (
    r"for (at least )?0 ns",
    r"of these steps: evaluation",
    r"no steps found",
    r"slowest rank",
    r"queued work of a GPU",
    r": skipped: ",
    r"(hang|recompile), 100 % of a step",
)


def start(name: str, folder: Path) -> list[warm.Program]:
    given = TRAININGS[name]
    shared = processes.meeting(given.ranks) if given.ranks > 1 else {}
    started = []
    for rank in range(given.ranks):
        own = {"ITERATIONS": str(given.steps)} | shared
        if given.ranks > 1:
            own |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        if rank == given.ranks - 1:
            own |= given.slow
        words = (folder, given.stages_or_chunks) if given.stages_or_chunks else (name, given.steps, folder)
        started.append(processes.start_warm(given.imports, given.program, *words, **own))
    return started


def stand(out: Path) -> bool:
    if len([*out.glob("rank*.fd")]) < 2:
        return False
    ages = [stack.age for stack in live.position(str(out))[0] if stack.thread == "main"]
    return len(ages) == 2 and min(ages) >= (LIMIT + 2) * 1e9


def record(name: str, folder: Path) -> Path:
    started = start(name, folder / name)
    if name != "hang":
        processes.outputs(started)
        return folder / name
    try:
        processes.wait_for(lambda: stand(folder / name))
    finally:
        for each in started:
            each.kill()
            each.wait(60)
    return folder / name


@pytest.mark.parametrize("name", TRAININGS)
def test_the_fault_is_found_and_nothing_false_is_printed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HANG_S", LIMIT)
    given = TRAININGS[name]
    for module in given.imports:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            pytest.skip(f"needs {module}")
    monkeypatch.syspath_prepend(str(processes.ISOLATED))  # where the sources are
    out = record(name, tmp_path)
    found = fastdispatch.findings(out)
    text = commands.out("findings", out) + commands.out("report", out)
    first = found.findings[0]
    assert first.id == given.finding, text
    assert first.where.key.endswith(given.where), first.where
    assert tuple(first.ranks) == given.guilty or not given.guilty
    for false in (*FALSE, *given.false):
        assert not re.search(false, text, re.MULTILINE), (false, text)
    assert all(float(share) <= 100 for share in re.findall(r"([\d.]+) %", text)), text
    source = (processes.ISOLATED / given.program).read_text().splitlines()
    calls = [int(line) for line in re.findall(rf"from your {given.program}:(\d+)", text)]
    assert not [line for line in calls if source[line - 1].startswith(("def ", "    def "))], text
    assert not given.line or given.line + name in source[first.where.line - 1], first.where
