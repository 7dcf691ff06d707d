"""Gloo ranks that follow a schedule, with fastdispatch.job for each job; optionally with a slow stage or sender.

pipeline_ranks.py OUT STAGES MICRO_BATCHES [slow-stage=K] [slow-sender=K] [die=K] [copies=N]
"""

import os
import sys
import time

import torch
import torch.distributed as dist

import fastdispatch
from fastdispatch import pipeline

UNIT = 0.003
STEPS = 3
WORDS = {"LM": "load", "F": "forward", "B": "backward", "OPT": "optimizer", "SA": "send", "SG": "send"}


def main(out: str, stages: int, batches: int, planted: dict[str, int]) -> None:
    rank = int(os.environ["RANK"])
    copies = planted.get("copies", 1)
    stage, copy = divmod(rank, copies)
    dist.init_process_group("gloo", rank=rank, world_size=stages * copies)
    data = torch.zeros(1000)
    slow = 3 if planted.get("slow-stage") == stage else 1
    slow += planted.get("slow-copy") == rank
    takes = {"F": UNIT * slow, "B": 2 * UNIT * slow, "OPT": UNIT / 3}

    def work(row: pipeline.Job) -> None:
        if row.kind[0] == "S":
            if planted.get("slow-sender") == stage:
                time.sleep(UNIT)
            dist.send(data, row.peer * copies + copy)
        elif row.kind in ("RA", "RG"):
            dist.recv(data, row.peer * copies + copy)
        else:
            time.sleep(takes.get(row.kind, 0))

    rows = [row for row in pipeline.plan("deepspeed-train", stages, batches).rows if row.rank == stage]
    with fastdispatch.CallGraph(out, jobs=True, ops="off", timeline=True) as graph:
        for step in range(STEPS):
            for index, row in enumerate(rows):
                word = "receive" if row.kind in ("RA", "RG") else WORDS.get(row.kind, row.kind)
                mb = None if row.mb < 0 else row.mb
                with fastdispatch.job(word, mb, stage=stage, peer=None if row.peer < 0 else row.peer):
                    if planted.get("die") == stage and step == STEPS - 1 and index == len(rows) // 2:
                        os._exit(9)
                    work(row)
            graph.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    given = dict(each.split("=") for each in sys.argv[4:])
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), {key: int(value) for key, value in given.items()})
