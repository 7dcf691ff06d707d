"""``report``: analysis of the time of a pipeline by stage (docs/guides/pipeline-report.md)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from operator import itemgetter
from statistics import fmean, median
from typing import Any

from fastdispatch._core import Error
from fastdispatch.pipeline.sentences import PARTS, Row, move_text, notes, sentences
from fastdispatch.pipeline.times import recorded_layers
from fastdispatch.pipeline.transfer_clocks import bound_clocks, require_one_clock
from fastdispatch.read.clock_alignment import Aligner
from fastdispatch.read.schedule_jobs import SCHEDULES
from fastdispatch.read.steps import PHASES
from fastdispatch.read.trace import Columns, PathLike, Trace, load

SCHEMA = "fastdispatch-pipeline-report/1"

#: Causes of idle time; with ``busy`` they add up exactly to the time of a stage.
CAUSES = PARTS[1:]
#: The causes that are waits for another rank.
WAITING = ("warm_up", "steady", "cool_down")


class PipelineReport:
    """The analysis of a recorded pipeline. Times are nanoseconds. Made by :func:`report`."""

    def __init__(
        self, made: dict[str, Any], engine: Row | None, facts: list[Row], notes: Sequence[str], phases: list[Row]
    ) -> None:
        self._made = made
        #: The engine: name, version, class, as recorded; None: unknown.
        self.engine = engine
        self._facts = facts
        self._notes = notes
        #: Of an engine without stages: one row per rank, ns of a mean step.
        self.phases = phases
        #: Cuts of the layers into stages, and the time of each layer, ns; empty: unknown.
        self.cuts: list[int] = []
        self.layer_times: list[float] = []
        #: Processes of a pipeline, global stages of one of them, copies of the pipeline.
        self.stages: int = made["stages"]
        self.chunks: int = made["chunks"]
        self.lines: int = made["lines"]
        #: name (None: unknown), difference, micro_batches; with a name blocking, transfers (kind of simulation),
        #: in_flight and buffers (one per stage), and the replays ideal, stages, base (makespan, of_total, of_ideal).
        self.schedule: Row = made["schedule"]
        #: The iteration of ``jobs``, ``intervals`` and ``path``: the chosen one with the median duration.
        self.drawn: int | None = made["drawn"]
        #: All its jobs; ``other`` is the row of the other end of a transfer, -1: none.
        self.jobs: Columns = made["jobs"]
        #: All its time on all ranks: rank, start, end, part (``busy`` or one of ``CAUSES``), job (row, -1),
        #: waits_for (rank, -1).
        self.intervals: Columns = made["intervals"]
        #: The critical path of it, end to end; of ``drawn_line``.
        self.path: Columns = made["path"]
        self.drawn_line: int = made["drawn_line"]
        #: One row per rank and iteration: start, end, in_flight, bytes, whole, chosen, busy and ``CAUSES``.
        self.shares: Columns = made["shares"]

    @cached_property
    def chosen(self) -> list[Row]:
        """Rows of ``shares`` of chosen iterations."""
        return [row for row in rows_of(self.shares) if row["chosen"]]

    @cached_property
    def iterations(self) -> list[int]:
        """Chosen iterations."""
        return sorted({row["iteration"] for row in self.chosen})

    @cached_property
    def _line(self) -> dict[int, int]:
        return dict(zip(self._made["ranks"]["rank"], self._made["ranks"]["line"], strict=True))

    @cached_property
    def _windows(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Begin and end, by line and iteration."""
        return {(self._line[row["rank"]], row["iteration"]): (row["start"], row["end"]) for row in self.chosen}

    @cached_property
    def step(self) -> float:
        """Time from the first start of a job to the last end, mean of the iterations."""
        return fmean(end - start for start, end in self._windows.values()) if self._windows else 0.0

    @cached_property
    def period(self) -> float | None:
        """Time from the start of an iteration to the start of the next; None: no consecutive ones."""
        apart = [
            self._windows[line, number + 1][0] - start
            for (line, number), (start, _) in self._windows.items()
            if (line, number + 1) in self._windows
        ]
        return fmean(apart) if apart else None

    @cached_property
    def ranks(self) -> list[Row]:
        """One row per rank: rank, stage (its place), line, data, model, jobs, open, killed, moved_ns, unsure_ns; and of
        a mean iteration busy, idle, ``CAUSES``, waits_for (by stage), in_flight, bytes (maximum)."""
        by_rank: dict[int, list[Row]] = defaultdict(list)
        for row in self.chosen:
            by_rank[row["rank"]].append(row)
        made = []
        for row, waits in zip(rows_of(self._made["ranks"]), self._made["waits"], strict=True):
            shares = by_rank[row["rank"]]
            sums = {part: sum(share[part] for share in shares) for part in ("busy", *CAUSES)}
            count = max(len(shares), 1)
            time = sum(share["end"] - share["start"] for share in shares)
            means = {part: value / count for part, value in sums.items()}
            figures = {
                "time": time / count,
                "idle": (time - sums["busy"]) / count,
                "waits_for": {stage: wait / count for stage, wait in enumerate(waits) if wait},
                "in_flight": max((share["in_flight"] for share in shares), default=0),
                "bytes": max((share["bytes"] for share in shares), default=0),
            }
            made.append(row | means | figures)
        return made

    @cached_property
    def table(self) -> list[Row]:
        """One row per stage, over its replicas: stage, ranks, busy, idle and causes, share of idle, imbalance (busy
        over the mean of all stages), waits_for, in_flight and in_flight_planned, bytes, buffers, layers, tied."""
        found = []
        for stage in range(self.stages):
            ranks = [row for row in self.ranks if row["stage"] == stage and row["time"]]
            if ranks:
                found.append(self._stage(stage, ranks))
        mean = fmean(row["busy"] for row in found) if found else 0
        for row in found:
            row["imbalance"] = row["busy"] / mean if mean else None
        return found

    def _stage(self, stage: int, ranks: list[Row]) -> Row:
        waits: dict[int, float] = defaultdict(float)
        for row in ranks:
            for other, wait in row["waits_for"].items():
                waits[other] += wait / len(ranks)
        known = self.schedule["name"] is not None and stage < len(self.schedule["in_flight"])
        parts = {part: fmean(row[part] for row in ranks) for part in ("time", "busy", "idle", *CAUSES)}
        return {
            "stage": stage,
            "ranks": [row["rank"] for row in ranks],
            **parts,
            "idle_share": parts["idle"] / parts["time"],
            "waits_for": dict(waits),
            "in_flight": max(row["in_flight"] for row in ranks),
            "in_flight_planned": self.schedule["in_flight"][stage] if known else None,
            "bytes": max(row["bytes"] for row in ranks),
            "buffers": self.schedule["buffers"][stage] if known else None,
            **self._layers_of({row["rank"] for row in ranks}),
        }

    def _layers_of(self, ranks: set[int]) -> Row:
        for facts in self._facts:
            if facts["rank"] in ranks:
                own = facts.get("held") or []
                tied = {key: stages for key, stages in (facts.get("tied") or {}).items() if set(stages) & set(own)}
                layers = [row for row in facts.get("layers") or [] if row["stage"] in own]
                return {"global_stages": own, "layers": layers, "tied": tied}
        return {"global_stages": [], "layers": [], "tied": {}}

    @property
    def bubble_of_total(self) -> float:
        """Idle time as a share of all time, over all ranks and chosen iterations."""
        time = sum(row["time"] for row in self.ranks)
        return sum(row["idle"] for row in self.ranks) / time if time else 0.0

    @property
    def bubble_of_ideal(self) -> float:
        """Idle time as a share of the time in computations."""
        busy = sum(row["busy"] for row in self.ranks)
        return sum(row["idle"] for row in self.ranks) / busy if busy else 0.0

    @cached_property
    def transfers(self) -> list[Row]:
        """One row per matched transfer of the drawn iteration: its id (iteration, ``A`` or ``G``, lower global stage,
        micro-batch), sender and receiver (ranks), bytes, local, and the times of each end for waiting and moving."""
        jobs = self.jobs
        others, kinds = jobs["other"], jobs["kind"]
        sends: dict[int, list[int]] = defaultdict(list)  # by the first of an end that sends
        receives: dict[int, list[int]] = defaultdict(list)
        for at, other in enumerate(others):
            if other >= 0 and kinds[at][0] == "S":
                sends[others[other]].append(at)
            elif other >= 0:
                receives[other].append(at)
        made = [self._transfer(sends[first], ends) for first, ends in receives.items()]
        order = ("iteration", "direction", "stage", "micro_batch", "line")
        return sorted(made, key=itemgetter(*order))

    def _transfer(self, sends: list[int], receives: list[int]) -> Row:
        jobs, send, receive = self.jobs, sends[0], receives[0]
        ranks, stages, ends = jobs["rank"], jobs["stage"], jobs["end"]
        sender, receiver = ranks[send], ranks[receive]
        from_, to = stages[send], stages[receive]
        send_wait, send_transfer = self._spent(sends)
        receive_wait, receive_transfer = self._spent(receives)
        return {
            "iteration": jobs["iteration"][send],
            "direction": jobs["kind"][send][1],
            "stage": min(from_, to),
            "micro_batch": jobs["micro_batch"][send],
            "line": self._line[sender],
            "sender": sender,
            "receiver": receiver,
            "from": from_,
            "to": to,
            "bytes": max(jobs["bytes"][send], jobs["bytes"][receive]),
            "local": sender == receiver,
            "start": max(jobs["start"][send], jobs["start"][receive]),
            "end": max(ends[at] for at in receives),
            "send_wait": send_wait,
            "send_transfer": send_transfer,
            "receive_wait": receive_wait,
            "receive_transfer": receive_transfer,
        }

    def _spent(self, jobs: list[int]) -> tuple[int, int]:
        """Of one end, waiting and moving: posting is neither."""
        start, ready, end = self.jobs["start"], self.jobs["ready"], self.jobs["end"]
        posted = self.jobs["posted"]
        wait = transfer = 0
        for at in jobs:
            if not posted[at]:
                wait += ready[at] - start[at]
                transfer += end[at] - ready[at]
        return wait, transfer

    @cached_property
    def links(self) -> list[Row]:
        """One row per pair of stages: from, to (global), count of transfers, medians of their times and of the waits of
        both ends."""
        groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in self.transfers:
            if not row["local"]:
                groups[row["from"], row["to"]].append(row)
        return [
            {
                "from": sender,
                "to": receiver,
                "count": len(rows),
                "bytes": sum(row["bytes"] for row in rows),
                "transfer": median(row["receive_transfer"] for row in rows),
                "send_wait": sum(row["send_wait"] for row in rows),
                "receive_wait": sum(row["receive_wait"] for row in rows),
            }
            for (sender, receiver), rows in sorted(groups.items())
        ]

    @cached_property
    def critical(self) -> list[Row]:
        """The parts of the critical path: stage, part (``busy`` or a cause), ns and share, most first."""
        stage_of = {row["rank"]: row["stage"] for row in self.ranks}
        sums: dict[tuple[int, str], int] = defaultdict(int)
        for piece in rows_of(self.path):
            sums[stage_of[piece["rank"]], piece["part"]] += piece["end"] - piece["start"]
        whole = sum(sums.values())
        made = [{"stage": k, "part": part, "ns": ns, "share": ns / whole} for (k, part), ns in sums.items()]
        return sorted(made, key=lambda row: (-row["ns"], row["stage"], row["part"]))

    @cached_property
    def replicas(self) -> list[Row]:
        """Copies of a stage compared: stage, ranks with busy and idle, the slowest, its busy over their median."""
        made = []
        for stage in range(self.stages):
            ranks = [row for row in self.ranks if row["stage"] == stage and row["time"]]
            if len(ranks) > 1:
                slowest = max(ranks, key=lambda row: row["busy"])
                middle = median(row["busy"] for row in ranks)
                made.append(
                    {
                        "stage": stage,
                        "ranks": [{key: row[key] for key in ("rank", "line", "busy", "idle")} for row in ranks],
                        "slowest": slowest["rank"],
                        "of_median": slowest["busy"] / middle if middle else None,
                    }
                )
        return made

    @cached_property
    def what_if(self) -> list[Row]:
        """Changes and their estimated saving per step, ns and share (negative: slower), largest first."""
        base = self.schedule["base"]["makespan"] if self.schedule["name"] else 0
        made = []
        for row in self._made["what_if"]:
            for key in ("stage", "to", "layer"):
                row[key] = None if row[key] < 0 else row[key]
            row["share"] = row["saves"] / base if base else 0.0
            made.append(row | {"words": _words(self, row)})
        return sorted(made, key=lambda row: -row["saves"])

    @cached_property
    def unmatched(self) -> list[Row]:
        """Transfers whose other end is not in the recording."""
        return rows_of(self._made["alone"])

    @cached_property
    def open(self) -> list[Row]:
        """Unfinished jobs of killed or hung processes."""
        return rows_of(self._made["open"])

    @cached_property
    def counts(self) -> Row:
        """matched and local transfers, early (received before they were sent: clocks are off), evals (skipped jobs of
        evaluations), unknown (jobs of no kind), undirected (transfers without the stage at the other end)."""
        keys = ("matched", "local", "early", "evals", "unknown", "undirected")
        return {key: self._made[key] for key in keys}

    @cached_property
    def notes(self) -> list[str]:
        """Limits of the figures, one sentence each."""
        return [*self._notes, *notes(self, self._made)]

    @cached_property
    def sentences(self) -> list[str]:
        """The findings, as sentences."""
        return [*sentences(self)]

    def figures(self) -> dict[str, Any]:
        """As in :meth:`to_json`."""

        def of(*names: str) -> dict[str, Any]:
            return {name: getattr(self, name) for name in names}

        return {
            "schema": SCHEMA,
            **of("sentences", "notes", "engine", "stages", "chunks", "lines", "schedule"),
            "iterations": {
                "recorded": sorted(set(self.shares["iteration"])),
                "chosen": self.iterations,
                "drawn": self.drawn,
                "line": self.drawn_line,
            },
            **of("step", "period"),
            "bubble": {"of_total": self.bubble_of_total, "of_ideal": self.bubble_of_ideal},
            **of("table", "ranks", "replicas"),
            "transfers": self.counts | {"unmatched": self.unmatched, "links": self.links, "list": self.transfers},
            **of("critical", "phases", "what_if", "open", "jobs", "intervals", "path"),
        }

    def to_json(self) -> str:
        """docs/reference/schemas/pipeline-report.schema.json."""
        return json.dumps(self.figures())


def report(
    run: Trace | PathLike | Sequence[PathLike], *, iterations: tuple[int, int] | None = None, strict: bool = False
) -> PipelineReport:
    """Analyze the time of a pipeline.

    Parameters
    ----------
    run:
        Recordings of its ranks: a run directory, files, or a loaded :class:`fastdispatch.Trace`.
    iterations:
        The first, and one past the last, of the engine's count. By default all complete ones, except the first if there
        are more: it loads libraries and allocates.
    strict:
        Refuse ranks whose clocks are not known to be one.

    Raises :class:`fastdispatch.Error` where no rank recorded a job of a pipeline.
    """
    from fastdispatch.pipeline.analysis import analysis  # it needs numpy, as the module of jobs does
    from fastdispatch.read.pipeline_jobs import PipelineRank, RankJobs, pipeline_jobs

    trace = run if isinstance(run, Trace) else load(run, steps="settled")
    facts = [{"rank": rank["rank"], **(rank["meta"].get("pipeline") or {})} for rank in trace.ranks]
    number_layers(facts)
    layers, weights, notes = layers_of(facts, trace)
    named = {each.get("schedule") for each in facts} & set(SCHEDULES)
    clocks = Aligner("auto").clocks_of(trace.core).ranks
    known = [
        PipelineRank.of(
            rank["rank"],
            rank["meta"].get("coordinates"),
            each.clock,
            unsure=each.uncertainty,
            killed=rank["state"] in ("killed", "running"),
        )
        for rank, each in zip(trace.ranks, clocks, strict=True)
    ]
    jobs = pipeline_jobs([(RankJobs(trace.core, index), each) for index, each in enumerate(known)])
    if strict:
        require_one_clock(jobs["ranks"])
    bound_clocks(jobs)
    engines = [each for each in facts if each.get("engine")]
    engine = {key: engines[0].get(key) for key in ("engine", "version", "class")} if engines else None
    phases: list[Row] = []
    if not jobs["ranks"]["rank"]:
        if "DeepSpeedEngine" not in trace.nodes["class"]:
            unknown = "none of DeepSpeed, Megatron and PyTorch ran one in the recorded steps, and no job was marked"
            untimed = not any(rank["timing"] for rank in trace.ranks)
            why = next((each["note"] for each in facts if each.get("note")), "no times" if untimed else unknown)
            raise Error(f"no pipeline engine found: the recording has no jobs; {why}")
        phases = phases_of(trace)
        notes.append("DeepSpeed ran without a pipeline: there are no stages, every rank has the whole model")
    schedule = named.pop() if len(named) == 1 else None
    made = analysis(jobs, schedule=schedule, iterations=iterations, layers=layers, weights=weights)
    found = PipelineReport(made, engine, facts, [*notes, *_engine_notes(facts), *_missing(trace, made)], phases)
    found.cuts, found.layer_times = layers or [], weights or []
    return found


def phases_of(trace: Trace) -> list[Row]:
    """Return one row per rank: the number of recorded steps, and the mean ns of a step and its phases."""
    rows = []
    for rank in trace.ranks:
        steps = rank["latest_steps"]
        count = len(steps["begin"])
        sums = {phase: sum(steps[phase]) / max(count, 1) for phase in PHASES}
        spans = [end - begin for begin, end in zip(steps["begin"], steps["end"], strict=True)]
        rows.append({"rank": rank["rank"], "steps": count, "step": fmean(spans) if spans else 0.0, **sums})
    return rows


def number_layers(facts: Sequence[Row]) -> None:
    """Number the layers along the model if the engine does not, and those of all stages are known."""
    rows = [row for each in facts for row in each.get("layers") or []]
    counts = {row["stage"]: len(row["names"]) for row in rows}
    stages = max(((each.get("stages") or 0) * (each.get("chunks") or 1) for each in facts), default=0)
    if sorted(counts) == [*range(stages)]:
        for row in rows:
            if row["first"] is None:
                first = sum(counts[stage] for stage in range(row["stage"]))
                row["first"], row["end"] = first, first + counts[row["stage"]]


def layers_of(facts: Sequence[Row], trace: Trace) -> tuple[list[int] | None, list[float] | None, list[str]]:
    """Return the first layer of each global stage, and one past the last; and the weight of each layer, None: not
    measured."""
    spans = {row["stage"]: (row["first"], row["end"]) for each in facts for row in each.get("layers") or []}
    if not spans or sorted(spans) != [*range(len(spans))] or any(None in span for span in spans.values()):
        return None, None, []
    cuts = [spans[stage][0] for stage in range(len(spans))] + [spans[len(spans) - 1][1]]
    if any(spans[stage][1] != cuts[stage + 1] for stage in spans) or sorted(cuts) != cuts:
        return None, None, []
    weights: Sequence[float] = []
    if any(each.get("engine") for each in facts):
        with suppress(Error):
            _, weights, _ = recorded_layers(trace)
    if len(weights) < cuts[-1] or not any(weights):
        return cuts, None, ["layers were not timed: all layers of a stage are assumed to take the same time"]
    return cuts, [float(weight) for weight in weights], []


def rows_of(columns: Columns) -> list[Row]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _engine_notes(facts: Sequence[Row]) -> Iterable[str]:
    """Yield notes of the ranks about their engine, each once."""
    yield from dict.fromkeys(str(each["note"]) for each in facts if each.get("note"))
    missing = sorted({name for each in facts for name in (each.get("rules") or {}).get("missing") or []})
    if missing:
        listed = ", ".join(missing[:4]) + (", ..." if len(missing) > 4 else "")
        yield f"this version of the engine has no {listed}: the jobs of these functions are not recorded"


def _missing(trace: Trace, made: dict[str, Any]) -> Iterable[str]:
    world = max(rank["world"] for rank in trace.ranks)
    there = {rank["rank"] for rank in trace.ranks}
    absent = sorted(set(range(world)) - there) if world <= 1 << 20 else []
    if absent:
        listed = ", ".join(map(str, absent[:8])) + (", ..." if len(absent) > 8 else "")
        yield f"no recording of rank {listed} of {world}: their jobs, and transfers to them, are missing"
    for rank in trace.ranks:
        yield from rank["notes"][:3]
    idle = sorted(there - set(made["ranks"]["rank"]))
    if idle and len(idle) < len(there):
        yield f"no jobs on rank {', '.join(map(str, idle[:8]))}"


def _words(made: PipelineReport, row: Row) -> str:
    match row["change"]:
        case "stage_faster":
            return f"stage {row['stage']} computes 10 % faster"
        case "balanced":
            return "all stages compute for the same time"
        case "overlapped_transfers":
            return "transfers overlap with computation"
        case "double_micro_batches":
            return "twice the micro-batches per step (time per micro-batch)"
        case "move_layer":
            return move_text(made, row, "layer {} moves")
    return f"schedule {row['schedule']}"
