"""Runners of the step that every group needs: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from fastdispatch._core import Error

Task = TypeVar("Task")
Result = TypeVar("Result")
Step = Callable[[Task], Result]


def processes(step: Step[Task, Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, in the order in which they end, from as many processes as there are cores."""
    workers = min(len(tasks), len(os.sched_getaffinity(0)))
    if workers <= 1:
        for task in tasks:
            yield task, step(task)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = {pool.submit(step, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise Error(
                "a worker process was killed, perhaps for lack of memory: finished groups are kept, start again"
            ) from None


def dask(step: Step[Task, Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
    """The same on the cluster of the current ``distributed.Client``, or of a new one on this machine. Dask repeats a
    task whose worker was lost."""
    try:
        from distributed import Client, as_completed, get_client
    except ModuleNotFoundError:
        raise Error("--runner dask needs Dask: pip install distributed") from None
    try:
        client, own = get_client(), None
    except ValueError:
        client = own = Client(processes=True, threads_per_worker=1, dashboard_address=None)
    try:
        futures = {client.submit(step, task, pure=False): task for task in tasks}
        for future in as_completed(list(futures)):
            yield futures[future], future.result()
    finally:
        if own is not None:
            own.close()


RUNNERS = {"processes": processes, "dask": dask}
