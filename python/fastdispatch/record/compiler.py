"""What torch.compile did while a process recorded: compilations, recompilations, graph breaks, and source lines of
kernels.

Dynamo keeps these facts itself; they are read once, at the end. Nothing of PyTorch is imported or changed.
"""

import json
import re
import sys
import time
from collections import Counter
from contextlib import suppress
from operator import itemgetter
from typing import Any

_LISTED = 50
_LONGEST = 300  # characters of a reason
_KERNELS = 2000
_LINES = 20  # of a kernel

#: A frame of a stack trace as text.
_FRAME = re.compile(r'^ *File "(.+)", line (\d+), in (.+)$', re.MULTILINE)

_Location = tuple[str, str, int]


class Compiler:
    """The facts since this object was made."""

    def __init__(self) -> None:
        utils = _utils()
        self._began = time.time()
        self._frames = _frames(utils)
        self._breaks = len(_reasons(utils))

    def facts(self) -> dict[str, Any] | None:
        """Return the fact ``compile`` (docs/formats/recording.md); None if nothing was compiled."""
        utils = _utils()
        if utils is None:
            return None
        reasons = _reasons(utils)
        breaks = Counter(_break(reason) for reason in reasons[self._breaks if self._breaks <= len(reasons) else 0 :])
        metrics: list[Any] = getattr(utils, "get_compilation_metrics", list)()
        seen = [each for each in metrics if (getattr(each, "start_time", None) or 0.0) >= self._began]
        if not seen and not breaks:
            return None
        again = Counter((_location(each), _guard(each)) for each in seen if getattr(each, "recompile_reason", None))
        return {
            "compilations": max(_frames(utils) - self._frames, len(seen)),
            "listed": len(seen),  # Dynamo keeps the latest ones
            "ns": sum(map(_duration, seen)),
            "functions": _functions(seen)[:_LISTED],
            "recompilations": [
                _at(location) | {"guard": guard, "count": count}
                for (location, guard), count in again.most_common(_LISTED)
            ],
            "graph_breaks": [
                _at(location) | {"reason": reason, "count": count}
                for (location, reason), count in breaks.most_common(_LISTED)
            ],
        }


def kernel_sources() -> list[dict[str, Any]]:
    """Return the fact ``kernel_sources`` (docs/formats/recording.md): the lines of the program that each kernel of
    Inductor computes; empty unless Inductor tracks its provenance."""
    lines: dict[str, set[_Location]] = {}
    for metrics in getattr(_utils(), "get_compilation_metrics", list)():
        for provenance in getattr(metrics, "inductor_provenance", None) or ():
            with suppress(Exception):  # private to PyTorch
                for kernel, stacks in json.loads(provenance).items():
                    name = kernel.partition(":")[0]
                    if name.isidentifier():  # no call of a library
                        frames = (_FRAME.findall(stack)[-1:] for stack in stacks)  # the innermost one of each
                        found = lines.setdefault(name, set())
                        found.update((function, file, int(line)) for each in frames for file, line, function in each)
    return [
        {"kernel": name, "lines": [_at(line) for line in sorted(lines[name], key=itemgetter(1, 2))[:_LINES]]}
        for name in sorted(lines)[:_KERNELS]
    ]


def _utils() -> Any:
    return sys.modules.get("torch._dynamo.utils")


def _frames(utils: Any) -> int:
    return int(getattr(utils, "counters", {}).get("frames", {}).get("total", 0))


def _reasons(utils: Any) -> list[Any]:
    return list(getattr(utils, "graph_break_reasons", ()))


def _location(metrics: Any) -> _Location:
    return str(metrics.co_name or ""), str(metrics.co_filename or ""), int(metrics.co_firstlineno or 0)


def _at(location: _Location) -> dict[str, Any]:
    return dict(zip(("function", "file", "line"), location, strict=True))


def _duration(metrics: Any) -> int:
    microseconds = getattr(metrics, "duration_us", None)
    seconds = getattr(metrics, "entire_frame_compile_time_s", None) or 0.0
    return int(microseconds * 1000) if microseconds is not None else int(seconds * 1e9)


def _guard(metrics: Any) -> str:
    """Return the guard that failed, without the number of the compilation before it."""
    return str(metrics.recompile_reason).splitlines()[0][:_LONGEST].partition(": ")[2]


def _break(reason: Any) -> tuple[_Location, str]:
    text = str(reason.reason).strip().splitlines() or [""]
    frames = getattr(reason, "user_stack", None)
    location = (frames[-1].name, frames[-1].filename, frames[-1].lineno or 0) if frames else ("", "", 0)
    return location, text[0][:_LONGEST]


def _functions(seen: list[Any]) -> list[dict[str, Any]]:
    """Return the compiled functions, by time."""
    counts: Counter[_Location] = Counter(map(_location, seen))
    times: Counter[_Location] = Counter()
    for each in seen:
        times[_location(each)] += _duration(each)
    return [_at(location) | {"compilations": counts[location], "ns": ns} for location, ns in times.most_common()]
