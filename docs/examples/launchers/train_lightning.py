"""Five steps on two processes that Lightning starts."""

import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch):
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def on_train_batch_end(self, outputs, *_):
        if self.trainer.global_step == 5:
            print(f"rank {self.global_rank}: loss {outputs['loss'].item()!r}\n", end="", flush=True)


if __name__ == "__main__":
    lightning.seed_everything(0)
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, logger=False)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(40, 8), batch_size=4))
