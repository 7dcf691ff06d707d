"""Write a data set on a cluster of this machine, one process of which is killed by its first group:
``cluster_dataset.py dask|ray RUN TARGET KILLED``. Ray looks functions up elsewhere: its tasks kill their worker."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fastdispatch.dataset import runners, write_dataset
from fastdispatch.dataset.group_writer import write_group

_, runner, run, target, killed = sys.argv


def killing_once(step: Callable[..., Any], file: Path, *arguments: Any) -> Any:
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return step(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def group_on_dask(*arguments: Any) -> Any:
    return killing_once(write_group, Path(sys.argv[4]), *arguments)


def tasks_on_ray(step: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    file = Path(killed)
    return runners.ray(lambda task: killing_once(step, file, task), tasks)


if runner == "dask":  # in its workers, too
    write_dataset.write_group = group_on_dask

if __name__ == "__main__":
    write_dataset.MAX_RANKS = 2
    with ExitStack() as stack:
        if runner == "dask":
            from distributed import Client, LocalCluster

            cluster = stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
            stack.enter_context(Client(cluster))
        else:
            runners.RUNNERS["ray"] = tasks_on_ray
        manifest = write_dataset.write_dataset([run], target, runner=runner)
    print(json.dumps({"ranks": sorted(manifest.ranks), "groups": len(manifest.groups)}))
