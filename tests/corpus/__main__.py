"""Run every reader over a folder of traces and print a Markdown table.

Usage: python -m tests.corpus FOLDER   (``make corpus DIR=FOLDER``). Nothing is downloaded and nothing is written below
FOLDER. A row has a file, its form, its size in events or nodes, the exit status of each command, and the first line of
the first failure. The exit status is 1 if a command crashed, that is, ended with another status than 0, 1 or 2.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Commands for each form; IN and OUT are replaced.
COMMANDS = {
    "timeline": {
        "stats": "timeline stats IN --json",
        "check": "timeline check IN --json",
        "merge": "timeline merge IN -o OUT.json",
        "native": "timeline merge IN -o OUT.pftrace",
        "sorted": "timeline merge --sorted IN -o OUT.json",
        "part": "timeline merge IN --time 0s:1s -o OUT.json",
    },
    "execution trace": {
        "info": "et info IN --json",
        "check": "et check IN --json",
        "convert": "et convert IN -o OUT.et",
    },
}
COLUMNS = ("stats", "info", "check", "merge", "native", "sorted", "part", "convert")
SECONDS = 300


@dataclass(frozen=True)
class Result:
    status: int
    output: str
    message: str


def form_of(path: Path) -> str | None:
    """The form of a file by its beginning and its suffix; None for other files."""
    if path.suffix in (".et", ".chakra"):
        return "execution trace"
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            head = file.read(1 << 16)
    except (OSError, EOFError):
        return "timeline"  # damaged; its reader has to report it
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return None
    if re.search(rb'"(nodes|comp_nodes)"\s*:', head) and b'"traceEvents"' not in head:
        return "execution trace"
    return "timeline"


def run(words: str, path: Path, out: Path) -> Result:
    arguments = [word.replace("IN", str(path)).replace("OUT", str(out)) for word in words.split()]
    done = subprocess.run(
        [sys.executable, "-m", "fastdispatch", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr.strip().partition("\n")[0])


def documents(results: dict[str, Result], name: str) -> list[dict[str, Any]]:
    """The files of a JSON output; none if the command failed."""
    try:
        document = json.loads(results[name].output)
    except ValueError:
        return []
    found: list[dict[str, Any]] = document["files"]
    return found


def size_of(form: str, results: dict[str, Result]) -> str:
    """Events of a timeline, nodes of an execution trace."""
    name, key = ("check", "events") if form == "timeline" else ("info", "nodes")
    return " ".join(str(document[key]) for document in documents(results, name))


def faults_of(results: dict[str, Result]) -> str:
    """Kinds of faults that ``check`` reports, without notes; sentences about an execution trace that is not whole."""
    found = []
    for document in documents(results, "check"):
        if "whole" in document:
            found += document["faults"] if not document["whole"] else []
        else:
            found += [f"{row['count']} {row['kind']}" for row in document["faults"] if row.get("broken", True)]
    return ", ".join(found)


def row_of(path: Path, folder: Path) -> tuple[str, bool] | None:
    form = form_of(path)
    if form is None:
        return None
    with tempfile.TemporaryDirectory() as place:
        results = {name: run(words, path, Path(place) / "out") for name, words in COMMANDS[form].items()}
    statuses = [str(results[name].status) if name in results else "" for name in COLUMNS]
    failed = [result.message for result in results.values() if result.status not in (0, 1)]
    text = (failed or [faults_of(results)])[0].replace(str(path), path.name).replace("|", "\\|")
    cells = [str(path.relative_to(folder)), form, size_of(form, results), *statuses, text]
    crashed = any(result.status not in (0, 1, 2) for result in results.values())
    return f"| {' | '.join(cells)} |", crashed


def files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.search(r"\.(json|json\.gz|gz|et)$", path.name):
            yield path


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("python -m tests.corpus FOLDER: give a folder with traces", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    print(f"| file | form | size | {' | '.join(COLUMNS)} | first failure or faults |")
    print("|" + "---|" * (len(COLUMNS) + 4))
    crashed = False
    for path in files(folder):
        found = row_of(path, folder)
        if found is not None:
            print(found[0], flush=True)
            crashed = crashed or found[1]
    return int(crashed)


if __name__ == "__main__":
    sys.exit(main())
