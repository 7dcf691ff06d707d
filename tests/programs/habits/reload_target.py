"""A target network whose weights are loaded in every step."""

import copy

import small
import torch

FINDING = "device-copy"


def main(fault: bool) -> None:
    model, optimizer, x, _ = small.training(small.Net())
    target = copy.deepcopy(model)
    for number in range(small.STEPS):
        with torch.no_grad():
            goal = target(x) + 1
        optimizer.zero_grad()
        (model(x) - goal).square().mean().backward()
        optimizer.step()
        if fault or number == 12:
            target.load_state_dict(model.state_dict())
