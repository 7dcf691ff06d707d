"""A small GPT, trained on the sources of Python's standard library.

    python pretrain.py                                        one process
    torchrun --nproc-per-node 2 pretrain.py                   data parallel over gloo
    torchrun --nproc-per-node 2 -m fastdispatch run pretrain.py   the same, recorded

Nothing here knows about fastdispatch. To record from inside the program:

    with fastdispatch.CallGraph():
        pretrain(arguments)
"""

from __future__ import annotations

import argparse
import os
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


@dataclass
class Config:
    vocabulary: int = 256  # bytes
    context: int = 64
    width: int = 128
    heads: int = 4
    layers: int = 6
    dropout: float = 0.1


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.proj = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        q, k, v = (
            part.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(batch, time, width))


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.fc = nn.Linear(config.width, 4 * config.width)
        self.act = nn.GELU()
        self.proj = nn.Linear(4 * config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.act(self.fc(x)))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(config.width)
        self.attn = Attention(config)
        self.ln2 = nn.LayerNorm(config.width)
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocabulary, config.width)
        self.wpe = nn.Embedding(config.context, config.width)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        positions = torch.arange(tokens.size(1), device=tokens.device)
        x = self.drop(self.wte(tokens) + self.wpe(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class StandardLibrary(Dataset[tuple[Tensor, Tensor]]):
    """Sequences of bytes from Python's own source files."""

    def __init__(self, context: int, files: int = 40) -> None:
        folder = Path(sysconfig.get_paths()["stdlib"])
        text = b"\n".join(path.read_bytes() for path in sorted(folder.glob("*.py"))[:files])
        self.bytes = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        self.context = context

    def __len__(self) -> int:
        return (len(self.bytes) - 1) // self.context

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        start = index * self.context
        window = self.bytes[start : start + self.context + 1].long()
        return window[:-1], window[1:]


def make_loader(config: Config, batch: int) -> DataLoader[tuple[Tensor, Tensor]]:
    data = StandardLibrary(config.context)
    sampler = DistributedSampler(data, seed=0) if dist.is_initialized() else None
    generator = torch.Generator().manual_seed(0)
    return DataLoader(data, batch, shuffle=sampler is None, sampler=sampler, drop_last=True, generator=generator)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor, targets: Tensor) -> float:
    optimizer.zero_grad()
    loss = model(tokens, targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def pretrain(steps: int, batch: int, config: Config) -> list[float]:
    """Train for a number of steps; answers the loss of each."""
    torch.manual_seed(0)
    model: nn.Module = GPT(config)
    if dist.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    losses: list[float] = []
    loader = make_loader(config, batch)
    while len(losses) < steps:
        for tokens, targets in loader:
            losses.append(train_step(model, optimizer, tokens, targets))
            if len(losses) == steps:
                break
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small GPT on the sources of Python's standard library.")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--layers", type=int, default=Config.layers)
    arguments = parser.parse_args()

    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    losses = pretrain(arguments.steps, arguments.batch, Config(layers=arguments.layers))
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f} in {len(losses)} steps")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
