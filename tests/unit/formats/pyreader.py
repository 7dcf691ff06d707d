"""A slow, short reader of recordings for comparison, written from docs/formats/recording.md alone.

Times are nanoseconds. Of a damaged file it reads what the document calls valid.
"""

import fcntl
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGE, ID, STRING_ID = 4096, 64, 8
STRINGS, NODES, MODULES, CONTEXTS, SPREADS, THREADS, STACK, STEPS, META = range(1, 10)
SNAPSHOTS, SNAPSHOT_FIGURES, SNAPSHOT_THREADS, MEASURES = range(17, 21)
RECORD_BYTES = {
    STRINGS: 1,
    NODES: 64,
    MODULES: 64,
    CONTEXTS: 64,
    SPREADS: 64,
    THREADS: 128,
    STACK: 24,
    STEPS: 144,
    META: 8,
    SNAPSHOTS: 128,
    SNAPSHOT_FIGURES: 48,
    SNAPSHOT_THREADS: 32,
    MEASURES: 64,
}
CHUNK_MAGIC = 0x6B6E756863646600
ASYNC, CONTRACTED = 0x20, 0x04
STATES = {1: "running", 2: "paused", 3: "stopped"}
SOURCES = ("none", "optimizer", "engine", "profiler", "explicit")


@dataclass
class Recording:
    header: dict[str, Any]
    nodes: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    modules: dict[int, tuple[str, ...]] = field(default_factory=dict)
    contexts: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)  # parent, node, module, origin
    figures: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # calls, resumes, self
    threads: list[dict[str, Any]] = field(default_factory=list)
    open: list[tuple[int, int, int]] = field(default_factory=list)  # thread, context, age
    steps: list[tuple[int, ...]] = field(default_factory=list)  # number, begin, end, five phases
    spreads: dict[int, tuple[Any, ...]] = field(
        default_factory=dict
    )  # of a context: steps, last, self and total min, max
    meta: dict[str, str] = field(default_factory=dict)
    marks: list[tuple[int, ...]] = field(default_factory=list)  # number, steps, recorded, five phases
    #: Of each mark: calls, resumes, self of contexts; covered, CPU time of threads.
    states: list[dict[int, tuple[int, int, int]]] = field(default_factory=list)
    thread_states: list[list[tuple[int, int]]] = field(default_factory=list)


def is_locked(descriptor: int) -> bool:
    """Return whether a writer has its lock of a whole file; struct flock has type, whence, start, length and pid."""
    query = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
    found: int = struct.unpack("hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, query))[0]
    return found != fcntl.F_UNLCK


class Reader:
    def __init__(self, path: Path) -> None:
        with open(path, "rb") as file:
            self.live = is_locked(file.fileno())
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, version, header_bytes, self.end = self.at("<8sIIQ", 0)
        if magic != b"fastdisp" or version != 1 or header_bytes != PAGE:
            raise ValueError(f"{path}: not a recording of version 1")
        self.chunks = list(self.find_chunks())

    def at(self, form: str, offset: int) -> tuple[Any, ...]:
        return struct.unpack_from(form, self.bytes, offset)

    def find_chunks(self) -> Iterator[tuple[int, int, int, int]]:
        """Kind, first record, usable records, owner."""
        end, at = min(self.end, len(self.bytes)), PAGE
        while at + 64 <= end:
            magic, offset, size, kind, record, _, used, owner, _ = self.at("<QQQIIIIII", at)
            if (
                magic != CHUNK_MAGIC
                or offset != at
                or size < PAGE
                or size % PAGE
                or RECORD_BYTES.get(kind, record) != record
            ):
                at += PAGE
                continue
            whole = (min(at + size, len(self.bytes)) - at - 64) // record
            yield kind, at + 64, min(used, whole), owner
            at += size

    def records(self, kind: int) -> Iterator[tuple[int, int]]:
        """Offset and owner of every record of a kind."""
        for found, first, used, owner in self.chunks:
            if found == kind:
                for i in range(used):
                    yield first + i * RECORD_BYTES[kind], owner

    def text(self, number: int) -> str:
        at = number * STRING_ID
        for kind, first, used, _ in self.chunks:
            if kind == STRINGS and first <= at and at + 8 <= first + used:
                size = self.at("<I", at)[0]
                return (
                    self.bytes[at + 8 : at + 8 + size].decode("utf-8", "replace")
                    if at + 8 + size < first + used
                    else ""
                )
        return ""

    def read(self) -> Recording:
        self.recording = Recording(self.read_header())
        self.read_shared()
        self.read_contexts()
        self.read_threads()
        self.read_steps()
        self.read_snapshots()
        for at, _ in self.records(META):
            key, value = self.at("<II", at)
            self.recording.meta[self.text(key)] = self.text(value)
        return self.recording

    def read_header(self) -> dict[str, Any]:
        state, timing, rank, world, pid, source, steps, _, hertz = self.at("<IIIIIIQQd", 80)
        start, stop = self.at("<QQQQ", 128), self.at("<QQQQ", 160)
        if stop[1] > start[1] + 1_000_000:
            hertz = (stop[0] - start[0]) * 1e9 / (stop[1] - start[1])
        self.ns_per_tick = 1e9 / hertz if 1e6 < hertz < 1e12 else 1.0
        self.start = start[0]
        return {
            "rank": rank, "world": world, "pid": pid, "steps": steps, "timing": timing != 0,
            "steps_source": SOURCES[source], "id": self.at("<16s", 32)[0].hex(),
            "boot_id": self.at("<16s", 64)[0].hex(),
            "state": STATES[state] if state == 3 or self.live else "killed", "counters": self.at("<32Q", 208),
            "start_realtime": start[2], "file_bytes": self.end,
        }  # fmt: skip

    def ns(self, ticks: float) -> int:
        return int(ticks * self.ns_per_tick + 0.5)

    def read_shared(self) -> None:
        for at, _ in self.records(NODES):
            kind, origin, strip, _, file, cls, name, qualified, package, line = self.at("<BBHIIIIIII", at)
            path = self.text(file).encode()[strip:].decode()
            texts = (path, self.text(cls), self.text(name), self.text(qualified), self.text(package))
            self.recording.nodes[at // ID] = (kind if kind <= 8 else 0, origin, *texts, line)
        for at, _ in self.records(MODULES):
            parent, name, cls = self.at("<III", at)
            above = self.recording.modules.get(parent, ())
            self.recording.modules[at // ID] = (*above, self.text(name), self.text(cls))

    def read_contexts(self) -> None:
        self.ticks: dict[int, int] = {}
        marks = {}
        for at, owner in self.records(CONTEXTS):
            parent, node, module, origin, calls, resumes, own, flags, spread = self.at("<IIIIQQQII", at)
            self.recording.contexts[at // ID] = (parent, node, module, origin)
            marks[at // ID] = spread
            if calls or resumes or own:
                self.recording.figures[at // ID] = (calls, resumes, self.ns(own))
            if not flags & ASYNC:
                self.ticks[owner] = self.ticks.get(owner, 0) + own
        valid = {at // ID for at, _ in self.records(SPREADS)}
        for number, spread in marks.items():
            if spread in valid:
                mark, _, steps, _, _, _, *bounds, last, _ = self.at("<QIIQddffffII", spread * ID)
                if steps:
                    self.recording.spreads[number] = (steps, last, self.ns(mark), *map(self.ns, bounds))

    def read_threads(self) -> None:
        for at, _ in self.records(THREADS):
            last, depth, capacity, stack, root, running, role, system, attached, covered, served, events, lost, cpu = (
                self.at("<QIIQIIIIQQQQQQ", at)
            )
            live = last - attached if attached and last > attached else 0
            self.recording.threads.append(
                {"role": self.text(role), "system_id": system, "running": running != 0, "served": served, "root": root,
                 "covered": self.ns(covered + live), "self": self.ns(self.ticks.get(at // ID, 0)), "events": events,
                 "events_lost": lost, "cpu": cpu}
            )  # fmt: skip
            for i in range(depth if running and depth <= capacity else 0):
                start, _, context, flags = self.at("<QQII", stack + 24 * i)
                if not flags & CONTRACTED:
                    age = last - start if 0 < start < last else 0
                    self.recording.open.append((len(self.recording.threads) - 1, context, self.ns(age)))

    def read_steps(self) -> None:
        for at, _ in self.records(STEPS):
            number, begin, end, *phases = self.at("<QQQ5Q", at)
            if end:
                since = (self.ns(max(tick - self.start, 0)) for tick in (begin, end))
                self.recording.steps.append((number, *since, *map(self.ns, phases)))
        self.recording.steps.sort()

    def read_snapshots(self) -> None:
        snapshots = [at for at, _ in self.records(SNAPSHOTS)]
        figures = [at for at, _ in self.records(SNAPSHOT_FIGURES)]
        threads = [at for at, _ in self.records(SNAPSHOT_THREADS)]
        began = 0
        for at in [*snapshots[1:], *snapshots[:1]]:
            number, steps, tick, recorded, ends, thread_ends, source, _ = self.at("<QQQQQQII", at)
            if SOURCES[source] == self.recording.header["steps_source"] and (
                at != snapshots[0] or not self.recording.marks or self.recording.marks[-1][1] < steps
            ):
                last = at == snapshots[0]
                states = self.last_states() if last else self.states_of(figures[:ends])
                waiting = self.last_threads() if last else [self.at("<IIQQQ", of) for of in threads[began:thread_ends]]
                phases = map(self.ns, self.at("<5Q", at + 56))
                self.recording.marks.append((number, steps, self.ns(recorded), *phases))
                self.add_state(tick, states, waiting)
            began = thread_ends

    def states_of(self, records: list[int]) -> dict[int, tuple[int, int, int]]:
        rows = (self.at("<IIQQQ", at) for at in records)
        return {context: (calls, resumes, own) for context, _, calls, resumes, own in rows}

    def last_states(self) -> dict[int, tuple[int, int, int]]:
        valid = {at // ID for at, _ in self.records(SPREADS)}
        states = {}
        for at, _ in self.records(CONTEXTS):
            calls, resumes, _, _, spread = self.at("<QQQII", at + 16)
            if spread in valid:
                own, calls_mark = self.at("<QI", spread * ID)
                (resumes_mark,) = self.at("<I", spread * ID + 60)
                then = resumes - (resumes - resumes_mark) % 2**32
                both = calls + resumes - (calls + resumes - calls_mark) % 2**32
                states[at // ID] = (both - then, then, own)
        return states

    def last_threads(self) -> list[tuple[Any, ...]]:
        rows = ((at, *self.at("<QQQI", at + 88)) for at, _ in self.records(THREADS))
        return [(at // ID, context, last, covered, cpu) for at, last, covered, cpu, context in rows]

    def add_state(self, tick: int, states: dict[int, tuple[int, int, int]], waiting: list[tuple[Any, ...]]) -> None:
        times = {}
        for thread, context, last, covered, cpu in waiting:
            pending = max(tick - last, 0) if context else 0
            times[thread] = (self.ns(covered + pending), cpu)
            if context:
                calls, resumes, own = states.get(context, (0, 0, 0))
                states[context] = (calls, resumes, own + pending)
        bounded = {}
        for context, (calls, resumes, own) in states.items():
            most = self.recording.figures.get(context, (0, 0, 0))
            if any(most):
                bounded[context] = (min(calls, most[0]), min(resumes, most[1]), min(self.ns(own), most[2]))
        self.recording.states.append(bounded)
        records = [at // ID for at, _ in self.records(THREADS)]
        wholes = zip(records, self.recording.threads, strict=True)
        self.recording.thread_states.append(
            [
                (min(times.get(at, (0, 0))[0], whole["covered"]), min(times.get(at, (0, 0))[1], whole["cpu"]))
                for at, whole in wholes
            ]
        )


def read(path: Path) -> Recording:
    return Reader(path).read()
