"""Facts of a recording beside its rows: its processes, the time of 100 %, the cost of recording, and missing data."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from fastdispatch.read.compilations import COMPILED
from fastdispatch.read.gpu_time import GpuFacts, gpu_facts
from fastdispatch.read.missing import missing_ranks
from fastdispatch.read.recording_cost import RecordingCost, recording_cost
from fastdispatch.read.steps import (
    PHASES,
    Part,
    StepTime,
    Window,
    ended_steps,
    parts,
    phase_times,
    recorded_steps,
    step_times,
    steps_rule,
    thread_times,
    time_of_run,
)
from fastdispatch.read.summary import contexts_of, mapping
from fastdispatch.read.trace import Columns, Trace
from fastdispatch.read.waiting import PhaseSplit, queued_time
from fastdispatch.report.report_gpu import why_incomplete

#: Counters of backward time without a forward call.
MISSES = ("origin_old", "origin_none", "origin_thread", "origin_misfit")

#: Counters that do not indicate a loss: shown elsewhere, or informational.
_NO_LOSS = {*MISSES, "origin_near", "accumulate_grad", "hidden_frames", "steps_unclear"}

#: Threads with a smaller share of their time on a CPU are idle.
IDLE = 0.01

_ENGINE = "torch/autograd/graph.py:[]:_engine_run_backward"
_SCRIPTED = {"RecursiveScriptModule", "TopLevelTracedModule", "ScriptModule"}


@dataclass
class RankFacts:
    """One process. Times in nanoseconds."""

    rank: int
    world: int
    pid: int
    host: str
    complete: bool  # false: the file is truncated or damaged, and facts or calls may be missing
    state: str  # running, paused, stopped or killed
    exception: str | None  # name of the one that ended the program
    timing: bool
    recorded: int  # in the selected steps
    steps: int  # that ended, in the whole recording
    steps_source: str  # none, optimizer, engine, profiler or explicit
    steps_of_run: int  # that ended, recorded or not
    time_of_run: int  # ns, recorded or not
    steps_rule: str  # the rule that found them
    file_bytes: int
    operators: str  # the back end: record, dispatch, off or unknown
    operators_reason: str
    calls: str  # frame, monitor or off
    python: str
    torch: str | None
    command: list[str]
    dropped: dict[str, int]  # non-zero counters of dropped, capped or lost events
    notes: list[str]  # damaged or skipped parts


@dataclass
class Thread:
    """All threads of one role: their number, the time between their starts and ends, and the CPU time in it (None:
    unknown). ``queued``: the time in which main threads could run but had no CPU (None: unknown)."""

    role: str
    count: int
    self: int
    cpu: int | None
    queued: int | None = None

    @property
    def off_cpu(self) -> int | None:
        """Time in which the threads waited, or other processes used their CPU."""
        return None if self.cpu is None else max(self.self - self.cpu, 0)

    @property
    def idle(self) -> bool:
        """Whether less than ``IDLE`` of the time was on a CPU."""
        return self.cpu is not None and self.cpu <= IDLE * self.self


@dataclass
class Backward:
    """Time of autograd nodes: total, AccumulateGrad (without a call site), attributed to a forward call.

    ``engine`` is the time in the engine itself and waiting for it. ``misses`` counts autograd nodes without an
    origin by cause, ``near`` those whose origin was found at the nearest lower number.
    """

    autograd: int
    accumulate: int
    attributed: int
    coverage: float | None  # attributed / (autograd - accumulate), 0 to 1; None without backward time
    engine: int
    accumulate_calls: int
    near: int
    misses: dict[str, int]


@dataclass
class Phase:
    """A phase of training, detected automatically: its time in the main threads (together ``Facts.whole``), and in a
    step (together ``Facts.step``), 0 without steps. ``communication``: the part of ``per_step``, without steps of
    ``self``, that is communication and waiting for other ranks."""

    phase: str  # forward, backward, optimizer, data or other
    self: int
    per_step: int
    communication: int


@dataclass
class Special:
    """A node without a row, or with a remark: ``what`` is folded, asynchronous,
    compiled or scripted, or unseen (calls without a hook, known from their callees)."""

    what: str
    where: str
    calls: int
    time: int


@dataclass
class OpenCall:
    """A call that had not returned at the end of the recording or when it was read. ``age``: nanoseconds since its
    begin."""

    rank: int
    thread: str
    thread_id: int
    where: str
    age: int


@dataclass
class Facts:
    """Everything around the rows of a report."""

    ranks: list[RankFacts]
    whole: int  # nanoseconds of 100 %: the main threads of the ranks
    whole_role: str
    threads: list[Thread]
    window: Window | None  # steps that all figures cover; None: the whole recording,
    whole_reason: str  # for this reason
    parts: list[Part]  # of the run; empty if unknown
    step: int  # nanoseconds of the median step; 0 without steps
    step_low: int  # quartiles
    step_high: int
    step_count: int  # measured steps
    phases: list[Phase]
    recording_cost: RecordingCost
    backward: Backward
    special: list[Special]
    open: list[OpenCall]
    reduced: dict[str, Any] | None = None  # the ranks of a sum of ranks (Trace.reduced)
    missing: str = ""  # ranks without a recording, a sentence
    gpu_missing: str = ""  # why GPU times are missing, a sentence for each reason
    gpu: GpuFacts | None = None  # None: no kernel was recorded

    @property
    def main_thread(self) -> Thread | None:
        return next((thread for thread in self.threads if thread.role == self.whole_role), None)

    @property
    def weight(self) -> str:
        """Return the default weight of call paths: GPU time of kernels, self time, or calls without times."""
        return "calls" if not self.whole else "gpu" if self.gpu is not None else "self"


def facts(trace: Trace, rank: int | None) -> Facts:
    """Return facts about all ranks, or about rank number ``rank``."""
    indexes = [i for i, entry in enumerate(trace.ranks) if rank in (None, entry["rank"])]
    entries = [trace.ranks[i] for i in indexes]
    nodes = trace.table("node", rank)
    role = trace.main_role
    threads = _threads(entries, role)
    step = step_times(entries) or StepTime(0, 0, 0, 0)
    return Facts(
        ranks=[_rank(trace, i) for i in indexes],
        whole=sum(thread.self for thread in threads if thread.role == role),
        whole_role=role,
        threads=threads,
        window=trace.window,
        whole_reason=trace.whole_reason,
        parts=parts(entries),
        step=step.median,
        step_low=step.low,
        step_high=step.high,
        step_count=step.steps,
        phases=_phases(trace, rank, entries, role),
        recording_cost=recording_cost(entries),
        backward=_backward(trace, rank, entries, nodes),
        special=_special(trace, nodes),
        reduced=trace.reduced if rank is None else None,
        missing=missing_ranks(entries) if rank is None else "",
        gpu_missing=why_incomplete(entries),
        gpu=gpu_facts(trace, rank, entries),
        open=[call for entry in entries for call in _open(trace, entry)],
    )


def _rank(trace: Trace, index: int) -> RankFacts:
    entry = trace.ranks[index]
    meta = entry["meta"]
    options = mapping(meta.get("options"))
    command = meta.get("command")
    counters = entry["counters"] | {"events_lost": sum(entry["threads"]["events_lost"])}
    return RankFacts(
        **{name: entry[name] for name in ("rank", "world", "pid", "complete", "state", "timing", "recorded")},
        **{name: entry[name] for name in ("steps_source", "file_bytes", "notes")},
        steps_rule=steps_rule(entry),
        steps=recorded_steps(entry),
        steps_of_run=ended_steps(entry),
        time_of_run=time_of_run(entry),
        host=str(meta.get("host") or ""),
        exception=str(meta["exception"]) if meta.get("exception") else None,
        operators=str(meta.get("ops") or ("off" if entry["complete"] else "unknown")),
        operators_reason=str(meta.get("ops_reason") or _why_no_operators(options, entry["complete"])),
        calls=str(options.get("calls") or ""),
        python=str(meta.get("python") or ""),
        torch=str(meta["torch"]) if meta.get("torch") else None,
        command=[str(word) for word in command] if isinstance(command, list) else [],
        dropped={name: count for name, count in counters.items() if count and name not in _NO_LOSS},
    )


def _why_no_operators(options: dict[str, Any], complete: bool) -> str:
    if options.get("ops") == "off":
        return "requested"
    return "PyTorch was not imported" if complete else "the recording is incomplete"


def _threads(entries: list[dict[str, Any]], main: str) -> list[Thread]:
    counts, cpu = Counter[str](), Counter[str]()
    for entry in entries:
        threads = entry["threads"]
        for role, served, time in zip(threads["role"], threads["served"], threads["cpu"], strict=True):
            counts[role] += max(served, 1)
            cpu[role] += time
    known = any(cpu.values())
    queued = queued_time(entries, main)
    found = [
        Thread(role, counts[role], time, cpu[role] if known else None, queued if role == main else None)
        for role, time in thread_times(entries).items()
    ]
    return sorted(found, key=lambda thread: (thread.role != main, -thread.self, thread.role))


def _phases(trace: Trace, rank: int | None, entries: list[dict[str, Any]], role: str) -> list[Phase]:
    sums = PhaseSplit(trace, role).sums(contexts_of(trace, rank))
    per_step = phase_times(entries)
    steps = any(per_step.values())
    found = []
    for phase in (*PHASES[1:], PHASES[0]):
        own = sums[phase].total()
        talks = (per_step[phase] if steps else own) * sums[phase]["communication"] // max(own, 1)
        found.append(Phase(phase, own, per_step[phase], talks))
    return found


def _backward(trace: Trace, rank: int | None, entries: list[dict[str, Any]], nodes: Columns) -> Backward:
    def count(name: str) -> int:
        return sum(entry["counters"][name] for entry in entries)

    times = trace.coverage(rank)
    wanted = times["autograd"] - times["accumulate"]
    engine = nodes["where"].index(_ENGINE) if _ENGINE in nodes["where"] else None
    return Backward(
        **times,
        coverage=times["attributed"] / wanted if wanted > 0 else None,
        engine=0 if engine is None else nodes["self"][engine],
        accumulate_calls=count("accumulate_grad"),
        near=count("origin_near"),
        misses={name: number for name in MISSES if (number := count(name))},
    )


def _special(trace: Trace, table: Columns) -> list[Special]:
    """Return folded subtrees, asynchronous work (in no total), and regions that cannot be recorded."""
    kinds, classes, names = (trace.nodes[name] for name in ("kind", "class", "name"))
    found = []
    columns = (table[name] for name in ("where", "node", "calls", "resumes", "self", "total", "async", "hidden"))
    for where, node, calls, resumes, own, total, asynchronous, unseen in zip(*columns, strict=True):
        if unseen:
            found.append(Special("unseen", where, unseen, total))
        if kinds[node] == "overflow":
            found.append(Special("folded", where, calls + resumes, own))  # as its row in the table has it
        elif asynchronous:
            found.append(Special("asynchronous", where, calls, asynchronous))
        elif kinds[node] == "op" and where.startswith(COMPILED):
            found.append(Special("compiled", where, calls, total))
        elif classes[node] in _SCRIPTED and names[node] == "_call_impl":
            found.append(Special("scripted", where, calls, total))
    return sorted(found, key=lambda special: (special.what, -special.time, special.where))


def _open(trace: Trace, entry: dict[str, Any]) -> list[OpenCall]:
    threads, open = entry["threads"], entry["open"]
    nodes = trace.contexts["node"] if open["context"] else []
    found = []
    for thread, context, age in zip(*(open[name] for name in ("thread", "context", "age")), strict=True):
        where = trace.nodes["key"][nodes[context]] if context >= 0 else "<lost>"
        found.append(OpenCall(entry["rank"], threads["role"][thread], threads["system_id"][thread], where, age))
    return found
