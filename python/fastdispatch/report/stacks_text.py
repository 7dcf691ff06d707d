"""Stacks of running processes as text."""

from collections.abc import Iterator, Sequence

from fastdispatch.read.collectives import COUNTED
from fastdispatch.read.live import Stack
from fastdispatch.text.formats import aligned, counted, printable, seconds, spans

INNERMOST = 12


def lines(groups: list[list[Stack]], incomplete: Sequence[str] = (), *, everything: bool) -> Iterator[str]:
    """Yield the stacks as lines. ``incomplete``: lines about recordings that are truncated or damaged."""
    yield from map(printable, incomplete)
    if not groups:
        yield "no open calls in the readable part" if incomplete else "no open calls: nothing is being recorded"
    for group in groups:
        yield head(group, sum(len(each) for each in groups))
        yield from calls(group, everything)


def head(group: list[Stack], threads: int) -> str:
    first = group[0]
    where = _since(sorted(stack.age for stack in group)) + f"in {first.calls[-1]}"
    steps = sorted({stack.step for stack in group})
    step = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
    state = "" if first.state == "running" else f", {first.state}"
    thread = "" if first.thread == "main" else f", thread {first.thread}"
    plural = "s" * (len(group) != 1)
    of = f" ({len(group)} of {threads})" if len(group) != threads else ""
    ranks = spans(sorted({stack.rank for stack in group}))
    processes = sorted({stack.process for stack in group if stack.process})
    if processes:
        names = ", ".join(processes[:4]) + (f" and {len(processes) - 4} more" if len(processes) > 4 else "")
        several = "s" * (len({stack.rank for stack in group}) > 1)
        return f"{names} of rank{several} {ranks}{thread}{state}, {where}"
    return f"rank{plural} {ranks}{of}{thread}{state}: {step}, {where}"


def _since(ages: Sequence[int]) -> str:
    """Return for how long the innermost calls have run at least: the process may have been killed after its last sign
    of life, or looks for its open calls only once a second. Nothing is known of one that began after that."""
    if not ages[-1]:
        return ""
    long = seconds(ages[0]) if len(ages) == 1 else f"{seconds(ages[0])} to {seconds(ages[-1])}"
    return f"for at least {long} "


def calls(group: list[Stack], everything: bool) -> Iterator[str]:
    """Yield calls, outermost first, each with the time since its start on the first of the ranks."""
    first = group[0]
    named = [f"{call}, line {line}" if line else call for call, line in zip(first.calls, first.lines, strict=True)]
    shown = list(zip(first.ages, named, strict=True))
    if first.source:
        shown[-1] = (shown[-1][0], f"{shown[-1][1]}: {first.source}")
    outer = 0 if everything else max(len(shown) - INNERMOST, 0)
    if outer:
        yield f"   ... {counted(outer, 'outer call')} (--all)"
    yield from aligned(((seconds(age) if age else "", printable(call)) for age, call in shown[outer:]), ">", "   ")


def collectives(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences about collectives that not all ranks have called, last: they name the rank to look at."""
    if sentences:
        yield f"collectives ({COUNTED}):"
        yield from (f"   {sentence}" for sentence in sentences)
