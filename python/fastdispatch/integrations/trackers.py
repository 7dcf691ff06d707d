"""Log the summary and the page of a run to experiment trackers (docs/guides/training-loops.md).

Each function accepts a :class:`fastdispatch.CallGraph`, a :class:`fastdispatch.Trace` or a path, and returns the
summary. ``page``: also log the HTML report, which needs the extra ``view``. Call them on one rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from fastdispatch import CallGraph, Trace
from fastdispatch._core import Error
from fastdispatch.dataset.run_loading import load_run
from fastdispatch.read.trace import PathLike

if TYPE_CHECKING:
    from fastdispatch.report.run_summary import Summary
    from fastdispatch.views import Views

#: Name of the artifact, and of its file.
ARTIFACT, PAGE = "fastdispatch", "fastdispatch.html"


def log_to_wandb(
    recording: Views | PathLike, run: Any = None, *, page: bool = True, peak: float | str | None = None
) -> Summary:
    """Update the summary of a Weights & Biases run (default: the active one) and log the page as an artifact."""
    wandb = package("wandb")
    run = wandb.run if run is None else run
    if run is None:
        raise Error("no run of wandb is active: call wandb.init() before")
    shown = _opened(recording)
    summary = shown.summary(peak=peak)
    run.summary.update(summary)
    with _written(shown, page) as files:
        for file in files:
            artifact = wandb.Artifact(f"{ARTIFACT}-{run.id}", type=ARTIFACT)
            artifact.add_file(str(file))
            run.log_artifact(artifact)
    return summary


def log_to_mlflow(
    recording: Views | PathLike, run_id: str | None = None, *, page: bool = True, peak: float | str | None = None
) -> Summary:
    """Log numbers as metrics, texts as tags and the page as an artifact of an MLflow run (default: the active one,
    else a new one)."""
    mlflow = package("mlflow")
    shown = _opened(recording)
    summary = shown.summary(peak=peak)
    run_id = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    mlflow.log_metrics(_numbers(summary), run_id=run_id)
    for name, value in _texts(summary).items():
        mlflow.MlflowClient().set_tag(run_id, name, value)
    with _written(shown, page) as files:
        for file in files:
            mlflow.log_artifact(str(file), artifact_path=ARTIFACT, run_id=run_id)
    return summary


def log_to_tensorboard(
    recording: Views | PathLike, writer: Any, step: int = 0, *, page: bool = True, peak: float | str | None = None
) -> Summary:
    """Write numbers as scalars and texts as texts of a ``SummaryWriter``, and the page into its folder: TensorBoard has
    no artifacts."""
    shown = _opened(recording)
    summary = shown.summary(peak=peak)
    for name, value in _numbers(summary).items():
        writer.add_scalar(name, value, step)
    for name, text in _texts(summary).items():
        writer.add_text(name, text, step)
    writer.flush()
    if page:
        shown.html(Path(writer.log_dir) / PAGE)
    return summary


def log_to_trackio(
    recording: Views | PathLike, *, step: int | None = None, page: bool = True, peak: float | str | None = None
) -> Summary:
    """Log the summary to the active run of trackio, and the page as an artifact."""
    trackio = package("trackio")
    shown = _opened(recording)
    summary = shown.summary(peak=peak)
    trackio.log(summary, step=step)
    with _written(shown, page) as files:
        for file in files:
            trackio.log_artifact(str(file), name=ARTIFACT, type=ARTIFACT)
    return summary


def _opened(recording: Views | PathLike) -> Views:
    if isinstance(recording, (CallGraph, Trace)):
        return recording
    return cast("Views", load_run(cast("PathLike", recording), steps="settled"))


def _numbers(summary: Summary) -> dict[str, float]:
    return {name: float(value) for name, value in summary.items() if not isinstance(value, str)}


def _texts(summary: Summary) -> dict[str, str]:
    return {name: value for name, value in summary.items() if isinstance(value, str)}


@contextmanager
def _written(shown: Views, page: bool) -> Iterator[list[Path]]:
    """Write the page to a temporary file, which exists within the block; no file without ``page``."""
    with TemporaryDirectory(prefix="fastdispatch-") as folder:
        files = [Path(folder) / PAGE] if page else []
        for file in files:
            shown.html(file)
        yield files


def package(name: str, install: str = "") -> Any:
    """Return a module of another project; raise Error if its package is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        needed = install or name.partition(".")[0]
        raise Error(f"the package {needed} is not installed: pip install {needed}") from None
