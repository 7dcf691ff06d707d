"""The ``keep`` option: functions that become nodes."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from fastdispatch._core import Error

Keep = str | Iterable[str] | Callable[[str], object]


def keep_function(keep: Keep | None) -> Callable[[str], object] | None:
    """Convert any form of ``keep`` to a function of the key; ``None`` stays ``None``."""
    if keep is None or callable(keep):
        return keep
    globs = [keep] if isinstance(keep, str) else list(keep)
    if not globs or not all(isinstance(glob, str) and glob for glob in globs):
        raise Error("keep: give a callable or at least one glob such as 'model.py:*'")
    wanted = [glob for glob in globs if not glob.startswith("!")] or ["*"]
    unwanted = [glob[1:] for glob in globs if glob.startswith("!")]

    def kept(key: str) -> bool:
        return any(fnmatchcase(key, glob) for glob in wanted) and not any(fnmatchcase(key, glob) for glob in unwanted)

    return kept
