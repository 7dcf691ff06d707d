"""Run the checks on the GPU and print a line for each. Exit status 0: all passed, or no GPU; 1: some failed.

Usage: python -m tests.gpu [CHECK...]. All that was measured is left in the folder gpu-results.
"""

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


def run(checks: Iterable[Callable[[str], str]], device: str, log: Path | None = None) -> int:
    """The number of failed checks. Their lines are also appended to ``log``."""
    failed = 0
    for check in checks:
        begin = time.monotonic()
        try:
            line = check(device)
        except Exception:
            failed += 1
            text = f"FAILED  {check.__name__}: {check.__doc__}\n{traceback.format_exc()}"
        else:
            text = f"passed  {check.__name__} ({time.monotonic() - begin:.1f} s): {line}"
        print(text, flush=True)
        if log is not None:
            with log.open("a") as file:
                file.write(text + "\n")
    return failed


def main() -> int:
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return 0
    import torch

    from tests.gpu.checks import CHECKS
    from tests.gpu.faults import FOLDER, costs

    FOLDER.mkdir(exist_ok=True)
    log = FOLDER / "checks.txt"
    machine = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"
    print(machine)
    with log.open("a") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}, {machine}, Python {sys.version.split()[0]}\n")
    known = {check.__name__: check for check in (*CHECKS, costs)}
    chosen = [known[name] for name in sys.argv[1:]] or CHECKS
    return 1 if run(chosen, "cuda", log) else 0


if __name__ == "__main__":
    sys.exit(main())
