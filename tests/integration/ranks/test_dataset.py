"""Data sets: figures equal a slow computation over the ranks; nothing is lost, whatever the inputs and the order."""

import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.dataset import query, run_manifest, run_tables, write_dataset
from tests import commands, many_ranks, processes, programs, traces

duckdb = pytest.importorskip("duckdb")
fsspec = pytest.importorskip("fsspec")

RANKS = 10
SLOW, ODD = 6, 3  # planted: a rank with one slow function, a rank with one extra call


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        for _ in range(4):
            programs.classes()
            programs.generators()
            for _ in range(37):  # a number of calls that no other function has
                programs.leaf(1)
            graph.step()
    return folder / "rank00000.fd"


@pytest.fixture(scope="module")
def ranks(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Ten ranks: one has a slow function, one a call more of it."""
    paths = many_ranks.write(recorded, tmp_path_factory.mktemp("ranks"), RANKS)
    content = recorded.read_bytes()
    calls = 4 * 37
    (at,) = many_ranks.with_calls(content, calls)
    for rank, field, value in ((SLOW, many_ranks.SELF, 1 << 40), (ODD, many_ranks.CALLS, calls + 1)):
        changed = bytearray(paths[rank].read_bytes())
        struct.pack_into("<Q", changed, at + field, value)
        paths[rank].write_bytes(changed)
    return paths


@pytest.fixture(scope="module")
def dataset(ranks: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("set") / "run.parquet"
    write_dataset.write_dataset([str(ranks[0].parent)], folder)
    return folder


def reduced(folder: Path) -> list[tuple[Any, ...]]:
    return fastdispatch.scan(folder).sql("FROM reduced ORDER BY path").fetchall()


def percentile(values: list[int], share: float) -> float:
    """With linear interpolation."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def slow_reduction(paths: list[Path]) -> dict[tuple[str, ...], dict[str, Any]]:
    """By the keys from the root down, over one trace per rank."""
    found: dict[tuple[str, ...], dict[int, tuple[int, int, int]]] = {}
    for path in paths:
        trace = fastdispatch.load(path)
        calls, own, total = (traces.paths(trace, name) for name in ("calls", "self", "total"))
        for chain in calls:
            found.setdefault(chain, {})[trace.ranks[0]["rank"]] = (calls[chain], own[chain], total[chain])
    return {chain: summary(by_rank) for chain, by_rank in found.items()}


def summary(by_rank: dict[int, tuple[int, int, int]]) -> dict[str, Any]:
    made: dict[str, Any] = {"ranks": len(by_rank), "calls": sum(figures[0] for figures in by_rank.values())}
    made["calls_min"] = min(figures[0] for figures in by_rank.values())
    made["calls_max"] = max(figures[0] for figures in by_rank.values())
    for index, name in ((1, "self"), (2, "total")):
        values = {rank: figures[index] for rank, figures in by_rank.items()}
        made |= {
            name: sum(values.values()),
            f"{name}_min": min(values.values()),
            f"{name}_max": max(values.values()),
            f"{name}_median": statistics.median(values.values()),
            f"{name}_p95": pytest.approx(percentile(list(values.values()), 0.95), rel=1e-12),
            f"{name}_slowest": min(rank for rank, value in values.items() if value == max(values.values())),
            f"{name}_fastest": min(rank for rank, value in values.items() if value == min(values.values())),
        }
    return made


def test_reduced_figures_equal_a_slow_computation(dataset: Path, ranks: list[Path]) -> None:
    run = fastdispatch.scan(dataset)
    parents = dict(run.sql("SELECT path, (parent, key) FROM paths").fetchall())

    def chain(path: int) -> tuple[str, ...]:
        parent, key = parents[path]
        return (*chain(parent), key) if parent is not None else (key,)

    relation = run.sql("FROM reduced")
    got = {chain(row[0]): dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()}
    expected = slow_reduction(ranks)
    assert got.keys() == expected.keys()
    for path, figures in expected.items():
        assert {name: got[path][name] for name in figures} == figures
        assert got[path]["missing"] == 0


def test_planted_ranks_are_found_by_name(dataset: Path) -> None:
    run = fastdispatch.scan(dataset)
    slowest = run.recipe("slowest-rank").fetchall()[0]
    assert slowest[0].endswith(":leaf") and slowest[2] == SLOW
    odd = run.recipe("different-counts").fetchall()
    assert [(row[0].rsplit(":", 1)[1], row[3], row[5], row[6], row[7]) for row in odd] == [("leaf", 148, 149, 1, ODD)]


@pytest.mark.parametrize("name", query.recipes())
def test_recipes(name: str, dataset: Path, recorded: Path) -> None:
    for run in (fastdispatch.scan(dataset), fastdispatch.scan(recorded)):
        assert run.recipe(name).columns
    assert query.recipes()[name][0].isupper() and not query.recipes()[name].endswith(".")
    assert f"`{name}`" in (processes.ROOT / "docs" / "guides" / "scale.md").read_text()


@pytest.mark.parametrize(("order", "size"), [((9, 2, 5, 1, 8, 0, 7, 3, 6, 4), 3), (range(RANKS)[::-1], 7)])
def test_any_order_and_grouping_gives_the_same(
    order: Sequence[int], size: int, dataset: Path, ranks: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run.parquet"
    for first in range(0, RANKS, size):
        write_dataset.write_dataset([str(ranks[rank]) for rank in order[first : first + size]], folder)
    assert reduced(folder) == reduced(dataset)
    for table in run_tables.SHARED:
        one, other = (
            fastdispatch.scan(each).sql(f"FROM {table} ORDER BY ALL").fetchall() for each in (folder, dataset)
        )
        assert one == other


def test_known_recordings_are_not_read_again(dataset: Path, ranks: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    before = {file: file.stat().st_mtime_ns for file in dataset.glob("figures/*")}
    monkeypatch.setattr(write_dataset, "write_group", refuse)
    manifest = write_dataset.write_dataset([str(ranks[0].parent)], dataset)
    assert sorted(manifest.ranks) == list(range(RANKS))
    assert {file: file.stat().st_mtime_ns for file in dataset.glob("figures/*")} == before


@pytest.mark.parametrize("parts", [False, True], ids=["whole", "parts"])
def test_a_changed_recording_replaces_its_group(parts: bool, ranks: list[Path], recorded: Path, tmp_path: Path) -> None:
    """A finished data set, or the result of a part of one."""
    folder, target = tmp_path / "run", tmp_path / "run.parquet"
    shutil.copytree(ranks[0].parent, folder)
    if parts:
        assert write_dataset.write_part([str(folder)], target, (1, 1)) == 1
    else:
        write_dataset.write_dataset([str(folder)], target)
    (folder / "rank00002.fd").write_bytes(many_ranks.scaled(recorded.read_bytes(), 2, RANKS, 3.0))
    if not parts:
        one = [str(folder / "rank00002.fd")]
        with pytest.raises(fastdispatch.Error, match=r"changed: also give .*rank00000\.fd, which is in the same group"):
            write_dataset.write_dataset(one, target)
    write_dataset.write_dataset([str(folder)], target)
    longest = fastdispatch.scan(target).sql("SELECT arg_max(rank, total) FROM figures WHERE rank <> 6").fetchall()
    assert longest == [(2,)]
    assert len(list(target.glob("figures/*.parquet"))) == 1


def test_interrupted(ranks: list[Path], dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that were finished before the interrupt are kept."""
    monkeypatch.setattr(write_dataset, "MAX_RANKS", 4)
    steps: list[object] = []

    def interrupted(step: Any, tasks: Any) -> Iterator[Any]:
        for task in tasks:
            if len(steps) == 2:
                raise KeyboardInterrupt
            steps.append(task)
            yield task, step(task)

    target = tmp_path / "run.parquet"
    monkeypatch.setitem(write_dataset.RUNNERS, "processes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_dataset.write_dataset([str(ranks[0].parent)], target)
    assert len(run_manifest.load(target).groups) == 2
    (target / "figures" / "group-0123.partial").write_bytes(b"half")
    steps.clear()
    manifest = write_dataset.write_dataset([str(ranks[0].parent)], target)
    assert len(steps) == 1 and len(manifest.groups) == 3
    assert reduced(target) == reduced(dataset)
    assert not list(target.rglob("*.partial"))


def test_ranks_of_two_groups(ranks: list[Path], recorded: Path, tmp_path: Path) -> None:
    """A rank that another group has already is skipped, and no other."""
    target = tmp_path / "run.parquet"
    write_dataset.write_dataset([str(path) for path in ranks[:3]], target)
    again = tmp_path / "rank00001.fd"
    again.write_bytes(many_ranks.scaled(recorded.read_bytes(), 1, RANKS, 1.0))
    manifest = write_dataset.write_dataset([str(again), *map(str, ranks[3:5])], target)
    assert manifest.refused == {str(again): f"{again}: rank 1 is in {ranks[1]} already: give one of them"}
    assert sorted(manifest.ranks) == [0, 1, 2, 3, 4], "the others of its group are there"


def test_another_run(ranks: list[Path], tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path / "one", ops="off"):
        programs.leaf(1)
    other = tmp_path / "other" / "rank00001.fd"
    text = f"import fastdispatch\nwith fastdispatch.CallGraph({str(other.parent)!r}, ops='off'): pass"
    processes.python_program("-c", text, RANK="1", WORLD_SIZE="2", FASTDISPATCH_RUN_ID="another")
    target = tmp_path / "run.parquet"
    write_dataset.write_dataset([str(tmp_path / "one")], target)
    manifest = write_dataset.write_dataset([str(other)], target)
    assert list(manifest.ranks) == [0]
    assert "belongs to run another" in manifest.refused[str(other)]


def test_a_run_directory_without_readable_recordings(tmp_path: Path) -> None:
    (tmp_path / "rank00000.fd").write_bytes(b"")
    commands.complaint("merge", tmp_path, "-o", tmp_path / "run.parquet")


def test_a_folder_of_something_else_stays(ranks: list[Path], tmp_path: Path) -> None:
    (tmp_path / "run.parquet").mkdir()
    (tmp_path / "run.parquet" / "precious").write_text("")
    with pytest.raises(fastdispatch.Error, match="not a data set: give another name"):
        write_dataset.write_dataset([str(ranks[0])], tmp_path / "run.parquet")
    assert os.listdir(tmp_path / "run.parquet") == ["precious"]


def test_an_empty_folder_is_the_beginning_of_a_data_set(ranks: list[Path], tmp_path: Path) -> None:
    """A part may see the folder before the lock that another part of the same run adds."""
    (tmp_path / "run.parquet").mkdir()
    assert write_dataset.write_part([str(ranks[0])], tmp_path / "run.parquet", (1, 1)) == 1


def test_two_writers(dataset: Path, ranks: list[Path]) -> None:
    with write_dataset._written_alone(dataset), pytest.raises(fastdispatch.Error, match="another process writes"):
        write_dataset.write_dataset([str(ranks[0])], dataset)


def test_a_store(ranks: list[Path], dataset: Path, tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    store.pipe({f"/bucket/run/{path.name}": path.read_bytes() for path in ranks})
    target = tmp_path / "run.parquet"
    write_dataset.write_dataset(["memory://bucket/run"], target)
    assert reduced(target) == reduced(dataset)
    absent = "fastdispatch: memory://bucket/absent: No such file or directory\n"
    assert commands.error("merge", "memory://bucket/absent", "-o", tmp_path / "absent.parquet") == absent


@pytest.mark.parametrize("runner", ["dask", "ray"])
def test_a_cluster_with_a_killed_worker(runner: str, ranks: list[Path], dataset: Path, tmp_path: Path) -> None:
    """The real scheduler; one of two workers is killed by its first group."""
    pytest.importorskip("distributed" if runner == "dask" else runner)
    paths = (ranks[0].parent, tmp_path / "run.parquet", tmp_path / "killed")
    result = processes.run("cluster_dataset.py", runner, *paths)
    assert (tmp_path / "killed").exists()
    last = result.stdout.splitlines()[-1]  # Ray prints the lost worker before it
    assert json.loads(last) == {"ranks": list(range(RANKS)), "groups": 5}
    assert reduced(tmp_path / "run.parquet") == reduced(dataset)


def test_a_job_array(ranks: list[Path], dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts as separate processes at the same time, one of which is missing; the last call adds them all."""
    target = tmp_path / "run.parquet"
    text = (
        "import sys\nfrom fastdispatch.dataset import write_dataset\nwrite_dataset.MAX_RANKS = 2\n"
        "from fastdispatch.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", text, "merge", str(ranks[0].parent), "-o", str(target)]
    parts = [
        subprocess.Popen([*command, "--part", f"{part}/3"], env=processes.environment(), stdout=subprocess.PIPE)
        for part in (1, 3)
    ]
    assert [part.communicate()[0].decode() for part in parts] == [
        f"part 1 of 3: 2 groups: {target}\n",
        f"part 3 of 3: 1 groups: {target}\n",
    ]
    assert not run_manifest.is_dataset(target)
    written: list[str] = []
    monkeypatch.setattr(write_dataset, "MAX_RANKS", 2)
    monkeypatch.setitem(
        write_dataset.RUNNERS,
        "processes",
        lambda step, tasks: ((task, step(task)) for task in tasks if written.append(task.name) is None),
    )
    assert main(["merge", str(ranks[0].parent), "-o", str(target)]) == 0
    assert len(written) == 2  # of five groups: those of the missing part
    assert len(run_manifest.load(target).groups) == 5 and not (target / "written").exists()
    assert reduced(target) == reduced(dataset)
    for kind in ("settled", "whole"):
        files = [folder / f"{kind}.json.gz" for folder in (target, dataset)]
        assert files[0].exists() == files[1].exists()
        assert not files[0].exists() or files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("part", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_invalid_parts(part: str, tmp_path: Path) -> None:
    assert "expected I/N" in commands.error("merge", tmp_path, "-o", tmp_path / "run.parquet", "--part", part)
    assert "--part writes a data set" in commands.error("merge", tmp_path, "-o", tmp_path / "run.json", "--part", "1/2")


def test_processes(ranks: list[Path], dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_dataset, "MAX_RANKS", 3)
    seen: list[tuple[int, int]] = []
    write_dataset.write_dataset(
        [str(ranks[0].parent)], tmp_path / "run.parquet", progress=lambda done, of: seen.append((done, of))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert reduced(tmp_path / "run.parquet") == reduced(dataset)


def test_sql_command(dataset: Path) -> None:
    assert [line.split()[0] for line in commands.out("sql").splitlines()] == list(query.recipes())
    text = "SELECT rank, sum(calls) AS calls FROM figures GROUP BY rank ORDER BY rank LIMIT 1"
    calls = duckdb.sql(f"SELECT sum(calls)::BIGINT FROM '{dataset}/figures/*.parquet' WHERE rank = 0").fetchall()[0][0]
    assert commands.out("sql", dataset, text, "--format", "csv") == f"rank,calls\n0,{calls}\n"
    assert json.loads(commands.out("sql", dataset, text, "--format", "json")) == [{"rank": 0, "calls": calls}]
    assert commands.out("sql", dataset, text).split() == ["rank", "calls", "0", str(calls)]
    assert commands.out("sql", dataset, "phases", "--format", "sql").startswith("-- Mean milliseconds")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SELEC 1"], 'sql: Parser Error: syntax error at or near "SELEC"'),
        (["FROM nothing"], "sql: Catalog Error: Table with name nothing does not exist!"),
        (["SELECT 1 AS a, error('planted')"], "sql: Invalid Input Error: planted"),
    ],
)
def test_invalid_queries(arguments: list[str], message: str, dataset: Path) -> None:
    assert commands.error("sql", dataset, *arguments) == f"fastdispatch: {message}\n"


def test_without_duckdb(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert (
        commands.error("sql", dataset, "FROM ranks")
        == "fastdispatch: more than 16 ranks and SQL need DuckDB: pip install 'fastdispatch[scale]'\n"
    )
