"""Runners of the step that every group needs: in this process, in worker processes, or on a cluster of Dask or Ray."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from fastdispatch._core import Error

#: Memory of Ray for results, which are small.
_STORE = 100 << 20

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
            reason = "a worker process was killed, perhaps for lack of memory"
            raise Error(f"{reason}: finished groups are kept, start again") from None


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


def ray(step: Step[Task, Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
    """The same on the cluster that Ray is connected to, or on a new one on this machine. Ray repeats a task whose
    worker was lost."""
    try:
        import ray as cluster
    except ModuleNotFoundError:
        raise Error("--runner ray needs Ray: pip install ray") from None
    own = not cluster.is_initialized()
    if own:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send statistics to its authors
        cores = len(os.sched_getaffinity(0))
        quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
        cluster.init(num_cpus=cores, object_store_memory=_STORE, **quiet)
    try:
        remote = cluster.remote(step)
        left = {remote.remote(task): task for task in tasks}
        while left:
            for done in cluster.wait(list(left))[0]:
                yield left.pop(done), cluster.get(done)
    except cluster.exceptions.RayTaskError as error:
        raise error.cause from None
    except cluster.exceptions.RayError as error:
        raise Error(f"Ray: {str(error).splitlines()[0]}: finished groups are kept, start again") from None
    finally:
        if own:
            cluster.shutdown()


RUNNERS = {"processes": processes, "dask": dask, "ray": ray}
