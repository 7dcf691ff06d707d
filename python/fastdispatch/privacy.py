"""What outputs tell of the user: within :func:`private`, every recording that is read is made anonymous first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from fastdispatch import _core


@dataclass(frozen=True)
class Privacy:
    """``salt``: names of the user become hashes with it; None: they stay. ``prefix`` is cut off files."""

    salt: str | None = None
    prefix: str = ""


_NONE = Privacy()
_current: ContextVar[Privacy] = ContextVar("fastdispatch_privacy", default=_NONE)


@contextmanager
def private(privacy: Privacy) -> Iterator[None]:
    token = _current.set(privacy)
    try:
        yield
    finally:
        _current.reset(token)


def is_anonymous() -> bool:
    return _current.get().salt is not None


def wish() -> tuple[str | None, str] | None:
    """What is asked for here, as functions of the core take it that read recordings themselves; None: nothing."""
    privacy = _current.get()
    return None if privacy == _NONE else (privacy.salt, privacy.prefix)


def apply(core: _core.Trace) -> _core.Trace:
    """The trace itself, changed as is asked for here."""
    privacy = _current.get()
    if privacy.prefix:
        core.strip_prefix(privacy.prefix)
    if privacy.salt is not None:
        core.anonymize(privacy.salt)
    return core


def shown(path: str) -> str:
    """How an output names the file it is of."""
    privacy = _current.get()
    if privacy.salt is not None:
        return _core.anonymous_name(privacy.salt, path)
    return path.removeprefix(privacy.prefix)
