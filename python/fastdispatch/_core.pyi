"""The C core, as Python sees it: csrc/module.

Tables are dicts of columns of equal length, in the order of the document (docs/formats/dump.md). Rows count from 0;
references to rows are numbers, -1 without one. Times are nanoseconds. A ``rank`` is the index of a rank in
:meth:`Trace.ranks`, not its number; -1 is the sum over all.

These classes check few of their arguments: programs use :mod:`fastdispatch`, which wraps them.
"""

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, Literal, ParamSpec, Self, SupportsIndex, TypeVar, final

from typing_extensions import Buffer, disjoint_base

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Columns = dict[str, list[Any]]
_Clocks = tuple[int | None, list[tuple[Any, ...]]]
_P = ParamSpec("_P")
_R = TypeVar("_R")

class Error(Exception):
    """Invalid input or an invalid request. The text is one line: the fault, its place, and a remedy."""

class ArgumentError(Error, ValueError):
    """An invalid argument."""

class RangeError(Error, IndexError):
    """A number out of range."""

def set_own_folder(path: _Path, /) -> None:
    """Exclude functions of files below this folder from the nodes."""

def after_fork(function: Callable[[], object], /) -> None:
    """Remove the hooks from a forked child and call ``function()`` with signals blocked; its exceptions are ignored."""

def gpu_runtime() -> str:
    """Return the name of the library of CUDA or HIP that this process has loaded. Raises :class:`Error` without one."""

def kernel_library() -> str:
    """Return the library of CUPTI that kernels can be read from now, ``libcupti.so.13``. Raises :class:`Error` without
    one, if its version is unknown, or while another tool uses it."""

def finds_gpu_stream() -> bool:
    """Return whether PyTorch has a known function for its current stream of CUDA or HIP."""

def clock_source() -> Literal["counter", "clock_gettime"]:
    """Return the clock of all times: the processor's counter if the kernel uses it, else ``clock_gettime``."""

def optimizer_reported() -> None:
    """Handle the report of PyTorch that ``Optimizer.step`` is about to return in this thread."""

def process_group_address(group: object, /) -> int:
    """Return the address of a ``c10d::ProcessGroup``, as in the operands of its operators; 0 for other objects, and if
    no execution trace is recorded."""

def writer(path: _Path, /) -> Literal["live", "gone", "unknown"] | None:
    """Return whether the process that writes a recording is alive; unknown: unfinished, on a file system without locks.
    None if the file does not exist. Acquires no lock."""

def save(path: _Path, content: Iterable[Buffer], /) -> None:
    """Write parts to a file atomically. :class:`Error` if it cannot be written or the target is not a regular file;
    an exception of the iterator leaves the file as it was."""

def pipeline_rule(
    path_suffix: str,
    qualname: str,
    kind: str,
    *,
    engine: str = "user",
    role: int = 0,
    local: bool = False,
    also: bool = False,
    own_order: bool = False,
    mb: str | None = None,
    stage: str | None = None,
    chunk: str | None = None,
    peer: str | None = None,
    buffer: str | None = None,
    bytes: str | None = None,
    when: str | None = None,
    plan: str | None = None,
    eval: str | None = None,
    owner: str | None = None,
) -> None:
    """Record calls of this function as jobs, for ever: ``fastdispatch.record.engine_rules``, which checks the
    sources. Rules of an engine are added before the first recording."""

def optimize(
    ids: tuple[bytes, ...],
    costs: Buffer,
    edges: Buffer,
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
    watch: array[float] | None = None,
) -> dict[str, Any]:
    """Find the pipeline with minimum time. ``costs``: five doubles per layer: forward and backward (milliseconds),
    activations, parameters, bytes saved for backward (negative: unknown); ``edges``: pairs of 32-bit indices of layers,
    edges into a layer before those out of it. ``machines`` and ``bandwidths`` (bytes per second) per level; ``ratio``
    0: sending activations is free; ``memory`` 0 to 3: no bound, PipeDream's, asynchronous, synchronous.

    Returns layers, states, complete, single_machine_s, data_parallel_s, time_per_stage_s, bound_s, unused, stages,
    stage_of_layer (-1: none). ``watch`` is kept up to date: lower bound, time of the best plan, share of the search
    that is done. ``ArgumentError`` for inconsistent lengths, :class:`Error` if no plan exists.
    """

def replay(
    schedule: str,
    rows: Buffer,
    first: Buffer,
    times: Buffer,
    *,
    globals: int,
    micro_batches: int,
    waiting: int,
    posted: Buffer | None = None,
    blocking: bool = False,
    jobs: bool = False,
) -> dict[str, Any]:
    """Simulate a plan (csrc/pipeline/plan_simulator.h).

    ``rows``: six 32-bit integers per job: kind (number), step, micro-batch, buffer, global stage, peer; -1: no such
    number. ``first``: 32-bit integers, the first job of each stage, and the number of jobs. ``times``: 64-bit integers,
    one per job; ``posted``: bytes, one per job, whether a send does not wait; then other transfers are blocking.
    ``globals``: number of global stages. ``waiting``: 0 for one blocking transfer at a time, 1 for all between two
    computations together, 2 never.

    Returns makespan, the lists busy, first, last (per stage), critical (rows of jobs), and with ``jobs`` begin and end
    (per job). ``ArgumentError`` for other lengths and numbers, :class:`Error` if the plan cannot be simulated.
    """

def tables() -> dict[str, list[tuple[str, str, list[str], bool, str | None]]]:
    """Return the tables of a trace by name (docs/formats/dump.md), and their columns: name, type, names of the values,
    whether older dumps do not have it, and unit. Types: index (row of a table), text, B, H, I and Q (codes of
    ``array``), maybe (Q or None), bool, double, chars."""

def load_tables(tables: Iterable[tuple[str, int, int, dict[str, Any]]], /) -> Trace:
    """Return the content of a dump as an input of :class:`Trace`, which takes it only once.

    A table is its name, the index of its rank (-1: of all), the number of rows and its columns: lists of texts, or
    arrays of numbers (``q``, ``d``, or ``Q`` for numbers that may be above 2^53) as in a dump, except ``maybe``, which
    is plus 1, or 0 for None. The caller checks references between nodes, modules and contexts. ``ArgumentError`` for
    other values, lengths, tables and columns."""

def timeline_survey(
    path: _Path, *, first: bool = False, take: Callable[[bytearray, list[str]], bool] | None = None
) -> dict[str, Any]:
    """Return facts about a timeline: is_trace, format, size in bytes, trouble (why it is not a trace), first (with
    ``first`` the earliest event, else any, ns; None: none), ``members``, names and values beside the events, each ended
    by a NUL (``read/timeline_members.py``). ``take`` receives the events that may be of collectives or messages in
    batches, as rows of :func:`timeline_events` with their arguments of use as ``type``, and the texts of the batch. It
    returns whether there is a collective or message so far, without which not the whole file is read. Raises
    :class:`Error` if the file cannot be read."""

def timeline_merge(
    inputs: list[dict[str, Any]],
    output: _Path,
    *,
    sorted: bool = False,
    named_durations: bool = False,
    progress: Callable[[int, int], object] | None = None,
    base_ns: int | None = None,
    total: int = 0,
) -> list[dict[str, Any]]:
    """Merge timelines of many ranks (docs/guides/timeline-tools.md); gzip if ``output`` ends in .gz.

    ``output``: native Perfetto if its name ends in .pftrace or .perfetto-trace (and .gz), else Chrome JSON. ``sorted``:
    all events by time, with a temporary file. ``base_ns``: the real time of time 0, ns since 1970.
    ``inputs``: sorted by rank, each with ``path`` and, if known, ``content`` (the file with its content as Chrome
    JSON), ``label`` (of its processes), all bytes; ``rank``, ``program``, ``beside`` (a neighbour has the same rank),
    ``merged``; ``clock``, a row as for :meth:`Trace.export`; ``damaged`` and ``damage``, the number of
    lost regions and a message about the first; ``kept``, a bit per event, the lowest of each byte first; and of a
    recording ``transfers``, as for :func:`timeline_events`. ``progress(done, total)`` receives bytes of input.
    Returns one dict per input: events, arrows, filtered (not kept), overlaps, lost, lost_bytes, repaired, trouble,
    and events that a native trace changes: aside, crossed, alone, skipped, early. Raises
    :class:`Error` with one line for a file that cannot be read or written, or inputs without any usable event.
    """

def timeline_rows() -> tuple[Any, Any]:
    """The layout of the rows of events and of ends of flows, for ``numpy.dtype``."""

def timeline_events(
    path: _Path,
    take: Callable[[bytearray, list[str]], object],
    kind_of: Callable[[str], tuple[int, int, int, int]],
    *,
    progress: Callable[[int, int], object] | None = None,
    transfers: bytes | None = None,
) -> dict[str, Any]:
    """Read the events of a trace, in file order: ``take`` receives their rows in batches, as in
    csrc/events/stats/event_row.h, and the texts that are new since the last batch. Texts are numbered from 1 on, as
    inside a JSON string; text 0 is empty. ``kind_of`` is :func:`fastdispatch.read.slice_kinds.kind_of_slice`.
    ``transfers``: of a recording, the ends of flows of a pipeline, as rows with id, job (row of the rank's jobs,
    increasing) and ends (0: the flow begins there). Returns ``events``, their number; ``lost``, ``lost_bytes`` and
    ``trouble``: damaged regions. Raises :class:`Error` for other files."""

@final
class ExecutionTrace:
    """An execution trace of one rank (csrc/module/et/execution_trace_type.c): the nodes of a file in PyTorch's or
    Chakra's format, or of a ``recording`` of ``CallGraph(et=True)``. A Kineto trace has no nodes. With ``layers``,
    forwards of modules are nodes too (scope 100, rf_id the address of the instance), and inputs and outputs have more
    facts (``pipeline/operand_facts.py``). Methods raise :class:`Error`; after that, the trace is empty."""

    def __new__(cls, path: _Path, *, recording: bool = False, layers: bool = False) -> Self: ...
    def columns(self, table: str, /) -> dict[str, Any]:
        """The columns of a table, of equal length. A text is a number for :meth:`text`, -1 is unknown.

        head, faults, cycle, kineto: one row; ``et/et_graph.h`` and ``et/readers/kineto_reader.h`` describe them, and
        ops, kernels, calls, syncs: rows of the Kineto trace. cuts: dropped edges by kind.
        groups: process groups. nodes: id, parent_id, parent and comm (index + 1 in nodes and comms; 0: none), texts,
        type (Chakra's number), flags (1 GPU, 2 with times, 4 root of a thread, 8 of the process, 16 times of its
        children, 32 from a .et file), stream, thread, start_ns, dur_ns, self_ns, lists of inputs and outputs
        (in_values, in_shapes, ...), and a range of attrs (with fields of Chakra's AttributeProto). comms: group, type
        (Chakra's number of the collective), src, dst, bytes. edges: from, to (indices), kinds (a mask: 1 order, 2
        launch, 4 stream, 8 event, 16 sync, 32 group, 64 data, 128 given). Raises :class:`ArgumentError` for other
        tables."""

    def text(self, number: int, /) -> str:
        """The text with a number; empty for unknown ones."""

    def read_kineto(self, path: _Path, /) -> None:
        """Read the Kineto trace of the same rank."""

    def link(self, step: Literal["times", "kernels", "edges", "order"], rows: Buffer, /) -> None:
        """Take a step of the link with the Kineto trace (``et/et_link.h``). times: start_ns, dur_ns, thread and linked
        (0: only the thread is known), 64 bits each, of all nodes; times that are missing are then found. kernels: the
        index + 1 of the node that launched each kernel, 32 bits; kernels follow all nodes. edges: from, to and kinds,
        32 bits each. order: the indices of all nodes, 32 bits, in their new order with ids from 1 on."""

    def complete(
        self, edges: int, rank: int, described: list[tuple[int, int, int, str, str, int, int, int, int, int]], /
    ) -> None:
        """Set the communication that ``read/et_collectives.py`` found; find times, and the edges of these kinds.
        ``rank`` is used if the files state none."""

    def item_size(self, dtype: str, /) -> int:
        """The bytes per element of a dtype in any spelling; 0 for unknown ones."""

    def save(self, path: _Path, /) -> None:
        """Write the trace to a .et file."""

@final
class Folder:
    """An open run directory (module/recording/folder_type.c, base/folder.h). Names are plain names of regular
    files; :class:`Error` for paths, links, FIFOs. With ``make`` the directory is created if it does not exist."""

    def __new__(cls, path: _Path, *, make: bool = False) -> Self: ...
    @property
    def path(self) -> str:
        """The path as it was given."""

    def read(self, name: str, most: int, /) -> bytes | None:
        """The first ``most`` bytes of a file; None if it does not exist."""

    def write(self, name: str, content: Buffer, /) -> None:
        """Write a file atomically; an existing one is replaced."""

    def remove(self, name: str, /) -> None:
        """Remove a file if it exists."""

    def writer(self, name: str, /) -> Literal["live", "gone", "unknown"] | None:
        """As :func:`writer`. :class:`Error` if the file is not a recording."""

    def move(self, name: str, folder: Folder, target: str, /) -> None:
        """Move a finished recording (csrc/recording/recording_names.h)."""

    def lock(self, name: str, /) -> bool:
        """Acquire the lock of this name; False at once if another process has it."""

    def unlock(self) -> None:
        """Release the lock."""

@final
class Session:
    """One recording session (csrc/module/recording/session_type.c). At most one per process records.

    ``path``: the file, or None for memory; with a ``folder`` the name in it. ``max_mb``: bound on file and memory.
    ``calls``: 0 off, 1 evaluator hook, 2 ``sys.monitoring``. ``fold``: imports and compilers are one ``<folded>``.
    ``prefixes``: folders that differ by host, with the origin of their files (0 project, 1 site, 2 stdlib).
    ``keep(key)`` returns whether a function becomes a node, ``schedule(step)`` a ``torch.profiler.ProfilerAction`` or
    its number. ``on_change()`` is called when PyTorch or a process group has appeared, ``on_ready()`` at the end of a
    window of the schedule. ``timeline``: overwrites (whether the latest events overwrite the oldest), numbers
    (whether operators are numbered), and the minimum durations (ns) of python, ops, ranges and jobs; missing: none.
    ``folder``: the directory in which ``path`` is the name of a file. ``notebook``: fold
    IPython and ipykernel, and what the threads of now run outside of the program. ``c_calls``: record C functions.
    ``on_site([(code, offset), ...])`` is called with each new place from which optimizers are called and returns the
    relations of all places (record/step_sites.py). ``step_of``: the function whose ends are ends of steps.
    ``budget``: if its first number is not 0, the schedule is a budget of this share of the time: code that runs for the
    first time is recorded in every step, recording ends in steps that take more than 8 times the mean and this many
    seconds (the second number), and after that time without any step, only some windows of time are recorded.

    Raises :class:`Error` if the file cannot be created or another process records there.
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
        timeline: dict[str, float] | None = None,
        folder: Folder | None = None,
        notebook: bool = False,
        c_calls: bool = False,
        on_site: Callable[[list[tuple[CodeType, int]]], bytes] | None = None,
        step_of: str | None = None,
        budget: tuple[float, float] = (0.0, 0.0),
    ) -> Self: ...
    @property
    def path(self) -> str | None:
        """The file, or None."""
    @property
    def active(self) -> bool:
        """Whether this is the session that records."""
    @property
    def module_visits(self) -> int:
        """Number of modules visited so far in searches for paths of modules."""
    @property
    def error(self) -> BaseException | None:
        """The first exception of keep, schedule or a handler."""

    def start(self) -> None:
        """Start recording. :class:`Error` if this process is recording already."""

    def stop(self) -> None:
        """Stop permanently; notes can still be added. A second call has no effect."""

    def wait_gpu(self, patience_ms: int, /) -> None:
        """After stop(): wait without the GIL until the GPU has passed all timed calls. An exception in a signal handler
        ends the wait."""

    def finish(self) -> None:
        """Close the file of a stopped session."""

    def save(self, folder: Folder, name: str, /) -> None:
        """Write the recording of a stopped session in memory to a file."""

    def step(self) -> None:
        """End a training step. No effect if the session is not active."""

    def record(self, record: bool, step: int, /) -> None:
        """Record from now on, in step ``step``, or pause without any hook until the next call. No effect if the session
        is not active or has a schedule."""

    def set_rank(self, rank: int, world: int, /) -> None:
        """Set the rank of this process."""

    def collections(self) -> list[tuple[int, int, int]]:
        """Garbage collections while this session recorded, the last one that did: for each generation their number, and
        the objects that they collected and could not collect."""

    def note(self, key: str, json: str, /) -> None:
        """Store a fact about the run; ``json`` is its value as JSON text. A later fact replaces one with the same
        key."""

    def attach_records(self, probe: Callable[[], int], /) -> str:
        """Register for PyTorch's records; return the name of the detected layout.

        ``probe`` is :func:`fastdispatch.record.probe.run`. :class:`Error` if this PyTorch is not supported, with the
        reason.
        """

    def attach_pipeline(self, on_pipeline: Callable[[tuple[str, object]], tuple[int, int, int] | None], /) -> None:
        """Record jobs of pipeline engines (csrc/capture/engines/engine_pipeline.c).

        ``on_pipeline((engine, object or None))`` is called in the first iteration and returns the number of this
        process, the number of processes, and that of stages with chunks, -1 if unknown.
        """

    def pipeline(self) -> dict[str, Any] | None:
        """Return engine, iterations, class, stages (with chunks), processes, micro_batches, rules (engine, path,
        qualified name, whether a call matched); None without :meth:`attach_pipeline`. Unknown values: None."""

    def attach_operands(
        self,
        tensor: object,
        places: tuple[int, int, int],
        run: Callable[[], None],
        on_model: Callable[[Any], None] | None,
        /,
    ) -> None:
        """Record inputs and outputs of operators. The self-test calls ``run``, which runs the operators of ``probe.py``
        on the tensor at this address with this storage. Raises :class:`Error` if it fails."""

    def attach_memory(self, probe: Callable[[], object], /) -> None:
        """Measure memory: ``probe()`` allocates and frees a tensor of 4099 bytes, whose reports must come."""

    def measure(self, kinds: int, operators: dict[str, bool], /) -> None:
        """Measure operators, ``kinds`` a sum of 1 (FLOPs), 2 (memory), 4 (communication) and 8 (shapes).
        ``operators``: those that FLOPs are derived from, and whether that needs numbers besides shapes."""

    def name_group(self, address: int, text: str, /) -> None:
        """Name the process group at an address "NAME:SIZE", for measures of communication."""

    def sample_gpu(
        self,
        globs: list[str],
        in_use: Callable[[], bool],
        is_profiled: Callable[[], bool],
        *,
        always: bool = False,
        kernels: bool = False,
        modules: bool = False,
        functions: bool = False,
        jobs: bool = False,
    ) -> None:
        """Record kernels, and time calls on the GPU: modules, functions, jobs, and matches of ``globs``; as soon as
        ``in_use()`` is true. Calls in the 9th recorded step and then in one of 32; ``always``: in every recorded step.
        Kernels in all recorded steps, but not while ``is_profiled()`` is true."""

    def trace(self, *, timeline: bool = False) -> Trace:
        """Return the recording so far."""

    def progress(self) -> tuple[int, bool, int, int, int, int, list[tuple[int, int]]]:
        """Return figures for a budget: the number of steps of which recording ended early; whether the calls of the
        running step are watched; the number of recorded calls and operators; the number of followed calls of the
        threads that end steps; for how long this thread has waited for a processor, ns, -1: not known; and the steps
        for which the budget was not asked, once: the duration, and the processor time of the thread at the end, ns.
        """

    def stats(self) -> dict[str, int]:
        """bytes, nodes, edges, contexts, modules, threads, steps, steps_source (see docs/formats/recording.md)."""

@final
class Trace:
    """Recordings in memory, as columns (csrc/module/trace/trace_type.c).

    ``path`` is a recording; without one, the trace is empty and takes others. Call :meth:`finish` before other methods.
    Raises :class:`Error` with one line for other files. ``steps`` chooses the steps that ``finish(True)`` selects.
    ``only`` skips parts of recordings: ``"totals"`` are the threads and the totals of contexts, without spreads, steps,
    jobs and measures; ``"open_calls"`` are the threads, and the contexts and totals of open calls and collectives.
    """

    def __new__(
        cls,
        path: _Path | None = None,
        *,
        timeline: bool = False,
        steps: Literal["settled"] | tuple[int, int] | None = None,
        only: Literal["totals", "open_calls"] | None = None,
    ) -> Self: ...
    def take(self, other: Trace, name: _Path, totals: bool = False, /) -> None:
        """Move the content of ``other``, called ``name`` in messages, here. :class:`Error` for a rank that is here
        already and for another run; both traces then stay as they are. With ``totals`` the figures of all ranks are
        added up in one of them."""

    def finish(self, reduce: bool = False, /) -> None:
        """End a merge; ``reduce`` the trace to the selected steps if each rank has some."""

    def columns(self, table: str, rank: SupportsIndex = -1, /) -> _Columns:
        """Return a table of the rank at an index, or for -1 one that all ranks share.

        ``strings``: string, the texts of all tables. ``nodes``: kind, from (names), file, class, name, qualified,
        package (texts), line, key (text). ``modules``: parent (row), name, class, path (texts), parameters,
        parameter_bytes (with those of modules below). ``rank`` and ``sparse``, one row per rank, as in a dump;
        ``ranks``: incomplete, start_realtime, start_monotonic, whole (ns),
        flows, flows_lost, reduced (to the marks from and to; 0: none); ``settling``: verdict and marks of the settled
        steps. Of a rank: ``counters`` (count), and
        ``figures``, ``threads``, ``live``, ``open``, ``latest_steps``, ``marks``, ``gpu``, ``measures``, ``spreads``
        and ``step_tops`` as in a dump (docs/formats/dump.md); ``jobs`` as :meth:`fastdispatch.Trace.jobs`;
        ``iterations`` of a pipeline whose jobs were not compared with a plan: job (row), flags, micro_batches, stages,
        processes, position (-1: unknown), schedule; ``events``: start, duration (ns), context, thread, kind
        (``FD_EVENT_*`` of csrc/recording/recording_format.h; 255: open), and ``flows`` between them: from, to;
        ``gpu_events``: context, launcher, host (the launch), start, duration (ns), thread, device, stream; ``facts``
        (key, value: JSON), ``notes``, ``open_lines`` (line of each open call, 0: unknown) and
        ``job_slices`` (drawn: the slice of each job is in the timeline that was read). ``ArgumentError`` for another
        name.
        """

    def arrays(self, table: str, rank: SupportsIndex = -1, /) -> dict[str, Any]:
        """Return a table of :meth:`columns` with its numbers as arrays, as they are stored: rows and other numbers that
        can be unknown are plus 1, names of enumerations are numbers."""

    def replace(self, changes: Iterable[tuple[str, int, int, dict[str, Any]]], /) -> None:
        """Replace columns of texts (lists) and flags (arrays of ``Q``): table and rank as in :meth:`columns`, number of
        rows, and the columns. Facts, notes and iterations can get another number of rows. Afterwards the rows of other
        tables have another order. ``ArgumentError`` for other columns."""

    def contexts(self, rank: SupportsIndex = -1, steady: bool = False, /) -> _Columns:
        """parent, node, module, origin (rows), flags, calls, resumes, self, total, ops, backward, async, gpu_calls,
        gpu_self, gpu_total, gpu_backward, gpu_starved, gpu_drained, gpu_launch_bound, steps.

        ``steady``: the slowest step of each path counts like the mean of its others in self, total and backward.
        ``RangeError`` for a missing rank, here and below.
        """

    def totals(self, rank: SupportsIndex = -1, steady: bool = False, /) -> dict[str, memoryview]:
        """Return the figures of :meth:`contexts` as arrays, and least (ns of self if each step were as fast as the
        fastest one; 0 for fewer than two steps), self_stepped, total_stepped (ns in ended steps), self_squares,
        total_squares (ns^2, sums over steps), communicated and allocated (bytes)."""

    def stream(self, table: str, /) -> object:
        """Return a table as a capsule with an ``ArrowArrayStream``. Raises ArgumentError for an unknown name."""

    def settled(self) -> Trace:
        """The settled steps of a trace of whole recordings; an equal trace if they are not decided for each rank."""

    def shared(self) -> Trace:
        """The nodes, modules and call paths of this trace, without ranks."""

    def streams(self) -> list[str]:
        """Return the names of the tables of :meth:`stream`."""

    def table(self, by: str = "function", rank: SupportsIndex = -1, /) -> _Columns:
        """Sums by node, function, operator, module or package: where (text), node (row), instances, calls, resumes,
        ops, self, total, backward, async, hidden, gpu_calls, gpu_self, gpu_total, gpu_backward, gpu_starved,
        step_mean, step_deviation. ``ArgumentError`` for another ``by``."""

    def groups(self, by: str = "function", /) -> list[int]:
        """Return the row of ``table(by)`` of each row of :meth:`contexts`; -1: it is in none."""

    def export(
        self,
        format: str,
        *,
        rank: SupportsIndex = -1,
        durations: str = "jobs",
        flows: bool = True,
        clocks: _Clocks | None = None,
        transfers: list[bytes] | None = None,
    ) -> bytes:
        """Return a file for another program: ``chrome`` or ``perfetto``.

        ``clocks``: the base (real time of time 0, ns since 1970), and of each rank method, at_ns, offset_ns, drift_ppt,
        uncertainty_ns (-1: unknown), residual_ns (None: unknown) and violations; None: the ranks are of one host.
        ``transfers``: of each rank, as for :func:`timeline_events`.
        ``ArgumentError`` for an invalid option, :class:`Error` if a required timeline is missing."""

@disjoint_base
class DispatchMode:
    """The object on PyTorch's stack of dispatch modes (csrc/module/recording/dispatch_type.c).

    ``ImportError`` without PyTorch.
    """

    def __new__(cls) -> Self: ...
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, /
    ) -> Any:
        """Record and run an operator, and return its result; called by PyTorch."""

    def is_infra_mode(self) -> bool:
        """False: for PyTorch, a mode of the user."""

    def ignore_compile_internals(self) -> bool:
        """True: compiled code stays compiled under this mode."""

    @property
    def supports_higher_order_operators(self) -> bool:
        """True: they are run as any other."""
    @property
    def _dispatch_key(self) -> None:
        """None: not an infra mode."""
    @property
    def calls(self) -> dict[str, int]:
        """Calls of each operator so far, by name such as ``aten::add``."""

@final
class label:
    """A context manager, or a decorator of a function: calls inside are recorded below a range of this name. Costs one
    function call if nothing is recording. ``TypeError`` if the name is not a string."""

    def __new__(cls, name: str) -> Self: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """Return a function or coroutine function whose calls are below a range of this name. Raises :class:`Error` for
        generators and classes."""

    def __enter__(self) -> Self:
        """Begin the range."""

    def __exit__(self, /, *unused: object) -> None:
        """End the range. Exceptions propagate."""

@final
class job:
    """A context manager for one unit of a pipeline schedule: one row of :meth:`Trace.jobs` if the timeline has jobs.

    ``kind``: load, forward, backward, send, receive, reduce, optimizer, or any other text. ``mb`` is the micro-batch,
    ``peer`` the other stage or rank of a transfer; all count from 0, None if unknown. Costs one function call if
    nothing is recording. ``TypeError`` for arguments of another type, ``ArgumentError`` for negative numbers.
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
        """Begin the job."""

    def __exit__(self, /, *unused: object) -> None:
        """End the job. Exceptions propagate."""

@final
class ClockServer:
    """A thread that replies with the clock of this machine to requests with the right token (docs/concepts/clocks.md).

    ``socket``: the descriptor of a bound, non-blocking UDP socket, which the thread closes. ``token``: 16 bytes, else
    ``ArgumentError``. Raises :class:`Error` if there is no thread; the socket is then closed.
    """

    def __new__(cls, socket: int, token: bytes) -> Self: ...
    def close(self) -> None:
        """Stop the thread."""

@final
class ClockClient:
    """A thread that periodically measures the clock of another machine, to which ``socket`` is connected. Arguments and
    errors as of ``ClockServer``."""

    def __new__(cls, socket: int, token: bytes) -> Self: ...
    def finish(self) -> list[tuple[int, int, int]]:
        """Send a last burst and stop the thread, within about 20 ms. Return (sent, replied, received) in ns of
        CLOCK_BOOTTIME of the client, the server and the client. Empty: no reply arrived, or it had finished."""
