"""Pings of two ranks of one process, which take each other for other hosts."""

from __future__ import annotations

import itertools
import socket
import time

import pytest

from fastdispatch import clocks


class Store(dict[str, bytes]):
    """As much of torch.distributed's as is used."""

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
    monkeypatch.setattr(clocks, "addresses", lambda: ["127.0.0.1"])
    return Store()


def ask(store: Store, wait: float = 0) -> dict[str, object]:
    """What rank 1, of the same session, says after some time to find out."""
    clocks._sessions -= 1
    asking = clocks.Pings(store, 1, 2)
    while asking._asker is None and not asking._trouble:
        time.sleep(0.01)
    time.sleep(wait)
    return asking.end()


def test_the_difference_is_that_of_one_clock(store: Store) -> None:
    answering = clocks.Pings(store, 0, 2)
    found = (ask(store, wait) for wait in (0.1, 1, 10))  # a busy machine may take longer
    facts = next((facts for facts in found if facts["pings"]), {})
    assert facts.keys() == {"pings"}
    pings = facts["pings"]
    assert isinstance(pings, list) and len(pings) >= 4
    assert all(peer == 0 and sent <= answered <= received for peer, sent, answered, received in pings)
    assert answering.end() == {}


def test_a_port_that_cannot_be_reached_is_told(store: Store) -> None:
    answering = clocks.Pings(store, 0, 2)
    (key,) = store
    host, _, *rest = store.get(key).decode().split("\n")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and does not listen
        store.set(key, "\n".join((host, str(closed.getsockname()[1]), *rest)))
        assert ask(store) == {"pings": [], "trouble": "no answer from the clock"}
    assert answering.end() == {}
