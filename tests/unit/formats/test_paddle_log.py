"""Logs of Paddle as Chrome JSON."""

import gzip
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from fastdispatch import Error
from fastdispatch.files.regular import open_regular
from fastdispatch.read.paddle_log import LogContent, PaddleJob, as_chrome_json, is_log, items
from fastdispatch.report.trace_faults import check
from tests import golden

INFO = "Profiler Info: Job ("
REST = ", micro_batch_id = 2, job_start_time = 1697793307213.760986, "
WHOLE = f"{INFO}3), type = forward{REST}job_end_time = 1697793307254.006104"


@pytest.mark.parametrize(
    ("line", "found"), [pytest.param(*row, id=name) for name, *row in golden.document("paddle_lines")]
)
def test_lines(line: str, found: list[Any]) -> None:
    """Jobs, first steps, and lines that are neither."""
    expected = [PaddleJob(*each) if isinstance(each, list) else each for each in found]
    assert list(items(line.replace("<5000 digits>", "9" * 5000).encode())) == expected


def test_lines_that_are_cut_short() -> None:
    for size in range(len(WHOLE) - 6):
        assert list(items(WHOLE[:size].encode())) == ([] if size < len(INFO) else [None])


def job(number: int, kind: str, micro_batch: int, start: int, end: int) -> str:
    times = f"job_start_time = 1000000000.{start:06d}, job_end_time = 1000000000.{end:06d}"
    return f"{INFO}{number}), type = {kind}, micro_batch_id = {micro_batch}, {times}\n"


LOG = (
    "I1020 hello\nSchedule Profiler start at step 5 and end at step 8\n"
    + job(0, "default", 0, 1, 3)
    + job(0, "lr", 0, 2, 5)
    + job(0, "forward", 0, 1000, 2000)
    + f"loss: 3{job(1, 'forward', 1, 2000, 3000)}"
    + f"{INFO}2), type = forw\n"
    + job(0, "lr", 0, 4000, 4005)
    + job(0, "backward_b", 0, 4005, 9000)
)


def converted(path: Path) -> tuple[dict[str, Any], int, str | None]:
    with as_chrome_json([(str(path), 7)]) as (made,):
        assert made[:2] == (str(path), 7) and len(made) == 5
        _, _, content, lost, trouble = made
        found = json.loads(Path(os.fsdecode(content)).read_text())
    assert not Path(os.fsdecode(content)).exists()
    return found, lost, trouble


def test_jobs_and_steps(tmp_path: Path) -> None:
    (tmp_path / "machine1").mkdir()
    path = tmp_path / "machine1" / "workerlog.3"
    path.write_text(LOG)
    trace, lost, trouble = converted(path)
    events = trace.pop("traceEvents")
    about = {"device": 3, "jobs": 6, "first_step": 5}
    base = 1_000_000_000_000_001
    assert trace == {
        "displayTimeUnit": "ns",
        "baseTimeNanoseconds": base,
        "host_name": "machine1",
        "paddle": about,
    }
    assert [event["args"]["name"] for event in events[:3]] == ["GPU 3", "Steps", "Jobs"]
    found = [(each["cat"], each["name"], each["tid"], each["ts"], each["dur"], each["args"]) for each in events[3:]]
    first, second = {"micro_batch": 0, "step": 5}, {"micro_batch": 0, "step": 6}
    assert found == [
        ("default", "default_0", 2, 0.0, 0.002, {"job": 0, "micro_batch": 0}),
        ("lr", "lr_0", 2, 0.001, 0.003, {"job": 0, **first}),
        ("forward", "forward_0", 2, 0.999, 1.0, {"job": 0, **first}),
        ("forward", "forward_1", 2, 1.999, 1.0, {"job": 1, "micro_batch": 1, "step": 5}),
        ("step", "step 5", 1, 0.001, 2.998, {"step": 5}),
        ("lr", "lr_0", 2, 3.999, 0.005, {"job": 0, **second}),
        ("backward_b", "backward_b_0", 2, 4.004, 4.995, {"job": 0, **second}),
        ("step", "step 6", 1, 3.999, 5.0, {"step": 6}),
    ]
    assert (lost, trouble) == (1, "1 invalid job, the first in line 7")


@pytest.mark.parametrize(
    ("name", "content", "trouble"),
    [
        ("workerlog.0", "hello\n", 'no line "Profiler Info: Job" in it'),
        ("workerlog.0", "", 'no line "Profiler Info: Job" in it'),
        ("some.log", f"{INFO}2\n{INFO}2\n", "none of the 2 lines of the profiler is complete"),
    ],
)
def test_logs_without_a_job(tmp_path: Path, name: str, content: str, trouble: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert converted(path) == ({}, content.count(INFO), trouble)
    with pytest.raises(Error, match=rf"{name}: {trouble}"):
        check(path)


def test_other_files_are_not_logs(tmp_path: Path) -> None:
    contents = {
        "a.json": b'{"traceEvents":[{"name":"Profiler Info: Job (1"}]}',
        "workerlog.1": b'{"format":"fastdispatch.trace"',
        "workerlog.2": b"fastdisp\0\0",
        "b.log": b"\n\x08\0Profiler Info: Job (1",
        "c.log": b"hello",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert not is_log(str(tmp_path / name))
    assert not is_log(str(tmp_path / "absent"))


def test_damaged_gzip(tmp_path: Path) -> None:
    """All whole bytes are read, of several members too."""
    text = "".join(job(index, "forward", 1, index, index + 1) for index in range(4000))
    packed = gzip.compress(text[:9000].encode()) + gzip.compress(text[9000:].encode())
    path = tmp_path / "workerlog.0"
    path.write_bytes(packed + bytes(20))
    assert converted(path)[1:] == (0, None)
    path.write_bytes(packed[:-300])
    trace, lost, trouble = converted(path)
    assert 3000 < trace["paddle"]["jobs"] < 4000 and trouble == "the gzip data is cut short" and lost in (1, 2)
    path.write_bytes(packed[:-8] + b"z" * 8)
    assert converted(path)[2] == "the gzip data is corrupt"


def test_a_line_larger_than_the_memory_for_lines(tmp_path: Path) -> None:
    path = tmp_path / "workerlog.0"
    last = job(1, "last", 1, 2000, 3000)
    path.write_text(job(1, "forward", 1, 2000, 3000) * 2000 + "0123456789" * 1_800_000 + "\n" + last)
    with path.open("rb") as file:
        assert max(map(len, LogContent(file).lines())) < 1_400_000
    trace, lost, _ = converted(path)
    assert (trace["paddle"]["jobs"], lost, trace["traceEvents"][-1]["name"]) == (2001, 0, "last_1")


@pytest.mark.parametrize("between", ["", "x" * 311])
def test_a_line_is_not_parted_within_a_job(tmp_path: Path, between: str) -> None:
    path = tmp_path / "workerlog.0"
    path.write_text((job(1, "forward", 1, 2000, 3000)[:-1] + between) * 30_000)
    trace, lost, _ = converted(path)
    assert (trace["paddle"]["jobs"], lost) == (30_000, 0)


def test_a_log_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []

    def opening(path: str) -> BinaryIO:
        opened.append(path)
        return open_regular(path)

    monkeypatch.setattr("fastdispatch.read.paddle_log.open_regular", opening)
    path = tmp_path / "workerlog.0"
    path.write_text(LOG)
    converted(path)
    assert len(opened) == 2  # the first bytes decide whether it is a log


def test_a_log_that_unpacks_to_much(tmp_path: Path) -> None:
    """It is read up to a size, and what is there is kept."""
    path = tmp_path / "workerlog.0"
    path.write_bytes(gzip.compress(LOG.encode()) + gzip.compress(bytes(1 << 20)) * 400)
    trace, lost, trouble = converted(path)
    assert (trace["paddle"]["jobs"], lost) == (6, 2)
    assert trouble == "the gzip data unpacks to more than 500 times its size"


def test_places_in_logs_are_numbers_of_items(tmp_path: Path) -> None:
    path = tmp_path / "workerlog.0"
    path.write_text(job(0, "a", 0, 0, 5000) + job(1, "a", 1, 3000, 9000) + f"{INFO}1")
    found = check(path)
    faults = {fault["kind"]: fault for fault in found["faults"]}
    assert faults["damage"]["count"] == 1 and found["trouble"] == "1 invalid job, the first in line 3"
    assert faults["overlap"]["first"] == [{"byte": 8, "event": 5}]
