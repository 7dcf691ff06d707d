"""Properties of merging, over dumps that hypothesis makes up."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import fastdispatch
from tests.unit.dumps import documents

Document = dict[str, Any]
FEW = settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

one = documents((0,))
other = documents((1, 5))
third = documents((3,))


@contextmanager
def written(*found: Document) -> Iterator[list[Path]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{place}.json" for place in range(len(found))]
        for path, document in zip(paths, found, strict=True):
            path.write_text(json.dumps(document))
        yield paths


def merged(*paths: Path) -> bytes:
    """What a merge of them is, byte by byte."""
    output = paths[0].with_name("merged.json")
    fastdispatch.merge(paths, output)
    return output.read_bytes()


def keep(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@FEW
@given(documents((0, 2)))
def test_a_dump_that_is_loaded_dumps_the_same(document: Document) -> None:
    with written(document) as (path,):
        first = merged(path)
        assert merged(keep(path, first)) == first


@FEW
@given(one, other, third)
def test_the_order_does_not_matter(a: Document, b: Document, c: Document) -> None:
    with written(a, b, c) as paths:
        assert len({merged(*order) for order in itertools.permutations(paths)}) == 1


@FEW
@given(one, other, third)
def test_what_was_merged_before_does_not_matter(a: Document, b: Document, c: Document) -> None:
    with written(a, b, c) as (x, y, z):
        whole = merged(x, y, z)
        left = keep(x.with_name("left.json"), merged(x, y))
        right = keep(x.with_name("right.json"), merged(y, z))
        assert merged(left, z) == whole
        assert merged(x, right) == whole


Edges = dict[tuple[str, str], tuple[int, int]]


def edges_of(trace: fastdispatch.Trace, rank: int) -> Edges:
    """Calls and time by the texts of caller and callee, which tell nodes apart whatever their place."""
    columns = ("kind", "file", "class", "name", "line")
    names = ["/".join(map(str, row)) for row in zip(*(trace.nodes[name] for name in columns), strict=True)]
    table, graph = trace.table("node", rank), trace.graph("node", rank)

    def name(row: int) -> str:
        return names[table["node"][row]] if row >= 0 else ""

    rows = zip(*(graph[key] for key in ("caller", "callee", "calls", "total")), strict=True)
    return {(name(caller), name(callee)): (calls, total) for caller, callee, calls, total in rows if calls}


@FEW
@given(one, other)
def test_every_edge_of_each_rank_is_in_the_merge(a: Document, b: Document) -> None:
    with written(a, b) as (x, y):
        each = [fastdispatch.load(path) for path in (x, y)]
        both = fastdispatch.load([x, y])
        assert [rank["rank"] for rank in both.ranks] == [0, 1, 5]
        for trace in each:
            for rank in trace.ranks:
                assert edges_of(both, rank["rank"]) == edges_of(trace, rank["rank"])


@FEW
@given(one, other)
def test_nothing_of_a_rank_changes_in_a_merge(a: Document, b: Document) -> None:
    told = ("id", "state", "steps", "recorded", "counters", "meta", "threads", "latest_steps")
    with written(a, b) as (x, y):
        both = {rank["rank"]: rank for rank in fastdispatch.load([x, y]).ranks}
        for path in (x, y):
            for rank in fastdispatch.load(path).ranks:
                same = both[rank["rank"]]
                assert [rank[name] for name in told if name != "threads"] == [
                    same[name] for name in told if name != "threads"
                ]
                assert rank["threads"]["role"] == same["threads"]["role"]
                assert rank["threads"]["self"] == same["threads"]["self"]
                assert set(rank["notes"]) <= set(same["notes"])


@FEW
@given(one, st.booleans())
def test_a_rank_that_is_there_already_is_refused(document: Document, renamed: bool) -> None:
    twin = document | {"ranks": [document["ranks"][0] | ({"id": "f" * 32} if renamed else {})]}
    with written(document, twin) as paths, pytest.raises(fastdispatch.Error, match="rank 0 is there already"):
        fastdispatch.load(paths)


@FEW
@given(one, other)
def test_ranks_of_two_runs_are_refused(a: Document, b: Document) -> None:
    for run, document in (("monday", a), ("tuesday", b)):
        for rank in document["ranks"]:
            rank["meta"]["run_id"] = run
    with written(a, b) as paths, pytest.raises(fastdispatch.Error, match='belongs to run "tuesday"'):
        fastdispatch.load(paths)
