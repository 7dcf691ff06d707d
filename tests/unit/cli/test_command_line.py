"""Invalid command lines: a command works, or prints one line with status 2. Inputs do not change, and no output
remains."""

import argparse
import json
import os
import shutil
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fastdispatch import cli
from fastdispatch.cli import main, paths
from tests import commands, golden, processes
from tests.unit.formats.test_privacy import PROGRAM

pytest.importorskip("torch")

LAYER = (
    "{} -- Linear(in_features=4, out_features=4, bias=True) -- forward_compute_time=1.0, backward_compute_time=2.0, "
    "activation_size=10.0, parameter_size=10.0\n"
)
OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}

#: A line for every command that reads or writes a file. I: input, O: output.
COMMANDS = dict(golden.table("commands/files"))

#: Commands that need their own programs.
ELSEWHERE = {("run",), ("attach",), ("resume",), ("pause",)}

NONSENSE = ("nan", "inf", "-1", "1e400", "99999999999999999999", "", "x", "1.2.3", "3:1", "²", "--")

#: Made once, because it takes longer than most of these commands.
PARSER = cli.parser()


def kineto_operator(trace: dict[str, Any]) -> dict[str, Any]:
    """The first operator of an execution trace as torch.profiler writes it."""
    for node in trace["nodes"]:
        for attribute in node["attrs"]:
            if attribute["name"] == "rf_id" and node["name"].startswith("aten::"):
                arguments = {"Record function id": attribute["value"]}
                return OPERATOR | {"name": node["name"], "pid": trace["pid"], "args": arguments}
    raise AssertionError("no operator")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every kind of input, in the folder where the tests then work."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "program.py").write_text(PROGRAM)
    processes.python_program("program.py", "run", folder=folder)
    before, parser = os.getcwd(), cli.parser
    os.chdir(folder)
    cli.parser = lambda command="": PARSER
    for line in ("merge run -o dump.json", "export chrome run -o trace.json", "export perfetto run -o trace.pftrace"):
        assert main(line.split()) == 0
    assert main(["et", "export", "run", "-o", "ets"]) == 0
    shutil.copy("ets/trace.0.et", "a.et")
    shutil.copy("ets/et_0.json", "b.json")
    Path("kineto.json").write_text(
        json.dumps({"traceEvents": [kineto_operator(json.loads(Path("b.json").read_text()))]})
    )
    Path("graph.txt").write_text(LAYER.format("a") + LAYER.format("b") + "\ta -- b\n")
    Path("gate.toml").write_text("new_operators = false\n")
    Path("weights").write_text("1\n2\n")
    Path("text").write_text("hello\n")
    Path("empty").touch()
    Path("logs").mkdir()
    Path("logs/workerlog.0").write_text(
        "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = 1697793307213.760986, "
        "job_end_time = 1697793307254.006104\n"
    )
    yield folder
    cli.parser = parser
    os.chdir(before)


def words_of(command: str) -> list[str]:
    return COMMANDS[command].split()


def plain(words: list[str]) -> list[str]:
    return [word[2:] if word[:2] in ("I:", "O:") else word for word in words]


def with_one(words: list[str], at: int, text: str) -> list[str]:
    return [*plain(words[:at]), text, *plain(words[at + 1 :])]


def seen() -> dict[str, Any]:
    """All files, without following links."""

    def content(path: Path) -> Any:
        mode = path.lstat().st_mode
        return mode, path.read_bytes() if stat.S_ISREG(mode) else os.readlink(path) if stat.S_ISLNK(mode) else None

    return {str(path): content(path) for path in sorted(Path().rglob("*"))}


def run(words: list[str]) -> tuple[int, str]:
    """The status and standard error. A command that blocks ends the test."""
    signal.alarm(60)
    try:
        status, output, errors = commands.run(*words)
    finally:
        signal.alarm(0)
    if status == cli.BAD_INPUT:
        assert output == "", words
        assert errors.startswith("fastdispatch: ") and errors.count("\n") == 1, (words, errors)
    return status, errors


def refused(words: list[str], before: dict[str, Any]) -> str:
    status, message = run(words)
    assert status == cli.BAD_INPUT, (words, status, message)
    assert seen() == before, words
    return message


def places(command: str, mark: str) -> list[int]:
    return [at for at, word in enumerate(words_of(command)) if word.startswith(mark)]


READING = [command for command in COMMANDS if places(command, "I:")]
WRITING = [command for command in COMMANDS if places(command, "O:")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work(command: str, files: Path, tmp_path: Path) -> None:
    words = [f"{tmp_path}/{word[2:]}" if word.startswith("O:") else word for word in words_of(command)]
    before = seen()
    status, message = run(plain(words))
    assert status == 0, message
    assert seen() == before


@pytest.mark.parametrize("command", READING)
def test_invalid_inputs(command: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "unreadable").symlink_to("/proc/self/mem")
    (tmp_path / "folder").mkdir()
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 20)
    inside = ("fifo", "loop", "dangling", "unreadable", "folder", "junk", "missing", "missing/x")
    bad = ["", "/dev/null", "/dev/zero", *(str(tmp_path / name) for name in inside)]
    before = seen()
    for at in places(command, "I:"):
        for text in bad:
            refused(with_one(words_of(command), at, text), before)


@pytest.mark.parametrize("command", READING)
def test_empty_and_foreign_files(command: str, files: Path) -> None:
    """A template and a budget may be empty, a list of weights may not."""
    before = seen()
    for at in places(command, "I:"):
        if words_of(command)[at] in ("I:text", "I:gate.toml"):
            continue
        for text in ("empty", "text"):
            refused(with_one(words_of(command), at, text), before)


@pytest.mark.parametrize("command", WRITING)
def test_invalid_outputs(command: str, files: Path, tmp_path: Path) -> None:
    words = words_of(command)
    inputs = [word[2:] for word in words if word.startswith("I:")]
    for at in places(command, "O:"):
        output = words[at][2:]
        folder, end = output.endswith("/"), Path(output).suffix
        place = Path(tmp_path / f"{at}")
        place.mkdir()
        os.mkfifo(place / f"fifo{end}")
        (place / f"device{end}").symlink_to("/dev/null")
        (place / f"folder{end}").mkdir()
        (place / f"folder{end}" / "notes").touch()  # an empty folder may become a data set
        bad = ["", "/dev/null", *(f"{place}/{name}{end}" for name in ("fifo", "device"))]
        if folder:
            bad += ["graph.txt", "graph.txt/x", *(each for each in inputs if Path(each).is_file())]
        else:
            bad += [f"{place}/missing/x{end}", *(each for each in inputs if Path(each).suffix == end)]
            bad += [f"{place}/folder{end}"] if command != "export callgraph" else []
            for each in inputs:
                (place / f"link-{len(bad)}-{Path(each).name}{end}").symlink_to(Path(each).absolute())
                bad += [f"{place}/link-{len(bad)}-{Path(each).name}{end}"] if Path(each).is_file() else []
        before = seen(), sorted(place.rglob("*"))
        for text in bad:
            refused(with_one(words, at, text), before[0])
            assert sorted(place.rglob("*")) == before[1], text
            assert stat.S_ISFIFO((place / f"fifo{end}").lstat().st_mode)
            assert stat.S_ISCHR(Path("/dev/null").lstat().st_mode)


def test_outputs_inside_a_recording(files: Path) -> None:
    """A run directory may contain outputs; its recordings and manifest are protected."""
    before = seen()
    try:
        for name in ("rank00000.fd", "manifest.json"):
            message = refused(["merge", "run", "-o", f"run/{name}"], before)
            assert "it is also an input" in message
        assert main(["merge", "run", "-o", "run/dump.json"]) == 0
    finally:
        Path("run/dump.json").unlink(missing_ok=True)


def leaves(parser: argparse.ArgumentParser, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for name, each in action.choices.items():
            yield from leaves(each, (*above, name))
    if not below:
        yield above, parser


LEAVES = {words: parser for words, parser in leaves(PARSER) if words not in ELSEWHERE}


def is_path(action: argparse.Action) -> bool:
    return isinstance(action.type, type) and issubclass(action.type, paths.Given)


def test_every_command_is_here() -> None:
    assert set(LEAVES) == {tuple(words[: len(key)]) for words in map(words_of, COMMANDS) for key in LEAVES
                           if tuple(words[: len(key)]) == key}  # fmt: skip


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_path_is_checked(words: tuple[str, ...]) -> None:
    """Arguments named PATH or FILE have the type of a path."""
    marks = ("PATH", "FILE", "DIR", "FOLDER", "RUN", "ET", "KINETO", "GRAPH", "INPUT", "A", "B")
    for action in LEAVES[words]._actions:
        if action.metavar in marks and action.dest not in ("iterations",):
            assert is_path(action), (words, action.dest)


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_nonsense(command: str, files: Path, tmp_path: Path) -> None:
    words = [f"{tmp_path}/{word[2:]}" if word.startswith("O:") else word for word in words_of(command)]
    key = next(key for key in LEAVES if tuple(words[: len(key)]) == key)
    before = seen()
    for action in LEAVES[key]._actions:
        takes = action.option_strings and action.nargs not in (0, argparse.REMAINDER) and not is_path(action)
        if not takes or isinstance(action, argparse._HelpAction):
            continue
        option = action.option_strings[-1]
        for text in NONSENSE[-2:] if action.choices else NONSENSE:
            assert run([*plain(words), f"{option}={text}"])[0] in (0, 1, cli.BAD_INPUT)
        assert seen() == before, option


#: Invalid command lines and their messages.
REFUSED = golden.table("commands/refused")


@pytest.mark.parametrize(("line", "expected"), REFUSED, ids=[line for line, _ in REFUSED])
def test_messages(line: str, expected: str, files: Path) -> None:
    assert expected in refused(line.split(), seen())


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz draws them")
@pytest.mark.parametrize(
    ("name", "head"),
    {
        "x.svg": b"<?xml",
        "x": b"<?xml",
        "x.PNG": b"\x89PNG",
        "x.png": b"\x89PNG",
        "x.pdf": b"%PDF-",
        "x.dot": b"digraph",
    }.items(),
)
def test_pictures_have_the_format_of_their_names(name: str, head: bytes, files: Path, tmp_path: Path) -> None:
    lines = {
        "svg": ["svg", "run"],
        "partition": ["pipeline", "partition", "--method", "pipedream", "-n", "2", "graph.txt"],
    }
    for command, words in lines.items():
        option = "-o" if command == "svg" else "--svg"
        assert run([*words, option, f"{tmp_path}/{command}-{name}"])[0] == 0
        assert (tmp_path / f"{command}-{name}").read_bytes().lstrip().startswith(head)
    if name in ("x.svg", "x.png", "x.pdf"):
        assert run(["et", "convert", "b.json", "-o", f"{tmp_path}/{name}"])[0] == 0
        assert (tmp_path / name).read_bytes().startswith(head)


def test_globs_that_match(files: Path, tmp_path: Path) -> None:
    for glob in ("*zebra_step*", "torch", "aten::add*"):
        assert run(["svg", "run", "-o", f"{tmp_path}/x.dot", "--hide", glob])[0] == 0
