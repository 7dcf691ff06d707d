"""The pytest plugin: options, the mark and the fixture. Everything else is imported by tests that use them
(docs/guides/diff.md)."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fastdispatch.testing import Recorder

_MARK = (
    "fastdispatch(limit_ops=N, no_syncs=False, no_recompiles=False, max_graph_breaks=N): record the test and check "
    "counts (docs/guides/diff.md of fastdispatch)"
)

_baseline = pytest.StashKey[Any]()  # a Baseline
_recorder = pytest.StashKey[Any]()  # a Recorder


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fastdispatch")
    group.addoption(
        "--fastdispatch-baseline",
        metavar="FILE",
        help="compare the operators of each test with the mark fastdispatch with this file",
    )
    group.addoption(
        "--fastdispatch-update", action="store_true", help="write the operators of these tests to the baseline instead"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    path, update = config.getoption("--fastdispatch-baseline"), config.getoption("--fastdispatch-update")
    if update and not path:
        raise pytest.UsageError("--fastdispatch-update: give the file with --fastdispatch-baseline FILE")
    if update and config.getoption("numprocesses", None):
        raise pytest.UsageError("--fastdispatch-update: one process writes the baseline: omit -n")
    if path:
        from fastdispatch import Error
        from fastdispatch.testing.count_checks import Baseline

        try:
            config.stash[_baseline] = Baseline(path, update)
        except Error as error:
            raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    if _baseline in config.stash:
        config.stash[_baseline].save()


@pytest.fixture
def fastdispatch_recorder(request: pytest.FixtureRequest) -> Recorder:
    """Record only ``with fastdispatch_recorder:`` blocks of a test with the mark ``fastdispatch``."""
    from fastdispatch.testing import Recorder

    request.node.stash[_recorder] = recorder = Recorder(request.node)
    return recorder


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    mark = item.get_closest_marker("fastdispatch")
    if mark is None:
        return (yield)
    from fastdispatch.testing import Recorder, check

    recorder = item.stash.get(_recorder, None)
    if recorder is not None:
        result = yield
    else:
        recorder = Recorder(item)
        with recorder:
            result = yield
    check(mark, recorder, item.config.stash.get(_baseline, None))
    return result
