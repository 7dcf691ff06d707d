"""Readers acquire no locks: recordings start and continue while they are read."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.files import run_directory
from tests import processes, programs

STARTS, READERS = 200, 3


def test_recordings_start_while_others_scan(tmp_path: Path) -> None:
    out, end = tmp_path / "run", tmp_path / "end"
    readers = [processes.start("scanning.py", out, end) for _ in range(READERS)]
    for reader in readers:
        assert reader.stdout is not None and reader.stdout.readline() == "under way\n"
    paths: Counter[str | None] = Counter()
    for number in range(STARTS):
        with fastdispatch.CallGraph(out, ops="off") as graph:
            programs.leaf(number)
            paths[graph.path] += 1
    end.touch()
    met: Counter[str] = Counter()
    for reader in readers:
        output, errors = reader.communicate(timeout=60)
        assert reader.returncode == 0, errors
        met.update(json.loads(output))
    assert paths == {str(out / "rank00000.fd"): STARTS}  # no recording in memory, no other file
    # No dead writers; "unknown" is a recording that has not begun.
    assert set(met) <= {"unknown", "running", "paused", "stopped", "absent", "live"}, met
    assert met["live"] > 0 and met["stopped"] > 0
    assert {path.name for path in out.iterdir()} == {"rank00000.fd", "manifest.json", ".manifest.lock"}


def test_a_reader_with_the_earlier_lock_does_not_disturb(tmp_path: Path) -> None:
    import fcntl

    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.leaf(1)
    with open(tmp_path / "rank00000.fd", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
            programs.leaf(1)
            assert graph.path == str(tmp_path / "rank00000.fd")
            assert run_directory.is_live(Path(graph.path))


@pytest.mark.parametrize("how", ("fork", "subprocess"))
def test_children_of_a_killed_process_do_not_count_as_writers(how: str, tmp_path: Path) -> None:
    text = f"import fastdispatch, os, subprocess, time\nfastdispatch.CallGraph({str(tmp_path)!r}, ops='off').start()\n"
    if how == "fork":
        text += "if os.fork() == 0: print(os.getpid(), flush=True)\n"
    else:
        text += "subprocess.Popen(['sh', '-c', 'echo $$; exec sleep 60'], close_fds=False)\n"
    text += "time.sleep(60)\n"  # the child prints when it has started
    process = subprocess.Popen([sys.executable, "-c", text], env=processes.environment(), stdout=subprocess.PIPE)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        assert run_directory.is_live(tmp_path / "rank00000.fd")
        process.kill()
        process.wait()
        assert not run_directory.is_live(tmp_path / "rank00000.fd")
        assert fastdispatch.load(tmp_path).ranks[0]["state"] == "killed"
        with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
            assert graph.path == str(tmp_path / "rank00000.fd")
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()
