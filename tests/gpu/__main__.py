"""Run the checks on the GPU and print a line for each. Exit status 0: all passed, or no GPU; 1: some failed.

Usage: python -m tests.gpu
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "docs" / "examples" / "gpt")]


def missing() -> str:
    """Why nothing can be checked here; empty: a GPU is there."""
    if find_spec("torch") is None:
        return "PyTorch is not installed"
    import torch

    if not torch.cuda.is_available():
        return "PyTorch has no GPU to use here (torch.cuda.is_available() is false)"
    return ""


def run(checks: Iterable[Callable[[str], str]], device: str) -> int:
    """The number of failed checks."""
    failed = 0
    for check in checks:
        begin = time.monotonic()
        try:
            line = check(device)
        except Exception:
            failed += 1
            print(f"FAILED  {check.__name__}: {check.__doc__}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"passed  {check.__name__} ({time.monotonic() - begin:.1f} s): {line}", flush=True)
    return failed


def main() -> int:
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    import torch

    from tests.gpu.checks import CHECKS

    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    return 1 if run(CHECKS, "cuda") else 0


if __name__ == "__main__":
    sys.exit(main())
