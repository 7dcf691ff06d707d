"""Pipeline reports as text."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from fastdispatch.pipeline.report import CAUSES, PipelineReport
from fastdispatch.pipeline.sentences import Row, percent
from fastdispatch.read.steps import PHASES
from fastdispatch.report.terminal import section, share, table
from fastdispatch.text.formats import counted, grouped, printable, seconds

_MOST = 12


def parts(made: PipelineReport) -> Iterator[Text | Table]:
    """Yield sentences, then tables."""
    yield Text(head(made), style="dim")
    for line in made.sentences:
        yield Text(printable(f"* {line}"))
    if made.phases:
        yield from section("Phases of a step", phases(made.phases))
    if made.table:
        yield from section("Stages: a step, and the causes of idle time", stages(made))
        yield from section("Bubble", bubbles(made))
        yield from section("Activations and buffers of stages", holdings(made))
    if made.links:
        capped = f": {_MOST} of {len(made.links)} pairs, the slowest" if len(made.links) > _MOST else ""
        yield from section(f"Transfers of the iteration in the middle{capped}", links(made))
    if made.critical:
        yield from section("The critical path consists of", critical(made))
    if made.replicas:
        yield from section("Copies of a stage", replicas(made))
    if made.what_if:
        capped = f": {_MOST} of {len(made.what_if)}, the largest savings" if len(made.what_if) > _MOST else ""
        yield from section(f"What if{capped}", changes(made.what_if[:_MOST]))
    yield Text("")
    for line in made.notes:
        yield Text(printable(line), style="dim")


def head(made: PipelineReport) -> str:
    if made.phases:
        return f"DeepSpeed without a pipeline: {counted(len(made.phases), 'rank')}"
    engine = made.engine
    name = "" if engine is None else " ".join(str(engine[key]) for key in ("engine", "version") if engine[key]) + ", "
    schedule = made.schedule["name"] or "unknown schedule"
    copies = f", {made.lines} copies" if made.lines > 1 else ""
    chunks = f" of {made.chunks} chunks" if made.chunks > 1 else ""
    period = f", one every {seconds(made.period)}" if made.period is not None else ""
    return (
        f"{name}{schedule}: {counted(made.stages, 'stage')}{chunks}{copies}, "
        f"{made.schedule['micro_batches']} micro-batches, {counted(len(made.iterations), 'iteration')}{period}"
    )


def stages(made: PipelineReport) -> Table:
    causes = [cause for cause in CAUSES if any(row[cause] for row in made.table)]
    rows = []
    for row in made.table:
        busy, idle = (f"{seconds(row[key])} {share(row[key], row['time'])}" for key in ("busy", "idle"))
        of_mean = "" if row["imbalance"] is None else f"{row['imbalance']:.2f}"
        of_causes = [share(row[cause], row["time"]) for cause in causes]
        rows.append([str(row["stage"]), listed(row["ranks"]), busy, of_mean, idle, *of_causes])
    return table(["stage", "ranks", "busy", "of mean", "idle", *(cause.replace("_", "-") for cause in causes)], rows)


def listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers[:4])) + (f",... {len(numbers)}" if len(numbers) > 4 else "")


def bubbles(made: PipelineReport) -> Table:
    rows = []
    if made.schedule["name"] is not None:
        for key, words in (
            ("ideal", "theory: equal stages, transfers free"),
            ("stages", "these stages, transfers free"),
            ("base", "simulated with all measured times"),
        ):
            of = made.schedule[key]
            rows.append([words, seconds(of["makespan"]), percent(of["of_total"]), percent(of["of_ideal"])])
    rows.append(["measured", seconds(made.step), percent(made.bubble_of_total), percent(made.bubble_of_ideal)])
    return table(["", "step", "of total", "of ideal"], rows, words=("",))


def holdings(made: PipelineReport) -> Table:
    names = ["stage", "micro-batches in flight", "planned", "buffers", "bytes", "layers", "tied"]
    keys = ("stage", "in_flight", "in_flight_planned", "buffers")
    rows = []
    for row in made.table:
        numbers = ["" if row[key] is None else str(row[key]) for key in keys]
        layers = ", ".join(map(_span, row["layers"]))
        rows.append([*numbers, grouped(row["bytes"]) if row["bytes"] else "", layers, ", ".join(row["tied"])])
    kept = [at for at, name in enumerate(names) if at < 2 or any(row[at] for row in rows)]
    return table([names[at] for at in kept], [[row[at] for at in kept] for row in rows], words=("layers", "tied"))


def _span(row: Row) -> str:
    if row["first"] is None:  # not every stage is known
        return f"{len(row['names'])} layers"
    return f"{row['first']} to {row['end'] - 1}" if row["end"] > row["first"] else "none"


def links(made: PipelineReport) -> Table:
    slowest = sorted(made.links, key=lambda row: -row["transfer"]) if len(made.links) > _MOST else made.links
    rows = []
    for row in slowest[:_MOST]:
        times = [seconds(row[key]) for key in ("transfer", "send_wait", "receive_wait")]
        size = grouped(row["bytes"]) if row["bytes"] else ""
        rows.append([f"{row['from']} to {row['to']}", str(row["count"]), size, *times])
    return table(["stage", "count", "bytes", "median transfer", "sender waited", "receiver waited"], rows)


def critical(made: PipelineReport) -> Table:
    rows = [
        [f"stage {row['stage']}", row["part"].replace("_", "-"), seconds(row["ns"]), percent(row["share"])]
        for row in made.critical[:_MOST]
    ]
    return table(["where", "what", "time", "share"], rows, words=("where", "what"))


def replicas(made: PipelineReport) -> Table:
    rows = [
        [str(row["stage"]), str(rank["rank"]), seconds(rank["busy"]), seconds(rank["idle"])]
        for row in made.replicas
        for rank in row["ranks"][:_MOST]
    ]
    return table(["stage", "rank", "busy", "idle"], rows)


def changes(rows: Sequence[Row]) -> Table:
    cells = [[row["words"], signed(row["saves"]), percent(row["share"])] for row in rows]
    return table(["", "a step would save", "share"], cells, words=("",))


def signed(time: float) -> str:
    return f"-{seconds(-time)}" if time < 0 else seconds(time)


def phases(rows: Sequence[Row]) -> Table:
    names = ("step", *PHASES[1:], PHASES[0])
    cells = [[str(row["rank"]), str(row["steps"]), *(seconds(row[key]) for key in names)] for row in rows]
    return table(["rank", "steps", *names], cells)
