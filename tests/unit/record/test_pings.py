"""Pings of two ranks in one process with different host ids, and datagrams of other programs."""

import _socket
import ctypes
import errno
import itertools
import os
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fastdispatch import Error, _core
from fastdispatch.record import clocks
from tests import processes

TOKEN = bytes(range(16))


class Store(dict[str, bytes]):
    """The used part of a store of torch.distributed."""

    host = "127.0.0.1"

    def set(self, key: str, value: str) -> None:
        self[key] = value.encode()

    def check(self, keys: list[str]) -> bool:
        return all(key in self for key in keys)

    def get(self, key: str) -> bytes:  # type: ignore[override]
        return self[key]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    numbers = itertools.count()
    monkeypatch.setattr(clocks, "boot_id", lambda: f"host {next(numbers)}")
    return Store()


def until(ready: Callable[[], object]) -> None:
    while not ready():
        time.sleep(0.01)


def answering(store: Store) -> clocks.Pings:
    """Rank 0, with its address in the store."""
    made = clocks.Pings(store, 0, 2)
    until(lambda: store or made._trouble)
    return made


def ask(store: Store, wait: float = 0) -> dict[str, object]:
    """The facts of rank 1 of the same session after ``wait`` seconds."""
    clocks._sessions -= 1
    asking = clocks.Pings(store, 1, 2)
    until(lambda: asking._client is not None or asking._trouble)
    time.sleep(wait)
    return asking.end()


def test_the_difference_is_that_of_one_clock(store: Store) -> None:
    rank = answering(store)
    facts = ask(store, 0.1)
    assert facts.keys() == {"pings"}
    pings = facts["pings"]
    assert isinstance(pings, list) and len(pings) >= 4
    assert all(peer == 0 and sent <= replied <= received for peer, sent, replied, received in pings)
    assert rank.end() == {}


def test_a_port_that_cannot_be_reached_is_reported(store: Store) -> None:
    rank = answering(store)
    (key,) = store
    host, _, *rest = store.get(key).decode().split("\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    store.set(key, "\n".join((host, str(port), *rest)))
    assert ask(store) == {"pings": [], "trouble": f"no reply from the clock at 127.0.0.1, UDP port {port}"}
    assert rank.end() == {}


class Prefix:
    def __init__(self, store: Store) -> None:
        self.underlying_store = store
        self.set = store.set


def test_a_clock_is_offered_on_the_network_of_the_process_group(store: Store) -> None:
    """The server is not bound to all addresses."""
    rank = clocks.Pings(Prefix(store), 0, 2)
    until(lambda: store or rank._trouble)
    (line,) = bound(int(store[next(iter(store))].split(b"\n")[1]))
    assert line.split()[1].startswith("0100007F:")
    rank.end()


def bound(port: int) -> list[str]:
    lines = [line for name in ("udp", "udp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]]
    return [line for line in lines if int(line.split()[1].rpartition(":")[2], 16) == port]


def test_no_clock_without_a_network(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "host", "")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    rank = answering(store)
    line = "cannot serve the clock: the network of the ranks is unknown; set MASTER_ADDR"
    assert rank.end() == {"trouble": line}
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    rank = answering(store)
    assert [place.split(b"\n")[3] for place in store.values()] == [b"127.0.0.1"]
    rank.end()


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::ffff:0.0.0.0"])
def test_no_clock_is_offered_on_every_address(address: str) -> None:
    with pytest.raises(Error, match=f"clock: {address} is every address of this host: give one"):
        clocks.ping_socket(address)


@pytest.mark.parametrize("address", ["", "localhost", "no address", "127.0.0.1:80"])
def test_addresses_are_numbers(address: str) -> None:
    for port in (None, 9):
        with pytest.raises(Error, match=f"clock: {address}: a numeric address is needed"):
            clocks.ping_socket(address, port)


def test_an_address_of_another_host() -> None:
    with pytest.raises(Error, match=r"cannot serve the clock at 192\.0\.2\.1: "):  # reserved for documentation
        clocks.ping_socket("192.0.2.1")


def test_a_connected_socket_receives_from_its_peer_only() -> None:
    one, other = clocks.ping_socket("127.0.0.1"), clocks.ping_socket("127.0.0.1")
    connected = clocks.ping_socket("127.0.0.1", one.getsockname()[1])
    assert not any(each.gettimeout() is None or os.get_inheritable(each.fileno()) for each in (one, connected))
    other.sendto(b"x", connected.getsockname())
    with pytest.raises(BlockingIOError):
        connected.recv(1)
    one.sendto(b"y", connected.getsockname())
    until(lambda: readable(connected))
    assert connected.recv(1) == b"y"
    for each in (one, other, connected):
        each.close()


def readable(of: _socket.socket) -> bool:
    return bool(select.select([of], [], [], 0)[0])


def server_at() -> tuple[_core.ClockServer, int]:
    """A server, and its port."""
    made = clocks.ping_socket("127.0.0.1")
    port = made.getsockname()[1]
    return _core.ClockServer(made.detach(), TOKEN), port


def client_of(port: int) -> _core.ClockClient:
    return _core.ClockClient(clocks.ping_socket("127.0.0.1", port).detach(), TOKEN)


def test_a_token_has_16_bytes() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        _core.ClockServer(-1, TOKEN[:15])


def measured(port: int, wait: float = 0.1) -> int:
    """The number of round trips of a client with the right token."""
    client = client_of(port)
    time.sleep(wait)
    return len(client.finish())


STRANGE = [
    b"",
    TOKEN[:8],
    TOKEN,  # without a request
    TOKEN + b"1234567",
    TOKEN + b"123456789",
    TOKEN[::-1] + b"12345678",
    TOKEN[:15] + b"\xff" + b"12345678",
    b"GET / HTTP/1.1\r\n\r\n",
    bytes(60_000),
]


def test_clients_without_token_get_no_reply() -> None:
    """A thousand sockets send nothing, half a token, or garbage."""
    server, port = server_at()
    with socket.socket() as stream, pytest.raises(ConnectionRefusedError):
        stream.connect(("127.0.0.1", port))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    strangers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(1000)]
    try:
        for number, stranger in enumerate(strangers):
            stranger.connect(("127.0.0.1", port))
            stranger.setblocking(False)
            if number % 10:
                stranger.send(STRANGE[number % 10 - 1])
        assert measured(port) >= 4
        for stranger in strangers:
            with pytest.raises(BlockingIOError):
                stranger.recv(100)
        assert measured(port) >= 4
    finally:
        for stranger in strangers:
            stranger.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        server.close()


def test_a_flood_leaves_the_thread_asleep() -> None:
    """Also after the thread had stopped reading for a while."""
    before = set(os.listdir("/proc/self/task"))
    server, port = server_at()
    (task,) = set(os.listdir("/proc/self/task")) - before
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.connect(("127.0.0.1", port))
        for _ in range(20_000):
            stranger.send(b"garbage")
    until(lambda: waiting(port) == 0)
    until(lambda: sleeps(task))
    assert measured(port) >= 4
    server.close()


def waiting(port: int) -> int:
    """Bytes in the receive queue of this port."""
    (line,) = bound(port)
    return int(line.split()[4].partition(":")[2], 16)


def sleeps(task: str) -> bool:
    """Without a timeout."""
    before = switched(task)
    time.sleep(0.1)
    state = Path(f"/proc/self/task/{task}/stat").read_text().rpartition(") ")[2][0]
    return state == "S" and switched(task) == before


def switched(task: str) -> int:
    lines = Path(f"/proc/self/task/{task}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


ASK = """
import sys, time
from fastdispatch import _core
from fastdispatch.record import clocks
sys.stdin.readline()
pings, end = [], time.monotonic() + 30
while not pings and time.monotonic() < end:  # a busy machine replies late
    client = _core.ClockClient(clocks.ping_socket("127.0.0.1", int(sys.argv[1])).detach(), bytes(range(16)))
    time.sleep(0.1)
    pings = client.finish()
print(len(pings))
"""


def test_a_process_without_free_descriptors_replies() -> None:
    server, port = server_at()
    command = [sys.executable, "-c", ASK, str(port)]
    client = subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=processes.environment()
    )
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, limits[1]))
    try:
        with pytest.raises(OSError) as error:
            os.dup(0)
        assert error.value.errno == errno.EMFILE
        with pytest.raises(Error, match=r"cannot serve the clock at 127\.0\.0\.1: Too many open files"):
            clocks.ping_socket("127.0.0.1")
        with pytest.raises(Error, match=r"cannot ping the clock at 127\.0\.0\.1: Too many open files"):
            clocks.ping_socket("127.0.0.1", port)
        output, _ = client.communicate("go\n", timeout=60)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert int(output) > 0
    server.close()


def open_files() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # that of the listing itself
            continue
    return found


def ours(before: dict[int, str]) -> dict[int, str]:
    return {number: name for number, name in open_files().items() if number not in before}


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of 3.12: there are threads
@pytest.mark.parametrize("fork", [os.fork, lambda: ctypes.PyDLL(None).fork()], ids=["python", "c"])
def test_a_forked_child_has_no_server(fork: Callable[[], int]) -> None:
    before = open_files()
    server, port = server_at()
    client = client_of(port)
    mine = ours(before)
    assert sorted(name.partition(":")[0] for name in mine.values()) == ["anon_inode", "anon_inode", "socket", "socket"]
    assert not any(os.get_inheritable(number) for number in mine)  # past exec
    child = fork()
    if child == 0:
        left = set(open_files()) & set(mine)
        for number in mine:
            os.dup2(0, number)  # the child's own, under the same numbers
        server.close()
        client.finish()
        os._exit(0 if not left and set(mine) <= set(open_files()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    time.sleep(0.1)
    assert len(client.finish()) >= 4
    assert measured(port) >= 4
    server.close()
    assert ours(before) == {}
