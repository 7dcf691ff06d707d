"""The arguments of ``CallGraph``, also as text in ``FASTDISPATCH_OPTIONS`` and ``%%fastdispatch``."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from fastdispatch._core import Error, Session
from fastdispatch.record.budget import PATIENCE, share_of_budget
from fastdispatch.record.environment import CALLS, CallSource
from fastdispatch.record.gpu import Gpu, gpu_of
from fastdispatch.record.schedule import Schedule, check_step_function, window
from fastdispatch.record.timeline import Timeline, timeline_of
from fastdispatch.text.formats import printable

if TYPE_CHECKING:
    from fastdispatch.record.callgraph import CallGraph

Ops = Literal["auto", "record", "dispatch", "off"]

_MAX_MB = 1024


class RareOptions(TypedDict, total=False):
    """Arguments of :class:`fastdispatch.CallGraph` that few programs need.

    Parameters
    ----------
    timing:
        ``False`` counts calls without timing them, at about two thirds of the cost.
    jobs:
        ``True`` adds jobs to the timeline, or makes a timeline of only jobs. Their records (``Trace.jobs``) need no
        option: each :class:`fastdispatch.job`, and each job of a pipeline engine (DeepSpeed,
        torch.distributed.pipelining, Megatron; docs/formats/pipeline-jobs.md).
    detail:
        ``"c_calls"``: also record the C functions that Python code calls (Python 3.12 and later;
        docs/concepts/calls.md).
    schedule:
        Steps to record, instead of ``steps``: a function of the step number like :func:`fastdispatch.schedule`.
    step_of:
        The function whose end is the end of a step, ``"NAME"`` or ``"FILE:NAME"``: the end of its qualified name
        (``"Trainer.train_step"``) and of its path. Default: the iterations of the training loop, found by the calls of
        optimizers (docs/start/usage.md).
    on_trace_ready:
        Called with the CallGraph at the end of each recorded window of the schedule.
    max_mb:
        Limit of the file and of additional memory, 1 to 1024, by default 64. Calls beyond it are counted in
        ``<overflow>``.
    best_effort:
        If ``out`` cannot be written, ``start()`` raises an error. With ``True`` the recording is kept in memory
        instead, and written at the end to ``out`` if possible, otherwise to a new temporary directory, which standard
        error and ``path`` name.
    children:
        ``False`` does not record the other processes of the rank: DataLoader workers and other children, forked or
        started by multiprocessing (docs/formats/run-directory.md), in separate files with a quarter of ``max_mb`` (16
        at most). A recording in memory (``out=None``) does not record them.
    gather:
        At the end, send the recording to rank 0 through the store of torch.distributed. A warning names ranks that do
        not stop within ``gather`` seconds (``True``: 60).
    """

    timing: bool
    jobs: bool
    detail: str
    schedule: Schedule | None
    step_of: str | None
    on_trace_ready: Callable[[CallGraph], object] | None
    max_mb: int
    best_effort: bool
    children: bool
    gather: bool | float


@dataclass(frozen=True)
class Options:
    """All arguments of :class:`fastdispatch.CallGraph` as given, and their parsed forms.

    Raises :class:`fastdispatch.Error` for values that are invalid, or do not fit together or this version of Python.
    """

    out: str | os.PathLike[str] | None
    steps: str | tuple[int, int] | None
    budget: float | None
    calls: CallSource
    ops: Ops
    gpu: str | Gpu
    timeline: bool | str | Timeline
    et: bool
    measure: str
    keep: Keep | None
    ranks: Sequence[int] | None
    timing: bool = True
    jobs: bool = False
    detail: str = ""
    schedule: Schedule | None = None
    step_of: str | None = None
    on_trace_ready: Callable[[CallGraph], object] | None = None
    max_mb: int = 64
    best_effort: bool = False
    children: bool = True
    gather: bool | float = False

    def __post_init__(self) -> None:
        for name, value, choices in (("calls", self.calls, ("auto", *CALLS)), ("ops", self.ops, get_args(Ops))):
            if value not in choices:
                raise Error(f"{name}={value!r}: must be one of {', '.join(choices)}")
        _check(self)
        check_step_function(self.step_of)
        for name, value in vars(type(self)).items():
            if isinstance(value, cached_property):
                getattr(self, name)

    @cached_property
    def events(self) -> Timeline | None:
        """The timeline to record."""
        return timeline_of(self.timeline, self.jobs)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The kinds to measure."""
        return measures_of(self.measure, self.ops)

    @cached_property
    def reads_operands(self) -> bool:
        """Whether a kind to measure is derived from the operands of operators."""
        return any(kind in _OF_OPERANDS for kind in self.measures)

    @cached_property
    def device(self) -> Gpu | None:
        """What to record of the GPU."""
        found = gpu_of(self.gpu)
        if found is not None and found.require and not self.timing:
            raise Error("gpu='require' requires times: omit timing=False")
        return found

    @cached_property
    def kept(self) -> Callable[[str], object] | None:
        return keep_function(self.keep)

    @cached_property
    def share(self) -> float | None:
        """The budget; None where the other options select the steps."""
        return share_of_budget(self.budget, self.steps is not None or self.schedule is not None or self.et)

    @cached_property
    def chosen(self) -> Schedule | None:
        """The schedule without a budget."""
        return self.schedule if self.steps is None or self.steps == "all" else window(self.steps)

    def given(self) -> dict[str, Any]:
        """Return the arguments."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def facts(self) -> dict[str, object]:
        """Return the fact ``options`` of the recording."""
        return {
            "calls": self.calls,
            "ops": self.ops,
            "timing": self.timing,
            "timeline": None if self.events is None else self.events.what,
            "et": self.et,
            "measure": dict.fromkeys(self.measures, 1),  # 1 is one in so many steps
            "detail": self.detail,
            "gpu": None if self.device is None else self.device.text,
            "keep": self.keep is not None,
            "schedule": self.chosen is not None and self.share is None,
            **({} if self.step_of is None else {"step_of": self.step_of}),
            "max_mb": self.max_mb,
            "children": self.children,
        }

    def of_session(self) -> dict[str, Any]:
        """Return arguments of ``_core.Session``."""
        return {
            "max_mb": self.max_mb,
            "timing": self.timing,
            "calls": CALLS[self.calls],
            "c_calls": self.detail == "c_calls",
            "fold": self.keep is None,
            "keep": self.kept,
            "budget": (0.0, 0.0) if self.share is None or self.et else (self.share, PATIENCE),
            "timeline": None if self.events is None else self.events.core(),
            "step_of": self.step_of,
        }


def check_names(given: Iterable[str]) -> None:
    """Raise TypeError for an unknown argument of CallGraph."""
    names = [each.name for each in fields(Options)]
    for name in given:
        if name not in names:
            from difflib import get_close_matches

            near = get_close_matches(name, names, 1)
            raise TypeError(f"CallGraph has no argument {name!r}" + (f": did you mean {near[0]!r}?" if near else ""))


def options_of(text: str) -> dict[str, Any]:
    """Parse ``"ops=dispatch,timing=0"`` to arguments of CallGraph; 0 and 1 mean no and yes. Globs of ``keep`` and
    numbers of ``ranks`` are separated by ``+``. Raises ValueError."""
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals:
            raise ValueError(f"{part}: write name=value")
        options[name] = _value(name, value)
    return options


def _value(name: str, text: str) -> Any:
    kind = Options.__annotations__.get(name, "")
    if kind.startswith("bool") and text in ("0", "1"):
        return text == "1"
    if kind == "bool" or name in ("schedule", "on_trace_ready"):
        raise ValueError(f"{name}={text}: {'write 0 or 1' if kind == 'bool' else 'a function has no text'}")
    try:
        if name == "ranks":
            return [int(each) for each in text.split("+")]
        if kind == "int" or "float" in kind:
            return int(text) if kind == "int" else float(text)
    except ValueError:
        raise ValueError(f"{name}={text}: expected a number") from None
    return text.split("+") if name == "keep" else text


def text_of(options: Mapping[str, Any]) -> str:
    """Return the text that :func:`options_of` parses."""
    plain = {name: int(value) if isinstance(value, bool) else value for name, value in options.items()}
    texts = {name: "+".join(value) if isinstance(value, list) else str(value) for name, value in plain.items()}
    return ",".join(f"{name}={text.replace(',', '+')}" for name, text in texts.items())


def _check(given: Options) -> None:
    if given.schedule is not None and given.steps is not None:
        raise Error("schedule and steps both select the steps to record: give only one of them")
    if given.budget is not None and (given.schedule is not None or given.steps is not None):
        raise Error("budget, schedule and steps select the steps to record: give only one of them")
    if given.gather and given.ranks is not None:
        raise Error("gather requires every rank, ranks excludes some: give only one of them")
    if not 1 <= given.max_mb <= _MAX_MB:
        raise Error(f"max_mb={given.max_mb}: must be from 1 to {_MAX_MB}")
    if given.calls == "monitor" and sys.version_info < (3, 12):
        raise Error("calls='monitor' needs Python 3.12 or later: use calls='frame'")
    if (given.timeline or given.jobs) and not given.timing:
        raise Error("a timeline requires times: omit timing=False")
    if given.et and (not given.timing or given.ops in ("dispatch", "off")):
        raise Error("et=True requires times and ops='record': omit timing and ops")
    if given.detail not in ("", "c_calls"):
        raise Error(f"detail={given.detail!r}: must be c_calls")
    if given.detail and given.calls == "off":
        raise Error(f"detail={given.detail!r} requires Python calls: omit calls='off'")


def print_line(line: str) -> None:
    """Print a line on standard error, if it exists."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"fastdispatch: {printable(line)}", file=sys.stderr)


#: Bits of ``fd_measure_plan.kinds``.
KINDS = {"flops": 1, "memory": 2, "comm": 4, "shapes": 8}

#: Kinds that read the operands of operators.
_OF_OPERANDS = ("flops", "comm", "shapes")


def attach_measures(session: Session, kinds: Sequence[str]) -> None:
    """Let a session measure these kinds."""
    if kinds:
        from fastdispatch.measures.flop_formulas import OPERATORS, PADDING

        operators = OPERATORS | (PADDING if "shapes" in kinds else {})
        session.measure(sum(KINDS[kind] for kind in kinds), operators)


def measures_of(text: str, ops: str) -> tuple[str, ...]:
    """Parse the argument ``CallGraph(measure=)`` to kinds."""
    parts = [part.strip() for part in re.split(r"[,+]", text)] if text else []
    for part in parts:
        if part not in (*KINDS, "all"):
            raise Error(f"measure={part!r}: must be one of {', '.join(KINDS)}, all")
    kinds = tuple(kind for kind in KINDS if kind in parts or "all" in parts)
    if ops in ("dispatch", "off") and any(kind in _OF_OPERANDS for kind in kinds):
        raise Error(f"measure={text!r} requires ops='record': omit ops")
    return kinds


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
