"""How far the clocks of ranks on other hosts are apart: pings between them while they record.

Rank 0 (with more than 64 ranks every 64th, too) answers, the others ask. Where to ask they find in the store of
torch.distributed. No rank waits for another: what is not there yet is looked for by a thread of our own.
"""

from __future__ import annotations

import _socket
import _thread
import os
import secrets
import socket
import time
from pathlib import Path
from typing import Any

from fastdispatch import _core

FAN = 64
SEARCH_SECONDS = 60.0
PAUSE_SECONDS = 0.05

_sessions = 0  # that wanted pings in this process: each has a key of its own in the store


def boot_id() -> str:
    """The same on all ranks of a machine, which have one clock."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return socket.gethostname()


def parent_of(rank: int) -> int:
    """Whom a rank asks: its number with the last digit other than 0, to the base of 64, made 0."""
    unit = 1
    while rank // unit % FAN == 0:
        unit *= FAN
    return rank - rank // unit % FAN * unit


def addresses() -> list[str]:
    """Under which names other hosts may find this one; nothing is asked of anybody."""
    found = [os.environ.get("MASTER_ADDR", "") if os.environ.get("RANK", "0") == "0" else "", socket.gethostname()]
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((target, 9))  # sends nothing: the kernel chooses the address it would send from
                found.append(probe.getsockname()[0])
        except OSError:
            continue
    return [name for name in dict.fromkeys(found) if name]


def resolved(names: list[bytes]) -> list[str]:
    found: list[str] = []
    for name in names:
        try:
            found += [str(entry[4][0]) for entry in _socket.getaddrinfo(name, None, 0, socket.SOCK_STREAM)]
        except OSError:
            continue
    return list(dict.fromkeys(found))


class Pings:
    """Those of one recording. What fails is a line in it."""

    def __init__(self, store: Any, rank: int, world: int) -> None:
        global _sessions
        _sessions += 1
        self._key = f"fastdispatch/clock/{_sessions}"
        self._rank = rank
        self._peer = parent_of(rank) if rank > 0 else 0
        self._boot_id = boot_id()
        self._trouble = ""
        self._answerer: _core.ClockAnswerer | None = None
        self._asker: _core.ClockAsker | None = None
        self._lock = _thread.allocate_lock()
        self._ended = False
        if rank % FAN == 0 and rank + 1 < world:
            self._answer(store)
        if rank > 0:
            _thread.start_new_thread(self._search, (store,))

    def _answer(self, store: Any) -> None:
        try:
            token = secrets.token_bytes(16)
            self._answerer = _core.ClockAnswerer(token)
            place = (self._boot_id, str(self._answerer.port), token.hex(), *addresses())
            store.set(f"{self._key}/{self._rank}", "\n".join(place))
        except Exception as error:  # the store is somebody else's; whatever it is, the program goes on
            self._trouble = f"{type(error).__name__}: {error}"

    def _search(self, store: Any) -> None:
        """On a thread of its own, which ends with the recording or when it has found out. It calls no Python function
        of other files: those would be in the recording."""
        try:
            key = f"{self._key}/{self._peer}"
            end = time.monotonic() + SEARCH_SECONDS
            while not self._ended and not store.check([key]):
                if time.monotonic() > end:
                    self._trouble = f"no clock to ask was found within {SEARCH_SECONDS:.0f} s"
                    return
                time.sleep(PAUSE_SECONDS)
            if not self._ended:
                self._ask(store.get(key).split(b"\n"))
        except Exception as error:  # the store may be gone
            self._trouble = f"{type(error).__name__}: {error}"

    def _ask(self, place: list[bytes]) -> None:
        host, port, token, *names = place
        if host.decode() == self._boot_id:
            return  # one clock: the difference is 0
        found = resolved(names)
        with self._lock:
            if not self._ended:
                self._asker = _core.ClockAsker(found, int(port), bytes.fromhex(token.decode()))

    def end(self) -> dict[str, object]:
        """What the recording says about it."""
        with self._lock:
            self._ended = True
            asker, self._asker = self._asker, None
        facts: dict[str, object] = {}
        if asker is not None:
            pings, trouble = asker.finish()
            facts["pings"] = [[self._peer, *ping] for ping in pings]
            self._trouble = self._trouble or trouble
        if self._answerer is not None:
            self._answerer.close()
            self._answerer = None
        if self._trouble:
            facts["trouble"] = self._trouble.splitlines()[0]
        return facts
