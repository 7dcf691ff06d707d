"""Invalid command lines: a command works, or prints one line with status 2. Inputs do not change, and no output
remains."""

from __future__ import annotations

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
from tests import processes
from tests.unit.formats.test_privacy import PROGRAM

pytest.importorskip("torch")

LAYER = (
    "{} -- Linear(in_features=4, out_features=4, bias=True) -- forward_compute_time=1.0, backward_compute_time=2.0, "
    "activation_size=10.0, parameter_size=10.0\n"
)
OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}

#: A line for every command that reads or writes a file. I: input, O: output.
COMMANDS = {
    "report": "report I:run",
    "report summary": "report I:run --summary",
    "report flops": "report I:run --flops",
    "report shapes": "report I:run --shapes",
    "findings": "findings I:run",
    "html": "html I:run -o O:x.html",
    "svg": "svg I:run -o O:x.svg",
    "diff": "diff I:run I:dump.json --gate I:gate.toml --html O:x.html",
    "top": "top I:run --once --interval 0.1",
    "doctor": "doctor",
    "stacks": "stacks I:run",
    "merge": "merge I:run -o O:x.json",
    "anonymize": "anonymize I:run -o O:x.json",
    "merge, data set": "merge I:run -o O:made.parquet",
    "sql": "sql I:run phases",
    "export callgraph": "export callgraph I:run -o O:x.json",
    **{f"export {name}": f"export {name} I:run -o O:x" for name in ("folded", "pprof", "sqlite", "perfetto", "chrome")},
    "timeline merge": "timeline merge I:trace.json -o O:x.json",
    "timeline merge, native": "timeline merge I:trace.json --time 0s:1s -o O:x.pftrace",
    "timeline merge, log_dir": "timeline merge --log_dir I:logs --paddle -o O:made/",
    "timeline stats": "timeline stats I:trace.json --svg O:x.svg",
    "timeline check": "timeline check I:trace.json",
    "et export": "et export I:run -o O:made/",
    "et link": "et link I:b.json I:kineto.json -o O:x.et",
    "et convert": "et convert I:a.et -o O:x.json",
    "et convert, picture": "et convert I:b.json -o O:x.svg",
    "et info": "et info I:a.et",
    "et check": "et check I:a.et",
    "pipeline convert": "pipeline convert -f I:graph.txt -n Net -a net -o O:made/",
    "pipeline partition": "pipeline partition I:run -n 2",
    "pipeline partition, weights": "pipeline partition I:weights -n 2",
    "pipeline optimize": "pipeline optimize I:graph.txt -n 2 -o O:made/ --svg O:x.svg",
    "pipeline partition, graph": "pipeline partition --method pipedream -f I:graph.txt -n 2 -o O:made/ --svg O:x.svg",
    "pipeline plan": "pipeline plan 1f1b --stages 2 --micro-batches 2 --svg O:x.svg",
    "pipeline profile": "pipeline profile I:graph.txt -o O:x.txt --svg O:y.svg",
    "pipeline report": "pipeline report I:run --svg O:x.svg",
}

#: Commands that need their own programs.
ELSEWHERE = {("run",), ("attach",), ("detach",), ("resume",), ("pause",)}

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
    cli.parser = lambda: PARSER
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


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The status and standard error. A command that blocks ends the test."""
    capsys.readouterr()
    signal.alarm(60)
    try:
        status = main(words)
    except SystemExit as done:
        status = int(done.code or 0)
    finally:
        signal.alarm(0)
    printed = capsys.readouterr()
    if status == cli.BAD_INPUT:
        assert printed.out == "", words
        assert printed.err.startswith("fastdispatch: ") and printed.err.count("\n") == 1, (words, printed.err)
    return status, printed.err


def refused(words: list[str], capsys: pytest.CaptureFixture[str], before: dict[str, Any]) -> str:
    status, message = run(words, capsys)
    assert status == cli.BAD_INPUT, (words, status, message)
    assert seen() == before, words
    return message


def places(command: str, mark: str) -> list[int]:
    return [at for at, word in enumerate(words_of(command)) if word.startswith(mark)]


READING = [command for command in COMMANDS if places(command, "I:")]
WRITING = [command for command in COMMANDS if places(command, "O:")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_work(command: str, files: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [f"{tmp_path}/{word[2:]}" if word.startswith("O:") else word for word in words_of(command)]
    before = seen()
    status, message = run(plain(words), capsys)
    assert status == 0, message
    assert seen() == before


@pytest.mark.parametrize("command", READING)
def test_invalid_inputs(
    command: str, files: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
            refused(with_one(words_of(command), at, text), capsys, before)


@pytest.mark.parametrize("command", READING)
def test_empty_and_foreign_files(command: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A template and a budget may be empty, a list of weights may not."""
    before = seen()
    for at in places(command, "I:"):
        if words_of(command)[at] in ("I:text", "I:gate.toml"):
            continue
        for text in ("empty", "text"):
            refused(with_one(words_of(command), at, text), capsys, before)


@pytest.mark.parametrize("command", WRITING)
def test_invalid_outputs(command: str, files: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
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
            refused(with_one(words, at, text), capsys, before[0])
            assert sorted(place.rglob("*")) == before[1], text
            assert stat.S_ISFIFO((place / f"fifo{end}").lstat().st_mode)
            assert stat.S_ISCHR(Path("/dev/null").lstat().st_mode)


def test_outputs_inside_a_recording(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run directory may contain outputs; its recordings and manifest are protected."""
    before = seen()
    try:
        for name in ("rank00000.fd", "manifest.json"):
            message = refused(["merge", "run", "-o", f"run/{name}"], capsys, before)
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
def test_options_of_nonsense(command: str, files: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [f"{tmp_path}/{word[2:]}" if word.startswith("O:") else word for word in words_of(command)]
    key = next(key for key in LEAVES if tuple(words[: len(key)]) == key)
    before = seen()
    for action in LEAVES[key]._actions:
        takes = action.option_strings and action.nargs not in (0, argparse.REMAINDER) and not is_path(action)
        if not takes or isinstance(action, argparse._HelpAction):
            continue
        option = action.option_strings[-1]
        for text in NONSENSE[-2:] if action.choices else NONSENSE:
            assert run([*plain(words), f"{option}={text}"], capsys)[0] in (0, 1, cli.BAD_INPUT)
        assert seen() == before, option


#: Invalid command lines and their messages.
REFUSED = {
    "report run --depth 2": "--depth requires --tree",
    "report run --min-percent 2": "--min-percent requires --tree",
    "report run --flops --peak x": "argument --peak: 'x': write FLOP/s (312e12), a dtype of the recorded GPU",
    "report run --peak 1e12": "--peak requires --flops",
    "report run --sort gpu": "--sort gpu: run has no GPU figures",
    "report run --top nan": "argument --top: 'nan': write a whole number from 1 to 2147483647",
    "report run --tree --min-percent nan": "argument --min-percent: 'nan': write a percentage from 0 to 100",
    "report run --comm": "--comm: run has no figures of communication: record with measure='comm'",
    "report run --comm --rank 0": "--rank and --comm cannot be combined",
    "report run --rank -1": "argument --rank: '-1': write a whole number from 0 to 2147483647",
    "diff run run --threshold nan": "argument --threshold: 'nan': write a percentage of at least 0",
    "diff run run --threshold inf": "argument --threshold: 'inf': write a percentage of at least 0",
    "html run -o x.html --max-mb nan": "argument --max-mb: 'nan': write a number from 1 to 2000",
    "svg run -o x.svg --hide nothing*": "--hide nothing*: matches no key and no package",
    "svg run -o x.svg --merge-into-caller nothing": "--merge-into-caller nothing: matches no key and no package",
    "svg run -o x.gif": "argument -o: 'x.gif': give a name that ends in .svg, .pdf, .png or .dot",
    "timeline stats trace.json --svg x.png": "argument --svg: 'x.png': the image is SVG",
    "export folded run -o x --weight gpu": "--weight gpu: run has no GPU figures",
    "merge dump.json -o dump.json": "dump.json: cannot write: it is also an input",
    "timeline merge trace.json -o trace.json": "trace.json: cannot write: it is also an input",
    "pipeline partition run -n 99999999999999999999": "'99999999999999999999': write a whole number",
    "pipeline plan 1f1b --stages 2 --micro-batches 2 --forward 1e-400": "a time that is not 0 is at least 1e-15",
}


@pytest.mark.parametrize(("line", "expected"), REFUSED.items(), ids=REFUSED)
def test_messages(line: str, expected: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert expected in refused(line.split(), capsys, seen())


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
def test_pictures_have_the_format_of_their_names(
    name: str, head: bytes, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {
        "svg": ["svg", "run"],
        "partition": ["pipeline", "partition", "--method", "pipedream", "-n", "2", "graph.txt"],
    }
    for command, words in lines.items():
        option = "-o" if command == "svg" else "--svg"
        assert run([*words, option, f"{tmp_path}/{command}-{name}"], capsys)[0] == 0
        assert (tmp_path / f"{command}-{name}").read_bytes().lstrip().startswith(head)
    if name in ("x.svg", "x.png", "x.pdf"):
        assert run(["et", "convert", "b.json", "-o", f"{tmp_path}/{name}"], capsys)[0] == 0
        assert (tmp_path / name).read_bytes().startswith(head)


def test_globs_that_match(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for glob in ("*zebra_step*", "torch", "aten::add*"):
        assert run(["svg", "run", "-o", f"{tmp_path}/x.dot", "--hide", glob], capsys)[0] == 0
