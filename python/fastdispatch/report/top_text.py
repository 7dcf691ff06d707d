"""A sample of a running recording as text."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.read.live import Rate, Sample
from fastdispatch.read.summary import grouped, seconds

TITLES = ("calls/s", "self", "total", "where")


def head(before: Sample | None, after: Sample) -> str:
    ranks = after.ranks
    steps = [rank["steps"] for rank in ranks]
    span = f"step {min(steps)}" if min(steps) == max(steps) else f"steps {min(steps)} to {max(steps)}"
    rate = ""
    if before is not None and after.at > before.at:
        done = max(steps) - max((rank["steps"] for rank in before.ranks), default=0)
        rate = f", {done / (after.at - before.at):.3g} steps/s"
    recorded = seconds(max(rank["recorded"] for rank in ranks))
    paused = sum(rank["state"] == "paused" for rank in ranks) if after.ended < len(ranks) else 0
    states = "".join(f", {count} {word}" for count, word in ((paused, "paused"), (after.ended, "ended")) if count)
    damaged = [str(rank["rank"]) for rank in ranks if not rank["complete"]]
    damage = f"INCOMPLETE, cut short or damaged: rank {', '.join(damaged)}; " if damaged else ""
    return f"{damage}{len(ranks)} rank{'s' * (len(ranks) != 1)}{states}, {span}{rate}, recorded {recorded}"


def cells(rate: Rate) -> tuple[str, str, str, str]:
    calls = grouped(round(rate.calls)) if rate.calls >= 10 else f"{rate.calls:.1f}"
    return calls, f"{rate.own:.1%}", f"{rate.total:.1%}", "".join(c if c.isprintable() else "?" for c in rate.key)


def table(found: list[Rate]) -> Iterator[str]:
    yield f"{TITLES[0]:>10} {TITLES[1]:>7} {TITLES[2]:>7}  {TITLES[3]}"
    for rate in found:
        calls, own, total, where = cells(rate)
        yield f"{calls:>10} {own:>7} {total:>7}  {where}"
    if not found:
        yield "nothing was recorded in this time"
