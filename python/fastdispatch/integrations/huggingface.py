"""Record trainings of the Hugging Face ``Trainer``."""

from typing import Any

from transformers import TrainerCallback

from fastdispatch.integrations.loop_recorder import RecordsLoop


class TrainerRecorder(RecordsLoop, TrainerCallback):
    """``Trainer(..., callbacks=[TrainerRecorder()])`` records each ``train()``.

    A step ends with an optimizer step, also with accumulated gradients. The arguments are those of
    :class:`fastdispatch.CallGraph`, with ``best_effort=True``.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.end()
