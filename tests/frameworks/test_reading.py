"""Small trainings of real frameworks read right: losses, steps, phases, modules, the picture."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

import fastdispatch
from tests import processes

LOOPS = Path(__file__).parent / "loops"
PHASES = ("forward", "backward", "optimizer")
LOSS = re.compile(r"loss (?:-?0x[0-9a-f.]+p[+-]\d+|[\d ]+)")


@dataclass(frozen=True)
class Case:
    """Steps of a program of the folder ``loops``, and the class of its outermost module; with ``beside``, of a module
    that is in no other; ``packages`` are a folder of the environment that only this program imports from."""

    program: str
    steps: int
    root: str
    ranks: int = 1
    stage: str = ""
    beside: str = ""
    packages: str = ""


CASES = [
    Case("huggingface_trainer", 8, "GPT2LMHeadModel"),
    Case("trl_sft", 8, "PeftModelForCausalLM"),
    Case("lightning_fit", 8, "Regression"),
    Case("accelerate_loop", 8, "Classifier"),
    Case("deepspeed_zero", 8, "DeepSpeedEngine", 2, "1"),
    Case("deepspeed_zero", 8, "DeepSpeedEngine", 2, "2"),
    Case("deepspeed_zero", 8, "DeepSpeedEngine", 2, "3"),
    Case("tensor_parallel", 8, "Sequential", 2),
    Case("torch_pipelining", 6, "Part", 2, beside="MSELoss"),
    Case("megatron_gpt", 6, "GPTModel", 2, "pipeline", beside="Softmax"),
    Case("megatron_gpt", 6, "GPTModel", 2, "tensor", beside="Softmax"),
    Case("megatron_gpt", 6, "GPTModel", 2, "expert", beside="Softmax"),
    Case("torchtitan_llama", 6, "FSDPTransformer", 2, "sharded", packages="titan"),
    Case("torchtitan_llama", 6, "Transformer", 2, "pipeline", packages="titan"),
    Case("compiled_regions", 8, "Net"),
    Case("vision_transformer", 6, "VisionTransformer", packages="vision"),
    Case("diffusion", 4, "UNet2DModel"),
    Case("sentence_embeddings", 6, "MultipleNegativesRankingLoss"),
    Case("graph_network", 8, "Net"),
    Case("reinforce", 6, "Sequential"),
    Case("generation", 0, "GPT2LMHeadModel"),
]


def start(case: Case, folder: Path, record: bool) -> subprocess.Popen[str]:
    folder.mkdir()
    command = ["-m", "fastdispatch", "run", "-o", "out"] if record else []
    if case.ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={case.ranks}"]
    environment = processes.environment(
        HF_HUB_OFFLINE="1", DS_ACCELERATOR="cpu", TOKENIZERS_PARALLELISM="false", STAGE=case.stage
    )
    if case.packages:
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(Path(sys.prefix) / case.packages), environment.get("PYTHONPATH", "")]
        )
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, *command, str(LOOPS / f"{case.program}.py")],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def losses(process: subprocess.Popen[str], folder: Path) -> list[str]:
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0, (folder / "log").read_text()[-3000:]
    return sorted(LOSS.findall(text))  # ranks share the pipe


@pytest.mark.parametrize("case", CASES, ids=[f"{case.program}{case.stage}" for case in CASES])
def test_training(case: Case, tmp_path: Path) -> None:
    folders = [tmp_path / "plain", tmp_path / "recorded"]
    running = [start(case, folder, record) for folder, record in zip(folders, (False, True), strict=True)]
    plain, recorded = (losses(*each) for each in zip(running, folders, strict=True))
    assert plain and recorded == plain
    out = folders[1] / "out"
    trace = fastdispatch.load(out)
    assert [rank["state"] for rank in trace.ranks] == ["stopped"] * case.ranks
    source = "optimizer" if case.steps else "none"
    assert [(rank["steps"], rank["steps_source"]) for rank in trace.ranks] == [(case.steps, source)] * case.ranks
    for rank in trace.ranks if case.steps else []:
        assert all(min(rank["latest_steps"][phase]) > 0 for phase in PHASES)
    modules = trace.modules
    roots = {name for name, path in zip(modules["class"], modules["path"], strict=True) if not path}
    assert roots == {case.root, case.beside} - {""}
    first = (
        processes.successful("report", ".", folder=out).stdout.partition(" where\n")[2].splitlines()[:5]
        if case.steps
        else []
    )
    assert "100.0 %" in "".join(first[:1]) or not case.steps
    assert not [row for row in first if "_call_impl" in row or "<folded>" in row]
    processes.successful("svg", ".", "-o", "graph.svg", folder=out)
    assert ElementTree.parse(out / "graph.svg").getroot().tag.endswith("svg")
