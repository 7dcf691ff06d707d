"""Write a data set on a Dask cluster of two processes, one of which is killed by its first group."""

import json
import os
import signal
import sys
from pathlib import Path

from distributed import Client, LocalCluster

from fastdispatch.dataset import write_dataset
from fastdispatch.dataset.group_writer import WrittenGroup, write_group


def killing_once(folder: Path, name: str, sources: list[object]) -> WrittenGroup:
    try:
        Path(sys.argv[3]).touch(exist_ok=False)
    except FileExistsError:
        return write_group(folder, name, sources)  # type: ignore[arg-type]
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def main() -> None:
    write_dataset.MAX_RANKS = 2
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        manifest = write_dataset.write_dataset([sys.argv[1]], sys.argv[2], runner="dask")
    print(json.dumps({"ranks": sorted(manifest.ranks), "groups": len(manifest.groups)}))


write_dataset.write_group = killing_once

if __name__ == "__main__":
    main()
