"""Clock offsets between ranks on different hosts, measured by pings during the recording.

Rank 0 (and with more than 64 ranks every 64th) replies, the others send requests. The store of torch.distributed has
the address, port and token. No rank waits for another: a separate thread does all slow work. See SECURITY.md.
"""

import _socket
import _thread
import os
import socket
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from fastdispatch import _core

FAN = 64
SEARCH_SECONDS = 60.0
PAUSE_SECONDS = 0.05
TOKEN_BYTES = 16
NUMERIC = _socket.AI_NUMERICHOST | _socket.AI_NUMERICSERV
WILDCARDS = ("0.0.0.0", "::", "::ffff:0.0.0.0")
DISCARD = 9  # a port of the store's host; nothing is sent there

_sessions = 0  # recordings with pings in this process: each has its own key in the store


def parent_of(rank: int) -> int:
    """Return the peer of a rank: its number with the last non-zero digit, in base 64, set to 0."""
    unit = 1
    while rank // unit % FAN == 0:
        unit *= FAN
    return rank - rank // unit % FAN * unit


def host_of(store: Any) -> str:
    """Return the host of the store of the process group, else ``MASTER_ADDR``, else ""."""
    while hasattr(store, "underlying_store"):  # of a prefix
        store = store.underlying_store
    return str(getattr(store, "host", "")) or os.environ.get("MASTER_ADDR", "")


def own_address(host: str) -> str:
    """Return the source address of packets to ``host``: that of the interface of the process group.

    Sends nothing: the kernel selects the address when a datagram socket is connected. Calls only C functions, so that a
    recording does not contain them.
    """
    why: OSError | None = None
    for family, kind, _, _, target in _socket.getaddrinfo(host, DISCARD, 0, _socket.SOCK_DGRAM):
        probe = _socket.socket(family, kind)
        try:
            probe.connect(target)
            return str(probe.getsockname()[0])
        except OSError as error:
            why = error
        finally:
            probe.close()
    raise why or OSError(f"{host} has no address")


def ping_socket(address: str, port: int | None = None) -> _socket.socket:
    """Return a non-blocking UDP socket of a numeric address: connected to this port of it, or bound to a free port.

    A connected socket receives from this address and port only. Raises :class:`fastdispatch.Error`.
    """
    kind = _socket.SOCK_DGRAM
    try:
        family, _, _, _, target = _socket.getaddrinfo(address.encode(), port or 0, 0, kind, 0, NUMERIC)[0]
    except OSError:
        raise _core.Error(f"clock: {address}: a numeric address is needed") from None
    if port is None and target[0] in WILDCARDS:
        raise _core.Error(f"clock: {address} is every address of this host: give one")
    try:
        made = _socket.socket(family, kind)
        made.setblocking(False)
        if port is None:
            made.bind(target)
        else:
            made.connect(target)
    except OSError as error:
        what = "serve" if port is None else "ping"
        raise _core.Error(f"cannot {what} the clock at {address}: {error.strerror}") from None
    return made


def boot_id() -> str:
    """Return an id that is equal for all ranks of a machine, which share a clock."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return socket.gethostname()


class Pings:
    """The pings of one recording, which stores failures as a line."""

    def __init__(self, store: Any, rank: int, world: int) -> None:
        global _sessions
        _sessions += 1
        self._key = f"fastdispatch/clock/{_sessions}"
        self._rank = rank
        self._serves = rank % FAN == 0 and rank + 1 < world
        self._peer = parent_of(rank) if rank > 0 else 0
        self._boot_id = boot_id()
        self._host = host_of(store)
        self._trouble = ""
        self._silence = ""  # the reason if no reply arrives
        self._server: _core.ClockServer | None = None
        self._client: _core.ClockClient | None = None
        self._lock = _thread.allocate_lock()
        self._ended = False
        if self._serves or rank > 0:
            _thread.start_new_thread(self._run, (store,))

    def _run(self, store: Any) -> None:
        """Run in a separate thread, at most until the end of the recording. Calls no Python functions of other files:
        the recording would contain them."""
        try:
            if self._serves:
                self._serve(store)
            if self._rank > 0:
                self._search(store)
        except Exception as error:  # the store may be gone; the program continues
            self._trouble = f"{type(error).__name__}: {error}"

    def _serve(self, store: Any) -> None:
        if not self._host:
            self._trouble = "cannot serve the clock: the network of the ranks is unknown; set MASTER_ADDR"
            return
        address = own_address(self._host)
        token = os.urandom(TOKEN_BYTES)
        with self._lock:
            if self._ended:
                return
            made = ping_socket(address)
            port = made.getsockname()[1]
            self._server = _core.ClockServer(made.detach(), token)
        facts = (self._boot_id, str(port), token.hex(), address)
        store.set(f"{self._key}/{self._rank}", "\n".join(facts))

    def _search(self, store: Any) -> None:
        key = f"{self._key}/{self._peer}"
        end = time.monotonic() + SEARCH_SECONDS
        while not self._ended and not store.check([key]):
            if time.monotonic() > end:
                self._trouble = f"no clock server was found within {SEARCH_SECONDS:.0f} s"
                return
            time.sleep(PAUSE_SECONDS)
        if not self._ended:
            self._connect(store.get(key).split(b"\n"))

    def _connect(self, facts: list[bytes]) -> None:
        host, port, token, address = facts
        if host.decode() == self._boot_id:
            return  # one clock: the difference is 0
        with self._lock:
            if not self._ended:
                made = ping_socket(address.decode(), int(port))
                self._silence = f"no reply from the clock at {address.decode()}, UDP port {int(port)}"
                self._client = _core.ClockClient(made.detach(), bytes.fromhex(token.decode()))

    def end(self) -> dict[str, object]:
        """Return the facts for the recording."""
        with self._lock:
            self._ended = True
            client, self._client = self._client, None
            server, self._server = self._server, None
        facts: dict[str, object] = {}
        if client is not None:
            facts["pings"] = pings = [[self._peer, *ping] for ping in client.finish()]
            self._trouble = self._trouble or ("" if pings else self._silence)
        if server is not None:
            server.close()
        if self._trouble:
            facts["trouble"] = self._trouble.splitlines()[0]
        return facts


def start_pings(distributed: ModuleType, rank: int, world: int) -> Pings | None:
    """Start pings through the store of torch.distributed; None if this version of PyTorch does not show it."""
    try:
        store = distributed.distributed_c10d._get_default_store()
    except (AttributeError, RuntimeError):
        return None
    return Pings(store, rank, world)
