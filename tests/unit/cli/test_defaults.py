"""Commands with few words: the last run, default outputs, standard output, help and suggestions."""

import os
import shutil
import webbrowser
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from fastdispatch.text.formats import size
from tests import commands, processes, programs


@pytest.fixture(scope="module")
def last_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in ``fastdispatch-out``."""
    folder = tmp_path_factory.mktemp("defaults")
    with fastdispatch.CallGraph(folder / "fastdispatch-out", ops="off"):
        programs.classes()
    return folder


@pytest.mark.parametrize("command", ["report", "findings", "stacks", "top --once --total"])
def test_the_last_run(command: str, last_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(last_run)
    text = commands.out(*command.split())
    assert commands.out(*command.split(), "fastdispatch-out") == text != ""


def test_the_run_of_the_environment(last_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FASTDISPATCH_OUT", str(last_run / "fastdispatch-out"))
    assert commands.out("report").startswith(f"{last_run / 'fastdispatch-out'}: rank 0")


@pytest.mark.parametrize("command", ["report", "html", "svg", "stacks", "pause", "export folded -o x"])
def test_no_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert commands.error(*command.split()) == (
        "fastdispatch: fastdispatch-out: no recording here: record one with fastdispatch run SCRIPT, or give its PATH\n"
    )
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(("command", "name"), [("html", "page.html"), ("svg", "callgraph.svg")])
def test_default_outputs(command: str, name: str, last_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if command == "svg" and shutil.which("dot") is None:
        pytest.skip("Graphviz is missing")
    monkeypatch.chdir(last_run)
    made = last_run / "fastdispatch-out" / name
    for arguments in ([command], [command, "fastdispatch-out/rank00000.fd"]):
        status, output, errors = commands.run(*arguments)
        assert (status, errors) == (0, "")
        assert output == f"wrote fastdispatch-out/{name} ({size(made.stat().st_size)})\n"
        made.unlink()
    assert "wrote" not in processes.fastdispatch(command, "-o", "-", folder=last_run).stdout.splitlines()[-1]
    assert sorted(os.listdir(last_run)) == ["fastdispatch-out"]


@pytest.mark.parametrize("command", ["merge fastdispatch-out", "export folded"])
def test_standard_output(command: str, last_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(last_run)
    done = processes.fastdispatch(*command.split(), "-o", "-", folder=last_run)
    assert (done.returncode, done.stderr) == (0, "")
    assert main([*command.split(), "-o", str(tmp_path / "file")]) == 0
    content = (tmp_path / "file").read_text()
    assert done.stdout == content != ""
    assert not (last_run / "-").exists()


def test_nothing_is_printed_after_an_error(last_run: Path) -> None:
    processes.refused("export", "folded", "-o", "-", "--rank", "7", folder=last_run)


@pytest.mark.parametrize("words", [[], ["timeline"], ["et"], ["pipeline"]], ids=str)
def test_help_without_arguments(words: list[str]) -> None:
    assert commands.out(*words) == commands.out(*words, "--help")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["reprot"], "did you mean 'report'?"),
        (["timeline", "stat"], "did you mean 'stats'?"),
        (["report", "--by", "fuction"], "did you mean 'function'?"),
        (["qqqq"], "choose from 'run', "),
    ],
)
def test_suggestions(words: list[str], expected: str) -> None:
    assert expected in commands.complaint(*words)


def test_open(last_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(last_run)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    assert main(["html", "--open"]) == 0
    page = last_run / "fastdispatch-out" / "page.html"
    assert opened == [page.resolve().as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert "written, but no browser could be started" in commands.error("html", "--open")
    page.unlink()


def test_json_reports_of_the_last_run(last_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(last_run)
    assert commands.document("report")["path"] == "fastdispatch-out"
