"""``fastdispatch timeline merge``: all events of all ranks, exact in time, of intact and of damaged files."""

import gzip
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any

import pytest

from tests import commands, processes
from tests.commands import merge_timelines

Event = dict[str, Any]
Trace = dict[str, Any]

BASE = 1_790_857_026_000_000_000
JOINED = "stfbneSTFp"


def merged(folder: Path, *arguments: object) -> Trace:
    out = folder / "merged.json"
    assert merge_timelines(*arguments, "-o", out) == []
    return load(out)


def load(path: Path) -> Trace:
    """Numbers as they are written."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content, parse_float=Decimal)


def write(path: Path, trace: object) -> Path:
    text = json.dumps(trace).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def event(**keys: Any) -> Event:
    return {"ph": "X", "name": "work", "cat": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1} | keys


def is_ours(each: Event) -> bool:
    return each["ph"] == "M" and each["name"] in ("process_name", "process_sort_index")


#: The command line, in a program that has changed its limits.
COMMAND = "from fastdispatch import cli\nsys.exit(cli.main(sys.argv[1:]))"


def content(events: list[Event]) -> Counter[str]:
    """The fields of events that a merge does not change, without rows of processes."""
    rewritten = ("pid", "tid", "ts", "id", "id2", "bind_id")
    kept = [{key: value for key, value in each.items() if key not in rewritten} for each in events if not is_ours(each)]
    return Counter(json.dumps(each, sort_keys=True, default=str) for each in kept)


def generated(rank: int, count: int = 300) -> Trace:
    """A trace with everything in it that is rewritten, and much that is not."""
    choose = random.Random(rank)
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": 4711, "tid": 0, "args": {"name": f"python \u00e9 {rank}"}},
        {"ph": "M", "name": "process_labels", "pid": 4711, "tid": 0, "args": {"labels": "CPU"}},
        {"ph": "M", "name": "process_sort_index", "pid": 0, "tid": 0, "args": {"sort_index": 5_000_000}},
        {"ph": "M", "name": "thread_name", "pid": 4711, "tid": 4711, "args": {"name": "main"}},
    ]
    for at in range(count):
        phase = choose.choice("XXXXiCstfbneNOD")
        pid = choose.choice([4711, 0, "Spans", "", -5])
        each = event(ph=phase, pid=pid, tid=choose.choice([1, 'a "thread"', 2**40]), ts=at + choose.random())
        each["name"] = choose.choice(["aten::add", '\u0000\ud800 \\ "', "void f<int, 4>()"])
        each["args"] = {"big": 2**63 + at, "pid": 7, "ts": 1.5, "nested": [{"id": at}, [], {}], "small": 1e-7}
        if choose.random() < 0.5 or phase in JOINED:
            each["id"] = choose.choice([at, hex(at), f"x{at}", 2**64 - 1 - at])
        if phase in "ben" and choose.random() < 0.5:
            each["id2"] = {"local": at}
        if phase == "X" and choose.random() < 0.3:
            each["bind_id"] = hex(at)
        events.append(each)
    info = {"backend": "nccl", "rank": rank, "world_size": 3}
    return {
        "distributedInfo": info,
        "baseTimeNanoseconds": BASE + rank * 1_000_000_007,
        "traceEvents": events,
        "z": [1],
    }


@pytest.fixture
def ranks(tmp_path: Path) -> list[Trace]:
    (tmp_path / "in").mkdir()
    traces = [generated(rank) for rank in range(3)]
    for rank, trace in enumerate(traces):
        write(tmp_path / "in" / f"{rank}.json", trace)
    return [load(tmp_path / "in" / f"{rank}.json") for rank in range(3)]


def is_added(each: Event) -> bool:
    """A name for a thread that had none."""
    return each["ph"] == "M" and each["name"] == "thread_name" and each["args"]["name"] != "main"


def rank_of(each: Event) -> int:
    return (each["pid"] - 1) // 1024


def test_every_event_is_kept(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in")
    for rank, before in enumerate(ranks):
        after = [each for each in trace["traceEvents"] if rank_of(each) == rank]
        named = [each for each in after if is_added(each)]
        rest = [each for each in after if each not in named]
        assert content(rest) == content(before["traceEvents"])
        assert {each["args"]["name"] for each in named} == {'a "thread"', "tid 0", "tid 1", f"tid {2**40}"}
        assert trace["ranks"][rank]["events"] == len(before["traceEvents"])
        expected = {key: value for key, value in before.items() if key != "traceEvents"}
        assert trace["metadata"][str(rank)] == expected


def test_values_are_kept_byte_for_byte(tmp_path: Path) -> None:
    text = '{"big":123456789012345678901,"f":1.50E+01,"s":"\\u00e9\\/\\ud800\\u0000","x":[1 , 2.0]}'
    (tmp_path / "r0.json").write_text(f'{{"a":{text},"traceEvents":[{{"ph":"X","args":{text}}}]}}')
    merged(tmp_path, tmp_path / "r0.json")
    assert (tmp_path / "merged.json").read_text().count(text) == 2


def test_ids_of_ranks_never_meet(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in")
    seen: dict[str, int] = {}
    for each in trace["traceEvents"]:
        ids = [each.get("bind_id"), *(each.get("id2", {}).values()), each.get("id") if each["ph"] in JOINED else None]
        for number in filter(None, ids):
            assert number.startswith("0x") and int(number, 16) < 2**64
            assert seen.setdefault(number, rank_of(each)) == rank_of(each)
    assert len(seen) > 300
    process_of: dict[int, int] = {}
    for each in trace["traceEvents"]:
        if each.get("tid"):  # 0: of rows about processes
            assert each["tid"] >= 3_000_000_000
            assert process_of.setdefault(each["tid"], each["pid"]) == each["pid"]
    assert len(process_of) > 30
    assert all(0 < each["pid"] < 2**32 and 0 <= each["tid"] < 2**32 for each in trace["traceEvents"] if "tid" in each)


def test_ids_within_a_rank_join_as_before(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in")
    for rank, before in enumerate(ranks):
        pairs = set()
        old = [each for each in before["traceEvents"] if not is_ours(each)]
        new = [each for each in trace["traceEvents"] if rank_of(each) == rank and not is_ours(each)]
        new = [each for each in new if not is_added(each)]
        for a, b in zip(old, new, strict=True):
            assert a["ph"] == b["ph"]
            if a["ph"] in JOINED and "id" in a:
                same = int(a["id"], 16) if isinstance(a["id"], str) and a["id"].startswith("0x") else a["id"]
                pairs.add((same, b["id"]))
        assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)


def test_times_are_exact(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in")
    assert trace["baseTimeNanoseconds"] == BASE
    for rank, before in enumerate(ranks):
        shift = Decimal(rank * 1_000_000_007) / 1000
        old = [Decimal(each["ts"]) + shift for each in before["traceEvents"] if "ts" in each]
        new = [Decimal(each["ts"]) for each in trace["traceEvents"] if "ts" in each and rank_of(each) == rank]
        assert new == old


def test_other_alignments(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in", "--align", "start")
    for rank in range(3):
        begin = min(each["ts"] for each in trace["traceEvents"] if "ts" in each and rank_of(each) == rank)
        assert 0 <= begin < Decimal("0.001")  # a whole number of nanoseconds is taken off
    trace = merged(tmp_path, tmp_path / "in", "--align", "none")
    new = [each["ts"] for each in trace["traceEvents"] if "ts" in each]
    assert new == [each["ts"] for before in ranks for each in before["traceEvents"] if "ts" in each]
    assert {row["align"] for row in trace["ranks"]} == {"none"}


def test_base_time_at_the_end_of_a_viztracer_file(tmp_path: Path) -> None:
    late = {"traceEvents": [event(ts=5)], "viztracer_metadata": {"baseTimeNanoseconds": BASE + 1}}
    early = {"baseTimeNanoseconds": BASE, "traceEvents": [event(ts=5)]}
    trace = merged(tmp_path, write(tmp_path / "r0.json", late), write(tmp_path / "r1.json", early))
    assert [row["offset_ns"] for row in trace["ranks"]] == [1, 0]
    assert trace["traceEvents"][0]["ts"] == Decimal("5.001")


def test_a_missing_common_clock_is_reported(tmp_path: Path) -> None:
    inputs = [
        write(tmp_path / "r0.json", [event(ts=5)]),
        write(tmp_path / "r1.json", {"baseTimeNanoseconds": BASE, "traceEvents": [event(ts=5)]}),
    ]
    (line,) = merge_timelines(*inputs, "-o", tmp_path / "out.json")
    assert "no common clock" in line and "r0.json" in line


def test_processes_are_named_and_in_order(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in")
    rows = [each for each in trace["traceEvents"] if is_ours(each)]
    names = {each["pid"]: each["args"]["name"] for each in rows if each["name"] == "process_name"}
    order = {each["pid"]: each["args"]["sort_index"] for each in rows if each["name"] == "process_sort_index"}
    assert len(rows) == 2 * len(names) == 2 * len(order) == 30
    in_order = [names[pid] for pid in sorted(names, key=order.__getitem__)]
    assert [int(name.split()[1]) for name in in_order] == [0] * 5 + [1] * 5 + [2] * 5
    assert {"rank 1 | python \u00e9 1", "rank 1 | Spans", "rank 1"} <= set(names.values())
    assert in_order[5] == "rank 1"  # the only one with its own index


def test_the_same_bytes_each_time_and_in_gzip(tmp_path: Path, ranks: list[Trace]) -> None:
    packed = tmp_path / "in" / "out.json.gz"
    first = merged(tmp_path, tmp_path / "in")
    assert merge_timelines(tmp_path / "in", "-o", packed) == []
    bytes_of_one = packed.read_bytes()
    assert load(packed) == first
    assert merge_timelines(tmp_path / "in", "-o", packed) == []  # now the folder holds the output
    assert packed.read_bytes() == bytes_of_one


def test_sorted(tmp_path: Path, ranks: list[Trace]) -> None:
    plain, in_order = merged(tmp_path, tmp_path / "in"), merged(tmp_path, tmp_path / "in", "--sorted")
    first = (tmp_path / "merged.json").read_bytes()
    assert merged(tmp_path, tmp_path / "in", "--sorted") == in_order
    assert (tmp_path / "merged.json").read_bytes() == first

    def place(each: Event) -> tuple[int, Decimal]:
        return (
            (0, Decimal(0)) if each["ph"] == "M" else (1, Decimal(each["ts"]).quantize(Decimal("0.001"), ROUND_FLOOR))
        )

    assert in_order["traceEvents"] == sorted(plain["traceEvents"], key=place)
    assert {key: value for key, value in in_order.items() if key != "traceEvents"} == {
        key: value for key, value in plain.items() if key != "traceEvents"
    }


def test_a_full_disk_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "r0.json", [event(ts=at, args={"text": "x" * 300}) for at in range(80_000)])
    limited = f"import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n{COMMAND}"
    words = ("timeline", "merge", "--sorted", "r0.json", "-o", "out/out.json")
    done = processes.python("-c", limited, *words, folder=tmp_path, TMPDIR="")
    line = "fastdispatch: out: cannot store temporary data: File too large (TMPDIR selects another folder)\n"
    assert (done.returncode, done.stderr) == (2, line)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "names",
    [
        ("trace_rank0.json", "trace_rank1.json", "trace_rank10.json"),
        ("4_r0.json", "3_r1.json", "2_r10.json"),
        ("host-0.json", "host-1.json", "host-10.pt.trace.json"),
        ("v1_Rank-0.json", "v1_Rank-1.json", "v1_Rank-10.json"),
    ],
)
def test_ranks_from_names(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        write(tmp_path / name, [event(name=name)])
    out = tmp_path / "out.json.gz"
    (line,) = merge_timelines(tmp_path, "-o", out)
    assert line == "fastdispatch: no trace of rank 2-9"
    assert [(row["rank"], Path(row["file"]).name) for row in load(out)["ranks"]] == list(
        zip((0, 1, 10), names, strict=True)
    )


def test_ranks_from_places(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", [event()]) for name in ("b", "a")]
    trace = merged(tmp_path, *paths)
    assert [row["file"] for row in trace["ranks"]] == list(map(str, paths))


def test_chosen_ranks(tmp_path: Path, ranks: list[Trace]) -> None:
    trace = merged(tmp_path, tmp_path / "in", "--ranks", "0,2-2")
    assert [row["rank"] for row in trace["ranks"]] == [0, 2]
    (line,) = merge_timelines(tmp_path / "in", "--ranks", "1-4", "-o", tmp_path / "out.json")
    assert line == "fastdispatch: no trace of rank 3-4"
    (line,) = merge_timelines(tmp_path / "in", "--ranks", "7", "-o", tmp_path / "out.json", status=2)
    assert "no trace of these ranks" in line
    (line,) = merge_timelines(tmp_path / "in", "--ranks", "3-1", "-o", tmp_path / "out.json", status=2)
    assert "is not a list of ranks" in line


def test_a_rank_given_twice(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [event()]) for name in ("a_r1.json", "b_r1.json")]
    (line,) = merge_timelines(*paths, "-o", tmp_path / "out.json", status=2)
    assert line == f"fastdispatch: rank 1 is in two inputs: {paths[0]} and {paths[1]}"
    assert not (tmp_path / "out.json").exists()


WHOLE = json.dumps({"traceEvents": [event(name=f"n{at}") for at in range(3)]})
PACKED = gzip.compress(WHOLE.encode() * 1, mtime=0)

#: The damage -> the bytes, the number of events kept, and the message.
BAD = {
    "truncated": (WHOLE[:-60].encode(), 2, "cut short"),
    "no end": (WHOLE[:-1].encode(), 3, "cut short"),
    "corrupt": (WHOLE.replace('"name": "n1"', '"name" "n1"').encode(), 2, "not JSON"),
    "a quote lost": (WHOLE.replace('"n1"', '"n1').encode(), 2, "not JSON"),
    "zeros": (WHOLE[:-60].encode() + bytes(60), 2, "not JSON"),
    "deep": (WHOLE.replace('"n1"', "[" * 600 + "]" * 600).encode(), 2, "nested deeper than 512 levels"),
    "gzip cut short": (PACKED[:-12], None, "the gzip data is cut short"),
    "gzip corrupt": (PACKED[:-6] + b"xx" + PACKED[-4:], 3, "the gzip data is corrupt"),
    "more behind it": (WHOLE.encode() + b"{}", 3, "not JSON"),
}


@pytest.mark.parametrize("what", BAD)
def test_complete_events_of_a_damaged_file_are_kept(tmp_path: Path, what: str) -> None:
    content, kept, printed = BAD[what]
    (tmp_path / "r0.json").write_bytes(content)
    write(tmp_path / "r1.json", [event(name="other")])
    out = tmp_path / "out.json"
    (line,) = merge_timelines(tmp_path / "r0.json", tmp_path / "r1.json", "-o", out)
    assert line.startswith(f"fastdispatch: {tmp_path}/r0.json: {printed}") and "1 damaged place, " in line
    row = load(out)["ranks"][0]
    assert row["lost"] == 1 and row["trouble"].startswith(printed)
    assert row["events"] == kept or (kept is None and row["events"] < 3)


NO_TRACES = [b"", b"\n", b"hello", b"{}", b"[]", b"[1]", b'{"a": 1}', b'{"traceEvents":']
NO_TRACES += [b"\x1f\x8b", b"\xff", gzip.compress(b'{"traceEvents": [')[:12]]


@pytest.mark.parametrize("content", NO_TRACES)
def test_files_other_than_traces_are_skipped(tmp_path: Path, content: bytes) -> None:
    path, out = tmp_path / "r1.json", tmp_path / "out.json"
    path.write_bytes(content)
    merge = ("merge", path, "-o", out)
    for words in (merge, (*merge, "--time", "0s:1s"), ("stats", path)):
        assert commands.complaint("timeline", *words).startswith(f"fastdispatch: {path}: ")
    assert not out.exists()
    write(tmp_path / "r0.json", [event()])
    (line,) = merge_timelines(tmp_path / "r0.json", path, "-o", out)
    assert line.startswith(f"fastdispatch: {path}: skipped: ")


def test_repaired_faults(tmp_path: Path) -> None:
    text = (
        '\ufeff[{"ph":"X","name":"a\nb","dur":1,\r\n"args":{"x":NaN,"y":[-Infinity,Infinity],"p":"C:\\dir","q":"\\""}}]'
    )
    (tmp_path / "r0.json").write_text(text)
    (line,) = merge_timelines(tmp_path / "r0.json", "-o", tmp_path / "out.json")
    assert line.endswith("r0.json: 5 invalid JSON values repaired")
    each = load(tmp_path / "out.json")["traceEvents"][0]
    assert (each["name"], each["dur"]) == ("a\nb", 1)
    assert each["args"] == {"x": None, "y": [None, None], "p": "C:\\dir", "q": '"'}


def test_cut_anywhere(tmp_path: Path) -> None:
    """Never a crash, and what is written is always JSON."""
    from fastdispatch._core import Error
    from fastdispatch.read.timeline_inputs import merge_files

    text = json.dumps(generated(0, 20)).encode()
    path, out = tmp_path / "r0.json", tmp_path / "out.json"
    kept = []
    for whole in (text, gzip.compress(text)):
        for at in range(0, len(whole), 31):
            path.write_bytes(whole[:at])
            try:
                (row,) = merge_files([(str(path), 0)], out)
            except Error as error:
                assert "\n" not in str(error) and not out.exists()
            else:
                assert row["lost"] == 1
                kept.append(row["events"])
                assert load(out)["ranks"][0]["events"] == row["events"]
                out.unlink()
    assert set(range(1, 24)) <= set(kept)


def test_a_folder_without_timelines(tmp_path: Path) -> None:
    (line,) = merge_timelines(tmp_path, "-o", tmp_path / "out.json", status=2)
    assert "no timeline (*.fd, *.json, *.json.gz, workerlog.N)" in line and list(tmp_path.iterdir()) == []


def test_a_thousand_ranks(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for rank in range(1024):
        write(tmp_path / "in" / f"rank{rank}.json", {"traceEvents": [event(args={"rank": rank}), event(ph="s", id=1)]})
    few_files = f"import resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n{COMMAND}"
    processes.python_program("-c", few_files, "timeline", "merge", "in", "-o", "out.json", folder=tmp_path)
    trace = load(tmp_path / "out.json")
    assert [row["rank"] for row in trace["ranks"]] == list(range(1024))
    slices = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert [each["args"]["rank"] for each in slices] == [rank_of(each) for each in slices] == list(range(1024))
    assert len({each["id"] for each in trace["traceEvents"] if each["ph"] == "s"}) == 1024


def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    """80 MB, one with a base behind the events, which is read twice."""
    line = json.dumps(event(name="n" * 500)) + ",\n"
    with (tmp_path / "r0.json").open("w") as file:
        file.write('{"traceEvents":[\n' + line * 140_000 + line.rstrip(",\n") + '],"baseTimeNanoseconds":1}')
    program = """import sys
from fastdispatch.read.timeline_inputs import merge_files
merge_files([(sys.argv[2], 0)], sys.argv[1], "wall")
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])"""
    done = processes.python_program("-c", program, tmp_path / "out.json", tmp_path / "r0.json")
    assert int(done.stdout) < 64 * 1024


def test_progress_and_its_exceptions(tmp_path: Path) -> None:
    from fastdispatch.read.timeline_inputs import merge_files

    path = tmp_path / "r0.json"
    path.write_text("[" + (json.dumps(event(name="n" * 1000)) + ",") * 40_000)
    reported: list[tuple[int, int]] = []
    merge_files([(str(path), 0)], tmp_path / "out.json", progress=lambda *each: reported.append(each))
    assert len(reported) >= 3 and all(done <= total == path.stat().st_size for done, total in reported)
    (tmp_path / "out.json").unlink()
    with pytest.raises(ZeroDivisionError):
        merge_files([(str(path), 0)], tmp_path / "out.json", progress=lambda *_: 1 / 0)
    assert os.listdir(tmp_path) == ["r0.json"]


def test_a_bar_in_a_terminal(tmp_path: Path) -> None:
    import pty

    write(tmp_path / "r0.json", [event()])
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "fastdispatch", "timeline", "merge", "r0.json", "-o", "out.json"]
    environment = processes.environment(TERM="xterm")
    done = subprocess.run(command, cwd=tmp_path, env=environment, stderr=theirs, check=False)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert done.returncode == 0 and b"merging" in shown


@pytest.mark.parametrize(
    "call",
    [
        "([{'path': b'x', 'rank': -1}], 'x')",
        "([1], 'x')",
        "([{'path': b'x', 'rank': 1 << 21}], 'x')",
        "([{}], 'x')",
        "([{'path': b'x', 'clock': ()}], 'x')",
        "([{'path': b'x', 'clock': ('none', 1 << 70, 0, 0, -1, None, 0)}], 'x')",
        "([], 'x', base_ns=1 << 70)",
    ],
)
def test_arguments_are_checked(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastdispatch import _core

    monkeypatch.chdir(tmp_path)
    check: Callable[[], object] = eval(f"lambda: merge{call}", {"merge": _core.timeline_merge})
    with pytest.raises((ValueError, OverflowError, TypeError)):
        check()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["all.json", "all.json.gz"])
def test_an_earlier_merge_and_a_part_of_it_in_the_folder_are_skipped(tmp_path: Path, name: str) -> None:
    for rank in range(2):
        write(tmp_path / f"rank{rank}.json", {"traceEvents": [event(name=f"n{rank}")]})
    assert merge_timelines(tmp_path, "-o", tmp_path / name) == []
    assert merge_timelines(tmp_path / name, "-o", tmp_path / f"part-{name}", "--time", "0s:1s") == []
    assert load(tmp_path / f"part-{name}")["mergedFiles"] == 2
    assert merge_timelines(tmp_path, "-o", tmp_path / "again.json") == [
        f"fastdispatch: {tmp_path / made}: skipped: made by an earlier merge of several files"
        for made in (name, f"part-{name}")
    ]
    assert len(load(tmp_path / "again.json")["ranks"]) == 2
