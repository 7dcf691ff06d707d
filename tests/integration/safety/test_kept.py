"""Recordings are kept: the previous one, and one that cannot be written to its place."""

import os
import signal
from pathlib import Path

import pytest

import fastdispatch
from tests import processes, programs

PROGRAM = "def work(): pass\nwork()\nprint('ran')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program and the recording of an earlier run."""
    (tmp_path / "earlier.py").write_text("def earlier(): pass\nearlier()\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    assert processes.fastdispatch("run", "-q", "earlier.py", folder=tmp_path).returncode == 0
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_of(path: object) -> list[str]:
    found: list[str] = fastdispatch.load(Path(str(path))).nodes["name"]
    return found


def test_a_missing_program_replaces_nothing(folder: Path) -> None:
    for name in ("package", "empty"):
        (folder / name).mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "module.py").write_text("")
    before = content(folder / "fastdispatch-out")
    modules = ("no_such_module", "package.no_such_module", "package", "package.module.deeper", ".relative")
    broken = (["nothing.py"], *(["-m", module] for module in modules), ["empty"], ["empty.zip"], [])
    for number, program in enumerate(broken):
        processes.refused("run", *(["-o", "new"] if number % 2 else []), *program, folder=folder)
        assert content(folder / "fastdispatch-out") == before and not (folder / "new").exists()


def test_a_package_that_finds_its_modules_itself_is_run(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "elsewhere").mkdir()
    (folder / "package" / "__init__.py").write_text(
        "import os\n__path__.append(os.path.join(os.path.dirname(__path__[0]), 'elsewhere'))\n"
    )
    (folder / "elsewhere" / "tool.py").write_text(PROGRAM)
    result = processes.fastdispatch("run", "-q", "-m", "package.tool", folder=folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "ran\n", "")
    assert "work" in names_of(folder / "fastdispatch-out")


def test_an_output_that_cannot_be_written_is_refused_before_the_program_runs(folder: Path) -> None:
    assert "program.py/out" in processes.refused("run", "-o", "program.py/out", "program.py", folder=folder)
    environment = {"FASTDISPATCH": "1", "FASTDISPATCH_OPTIONS": "best_effort=0", "FASTDISPATCH_OUT": "program.py/out"}
    result = processes.python_program("program.py", **environment, folder=folder)
    assert result.stdout == "ran\n" and result.stderr.count("not recording") == len(result.stderr.splitlines()) == 1


def written_to(stderr: str) -> Path:
    """The path of a recording in standard error."""
    lines = [line for line in stderr.splitlines() if "was written to" in line]
    assert len(lines) == 1, stderr
    return Path(lines[0].rpartition(" ")[2])


def test_with_best_effort_the_program_runs_and_the_recording_is_somewhere(folder: Path) -> None:
    (folder / "temporary").mkdir()
    words = ("run", "--options=best_effort=1", "-o", "program.py/out", "program.py")
    result = processes.fastdispatch(*words, folder=folder, TMPDIR=str(folder / "temporary"))
    assert (result.returncode, result.stdout) == (0, "ran\n")
    path = written_to(result.stderr)
    assert path.is_relative_to(folder / "temporary")
    assert "work" in names_of(path)
    assert str(path) in result.stderr.splitlines()[-1]  # summarized


def test_the_environment_never_fails_the_job(folder: Path) -> None:
    result = processes.python_program(
        "program.py", FASTDISPATCH="1", FASTDISPATCH_OUT="program.py/out", TMPDIR=str(folder), folder=folder
    )
    assert result.stdout == "ran\n"
    assert [line.startswith("fastdispatch: ") for line in result.stderr.splitlines()] == [True, True]
    assert "work" in names_of(written_to(result.stderr))


def test_where_the_folder_is_writable_by_the_end_it_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(fastdispatch.Error, match="run: cannot make"):
        fastdispatch.CallGraph(tmp_path / "run", ops="off").start()
    graph = fastdispatch.CallGraph(tmp_path / "run", ops="off", best_effort=True)
    with pytest.warns(RuntimeWarning, match="recording in memory") as warned:
        graph.start()
    assert len(warned) == 1 and graph.path is None
    programs.classes()
    (tmp_path / "run").unlink()
    graph.stop()
    assert graph.path == str(tmp_path / "run" / "rank00000.fd")
    assert written_to(capsys.readouterr().err) == Path(graph.path)
    assert "classes" in names_of(tmp_path / "run")
    assert fastdispatch.load(tmp_path / "run").ranks[0]["state"] == "stopped"


def test_a_recording_without_any_folder_is_reported_lost(folder: Path) -> None:
    text = "import tempfile; tempfile.tempdir = 'program.py'\n" + PROGRAM
    (folder / "unlucky.py").write_text(text)
    result = processes.fastdispatch(
        "run", "--options=best_effort=1", "-o", "program.py/out", "unlucky.py", folder=folder
    )
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert "the recording is lost" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="making a small file system needs root")
def test_a_full_disk_at_the_start(small_disk: Path, folder: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (1 << 20))
    out = small_disk / "run"
    assert "no space" in processes.refused("run", "-o", out, "program.py", folder=folder).lower()
    (folder / "unfill.py").write_text(f"import os; os.unlink({str(small_disk / 'filler')!r})\n" + PROGRAM)
    result = processes.fastdispatch("run", "--options=best_effort=1", "-o", out, "unfill.py", folder=folder)
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert written_to(result.stderr).parent == out
    assert "work" in names_of(out)


# -- the previous recording --------------------------------------------------------------------------------------------


def test_the_last_recording_stays_until_the_new_one_has_ended_with_a_call(folder: Path) -> None:
    out = folder / "fastdispatch-out"
    previous = out / "rank00000.fd.previous"
    with fastdispatch.CallGraph(out, ops="off", steps="5:6"):
        assert "earlier" in names_of(previous)
    assert "earlier" in names_of(previous)
    with fastdispatch.CallGraph(out, ops="off"):
        programs.leaf(1)
        assert "earlier" in names_of(previous)
    assert not previous.exists()
    assert "leaf" in names_of(out)


def test_run_reports_the_kept_recording(folder: Path) -> None:
    result = processes.successful("run", "--steps", "5:6", "program.py", folder=folder)
    assert "no call was recorded" in result.stderr and "rank00000.fd.previous" in result.stderr
    assert "earlier" in names_of(folder / "fastdispatch-out/rank00000.fd.previous")


def test_a_killed_recording_is_the_previous_one_of_the_next(folder: Path) -> None:
    (folder / "killed.py").write_text("import os\ndef killed(): os.kill(os.getpid(), 9)\nkilled()")
    out = folder / "fastdispatch-out"
    assert processes.fastdispatch("run", "killed.py", folder=folder).returncode == -signal.SIGKILL
    assert "earlier" in names_of(out / "rank00000.fd.previous")
    with fastdispatch.CallGraph(out, ops="off", steps="5:6"):
        assert "killed" in names_of(out / "rank00000.fd.previous")
    names = {path.name for path in out.iterdir()}
    assert names == {"rank00000.fd", "rank00000.fd.previous", "manifest.json", ".manifest.lock"}


# -- the process -------------------------------------------------------------------------------------------------------


def test_a_program_that_changes_directory_keeps_its_recording(folder: Path) -> None:
    (folder / "away").mkdir()
    (folder / "goes.py").write_text("import os\nos.chdir('away')\n" + PROGRAM)
    result = processes.successful("run", "-o", "out", "goes.py", folder=folder, RANK="")
    assert str(folder / "out" / "rank00000.fd") in result.stderr.splitlines()[-1]
    assert "work" in names_of(folder / "out")
    assert list((folder / "away").iterdir()) == []


def test_a_removed_folder_causes_no_traceback(folder: Path) -> None:
    (folder / "goes.py").write_text("import shutil\nshutil.rmtree('out')\n" + PROGRAM)
    result = processes.fastdispatch("run", "-q", "-o", "out", "goes.py", folder=folder)
    assert (result.returncode, result.stdout) == (0, "ran\n")
    assert "Traceback" not in result.stderr


def test_descriptors_that_the_program_closes(folder: Path) -> None:
    """Like daemons: the descriptors are the program's then, and the recording continues."""
    text = (
        "import os\nos.closerange(3, 4096)\nmine = open('mine', 'w')\nfor _ in range(3, 300): os.dup(mine.fileno())\n"
    )
    text += "".join(f"def f{n}(): pass\nf{n}()\n" for n in range(2000)) + "mine.write('content')\n"
    (folder / "daemon.py").write_text(text)
    processes.successful("run", "daemon.py", folder=folder)
    assert (folder / "mine").read_text() == "content"
    trace = fastdispatch.load(folder / "fastdispatch-out")
    assert trace.ranks[0]["state"] == "stopped" and trace.ranks[0]["counters"]["disk_full"] == 0
    assert "f1999" in trace.nodes["name"]


def test_a_forked_child_prints_nothing(folder: Path) -> None:
    text = "import os, sys\ndef work(): pass\nwork()\nif os.fork() == 0:\n    sys.exit(0)\nos.wait()\n"
    (folder / "forks.py").write_text(text)
    result = processes.successful("run", "forks.py", folder=folder)
    assert len(result.stderr.splitlines()) == 2, result.stderr
    assert "work" in names_of(folder / "fastdispatch-out")


def test_in_a_forked_child_the_graph_is_nobodys(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        programs.leaf(1)
        child = os.fork()
        if child == 0:
            good = graph.path is None and graph.stats() == {}
            graph.stop()
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert graph.path is not None
    assert fastdispatch.load(tmp_path).ranks[0]["state"] == "stopped"
