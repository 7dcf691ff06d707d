"""Record trainings of the Hugging Face ``Trainer``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from fastdispatch.integrations.loop_recorder import LoopRecorder

if TYPE_CHECKING:
    from fastdispatch.record.callgraph import CallGraph


class TrainerRecorder(TrainerCallback):
    """``Trainer(..., callbacks=[TrainerRecorder()])`` records each ``train()``.

    A step ends with an optimizer step, also with accumulated gradients. The arguments are those of
    :class:`fastdispatch.CallGraph`, with ``best_effort=True``.
    """

    def __init__(self, out: str | os.PathLike[str] | None = "fastdispatch-out", **options: Any) -> None:
        self._loop = LoopRecorder(out, options)

    @property
    def graph(self) -> CallGraph | None:
        """The latest recording."""
        return self._loop.graph

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._loop.end()
