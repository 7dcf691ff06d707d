"""Train a tiny GPT-2 of transformers for 20 steps: config-made, random weights, nothing is downloaded."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

STEPS = 20


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=32, n_embd=64, n_layer=4, n_head=4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 256, (4, 32))
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
