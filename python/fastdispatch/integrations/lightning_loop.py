"""Record trainings of Lightning's ``Trainer``: as a callback, or as a profiler with Lightning's actions as ranges."""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastdispatch._core import label
from fastdispatch.integrations.loop_recorder import RecordsLoop
from fastdispatch.read.summary import summary_lines

if TYPE_CHECKING or find_spec("lightning") is not None:
    from lightning.pytorch import Callback
    from lightning.pytorch.profilers import Profiler
else:
    from pytorch_lightning import Callback
    from pytorch_lightning.profilers import Profiler

#: The action around a batch, and the stage with steps.
_BATCH, _STAGE = "run_training_batch", "fit"


class LightningRecorder(RecordsLoop, Callback):
    """``Trainer(callbacks=[LightningRecorder()])`` records each ``fit()``; a step ends with a batch that changes
    ``global_step``. The arguments are those of :class:`fastdispatch.CallGraph`, with ``best_effort=True``."""

    def __init__(self, out: str | os.PathLike[str] | None = "fastdispatch-out", **options: Any) -> None:
        super().__init__(out, **options)
        self._steps = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._steps = trainer.global_step
        self._loop.begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any, **__: Any) -> None:
        if trainer.global_step != self._steps:
            self._steps = trainer.global_step
            self._loop.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._loop.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._loop.end()


class LightningProfiler(RecordsLoop, Profiler):
    """``Trainer(profiler=LightningProfiler())`` records each ``fit()`` with Lightning's actions as ranges; a step ends
    with each batch. The arguments are those of :class:`LightningRecorder`."""

    def __init__(self, out: str | os.PathLike[str] | None = "fastdispatch-out", **options: Any) -> None:
        super().__init__(out, **options)
        self._open: list[tuple[str, label]] = []

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        super().setup(stage, local_rank, log_dir)
        if stage == _STAGE:
            self._loop.begin()

    def start(self, action_name: str) -> None:
        action = label(action_name)
        action.__enter__()
        self._open.append((action_name, action))

    def stop(self, action_name: str) -> None:
        if self._open and self._open[-1][0] == action_name:
            self._open.pop()[1].__exit__(None, None, None)
        if action_name == _BATCH:
            self._loop.step()

    def summary(self) -> str:
        """Return the lines about the recording that ``fastdispatch run`` prints at its end."""
        self._loop.end()
        graph = self._loop.graph
        return "" if graph is None or graph.path is None else "\n".join(summary_lines(graph.path))

    def teardown(self, stage: str | None) -> None:
        if hasattr(self, "_loop"):  # false if the constructor failed
            self._loop.end()
        super().teardown(stage)
