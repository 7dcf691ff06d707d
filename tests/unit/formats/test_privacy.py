"""``fastdispatch anonymize``: no name of the user is in any output, those of the framework are."""

import argparse
import base64
import gzip
import json
import re
import shlex
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main, parser
from fastdispatch.read import anonymous_names
from tests import commands, golden, processes

torch = pytest.importorskip("torch")

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

#: Every command that prints or writes contents of a dump; FILE is the output.
OUTPUTS = {name: shlex.split(line) for name, line in golden.table("commands/outputs")}

#: Names in outputs that are not functions of the program.
NAMED = {
    "anonymize": b"",
    "report modules": b"zebra_layers",
    "findings": b"",
    "pipeline partition": b"zebra_layers.1",
}

#: Commands that show no names of a recording, or read files that a dump does not replace.
NO_OUTPUT = {"doctor", "run", "attach", "resume", "pause", "top", "stacks", "timeline", "et"}
NO_DUMP = {("export", "chrome"), ("export", "perfetto"), ("pipeline", "report")}
NO_DUMP |= {("pipeline", name) for name in ("convert", "optimize", "plan", "profile")}


@pytest.fixture(scope="module")
def zebra_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zebra")
    (folder / "zebra_train.py").write_text(PROGRAM)
    processes.python_program("zebra_train.py", "zebra_out", folder=folder)
    return folder / "zebra_out"


@pytest.fixture(scope="module")
def hidden(zebra_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The anonymous recording."""
    path = tmp_path_factory.mktemp("anonymous") / "run.json"
    assert main(["anonymize", str(zebra_run), "-o", str(path), "--salt", "salt"]) == 0
    return path


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


def made(name: str, run: Path, folder: Path) -> bytes:
    if name == "svg" and shutil.which("dot") is None:
        pytest.skip("Graphviz is not here")
    arguments = [word.replace("RUN", str(run)).replace("FILE", str(folder / "output")) for word in OUTPUTS[name]]
    output = commands.out(*arguments)
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return output.encode() + b"".join(unpacked(each.read_bytes()) for each in files)


def leaves(commands: argparse._SubParsersAction, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, each in commands.choices.items():
        below = [action for action in each._actions if isinstance(action, argparse._SubParsersAction)]
        yield from leaves(below[0], (*above, name)) if below else [(*above, name)]


def test_every_command_with_an_output_is_here() -> None:
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    every = set(leaves(commands))
    tested = {words for words in every for line in OUTPUTS.values() if tuple(line[: len(words)]) == words}
    assert tested == {words for words in every if words[0] not in NO_OUTPUT} - NO_DUMP


@pytest.mark.parametrize("name", OUTPUTS)
def test_no_name_of_the_user(
    name: str,
    zebra_run: Path,
    hidden: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert NAMED.get(name, b"zebra_step") in made(name, zebra_run, tmp_path_factory.mktemp("plain"))
    output = made(name, hidden, tmp_path_factory.mktemp("hidden"))
    assert b"zebra" not in output.lower()
    host = json.dumps(fastdispatch.load(zebra_run).meta["host"]).encode()
    assert host not in output
    assert b"f_" in output or name == "findings"
    if name not in ("anonymize", "diff", "findings", "report modules"):
        assert re.search(rb"aten::|torch|Linear", output)


def test_no_name_in_the_file(zebra_run: Path, hidden: Path) -> None:
    facts = fastdispatch.load(zebra_run).meta
    content = hidden.read_text().lower()
    assert not any(text.lower() in content for text in ("zebra", str(facts["host"]), str(facts["folder"])))


@pytest.mark.parametrize("name", ["html", "html source"])
def test_no_path_of_this_machine(name: str, hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed packages are not searched for: their folders may name the user."""
    monkeypatch.chdir(hidden.parent)
    output = made(name, Path(hidden.name), tmp_path)
    assert str(Path(fastdispatch.__file__).parents[1]).encode() not in output
    assert str(Path(torch.__file__).parents[1]).encode() not in output


def test_equal_salts_give_equal_names(zebra_run: Path, tmp_path: Path) -> None:
    for name, salt in (("one", "a"), ("two", "a"), ("three", "b"), ("four", ""), ("five", "")):
        options = ["--salt", salt] if salt else []
        assert main(["anonymize", str(zebra_run), "-o", str(tmp_path / name), *options]) == 0
    one, two, three, four, five = ((tmp_path / n).read_bytes() for n in ("one", "two", "three", "four", "five"))
    assert one == two
    assert len({one, three, four, five}) == 4
    assert "f_" not in json.dumps(commands.document("diff", tmp_path / "one", tmp_path / "two").get("rows", []))


def test_figures_stay(zebra_run: Path, hidden: Path) -> None:
    before, after = fastdispatch.load(zebra_run), fastdispatch.load(hidden)
    for column in ("calls", "self", "total", "backward"):
        assert sorted(after.contexts[column]) == sorted(before.contexts[column])
    assert {"torch/nn/modules/linear.py:[Linear]:forward", "aten::addmm", "AddmmBackward0"} <= set(after.nodes["key"])
    rows = after.table("module")["instances"]
    assert sorted(rows) == sorted(before.table("module")["instances"])


def test_facts_without_names_stay(zebra_run: Path, tmp_path: Path) -> None:
    """Numbers about clocks stay, but not the text of a failure, and no fact of the user."""
    path, output = tmp_path / "run.json", tmp_path / "hidden.json"
    assert main(["merge", str(zebra_run), "-o", str(path)]) == 0
    document = json.loads(path.read_text())
    for clock, stays in (({"pings": [[0, 1, 2]]}, True), ({"trouble": "zebra"}, False)):
        document["ranks"][0]["meta"] = {"command": ["zebra.py"], "torch": "2.13", "clock": clock}
        path.write_text(json.dumps(document))
        assert main(["anonymize", str(path), "-o", str(output)]) == 0
        left = {"torch": "2.13", "anonymous": True} | ({"clock": clock} if stays else {})
        assert fastdispatch.load(output).meta == left


def test_hash_of_names() -> None:
    """The vectors of SipHash's reference."""
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert anonymous_names.siphash(*key, bytes(range(15))) == 0xA129CA6149BE45E5
    assert anonymous_names.siphash(*key, b"") == 0x726FDB47DD0E0E31


def test_prefixes_are_cut(zebra_run: Path, tmp_path: Path) -> None:
    """Names of two copies of a program, in different folders, have equal hashes."""
    document = tmp_path / "plain.json"
    assert main(["merge", str(zebra_run), "-o", str(document)]) == 0
    moved = tmp_path / "moved.json"
    moved.write_text(document.read_text().replace('"zebra_train.py"', '"elsewhere/zebra_train.py"'))
    keys = []
    for source, prefix in ((document, ""), (moved, ""), (moved, "elsewhere/")):
        output = str(tmp_path / "output")
        assert main(["anonymize", str(source), "-o", output, "--salt", "a", "--strip-prefix", prefix]) == 0
        keys.append(set(fastdispatch.load(output).nodes["key"]))
    assert keys[0] == keys[2] != keys[1]


def test_many_ranks(tmp_path: Path) -> None:
    """The output is a folder that commands read as a run."""
    with fastdispatch.CallGraph(tmp_path / "one", ops="off"):
        sorted([2, 1], key=lambda zebra: zebra)
    content = bytearray((tmp_path / "one" / "rank00000.fd").read_bytes())
    (tmp_path / "many").mkdir()
    for rank in range(17):
        content[88:96] = rank.to_bytes(4, "little") + (17).to_bytes(4, "little")
        (tmp_path / "many" / f"rank{rank:05}.fd").write_bytes(content)
    assert main(["anonymize", str(tmp_path / "many"), "-o", str(tmp_path / "hidden")]) == 0
    assert sorted(each.name for each in (tmp_path / "hidden").iterdir()) == [f"rank{n:05}.json" for n in range(17)]
    assert [rank["rank"] for rank in fastdispatch.load(tmp_path / "hidden").ranks] == list(range(17))
    pytest.importorskip("duckdb")
    for options in ([], ["--rank", "7"]):
        printed = commands.out("report", tmp_path / "hidden", "--all", *options)
        assert "f_" in printed and "zebra" not in printed and ("rank 7 of 17" in printed) == bool(options)


def test_an_empty_salt_is_refused(zebra_run: Path, tmp_path: Path) -> None:
    assert "the salt is empty" in commands.error("anonymize", zebra_run, "-o", tmp_path / "x", "--salt", "")
