"""A program without the recorder: for each N that file argv[1] gets, call work() N times; end at 0.

With argv[2] == "sleep" the main thread first sleeps in one call of C code until it is interrupted.
"""

import os
import signal
import sys
import time


def work(number):
    return number + 1


def main(orders):
    total = 0
    while True:
        while not os.path.exists(orders):
            time.sleep(0.005)
        with open(orders) as file:
            count = int(file.read())
        for number in range(count):
            total = work(number)
        os.unlink(orders)
        if count == 0:
            return total


path = [*sys.path]
if "sleep" in sys.argv[2:]:
    signal.signal(signal.SIGUSR1, lambda *unused: None)
    print("asleep", flush=True)
    signal.pause()
main(sys.argv[1])
print("done", path == sys.path, "fastdispatch" in sys.modules)
