"""Training loops of real frameworks: equal losses with and without a recording, exact numbers of steps."""

from pathlib import Path
from typing import Any

import pytest
import torch

import fastdispatch
from tests import traces

STEPS = 5


def rank_of(out: Path) -> Any:
    (rank,) = fastdispatch.load(out).ranks
    assert rank["state"] == "stopped"
    return rank


def train_huggingface(folder: Path, accumulate: int, callbacks: list[Any]) -> list[float]:
    transformers = pytest.importorskip("transformers")
    transformers.set_seed(0)
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=16, n_positions=16, vocab_size=64)
    tokens = torch.arange(2 * STEPS * 16).reshape(-1, 16) % 64
    data = [{"input_ids": row, "labels": row} for row in tokens]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=STEPS,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=accumulate,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    model = transformers.GPT2LMHeadModel(config)
    trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=callbacks)
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


@pytest.mark.parametrize("accumulate", [1, 2])
def test_huggingface(accumulate: int, tmp_path: Path) -> None:
    from fastdispatch.integrations.huggingface import TrainerRecorder

    plain = train_huggingface(tmp_path / "plain", accumulate, [])
    recorder = TrainerRecorder(tmp_path / "out")
    assert train_huggingface(tmp_path / "recorded", accumulate, [recorder]) == plain
    assert len(plain) == STEPS
    rank = rank_of(tmp_path / "out")
    assert (rank["steps"], rank["steps_source"]) == (STEPS, "explicit")
    calls = traces.column(fastdispatch.load(tmp_path / "out"))
    (forward,) = [count for where, count in calls.items() if where.endswith("[GPT2LMHeadModel]:forward")]
    assert forward == STEPS * accumulate
    assert recorder.graph is not None and recorder.graph.summary()["fastdispatch/steps"] == STEPS


def train_lightning(folder: Path, accumulate: int = 1, fail: bool = False, **options: Any) -> list[float]:
    lightning = pytest.importorskip("lightning")
    losses = []

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch: Any) -> Any:
            loss = self.layer(batch).square().mean()
            losses.append(loss.item())
            if fail:
                raise ValueError("planted")
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    lightning.seed_everything(0)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=1,
        accumulate_grad_batches=accumulate,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        **options,
    )
    data = torch.arange(STEPS * accumulate * 32.0).reshape(-1, 8) / 1000
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=4))
    return losses


@pytest.mark.parametrize("accumulate", [1, 2])
def test_lightning_callback(accumulate: int, tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    from fastdispatch.integrations.lightning_loop import LightningRecorder

    plain = train_lightning(tmp_path, accumulate)
    recorded = train_lightning(tmp_path, accumulate, callbacks=[LightningRecorder(tmp_path / "out")])
    assert recorded == plain and len(plain) == STEPS * accumulate
    rank = rank_of(tmp_path / "out")
    assert (rank["steps"], rank["steps_source"]) == (STEPS, "explicit")


def test_lightning_profiler(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    from fastdispatch.integrations.lightning_loop import LightningProfiler

    plain = train_lightning(tmp_path)
    profiler = LightningProfiler(tmp_path / "out")
    assert train_lightning(tmp_path, profiler=profiler) == plain
    rank = rank_of(tmp_path / "out")
    assert (rank["steps"], rank["steps_source"]) == (STEPS, "explicit")
    calls = traces.column(fastdispatch.load(tmp_path / "out"), "node")
    assert calls["run_training_batch"] == STEPS
    assert calls["[Strategy]SingleDeviceStrategy.training_step"] == STEPS
    assert f"{STEPS} steps" in profiler.summary()


def test_an_exception_ends_the_recording(tmp_path: Path) -> None:
    pytest.importorskip("lightning")
    from fastdispatch.integrations.lightning_loop import LightningRecorder

    with pytest.raises(ValueError, match="planted"):
        train_lightning(tmp_path, fail=True, callbacks=[LightningRecorder(tmp_path / "out")])
    calls = traces.column(fastdispatch.load(tmp_path / "out"))
    assert rank_of(tmp_path / "out")["complete"]
    assert [count for where, count in calls.items() if where.endswith("[Model]:training_step")] == [1]
    with fastdispatch.CallGraph(None):  # no other recording is running
        pass


def test_lightning_has_no_registry_of_profilers(tmp_path: Path) -> None:
    """docs/guides/training-loops.md: an object is needed. If this fails, a name can be registered."""
    lightning = pytest.importorskip("lightning")
    with pytest.raises(lightning.pytorch.utilities.exceptions.MisconfigurationException, match="it can only be one of"):
        lightning.Trainer(profiler="fastdispatch", default_root_dir=tmp_path, logger=False, accelerator="cpu")


def train_accelerate(trackers: Any, options: dict[str, Any] | None = None) -> list[float]:
    accelerate = pytest.importorskip("accelerate")
    torch.manual_seed(0)
    accelerator = accelerate.Accelerator(cpu=True, log_with=trackers)
    model = torch.nn.Linear(8, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
    accelerator.init_trackers("project", config={"lr": 0.01}, init_kwargs={"fastdispatch": options or {}})
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.full((4, 8), step / 10)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        losses.append(loss.item())
        accelerator.log({"loss": losses[-1]}, step=step)
    accelerator.end_training()
    return losses


@pytest.mark.parametrize("by_name", [False, True])
def test_accelerate(tmp_path: Path, by_name: bool) -> None:
    pytest.importorskip("accelerate")
    from fastdispatch.integrations.accelerate_tracker import AccelerateRecorder

    plain = train_accelerate([])
    tracker = "fastdispatch" if by_name else AccelerateRecorder(tmp_path / "out")
    assert train_accelerate(tracker, {"out": tmp_path / "out"}) == plain
    rank = rank_of(tmp_path / "out")
    assert (rank["steps"], rank["steps_source"]) == (STEPS, "optimizer")
    assert "Linear" in fastdispatch.load(tmp_path / "out").modules["class"]
