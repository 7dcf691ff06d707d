"""Findings: causes of slow training, with evidence (docs/guides/findings.md)."""

import os
from collections.abc import Sequence

from fastdispatch._core import Error
from fastdispatch.dataset.run_loading import load_run, sample_of
from fastdispatch.detectors.decide import decide
from fastdispatch.detectors.many_ranks import findings_of_ranks
from fastdispatch.detectors.model import Finding, Findings, NotDecided, Where
from fastdispatch.read.processes import load_children
from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import PathLike, Steps, Trace, load

#: Recordings of workers that are read.
_WORKERS = 4

__all__ = ["Finding", "Findings", "NotDecided", "Where", "findings"]


def findings(run: Trace | PathLike | Sequence[PathLike], *, steps: Steps = "settled") -> Findings:
    """Return causes of slow training, by estimated gain, and undecided detectors.

    ``run``: a recording, a dump, a merge, a run directory, several of them, or a loaded :class:`fastdispatch.Trace`.
    ``steps``: as for :func:`fastdispatch.load`. A path has more evidence than a trace: recordings of DataLoader
    workers, and the steps that the trace does not cover; so has a trace as long as its recording is in its place.
    Raises :class:`fastdispatch.Error` for other inputs.
    """
    trace = run if isinstance(run, Trace) else _loaded(run, steps)
    if trace.reduced is not None:
        same: Steps = "settled" if trace.window is not None else None
        sample = sample_of(trace.sources[0], same) if trace.sources else None
        return findings_of_ranks(trace, trace.name if trace.sources else "", sample)
    paths = trace.sources
    whole = trace if trace.window is None else _whole(trace)
    if not paths or whole is None:
        return decide(trace, trace.name if paths else "")
    return decide(trace, trace.name, whole, _workers(paths), lambda part: load(paths, steps=part))


def _whole(trace: Trace) -> Trace | None:
    """Return the whole recording of a trace of some steps; None if its file is not there any more."""
    try:
        whole = load(trace.sources)
    except Error:
        return None
    same = [rank["id"] for rank in whole.ranks] == [rank["id"] for rank in trace.ranks]
    return whole if same else None


def _loaded(run: PathLike | Sequence[PathLike], steps: Steps) -> Trace:
    return load_run(run, steps=steps) if isinstance(run, (str, os.PathLike)) else load(run, steps=steps)


def _workers(paths: Sequence[PathLike]) -> list[Trace]:
    """Return recordings of DataLoader workers, of at most ``_WORKERS``: they do the same work."""
    found: list[Trace] = []
    for path in paths:
        try:
            found += [each for each in load_children(path) if mapping(each.meta.get("process")).get("kind") == "worker"]
        except Error:
            continue  # a dump or merge has none
    return found[-_WORKERS:]
