"""The steps of each rank of a data set, and the time of a call path on each (read/rank_rows.py)."""

import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from fastdispatch.dataset import engine
from fastdispatch.dataset.query import Run, scan
from fastdispatch.read.columns import ArrowTable
from fastdispatch.read.rank_rows import STEPS, Coordinates, RankRow, RankTime, coordinates_of, folded
from fastdispatch.read.steps import PHASES

#: The times that :func:`fastdispatch.read.steps.phase_times` has of each rank: the shares of phases in the middle half
#: of its steps, of the median step.
_PHASES = f"""
    WITH kept AS (SELECT *, {" + ".join(f'"{phase}"' for phase in PHASES)} AS time FROM steps WHERE {{kept}}),
         spread AS (SELECT rank, quantile_cont(time, [0.25, 0.5, 0.75]) AS of FROM kept GROUP BY rank)
    SELECT rank, {", ".join(f'round(sum("{phase}") * any_value(of[2]) / greatest(sum(time), 1))' for phase in PHASES)}
    FROM kept JOIN spread USING (rank) WHERE time BETWEEN floor(of[1]) AND ceil(of[3]) GROUP BY rank"""

_LATEST = f"""
    WITH kept AS (SELECT rank, number, {" + ".join(f'"{phase}"' for phase in PHASES)} AS time FROM steps WHERE {{kept}})
    SELECT rank, list(number ORDER BY number), list(time ORDER BY number) FROM kept
    WHERE number > (SELECT max(number) FROM kept)::BIGINT - {STEPS} GROUP BY rank"""


def rank_rows(path: str | os.PathLike[str], numbers: Collection[int]) -> list[RankRow]:
    """Return the rows of a data set by rank, of the steps between the lowest and the highest number. Raises Error for
    a damaged data set."""
    with engine.reading(Path(path)):
        run = scan(path)
        kept = f"number BETWEEN {min(numbers, default=0)} AND {max(numbers, default=0)}"
        last = run.rows(run.sql("SELECT max(rank) FROM ranks"))[0][0]
        return folded(_rows(run, kept), last)


def rank_times(path: str | os.PathLike[str], contexts: ArrowTable, context: int) -> list[RankTime]:
    """Return the self time of a context on every rank, in the whole recording, 0 without the context. Raises Error for
    a damaged data set."""
    with engine.reading(Path(path)):
        run = scan(path)
        run.connection.register("contexts", contexts)
        places = _places(run)
        query = f"SELECT rank, self FROM figures JOIN contexts USING (path) WHERE id = {context}"
        times = dict(run.rows(run.sql(query)))
        hosts = run.rows(run.sql("SELECT rank, coalesce(host, '') FROM ranks ORDER BY rank"))
        here = coordinates_of(None)
        return [RankTime(rank, host, places.get(rank, here), times.get(rank, 0)) for rank, host in hosts]


def _places(run: Run) -> dict[int, Coordinates]:
    found = run.rows(run.sql("SELECT rank, value FROM facts WHERE key = 'coordinates'"))
    return {rank: coordinates_of(json.loads(value)) for rank, value in found}


def _rows(run: Run, kept: str) -> Iterator[RankRow]:
    places = _places(run)
    phases = {rank: times for rank, *times in run.rows(run.sql(_PHASES.format(kept=kept)))}
    latest = {rank: times for rank, *times in run.rows(run.sql(_LATEST.format(kept=kept)))}
    for rank, host in run.rows(run.sql("SELECT rank, host FROM ranks ORDER BY rank")):
        numbers, times = latest.get(rank, ([], []))
        place = places.get(rank, coordinates_of(None))
        of_phases = dict(zip(PHASES, map(int, phases.get(rank, [0] * len(PHASES))), strict=True))
        yield RankRow(rank, host or "", place, of_phases, dict(zip(numbers, times, strict=True)))
