"""Recordings and windows that start and stop while other threads run operators without the GIL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import processes

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("options", [["calls=off"], ["timeline=1"], ["et=1"], ["timing=0"]], ids=lambda o: o[0])
def test_recordings_in_a_loop(tmp_path: Path, options: list[str]) -> None:
    done = processes.run("cycles.py", 40, f"out={tmp_path}", *options)
    assert done.stdout.startswith("rounds ")


def test_windows_in_a_loop() -> None:
    done = processes.run("cycles.py", 10, "schedule=40")
    assert done.stdout.startswith("rounds ")
