"""The names of profile options that Megatron and DeepSpeed programs have, as arguments of ``CallGraph``."""

from collections.abc import Mapping
from typing import Any

from fastdispatch._core import Error


def callgraph_arguments(options: object) -> dict[str, Any]:
    """Return arguments of :class:`fastdispatch.CallGraph` for ``profile``, ``profile_step_start``,
    ``profile_step_end`` and ``profile_ranks``.

    ``options`` is a mapping, or an object with attributes such as Megatron's arguments; absent names, and None, select
    everything. ``profile=False`` records no rank. The step ``profile_step_start`` is recorded, ``profile_step_end`` is
    not, and both count from 0. Raises :class:`fastdispatch.Error` for other values.
    """
    given = options if isinstance(options, Mapping) else vars(options)
    if given.get("profile") is False:
        return {"ranks": []}
    first, last = (_number(given, name) for name in ("profile_step_start", "profile_step_end"))
    arguments: dict[str, Any] = {}
    if first is not None or last is not None:
        arguments["steps"] = f"{first or 0}:{'' if last is None else last}"
    if given.get("profile_ranks") is not None:
        arguments["ranks"] = _ranks(given["profile_ranks"])
    return arguments


def _number(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise Error(f"{name}={value!r}: give a number of a step, counted from 0")


def _ranks(value: object) -> list[int]:
    ranks = list(value) if isinstance(value, (list, tuple, set, range)) else None
    if ranks is None or any(not isinstance(rank, int) or rank < 0 for rank in ranks):
        raise Error(f"profile_ranks={value!r}: give a list of ranks")
    return ranks
