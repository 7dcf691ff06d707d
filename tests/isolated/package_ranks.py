"""Run a generated package on one rank per stage, like its runtime: rows of model(), ranks of mp_conf.json, each tensor
sent by its name to the stages that read it. Argument: folder of the package. The last rank prints one loss per step."""

import importlib
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist

STEPS = 3


def main() -> None:
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder.parent))
    package = importlib.import_module(folder.name)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    whole = package.full_model()
    conf = json.loads((folder / "mp_conf.json").read_text())
    rows = package.model(None)[:-1]
    ranks = [conf["stage_to_rank_map"][str(stage)][0] for stage in conf["module_to_stage_map"]]
    own = ranks.index(rank)
    stage = getattr(whole, f"stage{own}")
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.05)
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(step)
        tensors = {"input0": torch.randn(4, 8, generator=generator)}
        _, reads, gives = rows[own]
        if own:
            tensors = {name: torch.empty(4, 8).requires_grad_() for name in reads}
            for name in reads:
                dist.recv(tensors[name].data, ranks[home(rows, name)])
        answer = stage(*(tensors[name] for name in reads))
        given = dict(zip(gives, answer if len(gives) > 1 else [answer], strict=True))
        for reader in range(own + 1, len(rows)):
            for name in [name for name in rows[reader][1] if name in given]:
                dist.send(given[name].detach(), ranks[reader])
        optimizer.zero_grad()
        backward(rows, ranks, own, tensors, given)
        optimizer.step()
        if own == len(rows) - 1:
            print(repr(given[gives[-1]].square().mean().item()))


def home(rows: list, name: str) -> int:
    """The stage that produces a tensor."""
    return next(index for index, (_, _, gives) in enumerate(rows) if name in gives)


def backward(rows: list, ranks: list[int], own: int, tensors: dict, given: dict) -> None:
    """Receive gradients from all readers, the last stage first, and send gradients to the stages of the inputs."""
    if own == len(rows) - 1:
        (value,) = given.values()
        value.square().mean().backward()
    else:
        gradients = {}
        for reader in reversed(range(own + 1, len(rows))):
            for name in [name for name in rows[reader][1] if name in given]:
                gradient = torch.empty(4, 8)
                dist.recv(gradient, ranks[reader])
                gradients[name] = gradients[name] + gradient if name in gradients else gradient
        torch.autograd.backward([given[name] for name in gradients], list(gradients.values()))
    if own:
        for name, tensor in tensors.items():
            dist.send(tensor.grad, ranks[home(rows, name)])


main()
