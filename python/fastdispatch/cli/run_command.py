"""``fastdispatch run``: record a program as ``python`` would run it."""

from __future__ import annotations

import argparse
import atexit
import errno
import os
import pkgutil
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

import fastdispatch
from fastdispatch._core import Error
from fastdispatch.cli.messages import message
from fastdispatch.cli.option_tables import add_options
from fastdispatch.files import run_directory
from fastdispatch.record.callgraph import CallGraph
from fastdispatch.record.environment import failure, run_id
from fastdispatch.record.launchers import is_launcher, is_launcher_command
from fastdispatch.record.options import Options, check_names, options_of, text_of
from fastdispatch.record.timeline import Timeline

_OWN_FOLDER = fastdispatch.__path__[0] + os.sep

_OPTIONS = """
-o, --out DIR          write the recordings to DIR (default: $FASTDISPATCH_OUT or fastdispatch-out)
--ops {auto,record,dispatch,off}  record operators through PyTorch's observer (record), a dispatch mode (dispatch), or
                       not (default: auto)
--timeline             also record when each call happened
--measure WHAT         also measure operators: flops, memory, comm (communication), shapes, or all
--gpu WHAT             record kernels and GPU time: auto (default), off, require, or kinds, e.g. kernels+modules
--keep GLOB            record only functions that match GLOB; !GLOB excludes; repeatable
--steps A:B            record only steps A to B-1, or all steps (all)
--budget SHARE         share of the run time that recording may take, which selects the steps to record (default: 0.01)
--step-of FUNCTION     the function whose end is the end of a step, NAME or FILE:NAME (default: by calls of optimizers)
--job_schedule_profiler_start A  with --job_schedule_profiler_end B, same as --steps A:B
"""
_SELECTION = """
--ranks R,...             record only these ranks
--options NAME=VALUE,...  other arguments of CallGraph, as in FASTDISPATCH_OPTIONS: calls=frame, timing=0, max_mb=16,
                          timeline=ops+python>50us, detail=c_calls, best_effort=1, children=0
-q, --quiet               print no summary
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="record a Python program, or the processes of a launcher",
        usage="fastdispatch run [options] (script.py | -m module | command) [arguments ...]",
        description="Run a program as `python` does and record its call graph. Given a launcher or another command "
        "(torchrun, srun, mpirun, bash, ...), its Python processes are recorded (FASTDISPATCH=1).",
    )
    add_options(
        parser,
        _OPTIONS,
        out={"default": os.environ.get("FASTDISPATCH_OUT", "fastdispatch-out")},
        ops={"default": "auto"},
        timeline={"action": "store_const", "const": Timeline().what},
        gpu={"default": "auto"},
        keep={"action": "append"},
        budget=float,
        job_schedule_profiler_start=int,
    )
    parser.add_argument("--job_schedule_profiler_end", type=int, metavar="B", help=argparse.SUPPRESS)
    add_options(parser, _SELECTION, options={"default": ""})
    parser.add_argument("-m", dest="is_module", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.program[:1] == ["--"]:
        del arguments.program[0]
    if not arguments.program:
        raise Error("run: no program given: use fastdispatch run script.py, or fastdispatch run -m module")
    options = _options(arguments)
    graph = CallGraph(**options)
    graph._ambient = True
    launched = _launched(arguments.program, arguments.is_module)
    if launched is not None:
        return _launch(arguments, options, launched)
    if options.get("children", True):
        _set_environment(options)
        os.environ.setdefault("FASTDISPATCH_RUN_ID", run_id())
    # Report a missing program before an earlier recording is overwritten.
    program = _module(arguments.program) if arguments.is_module else script(arguments.program)
    graph.start()
    atexit.register(finish, graph, arguments.quiet)
    try:
        program()
    except SystemExit:
        graph._failure = failure()
        raise
    except BaseException:
        graph._failure = failure()
        sys.excepthook = without_our_frames(sys.excepthook)
        raise
    return 0


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of CallGraph: options without a default on the command line are there if they are given."""
    given = {name: value for name, value in vars(arguments).items() if name in Options.__annotations__}
    given |= {"steps": _steps(arguments), "ranks": _ranks(arguments.ranks)}
    try:
        given |= options_of(arguments.options)
        check_names(given)
    except (TypeError, ValueError) as error:
        raise Error(f"--options {arguments.options}: {error}") from None
    return {name: value for name, value in given.items() if value is not None}


def _steps(arguments: argparse.Namespace) -> str | None:
    """Return the window of steps, from either pair of options; PaddlePaddle's may begin before step 0."""
    begin, end = arguments.job_schedule_profiler_start, arguments.job_schedule_profiler_end
    steps: str | None = arguments.steps
    if begin is None and end is None:
        return steps
    if steps is not None:
        raise Error("--steps and --job_schedule_profiler_start both select the steps to record: give only one of them")
    return f"{max(begin or 0, 0)}:{'' if end is None else end}"


def _ranks(text: str | None) -> list[int] | None:
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise Error(f"--ranks {text}: expected rank numbers separated by commas, e.g. 0,3") from None


def _set_environment(options: dict[str, Any]) -> None:
    """Let processes that multiprocessing spawns, or a launcher, record too: they are often separate ranks."""
    apart = ("out", "steps", "ranks", "best_effort")
    os.environ["FASTDISPATCH"] = "children"
    os.environ["FASTDISPATCH_OUT"] = os.path.abspath(options["out"])
    os.environ["FASTDISPATCH_OPTIONS"] = text_of({name: of for name, of in options.items() if name not in apart})
    if "steps" in options:
        os.environ["FASTDISPATCH_STEPS"] = options["steps"]
    if "ranks" in options:
        os.environ["FASTDISPATCH_RANKS"] = ",".join(map(str, options["ranks"]))


def _launched(program: list[str], is_module: bool) -> list[str] | None:
    """Return the command to execute if the program is a launcher or a command of the system, None for a Python
    program, which runs in this process."""
    if is_module:
        return [sys.executable, "-m", *program] if is_launcher(["-m", *program]) else None
    if os.path.exists(program[0]):
        if not is_launcher_command(program[0]) and not _is_command(program[0]):
            return None
        path = program[0] if os.sep in program[0] else os.path.join(os.curdir, program[0])
        return [*([] if os.access(path, os.X_OK) else [sys.executable]), path, *program[1:]]
    from shutil import which  # only if needed: it imports much

    found = which(program[0])
    return None if found is None else [found, *program[1:]]


def _is_command(path: str) -> bool:
    """Return whether a file is a binary, such as an interpreter, or a script of another one than Python."""
    try:
        with open(path, "rb") as file:
            line = file.readline(256)
    except OSError:
        return False
    binary = line.startswith(b"\x7fELF") or (line.startswith(b"#!") and b"python" not in line)
    return binary and os.access(path, os.X_OK)


def _launch(arguments: argparse.Namespace, options: dict[str, Any], command: list[str]) -> int:
    """Run a command whose Python processes are recorded, and print the verdict of all ranks at its end."""
    if not options.get("best_effort"):
        run_directory.open_folder(arguments.out)
    _set_environment(options)
    os.environ["FASTDISPATCH"] = "1"
    if not arguments.quiet:
        name = os.path.basename(arguments.program[0])
        line = f"recording each Python process of {name}.  Next: fastdispatch report {arguments.out}"
        message(line)
    from fastdispatch.cli.run_launch import end_by_signal, status_of

    started = time.time()
    try:
        status = status_of(command)
    except OSError as error:
        raise Error(f"can't run {command[0]!r}: {error.strerror}") from None
    if not arguments.quiet:
        verdict(arguments.out, since=started)
    if status < 0:
        end_by_signal(-status)
    return status


def _fresh_main() -> ModuleType:
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=__builtins__, __annotations__={}, __spec__=None, __loader__=None)
    sys.modules["__main__"] = module
    return module


def _module(program: list[str]) -> Callable[[], object]:
    sys.argv = ["-m", *program[1:]]
    sys.path[0] = os.getcwd()
    _check_module(program[0])
    _fresh_main()
    return lambda: runpy._run_module_as_main(program[0])  # type: ignore[attr-defined]


def _check_module(name: str) -> None:
    """Raise Error if ``-m name`` finds nothing to run. Importing its packages is part of the program, so they are
    imported here only if the search without importing fails: a package may extend its own path."""
    if name.partition(".")[0] not in sys.modules and _found(name.partition(".")[0], None) is None:
        raise Error(f"no module named {name!r}")
    if _is_there(name):
        return
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = find_spec(name)
    except (ImportError, ValueError) as error:
        absent = getattr(error, "name", None) or name
        if not f"{name}.".startswith(f"{absent}."):
            return  # a dependency of the package is missing: the program itself fails
        spec = None
    if spec is None:
        raise Error(f"no module named {name!r}")


def _is_there(name: str) -> bool:
    places: Sequence[str] | None = None
    for end in [at for at, sign in enumerate(f"{name}.__main__.") if sign == "."]:
        part = f"{name}.__main__"[:end]
        spec = _found(part, places)
        if spec is None:
            return False
        places = spec.submodule_search_locations
        if places is None:
            return part in (name, f"{name}.__main__")
    return False


def _found(name: str, places: Sequence[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, places) if find is not None else None
        if spec is not None:
            return spec
    return None


def script(program: list[str]) -> Callable[[], object]:
    script = program[0]
    sys.argv = list(program)
    if os.path.isdir(script) or script.endswith((".zip", ".pyz")):
        if not os.path.exists(script):
            raise Error(f"can't open file {script!r}: {os.strerror(errno.ENOENT)}")
        if PathFinder.find_spec("__main__", [script]) is None:
            raise Error(f"can't find '__main__' in {script!r}")
        sys.path[0] = script
        _fresh_main()
        return lambda: runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
    code = _code(script)
    sys.path[0] = str(Path(script).resolve().parent)
    module = _fresh_main()
    module.__dict__.update(__file__=os.path.abspath(script), __cached__=None)
    return lambda: exec(code, module.__dict__)


def _code(script: str) -> CodeType:
    """Return the code of a source or compiled file. A syntax error is reported as `python` reports it."""
    try:
        with open(script, "rb") as file:
            code: CodeType | None = pkgutil.read_code(file)
            if code is not None:
                return code
            file.seek(0)
            source = file.read()
    except OSError as error:
        raise Error(f"can't open file {script!r}: {error.strerror}") from None
    try:
        return compile(source, os.path.abspath(script), "exec", dont_inherit=True)
    except SyntaxError as error:
        sys.excepthook(SyntaxError, error.with_traceback(None), None)
        raise SystemExit(1) from None


def finish(graph: CallGraph, quiet: bool) -> None:
    """End the recording of this process. The last process of the run prints the verdict, or the first one that an
    exception ends: a launcher may kill the others."""
    graph.stop()
    if quiet or graph.path is None:
        return
    file, ranks = graph._file, _expected(graph)
    if file is None or ranks == 1:
        verdict(graph.path)
    elif run_directory.is_last(file, ranks, bool(graph._failure)):
        verdict(os.path.dirname(graph.path) or ".", since=0.0)


def _expected(graph: CallGraph) -> int:
    """Return how many ranks record to the directory: those of this host, unless other hosts do too."""
    file, ranks = graph._file, graph._world
    entries = [] if file is None else run_directory.entries(Path(file.folder.path))
    if {entry.get("host") for entry in entries} <= {os.uname().nodename}:
        with suppress(ValueError):
            ranks = min(ranks, int(os.environ.get("LOCAL_WORLD_SIZE", ranks)))
    return ranks if graph._ranks is None else max(min(ranks, len(graph._ranks)), 1)


def verdict(path: str, *, since: float | None = None) -> None:
    """Print the contents of a recording and its first findings. With ``since``, of a run directory, if its run began
    after that time and has something to say."""
    from fastdispatch.dataset.run_loading import load_run
    from fastdispatch.detectors import findings
    from fastdispatch.detectors.model import closing_lines
    from fastdispatch.read.summary import summary_lines
    from fastdispatch.read.trace import load

    try:
        if since is not None and not any(each["started"] >= since for each in run_directory.entries(Path(path))):
            return
        trace = load_run(path, steps="settled") if since is not None else load(path, steps="settled")
        found = list(closing_lines(trace, findings(trace)))
        if since is None:
            found = [*summary_lines(path), *found]
        elif found:
            found = [*summary_lines(path, load_run(path)), *found]
    except Error as error:
        found = [str(error)]
    for line in found:
        message(line)


_ExceptHook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def without_our_frames(hook: _ExceptHook) -> _ExceptHook:
    """Print tracebacks from the first frame of the program."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        first = trace
        at = trace
        while at is not None:
            if at.tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
                first = at.tb_next
            at = at.tb_next
        hook(kind, error.with_traceback(first), first)

    return show
