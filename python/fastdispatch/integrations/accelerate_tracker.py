"""Record programs that use Accelerate, as one of its trackers."""

import os
from typing import Any

from accelerate import tracking
from accelerate.tracking import GeneralTracker

from fastdispatch.integrations.loop_recorder import RecordsLoop
from fastdispatch.record.callgraph import CallGraph


class AccelerateRecorder(RecordsLoop, GeneralTracker):
    """``Accelerator(log_with=[AccelerateRecorder()])`` records from ``init_trackers()`` to ``end_training()``, on every
    rank; steps end with the optimizer. The arguments are those of :class:`fastdispatch.CallGraph`, with
    ``best_effort=True``."""

    name = "fastdispatch"
    requires_logging_directory = False
    main_process_only = False

    @property
    def tracker(self) -> CallGraph | None:
        """The latest recording, as ``graph``."""
        return self.graph

    def start(self) -> None:
        self._loop.begin()

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Ignore the configuration: the recording has the facts about the run."""

    def log(self, values: dict[str, Any], step: int | None = None, **_: Any) -> None:
        """Ignore figures of the program."""

    def finish(self) -> None:
        self._loop.end()


class NamedRecorder(AccelerateRecorder):
    """``Accelerator(log_with="fastdispatch")`` after an import of this module (Accelerate 1.15). Arguments
    are in ``init_trackers(..., init_kwargs={"fastdispatch": {"out": "out"}})``; the name of the project is not used."""

    def __init__(self, project: str, out: str | os.PathLike[str] | None = "fastdispatch-out", **options: Any) -> None:
        super().__init__(out, **options)


if hasattr(tracking, "register_tracker_class"):
    tracking.register_tracker_class(NamedRecorder)
