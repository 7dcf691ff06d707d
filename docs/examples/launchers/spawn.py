"""The training of train.py in two processes of torch.multiprocessing."""

import os

import torch.multiprocessing as mp
import train


def work(rank, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    train.main()


if __name__ == "__main__":
    mp.spawn(work, (os.environ.get("PORT", "29500"),), nprocs=2)
