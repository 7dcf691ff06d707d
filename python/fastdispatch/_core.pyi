"""The C core, as Python sees it: csrc/module.

Tables are dicts of columns of one length, in the order of the document (docs/formats/dump.md). Rows count from 0;
references
to rows are numbers, -1 for none. Times are nanoseconds. Whatever has a ``rank`` takes the place of a rank in
:meth:`Trace.ranks`, not its number, and -1 for the sum over all.

These classes check little and explain little: programs use :mod:`fastdispatch`, which wraps them.
"""

import os
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, SupportsIndex, final

from typing_extensions import Buffer, disjoint_base

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Columns = dict[str, list[Any]]

class Error(Exception):
    """Input or a request that fastdispatch cannot take. The text is one line: what happened, where, and what to do."""

def set_own_folder(path: _Path, /) -> None:
    """Functions of files below this folder are never nodes."""

def after_fork() -> None:
    """Take the evaluator out of a forked child. Its recording is gone from it already."""

def gpu_runtime() -> str:
    """The CUDA library that this process has loaded, by name. :class:`Error` with the reason without one."""

def process_group_address(group: object, /) -> int:
    """The address of a ``c10d::ProcessGroup``, by which its operators are given it; 0: it is none, or nothing is
    recorded for execution traces."""

def writer(path: _Path, /) -> Literal["live", "gone", "unknown"] | None:
    """Whether the process that writes a recording lives; unknown: unfinished, on a file system without locks. None if
    the file does not exist. Takes no lock."""

def save(path: _Path, content: Buffer, /) -> None:
    """Write a file that appears as a whole. :class:`Error` if it cannot be written or the target is not a regular
    file."""

def partition(sums: list[float], stages: int, method: str, /) -> list[int]:
    """Cut layers into stages: ``stages`` + 1 places, the first 0, the last the number of layers.

    ``sums[i]`` is the weight of the first ``i`` layers, 0 for none. ``method``: uniform, balanced (the spread of stages
    as DeepSpeed keeps it small) or bottleneck (the heaviest stage as light as possible). Raises :class:`Error` with one
    line for weights that are negative or no numbers, no stage, more than 32 768 weighed layers or 1 048 576 stages.
    """

def pipeline_rule(
    path_suffix: str,
    qualname: str,
    kind: str,
    *,
    mb: str | None = None,
    stage: str | None = None,
    chunk: str | None = None,
    peer: str | None = None,
    buffer: str | None = None,
    bytes: str | None = None,
    when: str | None = None,
) -> None:
    """Calls of this function are jobs from now on: :func:`fastdispatch.pipeline.rule` (capture/rules/job_rules.c).
    :class:`Error` for a source that is none, or an empty name."""

def pipeline_report(
    trace: Trace,
    known: list[tuple[int, int, int]],
    *,
    schedule: str | None = None,
    iterations: tuple[int, int] | None = None,
    strict: bool = False,
    layers: list[int] | None = None,
    weights: list[float] | None = None,
) -> dict[str, Any]:
    """Where the time of a pipeline goes (csrc/module/pipeline/pipeline_report_binding.c).

    ``known``: of each rank of the trace its place, data and model coordinates, -1 for what is not known.
    ``iterations``: the first and one past the last. ``layers``: the first of each global stage, and one past the last;
    ``weights``: what each is worth. Answers tables as columns; times are ns on one clock. :class:`Error` for iterations
    that were not recorded, and with ``strict`` for clocks that are not aligned; ``ValueError`` for lists of other
    lengths.
    """

def timeline_merge(
    inputs: list[tuple[str, int]] | list[tuple[str, int, str]],
    output: _Path,
    *,
    align: str = "wall",
    ranks: list[int] | None = None,
    sorted: bool = False,
    devices: list[int] | None = None,
    steps: tuple[int, int] | None = None,
    paddle: bool = False,
    named_durations: bool = False,
    progress: Callable[[int, int], object] | None = None,
    strict: bool = False,
    privacy: tuple[str | None, str] | None = None,
) -> list[dict[str, Any]]:
    """Timelines of many ranks into one (docs/guides/timeline-merge.md); gzip when ``output`` ends in .gz.

    ``output``: native Perfetto when its name ends in .pftrace or .perfetto-trace (and .gz), else Chrome JSON.
    ``sorted``: all events by time, with a temporary file. ``inputs``: files, each with the rank that its name
    suggests, and how the output calls it where that is not its path. ``align``: none, wall, start, auto, pingpong,
    collective or p2p (docs/concepts/clocks.md); ``strict`` refuses inputs whose clocks may be off by an unknown time.
    ``devices``: GPUs to keep. ``steps``: the first one to keep and the one behind the last. ``paddle``: the two files
    of Paddle's tool, into the folder ``output``. ``progress(done, total)`` is told bytes of input. Answers a dict an
    input: file, rank, format, program, used, left_out, world, events, arrows, filtered (left out by ``devices`` and
    ``steps``), lost, lost_bytes, repaired, trouble, align, offset_ns, at_ns, drift_ppb, uncertainty_ns and residual_ns
    (None: unknown), violations, and what did not come out as it was in or from a native trace: aside, crossed, alone,
    skipped, early, others. Raises :class:`Error` with one line when a rank is there twice, a file cannot be read or
    written, or nothing in the inputs can be used.
    """

def timeline_stats(
    inputs: list[tuple[str, int]],
    *,
    align: str = "wall",
    ranks: list[int] | None = None,
    progress: Callable[[int, int], object] | None = None,
    privacy: tuple[str | None, str] | None = None,
) -> dict[str, Any]:
    """Figures of traces of many ranks (docs/guides/timeline-stats.md), times in nanoseconds.

    ``inputs``: files, each with the rank that its name suggests; ``align``: how their clocks become one, as for
    :func:`timeline_merge`; ``ranks``: these alone. Answers ``files``, ``ranks``,
    ``steps`` (of a rank; step None: all its time), ``jobs``, ``categories``, ``names``, ``collectives`` (lists of
    dicts; texts are spelled as inside of a JSON string), ``base_ns``, ``error`` (of percentiles, relative), and what
    did not fit: ``gap_ns``, ``closed_ns``, ``steps_left_out``, ``values_left_out``, ``collectives_left_out``. Raises
    :class:`Error` when a file cannot be read, a rank is in two files, or there is nothing to count.
    """

def timeline_check(
    path: _Path,
    *,
    progress: Callable[[int, int], object] | None = None,
    privacy: tuple[str | None, str] | None = None,
) -> dict[str, Any]:
    """What is wrong with a trace (docs/guides/timeline-stats.md): ``whole``, ``events``, ``lost_bytes``, ``left_out``,
    ``passes``, ``trouble``, and ``faults``, each with kind, broken, count, what, remedy and the ``first`` places (byte,
    event). Raises :class:`Error` when it cannot be read or is no trace."""

def timeline_cut(
    path: _Path,
    output: _Path,
    begin: int | None,
    end: int | None,
    *,
    steps: bool = False,
    progress: Callable[[int, int], object] | None = None,
    privacy: tuple[str | None, str] | None = None,
) -> dict[str, Any]:
    """The part of a trace from ``begin`` up to ``end``: nanoseconds since its start, or numbers of ``steps``; None: no
    bound. Answers events, kept, rows (of metadata), flows_left, timeless, lost, lost_bytes, repaired, trouble. Raises
    :class:`Error`, and writes nothing, when there is nothing in between."""

def et_convert(
    path: _Path, output: _Path, *, edges: int = 255, rank: int = -1, timeline: bool = False, workload: bool = False
) -> dict[str, Any]:
    """An execution trace (PyTorch's JSON or Chakra's .et) in the form that the end of ``output`` says: .et, .json,
    .graphml (all of it), .dot (folded), each with .gz; with ``timeline`` .json is a Chrome trace, with ``workload`` the
    JSON form of Chakra's feeder. ``edges`` is a mask
    of kinds: 1 order, 2 launch, 4 stream, 8 event, 16 sync, 32 group, 64 data, 128 given; ``rank`` counts where the
    file names none. Answers what :func:`et_info` does. Raises :class:`Error` for what is no trace, and other ends."""

def et_link(
    path: _Path,
    kineto: _Path,
    output: _Path,
    *,
    edges: int = 255,
    rank: int = -1,
    workload: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """PyTorch's execution trace with the times, threads, kernels and waits of a Kineto trace of the same rank,
    in the form that the end of ``output`` says. Answers what :func:`et_info` does and ``link``: how many operators were
    linked, and how many were not for which reason. Raises :class:`Error`, also for traces of different ranks, processes
    or times unless ``force`` is true."""

def et_identity(path: _Path, /) -> dict[str, Any]:
    """The pid (0 if unknown) and rank (None if unknown) that an execution trace or a Kineto trace contains. Raises
    :class:`Error`."""

def et_check(inputs: list[tuple[str, int]], /) -> dict[str, Any]:
    """Execution traces of all ranks, each with the rank that counts where the file names none, compared: whether
    collectives and messages match. Answers files (each what :func:`et_info` does), collectives and messages that match,
    unknown_peers, and mismatches: what, group, number, one and other with rank, node id, name and bytes. Raises
    :class:`Error`."""

def et_diff(pairs: list[tuple[str, str, int]], *, edges: int = 255, threshold: float = 0.1) -> dict[str, Any]:
    """Execution traces before and after, rank by rank, with the rank that counts where the files name none, compared.
    ``edges``: a mask of kinds; ``threshold``: least change of a time, relative; below 0: times are not compared.
    Returns what ``docs/reference/schemas/et-diff.schema.json`` describes, except ``schema``, ``before``, ``after`` and
    ``alone``. Raises
    :class:`Error`."""

def et_estimate(
    inputs: list[tuple[str, int]],
    scales: list[tuple[str, float]],
    *,
    bandwidth: float = 1.0,
    latency_ns: int = 0,
) -> dict[str, Any]:
    """Execution traces of all ranks played again: nodes of these names take so many times as long, communication is
    ``bandwidth`` times as fast and takes ``latency_ns`` more. Returns what
    ``docs/reference/schemas/et-estimate.schema.json`` describes,
    but for ``schema`` and ``error``. Raises :class:`Error` where there are no times."""

def et_info(path: _Path, *, edges: int = 255, rank: int = -1) -> dict[str, Any]:
    """Contents of an execution trace (``docs/reference/schemas/et-info.schema.json``). Raises :class:`Error`."""

def et_export(
    path: _Path,
    pytorch: _Path,
    chakra: _Path,
    kineto: _Path,
    *,
    edges: int = 255,
    privacy: tuple[str | None, str] | None = None,
    workload: _Path | None = None,
) -> dict[str, Any]:
    """The operators of a recording that ``CallGraph(et=True)`` made, written in PyTorch's form (.json), in Chakra's
    (.et) and as torch.profiler's trace beside the first, each with .gz. Answers what :func:`et_info` does. Raises
    :class:`Error`."""

def anonymous_name(salt: str, name: _Path, /) -> str:
    """The salted hash of a name or path, as of :meth:`Trace.anonymize`: ``f_`` and 12 hexadecimal digits."""

def et_layer_calls(path: _Path, /) -> str:
    """The calls of operators and of modules' forwards in a recording that ``CallGraph(et=True)`` made, as JSON: rows of
    id, parent's id, name, schema, scope (100: a module), number of the record (of a module its address), autograd's
    number, thread, forward thread, duration (ns; -1: it did not end), inputs, outputs
    (``et/readers/operand_json.h``). Raises :class:`Error`."""

@final
class Folder:
    """A run directory held open (module/recording/folder_type.c, base/folder.h). Names are plain names of regular
    files; :class:`Error` for paths, links, FIFOs. With ``make`` the directory is created if it does not exist."""

    def __new__(cls, path: _Path, *, make: bool = False) -> Self: ...
    @property
    def path(self) -> str:
        """As it was opened."""

    def read(self, name: str, most: int, /) -> bytes | None:
        """The first ``most`` bytes of a file; None if it does not exist."""

    def write(self, name: str, content: Buffer, /) -> None:
        """Write a file that appears as a whole and replaces an existing one."""

    def remove(self, name: str, /) -> None:
        """Remove a file, if there is one."""

    def writer(self, name: str, /) -> Literal["live", "gone", "unknown"] | None:
        """As :func:`writer`. :class:`Error` if the file is not a recording."""

    def move(self, name: str, folder: Folder, target: str, /) -> None:
        """Move a finished recording and its side file (csrc/recording/recording_place.h)."""

    def lock(self, name: str, /) -> bool:
        """Take the lock of this name; False at once if it is held elsewhere."""

    def unlock(self) -> None:
        """Release the lock."""

@final
class Session:
    """One recording session (csrc/module/recording/session_type.c). At most one per process records.

    ``path``: the file, or None for memory; with a ``folder`` the name in it.
    ``max_mb``: bound on file and memory. ``calls``: 0 off, 1 evaluator hook,
    2 ``sys.monitoring``. ``fold``: imports and compilers are one ``<folded>``. ``prefixes``: folders that differ by
    host, with where their files come from (0 project, 1 site, 2 stdlib). ``keep(key)`` says whether a function becomes
    a node, ``schedule(step)`` gives a ``torch.profiler.ProfilerAction`` or its number. ``on_change()`` is called when
    PyTorch or a process group has appeared, ``on_ready()`` at the end of a window of the schedule.
    ``timeline``: whether the latest events overwrite the oldest, the bound on the side file in MB (0: none), whether
    operators are numbered, and the least duration (ns) of Python calls, operators, ranges and jobs, negative for none.
    ``folder``: the directory in which ``path`` is the name of a file.

    Raises :class:`Error` when the file cannot be made or another process records there.
    """

    def __new__(
        cls,
        path: _Path | None = None,
        *,
        max_mb: int = 64,
        timing: bool = True,
        calls: int = 1,
        fold: bool = True,
        prefixes: Sequence[tuple[str, int]] = (),
        rank: int = 0,
        world: int = 1,
        keep: Callable[[str], object] | None = None,
        schedule: Callable[[int], object] | None = None,
        on_change: Callable[[], object] | None = None,
        on_ready: Callable[[], object] | None = None,
        timeline: tuple[bool, int, bool, float, float, float, float] | None = None,
        folder: Folder | None = None,
    ) -> Self: ...
    @property
    def path(self) -> str | None:
        """The file, or None."""
    @property
    def active(self) -> bool:
        """Whether this is the session that records."""
    @property
    def module_visits(self) -> int:
        """Modules visited so far in searches for the paths of others."""
    @property
    def error(self) -> BaseException | None:
        """The first exception of keep, schedule or a handler."""

    def start(self) -> None:
        """Begin to record. :class:`Error` when this process is recording already."""

    def stop(self) -> None:
        """Stop for good; notes can still be added. Twice is once."""

    def wait_gpu(self, patience_ms: int, /) -> None:
        """After stop(): wait without the GIL until the GPU has passed all timed calls. An exception in a signal handler
        ends the wait."""

    def finish(self) -> None:
        """Close the file of a stopped session."""

    def save(self, folder: Folder, name: str, /) -> None:
        """Write a recording that is in memory as a file; the session has been stopped."""

    def step(self) -> None:
        """End a training step; nothing when the session is not active."""

    def record(self, record: bool, step: int, /) -> None:
        """Record from now on, in step ``step``, or pause without any hook until the next call. Nothing when the session
        is not active or has a schedule."""

    def set_rank(self, rank: int, world: int, /) -> None:
        """Who this process turned out to be."""

    def note(self, key: str, json: str, /) -> None:
        """Store a fact about the run; ``json`` is its value as JSON text. The last one with a key counts."""

    def attach_records(self, probe: Callable[[], int], /) -> str:
        """Listen to PyTorch's records from now on; answers the name of the layout found.

        ``probe`` is :func:`fastdispatch.probe.run`. :class:`Error` when this PyTorch cannot be read, with the reason.
        """

    def attach_pipeline(self, on_pipeline: Callable[[tuple[str, object]], tuple[int, int, int] | None], /) -> None:
        """Make jobs of what pipeline engines do (csrc/capture/engines/engine_pipeline.c).

        ``on_pipeline((engine, object or None))`` is called in the first iteration and answers which process this is, of
        how many, and the stages with their chunks, -1 for what it does not know.
        """

    def pipeline(self) -> dict[str, Any] | None:
        """engine, iterations, class, stages (chunks counted), processes,
        micro_batches, rules (engine, path, qualified name, whether one matched); None where
        nothing looks for engines. What is not known is None."""

    def attach_operands(
        self, tensor: object, places: tuple[int, int, int], run: Callable[[], None], on_model: Callable[[Any], None], /
    ) -> None:
        """Record what goes into operators and comes out. The self-test calls ``run``, which runs the operators of
        ``probe.py`` on the tensor at this address with this storage. Raises :class:`Error` when it fails."""

    def sample_gpu(
        self,
        every: int,
        kinds: tuple[bool, bool, bool, bool],
        globs: list[str],
        in_use: Callable[[], bool],
        /,
    ) -> None:
        """Time calls on the GPU in one step out of ``every``, from the start on: operators, modules, functions, jobs,
        and what ``globs`` match, once ``in_use()`` says that CUDA is in use."""

    def trace(self, *, timeline: bool = False) -> Trace:
        """The recording so far, as a Trace."""

    def stats(self) -> dict[str, int]:
        """bytes, nodes, edges, contexts, modules, threads, steps, steps_source (see docs/formats/recording.md)."""

@final
class Trace:
    """Recordings in memory, as columns (csrc/module/trace/trace_type.c).

    ``paths`` are recordings, dumps, merges and run directories, merged. Raises :class:`Error` with one line for what
    is none of them, for a rank that is there twice and for ranks of different runs.
    """

    def __new__(cls, paths: Sequence[_Path], *, timeline: bool = False) -> Self: ...
    def dump(self, path: _Path, /) -> None:
        """Write as JSON; the file is there as a whole or not at all. :class:`Error` when it cannot be written."""

    def anonymize(self, salt: str, /) -> None:
        """Put salted hashes in place of the user's names (csrc/trace/anonymize.h). Before anything else is asked."""

    def strip_prefix(self, prefix: str, /) -> None:
        """Cut ``prefix`` off the files of functions and out of facts and notes."""

    def nodes(self) -> _Columns:
        """kind, from (names), file, class, name, qualified, package (texts), line, key (text)."""

    def modules(self) -> _Columns:
        """parent (row), name, class, path (texts), parameters, parameter_bytes (with those of modules below)."""

    def contexts(self, rank: SupportsIndex = -1, steady: bool = False, /) -> _Columns:
        """parent, node, module, origin (rows), flags, calls, resumes, self, total, ops, backward, async, gpu_calls,
        gpu_self, gpu_total, gpu_starved, gpu_launch_bound, steps.

        ``steady``: the slowest step of each path counts like the mean of its others in self, total and backward.
        ``IndexError`` for a rank that is not there, here and below.
        """

    def ranks(self) -> list[dict[str, Any]]:
        """One dict a rank, by rank: scalars, ``meta`` (values are JSON texts), ``counters``, ``notes`` and the tables
        ``threads``, ``open``, ``latest_steps``, ``step_tops``, ``gpu``."""

    def figures(self, rank: SupportsIndex, /) -> _Columns:
        """What one rank recorded per context, as in a dump. ``ValueError`` for -1."""

    def jobs(self, rank: SupportsIndex, /) -> _Columns:
        """kind (text), context (row), thread, step, iteration, micro_batch, stage, chunk, peer, buffer (-1: none),
        bytes, flags (``FD_JOB_*``, see docs/formats/recording.md), start, duration, open, device (-1: none), gpu_start,
        gpu_duration (0: none) of one rank. ``ValueError`` for -1."""

    def timeline_rows(self, rank: SupportsIndex, most: SupportsIndex, /) -> dict[str, Any]:
        """The timeline of one rank for a picture, the ``most`` longest calls of it. ``ValueError`` for rank -1.

        ``calls``: thread (row of the rank's threads), depth, context (row), job (row of :meth:`jobs`, -1: none),
        start and duration (ns), open, async (may overlap others). ``flows``: arrows, from and to (rows of calls).
        ``gpu``: intervals, context, host (its launch), start, duration, thread, device, stream. ``left_out`` and
        ``flows_left_out``: how many there were no room for.
        """

    def clocks(self) -> list[dict[str, Any]]:
        """One dict a rank: a time t of it is ``t + offset_ns + (t - at_ns) * drift_ppt / 1e12`` on the clock of all;
        method (docs/concepts/clocks.md), uncertainty_ns (None: not known)."""

    def table(self, by: str = "function", rank: SupportsIndex = -1, /) -> _Columns:
        """Sums by node, function, operator, module or package: where (text), node (row), instances, calls, resumes,
        ops, self, total, backward, async, hidden, gpu_calls, gpu_self, gpu_total, gpu_starved,
        step_mean, step_deviation. ``ValueError`` for another ``by``."""

    def edges(self, by: str = "function", rank: SupportsIndex = -1, /) -> _Columns:
        """caller (-1: called by nothing in the graph), callee (rows of ``table(by)``), calls, total."""

    def diff(
        self,
        after: Self,
        /,
        *,
        rank: SupportsIndex = -1,
        after_rank: SupportsIndex = -1,
        by: str = "node",
        threshold: float = 0.1,
        same_speed: bool = False,
    ) -> dict[str, Any]:
        """What changed from this trace to another (csrc/profile/profile_diff.h), of a step each, ns.

        ``rows``: columns key, kind, said (bits: new, gone, calls, slower, faster), and with _before and _after calls,
        self, total, backward, async, gpu, spread (of self, by module of total). ``calls``: caller (-1: the outside),
        callee (rows), said, calls_before, calls_after. ``steps`` and ``whole`` (time of a step) of each, ``speed``:
        what all has in common, taken out unless ``same_speed``. ``threshold``: a share. ``ValueError`` for a ``by``
        that is none."""

    def joined(self, after: Self, pairs: list[tuple[int, int]], /) -> Self:
        """Two traces as one of two ranks for each of ``pairs`` (of ranks, -1: all), 0 before and 1 after, 2 before ...:
        paths of calls joined by key, without lines (csrc/profile/diff_joined.h). Whole runs; the slowest step of each
        path counts like the mean of its others. ``ValueError`` for no pairs."""

    def coverage(self, rank: SupportsIndex = -1, /) -> dict[str, int]:
        """Backward time: ``autograd`` in all, ``accumulate`` (AccumulateGrad), ``attributed`` to a forward call."""

    def export(
        self,
        format: str,
        *,
        rank: SupportsIndex = -1,
        style: str = "default",
        weight: str = "time",
        ops: str = "none",
        hide: tuple[str, ...] = (),
        contract: tuple[str, ...] = (),
        min_percent: float = -1.0,
        all: bool = False,
        durations: str = "jobs",
        flows: bool = True,
        align: str = "auto",
        strict: bool = False,
    ) -> bytes:
        """The file of another program: ``callgraph``, ``dot``, ``graphml``, ``folded``, ``speedscope``, ``pprof``,
        ``chrome`` or ``perfetto``.

        ``min_percent`` is of the time, negative the default. ``align`` and ``strict``: how clocks of several ranks in
        one timeline are made one, as in :func:`timeline_merge`. ``ValueError`` for an option that is none,
        :class:`Error` without a timeline where one is needed."""

@final
class Plan:
    """The plan of a pipeline schedule (csrc/module/pipeline/plan_type.c).

    ``chunks`` and ``group`` 0: as the schedule has them. ``ValueError`` for a schedule that is none, :class:`Error`
    with one line for what no engine would run.
    """

    def __new__(cls, schedule: str, stages: int, micro_batches: int, chunks: int = 0, group: int = 0) -> Self: ...
    def numbers(self) -> dict[str, Any]:
        """schedule, stages, micro_batches, chunks, group, steps; lists, one a stage: buffers, in_flight."""

    def table(self, stage: SupportsIndex, /) -> str:
        """A stage on one line. ``IndexError`` for a stage that is not there, here and below."""

    def jobs(self) -> _Columns:
        """stage (global), step, kind, mb, buffer, rank, chunk, peer; -1 for none."""

    def json(self, figures: str, /) -> str:
        """The document (docs/reference/schemas/pipeline-plan.schema.json); ``figures`` is the JSON of that member."""

    def train_step(self, stage: int, step: int, /) -> tuple[int, bool]:
        """Micro-batch, out of range where nothing is computed, and whether forward, by DeepSpeed's TrainSchedule."""

    def replay(self, prices: dict[str, list[int]], *, blocking: bool = False, times: bool = False) -> dict[str, Any]:
        """Play the plan. ``prices``: by kind, whole times of one job, one a global stage; no kind, no time.

        Answers makespan, the lists busy, first, last (a stage), critical (rows of jobs), with ``times`` also begin and
        end (a job). ``ValueError`` for prices that are none, :class:`Error` where it cannot be played.
        """

@final
class Graph:
    """A model as a graph of layers, from its text or JSON (module/pipeline/graph_type.c). ``where`` begins messages.

    :class:`Error` with one line for what is neither, for unknown nodes, cycles, and figures that are no figures.
    """

    def __new__(cls, text: bytes, where: str = "graph") -> Self: ...
    def text(self) -> str:
        """The text that planners exchange."""

    def json(self) -> str:
        """The document (docs/reference/schemas/pipeline-graph.schema.json)."""

    def order(self) -> list[int]:
        """Places of nodes, each after what it needs; of several the first in the file."""

    def compressed(self) -> Self:
        """Branches as one node each."""

    def is_series_parallel(self) -> bool:
        """Whether it is made of nothing but rows and branches."""

    def is_same(self, other: Graph, /) -> bool:
        """Whether two graphs are the same but for ids and the order of lines. ``TypeError`` for what is no graph."""

    def optimize(
        self,
        machines: list[int],
        bandwidths: list[float],
        *,
        ratio: float = 0,
        straight: bool = False,
        fewer: bool = False,
        true_cut: bool = False,
        memory: int = 0,
        room: float = 0,
        optimizer: float = 0,
        in_flight: int = 0,
        most_states: int = 0,
        second: bool = False,
        gains: bool = False,
        schedule: str | None = None,
        micro_batches: int = 0,
        chunks: int = 0,
        effort: int = 0,
        watch: array[float] | None = None,
    ) -> dict[str, Any]:
        """The pipeline of least time. A number of machines and bytes a second for each level; ``ratio`` 0: sending
        activations is free; ``memory`` 0 to 3: no bound, PipeDream's, asynchronous, synchronous.

        Answers layers, states, complete, single_machine_s, data_parallel_s, best and second (time_s, bound_s, unused,
        stages), one_more_s, twice_bandwidth_s and their bounds, stage_of_node (-1: none), schedule (None, or name,
        micro_batches, chunks, ranks, step_s, bound_s, asynchronous_s, second_s). With a schedule the step of the
        optimizer is made short; ``effort`` is how much is looked at; ``watch`` is kept up to date: no plan is quicker,
        a plan takes so long, share that is done. ``ValueError`` for levels that do not fit and for no schedule,
        :class:`Error` where there is no such plan.
        """

@disjoint_base
class DispatchMode:
    """The object on PyTorch's stack of dispatch modes (csrc/module/recording/dispatch_type.c).

    ``ImportError`` without PyTorch.
    """

    def __new__(cls) -> Self: ...
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, /
    ) -> Any:
        """Called by PyTorch for every operator: record the call, run it, answer its result."""

    def is_infra_mode(self) -> bool:
        """False: a mode of the user's, as PyTorch sees it."""

    def ignore_compile_internals(self) -> bool:
        """True: compiled code stays compiled under this mode."""

    @property
    def supports_higher_order_operators(self) -> bool:
        """True: they are run as any other."""
    @property
    def _dispatch_key(self) -> None:
        """None: no infra mode."""
    @property
    def calls(self) -> dict[str, int]:
        """Calls of each operator so far, by name such as ``aten::add``."""

@final
class label:
    """A context manager: what runs inside is recorded below a range of this name. Costs one function call when nothing
    records. ``TypeError`` when the name is no string."""

    def __new__(cls, name: str) -> Self: ...
    def __enter__(self) -> Self:
        """The range begins."""

    def __exit__(self, /, *unused: object) -> None:
        """The range ends. Exceptions pass."""

@final
class job:
    """A context manager: what runs inside is one unit of a pipeline schedule, one row of :meth:`Trace.jobs` where the
    timeline has jobs.

    ``kind``: load, forward, backward, send, receive, reduce, optimizer, or any other text. ``mb`` is the micro-batch,
    ``peer`` the other stage or rank of a transfer; all from 0, None where they say nothing. Costs one function call
    when nothing records. ``TypeError`` for what is no string or number, ``ValueError`` for a negative one.
    """

    def __new__(
        cls,
        kind: str,
        mb: SupportsIndex | None = None,
        stage: SupportsIndex | None = None,
        chunk: SupportsIndex | None = None,
        peer: SupportsIndex | None = None,
    ) -> Self: ...
    def __enter__(self) -> Self:
        """The job begins."""

    def __exit__(self, /, *unused: object) -> None:
        """The job ends. Exceptions pass."""

@final
class ClockAnswerer:
    """A thread that answers questions with the right token with this machine's clock (docs/concepts/clocks.md).

    ``address``: a numeric address of this host, no wildcard. ``token``: 16 bytes, else ``ValueError``.
    Raises :class:`Error` where no port can be opened there.
    """

    def __new__(cls, address: str, token: bytes) -> Self: ...
    @property
    def port(self) -> int:
        """The UDP port, on that address alone."""

    def close(self) -> None:
        """Answer no more."""

@final
class ClockAsker:
    """A thread that asks for another machine's clock now and then, at a numeric address. ``ValueError`` for a token
    that has not 16 bytes; raises :class:`Error` where no socket or thread can be made."""

    def __new__(cls, address: str, port: int, token: bytes) -> Self: ...
    def finish(self) -> tuple[list[tuple[int, int, int]], str]:
        """Ask once more and end, within some 20 ms: (sent, answered, received), ns of CLOCK_BOOTTIME, ours, theirs
        and ours; and why there are none."""
