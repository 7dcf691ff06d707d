"""Call one of two functions and return, for ever, in a recorded step: ``other_paths.py OUT
SOURCE``."""

import sys

import fastdispatch


def left_end() -> None: ...


def left_middle() -> None:
    left_end()


def left() -> None:
    left_middle()


def right_end() -> None: ...


def right_middle() -> None:
    right_end()


def right() -> None:
    right_middle()


with fastdispatch.CallGraph(sys.argv[1], ops="off", calls=sys.argv[2], steps="all"):
    print("under way", flush=True)
    while True:
        left()
        right()
