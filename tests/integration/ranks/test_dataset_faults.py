"""Damaged inputs, lost files and failing stores of data sets: each one is listed, and nothing is dropped silently."""

import io
import json
import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.dataset import run_manifest, write_dataset
from tests import commands, many_ranks, programs
from tests.soak import mutants

duckdb = pytest.importorskip("duckdb")
fsspec = pytest.importorskip("fsspec")

RANKS, BAD = 6, 2


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with fastdispatch.CallGraph(folder, ops="off") as graph:
        for _ in range(4):
            programs.classes()
            graph.step()
    return folder / "rank00000.fd"


@pytest.fixture
def run(source: Path, tmp_path: Path) -> Path:
    """A run directory that a test may damage."""
    many_ranks.write(source, tmp_path / "run", RANKS)
    return tmp_path / "run"


@pytest.fixture
def target(run: Path) -> Path:
    """Its data set."""
    assert main(["merge", str(run), "-o", f"{run.parent / 'F'}/"]) == 0
    return run.parent / "F"


@pytest.fixture(params=[64, 2], ids=["one group", "three groups"])
def group_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """In one group the step runs in this process, in several in worker processes."""
    monkeypatch.setattr(write_dataset, "MAX_RANKS", request.param)
    size: int = request.param
    return size


def version_of_tomorrow(path: Path) -> None:
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 8, 4000)
    path.write_bytes(content)


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.write_bytes(b""), "empty"),
    (lambda path: path.write_bytes(path.read_bytes()[:50]), ""),
    (lambda path: path.write_bytes(b"no recording at all" * 300), ""),
    (version_of_tomorrow, "version"),
    (link_to_nothing, "No such file or directory"),
    (fifo, ""),
    (folder, ""),
]


def test_unreadable_inputs_are_skipped_and_listed(run: Path, group_size: int) -> None:
    """One kind of damage per rank; the ranks around them are read."""
    source, world, target = (run / "rank00000.fd").read_bytes(), len(DAMAGES) + 2, run.parent / "run.parquet"
    for rank in range(world):
        (run / f"rank0000{rank}.fd").write_bytes(many_ranks.scaled(source, rank, world, 1.0))
    bad = [run / f"rank0000{rank}.fd" for rank in range(1, world - 1)]
    for path, (damage, _) in zip(bad, DAMAGES, strict=True):
        damage(path)
    status, output, errors = commands.run("merge", run, "-o", target)
    *skipped, missing = errors.splitlines()
    assert (status, missing) == (1, f"fastdispatch: ranks 1-{world - 2} of {world} are missing")
    lines = {path: [line for line in skipped if line.startswith(f"fastdispatch: skipped: {path}")] for path in bad}
    assert [len(found) for found in lines.values()] == [1] * len(bad) == [1] * len(skipped)
    assert all(reason in lines[path][0] for path, (_, reason) in zip(bad, DAMAGES, strict=True))
    assert output == f"2 ranks in {1 + (group_size < world)} groups: {target}\n"
    manifest = run_manifest.load(target)
    assert sorted(manifest.refused) == list(map(str, bad)) and sorted(manifest.ranks) == [0, world - 1]
    assert fastdispatch.scan(target).sql("SELECT count(DISTINCT rank) FROM figures").fetchall() == [(2,)]
    assert f"ranks 1-{world - 2} of {world} are missing" in commands.out("report", target)


def test_a_rank_in_two_files_of_a_group(run: Path) -> None:
    bad = run / f"rank0000{BAD}.fd"
    shutil.copy(run / "rank00000.fd", bad)
    skipped, missing = commands.error("merge", run, "-o", run.parent / "run.parquet", status=1).splitlines()
    assert skipped.startswith(f"fastdispatch: skipped: {bad}: rank 0 is in {run / 'rank00000.fd'} already")
    assert missing == f"fastdispatch: rank {BAD} of {RANKS} is missing"


def test_a_repaired_input_is_added(run: Path, source: Path, group_size: int) -> None:
    bad, target = run / f"rank0000{BAD}.fd", run.parent / "run.parquet"
    bad.write_bytes(b"")
    assert main(["merge", str(run), "-o", str(target)]) == 1
    bad.write_bytes(many_ranks.scaled(source.read_bytes(), BAD, RANKS, 1.0))
    assert main(["merge", str(run), "-o", str(target)]) == 0
    manifest = run_manifest.load(target)
    assert sorted(manifest.ranks) == list(range(RANKS)) and not manifest.refused and not manifest.missing


def test_a_truncated_input_is_kept_and_listed(run: Path, group_size: int) -> None:
    bad, target = run / f"rank0000{BAD}.fd", run.parent / "run.parquet"
    content = bad.read_bytes()
    end = struct.unpack_from("<Q", content, 16)[0]
    bad.write_bytes(content[: end // 2])
    for _ in range(2):  # the second call reads nothing, and lists it again
        (line,) = commands.error("merge", run, "-o", target, status=0).splitlines()
        assert line.startswith(f"fastdispatch: {bad}: rank {BAD} is incomplete: ")
    states = fastdispatch.scan(target).sql("SELECT rank FROM ranks WHERE incomplete").fetchall()
    assert states == [(BAD,)]


def test_figures_beyond_the_range_of_numbers(run: Path) -> None:
    """Damaged recordings with the largest self time everywhere: sums stop at the largest number."""
    for path in run.glob("*.fd"):
        content = bytearray(path.read_bytes())
        for at in many_ranks.contexts(content):
            struct.pack_into("<Q", content, at + many_ranks.SELF, 2**64 - 1)
        path.write_bytes(content)
    target = run.parent / "run.parquet"
    assert main(["merge", str(run), "-o", str(target)]) == 0
    figures = fastdispatch.scan(target)
    assert figures.sql("SELECT max(self) FROM reduced").fetchall() == [(2**64 - 1,)]
    assert figures.sql("SELECT count(DISTINCT rank) FROM figures WHERE total > 0").fetchall() == [(RANKS,)]


def test_a_lost_partition(run: Path, group_size: int, target: Path) -> None:
    """Queries refuse to leave its ranks out; the next merge writes it again, from all of its recordings only."""
    counts = "SELECT count(*), sum(calls)::BIGINT FROM figures"
    expected = fastdispatch.scan(target).sql(counts).fetchall()
    lost = min(target.glob("figures/*.parquet"))
    lost.unlink()
    assert f"{lost}: lost: run fastdispatch merge again" in commands.error("sql", target, counts)
    (group,) = (each for each in run_manifest.load(target).groups if each.name == lost.stem)
    other = f"{lost} is lost: also give {group.inputs[1].path}"
    assert other in commands.error("merge", group.inputs[0].path, "-o", f"{target}/")
    assert main(["merge", str(run), "-o", f"{target}/"]) == 0
    assert fastdispatch.scan(target).sql(counts).fetchall() == expected


def test_lost_sums(run: Path, target: Path) -> None:
    whole = (target / "whole.json.gz").read_bytes()
    shutil.rmtree(target / "parts")
    (target / "whole.json.gz").unlink()
    (target / "settled.json.gz").unlink(missing_ok=True)
    assert "no sum of ranks in this data set" in commands.error("report", target)
    assert main(["merge", str(run), "-o", f"{target}/"]) == 0
    assert (target / "whole.json.gz").read_bytes() == whole


def test_a_damaged_manifest_destroys_nothing(run: Path, target: Path) -> None:
    files = sorted(target.rglob("*"))
    (target / "manifest.json").write_text('{"format": "fastd')
    error = commands.error("merge", run / "rank00000.fd", "-o", f"{target}/")
    assert "manifest.json: not the manifest of a data set" in error
    assert sorted(target.rglob("*")) == files


class Breaking(io.BytesIO):
    """A file of a store whose connection breaks at once, or after the first piece."""

    pieces = 0

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() or not self.pieces:
            raise OSError("connection reset by peer")
        return super().read(4096)


@pytest.mark.parametrize("pieces", [0, 1])
def test_a_store_that_breaks_within_a_file(
    pieces: int, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Breaking, "pieces", pieces)
    store = fsspec.filesystem("memory")
    store.pipe({f"/breaking/{path.name}": path.read_bytes() for path in run.glob("*.fd")})
    opened = type(store).open

    def open_(self: Any, path: str, *arguments: Any, **options: Any) -> Any:
        file = opened(self, path, *arguments, **options)
        return Breaking(file.read()) if f"rank0000{BAD}" in path else file

    monkeypatch.setattr(type(store), "open", open_)
    target = tmp_path / "run.parquet"
    assert commands.error("merge", "memory://breaking", "-o", target, status=1).splitlines() == [
        f"fastdispatch: skipped: memory:///breaking/rank0000{BAD}.fd: connection reset by peer",
        f"fastdispatch: rank {BAD} of {RANKS} is missing",
    ]
    monkeypatch.undo()
    assert main(["merge", "memory://breaking", "-o", str(target)]) == 0
    assert sorted(run_manifest.load(target).ranks) == list(range(RANKS))


def changed(**values: Any) -> Callable[[Path], object]:
    def change(path: Path) -> None:
        manifest = json.loads(path.read_text())
        manifest["groups"][0] |= values
        path.write_text(json.dumps(manifest))

    return change


def without_footer(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-100] + bytes(60) + content[-40:])


MANIFEST = "not the manifest of a data set: run fastdispatch merge again"
DAMAGED = "damaged: remove the data set and run fastdispatch merge again"
IN_SET: list[tuple[str, Callable[[Path], object], str]] = [
    ("figures/*", lambda path: path.write_bytes(path.read_bytes()[:-30]), DAMAGED),
    ("jobs/*", lambda path: path.write_bytes(b"PAR1xx"), DAMAGED),
    ("steps/*", without_footer, DAMAGED),
    ("paths.parquet", lambda path: path.write_bytes(path.read_bytes()[:-30]), DAMAGED),
    ("facts/*", lambda path: path.write_bytes(b"\0" * 100 + path.read_bytes()[100:]), DAMAGED),
    ("ranks/*", lambda path: duckdb.execute(f"COPY (SELECT 1 AS other) TO '{path}' (FORMAT parquet)"), ""),
    ("threads", shutil.rmtree, "lost: run fastdispatch merge again"),
    ("threads/*", fifo, "lost: run fastdispatch merge again"),
    ("manifest.json", lambda path: path.write_text('{"groups": ['), ""),
    ("manifest.json", lambda path: path.write_text('{"format": "fastdispatch-dataset/1"}'), MANIFEST),
    ("manifest.json", changed(inputs={"path": 1}), MANIFEST),
    ("manifest.json", changed(inputs=[]), MANIFEST),
    ("manifest.json", changed(world=10**30), MANIFEST),
    ("manifest.json", changed(name="[" * 200000), MANIFEST),
    ("manifest.json", changed(name="../../group-0123456789abcdef"), MANIFEST),
]
COMMANDS = """
report F
findings F
html F -o o.html
diff F run
diff F --ranks outliers
svg F -o o.dot
stacks F
top F --once
export callgraph F -o made
export pprof F -o o
anonymize F -o o.json
sql F slowest-rank
merge run -o F
""".strip().splitlines()


@pytest.mark.parametrize(("place", "damage", "reason"), IN_SET)
def test_a_damaged_data_set_is_one_line(
    place: str, damage: Callable[[Path], object], reason: str, run: Path, target: Path
) -> None:
    """Whatever the command; each names the damaged file. A merge that writes the file again works."""
    file = next(target.glob(place))
    damage(file)
    assert mutants.faults(COMMANDS, run.parent) == []
    if reason:
        name = file if file.is_file() or place == "manifest.json" else ""
        with pytest.raises(fastdispatch.Error, match=f"{re.escape(str(name))}.*{reason}"):
            opened = fastdispatch.scan(target)
            opened.rows(opened.sql("SELECT * FROM facts, paths, figures, steps, jobs"))


@pytest.mark.parametrize("name", ["a[b]", "a*?", "x=1", "[!a", "q'q", "~"])
def test_any_path_of_a_data_set(name: str, run: Path) -> None:
    (run.parent / "a[b]").mkdir()
    target = run.parent / "a[b]" / name
    assert main(["merge", str(run), "-o", f"{target}/"]) == 0
    assert len(fastdispatch.scan(target).sql("FROM ranks").fetchall()) == RANKS
    assert main(["merge", str(run), "-o", f"{target}/"]) == 0


@pytest.mark.parametrize("place", ["other", "figures", "parts", "jobs.partial", ".fastdispatch-dataset"])
def test_links_out_of_a_data_set_are_not_followed(place: str, run: Path, target: Path) -> None:
    outside = run.parent / "outside"
    outside.mkdir()
    for name in ("group-mine.parquet", "group-mine.partial", "group-0123456789abcdef.whole.json.gz"):
        (outside / name).write_text("mine")
    before = sorted(outside.iterdir())
    shutil.rmtree(target / place) if (target / place).is_dir() else (target / place).unlink(missing_ok=True)
    (target / place).symlink_to(outside if "." not in place else outside / "new")
    main(["merge", str(run), "-o", f"{target}/"])
    assert sorted(outside.iterdir()) == before
