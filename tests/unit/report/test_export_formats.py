"""``export folded | speedscope | pprof | graphml | csv | sqlite``, read by other programs."""

from __future__ import annotations

import ast
import csv
import gzip
import importlib.util
import io
import itertools
import json
import sqlite3
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.read import tables
from tests import processes, programs
from tests.unit.report.call_trees import Dump

#: Times of call trees are milliseconds.
MS = 1_000_000

HOSTILE = 'a.py:[]:</script>;"é\u202e&'
STEP = ("train.py:[]:step", 3, 11, [("nn.py:[Net]:forward", 3, 5, [("op:aten::mm", 6, 20)]), (HOSTILE, 1, 2)])

#: The part of https://www.speedscope.app/file-format-schema.json about files with evented profiles.
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "profiles", "shared"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "exporter": {"type": "string"},
        "shared": {
            "type": "object",
            "required": ["frames"],
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "number"},
                            "col": {"type": "number"},
                        },
                        "additionalProperties": False,
                    },
                }
            },
        },
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "name", "unit", "startValue", "endValue", "events"],
                "properties": {
                    "type": {"const": "evented"},
                    "unit": {"enum": ["none", "nanoseconds"]},
                    "events": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["type", "frame", "at"],
                            "properties": {
                                "type": {"enum": ["O", "C"]},
                                "frame": {"type": "integer", "minimum": 0},
                                "at": {"type": "number"},
                            },
                            "additionalProperties": False,
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return Dump([STEP], [("train.py:[]:step", 1, 4)]).write(tmp_path / "dump.json")


def export(*arguments: object) -> None:
    result = processes.fastdispatch("export", *arguments)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def stacks_of(profile: dict[str, Any], frames: list[dict[str, Any]]) -> dict[tuple[str, ...], int]:
    """Self time of each stack, summed as in the viewer."""
    own: dict[tuple[str, ...], int] = {}
    stack: list[str] = []
    at = profile["startValue"]
    for event in profile["events"]:
        own[tuple(stack)] = own.get(tuple(stack), 0) + event["at"] - at
        at = event["at"]
        if event["type"] == "O":
            stack.append(frames[event["frame"]]["name"])
        else:
            assert stack.pop() == frames[event["frame"]]["name"]
    assert not stack and at == profile["endValue"]
    return {names: time for names, time in own.items() if time}


def test_folded_stacks_of_all_ranks(dump: Path, tmp_path: Path) -> None:
    export("folded", dump, "-o", tmp_path / "stacks.txt")
    lines = dict(line.rsplit(" ", 1) for line in (tmp_path / "stacks.txt").read_text().splitlines())
    assert lines == {
        "main;train.py:[]:step": f"{15 * MS}",
        "main;train.py:[]:step;nn.py:[Net]:forward": f"{5 * MS}",
        "main;train.py:[]:step;nn.py:[Net]:forward;aten::mm": f"{20 * MS}",
        "main;train.py:[]:step;" + HOSTILE.replace(";", ":"): f"{2 * MS}",
    }


def test_speedscope_adds_up_to_the_recording(dump: Path, tmp_path: Path) -> None:
    export("speedscope", dump, "-o", tmp_path / "profile.json")
    document = json.loads((tmp_path / "profile.json").read_text())
    jsonschema.validate(document, SPEEDSCOPE)
    frames = document["shared"]["frames"]
    assert [profile["name"] for profile in document["profiles"]] == ["rank 0: main", "rank 1: main"]
    assert stacks_of(document["profiles"][0], frames) == {
        ("main", "step"): 11 * MS,
        ("main", "step", "Net.forward"): 5 * MS,
        ("main", "step", "Net.forward", "aten::mm"): 20 * MS,
        ("main", "step", HOSTILE.split(":", 2)[2]): 2 * MS,
    }
    assert stacks_of(document["profiles"][1], frames) == {("main", "step"): 4 * MS}


def published_profile() -> Any:
    """The message ``perftools.profiles.Profile`` as a package on PyPI publishes it: its module is older than what
    protobuf runs, the description inside is not."""
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


def test_pprof_agrees(dump: Path, tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    pytest.importorskip("pypprof")
    export("pprof", dump, "-o", tmp_path / "profile.pb.gz")
    profile = published_profile().FromString(gzip.decompress((tmp_path / "profile.pb.gz").read_bytes()))
    texts = profile.string_table
    functions = {one.id: texts[one.name] for one in profile.function}
    names = {one.id: functions[one.line[0].function_id] for one in profile.location}
    assert texts[0] == ""
    assert [(texts[one.type], texts[one.unit]) for one in profile.sample_type] == [
        ("calls", "count"),
        ("cpu", "nanoseconds"),
        ("gpu", "nanoseconds"),
        ("resumes", "count"),
        ("flops", "count"),
        ("communicated", "bytes"),
        ("allocated", "bytes"),
    ]
    assert texts[profile.default_sample_type] == "cpu"
    found = {tuple(names[one] for one in sample.location_id): list(sample.value) for sample in profile.sample}
    step = ("train.py:[]:step", "main")
    assert found == {
        step: [4, 15 * MS, 0, 0, 0, 0, 0],
        ("nn.py:[Net]:forward", *step): [3, 5 * MS, 0, 0, 0, 0, 0],
        ("aten::mm", "nn.py:[Net]:forward", *step): [6, 20 * MS, 0, 0, 0, 0, 0],
        (HOSTILE, *step): [1, 2 * MS, 0, 0, 0, 0, 0],
    }


def test_pprof_of_steps_begins_with_them(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    pytest.importorskip("pypprof")
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        for _ in range(20):
            programs.leaf(1)
            graph.step()
    profiles = {}
    for name, option in (("whole", ["--all-time"]), ("steps", ["--steps", "8:12"])):
        export("pprof", tmp_path, *option, "-o", tmp_path / name)
        profiles[name] = published_profile().FromString((tmp_path / name).read_bytes())
    whole, steps = profiles["whole"], profiles["steps"]
    window = fastdispatch.load(tmp_path, steps=(8, 11)).window
    assert window is not None and window.first > 0
    marks = fastdispatch.load(tmp_path).ranks[0]["marks"]
    before, last = marks["number"].index(window.first - 1), marks["number"].index(window.last)
    assert steps.time_nanos - whole.time_nanos == marks["end"][before] > 0
    assert steps.duration_nanos == marks["recorded"][last] - marks["recorded"][before] < whole.duration_nanos


def read_profile(path: Path) -> tuple[Any, dict[tuple[str, ...], list[int]]]:
    """A profile, and its values by stack."""
    profile = published_profile().FromString(gzip.decompress(path.read_bytes()))
    texts = profile.string_table
    functions = {one.id: texts[one.name] for one in profile.function}
    names = {one.id: functions[one.line[0].function_id] for one in profile.location}
    found: dict[tuple[str, ...], list[int]] = {}
    for sample in profile.sample:
        values = found.setdefault(tuple(names[one] for one in sample.location_id), [0] * len(sample.value))
        values[:] = [a + b for a, b in zip(values, sample.value, strict=True)]
    return profile, found


def test_profiles_of_a_running_job_add_up(tmp_path: Path) -> None:
    """Three exports while it records: each has the calls of its part, and the end of the last as its start."""
    pytest.importorskip("google.protobuf")
    pytest.importorskip("pypprof")
    state, calls = tmp_path / "state.pb.gz", (3, 5, 0)
    parts = []
    with fastdispatch.CallGraph(tmp_path / "run", ops="off") as graph:
        for number, count in enumerate(calls):
            for _ in range(count):
                programs.leaf(1)
                graph.step()
            export("pprof", tmp_path / "run", "--since", state, "-o", tmp_path / f"{number}.pb.gz")
            parts.append(read_profile(tmp_path / f"{number}.pb.gz"))
    whole, sums = read_profile(state)
    leaf = [[values[0] for stack, values in found.items() if stack[0].endswith(":leaf")] for _, found in parts]
    assert leaf == [[3], [5], []]
    added: dict[tuple[str, ...], list[int]] = {}
    for _, found in parts:
        for stack, values in found.items():
            added[stack] = [a + b for a, b in zip(values, added.get(stack, [0] * 7), strict=True)]
    assert added == sums
    times = [(profile.time_nanos, profile.duration_nanos) for profile, _ in parts]
    assert times[0][0] == whole.time_nanos
    assert all(begin + length == after for (begin, length), (after, _) in itertools.pairwise(times))
    assert sum(length for _, length in times) == whole.duration_nanos
    assert min(length for _, length in times) > 0


def test_a_profile_of_another_recording_begins_anew(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fastdispatch.CallGraph(tmp_path / "run", ops="off"):
        programs.leaf(1)
    state, added, whole = tmp_path / "state.pb", tmp_path / "added.pb", tmp_path / "whole.pb"
    for source in (dump, tmp_path / "run"):
        assert main(["export", "pprof", str(source), "--since", str(state), "-o", str(added)]) == 0
    assert "has another recording: the profile begins with the start of this one" in capsys.readouterr().err
    export("pprof", tmp_path / "run", "--all-time", "-o", whole)
    assert added.read_bytes() == whole.read_bytes() == state.read_bytes()


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        (b"\x1f\x8bno", [], "not a profile of fastdispatch export pprof"),
        (b"\x0a\x7f", [], "not a profile of fastdispatch export pprof"),
        (b"", [], "not a profile of fastdispatch export pprof"),
        (b"\x0a\x02\x08\x09", [], "a type of samples without its text"),
        (None, ["--steps", "0:1"], "--since compares profiles of the whole recording"),
        (None, ["--rank", "1"], "has larger figures than the recording: was it written with another --rank?"),
    ],
)
def test_unusable_earlier_profiles(
    dump: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    options: list[str],
    problem: str,
) -> None:
    state = tmp_path / "state.pb"
    if content is None:
        export("pprof", dump, "--all-time", "-o", state)
    else:
        state.write_bytes(content)
    before = state.read_bytes()
    command = ["export", "pprof", dump, "--since", state, *options, "-o", tmp_path / "added.pb"]
    assert main(list(map(str, command))) == 2
    assert problem in capsys.readouterr().err
    assert state.read_bytes() == before and not (tmp_path / "added.pb").exists()


@pytest.mark.torch
def test_pprof_has_measured_figures(tmp_path: Path) -> None:
    """A product of 8 x 8 numbers: 2 * 8**3 FLOPs, 256 bytes of result; its first row, 32 bytes, is reduced."""
    pytest.importorskip("google.protobuf")
    pytest.importorskip("pypprof")
    torch = pytest.importorskip("torch")
    x = torch.ones(8, 8)
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with fastdispatch.CallGraph(tmp_path / "run", measure="flops,memory,comm"):
            y = x @ x
            torch.distributed.all_reduce(y[0])
    finally:
        torch.distributed.destroy_process_group()
    export("pprof", tmp_path / "run", "-o", tmp_path / "profile.pb")
    profile = published_profile().FromString((tmp_path / "profile.pb").read_bytes())
    texts = profile.string_table
    functions = {one.id: texts[one.name] for one in profile.function}
    found = {
        (texts[kind.type], functions[sample.location_id[0]]): value
        for sample in profile.sample
        for kind, value in zip(profile.sample_type, sample.value, strict=True)
        if value
    }
    assert {name: value for (kind, name), value in found.items() if kind == "flops"} == {"aten::mm": 2 * 8**3}
    assert {name: value for (kind, name), value in found.items() if kind == "communicated"} == {"c10d::allreduce_": 32}
    assert found["allocated", "aten::mm"] == 256


def test_networkx_reads_the_graph(dump: Path, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    export("graphml", dump, "-o", tmp_path / "graph.graphml")
    graph = networkx.read_graphml(tmp_path / "graph.graphml")
    keys = networkx.get_node_attributes(graph, "key")
    assert set(keys.values()) == {"train.py:[]:step", "nn.py:[Net]:forward", "aten::mm", HOSTILE}
    edges = {(keys[a], keys[b]): figures for a, b, figures in graph.edges(data=True)}
    assert edges[("nn.py:[Net]:forward", "aten::mm")] == {"calls": 6, "resumes": 0, "total_ns": 20 * MS}
    assert len(edges) == 3
    export("graphml", dump, "--ops", "none", "-o", tmp_path / "python.graphml")
    assert len(networkx.read_graphml(tmp_path / "python.graphml")) == 3


@pytest.mark.parametrize("name", tables.NAMES)
def test_every_table_as_csv(dump: Path, tmp_path: Path, name: str) -> None:
    export("csv", dump, "--table", name, "-o", tmp_path / "table.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "table.csv").read_text())))
    columns = tables.table(fastdispatch.load(dump), name)
    assert rows[0] == list(columns)
    assert rows[1:] == [[str(value) for value in row] for row in zip(*columns.values(), strict=True)]
    assert name in ("modules", "steps", "jobs") or len(rows) > 1


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


def test_numbers_that_sqlite_has_no_integers_for(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Large numbers of a damaged recording are stored as text and counted; queries still work."""
    large = 2**64 - 1
    content = json.loads(dump.read_text())
    content["ranks"][0]["figures"]["self"][1] = str(large)
    content["ranks"][0]["file_bytes"] = str(2**63)
    (tmp_path / "damaged.json").write_text(json.dumps(content))
    assert main(["export", "sqlite", str(tmp_path / "damaged.json"), "-o", str(tmp_path / "x.sqlite")]) == 0
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
    reported = capsys.readouterr().err
    assert "numbers of more than 63 bits are stored as text" in reported and reported.count("\n") == 1
    assert int(reported.split(": ")[2].split()[0]) >= 2


def test_bad_input_is_one_line(dump: Path, tmp_path: Path) -> None:
    for arguments, printed in (
        (["csv", dump, "--table", "nodes", "--rank", 0, "-o", tmp_path / "x"], "nodes covers all ranks"),
        (["sqlite", dump, "-o", tmp_path / "no" / "x"], "cannot write"),
        (["folded", dump, "--weight", "flops", "-o", tmp_path / "x"], "has no FLOPs: record with --measure flops"),
        (["folded", dump, "--rank", 9, "-o", tmp_path / "x"], "rank 9 is not in this trace"),
    ):
        result = processes.fastdispatch("export", *arguments)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1 and printed in result.stderr
    trace = fastdispatch.load(dump)
    for weight in ("gpu", "flops"):
        with pytest.raises(fastdispatch.Error, match="not by GPU or FLOPs"):
            trace.export("dot", weight=weight)


def test_equal_content_is_equal_bytes(dump: Path) -> None:
    for name in ("folded", "speedscope", "pprof", "graphml"):
        assert fastdispatch.load(dump).export(name) == fastdispatch.load(dump).export(name)
