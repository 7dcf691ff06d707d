"""Lightning: two epochs, each with a validation."""

import lightning
import torch

STEPS = 8


class Regression(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.body(batch)

    def training_step(self, batch: torch.Tensor) -> torch.Tensor:
        loss = self(batch).square().mean()
        print("loss", loss.item().hex())
        return loss

    def validation_step(self, batch: torch.Tensor) -> None:
        self(batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def main() -> None:
    lightning.seed_everything(0)
    data = torch.arange(STEPS // 2 * 32.0).reshape(-1, 8) / 1000
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Regression(), loader, loader)


if __name__ == "__main__":
    main()
