"""A trainer that keeps all losses with their graphs."""

import small
import torch

FINDING = "memory-growth"


class Trainer:
    def __init__(self) -> None:
        self.model = small.Net(128, 2)
        self.optimizer = small.optimizer(self.model)
        self.history: dict[str, list[torch.Tensor]] = {"loss": []}

    def fit(self, x: torch.Tensor, y: torch.Tensor) -> None:
        for number in range(small.STEPS):
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if number % 2 == 0:
                self.history["loss"] += [loss]


class Careful(Trainer):
    def fit(self, x: torch.Tensor, y: torch.Tensor) -> None:
        for number in range(small.STEPS):
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if number % 2 == 0:
                self.history["loss"] += [loss.detach()]


def main(fault: bool) -> None:
    (Trainer if fault else Careful)().fit(*small.batch(64, 128))
