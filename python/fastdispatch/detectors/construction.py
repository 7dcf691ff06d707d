"""``construction``: an optimizer, a module, a scheduler or a DataLoader is constructed in every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastdispatch.detectors import limits
from fastdispatch.detectors.input_wait import starts_of_every_step
from fastdispatch.detectors.measured_steps import BACKWARD, DATA, MeasuredSteps, counted
from fastdispatch.detectors.model import Finding
from fastdispatch.text.formats import percent, seconds

ID = "construction"


@dataclass(frozen=True)
class Kind:
    """A kind of objects: its name, what its construction loses besides time, and whether the time alone decides."""

    noun: str
    loss: str = ""
    by_time: bool = False


LOADER_LOSS = "its sampler, and its worker processes if it has any, begin again"

#: Kinds by the constructor of their base class.
_KINDS = {
    "torch/optim/optimizer.py:": Kind("an optimizer", "its state (momentum, moments) begins at zero in every step"),
    "torch/optim/lr_scheduler.py:": Kind("a scheduler", "it begins at its first step in every step"),
    "torch/utils/data/dataloader.py:": Kind("a DataLoader", LOADER_LOSS),
    "torch/nn/modules/module.py:": Kind("a module", by_time=True),
}

_INIT = "__init__"

ADVICE = "construct it once before the loop"


def find(steps: MeasuredSteps) -> Iterator[Finding]:
    found: dict[tuple[int, str], list[int]] = {}
    for path in steps.outermost(lambda row: _is_constructor(steps, row)):
        kind = _kind(steps, path)
        if kind is not None:
            found.setdefault((steps.paths["node"][path], kind.noun), []).append(path)
    for (_, noun), paths in found.items():
        kind, constructed = next(kind for kind in _KINDS.values() if kind.noun == noun), len(paths)
        if kind.loss is LOADER_LOSS:
            paths = [*paths, *starts_of_every_step(steps)]
        time = steps.unclaimed(paths)
        if kind.by_time and time < limits.CONSTRUCTION_SHARE * steps.step and not _has_parameters(steps, paths):
            continue
        yield _finding(steps, kind, paths[:constructed], paths, time)


def _is_constructor(steps: MeasuredSteps, path: int) -> bool:
    """Whether a path is an outermost constructor that the program calls in every step."""
    if steps.name(path) != _INIT or not steps.main[path] or path in steps.claimed or not steps.every(path):
        return False
    parent = steps.paths["parent"][path]
    return steps.phase(path) not in (BACKWARD, DATA) and steps.is_user(parent) and steps.calls(path) >= limits.EVERY


def _kind(steps: MeasuredSteps, path: int) -> Kind | None:
    """Return the kind of the constructed object, by its own constructor: that of its base class is called by it, or is
    it. The constructor of a base class comes before those of its parts."""
    name = steps.trace.nodes["class"][steps.paths["node"][path]]
    for row in (path, *steps.below(path)):
        if steps.name(row) == _INIT and steps.trace.nodes["class"][steps.paths["node"][row]] == name:
            for file, kind in _KINDS.items():
                if steps.key(row).startswith(file):
                    return kind
    return None


def _has_parameters(steps: MeasuredSteps, paths: list[int]) -> bool:
    """Whether modules have parameters: operators write their first values."""
    return any(steps.paths["ops"][path] for path in paths)


def _finding(steps: MeasuredSteps, kind: Kind, paths: list[int], claimed: list[int], time: float) -> Finding:
    heaviest = max(paths, key=steps.total)
    name = steps.trace.nodes["class"][steps.paths["node"][heaviest]]
    caller = steps.user(steps.paths["parent"][heaviest])
    count = sum(map(steps.calls, paths))
    steps.claim(claimed)
    what = kind.noun if kind.noun.endswith(name) else f"{kind.noun} ({name})"
    loss = f"; {kind.loss}" if kind.loss else ""
    finding = steps.finding(
        ID,
        f"{steps.name(caller)} constructs {what} in every step",
        steps.where(caller, name),
        time,
        f"{counted(count, 'construction')} per step, {seconds(time)} or {percent(time / steps.step)} of a step{loss}",
        ADVICE,
        evidence={"class": name, "calls_per_step": round(count, 2), "ns_per_step": round(time)},
    )
    if kind.loss and finding.severity == "info":
        finding.severity = "warning"
    return finding
