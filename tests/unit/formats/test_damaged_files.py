"""Damaged files, through every command that reads their format: the command works, or prints one line with status 2."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from fastdispatch import cli
from tests.chakra.pairs import write_pair

CORPUS = Path(__file__).parents[2] / "c" / "corpus"

#: Files per corpus, spread evenly over those of libFuzzer.
MOST = 12

RECORDED = """
report F
report F --tree --json
report F --by module
report F --by phase
report F --paths
report F --callers a
html F -o o.html
diff F F --all
diff F --ranks outliers
top F --once --total
stacks F --all --threads
merge F -o o.json
svg F -o o.dot --ops
export callgraph F -o o.json
export folded F -o o
export pprof F -o o
export sqlite F -o o
export perfetto F -o o
export chrome F -o o
pipeline report F --svg o.svg
pipeline partition F -n 2
timeline merge F -o o.json
timeline stats F --svg o.svg
timeline check F
timeline merge F --steps 0:1 -o o.json
et export F -o traces
anonymize F -o o.json --salt salt
"""

TIMELINES = """
timeline merge F -o o.json
timeline merge F -o o.pftrace
timeline merge F --sorted -o o.json
timeline stats F --svg o.svg
timeline stats F --json
timeline check F
timeline merge F --time 0s:1s -o o.json
"""

TRACES = """
et info F
et info F --json
et check F
et convert F -o o.json
et convert F -o o.et
et convert F -o o.graphml
et convert F -o o.dot
"""

LINKS = """
et link et_0.json F -o o.et --force
"""

GRAPHS = """
pipeline partition F --method pipedream -n 2
pipeline profile F --json --svg o.svg
pipeline convert -f F -n Net -a net -o package
"""

KINDS = {
    "reader": (".fd", RECORDED),
    "load": (".json", RECORDED),
    "timeline": (".json", TIMELINES),
    "figures": (".json", TIMELINES),
    "et": (".json", TRACES),
    "chakra": (".et", TRACES),
    "kineto": (".json", LINKS),
    "graph": (".txt", GRAPHS),
}

PARSER = cli.parser()


def sample(name: str) -> dict[str, bytes]:
    with tarfile.open(CORPUS / f"fuzz_{name}.tar.xz") as archive:
        files = [(each, archive.extractfile(each)) for each in archive.getmembers() if each.isfile()]
        found = {Path(each.name).name: file.read() for each, file in files if file is not None}
    names = sorted(found)
    crashes = [each for each in names if each.startswith("crash")]
    return {each: found[each] for each in [*crashes, *names[:: max(len(names) // MOST, 1)]]}


@pytest.mark.parametrize("kind", KINDS)
def test_every_command(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "parser", lambda: PARSER)
    end, commands = KINDS[kind]
    path = Path(f"F{end}")
    write_pair(tmp_path, 4)
    for name, content in sample(kind).items():
        path.write_bytes(content)
        for line in commands.strip().splitlines():
            words = [str(path) if word == "F" else word for word in line.split()]
            try:
                status = cli.main(words)
            except SystemExit as done:
                status = int(done.code or 0)
            printed = capsys.readouterr()
            assert status in (0, 1, cli.BAD_INPUT), (name, line)
            if status == cli.BAD_INPUT:
                errors = [each for each in printed.err.splitlines() if " is incomplete: " not in each]
                assert printed.out == "" and len(errors) == 1, (name, line, printed.err)
            assert path.read_bytes() == content, (name, line)
