"""The sum of many ranks: sums and spreads equal a slow computation, whatever the order and the grouping."""

import json
import shutil
import struct
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.compare.diff import FIGURES, Diff, diff
from fastdispatch.compare.ranks import judge, judged, times
from fastdispatch.dataset.run_loading import load_run, rank_rows
from fastdispatch.dataset.write_dataset import write_dataset
from fastdispatch.detectors import findings
from fastdispatch.read import waiting
from fastdispatch.read.missing import missing_from
from fastdispatch.read.rank_rows import RankRow, folded
from tests import commands, many_ranks, programs
from tests.unit.report.call_trees import Dump

pytest.importorskip("duckdb")

RANKS = 20
ODD = 7  # planted: a rank with one more call


def record(folder: Path, leaves: int) -> Path:
    """A run of six steps, with a number of calls that no other function has."""
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        for _ in range(6):
            programs.classes()
            for _ in range(leaves):
                programs.leaf(1)
            graph.step()
    return folder / "rank00000.fd"


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    source = record(tmp_path_factory.mktemp("recorded"), 37)
    paths = many_ranks.write(source, tmp_path_factory.mktemp("ranks"), RANKS)
    content = bytearray(paths[ODD].read_bytes())
    for at in many_ranks.with_calls(content, 6 * 37):
        struct.pack_into("<Q", content, at + many_ranks.CALLS, 6 * 37 + 1)
    paths[ODD].write_bytes(content)
    return paths


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Another run, whose ranks do more."""
    return many_ranks.write(record(tmp_path_factory.mktemp("later"), 90), tmp_path_factory.mktemp("more"), RANKS)


@pytest.fixture(scope="module")
def dataset(ranks: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of all ranks."""
    target = tmp_path_factory.mktemp("set") / "run.parquet"
    write_dataset([str(ranks[0].parent)], target)
    return target


def dumped(trace: fastdispatch.Trace, path: Path) -> bytes:
    trace.dump(path)
    return path.read_bytes()


def test_sums_and_spreads_equal_a_slow_computation(ranks: list[Path]) -> None:
    merged, made = fastdispatch.load(ranks), load_run(ranks[0].parent)
    assert made.reduced is not None and made.reduced["ranks"] == [[0, RANKS - 1]]
    assert made.contexts == merged.contexts
    got, expected = made.table(), merged.table()
    assert got.pop("step_deviation") == pytest.approx(expected.pop("step_deviation"), rel=1e-4)  # sums of doubles
    assert got == expected
    each = [merged.core.contexts(index) for index in range(RANKS)]
    spreads = made.spreads
    for row, context in enumerate(spreads["context"]):
        for name in ("calls", "self", "total"):
            values = [one[name][context] for one in each]
            assert spreads[f"{name}_min"][row] == min(values) and spreads[f"{name}_max"][row] == max(values)
            assert spreads[f"{name}_min_rank"][row] == values.index(min(values))
            assert spreads[f"{name}_max_rank"][row] == values.index(max(values))
        for name in ("self", "total"):
            values = sorted(one[name][context] for one in each)
            for share, column in ((0.5, "median"), (0.95, "p95")):
                nearest = values[round(share * RANKS) - 1]
                assert spreads[f"{name}_{column}"][row] == pytest.approx(nearest, rel=1 / 128)
        assert spreads["ranks"][row] == RANKS


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(RANKS)), size=st.integers(1, RANKS))
def test_any_order_and_grouping_gives_the_same_bytes(
    ranks: list[Path], tmp_path_factory: pytest.TempPathFactory, order: list[int], size: int
) -> None:
    groups = [[ranks[rank] for rank in order[first : first + size]] for first in range(0, RANKS, size)]
    folder = tmp_path_factory.mktemp("any")
    for steps in (None, "settled"):
        whole = dumped(load_run(ranks[0].parent, steps=steps), folder / "whole")  # type: ignore[arg-type]
        made = many_ranks.summed(groups if steps is None else [], folder / "run.parquet", steps)
        assert dumped(made, folder / "made") == whole


def test_gpu_times_are_summed(tmp_path: Path) -> None:
    """Ranks with two steps each, in which a GPU is idle while ``main`` runs; a rank without a GPU says why."""
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    calls = ("a.py:[]:main", 1, 1, [("kernel:gemm", 0, 0, [], "", {"gpu": 5_000})])
    Dump([calls], [calls], [("a.py:[]:main", 1, 1)]).write(paths[0])
    document = json.loads(paths[0].read_text())
    uses = {"compute_ns": 5_000, "communication_ns": 0, "copy_ns": 0}
    causes = {"host_ns": 3_000, "end_ns": 0, "launch_ns": 1_000, "wait_ns": 0, "undecided_ns": 0}
    times = {"device": 0, "window_ns": 9_000, **uses, **causes}
    known = {"kernels": 4, "ns": 5_000, "unknown": 0, "busy_steps": 1, "devices": [times]}
    no_call = dict.fromkeys(document["ranks"][0]["gpu"], 0)
    idle = no_call | {"context": 1, "starved": 3_000, "device": -1, "stream": -1}
    for path, rank in zip(paths, document["ranks"], strict=True):
        rank["meta"] = {"gpu_steps": 2, "gpu_kernels": known} if "gpu" in rank else {"gpu_missing": "no runtime"}
        for name, column in rank.get("gpu", {}).items():
            column.append(idle[name])
        path.write_text(json.dumps(document | {"ranks": [rank]}))
    folder = str(tmp_path / "run.parquet")
    write_dataset(list(map(str, paths)), folder)
    trace = load_run(folder)
    meta = trace.ranks[0]["meta"]
    assert [sum(trace.contexts[name]) for name in ("gpu_self", "gpu_calls")] == [10_000, 2]
    assert max(trace.contexts["gpu_starved"]) == 6_000
    assert meta["gpu_steps"] == 4
    sums = {"kernels": 8, "ns": 10_000, "unknown": 0, "busy_steps": 2, "ranks": 2}
    assert meta["gpu_kernels"] == sums | {"devices": [{key: 2 * each for key, each in times.items()}]}
    lines = commands.out("report", folder).splitlines()
    assert lines[0] == "GPU idle 44 % of the step: the host is late, in a.py:[]:main"
    assert {"GPU: 8 kernels, copies and fills in 2 recorded steps, 10 us", "no runtime"} <= set(lines)


def test_a_data_set_has_the_same(ranks: list[Path], tmp_path: Path) -> None:
    """Also when its ranks were added one group after the other."""
    target = tmp_path / "run.parquet"
    write_dataset([str(path) for path in ranks[11:]], target)
    write_dataset([str(ranks[0].parent)], target)
    for steps in (None, "settled"):
        expected = dumped(load_run(ranks[0].parent, steps=steps), tmp_path / "expected")  # type: ignore[arg-type]
        assert dumped(load_run(target, steps=steps), tmp_path / "got") == expected  # type: ignore[arg-type]
    assert [rank["rank"] for rank in load_run(target, rank=3).ranks] == [3]


def test_a_run_directory_has_its_data_set_inside(ranks: list[Path], tmp_path: Path) -> None:
    """It is written once, and again when recordings were added or have changed."""
    run = tmp_path / "run"
    run.mkdir()
    for path in ranks[:17]:
        shutil.copy2(path, run)
    first = load_run(run)
    written = {file: file.stat().st_mtime_ns for file in (run / "ranks.parquet").rglob("*") if file.is_file()}
    assert dumped(load_run(run), tmp_path / "again") == dumped(first, tmp_path / "first")
    assert {file: file.stat().st_mtime_ns for file in written} == written
    for path in ranks[17:]:
        shutil.copy2(path, run)
    expected = dumped(load_run(ranks[0].parent), tmp_path / "expected")
    assert dumped(load_run(run), tmp_path / "more") == expected
    assert fastdispatch.scan(run).sql("SELECT count(*) FROM ranks").fetchall() == [(RANKS,)]
    (run / "ranks.parquet" / "whole.json.gz").unlink()
    assert dumped(load_run(run), tmp_path / "lost") == expected


@pytest.fixture
def run(ranks: list[Path], tmp_path: Path) -> Path:
    """A run directory that a test may change."""
    return shutil.copytree(ranks[0].parent, tmp_path / "run", ignore=shutil.ignore_patterns("*.parquet"))


def test_damaged_recordings_of_a_run_directory_are_named(run: Path) -> None:
    (run / "rank00004.fd").write_bytes(b"")
    status, output, errors = commands.run("report", run)
    assert errors.startswith(f"fastdispatch: skipped: {run / 'rank00004.fd'}: ")
    assert status == 0 and "rank 4 of 20 is missing" in output


@pytest.mark.parametrize("problem", ["duckdb", "place"])
def test_a_data_set_that_cannot_be_written_in_the_run_directory(
    problem: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if problem == "duckdb":
        monkeypatch.setitem(sys.modules, "duckdb", None)
        expected = "more than 16 ranks and SQL need DuckDB: pip install 'fastdispatch[scale]'"
    else:
        (run / "ranks.parquet").write_bytes(b"")
        monkeypatch.setattr("os.access", lambda *_: False)  # tests may run as root
        expected = (
            f"{run}: cannot write the data set of {RANKS} ranks here: give another place: "
            f"fastdispatch merge {run} -o NAME.parquet"
        )
    assert commands.error("report", run) == f"fastdispatch: {expected}\n"
    assert main(["report", str(run), "--rank", "3"]) == 0


def test_a_merge_in_json_has_few_ranks(ranks: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "merged.json"
    expected = f"{output}: 20 ranks are too many for one JSON file: write a data set: -o NAME.parquet"
    for inputs in ([ranks[0].parent], ranks):
        assert commands.error("merge", *inputs, "-o", output) == f"fastdispatch: {expected}\n"
    with pytest.raises(fastdispatch.Error, match="20 ranks are too many"):
        fastdispatch.merge(ranks, output)
    assert main(["merge", *map(str, ranks[:16]), "-o", str(output)]) == 0


def compared(made: Diff, name: str = "") -> dict[str, Any]:
    """All figures of a comparison; the sides have the same name."""
    document = made.as_json(everything=True)
    assert [side.ranks for side in made.sides] in ([RANKS, RANKS], [1, 1])
    for side in (document["before"], document["after"]):
        side["name"] = name
    return document


def close_to(document: dict[str, Any]) -> dict[str, Any]:
    """A comparison that differs in the order of its sums of doubles only."""
    for row in document["rows"] + document["collections"]:
        row |= {name: pytest.approx(row[name], rel=1e-9) for name in FIGURES}
    for side in (document["before"], document["after"]):
        side["whole"] = pytest.approx(side["whole"], rel=1e-6)
    document["speed"] = pytest.approx(document["speed"], rel=1e-9)
    for name in ("step", "machine", "part"):
        document["verdict"][name] = pytest.approx(document["verdict"][name], rel=1e-6)
    return document


@pytest.mark.parametrize("by", ["node", "module", "package"])
@pytest.mark.parametrize("steps", [None, "settled"])
def test_comparisons_of_data_sets_equal_those_of_all_ranks(
    ranks: list[Path],
    dataset: Path,
    later: list[Path],
    tmp_path: Path,
    steps: Any,
    by: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "queued_share", lambda rank: None)  # a data set has no time without a core
    after = tmp_path / "after.parquet"
    write_dataset([str(later[0].parent)], after)
    all_ranks = [fastdispatch.load(paths, steps=steps) for paths in (ranks, later)]
    expected = close_to(compared(Diff(*all_ranks, by=by)))
    assert by != "node" or any("calls" in row["changes"] for row in expected["rows"] if row["key"].endswith(":leaf"))
    for other in (after, later[0].parent, later):
        assert compared(diff(dataset, other, steps=steps, by=by)) == expected
    one = compared(diff(dataset, later[3], rank=3, steps=steps, by=by))
    assert one == compared(diff(ranks[3], later[3], rank=3, steps=steps, by=by))


def test_ranks_of_a_data_set(ranks: list[Path], dataset: Path) -> None:
    """Two ranks are compared as those of the run directory are."""
    found = []
    for path in (dataset, ranks[0].parent):
        (document,) = commands.document("diff", path, "--ranks", f"3,{ODD}", "--all", "--steps", "all")["diffs"]
        found.append(document | {side: document[side] | {"name": ""} for side in ("before", "after")})
    assert found[0] == found[1]
    assert any("calls" in row["changes"] for row in found[0]["rows"] if row["key"].endswith(":leaf"))


def test_a_missing_rank_and_a_lost_recording(ranks: list[Path], tmp_path: Path) -> None:
    folder, target = tmp_path / "run", tmp_path / "run.parquet"
    shutil.copytree(ranks[0].parent, folder)
    write_dataset([str(folder)], target)
    with pytest.raises(fastdispatch.Error, match="no rank 99 in this data set"):
        load_run(target, rank=99)
    (folder / "rank00003.fd").unlink()
    with pytest.raises(fastdispatch.Error, match="the recording of rank 3 was removed"):
        load_run(target, rank=3)
    (target / "whole.json.gz").write_bytes(b"")
    with pytest.raises(fastdispatch.Error, match="damaged"):
        load_run(target)


@pytest.mark.parametrize(
    "command",
    [["report", "--all"], ["report", "--json"], ["report", "--tree", "--steps", "all", "--min-percent", "0"], ["svg"]],
    ids=["table", "json", "tree", "svg"],
)
def test_one_rank_of_a_data_set_is_that_of_its_recording(
    command: list[str], ranks: list[Path], dataset: Path, tmp_path: Path
) -> None:
    graph, outputs = tmp_path / "graph.dot", []
    more = ["--all", "--min-percent", "0", "-o", graph] if command[0] == "svg" else []
    for path in (dataset, ranks[ODD]):
        printed = commands.out(command[0], path, "--rank", ODD, *command[1:], *more)
        outputs.append(graph.read_text() if more else printed)
    assert outputs[0] == outputs[1]
    assert "leaf" in outputs[0]


def test_one_rank_of_a_data_set_of_a_store(ranks: list[Path], tmp_path: Path) -> None:
    store = pytest.importorskip("fsspec").filesystem("memory")
    for path in ranks[:2]:
        store.pipe(f"/drill/{path.name}", path.read_bytes())
    target = tmp_path / "run.parquet"
    write_dataset(["memory://drill"], target)
    made = load_run(target, rank=1)
    assert made.table() == fastdispatch.load(ranks[1]).table() and made.sources == ["memory:///drill/rank00001.fd"]
    store.rm("/drill/rank00001.fd")
    with pytest.raises(fastdispatch.Error, match="No such file or directory: the recording of rank 1; its figures are"):
        load_run(target, rank=1)


@pytest.mark.parametrize("kind", ["data set", "many", "few"])
def test_missing_ranks_are_named(ranks: list[Path], kind: str, tmp_path: Path) -> None:
    lost = (3, 17) if kind != "few" else (*range(5), *range(9, 19))
    expected = "ranks 3, 17 of 20 are missing" if kind != "few" else "ranks 0-4, 9-18 of 20 are missing"
    path = tmp_path / "run"
    path.mkdir()
    for rank in sorted(set(range(RANKS)) - set(lost)):
        shutil.copy(ranks[rank], path)
    if kind == "data set":
        assert f"fastdispatch: {expected}\n" == commands.error("merge", path, "-o", f"{path}.parquet", status=0)
        path = tmp_path / "run.parquet"
    for command in ("report", "findings"):
        assert expected in commands.out(command, path).splitlines()
        assert commands.document(command, path)["missing"] == expected
    assert "are missing" not in commands.out("report", path, "--rank", "5")


@pytest.mark.parametrize(
    ("spans", "world", "expected"),
    [
        ([(0, 3)], 4, ""),
        ([(0, 3)], 0, ""),
        ([], 1, "rank 0 of 1 is missing"),
        ([(1, 1), (3, 5)], 8, "ranks 0, 2, 6-7 of 8 are missing"),
        ([(0, 9)], 4, ""),
        ([(n, n) for n in range(0, 40, 2)], 40, f"ranks {', '.join(str(n) for n in range(1, 33, 2))} and others, 20 in"
         " total, of 40 are missing"),
    ],
)  # fmt: skip
def test_sentence_about_missing_ranks(spans: list[tuple[int, int]], world: int, expected: str) -> None:
    assert missing_from(spans, world) == expected


def test_commands(ranks: list[Path], tmp_path: Path) -> None:
    assert f"ranks 0-{RANKS - 1} of {RANKS}, 6 steps" in commands.out("report", ranks[0].parent)
    for command, output in (("svg", "a.dot"), ("html", "a")):
        commands.out(command, ranks[0].parent, "-o", tmp_path / output)


def test_a_rank_with_one_more_call_is_found(ranks: list[Path]) -> None:
    found = [each for each in findings(ranks[0].parent, steps=None) if each.id == "unequal-work"]
    assert [each.ranks for each in found] == [[ODD]] and found[0].where.key.endswith(":leaf")


SLOW = (12, 13)  # planted: the ranks of one host, in steps 2 and 3, which take a minute each
NOON = 1_795_435_200 * 10**9


@pytest.fixture(scope="module")
def placed(ranks: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of 60 ranks with hosts of two ranks and coordinates; the ranks of one host are slow in a function."""
    folder = tmp_path_factory.mktemp("placed")
    fastdispatch.load(ranks[0]).dump(folder / "one.json")
    document = json.loads((folder / "one.json").read_text())
    (first,), nodes, contexts = document["ranks"], document["nodes"], document["contexts"]
    leaf = document["strings"].index("leaf")
    row = max(i for i, at in enumerate(first["figures"]["context"]) if nodes["name"][contexts["node"][at]] == leaf)
    document["ranks"] = []
    for rank in range(60):
        more = deepcopy(first) | {"rank": rank, "id": f"{rank:032x}", "world": 60}
        more["meta"] |= {"host": f"node{rank // 2}", "coordinates": {"pipe": rank // 2, "data": rank % 2}}
        more["start"]["realtime"] = str(NOON)
        if rank in SLOW:
            more["figures"]["self"][row] += 10**9 + rank
            more["latest_steps"]["begin"] = [step * 60 * 10**9 for step in range(6)]
            more["latest_steps"]["end"] = [(step + 1) * 60 * 10**9 for step in range(6)]
            at = more["figures"]["context"][row]
            more["step_tops"] = {"step": [2, 3], "context": [at, at], "self": [5 * 10**8, 5 * 10**8 + rank]}
        document["ranks"].append(more)
    (folder / "ranks.json").write_text(json.dumps(document))
    write_dataset([str(folder / "ranks.json")], folder / "run.parquet")
    return folder / "run.parquet"


def test_a_slow_rank_is_named_with_its_host_and_coordinates(placed: Path) -> None:
    (found,) = [each for each in findings(placed, steps=None) if each.id == "slow-rank"]
    assert found.ranks == [SLOW[1]]
    assert found.title.startswith(f"rank {SLOW[1]} on node6 (pipe 6, data 1) spends ")
    assert found.where.key.endswith(":leaf") and found.where.key in found.title
    assert found.proof.endswith(
        "; in steps 2 to 3, 12:02:00 to 12:04:00 UTC; all 2 ranks on node6 have at least half of this excess"
    )
    minutes = [2, 3, 2, 6, NOON + 120 * 10**9, NOON + 240 * 10**9]
    assert list(found.evidence["slow_steps"].values()) == minutes


def test_rows_of_ranks(ranks: list[Path], dataset: Path, placed: Path) -> None:
    """The steps of each rank are the same from recordings and from a data set, where coordinates come from facts."""
    for steps in (None, "settled"):
        expected = rank_rows(fastdispatch.load(ranks, steps=steps))  # type: ignore[arg-type]
        got = rank_rows(load_run(dataset, steps=steps))  # type: ignore[arg-type]
        assert [row.rank for row in got] == list(range(RANKS))
        for one, other in zip(expected, got, strict=True):
            assert other.steps == one.steps and len(one.steps) >= 3
            assert other.phases == pytest.approx(one.phases, abs=5)  # rounded
            assert (other.host, other.place) == (one.host, (-1, -1, -1))
    assert [row.place for row in rank_rows(load_run(placed))][:3] == [(0, 0, -1), (0, 1, -1), (1, 0, -1)]


def test_rows_of_more_ranks_than_a_page_has() -> None:
    """Neighbours share a row, which has their maximum."""
    rows = [RankRow(rank, f"node{rank}", (0, rank, 0), {"other": rank % 7}, {rank % 2: rank}) for rank in range(10_000)]
    made = folded(rows, 9_999)
    assert len(made) == 3334 and sum(row.ranks for row in made) == 10_000
    assert made[1] == RankRow(3, "node3", (0, 3, 0), {"other": 5}, {1: 5, 0: 4}, ranks=3)


@pytest.mark.parametrize("kind", ["recordings", "data set"])
def test_slow_ranks_of_many_are_compared_with_few_in_memory(
    kind: str, ranks: list[Path], dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, read = dataset if kind == "data set" else ranks[0].parent, []
    expected = judge(times(fastdispatch.load(ranks)))
    opened = fastdispatch.load

    def load(paths: Any, **options: Any) -> fastdispatch.Trace:
        read.append(len(paths))
        return opened(paths, **options)

    monkeypatch.setattr("fastdispatch.dataset.run_loading.load", load)
    verdict, trace = judged(place, None)
    assert (verdict, read) == (expected, [16, 4, 1])
    assert (verdict.slow, verdict.ranks) == ([], RANKS)
    assert [rank["rank"] for rank in trace.ranks] == [verdict.typical]
    monkeypatch.setattr("fastdispatch.compare.ranks.NOTABLE", -1.0)  # all ranks are slow
    lines = commands.out("diff", place, "--ranks", "outliers", "--steps", "all").splitlines()
    assert [line.partition(" is slow: ")[0] for line in lines[:RANKS]] == [
        f"rank {rank} on {trace.meta['host']}" for rank in range(RANKS)
    ]
    assert lines[-1].startswith(f"the first 8 of {RANKS} slow ranks are compared with rank ")
    assert max(read) == 16
