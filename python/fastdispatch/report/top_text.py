"""A sample of a running recording as text."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from fastdispatch.read.live import Rate, Sample
from fastdispatch.report.processes_text import lines
from fastdispatch.report.terminal import table
from fastdispatch.text.formats import grouped, printable, rounded_share, seconds

TITLES = ("calls/s", "self", "total", "where")


def head(before: Sample | None, after: Sample) -> str:
    ranks = after.ranks
    steps = [rank["run_steps"] for rank in ranks]
    span = f"step {min(steps)}" if min(steps) == max(steps) else f"steps {min(steps)} to {max(steps)}"
    rate = ""
    if before is not None and after.at > before.at:
        done = max(steps) - max((rank["run_steps"] for rank in before.ranks), default=0)
        rate = f", {done / (after.at - before.at):.3g} steps/s"
    recorded = seconds(max(rank["recorded"] for rank in ranks))
    paused = sum(rank["state"] == "paused" for rank in ranks) if after.ended < len(ranks) else 0
    states = "".join(f", {count} {word}" for count, word in ((paused, "paused"), (after.ended, "ended")) if count)
    damaged = [str(rank["rank"]) for rank in ranks if not rank["complete"]]
    damage = f"INCOMPLETE, truncated or damaged: rank {', '.join(damaged)}; " if damaged else ""
    return f"{damage}{len(ranks)} rank{'s' * (len(ranks) != 1)}{states}, {span}{rate}, recorded {recorded}"


def cells(rate: Rate) -> tuple[str, str, str, str]:
    calls = grouped(round(rate.calls)) if rate.calls >= 10 else f"{rate.calls:.1f}"
    return calls, rounded_share(rate.own), rounded_share(rate.total), printable(rate.key)


def parts(
    before: Sample | None, after: Sample, found: list[Rate], findings: Sequence[str] = ()
) -> Iterator[Text | Table]:
    yield Text(head(before, after))
    for line in findings:
        yield Text(line)
    yield table(TITLES, [cells(rate) for rate in found], TITLES[-1:])
    if not found:
        yield Text("nothing was recorded in this interval")
    for line in lines(after.processes):
        yield Text(printable(line), style="dim")
