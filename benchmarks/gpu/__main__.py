"""``python -m benchmarks.gpu``: figures of GPU time as lines and as a JSON file. Needs only PyTorch with CUDA."""

import sys
from datetime import datetime
from pathlib import Path

from benchmarks import gpu, machine
from benchmarks.figures import write
from benchmarks.measure import Effort

RESULTS = Path(__file__).parent.parent / "results"


def main() -> int:
    result = gpu.measure(Effort(quick="--quick" in sys.argv))
    for line in result.skipped:
        print(f"skipped: {line}")
    for figure in result.figures:
        print(f"{figure.name}: {figure.value:.4g} {figure.unit} ({figure.low:.4g} - {figure.high:.4g})")
    if result.figures:
        path = RESULTS / f"gpu-{datetime.now():%Y-%m-%d-%H%M%S}.json"
        write(path, machine.facts(), sys.argv, {"gpu": result})
        missed = sum(figure.met is False for figure in result.figures)
        print(f"{missed} bars missed; all figures: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
