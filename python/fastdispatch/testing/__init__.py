"""Checks of counts in tests: the part of the pytest plugin that records (docs/guides/diff.md)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from fastdispatch import CallGraph, load
from fastdispatch._core import Error
from fastdispatch.testing.count_checks import CountedCalls, broken, limits_of

if TYPE_CHECKING:
    import pytest

    from fastdispatch.testing.count_checks import Baseline

__all__ = ["Recorder", "check"]


class Recorder:
    """Record ``with`` blocks of a test; their counts are added up."""

    def __init__(self, item: pytest.Item) -> None:
        self.test = item.nodeid
        self.file = item.path
        self.function = getattr(item, "originalname", None) or item.name
        self.counts: list[CountedCalls] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._graph: CallGraph | None = None

    def __enter__(self) -> None:
        if self._graph is not None:
            _fail("a with block of fastdispatch_recorder is inside another one")
        self._folder = tempfile.TemporaryDirectory(prefix="fastdispatch-")
        self._graph = CallGraph(self._folder.name, gpu="off", children=False)
        try:
            self._graph.start()
        except Error as error:
            self._close()
            _fail(f"the test cannot be recorded: {error}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        graph, folder = self._graph, self._folder
        if graph is None or folder is None:
            return
        graph.stop()
        path = graph.path
        try:
            if error is not None:
                return  # the test has its own failure
            if path is None or Path(path).parent != Path(folder.name):
                _fail("the test cannot be recorded: this process is recorded already, or its rank is excluded")
            else:
                self.counts.append(CountedCalls(load(path), self.function))
        finally:
            self._close()

    def _close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
        self._graph = self._folder = None


def check(mark: pytest.Mark, recorder: Recorder, baseline: Baseline | None) -> None:
    """Fail the test with one sentence per exceeded limit of the mark, or difference from the baseline."""
    try:
        limits = limits_of(mark.args, mark.kwargs)
        found = broken(limits, recorder.counts)
        if baseline is not None:
            found += baseline.compare(recorder.file, recorder.test, recorder.counts)
    except Error as error:
        found = [str(error)]
    if found:
        _fail("\n".join(found))


def _fail(text: str) -> None:
    import pytest

    pytest.fail(text, pytrace=False)
