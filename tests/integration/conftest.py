"""Runs that several modules look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import processes


@pytest.fixture(scope="session")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what torch.profiler wrote on four ranks of a real training: not to be written into."""
    folder = tmp_path_factory.mktemp("profiles") / "in"
    processes.run("profiled_ranks.py", folder)
    return folder
