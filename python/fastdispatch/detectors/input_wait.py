"""``input-wait``: the training loop waits for its input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from statistics import median

from fastdispatch.detectors import limits
from fastdispatch.detectors.measured_steps import (
    BACKWARD,
    DATA,
    FORWARD,
    OPTIMIZER,
    OTHER,
    MeasuredSteps,
    counted,
    kept,
)
from fastdispatch.detectors.model import Finding, Where
from fastdispatch.detectors.rank_figures import blocked, ranks_with
from fastdispatch.text.formats import percent, seconds, spans

#: Functions of the loader that wait for worker processes.
_WORKERS = "torch/utils/data/dataloader.py:[_MultiProcessingDataLoaderIter]:_get_data"
_FETCH = (
    "torch/utils/data/_utils/fetch.py:[_MapDatasetFetcher]:fetch",
    "torch/utils/data/_utils/fetch.py:[_IterableDatasetFetcher]:fetch",
)
_STARTS = (
    "torch/utils/data/dataloader.py:[_SingleProcessDataLoaderIter]:__init__",
    "torch/utils/data/dataloader.py:[_MultiProcessingDataLoaderIter]:__init__",
)
_START = "torch/utils/data/dataloader.py:[_MultiProcessingDataLoaderIter]:__init__"

ADVICE = (
    "move the work to worker processes (DataLoader num_workers, prefetch_factor), or do it once and store the result"
)
ADVICE_WORKERS = (
    "use more workers, or make the work of the workers cheaper: cache it, or do it once and store the result"
)


#: Names of functions that make input, for loops without a DataLoader.
MAKES_INPUT = re.compile(
    r"(^|_)(batch(es)?|load|fetch|sample|read|collate|transform|augment|tokeni[sz]e|preprocess|decode|data)(_|$|er$)"
)

#: Arguments of functions that follow the model, whatever their names.
_RESULTS = {"model", "net", "module", "optimizer", "loss", "losses", "logits", "output", "outputs", "pred", "preds"}
_RESULTS |= {"prediction", "predictions", "scores", "grad", "grads", "gradients"}


def makes_input(steps: MeasuredSteps, path: int) -> bool:
    """Whether a function makes input, by its name; not one that trains, nor one with the model or its results, nor one
    whose result is not used."""
    if not MAKES_INPUT.search(steps.name(path).lower()):
        return False
    if any(steps.phase(row) in (FORWARD, BACKWARD, OPTIMIZER) for row in (path, *steps.below(path))):
        return False
    caller = steps.caller(path)
    if caller >= 0 and steps.sources.discards(steps.paths["node"][caller], steps.name(path)):
        return False
    return not _RESULTS & steps.sources.arguments(steps.paths["node"][path])


def input_wait(steps: MeasuredSteps) -> Iterator[Finding | str]:
    roots = list(steps.outermost(lambda path: steps.main[path] and steps.phase(path) == DATA))
    yield from _starts(steps)
    yield from _every_step(steps, roots)
    yield from _first_of_epochs(steps)


def _outer_starts(steps: MeasuredSteps, *keys: str) -> Iterator[int]:
    """Yield the constructors of iterators without those of their base class."""
    return steps.outermost(set(steps.named(*keys)).__contains__)


def starts_of_every_step(steps: MeasuredSteps) -> list[int]:
    """Return the paths that start the iterator of a DataLoader in every step, and those that follow from it: its
    sampler begins again, and the step waits for new worker processes. Return none for an iterator per epoch."""
    starts = [path for path in _outer_starts(steps, *_STARTS) if steps.main[path] and steps.every(path)]
    starts = [path for path in starts if steps.calls(path) >= limits.EVERY and path not in steps.claimed]
    if set(starts) & set(steps.named(_START)):
        roots = steps.outermost(lambda path: steps.main[path] and steps.phase(path) == DATA)
        paths = {*starts, *(path for path in roots if steps.activity(path) >= 0.5)}
        return list(steps.outermost(paths.__contains__))
    rows = [row for row in range(len(steps.main)) if steps.name(row) == "_next_index"] if starts else []
    return [*starts, *(row for row in rows if steps.file(row) == "torch/utils/data/dataloader.py")]


def _starts(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report the iterator of a DataLoader that each step starts again: ``next(iter(loader))``."""
    paths = starts_of_every_step(steps)
    if not paths:
        return
    time = steps.unclaimed(paths)
    first = max(_outer_starts(steps, *_STARTS), key=steps.calls)
    steps.claim(paths)
    yield steps.finding(
        f"{steps.name(steps.user(first))} starts an iterator of the DataLoader in every step",
        steps.where(first, "iter", "enumerate"),
        time,
        f"{counted(steps.calls(first), 'start')} per step; its sampler, and its workers if it has any, begin again:"
        f" {steps.of_step(time)}",
        "call iter() once before the loop, or loop over the DataLoader; restart it at the end of an epoch only",
        severity="critical" if time >= limits.CRITICAL * steps.step else "warning",
        evidence={"ns_per_step": round(time), "starts_per_step": round(steps.calls(first), 2)},
    )


def _every_step(steps: MeasuredSteps, roots: list[int]) -> Iterator[Finding | str]:
    loaders = [path for path in roots if steps.activity(path) >= 0.5]
    for paths in (loaders, *([path] for path in _own_input(steps))):
        time = steps.unclaimed(paths)
        if paths is loaders:
            time = min(time, _usual(steps))  # without the first batches of epochs
        if not paths or time < limits.INPUT_SHARE * steps.step or time < limits.INPUT_MS * 1e6:
            continue
        waits = any(steps.key(row) == _WORKERS for path in paths for row in steps.below(path))
        of_worker = _in_workers(steps) if waits else None
        if of_worker is not None and steps.overloaded and of_worker.time < limits.INPUT_SHARE * steps.step:
            wait, work = seconds(time), seconds(of_worker.time)
            yield f"a step waits {wait} for workers, a batch takes them {work}: they had no core"
            continue
        if waits and steps.overloaded:  # the loop may wait because the workers have no core
            time, queued = min(time, blocked(steps)), max(steps.queued.values())
            if time < queued:
                steps.claim(paths)  # host-code would report it
                yield f"main threads had no core for up to {seconds(queued)} of a step"
                continue
        blamed = _blamed(steps, max(paths, key=steps.total))
        ranks = ranks_with(steps, paths) or steps.numbers
        if ranks == steps.numbers:  # else slow-rank may name the rank that others wait for
            steps.claim(paths)
        proof = (
            f"{seconds(time)} of a mean step of {seconds(steps.step)} ({percent(time / steps.step)}) before its work"
            " begins"
        )
        if of_worker is not None:
            proof += f"; {of_worker.proof}"
        elif steps.is_user(blamed):
            whole = max(sum(map(steps.total, paths)), 1)
            proof += f"; {steps.key(blamed)} is {percent(steps.total(blamed) / whole)} of it"
        if ranks != steps.numbers:
            proof += f"; mostly on rank{'s' * (len(ranks) != 1)} {spans(ranks)}"
        yield steps.finding(
            _title(steps, blamed, waits, of_worker, by_name=paths is not loaders and makes_input(steps, paths[0])),
            steps.where(blamed) if of_worker is None else of_worker.where,
            time,
            proof,
            ADVICE_WORKERS if waits else ADVICE,
            severity="critical" if time >= limits.CRITICAL * steps.step else "warning",
            ranks=ranks,
            evidence={
                "ns_per_step": round(time),
                "workers": waits,
                "blamed": steps.key(blamed) if of_worker is None else of_worker.where.key,
            },
        )


def _title(steps: MeasuredSteps, blamed: int, waits: bool, of_worker: Blame | None, *, by_name: bool) -> str:
    if of_worker is not None:
        return f"the loop waits for worker processes of the loader, mostly for {of_worker.name}"
    if waits:
        return "the loop waits for worker processes of the loader"
    if by_name and steps.is_user(blamed):
        return f"the loop waits for its input, in {steps.name(blamed)} (judged by its name)"
    return f"the loop waits for its input, in {steps.name(blamed) if steps.is_user(blamed) else 'the loader'}"


@dataclass
class Blame:
    """The function of a worker with most of its time."""

    name: str
    where: Where
    proof: str
    time: float  # per batch, ns


def _in_workers(steps: MeasuredSteps) -> Blame | None:
    """Return what the workers do, by their own recordings."""
    best: tuple[float, Blame] | None = None
    for trace in steps.workers:
        worker = MeasuredSteps(trace)
        fetches = list(worker.named(*_FETCH))
        if not fetches:
            continue
        fetch = max(fetches, key=worker.total)
        blamed, batches = _blamed(worker, fetch), max(worker.paths["calls"][fetch], 1)
        time = worker.paths["total"][fetch] / batches
        part = worker.paths["total"][blamed] / max(worker.paths["total"][fetch], 1)
        proof = f"a worker needs {seconds(time)} per batch, {percent(part)} of it in {worker.key(blamed)}"
        if best is None or time > best[0]:
            best = time, Blame(worker.name(blamed), worker.where(blamed), proof, time)
    return None if best is None else best[1]


def _usual(steps: MeasuredSteps) -> float:
    """Return the mean time of a step in loaders, without the longest one per start of an iterator."""
    waits = sorted(wait for rank in steps.ranks for (wait,) in kept(rank, "data"))
    starts = sum(steps.paths["calls"][path] for path in _outer_starts(steps, *_STARTS))
    usual = waits[: max(len(waits) - starts, len(waits) // 2)]
    return sum(usual) / len(usual) if usual else inf


def _own_input(steps: MeasuredSteps) -> Iterator[int]:
    """Yield functions of the program that make input without a DataLoader: generators that the loop resumes, and
    functions with a telling name, without any training below."""

    def is_input(path: int) -> bool:
        if not steps.main[path] or not steps.is_user(path) or steps.phase(path) != OTHER or steps.activity(path) < 0.8:
            return False
        least = limits.EVERY * (steps.count - steps.varying * len(steps.ranks))
        resumed = steps.paths["resumes"][path] >= least > 2 * steps.paths["calls"][path]  # not started in each step
        if not resumed and not makes_input(steps, path):
            return False
        return all(steps.phase(row) not in (FORWARD, BACKWARD, OPTIMIZER, DATA) for row in steps.below(path))

    return steps.outermost(is_input)


def _blamed(steps: MeasuredSteps, path: int) -> int:
    """Follow the heaviest callee down to the innermost function of the program with most of the time."""
    blamed, whole = path, steps.total(path)
    while True:
        below = [row for row in steps.children[path] if steps.kind(row) in ("python", "range", "overflow")]
        heaviest = max(below, key=steps.total, default=-1)
        if heaviest < 0 or steps.total(heaviest) < 0.5 * whole:
            return blamed
        path = heaviest
        if steps.is_user(path) and not steps.is_part(path):
            blamed = path


def _first_of_epochs(steps: MeasuredSteps) -> Iterator[Finding]:
    """Report slow first batches, which the median hides."""
    steps = steps.whole
    waits = [wait for rank in steps.ranks for (wait,) in kept(rank, "data")]
    if len(waits) < 2 * limits.STEPS:
        return
    usual = median(waits)
    epochs = 2 * len(steps.ranks)
    starts = [path for path in _outer_starts(steps, _START) if steps.paths["calls"][path] >= epochs]
    slow = [wait for wait in waits if wait > limits.EPOCH_TIMES * usual and wait > steps.typical]
    lost = sum(wait - usual for wait in slow) / len(waits)
    if not starts or len(slow) < 1 or lost < limits.EPOCH_SHARE * steps.step or lost < limits.INPUT_MS * 1e6:
        return
    calls = sum(steps.paths["calls"][path] for path in starts)
    yield steps.finding(
        "the first batch of each epoch is slow: workers are started again",
        steps.where(starts[0]),
        lost,
        f"{counted(len(slow), 'step')} waited {seconds(median(slow))} for input, the others {seconds(usual)}; "
        f"workers were started {calls} times",
        "use persistent_workers=True, or one endless sampler, so that workers are not started for each epoch",
        steps=len(slow),
        evidence={"slow_steps": len(slow), "ns_usual": round(usual), "ns_slow": round(median(slow)), "starts": calls},
    )
