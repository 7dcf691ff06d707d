"""Start a child by a method of multiprocessing, which ends (``ends``) or is killed (``killed``) in its target."""

import multiprocessing
import sys
import time
from multiprocessing.synchronize import Event


def inner(number: int) -> int:
    return number * number


def job(count: int, done: Event, last: bool) -> int:
    total = sum(inner(number) for number in range(count))
    done.set()
    while not last:
        time.sleep(0.01)
    return total


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    done = context.Event()
    child = context.Process(target=job, args=(10, done, sys.argv[2] == "ends"))
    child.start()
    done.wait()
    if sys.argv[2] == "killed":
        child.kill()
    child.join()
