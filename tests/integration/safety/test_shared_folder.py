"""A run directory that others can write to: their files neither block a training nor are overwritten."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.files import run_directory
from tests import commands, processes, programs

PROGRAM = "def work(): pass\nwork()\nprint('ran')\n"

#: Obstacles in a run directory, by kind.
KINDS: dict[str, Callable[[Path, Path], object]] = {
    "fifo": lambda place, outside: os.mkfifo(place),
    "link": lambda place, outside: place.symlink_to(outside),
    "dangling link": lambda place, outside: place.symlink_to(outside.with_name("nowhere")),
    "device": lambda place, outside: place.symlink_to("/dev/zero"),
    "folder": lambda place, outside: place.mkdir(),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "outside").write_text("precious")
    (tmp_path / "out").mkdir()
    return tmp_path


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A blocked process ends the test."""
    return processes.fastdispatch("run", "-o", "out", *options, "program.py", folder=folder, TMPDIR=str(folder))


def ran(folder: Path, *options: str) -> str:
    """The standard error of a recording that must not disturb the program."""
    done = run(folder, *options)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    return done.stderr


def untouched(folder: Path) -> bool:
    return (folder / "outside").read_text() == "precious" and not (folder / "nowhere").exists()


NAMES = ("rank00000.fd", "rank00000.fd.previous", ".manifest.lock")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_other_entries_are_rejected_and_best_effort_avoids_them(name: str, kind: str, folder: Path) -> None:
    if name == "rank00000.fd.previous":  # checked only if a recording is kept
        assert run(folder).returncode == 0
    place = folder / "out" / name
    KINDS[kind](place, folder / "outside")
    was = place.lstat()
    refused = run(folder)
    assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and name in refused.stderr
    ran(folder, "--options=best_effort=1")
    assert place.lstat().st_ino == was.st_ino
    assert untouched(folder)
    recordings = [path for path in folder.rglob("rank*.fd") if path.is_file() and path.lstat().st_size > 4096]
    assert any("work" in fastdispatch.load(path).nodes["name"] for path in recordings if not path.is_symlink())


def test_a_file_other_than_a_recording_is_not_replaced(folder: Path) -> None:
    place = folder / "out" / "rank00000.fd"
    place.write_text("a diary")
    refused = run(folder)
    assert refused.returncode == 2 and "not a fastdispatch recording" in refused.stderr
    assert ran(folder, "--options=best_effort=1", "-q") == ""
    assert place.read_text() == "a diary"
    assert "work" in fastdispatch.load(folder / "out").nodes["name"]


MANIFESTS = {
    "numbers": '{"ranks": [1, 2]}',
    "ours with numbers": '{"format": "fastdispatch.run", "version": 1,'
    ' "ranks": [1, {"rank": 0}, {"file": "x.fd"}, null]}',
    "ours with no list": '{"format": "fastdispatch.run", "version": 1, "ranks": {"file": 1}}',
    "ours with paths": '{"format": "fastdispatch.run", "version": 1,'
    ' "ranks": [{"rank": 0, "file": "../outside"}, {"rank": 1, "file": "a/b"}, {"rank": 2, "file": "x\\u0000y"}]}',
    "newer": '{"format": "fastdispatch.run", "version": 99, "ranks": [{"rank": 0}]}',
    "no object": "[1, 2]",
    "no JSON": "{",
    "no text": b"\xff\xfe\x00",
    "nested": "[" * 200_000,
    "of a program": '{"name": "my app", "start_url": "."}',
    "empty": "",
}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_a_manifest_of_any_content(kind: str, folder: Path) -> None:
    manifest = folder / "out" / "manifest.json"
    text = MANIFESTS[kind]
    manifest.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = manifest.read_bytes()
    errors = ran(folder)
    assert "Traceback" not in errors and "Error" not in errors
    ours = kind.startswith("ours")
    assert (manifest.read_bytes() == before) is not ours
    assert ("manifest.json" in errors) is not ours
    assert "work" in fastdispatch.load(folder / "out").nodes["name"]
    commands.out("stacks", folder / "out")
    assert untouched(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_that_is_not_a_file(kind: str, folder: Path) -> None:
    place = folder / "out" / "manifest.json"
    KINDS[kind](place, folder / "outside")
    was = place.lstat()
    errors = ran(folder)
    assert "manifest.json" in errors and "Traceback" not in errors
    assert place.lstat().st_ino == was.st_ino and untouched(folder)
    commands.out("report", folder / "out")


def test_a_huge_manifest_is_not_read(folder: Path) -> None:
    with open(folder / "out" / "manifest.json", "wb") as manifest:
        manifest.truncate(1 << 40)
    ran(folder)
    commands.out("report", folder / "out")


def test_a_link_swapped_during_recording_is_not_followed(folder: Path) -> None:
    """The manifest and the lock become links, the recording another user's file; the rank is known late."""
    with fastdispatch.CallGraph(folder / "out", ops="off") as graph:
        programs.leaf(1)
        for name in ("manifest.json", ".manifest.lock"):
            (folder / "out" / name).unlink()
            (folder / "out" / name).symlink_to(folder / "outside")
        (folder / "out" / "rank00003.fd").symlink_to(folder / "outside")
        graph._rank, graph._world = 3, 4
        with pytest.warns(RuntimeWarning, match="manifest.json"):
            graph.stop()
    assert untouched(folder)
    assert "leaf" in fastdispatch.load(folder / "out" / "rank00000.fd").nodes["name"]


def test_a_lock_that_is_never_released_delays_within_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_directory, "_PATIENCE", 0.2)
    other = run_directory.open_folder(folder / "out")
    with run_directory.locked(other):
        with fastdispatch.CallGraph(folder / "out", ops="off") as graph:
            programs.leaf(1)
        assert graph.path is not None
    assert "leaf" in fastdispatch.load(folder / "out").nodes["name"]


def test_switching_follows_no_link(folder: Path) -> None:
    with fastdispatch.CallGraph(folder / "out", ops="off") as graph:
        hold = folder / "out" / "rank00000.fd.off"
        hold.symlink_to(folder / "nowhere")
        commands.out("pause", folder / "out")
        assert untouched(folder) and hold.is_file() and not hold.is_symlink()
        hold.unlink()
        os.mkfifo(hold)
        commands.out("resume", folder / "out")
        assert not hold.exists()
        programs.leaf(1)
    assert graph.path is not None


@pytest.mark.parametrize(
    ("folder_mode", "umask", "expected"), ((0o700, 0o022, 0o600), (0o750, 0o022, 0o640), (0o777, 0o077, 0o600))
)
def test_files_have_at_most_the_permissions_of_their_folder(
    folder: Path, folder_mode: int, umask: int, expected: int
) -> None:
    (folder / "out").chmod(folder_mode)
    command = ["sh", "-c", f'umask {umask:o}; exec "$@"', "sh", sys.executable, "-m", "fastdispatch", "run", "-q"]
    subprocess.run([*command, "-o", "out", "program.py"], cwd=folder, env=processes.environment(), check=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder / "out").iterdir()}
    assert modes == dict.fromkeys(("rank00000.fd", "manifest.json", ".manifest.lock"), expected)


@pytest.mark.parametrize("name", ("rank00001.fd", "manifest.json", "more.json"))
def test_readers_wait_for_no_fifo(name: str, folder: Path) -> None:
    assert run(folder).returncode == 0
    out = folder / "out"
    (out / name).unlink(missing_ok=True)
    os.mkfifo(out / name)
    options: dict[str, list[object]] = {"report": [], "stacks": [], "top": ["--once", "--total"]}
    options |= {"merge": ["-o", folder / "x.json"], "html": ["-o", folder / "x.html"]}
    for command, words in options.items():
        commands.out(command, out, *words)
        commands.complaint(command, out / name, *words)


def test_outputs_follow_no_link(folder: Path) -> None:
    """Temporary files have unpredictable names."""
    assert run(folder).returncode == 0
    (folder / "x.html").symlink_to(folder / "outside")
    commands.out("html", folder / "out", "-o", folder / "x.html")
    assert untouched(folder) and not (folder / "x.html").is_symlink()


# -- readers acquire no locks ------------------------------------------------------------------------------------------


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
    process = processes.popen(sys.executable, "-c", text)
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
