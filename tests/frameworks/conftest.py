"""These tests need the packages that ``make test-frameworks`` installs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("lightning") is not None else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Launchers start up to ten processes that import large packages: on a loaded machine, minutes."""
    for item in items:
        if item.path.parent.name == "frameworks":
            item.add_marker(pytest.mark.timeout(900))
