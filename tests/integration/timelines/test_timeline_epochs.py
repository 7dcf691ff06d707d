"""Timelines whose times count from any epoch, to the nanosecond: torch.profiler up to 2.3 writes Unix microseconds."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.consumers.perfetto import assert_clean, open_trace, query

#: Microseconds: Unix, 1900 (NTP), years before 1970, and since the start of the machine.
EPOCHS = ["1700000000000000.123", "3908988800000000.001", "-1700000000000000.877", "12345.678"]

Event = dict[str, Any]


def run(*arguments: object) -> tuple[str, str]:
    status, output, errors = commands.run("timeline", *arguments)
    assert status == 0, errors
    return output, errors


def write(path: Path, epoch: str) -> Path:
    """Two steps of 100 us with a slice, a pair, an asynchronous pair and a flow each."""
    lines = []

    def add(offset: str, **fields: Any) -> None:
        event = json.dumps({"pid": 1, "tid": 2} | fields)[:-1]
        lines.append(f'{event}, "ts": {Decimal(epoch) + Decimal(offset)}}}')

    add("0", ph="M", name="process_name", args={"name": "python"})
    for step in range(2):
        add(str(step * 100), ph="X", cat="user_annotation", name=f"ProfilerStep#{step}", dur=100)
        add(f"{step * 100 + 1}.001", ph="X", cat="cpu_op", name="mul", dur=10.5)
        add(f"{step * 100 + 2}.002", ph="s", cat="go", name="go", id=step)
        add(f"{step * 100 + 20}", ph="B", cat="cpu_op", name="pair")
        add(f"{step * 100 + 21}.5", ph="f", bp="e", cat="go", name="go", id=step)
        add(f"{step * 100 + 30}.25", ph="E", cat="cpu_op", name="pair")
        add(f"{step * 100 + 40}", ph="b", cat="load", name="load", id2={"local": hex(step)})
        add(f"{step * 100 + 50}.007", ph="e", cat="load", name="load", id2={"local": hex(step)})
    path.write_text('{"traceEvents": [\n' + ",\n".join(lines) + "\n]}")
    return path


def load(path: Path) -> list[Event]:
    events: list[Event] = json.loads(path.read_text(), parse_float=Decimal, parse_int=Decimal)["traceEvents"]
    return [event for event in events if event["ph"] != "M"]


def key(event: Event) -> tuple[Decimal, str, str]:
    return Decimal(event["ts"]), event["ph"], event["name"]


@pytest.fixture(params=EPOCHS)
def epoch(request: pytest.FixtureRequest) -> str:
    made: str = request.param
    return made


def test_stats(tmp_path: Path, epoch: str) -> None:
    path = write(tmp_path / "rank0.json", epoch)
    text, warnings = run("stats", "--json", path)
    made = json.loads(text)
    assert warnings == ""
    start = int(Decimal(epoch) * 1000)
    assert [row["start"] for row in made["steps"]] == [start, start + 100_000]
    assert [row["busy"] for row in made["steps"]] == [10_500 + 10_250] * 2
    counts = {row["name"]: (row["count"], row["total"]) for row in made["names"]}
    assert counts == {"mul": (2, 21_000), "pair": (2, 20_500), "load": (2, 20_014)}
    text, _ = run("stats", path)
    assert "2 steps" in text and "200 us" in text


def test_parts(tmp_path: Path, epoch: str) -> None:
    path = write(tmp_path / "rank0.json", epoch)
    for window in (("--time", "100us:200us"), ("--time", "100us:"), ("--steps", "1")):
        _, printed = run("merge", path, "-o", tmp_path / "part.json", *window)
        assert printed == ""
        assert sorted(map(key, load(tmp_path / "part.json"))) == sorted(map(key, load(path)))[8:]


def test_check(tmp_path: Path, epoch: str) -> None:
    path = write(tmp_path / "rank0.json", epoch)
    if epoch[0] != "-":
        run("check", path)
    else:
        status, output, _ = commands.run("timeline", "check", "--json", path)
        (file,) = json.loads(output)["files"]
        assert status == 1
        assert [(fault["kind"], fault["count"]) for fault in file["faults"]] == [("negative", 16)]


def test_merge(tmp_path: Path, epoch: str) -> None:
    path = write(tmp_path / "rank0.json", epoch)
    before = list(map(key, load(path)))
    for options, expected in (([], before), (["--sorted"], sorted(before, key=lambda row: row[0]))):
        run("merge", path, "-o", tmp_path / "out.json", *options)
        assert list(map(key, load(tmp_path / "out.json"))) == expected
    run("merge", path, "-o", tmp_path / "start.json", "--align", "start")
    assert min(map(key, load(tmp_path / "start.json")))[0] == 0


@pytest.mark.parametrize("epoch", EPOCHS[:2] + EPOCHS[3:])
def test_native(tmp_path: Path, epoch: str) -> None:
    path = write(tmp_path / "rank0.json", epoch)
    run("merge", path, "-o", tmp_path / "out.pftrace")
    start = int(Decimal(epoch) * 1000)
    with open_trace(tmp_path / "out.pftrace") as processor:
        assert_clean(processor)
        rows = query(processor, "select ts, dur from slice where name in ('mul', 'pair') order by ts")
    found = [(row["ts"] - start, row["dur"]) for row in rows]
    assert found == [(1_001, 10_500), (20_000, 10_250), (101_001, 10_500), (120_000, 10_250)]
