"""Anonymous outputs: within :func:`private`, every recording is anonymized when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from fastdispatch import _core


@dataclass(frozen=True)
class Privacy:
    """``salt`` of the hashes that replace names of the user, None to keep names; ``prefix`` to remove from file
    names."""

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


def current() -> Privacy:
    """Return the current settings, for worker processes."""
    return _current.get()


def requested() -> tuple[str | None, str] | None:
    """Return the current settings for functions of the core that read recordings; None without any."""
    privacy = _current.get()
    return None if privacy == _NONE else (privacy.salt, privacy.prefix)


def apply(core: _core.Trace) -> _core.Trace:
    """Anonymize a trace in place as currently requested, and return it."""
    privacy = _current.get()
    if privacy.prefix:
        core.strip_prefix(privacy.prefix)
    if privacy.salt is not None:
        core.anonymize(privacy.salt)
    return core


def shown(path: str) -> str:
    """Return the name of a file for outputs."""
    privacy = _current.get()
    if privacy.salt is not None:
        return _core.anonymous_name(privacy.salt, path)
    return path.removeprefix(privacy.prefix)
