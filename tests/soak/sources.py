"""Valid inputs of every format, which :mod:`tests.soak.mutants` changes. ``python -m tests.soak.sources`` records those
in ``sources.tar.xz``; the others are made of them."""

import gzip
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from tests import many_ranks, processes
from tests.chakra.pairs import write_pair

ARCHIVE = Path(__file__).with_name("sources.tar.xz")

_MADE = (
    "merge run -o dump.json",
    "export chrome run -o trace.json",
    "et export run -o ets",
    "merge many -o set.parquet",
    "pipeline profile graph.txt -o graph.json",
)

_TEXTS = {
    "graph.txt": (processes.ROOT / "tests" / "gold" / "convert" / "two_stages.txt").read_text(),
    "gate.toml": 'forbid = ["* -> aten::item"]\nnew_operators = false\nflops = 1\nstep = 5\n[calls]\n"aten::mm" = 36\n',
    "weights.json": "[1, 2.5, 3]\n",
    "weights.txt": "1\n2\n",
    "workerlog.0": "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1697793307213.760986, "
    "job_end_time = 1697793307254.006104\n" * 2,
}


def make(folder: Path, run: Callable[[str], None]) -> None:
    """Write the inputs to a folder. ``run`` runs a command line in it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    with chdir(folder):
        for path in many_ranks.write(Path("measured/rank00000.fd"), Path("many"), 3):
            os.utime(path, (1_700_000_000, 1_700_000_000))
        for name, text in _TEXTS.items():
            Path(name).write_text(text)
        for line in _MADE:
            run(line)
        shutil.move("ets/trace.0.et", "own.et")
        shutil.move("ets/et_0.json", "own.json")
        write_pair(Path(), 40)
        shutil.copy("measured/rank00000.fd", "one.fd")
        for name in ("trace", "kineto_0", "et_0"):
            Path(f"{name}.json.gz").write_bytes(gzip.compress(Path(f"{name}.json").read_bytes(), mtime=0))


def record() -> None:
    """Run program.py in this folder as on another machine."""
    name = os.uname()
    os.uname = lambda: type(name)((name[0], "host", *name[2:]))
    runpy.run_path("program.py", run_name="__main__")


def main() -> None:
    from tests.unit.formats import test_json_schemas, test_privacy

    with tempfile.TemporaryDirectory(prefix="sources-") as folder, chdir(folder):
        for text in (test_privacy.PROGRAM, test_json_schemas.PROGRAM):
            Path("program.py").write_text(text)
            command = [sys.executable, "-c", "from tests.soak.sources import record; record()", "run"]
            subprocess.run(command, env=processes.environment(PYTHONPATH=str(processes.ROOT)), check=False)
        with tarfile.open(ARCHIVE, "w:xz") as archive:
            for path in sorted(Path().rglob("rank*.fd")):
                content = path.read_bytes()
                for place in sorted(filter(None, {*sys.path, sys.base_prefix}), key=len, reverse=True):
                    content = content.replace(place.encode(), b"/".ljust(len(place), b"x"))
                path.write_bytes(content)
                archive.add(path)


if __name__ == "__main__":
    main()
