"""``CallGraph``: record the calls of this process within a context."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import thread_time_ns
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from fastdispatch import _core
from fastdispatch.files import run_directory
from fastdispatch.record import children, custom_flops, environment
from fastdispatch.record.budget import StepBudget
from fastdispatch.record.children import ParentRank, Process
from fastdispatch.record.decorators import within
from fastdispatch.record.engines import Engines
from fastdispatch.record.environment import FROM_USER, CallSource, RuntimeFacts, failure
from fastdispatch.record.gpu import PATIENCE_MS, Gpu, why_missing
from fastdispatch.record.operators import Operators
from fastdispatch.record.optimizer_reports import begin_reports, end_reports
from fastdispatch.record.options import (
    Keep,
    Ops,
    Options,
    RareOptions,
    attach_measures,
    check_names,
    print_line,
    text_of,
)
from fastdispatch.record.probe import attach_memory
from fastdispatch.record.step_sites import StepSites
from fastdispatch.record.timeline import Timeline

if TYPE_CHECKING:
    from fastdispatch.read.trace import Steps, Trace
    from fastdispatch.record.child_recordings import Spawned
    from fastdispatch.record.clocks import Pings

_NOTHING = "nothing was recorded: start the CallGraph first"

#: The graph that records this process; there is at most one.
_current: CallGraph | None = None


class CallGraph:
    """Record which function calls which, down to the operators, with counts and times.

    A context manager, a decorator of functions, or ``start()`` and ``stop()``. In a notebook, frames of IPython and its
    kernel are folded.

    Parameters
    ----------
    out:
        The run directory; this process writes ``rankNNNNN.fd`` there. ``None`` records in memory only.
    steps:
        Steps to record: ``"A:B"``, ``"all"``, or a function of the step number (the option ``schedule``).
    budget:
        Share of the run time that recording may take, by default 0.01 unless ``steps``, ``schedule`` or ``et`` is
        given: the first 12 to 36 steps are recorded, and after that as many as the budget allows. The others have a
        duration, open calls (``fastdispatch stacks``), and the functions that run for the first time. The cost of
        recording is measured between both, and step times are those of steps that are not recorded
        (docs/concepts/overhead.md).
    calls:
        How Python calls are recorded: ``"monitor"`` (``sys.monitoring``, Python 3.12 and later), ``"frame"`` (an
        evaluator hook, PEP 523, which keeps arguments alive during a call), ``"off"``, or ``"auto"``: ``"monitor"``
        if it is available, else ``"frame"``. The recording states the choice.
    ops:
        How operators are recorded: ``"record"`` (PyTorch's record functions), ``"dispatch"`` (a dispatch mode),
        ``"off"``, or ``"auto"``: ``"record"`` if its self-test passes, else ``"dispatch"``. The recording states the
        choice.
    gpu:
        Record the kernels of recorded steps, or without CUPTI times of modules in the 9th recorded step and then in one
        of 32: ``"auto"`` if PyTorch uses CUDA, ``"off"`` never, ``"require"`` raises an error without a GPU. A
        :class:`fastdispatch.Gpu` or its contexts (``"kernels,modules"``) select calls to time.
    timeline:
        Also record when each call happened: ``True``, kinds of calls (``"ops,python>50us"``), or a
        :class:`fastdispatch.Timeline`.
    et:
        Also record inputs and outputs of operators, for ``fastdispatch et export``. Select a few steps with ``steps``
        or ``schedule``: a step needs about 500 bytes per operator. Requires ``ops="record"`` and ``timing``.
    measure:
        Also record what FLOPs of operators are derived from (``"flops"``), allocated memory (``"memory"``), bytes of
        communication (``"comm"``) or shapes of all operands (``"shapes"``); several names with commas, or ``"all"``
        (docs/concepts/measures.md).
    keep:
        Python functions that become nodes: a predicate of the key ``file:[Class]:function``, or globs of which one must
        match (``"!glob"`` excludes). The predicate is called once per function. A dropped function is merged into its
        caller. With ``keep`` nothing is folded.
    ranks:
        Record only these ranks; other ranks run without hooks. Default: ``FASTDISPATCH_RANKS``, else all ranks.
    options:
        Arguments that few programs need, by name: ``timing``, ``jobs``, ``detail``, ``schedule``, ``step_of``,
        ``on_trace_ready``, ``max_mb``, ``best_effort``, ``children``, ``gather``
        (:class:`fastdispatch.record.options.RareOptions`).

    The previous recording in ``out`` is kept as ``rankNNNNN.fd.previous`` until the new one has ended with a call.

    Raises :class:`fastdispatch.Error` for invalid options and if this process is recording already, and ``TypeError``
    for an unknown name.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None = "fastdispatch-out",
        *,
        steps: str | tuple[int, int] | None = None,
        budget: float | None = None,
        calls: CallSource = "auto",
        ops: Ops = "auto",
        gpu: str | Gpu = "auto",
        timeline: bool | str | Timeline = False,
        et: bool = False,
        measure: str = "",
        keep: Keep | None = None,
        ranks: Sequence[int] | None = None,
        **options: Unpack[RareOptions],
    ) -> None:
        check_names(options)
        self._options = Options(out, steps, budget, calls, ops, gpu, timeline, et, measure, keep, ranks, **options)
        self._model: CallGraph | None = None  # the one whose arguments this one has
        self._gpu_always = et  # a trace of a few steps needs the kernels of all of them
        self._ranks = ranks if ranks is not None else environment.ranks_of_environment()
        share = self._options.share
        group = 1 if self._options.events is None else 2  # its jobs and events refer to the step before
        self._budget = None if share is None else StepBudget(share, group, self._note, lambda: self._session)
        self._forks = 0
        self._child_of: ParentRank | None = None  # of another process of a rank: the recording of that rank
        self._process: Process | None = None  # this process
        self._spawned: Spawned | None = None  # until its name is known
        self._session: _core.Session | None = None
        self._started = False
        self._operators: Operators | None = None
        self._pings: Pings | None = None
        self._engines: Engines | None = None
        self._runtime: RuntimeFacts | None = None
        self._region: _core.label | None = None  # if another graph is recording
        self._rank, self._world, self._run_id = 0, 1, ""
        self._joined = False  # a process group
        self._file: run_directory.RecordingFile | None = None  # file of the recording; None in memory
        self._saved: Path | None = None  # file of a recording that was kept in memory
        self._refused = ""  # reason for recording in memory although a directory was given
        self._start_folder = ""  # current directory at the start, base of relative paths
        self._iterating = False  # inside an iteration of job_schedule_profiler_range ...
        self._stepped = False  # ... that step() has ended
        self._failure = ""  # name of the exception that ended the program
        self._ambient = False  # started by `run` or FASTDISPATCH=1: an inner CallGraph is a region of it

    def __enter__(self) -> CallGraph:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start recording. Inside ``fastdispatch run`` this labels a region of the existing recording.

        Raises :class:`fastdispatch.Error` if this object was started before, another one is recording, or the recording
        cannot be written (see ``best_effort``).
        """
        global _current
        if self._started:
            raise _core.Error("this CallGraph has been started already: make a new one")
        if _current is not None and _current._child_of is not None and self._child_of is None and not _current._ambient:
            _current._discard()  # the program records this process itself
        if _current is not None:
            if not _current._ambient:
                raise _core.Error("this process is recording already: stop the running CallGraph first")
            self._region = _core.label("CallGraph")
            self._region.__enter__()
            return
        if self._child_of is not None:
            self._rank, self._world, self._run_id = self._child_of.rank, self._child_of.world, self._child_of.run
        else:
            self._rank, self._world = environment.rank_and_world()
            self._run_id = environment.run_id()
        if self._ranks is not None and self._rank not in self._ranks:
            return
        device = self._options.device
        if device is not None:
            device.check()
        began = thread_time_ns()
        self._options = replace(self._options, calls=environment.source_of_calls(self._options.calls))
        session = self._open()
        self._session = session
        self._started = True
        if device is not None:
            device.attach(session, self._gpu_always)
        attach_measures(session, self._options.measures)
        if self._options.timing:
            self._engines = Engines(session, self._note)
        if self._engines is not None and self._options.calls == "off" and self._options.events is not None:
            self._note({"pipeline": {"note": "jobs by rule need calls='frame' or calls='monitor'"}})
        self._note(environment.facts() | {"run_id": self._run_id, "options": self._options.facts()})
        if self._child_of is not None and self._process is not None:
            self._note({"process": self._process.note(self._child_of)})
        if self._budget is not None:
            self._budget.store()
        _current = self
        atexit.register(self._stop_at_exit)
        try:
            self._look()  # before the start: its calls are not part of the program
            self._runtime = RuntimeFacts()
            self._note(self._runtime.allocators(ended=False))
            self._announce()
            self._spend(thread_time_ns() - began)
            session.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Finish the recording, if it is running.

        With GPU timing this waits, for at most two seconds and without the GIL, until the GPU has passed all timed
        calls, unless an exception ends the program.
        """
        global _current
        if self._region is not None:
            self._region.__exit__(None, None, None)
            self._region = None
        session = self._session
        if session is None or _current is not self:
            return
        began = thread_time_ns()
        if self._operators is not None:
            self._operators.detach()
        end_reports()
        session.stop()
        self._spend(thread_time_ns() - began)
        _current = None
        children.announce(None, None)
        atexit.unregister(self._stop_at_exit)
        try:
            self._failure = self._failure or failure()
            if not self._failure:
                session.wait_gpu(PATIENCE_MS)
        finally:
            self._finish(session)

    def step(self) -> None:
        """End a training step. After the first call only this method ends steps."""
        if self._recorder is not None and self._recorder._session is not None:
            self._recorder._stepped = True
            self._recorder._session.step()

    def iterate(self, record: bool, number: int | None) -> None:
        """Begin iteration ``number`` (None: end the last one) of :class:`fastdispatch.job_schedule_profiler_range`.

        ``record`` selects whether it is recorded, unless a schedule does. The previous iteration is a step: it ends now
        unless ``step()`` ended it.
        """
        if self._session is None:
            return
        if self._iterating and not self._stepped:
            self._session.step()
        self._iterating, self._stepped = number is not None, False
        self._look()
        self._session.record(record, number or 0)

    def stats(self) -> dict[str, int]:
        """Return the size so far: bytes, nodes, edges, contexts, modules, threads, steps; empty without a recording."""
        return self._recording.stats() if self._recording is not None else {}

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the recording so far as JSON (see ``docs/formats/dump.md``).

        Raises :class:`fastdispatch.Error` if nothing was recorded or the file cannot be written.
        """
        if self._recording is None:
            raise _core.Error(_NOTHING)
        from fastdispatch.read.dump_text import save

        save(self._recording.trace(), path)

    @property
    def trace(self) -> Trace:
        """The recording so far, as from ``fastdispatch.load``; all steps. Raises :class:`fastdispatch.Error` if nothing
        was recorded."""
        return self._load()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function or coroutine function: each outermost call is recorded by a new CallGraph with the
        arguments of this one."""
        return within("CallGraph", self._again, function)

    def __fspath__(self) -> str:
        """Return the file of the recording: functions with paths of recordings accept a CallGraph."""
        if self._recording is None:
            raise _core.Error(_NOTHING)
        if self.path is None:
            raise _core.Error("the recording is in memory: use load(graph), or CallGraph with a directory")
        return self.path

    def _again(self) -> Any:
        graph = current()
        if graph is not None and self in (graph, graph._model):
            return contextlib.nullcontext()  # a nested call
        again = type(self)(**self._options.given())
        again._model = self
        return again

    def _load(self, *, timeline: bool = False, steps: Steps = None) -> Trace:
        from fastdispatch.read.trace import Trace, load

        session = self._recording
        if session is None:
            raise _core.Error(_NOTHING)
        if self.path is not None:
            return load(self.path, timeline=timeline, steps=steps)
        if session.active or steps is None:
            return Trace(session.trace(timeline=timeline))
        return _from_memory(session, steps)

    @property
    def _shown(self) -> Trace:
        return self._load(steps="settled")

    def _with_timeline(self) -> Trace:
        return self._load(timeline=True, steps="settled")

    @property
    def path(self) -> str | None:
        """The file of this process; ``None`` in memory and without a recording. For a recording that had to be kept in
        memory, after its end: the file to which it was written."""
        recorder = self._recorder
        if recorder is None or (recorder._file is None and recorder._saved is None):
            return None
        path = recorder._saved or recorder._file.path  # type: ignore[union-attr]
        return str(path if recorder._start_folder == environment.current_folder() else recorder._start_folder / path)

    @property
    def _recorder(self) -> CallGraph | None:
        """The graph that records for this one: another one if this is a region of it."""
        return _current if self._region is not None else self

    @property
    def _recording(self) -> _core.Session | None:
        return self._recorder._session if self._recorder is not None else None

    def _session_options(self) -> dict[str, Any]:
        ready = self._options.on_trace_ready
        return self._options.of_session() | {
            "prefixes": [*_cell_folders(), *environment.prefixes()],
            "notebook": _shell() is not None,
            "rank": self._rank,
            "world": self._world,
            "schedule": self._budget or self._options.chosen,
            "on_change": self._look,
            "on_ready": None if ready is None else lambda: ready(self),
            "on_site": StepSites(begin_reports if self._budget and self._options.calls == "frame" else None),
        }

    def _open(self) -> _core.Session:
        if self._options.out is None:
            return _core.Session(None, **self._session_options())
        self._start_folder = environment.current_folder()
        if self._child_of is not None and self._process is not None:
            self._file = children.recording_file(self._child_of, self._process)
            return self._file.session(**self._session_options())
        trouble: str | None
        try:
            with run_directory.claimed(self._options.out, self._rank, self._options.best_effort) as file:
                self._file = file
                session = file.session(**self._session_options())
                trouble = run_directory.register(file.folder, file.name, self._rank, self._world, self._run_id)
        except _core.Error as error:
            if not self._options.best_effort:
                raise
            self._file, self._refused = None, str(error)
            session = _core.Session(None, **self._session_options())
            trouble = f"{error}: recording in memory, to be written at the end"
        self._say(trouble)
        return session

    def _say(self, line: str | None) -> None:
        """Report a problem that does not affect the program."""
        if line is not None and self._child_of is None and self._ambient:
            print_line(line)
        elif line is not None and self._child_of is None:
            warnings.warn(f"fastdispatch: {line}", RuntimeWarning, stacklevel=5)

    def _look(self) -> None:
        """Update after an import or a new process group: the operators to observe, and the rank."""
        if self._session is None:
            return
        if self._spawned is not None:
            self._spawned.begins()
        options = self._options
        if "torch" in sys.modules and options.ops != "off" and self._operators is None:
            self._operators = Operators(self._session, options.ops, options.et, options.reads_operands)
            self._note(self._operators.facts())
        if "torch" in sys.modules and "memory" in options.measures and _current is self:
            attach_memory(self._session)
        distributed = environment.torch_distributed()
        if distributed is not None:
            self._rank, self._world = environment.rank_and_world()
            self._session.set_rank(self._rank, self._world)
            self._join()
            self._start_pings(distributed)
            if options.et:
                self._note({"process_groups": environment.process_groups(distributed)})
            if "comm" in options.measures:
                for address, text in environment.named_groups(distributed):
                    self._session.name_group(address, text)
        if self._engines is not None:
            self._engines.look()

    def _join(self) -> None:
        """Use the id of the run on which the ranks of the process group agree: one request, once."""
        if self._joined or (self._child_of is not None and (self._is_child or not self._ambient)):
            return
        self._joined = True
        if self._child_of is not None and self._file is not None:
            self._child_of = self._process = self._spawned = None
            self._note({"process": None})
            self._say(run_directory.become_rank(self._file, self._rank, self._world, self._run_id))
            self._announce()
        self._note(environment.rank_facts())
        agreed = None if "FASTDISPATCH_RUN_ID" in os.environ else environment.agreed_run_id(self._run_id)
        if agreed is not None and agreed != self._run_id:
            self._run_id = agreed
            self._note({"run_id": agreed})
            self._say(run_directory.register_again(self._file, self._rank, self._world, agreed))
            self._announce()

    def _start_pings(self, distributed: ModuleType) -> None:
        """Where the timeline shall show ranks of several hosts. Nothing waits for another rank."""
        one_host = os.environ.get("LOCAL_WORLD_SIZE", "") == str(self._world)
        if self._pings is not None or self._options.events is None or self._world == 1 or one_host or self._is_child:
            return
        from fastdispatch.record.clocks import start_pings

        self._pings = start_pings(distributed, self._rank, self._world)

    def _note(self, notes: dict[str, object]) -> None:
        if self._session is not None:
            for key, value in notes.items():
                self._session.note(key, json.dumps(value))

    def _spend(self, time: int) -> None:
        if self._budget is not None:
            self._budget.spend(time)

    # -- other processes of this rank ---------------------------------------------------------------------------------

    @property
    def _is_child(self) -> bool:
        """Whether this records a process that is not a rank; it may become one when it joins a process group."""
        rank = self._child_of
        return rank is not None and (self._rank, self._world) == (rank.rank, rank.world)

    def _as_rank(self) -> ParentRank | None:
        """Return this recording as that of the rank to which children belong; None if they are not recorded."""
        if self._child_of is not None or not self._options.children:
            return self._child_of
        if self._file is None:
            return None
        return ParentRank.of_file(self._file, self._rank, self._world, self._run_id)

    def _announce(self) -> None:
        rank = self._as_rank()
        if rank is not None:
            names = ("calls", "ops", "timing", "max_mb", "detail")
            children.announce(rank, text_of({name: getattr(self._options, name) for name in names}))

    def _follow(self, rank: ParentRank, process: Process) -> None:
        """Start as the recording of another process of a rank."""
        self._child_of, self._process, self._ranks = rank, process, None
        self.start()

    def _discard(self) -> None:
        """Stop without a recording."""
        self.stop()
        if self._file is not None and self._file.name.rpartition("-")[2] == str(os.getpid()):
            with contextlib.suppress(_core.Error):
                self._file.folder.remove(self._file.name)

    # -- ending ------------------------------------------------------------------------------------------------------

    def _finish(self, session: _core.Session) -> None:
        self._note_end()
        session.finish()
        self._settle(session)
        if self._options.gather:
            from fastdispatch.record.gather import LIMIT, gather_finished

            gather_finished(self._file, self._run_id, LIMIT if self._options.gather == 1 else self._options.gather)
        self._warn()

    def _note_end(self) -> None:
        """Note what is known at the end: facts of the runtime, results of pings, steps of a budget."""
        self._look()
        if self._runtime is not None and self._session is not None:
            self._note(self._runtime.facts(self._session))
        missing = "" if self._options.device is None else why_missing()
        if missing:
            self._note({"gpu_missing": missing})
        if "flops" in self._options.measures:
            self._note(custom_flops.counted_at_end(self._load))
        if self._failure:
            self._note({"exception": self._failure})
        if self._pings is not None:
            self._note({"clock": self._pings.end()})
        if self._budget is not None:
            self._budget.store()

    def _settle(self, session: _core.Session) -> None:
        """Move the finished file to the run directory, under the name of its rank."""
        try:
            if self._file is not None and self._is_child:
                run_directory.settle_child(self._file)
            elif self._file is not None:
                name = self._file.name
                self._say(run_directory.settle(self._file, self._rank, self._world, self._run_id))
                children.settle(self._file.folder, name, self._file.name, self._file.began)
            elif self._refused and self._options.out is not None:
                self._saved = run_directory.save(session, self._options.out, self._rank, self._world, self._run_id)
                print_line(f"the recording was kept in memory ({self._refused}) and was written to {self._saved}")
        except _core.Error as error:
            file = self._file
            place = "" if file is None else session.path if file.local is not None else file.path
            print_line(f"the recording stays at {place}: {error}" if place else f"the recording is lost: {error}")

    def _stop_at_exit(self) -> None:
        """Stop at the end of the program, without a traceback or an effect on its exit status."""
        try:
            self._failure = self._failure or failure(at_exit=True)
            self.stop()
        except Exception as error:
            print_line(f"the recording was not finished: {error!r}")

    def _warn(self) -> None:
        error = self._session.error if self._session is not None else None
        if error is not None:
            text = f"fastdispatch: a function given to CallGraph failed: {error!r}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)


def current() -> CallGraph | None:
    """Return the graph that records this process, if the program or its environment started one."""
    return _current if _current is None or _current._child_of is None or _current._ambient else None


def dump(path: str | os.PathLike[str]) -> None:
    """Write the recording of this process so far as JSON. Raises :class:`fastdispatch.Error` if it does not record."""
    if _current is None:
        raise _core.Error("this process is not recording: use CallGraph or `fastdispatch run`")
    _current.dump(path)


def _from_memory(session: _core.Session, steps: Steps) -> Trace:
    """Return some steps of a stopped recording in memory; only files are reduced to steps."""
    from tempfile import TemporaryDirectory

    from fastdispatch.read.trace import load

    with TemporaryDirectory(prefix="fastdispatch-") as folder:
        session.save(_core.Folder(folder), "rank00000.fd")
        trace = load(f"{folder}/rank00000.fd", steps=steps)
    trace.sources = []
    return trace


def _shell() -> Any:
    """Return the running IPython shell, None outside of one; imports nothing."""
    module = sys.modules.get("IPython")
    found = getattr(module, "get_ipython", None)
    return found() if found is not None else None


def _cell_folders() -> list[tuple[str, int]]:
    """Return the folder of the files that ipykernel names after cells; its name contains the process id."""
    compiler = sys.modules.get("ipykernel.compiler")
    folder = getattr(compiler, "get_tmp_directory", None)
    return [(folder(), FROM_USER)] if folder is not None else []
