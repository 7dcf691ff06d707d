"""Sentences of a pipeline report: findings, and notes on their limits."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from fastdispatch.text.formats import seconds

if TYPE_CHECKING:
    from fastdispatch.pipeline.report import PipelineReport

Row = dict[str, Any]

#: The parts of a rank's time; all except the first are causes of idle time.
_NAMES = """
busy warm_up steady cool_down transfer launch load reduce optimizer unmatched other
"""
PARTS = tuple(_NAMES.split())

#: Minimum share of a step for a sentence.
_LEAST = 0.05
#: Minimum saving of a change.
_SAVES = 0.01
#: A stage computes, or a link moves, this much more than usual.
_SLOW = 1.1
_SLOW_LINK = 1.5
_MOST = 3
#: Schedules that an engine has; others have no sentence.
_SCHEDULES_OF = {
    "deepspeed": ("deepspeed-train",),
    "megatron": ("1f1b", "interleaved"),
    "torch": ("gpipe", "1f1b", "interleaved", "zb-v"),
}


def sentences(made: PipelineReport) -> Iterator[str]:
    if not made.table:
        return
    yield _bubble(made)
    yield from _waits(made)
    yield from _slow_stage(made)
    yield from _slow_links(made)
    yield from _own_idle(made)
    yield from _changes(made)
    yield from _replicas(made)


def percent(share: float) -> str:
    return f"{100 * share:.3g} %" if abs(share) < 0.0995 else f"{100 * share:.1f} %"


def _bubble(made: PipelineReport) -> str:
    text = (
        f"a step takes {seconds(made.step)}, of which stages are idle {percent(made.bubble_of_total)} "
        f"(bubble: {percent(made.bubble_of_total)} of the total, {percent(made.bubble_of_ideal)} of the ideal time)"
    )
    if made.schedule["name"] is not None:
        ideal = made.schedule["ideal"]
        text += (
            f"; {made.schedule['name']} with {made.schedule['micro_batches']} micro-batches on equal stages "
            f"would have {percent(ideal['of_total'])} and {percent(ideal['of_ideal'])}"
        )
    return text


def _waits(made: PipelineReport) -> Iterator[str]:
    pairs = sorted(
        ((wait / row["time"], row["stage"], other) for row in made.table for other, wait in row["waits_for"].items()),
        reverse=True,
    )
    move = _best(made, "move_layer")
    for share, stage, other in pairs[:_MOST]:
        if share >= _LEAST:
            text = f"stage {stage} waits {percent(share)} of the step for stage {other}"
            if move is not None:
                text += f"; {move_text(made, move, 'moving layer {}')} would save {percent(move['share'])}"
            yield text
            move = None


def move_text(made: PipelineReport, move: Row, form: str) -> str:
    """Return how a layer moves; ``form`` has a place for its number. Several chunks have virtual stages."""
    kind = "virtual stage" if made.chunks > 1 else "stage"
    return f"{form.format(move['layer'])} from {kind} {move['stage']} to {kind} {move['to']}"


def _slow_stage(made: PipelineReport) -> Iterator[str]:
    slowest = max(made.table, key=lambda row: row["busy"])
    if len(made.table) > 1 and slowest["imbalance"] is not None and slowest["imbalance"] >= _SLOW:
        yield (
            f"stage {slowest['stage']} is the slowest: it computes for {seconds(slowest['busy'])}, "
            f"{slowest['imbalance']:.2f} times the mean of all stages"
        )


def _slow_links(made: PipelineReport) -> Iterator[str]:
    """Find slow senders: all their transfers, in both directions, take longer than those of others. A few slow
    transfers have other causes, such as a busy machine."""
    by_sender: dict[int, list[float]] = {}
    for row in made.transfers:
        if not row["local"]:
            by_sender.setdefault(row["from"], []).append(row["receive_transfer"])
    if len(by_sender) < 2:
        return
    quick = {stage: sorted(times)[(len(times) - 1) // 4] for stage, times in by_sender.items()}
    slowest = max(quick, key=quick.__getitem__)
    others = median(time for stage, time in quick.items() if stage != slowest)
    whole = quick[slowest] * len(by_sender[slowest])
    if quick[slowest] > _SLOW_LINK * others and whole >= _LEAST * made.step:
        yield (
            f"stage {slowest} is a slow sender: even a quick one of its transfers takes {seconds(quick[slowest])} "
            f"after both ends arrived, one of the other stages {seconds(others)}"
        )


_OWN = {
    "launch": "in gaps in which it waits for no other stage (the host is late)",
    "load": "loading data",
    "optimizer": "in the optimizer",
    "reduce": "reducing gradients",
    "transfer": "in transfers after both ends arrived",
    "unmatched": "in transfers with an unrecorded other end",
}


def _own_idle(made: PipelineReport) -> Iterator[str]:
    for cause, words in _OWN.items():
        worst = max(made.table, key=lambda row: row[cause] / row["time"])
        if worst[cause] >= _LEAST * worst["time"]:
            yield f"stage {worst['stage']} spends {percent(worst[cause] / worst['time'])} of the step {words}"


def _best(made: PipelineReport, change: str) -> Row | None:
    found = [row for row in made.what_if if row["change"] == change and row["share"] >= _SAVES]
    return found[0] if found else None


def _changes(made: PipelineReport) -> Iterator[str]:
    overlap = _best(made, "overlapped_transfers")
    if made.schedule["name"] is not None and made.schedule["blocking"]:
        text = "no transfer overlaps with computation: both ends wait"
        yield text + (f"; overlapping them would save {percent(overlap['share'])}" if overlap else "")
    elif overlap is not None:
        saved = percent(overlap["share"])
        yield f"receivers wait during transfers: overlapped transfers would save {saved}"
    available = _SCHEDULES_OF.get((made.engine or {}).get("engine", ""))
    rest = [
        row
        for row in made.what_if
        if row["change"] not in ("move_layer", "overlapped_transfers")
        and (row["schedule"] is None or available is None or row["schedule"] in available)
    ]
    for row in rest[:1]:
        if row["share"] >= _SAVES:
            yield f"largest saving: {row['words']}, {percent(row['share'])} of a step"


def _replicas(made: PipelineReport) -> Iterator[str]:
    for row in made.replicas:
        if row["of_median"] is not None and row["of_median"] >= _SLOW:
            copy = f"rank {row['slowest']} is the slowest copy of stage {row['stage']}"
            yield f"{copy}: {row['of_median']:.2f} times the median"


def notes(made: PipelineReport, raw: dict[str, Any]) -> Iterator[str]:
    if raw["guessed"]:
        yield "no job names its stage: ranks are used as stages, in their order"
    places = set(raw["ranks"]["stage"])
    absent = [str(stage) for stage in range(made.stages) if stage not in places]
    if absent:
        yield f"no recording of stage {', '.join(absent[:8])}: transfers with it have no other end"
    yield from _ends(made, raw)
    yield from _clocks(made)
    yield from _left_out(made)
    if made.schedule["name"] is not None and made.schedule["transfers"] == "unknown":
        yield "transfers are not recorded as jobs: the saving of overlapping them is unknown"
    if made.table and made.schedule["name"] is None:
        why = f" ({made.schedule['difference']})" if made.schedule["difference"] else ""
        yield f"the order of jobs matches no known schedule{why}: jobs are counted, without theory and estimates"


def _ends(made: PipelineReport, raw: dict[str, Any]) -> Iterator[str]:
    for rank, killed in zip(raw["ranks"]["rank"], raw["ranks"]["killed"], strict=True):
        if killed:
            yield f"rank {rank} did not end its recording: it was killed or still runs"
    for job in made.open[:_MOST]:
        yield f"rank {job['rank']} was in {_job(job)} for {seconds(job['end'] - job['start'])} when its recording ended"
    for job in made.unmatched[:_MOST]:
        yield f"rank {job['rank']}, iteration {job['iteration']}: {_job(job)} has no other end in the recording"
    more = len(made.unmatched) - _MOST
    if more > 0:
        yield f"{more} more transfers have no other end"


def _job(job: Row) -> str:
    text = str(job["kind"])
    text += f" of micro-batch {job['micro_batch']}" if job["micro_batch"] >= 0 else ""
    text += f" on stage {job['stage']}" if job["stage"] >= 0 else ""
    return text + (f" with stage {job['peer']}" if job["peer"] >= 0 else "")


def _clocks(made: PipelineReport) -> Iterator[str]:
    for row in made.ranks:
        if row["unsure_ns"] < 0:
            yield f"clock of rank {row['rank']}: not aligned, no transfers in both directions bound it"
        elif row["unsure_ns"] > 0:
            yield (
                f"clock of rank {row['rank']}: shifted by {row['moved_ns'] / 1e6:.3f} ms, "
                f"good to {row['unsure_ns'] / 1e6:.3f} ms either way"
            )
    if made.counts["early"]:
        yield f"{made.counts['early']} transfers were received before they were sent: clocks are off by that"


def _left_out(made: PipelineReport) -> Iterator[str]:
    recorded = sorted(set(made.shares["iteration"]))
    out = [number for number in recorded if number not in made.iterations]
    if out:
        listed = ", ".join(map(str, out[:_MOST])) + (", ..." if len(out) > _MOST else "")
        yield f"iterations skipped: {listed} (the first, incomplete ones, unselected ones)"
    if made.iterations and not any(made.shares["whole"]):
        yield "no iteration was recorded completely: the figures cover parts"
    for key, words in (
        ("evals", "jobs of evaluations are skipped"),
        ("unknown", "jobs have a kind that is not part of a pipeline"),
        ("undirected", "sends and receives have no peer: their direction is unknown"),
    ):
        if made.counts[key]:
            yield f"{made.counts[key]} {words}"
