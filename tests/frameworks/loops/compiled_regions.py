"""Two compiled layers in an uncompiled model."""

import torch

STEPS = 8


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.compile(torch.nn.Linear(16, 32), backend="aot_eager")
        self.second = torch.nn.Linear(32, 1)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(batch))).square().mean()


def main() -> None:
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        loss = model(torch.randn(4, 16))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss.item().hex())


if __name__ == "__main__":
    main()
