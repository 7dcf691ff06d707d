"""``fastdispatch pipeline profile``: a graph of layers with measured times and sizes."""

from __future__ import annotations

import _thread
import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from fastdispatch._core import Error
from fastdispatch.cli.et.et_export import recordings
from fastdispatch.cli.numbers import count, whole
from fastdispatch.cli.option_tables import add_options
from fastdispatch.cli.paths import Input, OutputFile, SvgFile
from fastdispatch.cli.pipeline.pipeline_partition import attribute, guarded
from fastdispatch.cli.run_command import script, without_our_frames
from fastdispatch.files.output import check_place, write
from fastdispatch.page.pipeline_bars import picture
from fastdispatch.pipeline.graph import Graph
from fastdispatch.record.callgraph import CallGraph

_DESCRIPTION = """Write a model as a graph of layers with times and sizes. RUN is a recording made with
CallGraph(et=True), GRAPH the output of an earlier call. SCRIPT.py is run and recorded until enough steps have ended.
MODULE:FUNCTION, searched in the current folder first, is called without arguments and returns the model, a tuple of its
arguments and, optionally, a dict of keyword arguments and a function from its result to the loss."""
_OPTIONS = """
input RUN|GRAPH|SCRIPT.py|MODULE:FUNCTION  model, see above
-o, --output FILE  write the graph as text (.txt), or with all figures as JSON (.json)
--svg FILE         write an image of the times and sizes of layers to FILE
--steps N          measure N steps (default: 5; of a recording all)
--warmup N         skip N steps first (default: 2)
--rank R           use rank R of a run (default: 0)
--json             print the graph as JSON
"""


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "profile",
        help="measure the layers of a model",
        usage="fastdispatch pipeline profile (RUN | GRAPH | SCRIPT.py | MODULE:FUNCTION) [options] [--args ...]",
        description=_DESCRIPTION,
    )
    given = {"warmup": 2, "rank": 0}
    more = {name: {"type": whole, "default": default} for name, default in given.items()}
    add_options(parser, _OPTIONS, input=Input, output=OutputFile, svg=SvgFile, steps=count, **more)
    parser.add_argument("--args", nargs=argparse.REMAINDER, default=[], help="pass all further words to the script")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> None:
    steps = 5 if arguments.steps is None else arguments.steps
    if steps < 1 or arguments.warmup < 0:
        raise Error(f"profile: {steps} steps after {arguments.warmup}: at least one step is needed")
    for place in filter(None, (arguments.output, arguments.svg)):
        check_place(place)
    graph = _graph(arguments, steps)
    if arguments.output:
        graph.write(arguments.output)
    if arguments.svg:
        write(arguments.svg, picture(graph).encode())
    if arguments.json:
        print(graph.to_json(), end="")
        return
    forward, backward = (sum(getattr(node, name) for node in graph.nodes) for name in ("forward_ms", "backward_ms"))
    saved = sum(node.saved_bytes or 0 for node in graph.nodes)
    parameters = sum(node.parameter_bytes for node in graph.nodes)
    print(f"{len(graph)} layers and operations, {len(graph.edges)} edges")
    steps_text = f": medians of {graph.about['steps']} steps" if "steps" in graph.about else ""
    print(f"forward {forward:.3f} ms, backward {backward:.3f} ms{steps_text}")
    if graph.about.get("backward_elsewhere_ms"):
        print(f"backward of the loss and of operations outside layers: {graph.about['backward_elsewhere_ms']:.3f} ms")
    print(f"parameters {parameters / 1e6:.3f} MB, saved for backward {saved / 1e6:.3f} MB")


def _graph(arguments: argparse.Namespace, steps: int) -> Graph:
    if Path(arguments.input).suffix in (".txt", ".json"):
        return Graph.read(arguments.input)
    try:
        from fastdispatch.pipeline.measure import profile
        from fastdispatch.pipeline.recorded import profile_recording
    except ImportError as error:
        raise Error(f"pipeline profile needs PyTorch: {error}") from None
    text, warmup = arguments.input, arguments.warmup
    path = Path(text)
    if path.suffix == ".py":
        with tempfile.TemporaryDirectory() as folder:
            with redirect_stdout(sys.stderr if arguments.json else sys.stdout):
                _record([text, *arguments.args], folder, warmup + steps)
            return profile_recording(_recording(folder, 0), steps=steps, warmup=warmup)
    if arguments.args:
        raise Error("--args: only SCRIPT.py accepts arguments")
    if path.is_dir() or path.suffix == ".fd":
        return profile_recording(_recording(text, arguments.rank), steps=arguments.steps, warmup=warmup)
    if ":" not in text:
        raise Error(f"{text}: not a recording, SCRIPT.py or MODULE:FUNCTION")
    os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")  # times of a GPU, not of the launches
    made = _setup(text, guarded(text, attribute(text)))
    graph: Graph = guarded(text, lambda: profile(*made[:3], loss=made[3], steps=steps, warmup=warmup))
    return graph


def _recording(path: str, rank: int) -> Path:
    found = recordings([path])
    chosen = [each for each, number in found if number == rank] or [each for each, _ in found if len(found) == 1]
    if not chosen:
        raise Error(f"{path}: no recording of rank {rank}: the run has {', '.join(str(number) for _, number in found)}")
    return chosen[0]


def _setup(text: str, made: Any) -> tuple[Any, Any, Any, Any]:
    parts = [*made, None, None, None][:4] if isinstance(made, (tuple, list)) else []
    if len(parts) != 4 or not callable(parts[0]) or not isinstance(parts[1], (tuple, list)):
        raise Error(f"{text}: return the model and a tuple of its arguments")
    return parts[0], parts[1], parts[2], parts[3]


def _record(program: list[str], folder: str, steps: int) -> None:
    """Run a script as ``fastdispatch run`` does, with operands, and stop it after its first ``steps``."""
    ended = threading.Event()
    seen: list[threading.Thread] = []

    def end(graph: CallGraph) -> None:
        # In a thread: an interrupt within this call would be raised in our own code.
        seen.append(threading.Thread(target=_interrupt, args=(ended,), daemon=True))
        seen[0].start()

    graph = CallGraph(folder, et=True, gpu="off", steps=(0, steps), max_mb=512, on_trace_ready=end)
    graph._ambient = True
    with _as_it_was():
        run_script = script(program)
        graph.start()
        try:
            _until_interrupted(run_script, seen, ended)
        finally:
            graph.stop()


def _interrupt(ended: threading.Event) -> None:
    """Interrupt repeatedly: Python drops an interrupt in a destructor, and a script may catch one."""
    patience = 0.005
    while not ended.wait(patience):
        _thread.interrupt_main()
        patience = 1.0


def _until_interrupted(program: Callable[[], object], seen: list[threading.Thread], ended: threading.Event) -> None:
    try:
        with suppress(SystemExit):
            program()
        ended.set()
        for thread in seen:
            thread.join()
    except BaseException as error:
        ended.set()
        if not seen or not isinstance(error, KeyboardInterrupt):
            sys.excepthook = without_our_frames(sys.excepthook)
            raise


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Restore the state that a script changes."""
    main, argv, path = sys.modules["__main__"], sys.argv, [*sys.path]
    # A background job ignores interrupts, including ours.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler or signal.SIG_DFL)
        sys.modules["__main__"], sys.argv, sys.path[:] = main, argv, path
