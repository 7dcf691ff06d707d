"""Record a program of this folder: ``record.py OUT NAME fault|clean [RENDEZVOUS RANK WORLD]``.

A program has ``FINDING``, the id of its planted fault, ``main(fault)``, and optionally ``RANKS``, ``OPTIONS`` of the
recording and ``HANGS``.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

import torch

import fastdispatch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "habits")]


def main(out: str, name: str, variant: str, rendezvous: str = "", rank: str = "0", world: str = "1") -> None:
    program = import_module(name)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if rendezvous:
        os.environ.update(RANK=rank, WORLD_SIZE=world)
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{rendezvous}", rank=int(rank), world_size=int(world)
        )
    with fastdispatch.CallGraph(out, **getattr(program, "OPTIONS", {})):
        program.main(variant == "fault")
    if rendezvous:
        torch.distributed.destroy_process_group()


main(*sys.argv[1:])
