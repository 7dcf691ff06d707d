"""A pipeline of two stages, of which the second one has most of the layers."""

import small
import torch
import torch.distributed as dist

import fastdispatch

FINDING = "stage-imbalance"
RANKS = 2
OPTIONS = {"timeline": "jobs"}


def run_stage(stage: int, net: torch.nn.Module, optimizer: torch.optim.Optimizer, micro_batch: int) -> None:
    x = torch.randn(128, 384, requires_grad=True)
    if stage == 1:
        with fastdispatch.job("receive", mb=micro_batch, stage=1, peer=0):
            dist.recv(x.data, 0)
    with fastdispatch.job("forward", mb=micro_batch, stage=stage):
        out = net(x)
    if stage == 0:
        with fastdispatch.job("send", mb=micro_batch, stage=0, peer=1):
            dist.send(torch.zeros(128, 384), 1)
    with fastdispatch.job("backward", mb=micro_batch, stage=stage):
        out.sum().backward()


def main(fault: bool) -> None:
    stage = dist.get_rank()
    net = small.Net(384, 16 if fault and stage == 1 else 4)
    optimizer = small.optimizer(net)
    for _ in range(small.STEPS):
        optimizer.zero_grad()
        for micro_batch in range(2):
            run_stage(stage, net, optimizer, micro_batch)
        with fastdispatch.job("optimizer", stage=stage):
            optimizer.step()
