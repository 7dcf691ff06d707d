"""``export folded | pprof | sqlite``, read by other programs; ``export callgraph``: two sorted lists per rank."""

import ast
import gzip
import importlib.util
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.read import tables
from tests import commands, programs
from tests.unit.report.call_trees import Dump

#: Times of call trees are milliseconds.
MS = 1_000_000

HOSTILE = 'a.py:[]:</script>;"é\u202e&'
STEP = ("train.py:[]:step", 3, 11, [("nn.py:[Net]:forward", 3, 5, [("op:aten::mm", 6, 20)]), (HOSTILE, 1, 2)])


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return Dump([STEP], [("train.py:[]:step", 1, 4)]).write(tmp_path / "dump.json")


def export(*arguments: object) -> None:
    assert commands.run("export", *arguments) == (0, "", "")


def test_folded_stacks_of_all_ranks(dump: Path, tmp_path: Path) -> None:
    export("folded", dump, "-o", tmp_path / "stacks.txt")
    lines = dict(line.rsplit(" ", 1) for line in (tmp_path / "stacks.txt").read_text().splitlines())
    assert lines == {
        "main;train.py:[]:step": f"{15 * MS}",
        "main;train.py:[]:step;nn.py:[Net]:forward": f"{5 * MS}",
        "main;train.py:[]:step;nn.py:[Net]:forward;aten::mm": f"{20 * MS}",
        "main;train.py:[]:step;" + HOSTILE.replace(";", ":"): f"{2 * MS}",
    }


def test_folded_stacks_without_the_figure_count_calls(dump: Path) -> None:
    """The order is depth-first; callees are in the order of the trace."""
    trace = fastdispatch.load(dump)
    lines = [
        "main;train.py:[]:step 3",
        f"main;train.py:[]:step;{HOSTILE.replace(';', ':')} 1",
        "main;train.py:[]:step;nn.py:[Net]:forward 3",
        "main;train.py:[]:step;nn.py:[Net]:forward;aten::mm 6",
    ]
    for weight in ("calls", "gpu"):
        assert trace.export("folded", rank=0, weight=weight).decode().splitlines() == lines
    assert trace.export("folded", rank=1) == f"main;train.py:[]:step {4 * MS}\n".encode()
    with pytest.raises(fastdispatch.Error, match="weight=heavy is unknown"):
        trace.export("folded", weight="heavy")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def published_profile() -> Any:
    """The message ``perftools.profiles.Profile`` as a package on PyPI publishes it: its module is older than what
    protobuf runs, the description inside is not."""
    pytest.importorskip("google.protobuf")
    pytest.importorskip("pypprof")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    folder = importlib.util.find_spec("pypprof").submodule_search_locations[0]  # type: ignore[union-attr, index]
    tree = ast.parse((Path(folder) / "profile_pb2.py").read_text())
    texts = [
        keyword.value.args[0].value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "serialized_pb" and isinstance(keyword.value, ast.Call)
    ]
    description = descriptor_pb2.FileDescriptorProto.FromString(texts[0].encode("latin1"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(description)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perftools.profiles.Profile"))


def test_pprof_agrees(dump: Path, tmp_path: Path, published_profile: Any) -> None:
    export("pprof", dump, "-o", tmp_path / "profile.pb.gz")
    profile = published_profile.FromString(gzip.decompress((tmp_path / "profile.pb.gz").read_bytes()))
    texts = profile.string_table
    functions = {one.id: texts[one.name] for one in profile.function}
    names = {one.id: functions[one.line[0].function_id] for one in profile.location}
    assert texts[0] == ""
    assert [(texts[one.type], texts[one.unit]) for one in profile.sample_type] == [
        ("calls", "count"),
        ("cpu", "nanoseconds"),
        ("gpu", "nanoseconds"),
        ("resumes", "count"),
        ("communicated", "bytes"),
        ("allocated", "bytes"),
    ]
    assert texts[profile.default_sample_type] == "cpu"
    found = {tuple(names[one] for one in sample.location_id): list(sample.value) for sample in profile.sample}
    step = ("train.py:[]:step", "main")
    assert found == {
        step: [4, 15 * MS, 0, 0, 0, 0],
        ("nn.py:[Net]:forward", *step): [3, 5 * MS, 0, 0, 0, 0],
        ("aten::mm", "nn.py:[Net]:forward", *step): [6, 20 * MS, 0, 0, 0, 0],
        (HOSTILE, *step): [1, 2 * MS, 0, 0, 0, 0],
    }


def test_pprof_of_steps_begins_with_them(tmp_path: Path, published_profile: Any) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        for _ in range(20):
            programs.leaf(1)
            graph.step()
    profiles = {}
    for name, option in (("whole", ["--steps", "all"]), ("steps", ["--steps", "8:12"])):
        export("pprof", tmp_path, *option, "-o", tmp_path / name)
        profiles[name] = published_profile.FromString((tmp_path / name).read_bytes())
    whole, steps = profiles["whole"], profiles["steps"]
    window = fastdispatch.load(tmp_path, steps=(8, 11)).window
    assert window is not None and window.first > 0
    marks = fastdispatch.load(tmp_path).ranks[0]["marks"]
    before, last = marks["number"].index(window.first - 1), marks["number"].index(window.last)
    assert steps.time_nanos - whole.time_nanos == marks["end"][before] > 0
    assert steps.duration_nanos == marks["recorded"][last] - marks["recorded"][before] < whole.duration_nanos


@pytest.mark.torch
def test_pprof_has_measured_figures(tmp_path: Path, published_profile: Any) -> None:
    """A product of 8 x 8 numbers: 256 bytes of result; its first row, 32 bytes, is reduced."""
    torch = pytest.importorskip("torch")
    x = torch.ones(8, 8)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with fastdispatch.CallGraph(tmp_path / "run", measure="memory,comm"):
            y = x @ x
            torch.distributed.all_reduce(y[0])
    finally:
        torch.distributed.destroy_process_group()
    export("pprof", tmp_path / "run", "-o", tmp_path / "profile.pb")
    profile = published_profile.FromString((tmp_path / "profile.pb").read_bytes())
    texts = profile.string_table
    functions = {one.id: texts[one.name] for one in profile.function}
    found = {
        (texts[kind.type], functions[sample.location_id[0]]): value
        for sample in profile.sample
        for kind, value in zip(profile.sample_type, sample.value, strict=True)
        if value
    }
    assert {name: value for (kind, name), value in found.items() if kind == "communicated"} == {"c10d::allreduce_": 32}
    assert found["allocated", "aten::mm"] == 256


def test_one_query_finds_the_slow_rank(dump: Path, tmp_path: Path) -> None:
    for _ in range(2):
        export("sqlite", dump, "-o", tmp_path / "run.sqlite")
    database = sqlite3.connect(tmp_path / "run.sqlite")
    slowest = database.execute(
        "SELECT key, sum(figures.self) FROM figures JOIN contexts ON context = contexts.id"
        " JOIN nodes ON node = nodes.id WHERE rank = 0 GROUP BY key ORDER BY 2 DESC LIMIT 2"
    ).fetchall()
    assert slowest == [("aten::mm", 20 * MS), ("train.py:[]:step", 11 * MS)]
    trace = fastdispatch.load(dump)
    for name, columns in tables.all_tables(trace):
        count = len(next(iter(columns.values())))
        assert database.execute(f"SELECT count(*) FROM {name}").fetchone() == (count,)
    database.close()
    assert [path.name for path in tmp_path.iterdir() if "run" in path.name] == ["run.sqlite"]


def test_numbers_that_sqlite_has_no_integers_for(dump: Path, tmp_path: Path) -> None:
    """Large numbers of a damaged recording are stored as text and counted; queries still work."""
    large = 2**64 - 1
    content = json.loads(dump.read_text())
    content["ranks"][0]["figures"]["self"][1] = str(large)
    content["ranks"][0]["file_bytes"] = str(2**63)
    (tmp_path / "damaged.json").write_text(json.dumps(content))
    words = ("export", "sqlite", tmp_path / "damaged.json", "-o", tmp_path / "x.sqlite")
    reported = commands.error(*words, status=0)
    database = sqlite3.connect(tmp_path / "x.sqlite")
    found = sum(
        database.execute(
            f"SELECT count(*) FROM {name} WHERE typeof({column}) = 'text' AND {column} GLOB '[0-9]*'"
        ).fetchone()[0]
        for name, column in (("figures", "self"), ("ranks", "file_bytes"))
    )
    assert found == 2
    assert database.execute("SELECT self FROM figures WHERE typeof(self) = 'text'").fetchone() == (str(large),)
    assert database.execute("SELECT count(*) FROM contexts").fetchone()[0] > 1
    database.close()
    assert "numbers of more than 63 bits are stored as text" in reported and reported.count("\n") == 1
    assert int(reported.split(": ")[2].split()[0]) >= 2


def test_formats_and_weights_that_do_not_exist(dump: Path) -> None:
    below = dump / "below-a-file"
    line = commands.complaint("export", "callgraph", dump, "--rank", 0, "-o", below)
    assert line.startswith(f"fastdispatch: {below}: cannot ")
    trace = fastdispatch.load(dump)
    with pytest.raises(ValueError, match="format=nothing is unknown"):
        trace.export("nothing")  # type: ignore[arg-type]
    with pytest.raises(fastdispatch.Error, match="weight=heavy: a picture has weight=time or calls or gpu"):
        trace.export("dot", weight="heavy")  # type: ignore[arg-type]


def test_equal_content_is_equal_bytes(dump: Path) -> None:
    for name in ("folded", "pprof"):
        assert fastdispatch.load(dump).export(name) == fastdispatch.load(dump).export(name)


def names(graph: dict[str, list[str]]) -> set[str]:
    return set(graph["nodes"])


def test_every_rank_gets_its_own(tmp_path: Path) -> None:
    dump = Dump(
        [("a.py:[]:main", 1, 1, [("a.py:[]:send", 1, 1)])], [("a.py:[]:main", 1, 1, [("a.py:[]:receive", 1, 1)])]
    )
    path = dump.write(tmp_path / "dump.json")
    export("callgraph", path, "-o", tmp_path / "new" / "folder")
    graphs = [json.loads((tmp_path / "new" / "folder" / f"call_graph_{rank}.json").read_text()) for rank in (0, 1)]
    assert names(graphs[0]) == {"a.py:[]:main", "a.py:[]:send"}
    assert names(graphs[1]) == {"a.py:[]:main", "a.py:[]:receive"}
    assert graphs[1]["edges"] == ["a.py:[]:main->a.py:[]:receive"]


def test_one_rank_into_one_file(tmp_path: Path) -> None:
    path = Dump([("a.py:[]:zero", 1, 1)], [("a.py:[]:one", 1, 1)]).write(tmp_path / "dump.json")
    export("callgraph", path, "--rank", 1, "-o", tmp_path / "graph.json")
    assert json.loads((tmp_path / "graph.json").read_text()) == {"nodes": ["a.py:[]:one"], "edges": []}
    command = ("export", "callgraph", path, "-o", tmp_path / "both.json")
    assert "one file cannot hold 2 ranks" in commands.complaint(*command)
    missing = "fastdispatch: rank 7 is not in this trace, which has ranks 0, 1\n"
    assert commands.error(*command, "--rank", 7) == missing


def test_names_of_any_kind_stay_json(tmp_path: Path) -> None:
    ugly = ['q"uote', "back\\slash", "new\nline", "<&>", "naïve ∑", "x" * 10_000, "tab\there"]
    calls = [(f"a.py:[]:{name}", 1, 1) for name in ugly]
    trace = Dump([("a.py:[]:main", 1, 1, calls)]).load(tmp_path)
    graph = json.loads(trace.export("callgraph"))
    assert graph["nodes"] == sorted(graph["nodes"])
    assert names(graph) == {f"a.py:[]:{name}" for name in [*ugly, "main"]}
    assert set(graph["edges"]) == {f"a.py:[]:main->a.py:[]:{name}" for name in ugly}


def test_a_recording_gives_exactly_its_edges(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off"):
        programs.classes()
    trace = fastdispatch.load(tmp_path)
    exported = json.loads(trace.export("callgraph", rank=0))
    keys, kinds, edges = trace.nodes["key"], trace.nodes["kind"], trace.edges
    expected = {
        f"{keys[caller]}->{keys[callee]}"
        for caller, callee in zip(edges["caller"], edges["callee"], strict=True)
        if caller >= 0 and kinds[caller] == kinds[callee] == "python"
    }
    assert set(exported["edges"]) == expected
    assert exported["edges"] == sorted(expected)
    assert names(exported) == {key for key, kind in zip(keys, kinds, strict=True) if kind == "python"}
