"""The tables of docs/formats/recording.md agree with recording_format.h; a reader written from them with the core."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from tests import processes, programs
from tests.unit.formats import pyreader

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "formats" / "recording.md").read_text()
FORMATS = ("recording_format.h", "gpu_format.h", "measures/measure_format.h", "wait_kinds.h")
HEADER = "".join((ROOT / "csrc" / "recording" / name).read_text() for name in FORMATS)

KINDS = ("none", "python", "op", "autograd", "range", "job", "module", "thread", "overflow", "c", "kernel")
FROM = ("project", "site", "stdlib", "generated")


# -- the tables --------------------------------------------------------------------------------------------------------


def documented() -> dict[str, tuple[int, dict[str, tuple[int, int, str]]]]:
    """Size of every struct in the document, with offset, size and type of its fields."""
    structs = {}
    for name, size, body in re.findall(r"^### (fd_\w+) \((\d+) bytes\)\n(.*?)(?=^##|\Z)", DOCUMENT, re.M | re.S):
        rows = re.findall(r"^\| (\d+) \| (\d+) \| (\S+) \| (\w+) \|", body, re.M)
        structs[name] = int(size), {field: (int(at), int(wide), kind) for at, wide, kind, field in rows}
    return structs


def compiled(structs: dict[str, Any], folder: Path) -> dict[str, tuple[int, int]]:
    """Offset and size of the same fields, as the compiler sees them."""
    prints = []
    for struct, (_, fields) in structs.items():
        prints.append(f'printf("{struct} 0 %zu\\n", sizeof({struct}));')
        for name in fields:
            where = f"offsetof({struct}, {name}), sizeof((({struct} *)0)->{name})"
            prints.append(f'printf("{struct}.{name} %zu %zu\\n", {where});')
    files = "".join(f'#include "recording/{name}"\n' for name in FORMATS)
    includes = f"{files}#include <stdio.h>\n"
    source = includes + "int main(void) {" + "".join(prints) + "return 0; }"
    (folder / "sizes.c").write_text(source)
    subprocess.run(["cc", "-std=c11", f"-I{ROOT / 'csrc'}", "-o", folder / "sizes", folder / "sizes.c"], check=True)
    lines = subprocess.check_output([folder / "sizes"], text=True).splitlines()
    return {name: (int(at), int(size)) for name, at, size in map(str.split, lines)}


def declared(struct: str) -> list[tuple[str, str]]:
    """Field names and types in format.h."""
    body = re.search(rf"typedef struct {struct} \{{(.*?)\n\}} {struct};", HEADER, re.S)
    assert body is not None
    code = re.sub(r"/\*.*?\*/", "", body[1], flags=re.S)
    return [(name, kind) for kind, name in re.findall(r"^\s*([\w ]+?) (\w+)(?:\[\w*\])?;", code, re.M)]


C_TYPES = {
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "i64": "int64_t", "f32": "float",
    "f64": "double",
}  # fmt: skip


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_tables_are_those_of_the_compiler(tmp_path: Path) -> None:
    structs = documented()
    sizes = compiled(structs, tmp_path)
    assert len(structs) == 26
    for struct, (size, fields) in structs.items():
        assert sizes[struct] == (0, size), struct
        for name, (at, wide, _) in fields.items():
            assert sizes[f"{struct}.{name}"] == (at, wide), f"{struct}.{name}"


def test_every_field_is_in_the_tables_in_order() -> None:
    in_header = set(re.findall(r"typedef struct (fd_\w+) \{", HEADER))
    structs = documented()
    assert in_header == set(structs)
    for struct, (_, fields) in structs.items():
        wanted = [(name, kind) for name, kind in declared(struct) if name != "bytes" or struct != "fd_string"]
        assert [name for name, _ in wanted] == list(fields), struct
        for name, kind in wanted:
            reported = fields[name][2].partition("[")[0]
            kind = (
                kind.removeprefix("_Atomic ").replace("char", "uint8_t")
                if name == "magic"
                else kind.removeprefix("_Atomic ")
            )
            assert C_TYPES.get(reported, reported) == kind, f"{struct}.{name}"


def enumeration(prefix: str, text: str = HEADER) -> dict[str, int]:
    """Members of the enumeration whose first member has the prefix."""
    for body in re.findall(r"enum \{(.*?)\};", text, re.S):
        names = re.findall(r"\b(FD_\w+)( = (0x[0-9A-Fa-f]+|\d+))?,?", re.sub(r"/\*.*?\*/", "", body, flags=re.S))
        if names[0][0].startswith(prefix):
            values, following = {}, 0
            for name, _, value in names:
                values[name.lower()] = int(value, 0) if value else following
                following = values[name.lower()] + 1
            return values
    raise AssertionError(prefix)


def test_the_kinds_of_chunks_and_counters_are_those_of_the_code() -> None:
    chunks = DOCUMENT.split("### fd_chunk")[1].split("**Order")[0]
    rows = {name: int(number) for number, name in re.findall(r"^\| (\d+) \| (\w+) \| [^|]+ \| [^|]+ \|$", chunks, re.M)}
    kinds = {name.removeprefix("fd_chunk_"): value for name, value in enumeration("FD_CHUNK_").items()}
    assert rows == kinds
    counters = re.findall(
        r"^\| (\d+) \| (\w+) \| [^|]+ \|$", DOCUMENT.split("**Counters**")[1].split("## Chunks")[0], re.M
    )
    columns = (ROOT / "csrc" / "trace" / "trace_columns.c").read_text()
    names = re.search(r"fd_counter_names\[\] = \{(.*?)NULL", columns, re.S)
    assert names is not None
    assert [name for _, name in counters] == re.findall(r'"(\w+)"', names[1])
    assert [int(number) for number, _ in counters] == list(range(len(counters)))
    assert len(counters) == enumeration("FD_COUNT_")["fd_count_used"]


# -- an independent reader ---------------------------------------------------------------------------------------------


class Paths:
    """Numbers for call paths: equal paths get equal numbers in both readers."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], int] = {}

    def number(self, parent: int, node: tuple[Any, ...], module: tuple[str, ...], origin: int) -> int:
        return self.known.setdefault((parent, node, module, origin), len(self.known) + 1)

    def of_recording(self, found: pyreader.Recording) -> dict[int, int]:
        numbers: dict[int, int] = {0: 0}

        def visit(context: int) -> int:
            if context not in numbers:
                parent, node, module, origin = found.contexts[context]
                own = found.nodes[node]
                numbers[context] = self.number(
                    visit(parent), (KINDS[own[0]], FROM[own[1]], *own[2:]), found.modules.get(module, ()), visit(origin)
                )
            return numbers[context]

        for context in sorted(found.contexts):
            visit(context)
        return numbers

    def of_trace(self, trace: fastdispatch.Trace) -> dict[int, int]:
        columns = ("kind", "from", "file", "class", "name", "qualified", "package", "line")
        nodes = list(zip(*(trace.nodes[name] for name in columns), strict=True))
        modules: list[tuple[str, ...]] = []
        for parent, name, kind in zip(*(trace.modules[key] for key in ("parent", "name", "class")), strict=True):
            modules.append((*(modules[parent] if parent >= 0 else ()), name, kind))
        numbers: dict[int, int] = {-1: 0}
        rows = list(zip(*(trace.contexts[key] for key in ("parent", "node", "module", "origin")), strict=True))

        def visit(row: int) -> int:
            if row not in numbers:
                parent, node, module, origin = rows[row]
                path = modules[module] if module >= 0 else ()
                numbers[row] = self.number(visit(parent), nodes[node], path, visit(origin))
            return numbers[row]

        for row in range(len(rows)):
            visit(row)
        return numbers


def summed(numbers: dict[int, int], figures: dict[int, tuple[int, int, int]]) -> dict[int, tuple[int, ...]]:
    """Readers merge threads of one role into one tree."""
    sums: dict[int, tuple[int, ...]] = {}
    for context, values in figures.items():
        before = sums.get(numbers[context], (0, 0, 0))
        sums[numbers[context]] = tuple(a + b for a, b in zip(before, values, strict=True))
    return sums


def agree(path: Path) -> pyreader.Recording:
    """Both readers give the same trace of ``path``."""
    found, trace = pyreader.read(path), fastdispatch.load(path)
    paths = Paths()
    ours, theirs = paths.of_recording(found), paths.of_trace(trace)
    rank = trace.ranks[0]
    figures = trace.core.columns("figures", 0)
    columns = [figures[name] for name in ("calls", "resumes", "self")]
    expected = {row: values for row, *values in zip(figures["context"], *columns, strict=True)}
    assert summed(ours, found.figures) == {theirs[row]: tuple(values) for row, values in expected.items()}
    facts = "rank world pid id boot_id state timing steps steps_source file_bytes start_realtime"
    for name in facts.split():
        assert found.header[name] == rank[name], name
    assert found.header["counters"] == tuple(rank["counters"].values())
    for name in ("role", "system_id", "running", "served", "covered", "self", "events", "events_lost", "cpu"):
        assert [thread[name] for thread in found.threads] == rank["threads"][name], name
    assert [ours[thread["root"]] for thread in found.threads] == [theirs[row] for row in rank["threads"]["root"]]
    opened = zip(*(rank["open"][name] for name in ("thread", "context", "age")), strict=True)
    assert [(thread, ours[at], age) for thread, at, age in found.open] == [
        (t, theirs[at], age) for t, at, age in opened
    ]
    names = ("number", "begin", "end", "other", "forward", "backward", "optimizer", "data")
    assert found.steps == list(zip(*(rank["latest_steps"][name] for name in names), strict=True))
    assert {key for key, value in found.meta.items() if key and value} == set(rank["meta"])
    agree_on_spreads(found, ours, theirs, figures)
    agree_on_marks(found, rank, path)
    return found


def agree_on_marks(found: pyreader.Recording, rank: dict[str, Any], path: Path) -> None:
    """The states at the ends of steps, of which each range of steps is a difference."""
    names = ("number", "steps", "recorded", "other", "forward", "backward", "optimizer", "data")
    assert found.marks == list(zip(*(rank["marks"][name] for name in names), strict=True))
    for end, (number, *_) in enumerate(found.marks):
        for start in (-1, *range(end)):
            first = found.marks[start][0] + 1 if start >= 0 else found.marks[0][0]
            trace = fastdispatch.load(path, steps=(first, number))
            assert trace.window is not None and (trace.window.first, trace.window.last) == (first, number)
            paths = Paths()
            ours, theirs = paths.of_recording(found), paths.of_trace(trace)
            before = summed(ours, found.states[start]) if start >= 0 else {}
            after = summed(ours, found.states[end])
            columns = trace.core.columns("figures", 0)
            rows = zip(*(columns[name] for name in ("context", "calls", "resumes", "self")), strict=True)
            expected = {theirs[row]: tuple(values) for row, *values in rows}
            changes = {
                context: tuple(b - a for a, b in zip(before.get(context, (0, 0, 0)), values, strict=True))
                for context, values in after.items()
            }
            assert {context: values for context, values in changes.items() if any(values)} == expected
            zero = [(0, 0)] * len(found.threads)
            times = zip(found.thread_states[start] if start >= 0 else zero, found.thread_states[end], strict=True)
            threads = trace.ranks[0]["threads"]
            assert [(b[0] - a[0], b[1] - a[1]) for a, b in times] == list(
                zip(threads["covered"], threads["cpu"], strict=True)
            )


def agree_on_spreads(
    found: pyreader.Recording, ours: dict[int, int], theirs: dict[int, int], figures: dict[str, list[Any]]
) -> None:
    """Figures of active contexts of one thread; others are sums over threads."""
    names = ("steps", "last_step", "stepped", "self_min", "self_max", "total_min", "total_max")
    rows = zip(*(figures[name] for name in names), strict=True)
    expected = {theirs[context]: row for context, row in zip(figures["context"], rows, strict=True)}
    for context, spread in found.spreads.items():
        if context in found.figures and list(ours.values()).count(ours[context]) == 1:
            assert spread == expected[ours[context]]


@pytest.mark.parametrize("program", [*programs.PLAIN, programs.threads], ids=lambda program: program.__name__)
def test_a_recording_of_calls(program: Any, tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off") as graph:
        program()
        graph.step()
        program()
        graph.step()
    found = agree(tmp_path / "rank00000.fd")
    assert len(found.steps) == 2
    assert len(found.marks) == 2
    assert found.spreads
    assert found.open  # functions of the test that were open at the end


def test_a_recording_of_training(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.training import make_step

    _, step = make_step()
    with fastdispatch.CallGraph(tmp_path):
        for _ in range(3):
            step()
    found = agree(tmp_path / "rank00000.fd")
    assert found.modules and len(found.steps) == 3
    assert any(origin for _, _, _, origin in found.contexts.values())
    kinds = {KINDS[node[0]] for node in found.nodes.values()}
    assert kinds >= {"python", "op", "autograd", "range", "thread", "overflow"}


def test_a_recording_that_overflowed(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec("\n".join(f"def f{i}(n):\n    return n and f{(i * 7 + 1) % 97}(n - 1)" for i in range(97)), space)
    with fastdispatch.CallGraph(tmp_path, ops="off", max_mb=1):
        for i in range(97):
            space[f"f{i}"](60)
    found = agree(tmp_path / "rank00000.fd")
    lost = [c for c, (_, node, _, _) in found.contexts.items() if found.nodes[node][4] == "<overflow>"]
    assert sum(found.figures.get(context, (0, 0, 0))[0] for context in lost) > 100


def test_a_recording_of_counts(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, ops="off", timing=False):
        programs.classes()
    found = agree(tmp_path / "rank00000.fd")
    assert not found.header["timing"]
    assert found.header["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    assert sum(own for _, _, own in found.figures.values()) == 0


def test_the_state_and_open_calls_of_a_killed_process(tmp_path: Path) -> None:
    with processes.killed("endless.py", tmp_path, "calls"):
        path = next(tmp_path.rglob("rank00000*.fd"))
        live = pyreader.Reader(path).read_header()["state"], fastdispatch.load(path).ranks[0]["state"]
    found = agree(path)
    assert live == ("running", "running")
    assert found.header["state"] == "killed"
    assert found.open


def test_steps_of_a_schedule_beyond_the_ring(tmp_path: Path) -> None:
    """Windows 90 steps apart go around the ring of 256 more than once."""
    with fastdispatch.CallGraph(
        tmp_path, ops="off", schedule=fastdispatch.schedule(wait=80, warmup=0, active=10)
    ) as graph:
        for _ in range(500):
            programs.leaf(1)
            graph.step()
    numbers = [step[0] for step in agree(tmp_path / "rank00000.fd").steps]
    assert len(numbers) > 20
    assert numbers == sorted(numbers)


# -- the example -------------------------------------------------------------------------------------------------------


def test_the_example_is_a_recording(tmp_path: Path) -> None:
    block = re.search(r"```hexdump\n(.*?)```", DOCUMENT, re.S)
    assert block is not None
    content = bytearray(0x18000)
    for offset, bytes_ in re.findall(r"^([0-9a-f]{5})  ((?:[0-9a-f]{2} ?){16})", block[1], re.M):
        content[int(offset, 16) : int(offset, 16) + 16] = bytes.fromhex(bytes_)
    (tmp_path / "tiny.fd").write_bytes(content)
    found = agree(tmp_path / "tiny.fd")
    reported = re.search(r"Result of a reader(.*)\Z", DOCUMENT, re.S)
    assert reported is not None
    lines = re.findall(r"`([^`]+)` (\d+) calls?[^,]*, ([\d ]+) ns", reported[1].replace("\n", " "))
    trace = fastdispatch.load(tmp_path / "tiny.fd")
    keys = [trace.nodes["key"][node] for node in trace.contexts["node"]]
    rows = list(zip(keys, trace.contexts["calls"], trace.contexts["self"], strict=True))
    assert rows == [(key, int(calls), int(own.replace(" ", ""))) for key, calls, own in lines]
    assert found.header["state"] == "stopped"
    assert [found.contexts[context][1] for _, context, _ in found.open] == [0x3C4]
