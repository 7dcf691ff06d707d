"""Commands on mutated files of every format: ``python -m tests.soak.mutants COUNT SEED...``.

A command works, or prints one line with status 2: no exception, signal, endless loop, or memory beyond a limit. A
failure is printed with the seed and the number of its file; ``python -m tests.soak.mutants SEED:NUMBER`` repeats it and
prints all of the error.
"""

import contextlib
import gc
import gzip
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastdispatch import cli
from tests.soak import sources

#: Bounds of a command: seconds, and bytes of address space beyond those of the first process.
SECONDS, MEMORY = 60, 4 << 30

#: Commands of a mutated file.
SOME = 4

RECORDED = """
report F | report F --tree --json | report F --by module | report F --by phase --steps all | report F --paths
report F --by operator --all --time | report F --callers a | report F --summary | report F --flops --peak 1e12
report F --comm --json | report F --memory | report F --shapes | report F --rank 0 | findings F | html F -o o.html
diff F F --all | diff measured F --json | diff F measured --markdown --html o.html --by module | diff F --ranks 0,1
diff F --ranks outliers | top F --once --total | stacks F --all | merge F -o o.json | merge F -o o.parquet
svg F -o o.dot --ops | export callgraph F -o o.json | export folded F -o o | export pprof F -o o
export sqlite F -o o | export perfetto F -o o | export chrome F -o o | sql F phases
sql F hottest-paths | sql F slowest-rank --format json | sql F collectives | pipeline report F --svg o.svg
pipeline partition F -n 2 | pipeline profile F -o o.json | timeline merge F -o o.json | timeline stats F --svg o.svg
timeline check F | timeline merge F --steps 0:1 -o o.pftrace | et export F -o traces
anonymize F -o o.json --salt salt
"""

TIMELINES = """
timeline merge F -o o.json | timeline merge F -o o.pftrace | timeline merge F --sorted -o o.json | timeline check F
timeline merge F trace.json -o o.json.gz | timeline stats F --svg o.svg | timeline stats F --json
timeline merge F --time 0s:1s -o o.json
"""

TRACES = """
et info F | et info F --json | et check F | et convert F -o o.json | et convert F -o o.et | et convert F -o o.graphml
et convert F -o o.dot | et link F kineto_0.json -o o.et --force
"""

LINKS = "et link et_0.json F -o o.et --force"

GRAPHS = """
pipeline partition F --method pipedream -n 2 | pipeline optimize F -n 2 -o made --svg o.dot
pipeline optimize F -n 2 --schedule 1f1b --json | pipeline profile F --json --svg o.svg
pipeline convert -f F -n Net -a net -o package
"""

#: Inputs (a folder: one of its files is mutated), some more often, and the commands that read them.
LINES = {
    "run jobs measured allocated reduced killed untimed one.fd many dump.json dump.json": RECORDED,
    "set.parquet set.parquet set.parquet": RECORDED + "merge many -o F",
    "trace.json trace.json.gz": TIMELINES,
    "kineto_0.json kineto_0.json.gz": TIMELINES + LINKS,
    "et_0.json et_0.json.gz own.json own.et": TRACES,
    "graph.txt graph.json": GRAPHS,
    "workerlog.0": TIMELINES + "timeline merge F --paddle -o made",
    "weights.json weights.txt": "pipeline partition F -n 2 | pipeline partition F -n 2 --json",
    "gate.toml": "diff measured run --gate F | diff run run --gate F --json",
}

_HUGE = ["1e999", "-1", "0", "9" * 23, "18446744073709551615", "4294967296", "1e308", "NaN", "-0.0", "9" * 5000]
_ODD = [None, True, 0, -1, 2**31, 2**63, 2**64 - 1, 10**30, 1e308, 0.5, "", "x", "-1", "\0", "\ud800", "x" * 70000]
_ODD += [[], {}, [[]]]


def lines_of(text: str, name: str) -> list[str]:
    """Return the command lines of a file with this name."""
    return [line.strip().replace(" F", f" {name}") for line in re.split("[|\\n]", text.strip())]


def faults(lines: Sequence[str], folder: Path) -> list[str]:
    """Run command lines in a folder, in a child process; return what is wrong with them."""
    gc.collect()
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            _run_all(lines, folder, writing)
            os._exit(0)
        os.abort()
    os.close(writing)
    with open(reading, "rb") as pipe:
        *texts, last = pipe.read().decode().split("\0")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = [text for text in texts if "\n" in text]
    return [*found, f"{last}\n{signal.Signals(-status).name}"] if status < 0 else found


def _run_all(lines: Sequence[str], folder: Path, writing: int) -> None:
    os.chdir(folder)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in (signal.SIGALRM, signal.SIGINT):
        signal.signal(name, signal.SIG_DFL)
    for line in lines:
        os.write(writing, line.encode())
        signal.alarm(SECONDS)
        wrong = _wrong(line)
        signal.alarm(0)
        os.write(writing, (f"\n{wrong}\0" if wrong else "\0").encode(errors="backslashreplace"))


def _wrong(line: str) -> str:
    """Run a command line; return what is wrong, "" if nothing is."""
    for number in (1, 2):
        os.dup2(os.memfd_create("printed"), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    try:
        status = cli.main(line.split())
    except SystemExit as done:
        status = int(done.code or 0)
    except BaseException:
        return traceback.format_exc()
    sys.stdout.flush()
    output, errors = (os.pread(number, 1 << 20, 0).decode() for number in (1, 2))
    said = [each for each in errors.splitlines() if " is incomplete: " not in each]
    one = len(said) == 1 and said[0].startswith("fastdispatch: ") and len(said[0]) < 4096 and not output
    good = status in (0, 1) or (status == cli.BAD_INPUT and one)
    good = good and "out of memory" not in errors and "Traceback" not in errors
    return "" if good else f"status {status}: {output[:200]!r} {errors[-600:]!r}"


def mutated(content: bytes, name: str, chance: random.Random) -> bytes:
    """Return the content of a file with one to three mutations."""
    if name.endswith(".gz") and chance.random() < 0.8:
        return gzip.compress(mutated(gzip.decompress(content), name[:-3], chance), 1)
    for _ in range(chance.choice([1, 1, 2, 3])):
        content = chance.choice([_json, _json, _text, _bytes, _bytes])(content, chance)
    return content


def _json(content: bytes, chance: random.Random) -> bytes:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _bytes(content, chance)
    places: list[tuple[Any, Any]] = []
    _collect(document, places)
    for _ in range(chance.choice([1, 1, 1, 3]) if places else 0):
        _change(*chance.choice(places), chance)
    text = json.dumps(document)
    return (text if places else "[]").encode()


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    """Collect the places of values: of long lists some."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys[:40]:
        places.append((value, key))
        _collect(value[key], places)


def _change(holder: Any, key: Any, chance: random.Random) -> None:
    """Change one value of a dict or list, which another change may have removed."""
    what = chance.randrange(6)
    if isinstance(holder, list) and key >= len(holder):
        return
    if what == 0:
        holder.pop(key, None) if isinstance(holder, dict) else holder.pop(key)
    elif what == 1:
        deep: Any = []
        for _ in range(chance.choice([3, 500])):
            deep = [deep] if chance.random() < 0.5 else {"a": deep}
        holder[key] = deep
    elif what == 2 and isinstance(holder, list):
        holder[key:key] = [holder[key]] * chance.choice([1, 2, 1000])
    elif what == 3 and isinstance(holder.get(key) if isinstance(holder, dict) else holder[key], str):
        inner = holder[key].encode(errors="surrogatepass")
        holder[key] = mutated(inner, "", chance).decode(errors="replace") if inner[:1] in b"{[" else holder[key] * 2
    else:
        holder[key] = chance.choice(_ODD)


def _text(content: bytes, chance: random.Random) -> bytes:
    """Change a number or a line of a text."""
    numbers = list(re.finditer(rb"\d+(\.\d+)?", content[: 1 << 20]))
    if numbers and chance.random() < 0.6:
        at = chance.choice(numbers)
        return content[: at.start()] + chance.choice(_HUGE).encode() + content[at.end() :]
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at : at + 1] = chance.choice(
        [[], [lines[at]] * 2, [b"[" * 100000], [lines[at] + b"\0"], [lines[at] + b"\xff"]]
    )
    return b"\n".join(lines)


def _bytes(content: bytes, chance: random.Random) -> bytes:
    """Truncate, or change a range that is not only zeros."""
    if not content:
        return b"\0"
    at = chance.randrange(len(content))
    tries = (chance.randrange(len(content)) for _ in range(50))
    at = next((each for each in tries if content[each]), at)
    size = chance.choice([1, 4, 8, 64, 4096])
    odd = chance.choice([0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, 0x7FF8 << 48]).to_bytes(8, "little")
    width, aligned = chance.choice([4, 8]), at - at % 8
    return chance.choice(
        [
            content[:at],
            content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :],
            content[:at] + bytes(min(size, len(content) - at)) + content[at + size :],
            content[:at] + content[at : at + size] + content[at:],
            content[:at] + content[at + size :],
            content[:aligned] + odd[:width] + content[aligned + width :],
            content[:at] + chance.choice([b"\xff\xfe", b"\0", b'"', b"]", b"[" * 5000]) + content[at:],
        ]
    )


def prepare(folder: Path) -> Path:
    """Write the inputs, and import what commands import."""
    made = cli.parser()
    cli.parser = lambda command="": made

    def run(line: str) -> None:
        assert not faults([line], Path()), line

    sources.make(folder, run)
    for name in ("duckdb", "jinja2", "rich.table", "rich.markdown", "sqlite3", "fastdispatch.page.html"):
        with contextlib.suppress(ImportError):  # without them some commands print a line
            __import__(name)
    gc.freeze()
    return folder


def check(base: Path, seed: str, number: int) -> tuple[str, int, list[str]]:
    """Mutate one file of the inputs; return its name, the number of commands, and what is wrong with them."""
    chance = random.Random(f"{seed}:{number}")
    inputs = [(name, text) for names, text in LINES.items() for name in names.split()]
    name, text = chance.choice([each for each in inputs if (base / each[0]).exists()])  # a data set needs DuckDB
    with tempfile.TemporaryDirectory(prefix="mutant-") as made:
        folder = Path(made)
        for each in base.iterdir():
            if each.name == name:
                shutil.copytree(each, folder / name) if each.is_dir() else shutil.copy(each, folder / name)
            else:
                (folder / each.name).symlink_to(each)
        path = folder / name
        if path.is_dir():
            path = chance.choice(sorted(each for each in path.rglob("*") if each.is_file() and each.stat().st_size))
        path.write_bytes(mutated(path.read_bytes(), path.name, chance))
        lines = lines_of(text, name)
        lines = chance.sample(lines, min(SOME, len(lines)))
        return str(path.relative_to(folder)), len(lines), faults(lines, folder)


def run(count: int, seed: str, base: Path, workers: int) -> int:
    """Check files of a seed; print failures and a summary, and return the number of failures."""
    began, commands, failures = time.monotonic(), 0, 0
    kinds: Counter[str] = Counter()
    each = partial(_numbered, base, seed)
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for number, name, ran, wrong in pool.imap_unordered(each, range(count), 8):
            kinds[name.partition("/")[0]] += 1
            commands, failures = commands + ran, failures + len(wrong)
            for text in wrong:
                line, _, reason = text.partition("\n")
                print(f"mutants: {seed}:{number}: {name}: {line}: {reason.strip().splitlines()[-1][-300:]}", flush=True)
    took = time.monotonic() - began
    print(f"mutants: seed {seed}: {count} files, {commands} commands, {failures} failures, {took:.0f} s")
    print(f"  {', '.join(f'{kind} {times}' for kind, times in sorted(kinds.items()))}")
    return failures


def _numbered(base: Path, seed: str, number: int) -> tuple[int, str, int, list[str]]:
    return number, *check(base, seed, number)


def main(words: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="mutants-") as made:
        base = prepare(Path(made))
        if ":" in words[0]:
            seed, _, number = words[0].partition(":")
            name, _, wrong = check(base, seed, int(number))
            print(name, *wrong, sep="\n")
            return len(wrong) > 0
        workers = len(os.sched_getaffinity(0))
        return sum([run(int(words[0]), seed, base, workers) for seed in words[1:] or ["0"]]) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
