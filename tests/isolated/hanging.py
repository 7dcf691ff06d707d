"""A loop of steps that stands still or is slow from step ``AT`` on: ``hanging.py OUT KIND [RENDEZVOUS RANK RANKS]``."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time

import fastdispatch

AT = 50  # after the first steps of a budget

out, kind = sys.argv[1:3]
rank = int(sys.argv[4]) if len(sys.argv) > 4 else 0
CHILD = "import os; parent = os.getppid()\nwhile os.getppid() == parent: sum(range(1000))"
event_of_nobody = threading.Event()
here, there = socket.socketpair()
reading, writing = os.pipe()


def other_collective() -> None:
    if rank == 0:
        dist.broadcast(torch.ones(2), 0)  # here: other_collective


def both_receive() -> None:
    dist.recv(torch.ones(2), 1 - rank)  # here: both_receive


def other_order() -> None:
    for group in groups if rank == 0 else groups[::-1]:
        dist.all_reduce(torch.ones(2), group=group)  # here: other_order


def missing() -> None:
    if rank == 1:
        threading.Event().wait()  # here: missing
    dist.barrier()


def polling_rank() -> None:
    if rank == 1:
        poll()
    dist.barrier()


def poll() -> None:  # here: polling_rank
    while not event_of_nobody.is_set():
        time.sleep(0.05)


def left_loop() -> None:
    if rank == 1:
        dist.barrier()  # here: left_loop


def batch_of_a_rank() -> None:
    if rank == 1:
        batch()
    dist.barrier()


def handles() -> None:
    dist.irecv(torch.ones(2), 1 - rank).wait()  # here: handles


def event() -> None:
    threading.Event().wait()  # here: event


def lock() -> None:
    one = threading.Lock()
    with one, one:  # here: lock
        pass


def from_socket() -> None:
    here.recv(1)  # here: from_socket


def slow_server() -> None:
    here.recv(1)


def from_pipe() -> None:
    os.read(reading, 1)  # here: from_pipe


def from_fifo() -> None:
    os.mkfifo(f"{out}.fifo")
    open(f"{out}.fifo")  # noqa: SIM115  # here: from_fifo


def thread_of_ended() -> None:
    threading.Thread(target=event).start()
    threading._shutdown()


class Rows:
    """A data set whose second row never comes."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, row: int) -> int:
        return row if row == 0 else reading_for_ever()


def reading_for_ever() -> int:
    return os.read(reading, 1)[0]  # here: batch


def batch() -> None:
    from torch.utils.data import DataLoader

    list(DataLoader(Rows(), num_workers=1))


def computes() -> None:
    while True:
        sum(range(1000))


def thread_computes() -> None:
    thread = threading.Thread(target=computes, daemon=True)
    thread.start()
    thread.join()


def child_sleeps() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        child.wait()


def file_is_locked() -> None:
    with open(__file__, "rb") as one, open(__file__, "rb") as other:
        fcntl.flock(one, fcntl.LOCK_EX)
        fcntl.flock(other, fcntl.LOCK_EX)


def child_computes() -> None:
    subprocess.run([sys.executable, "-S", "-c", CHILD])


def waits_again() -> None:
    while not event_of_nobody.wait(0.02):
        pass


def evaluates() -> None:
    while True:
        computed(0)


def computed(number: int) -> int:
    return number


def slow_rank() -> None:
    if rank == 1:
        computes()
    dist.barrier()


def train() -> None:
    for number in range(AT + 10):
        computed(number)
        if number == 1 and kind == "slow_server":
            threading.Timer(6, there.send, [b"x"]).start()
            slow_server()
        if len(sys.argv) > 4:
            dist.all_reduce(torch.ones(2))
        graph.step()
        if number == AT:
            print("under way", flush=True)
            globals()[kind]()


if len(sys.argv) > 4:
    import torch
    import torch.distributed as dist

    os.environ.update(RANK=sys.argv[4], WORLD_SIZE=sys.argv[5])
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=rank, world_size=int(sys.argv[5]))
    groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
with fastdispatch.CallGraph(out, ops="auto" if len(sys.argv) > 4 else "off") as graph:
    train()
