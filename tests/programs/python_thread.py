"""A thread of the program computes in Python while the main thread trains."""

import threading

import small

FINDING = "gil"


def checksum(rows: list[int]) -> int:
    total = 0
    for row in rows:
        total = (total * 31 + row) % 65521
    return total


def watch(done: threading.Event) -> None:
    rows = list(range(2000))
    while not done.is_set():
        checksum(rows)


def main(fault: bool) -> None:
    model, optimizer, x, y = small.training(small.Net(64, 20), 16, 64)
    done = threading.Event()
    thread = threading.Thread(target=watch if fault else done.wait, args=(done,) if fault else ())
    thread.start()
    for _ in range(2 * small.STEPS):
        small.step(model, optimizer, x, y)
    done.set()
    thread.join()
