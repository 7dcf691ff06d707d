"""``next(iter(loader))`` in every step: worker processes start for each batch."""

import small
import torch

FINDING = "input-wait"
LINE = "x, y = next(iter(loader))"


def main(fault: bool) -> None:
    model = small.Net(384, 8)
    optimizer = small.optimizer(model)
    data = torch.utils.data.TensorDataset(*small.batch(12 * 32))
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=1)
    if fault:
        for _ in range(12):
            x, y = next(iter(loader))
            small.step(model, optimizer, x, y)
    else:
        for x, y in loader:
            small.step(model, optimizer, x, y)
