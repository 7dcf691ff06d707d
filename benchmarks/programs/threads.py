"""Many threads, one after the other, that each do a little: python threads.py COUNT."""

import sys
from threading import Thread


def work(depth: int) -> None:
    if depth > 0:
        work(depth - 1)


def main(count: int) -> None:
    for number in range(count):
        thread = Thread(target=work, args=(number % 4,), name=f"worker-{number}")
        thread.start()
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]))
