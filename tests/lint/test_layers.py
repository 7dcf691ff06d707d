"""The structure of the C tree: allowed includes, sizes, exported symbols."""

import re
import shutil
import subprocess
import sysconfig
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

from .tree import BELOW_PYTHON, LAYERS, ROOT, code, layer, name, sources

MAX_FILE_LINES = 600
MAX_FOLDER_FILES = 42
MAX_FUNCTION_LINES = 60  # the longest today: session_new, 59

# The only mutable data at file scope: the state of the allocator and the clock, process.h, and state that hooks of the
# process (also fork handlers) reach without the module.
MUTABLE = {
    "csrc/base/budget.c": {"shrunk"},
    "csrc/base/clock.c": {"fd_clock_is_tsc", "first"},
    "csrc/base/sections.c": {"fd_sections_asymmetric", "sections", "lock"},
    "csrc/clocks/ping_thread.c": {"lock", "threads", "prepared", "refusal"},
    "csrc/gpu/kernel_collector.c": {"of_process"},
    "csrc/capture/frames/code_nodes.c": {"constructor_tool", "constructor_events"},
    "csrc/capture/frames/constructors.c": {"tool", "watcher", "events"},
    "csrc/capture/hooks/c_calls.c": {"tool", "events", "skipped"},
    "csrc/capture/hooks/collection_hook.c": {"collecting"},
    "csrc/capture/hooks/frame_hook.c": {"installed", "next_evaluator", "unhooked_calls", "work"},
    "csrc/capture/torch/libtorch.c": {"fd_torch"},
    "csrc/capture/hooks/monitor.c": {"tool", "purpose", "paused", "events", "finalizers", "counting"},
    "csrc/capture/hooks/quiet_frames.c": {"fd_quiet"},
    "csrc/capture/hooks/watched_steps.c": {"tool", "watching", "was_watching", "events"},
    "csrc/capture/python/monitoring.c": {"fd_monitored_type"},  # a static type: CPython fills it in
    "csrc/capture/memory/memory_reports.c": {"hooks"},
    "csrc/capture/operands/operands.c": {"fd_operand_layout"},
    "csrc/capture/operators/records.c": {"listening"},
    "csrc/capture/process/process.c": {"fd_process"},
    "csrc/capture/process/thread.c": {"fd_thread_self", "at_exit"},
}
# The folders of capture/: a file includes its own folder and earlier ones.
CAPTURE = ["python", "process", "torch", "rules", "state", "timers"]
CAPTURE += ["frames", "operands", "operators", "memory", "engines", "hooks", "session"]
# Tables that CPython requires to be writable.
PYTHON_TABLES = re.compile(r"^static (struct )?Py\w+ |^PyType_Spec ")


def includes(path: Path) -> list[str]:
    return re.findall(r'^#\s*include\s+"([^"]+)"', path.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("path", sources(".c", ".h"), ids=name)
def test_includes_point_to_the_same_or_an_earlier_folder(path: Path) -> None:
    own = LAYERS.index(layer(path))
    for target in includes(path):
        assert (ROOT / "csrc" / target).is_file(), f'"{target}" is not below csrc/'
        assert LAYERS.index(target.split("/")[0]) <= own, f'{layer(path)}/ may not include "{target}"'


def test_folders_of_capture_include_earlier_ones() -> None:
    assert {path.parent.name for path in sources(".c", ".h", below="csrc/capture")} == set(CAPTURE)
    for path in sources(".c", ".h", below="csrc/capture"):
        own = CAPTURE.index(path.parent.name)
        for target in includes(path):
            layer_, folder = target.split("/")[:2]
            assert layer_ != "capture" or CAPTURE.index(folder) <= own, f'{name(path)} may not include "{target}"'


def unit(path: str) -> str:
    """The name shared by a header and its C file."""
    return path.rpartition(".")[0]


def test_no_include_cycle_between_files() -> None:
    graph: dict[str, set[str]] = {}
    for path in sources(".c", ".h"):
        own = unit(str(path.relative_to(ROOT / "csrc")))
        graph.setdefault(own, set()).update(unit(target) for target in includes(path))
        graph[own].discard(own)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_capture_includes_no_reader() -> None:
    allowed = {"base", "json", "streams", "recording", "clocks", "gpu", "capture"}
    for path in sources(".c", ".h", below="csrc/capture"):
        assert {target.split("/")[0] for target in includes(path)} <= allowed, name(path)


def test_python_starts_at_capture() -> None:
    for path in sources(".c", ".h"):
        if layer(path) in BELOW_PYTHON:
            text = code(path)
            assert not re.search(r"#\s*include\s+<Python\.h>|\bPy(_|[A-Z])", text), name(path)


def test_only_capture_distinguishes_versions_of_python() -> None:
    for path in sources(".c", ".h"):
        if layer(path) != "capture":
            assert not re.search(r"PY_(VERSION_HEX|MINOR_VERSION|MAJOR_VERSION)", code(path)), name(path)


def test_a_library_does_not_print_or_exit() -> None:
    names = "v?f?printf|puts|perror|exit|_exit|_Exit|abort|system|popen|alloca|gets|strtok"
    forbidden = re.compile(rf"(?<!\w)({names})\s*\(")
    for path in sources(".c", ".h"):
        # __attribute__((format(printf, ...))) is not a call.
        text = re.sub(r"format\(printf", "format(", code(path))
        found = forbidden.search(text)
        assert found is None, f"{name(path)}: {found.group(1)}" if found else ""


def file_scope(path: Path) -> list[str]:
    """Definitions of variables at file scope: lines that start at column 0, in or out of static."""
    definition = re.compile(
        r"^(?:static\s+)?(?:_Thread_local\s+|__thread\s+)?(?!typedef|extern|return|struct\s+\w+\s*\{|enum|union|static_assert)"
        r"[A-Za-z_][\w ]*[\s*]+(?:const\s+)?(\w+)(?:\[[^\]]*\])*\s*(?:__attribute__.*)?(?:=|;|$)"
    )
    found = []
    for line in code(path).splitlines():
        match = definition.match(line)
        if match is None or PYTHON_TABLES.match(line) or re.search(r"\bconst\b", line):
            continue
        if re.search(r"[=;\]]|__thread|_Thread_local", line) and "(" not in line.split("=")[0]:
            found.append(match.group(1))
    return found


@pytest.mark.parametrize("path", sources(".c"), ids=name)
def test_no_mutable_data_at_file_scope(path: Path) -> None:
    assert set(file_scope(path)) == MUTABLE.get(name(path), set())


@pytest.mark.parametrize("path", sources(".h"), ids=name)
def test_headers_are_guarded(path: Path) -> None:
    guard = re.search(r"^#ifndef (FD_\w+_H)\n#define (\w+)\n", path.read_text(encoding="utf-8"), re.M)
    assert guard is not None and guard.group(1) == guard.group(2)
    assert path.read_text(encoding="utf-8").rstrip().endswith("#endif")


def test_guards_differ() -> None:
    guards = [re.search(r"^#ifndef (\w+)", path.read_text(encoding="utf-8"), re.M) for path in sources(".h")]
    names = [guard.group(1) for guard in guards if guard]
    assert len(names) == len(set(names))


def test_files_stay_readable() -> None:
    for path in sources(".c", ".h") + sources(".c", ".h", below="tests/c"):
        count = len(path.read_text(encoding="utf-8").splitlines())
        assert count < MAX_FILE_LINES, f"{name(path)}: {count} lines"


def functions(path: Path) -> list[tuple[str, int]]:
    """Names and lines of the functions of a file: a name at column 0, then its body."""
    found = []
    start, title = 0, ""
    for number, line in enumerate(code(path).splitlines(), 1):
        head = re.match(r"^(\w+)\(", line)
        if head:
            start, title = number, head.group(1)
        elif line.startswith("}") and title:
            found.append((title, number - start + 1))
            title = ""
    return found


def test_functions_stay_short() -> None:
    found = [(lines, name(path), title) for path in sources(".c") for title, lines in functions(path)]
    assert len(found) > 500
    longest = max(found)
    assert longest[0] <= MAX_FUNCTION_LINES, longest
    lengths = sorted(lines for lines, _, _ in found)
    assert lengths[len(lengths) // 2] <= 15


def test_names_of_functions_have_two_words() -> None:
    """A verb alone, as in add(), names no noun."""
    for path in sources(".c", ".h"):
        assert [title for title, _ in functions(path) if "_" not in title] == [], name(path)


def test_every_file_below_capture_has_a_test() -> None:
    there = {name(path) for path in sources(".c", below="tests/c")}
    tested = [path.relative_to(ROOT / "csrc") for path in sources(".c") if layer(path) in BELOW_PYTHON]
    missing = [path for path in tested if name(ROOT / "tests" / "c" / path.parent / f"t_{path.name}") not in there]
    assert missing == []


def test_file_names_are_unique() -> None:
    for found in (sources(".c", ".h"), sources(".c", ".h", below="tests/c")):
        stems = Counter(path.stem for path in {path.with_suffix("") for path in found})
        assert [stem for stem, count in stems.items() if count > 1] == []


def test_public_types_have_one_definition() -> None:
    pattern = re.compile(r"^typedef (?:struct|enum|union) (fd_\w+) \{", re.M)
    types = Counter(kind for path in sources(".c", ".h") for kind in pattern.findall(code(path)))
    assert [kind for kind, count in types.items() if count > 1] == []


def test_folders_stay_small() -> None:
    folders = Counter(path.parent for path in sources(".c", ".h"))
    assert {name(folder): count for folder, count in folders.items() if count > MAX_FOLDER_FILES} == {}


def test_no_banners() -> None:
    banner = re.compile(r"^\s*(/\*|//|#)\s*[-=*#]{3,}", re.M)
    for path in sources(".c", ".h") + sources(".c", ".h", ".py", below="tests") + sources(".py", below="python"):
        assert not banner.search(path.read_text(encoding="utf-8")), name(path)


def test_only_the_module_is_exported() -> None:
    spec = find_spec("fastdispatch._core")
    assert spec is not None and spec.origin is not None, "build the extension first"
    assert shutil.which("nm") is not None, "nm is missing: install binutils"
    assert spec.origin.endswith(sysconfig.get_config_var("EXT_SUFFIX"))
    table = subprocess.run(["nm", "-D", "--defined-only", spec.origin], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in table.stdout.splitlines()}
    assert exported == {"PyInit__core"}
