"""A thread holds a lock most of the time, for which the loop waits: some steps hardly, others long."""

import threading
import time

import small

FINDING = "host-code"
LINE = "with LOCK:"

LOCK = threading.Lock()


def hold(stop: threading.Event) -> None:
    while not stop.is_set():
        with LOCK:
            time.sleep(0.05)
        time.sleep(0.001)


def count_step(steps: list[int]) -> None:
    with LOCK:
        steps.append(len(steps))


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net())
    stop = threading.Event()
    holder = threading.Thread(target=hold, args=(stop,))
    if fault:
        holder.start()
    steps: list[int] = []
    for _ in range(small.STEPS):
        small.step(model, optimizer, x, y)
        count_step(steps)
    stop.set()
    if fault:
        holder.join()
