"""Recordings and windows that start and stop while other threads run operators without the GIL."""

from pathlib import Path

import pytest

from tests import processes

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("options", ["calls=off", "timeline=1", "et=1", "timing=0"])
def test_recordings_in_a_loop(tmp_path: Path, options: str) -> None:
    assert processes.run_warm("cycles.py", 40, f"out={tmp_path}", options).startswith("rounds ")


def test_windows_in_a_loop() -> None:
    assert processes.run_warm("cycles.py", 10, "schedule=40").startswith("rounds ")
