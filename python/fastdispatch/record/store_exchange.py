"""Files of ranks sent through the store of torch.distributed, in pieces that the receiver requests."""

import time
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

#: Bytes of a piece. The process of the store holds one for each transfer that runs.
_PIECE = 1 << 18

#: Seconds of one request to wait: Ctrl-C is handled between them.
_SLICE = 1.0


class StoreExchange:
    """The messages of one gather; ``until`` (of ``time.monotonic``) limits all waiting. Methods raise RuntimeError
    if the store is gone."""

    def __init__(self, store: Any, name: str, rank: int, until: float) -> None:
        self._store, self._name, self._rank, self.until = store, name, rank, until

    def publish(self, what: str, text: str = "1") -> None:
        """Publish a text of this rank, for any rank to see."""
        self._store.set(self._key(what, self._rank), text)

    def published(self, what: str, ranks: Collection[int]) -> set[int]:
        """Return the ranks that have published this text."""
        return {rank for rank in ranks if self._store.check([self._key(what, rank)])}

    def await_text(self, what: str, ranks: Iterable[int], until: float | None = None) -> str | None:
        """Wait until all these ranks have published the text; return that of the first, None after the time limit."""
        keys = [self._key(what, rank) for rank in ranks]
        return bytes(self._store.get(keys[0])).decode() if self._waited(keys, until) else None

    def send(self, content: bytes) -> bool:
        """Send a content to the rank that requests it; return whether it received all of it in time."""
        self.publish("ready")
        pieces = [content[at : at + _PIECE] for at in range(0, len(content), _PIECE)] or [b""]
        for number, piece in enumerate(pieces):
            if not self._waited([self._key(f"want{number}", self._rank)]):
                return False
            last = b"\1" if number == len(pieces) - 1 else b"\0"
            self._store.set(self._key(f"piece{number}", self._rank), last + piece)
        return self._waited([self._key("taken", self._rank)])

    def receive(self, rank: int) -> bytes | None:
        """Return the content that a rank sends after it published ``ready``; None if it did not arrive in time."""
        content = bytearray()
        number, last = 0, False
        while not last:
            self._store.set(self._key(f"want{number}", rank), "1")
            key = self._key(f"piece{number}", rank)
            if not self._waited([key]):
                return None
            piece = self._store.get(key)
            last = piece[:1] == b"\1"
            content += piece[1:]
            self._store.delete_key(key)
            self._store.delete_key(self._key(f"want{number}", rank))
            number += 1
        self._store.set(self._key("taken", rank), "1")
        return bytes(content)

    def _key(self, what: str, rank: int) -> str:
        return f"{self._name}/{what}/{rank}"

    def _waited(self, keys: list[str], until: float | None = None) -> bool:
        """Wait for keys. A wait that fails at once means that the process of the store has ended."""
        end = self.until if until is None else until
        while (left := end - time.monotonic()) > 0:
            began = time.monotonic()
            try:
                self._store.wait(keys, timedelta(seconds=min(left, _SLICE)))
                return True
            except RuntimeError:
                if time.monotonic() - began < min(left, _SLICE) / 2:
                    raise
        return False
