"""Write docs/gallery: record each program, print its first finding, and draw it.

The programs are those of ``tests/programs``, with their planted fault. A section is written only if the first finding
is the planted one. Its commands are the ones that this script executed.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = Path("tests/programs")
CALLS = "fastdispatch svg out --min-percent 1 -o {name}.svg"
JOBS = "fastdispatch pipeline report out --svg {name}.svg > report.txt"
HEAD = """# Gallery

Small programs with one fault each: the program, the commands, the first finding, the picture. `make gallery` records
them and writes this page; times are those of one run on a shared machine with two cores.
"""
SECTION = """
## {title}

{about} The program is [{name}.py](../../{program}).

```sh
{commands}
```

```text
{finding}
```

{caption}

![{alt}]({name}.svg)
"""


@dataclass(frozen=True)
class Entry:
    """A program of tests/programs, the title of its section, and what its picture shows."""

    name: str
    title: str
    caption: str
    ranks: int = 1
    picture: str = CALLS

    @property
    def program(self) -> Path:
        return PROGRAMS / f"{self.name}.py"


ENTRIES = [
    Entry(
        "loop_over_rows",
        "A loss in a Python loop",
        "`distance` itself takes less time than `Tensor.backward`, which passes the same operators backwards.",
    ),
    Entry(
        "item_in_metrics",
        "A metric that reads values one by one",
        "`accuracy` is called once per step, and calls `aten::item` for each row.",
    ),
    Entry(
        "slow_collate",
        "A slow data loader",
        "The main thread spends its time in the iterator of the loader; the work is in another process.",
    ),
    Entry(
        "kept_graph",
        "A sum that keeps every graph",
        "The picture has no sign of the fault: it is in the memory that stays, not in the time.",
    ),
    Entry(
        "changing_shapes",
        "A model that is compiled again and again",
        "The steps of the picture are those after the last compilation.",
    ),
    Entry(
        "one_slow_rank",
        "One slow rank of two",
        "The sum of both ranks: rank 0 waits in `Tensor.backward` for rank 1, which is in `write_statistics`.",
        ranks=2,
    ),
    Entry(
        "unequal_stages",
        "A pipeline with unequal stages",
        "One iteration: stage 0 waits while stage 1 computes.",
        ranks=2,
        picture=JOBS,
    ),
]


def constants(program: Path) -> dict[str, object]:
    """The docstring and the constants of a program, without importing it."""
    tree = ast.parse((ROOT / program).read_text())
    found: dict[str, object] = {"about": ast.get_docstring(tree)}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            found |= {target.id: statement.value.value for target in statement.targets if isinstance(target, ast.Name)}
    return found


def recording(entry: Entry) -> list[str]:
    start = f"python {PROGRAMS}/record.py out {entry.name} fault"
    if entry.ranks == 1:
        return [start]
    return [*(f"{start} $PWD/rendezvous {rank} {entry.ranks} &" for rank in range(entry.ranks)), "wait"]


def execute(command: str, folder: Path) -> str:
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": search, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_finding(text: str) -> str:
    """The line about the step, and the first finding."""
    return "\n\n".join(text.split("\n\n")[:2])


def build(entry: Entry, into: Path) -> str:
    """Record one program in a temporary folder, write its picture, and return its section."""
    facts = constants(entry.program)
    draw = entry.picture.format(name=entry.name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tests").symlink_to(ROOT / "tests")
        execute("\n".join(recording(entry)), folder)
        finding = first_finding(execute("fastdispatch findings out", folder))
        if f"[{facts['FINDING']}" not in finding:
            sys.exit(f"{entry.program}: the first finding is not {facts['FINDING']}:\n{finding}")
        execute(draw, folder)
        (into / f"{entry.name}.svg").write_bytes((folder / f"{entry.name}.svg").read_bytes())
    return SECTION.format(
        name=entry.name,
        title=entry.title,
        program=entry.program,
        about=facts["about"],
        commands="\n".join([*recording(entry), "fastdispatch findings out", draw]),
        finding=finding,
        caption=entry.caption,
        alt="One iteration" if entry.picture == JOBS else "The call graph",
    )


def sections(page: Path) -> dict[str, str]:
    """The sections of a page by title; empty without a page."""
    text = page.read_text() if page.exists() else ""
    return {title: section for section, title in re.findall(r"(\n## (.+?)\n.*?)(?=\n## |\Z)", text, re.S)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=HERE, metavar="FOLDER", help="folder of the page")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs to record (default: all)")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {entry.name for entry in ENTRIES}
    if unknown:
        parser.error(f"unknown programs: {', '.join(sorted(unknown))}")
    page = arguments.into / "README.md"
    kept = sections(page)
    for entry in ENTRIES:
        if entry.name in (arguments.names or [each.name for each in ENTRIES]):
            kept[entry.title] = build(entry, arguments.into)
            print(entry.name, flush=True)
    page.write_text(HEAD + "".join(kept[entry.title] for entry in ENTRIES if entry.title in kept))


if __name__ == "__main__":
    main()
