"""``--anonymize`` and ``--strip-prefix``: no name of the user is in any output, those of the framework are."""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main, parser, private
from tests import processes

pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
import fastdispatch

zebra_library = torch.library.Library("zebra", "DEF")
zebra_library.define("twice(Tensor zebra_input, str zebra_text) -> Tensor")
zebra_library.impl("twice", lambda x, text: x * 2, "CompositeImplicitAutograd")

class ZebraFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

class ZebraNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.zebra_layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(2))
    def forward(self, x):
        for layer in self.zebra_layers:
            x = layer(x)
        return ZebraFunction.apply(torch.ops.zebra.twice(x, "zebra operand"))

class ZebraOptimizer(torch.optim.SGD):
    pass

def zebra_step(model, optimizer):
    with fastdispatch.label("zebra range"):
        model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()

namespace = {}
exec(compile("def zebra_made(): return zebra_step(model, optimizer)", "<zebra>", "exec"), namespace)
model = ZebraNet()
namespace.update(zebra_step=zebra_step, model=model, optimizer=ZebraOptimizer(model.parameters(), lr=0.1))
with fastdispatch.CallGraph(sys.argv[1], timeline=True, jobs=True, et=True, measure="flops,shapes"):
    for micro_batch in range(3):
        for kind in ("forward", "backward", "zebra kind"):
            with fastdispatch.job(kind, mb=micro_batch, stage=0):
                namespace["zebra_made"]()
"""

#: Every command that writes contents of a recording; FILE is the output.
OUTPUTS = {
    "report": ["report", "RUN", "--all"],
    "report tree": ["report", "RUN", "--tree", "--json"],
    "report flops": ["report", "RUN", "--flops", "--all"],
    "report shapes": ["report", "RUN", "--shapes", "--all"],
    "report paths": ["report", "RUN", "--paths", "100", "--json"],
    "findings": ["findings", "RUN", "--all-time"],
    "html": ["html", "RUN", "-o", "FILE"],
    "svg": ["svg", "RUN", "-o", "FILE.svg"],
    "report modules": ["report", "RUN", "--by", "module", "--json"],
    "diff": ["diff", "RUN", "RUN", "--all", "--json"],
    "timeline merge": ["timeline", "merge", "RUN", "-o", "FILE.json"],
    "timeline merge, native": ["timeline", "merge", "RUN", "-o", "FILE.pftrace.gz"],
    "timeline cut": ["timeline", "cut", "RUN/rank00000.fd", "--last", "1", "-o", "FILE.json"],
    "timeline stats": ["timeline", "stats", "RUN", "--json", "--svg", "FILE.svg"],
    "timeline check": ["timeline", "check", "RUN", "--json"],
    "et export": ["et", "export", "RUN", "-o", "FILE"],
    "diff page": ["diff", "RUN", "RUN", "--html", "FILE"],
    "pipeline report": ["pipeline", "report", "RUN", "--json", "--svg", "FILE.svg"],
    "pipeline partition": ["pipeline", "partition", "RUN", "-n", "2", "--json"],
    "pipeline flow": ["pipeline", "flow", "RUN", "--all", "--json"],
    "top": ["top", "RUN", "--once", "--total", "--rows", "1000"],
    "stacks": ["stacks", "RUN", "--all", "--threads"],
    "merge": ["merge", "RUN", "-o", "FILE"],
    "sql": ["sql", "RUN", "FROM paths", "--format", "json"],
    **{
        f"export {name}": ["export", name, "RUN", "-o", "FILE"]
        for name in ("chrome", "perfetto", "folded", "pprof", "graphml", "sqlite", "dot")
    },
    "export callgraph": ["export", "callgraph", "RUN", "-o", "FILE.json"],
}


#: Names in outputs that are not functions of the program.
NAMED = {
    "stacks": b"<module>",
    "findings": b"zebra_out",
    "report modules": b"zebra_layers",
    "pipeline report": b"fastdispatch-pipeline-report",
    "pipeline partition": b"zebra_layers.1",
    "timeline check": b"zebra_out",
    "et export": b"zebra operand",
}

#: Outputs without functions and operators.
WITHOUT_NODES = ("timeline check",)

#: Commands that show no names of a recording, or reject the options.
NO_OUTPUT = {"doctor", "run", "attach", "detach", "resume", "pause", *private.REFUSING}


@pytest.fixture(scope="module")
def zebra_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zebra")
    (folder / "zebra_train.py").write_text(PROGRAM)
    command = [sys.executable, "zebra_train.py", "zebra_out"]
    subprocess.run(command, env=processes.environment(), cwd=folder, check=True, timeout=120)
    return folder / "zebra_out"


def unpacked(content: bytes) -> bytes:
    """The content, followed by its decompressed parts."""
    found = [gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content]
    for text in re.findall(rb"[A-Za-z0-9+/]{200,}={0,2}", found[0]):
        raw = base64.b64decode(text + b"=" * (-len(text) % 4))
        for kind in (31, 15, -15):
            try:
                found.append(zlib.decompressobj(kind).decompress(raw))
                break
            except zlib.error:
                continue
    return b"\n".join(found)


def made(name: str, run: Path, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> bytes:
    if name == "svg" and shutil.which("dot") is None:
        pytest.skip("Graphviz is not here")
    arguments = [word.replace("RUN", str(run)).replace("FILE", str(folder / "output")) for word in OUTPUTS[name]]
    capsys.readouterr()
    assert main([*arguments, *options]) == 0
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return capsys.readouterr().out.encode() + b"".join(unpacked(each.read_bytes()) for each in files)


def leaves(commands: argparse._SubParsersAction, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, each in commands.choices.items():
        below = [action for action in each._actions if isinstance(action, argparse._SubParsersAction)]
        yield from leaves(below[0], (*above, name)) if below else [(*above, name)]


def test_every_command_with_an_output_is_here() -> None:
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    every = set(leaves(commands))
    expected = {words for words in every if words[0] not in NO_OUTPUT} | set(private.ALLOWED)
    tested = {words for words in every for line in OUTPUTS.values() if tuple(line[: len(words)]) == words}
    assert tested == expected
    assert {words[0] for words in expected} == {*private.COMMANDS, *(words[0] for words in private.ALLOWED)}


@pytest.mark.parametrize("name", OUTPUTS)
def test_no_name_of_the_user(
    name: str, zebra_run: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = made(name, zebra_run, tmp_path_factory.mktemp("plain"), capsys)
    assert NAMED.get(name, b"zebra_step") in plain
    hidden = made(name, zebra_run, tmp_path_factory.mktemp("hidden"), capsys, "--anonymize", "salt")
    assert b"zebra" not in hidden.lower()
    host = json.dumps(fastdispatch.load(zebra_run).meta["host"]).encode()
    assert host not in hidden
    assert b"f_" in hidden or name == "pipeline report"
    if name not in ("diff", "findings", "report modules", "stacks", "pipeline report", *WITHOUT_NODES):
        assert re.search(rb"aten::|torch|Linear", hidden)


def test_equal_salts_give_equal_names(zebra_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, salt in (("one", "a"), ("two", "a"), ("three", "b"), ("four", ""), ("five", "")):
        salts = [salt] if salt else []
        assert main(["merge", str(zebra_run), "-o", str(tmp_path / name), "--anonymize", *salts]) == 0
    one, two, three, four, five = ((tmp_path / n).read_bytes() for n in ("one", "two", "three", "four", "five"))
    assert one == two
    assert len({one, three, four, five}) == 4
    assert main(["diff", str(tmp_path / "one"), str(tmp_path / "two"), "--json"]) == 0
    assert "f_" not in json.dumps(json.loads(capsys.readouterr().out).get("rows", []))


def test_figures_stay(zebra_run: Path, tmp_path: Path) -> None:
    assert main(["merge", str(zebra_run), "-o", str(tmp_path / "hidden"), "--anonymize", "salt"]) == 0
    before, after = fastdispatch.load(zebra_run), fastdispatch.load(tmp_path / "hidden")
    for column in ("calls", "self", "total", "backward"):
        assert sorted(after.contexts[column]) == sorted(before.contexts[column])
    assert {"torch/nn/modules/linear.py:[Linear]:forward", "aten::addmm", "AddmmBackward0"} <= set(after.nodes["key"])
    rows = after.table("module")["instances"]
    assert sorted(rows) == sorted(before.table("module")["instances"])


def test_prefixes_are_cut(zebra_run: Path, tmp_path: Path) -> None:
    options = ["--strip-prefix", "zebra_"]
    assert main(["merge", str(zebra_run), "-o", str(tmp_path / "cut"), *options]) == 0
    assert "train.py:[]:zebra_step" in fastdispatch.load(tmp_path / "cut").nodes["key"]


@pytest.mark.parametrize(
    "command",
    (
        ["timeline", "merge", "RUN", "OTHER", "-o", "FILE"],
        ["timeline", "stats", "OTHER"],
        ["timeline", "cut", "OTHER", "--time", "0s:", "-o", "FILE"],
        ["timeline", "check", "OTHER"],
        ["et", "info", "OTHER"],
        ["pipeline", "partition", "NUMBERS", "-n", "2"],
        ["sql", "DATASET", "FROM paths"],
        ["pipeline", "partition", "--method", "pipedream", "-n", "2", "NUMBERS"],
    ),
    ids=lambda command: " ".join(command[:2]),
)
def test_other_files_are_refused(
    command: list[str], zebra_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"traceEvents":[{"ph":"X","name":"zebra","ts":1,"dur":1,"pid":1,"tid":1}]}')
    (tmp_path / "numbers").write_text("1\n2\n3")
    assert main(["merge", str(zebra_run), "-o", str(tmp_path / "run.parquet")]) == 0
    words = {
        "DATASET": str(tmp_path / "run.parquet"),
        "NUMBERS": str(tmp_path / "numbers"),
        "RUN": str(zebra_run),
        "OTHER": str(other),
        "FILE": str(tmp_path / "made"),
    }
    assert main([*(words.get(word, word) for word in command), "--anonymize", "salt"]) == 2
    assert not (tmp_path / "made").exists()
    printed = capsys.readouterr().err
    assert "--anonymize" in printed
    assert printed.count("\n") == 1


def test_source_and_anonymize_exclude_each_other(
    zebra_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["html", str(zebra_run), "-o", str(tmp_path / "page"), "--source", "--anonymize", "salt"]) == 2
    assert "give only one of them" in capsys.readouterr().err
    assert not (tmp_path / "page").exists()
