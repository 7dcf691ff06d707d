"""A loop with Accelerate: gradient accumulation over two batches, clipped gradients, a scheduler."""

import accelerate
import torch

STEPS = 8


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = torch.nn.Linear(16, 4)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(batch).mean(1))


def main() -> None:
    torch.manual_seed(0)
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(2 * STEPS * 4, 6, 16), torch.arange(2 * STEPS * 4) % 4)
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for batch, labels in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(batch), labels)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print("loss", loss.item().hex())


if __name__ == "__main__":
    main()
