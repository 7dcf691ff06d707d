"""Most rows of an exchange between ranks go to rank 1, as to a popular expert."""

import small
import torch
import torch.distributed as dist

FINDING = "skewed-comm"
RANKS = 2
OPTIONS = {"measure": "comm"}
ROWS, WIDTH = 512, 384


def exchange(rows: torch.Tensor, sent: list[int]) -> torch.Tensor:
    """Send parts of the rows to the ranks; all ranks send parts of the same sizes."""
    received = [sent[dist.get_rank()]] * dist.get_world_size()
    out = torch.empty(sum(received), WIDTH)
    dist.all_to_all_single(out, rows, received, sent)
    return out


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net(WIDTH), 256, WIDTH)
    rows = torch.randn(ROWS, WIDTH)
    sent = [ROWS // 8, ROWS - ROWS // 8] if fault else [ROWS // 2, ROWS // 2]
    for _ in range(small.STEPS):
        exchange(rows, sent)
        small.step(model, optimizer, x, y)
