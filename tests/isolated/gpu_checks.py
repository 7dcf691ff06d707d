"""Run those checks of tests/gpu that need no kernels, on the CPU with the stand-in CUDA runtime.

Arguments: folder of its libraries, and one for recordings. Prints the lines of the checks; the exit status is the
number of failures.
"""

import ctypes
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "examples" / "gpt")]

from tests.gpu import checks, faults  # noqa: E402
from tests.gpu.__main__ import run  # noqa: E402

folder = sys.argv[1]
ctypes.CDLL(f"{folder}/libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(f"{folder}/libc10_cuda.so", mode=ctypes.RTLD_GLOBAL)
checks.MANY = 20
torch.cuda.is_initialized = torch.cuda.is_available = lambda: True


def programs_of_faults(device: str) -> str:
    """Each program with a planted fault runs, and so do the costs."""
    faults.FOLDER = Path(sys.argv[2])
    faults.ROWS, faults.WIDTH, faults.LAYERS, faults.SLICES, faults.TINY, faults.SLEEP = 8, 16, 2, 3, 3, 0.0
    torch.cuda.synchronize = lambda: None
    for make, _ in faults.FAULTS:
        for fault in (True, False):
            faults.recorded(f"{make.__name__}-{fault}", make(device, fault), 5)
    return faults.costs(device)


def broken(device: str) -> str:
    """A check that fails."""
    checks.check_nesting({"GPU 0 stream 0": [(0.0, 2.0), (1.0, 3.0)]})
    return "not reached"


POSSIBLE = (
    checks.forms_of_gpu,
    checks.results_unchanged,
    checks.memory_stays_level,
    checks.timeline_of_a_training,
    programs_of_faults,
    broken,
)
sys.exit(run(POSSIBLE, "cpu"))
