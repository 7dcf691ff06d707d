"""Logs of PaddlePaddle's workers (workerlog.N) as Chrome JSON: one process per device, with its jobs and steps.

Its profiler of pipeline schedules prints lines among any other output (docs/formats/timeline.md).
"""

import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile, TemporaryDirectory
from typing import IO, Any, BinaryIO, NamedTuple, TextIO

from fastdispatch.files.regular import open_regular

#: A file with its rank; for a log also the file with its content as Chrome JSON, and lost jobs, in number and words.
TimelineInput = tuple[str, int] | tuple[str, int, bytes, int, str | None]

FORMAT = "log of Paddle"
_HEAD, _PIECE, _LONGEST, _STORED = 1 << 16, 1 << 18, 1 << 20, 1 << 24
#: Content beyond this size may be this many times as large as its file, as in csrc/streams/input_stream.c.
_ALWAYS_UNPACKED, _MOST_TIMES = 1 << 28, 500
_PREFIX = b"Profiler Info: Job ("
#: How items begin, and the size of the largest.
_BEGINS, _ITEM_BYTES = (_PREFIX, b"Schedule Profiler start"), 512
_GZIP = b"\x1f\x8b"
#: First bytes of recordings and dumps.
_OURS = b"fastdisp", b'{"format":"fastdispatch.trace"'
#: Output of several threads can share one line. Further digits of a time are output of another thread.
_ITEM = re.compile(
    rb"Profiler Info: Job \((?:(\d{1,40})\), type = (\w{1,64}), micro_batch_id = (\d{1,40}), "
    rb"job_start_time = (\d{1,40})\.(\d{1,6}), job_end_time = (\d{1,40})\.(\d{1,6}))?"
    rb"|Schedule Profiler start at step (?:(\d{1,40}) and end at step )?"
)
_MOST, _MOST_MS = (1 << 64) - 1, ((1 << 63) - 1) // 2_000_000
_STEPS, _JOBS = 1, 2
#: Number, micro-batch, start, end and type of a job.
_ROW = struct.Struct("<QQqqI")


class PaddleJob(NamedTuple):
    """The number is the index in the schedule, the index among the jobs of the type, or the micro-batch, depending on
    the version. Times are nanoseconds since 1970."""

    type: str
    number: int
    micro_batch: int
    start: int
    end: int


def items(line: bytes) -> Iterator[PaddleJob | int | None]:
    """Yield the jobs of a line, first steps as numbers, None for malformed jobs."""
    if b"Profiler" not in line:
        return
    for found in _ITEM.finditer(line):
        number, kind, micro_batch, start, start_digits, end, end_digits, first = found.groups()
        if first is not None and int(first) <= _MOST:
            yield int(first)
        elif found[0].startswith(_PREFIX) and number is None:
            yield None
        elif number is not None:
            times = nanoseconds(start, start_digits), nanoseconds(end, end_digits)
            valid = max(int(number), int(micro_batch)) <= _MOST and max(int(start), int(end)) <= _MOST_MS
            valid = valid and times[0] <= times[1]
            yield PaddleJob(kind.decode(), int(number), int(micro_batch), *times) if valid else None


def nanoseconds(ms: bytes, digits: bytes) -> int:
    return int(ms) * 10**6 + int(digits.ljust(6, b"0"))


@contextmanager
def as_chrome_json(inputs: Sequence[tuple[str, int]]) -> Iterator[list[TimelineInput]]:
    """Convert logs among timelines, each with its rank, into temporary files."""
    with ExitStack() as stack:
        made: list[TimelineInput] = []
        for path, rank in inputs:
            if not is_log(path):
                made.append((path, rank))
                continue
            if not any(len(each) > 2 for each in made):
                folder = stack.enter_context(TemporaryDirectory())
            log = PaddleLog(path)
            content = Path(folder, f"{len(made)}.json")
            log.convert(content)
            made.append((path, rank, os.fsencode(content), log.lost, log.trouble))
        yield made


def is_log(path: str) -> bool:
    """Return whether a file is a log, by its name or the first bytes of its content."""
    name = os.path.basename(path)
    if name.endswith(".fd"):
        return False
    try:
        with open_regular(path) as file:
            head = next(LogContent(file).pieces(_HEAD), b"")
    except OSError:
        return False  # the reader of timelines reports the error
    if name.startswith("workerlog."):
        return not head.startswith(_OURS)
    native = head.startswith(b"\n") and b"\0" in head  # a Perfetto trace
    return _PREFIX in head and not native and not head.startswith((b"{", b"[", *_OURS))


class LogContent:
    """The content of a file, plain or gzip, with as much of a damaged one as can be read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.trouble: str | None = None

    def pieces(self, size: int = _PIECE) -> Iterator[bytes]:
        packed = self._file.read(size)
        if not packed.startswith(_GZIP):
            while packed:
                yield packed
                packed = self._file.read(size)
            return
        stream = zlib.decompressobj(31)
        unpacked = 0
        try:
            while packed or not stream.eof:
                if stream.eof:
                    if not packed.startswith(_GZIP[:1]):
                        return  # padding
                    stream = zlib.decompressobj(31)
                piece = stream.decompress(packed, size)
                if piece:
                    yield piece
                unpacked += len(piece)
                if unpacked > _ALWAYS_UNPACKED and unpacked > _MOST_TIMES * self._file.tell():
                    self.trouble = f"the gzip data unpacks to more than {_MOST_TIMES} times its size"
                    return
                packed = stream.unused_data if stream.eof else stream.unconsumed_tail
                packed = packed or self._file.read(size)
                if not packed and not stream.eof:
                    self.trouble = "the gzip data is cut short"
                    return
        except zlib.error:
            self.trouble = "the gzip data is corrupt"

    def lines(self) -> Iterator[bytes]:
        """Yield lines; one of more than 1 MB in parts, none of which ends within a job."""
        rest = b""
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
            if len(rest) > _LONGEST:
                cut = len(rest) - 2 * _ITEM_BYTES
                begun = max(rest.rfind(begin, cut - _ITEM_BYTES, cut + len(begin)) for begin in _BEGINS)
                cut = cut if begun < 0 else begun
                yield rest[:cut]
                rest = rest[cut:]
        if rest:
            yield rest


class _JobStore:
    """Jobs in the order of a log, in a file of rows."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._types: dict[str, int] = {}
        self.count, self.base, self.start = 0, 0, ""

    def add(self, job: PaddleJob) -> None:
        self.base = min(self.base, job.start) if self.count else job.start
        self.start = self.start or (job.type if job.type != "default" else "")
        self.count += 1
        type = self._types.setdefault(job.type, len(self._types))
        self._file.write(_ROW.pack(job.number, job.micro_batch, job.start, job.end, type))

    def jobs(self) -> Iterator[PaddleJob]:
        types = list(self._types)
        self._file.seek(0)
        while rows := self._file.read(_ROW.size * 4096):
            for number, micro_batch, start, end, type in _ROW.iter_unpack(rows):
                yield PaddleJob(types[type], number, micro_batch, start, end)


@dataclass
class PaddleLog:
    """A log. Members before the events depend on all jobs, which are stored meanwhile."""

    path: str
    lost: int = 0  # places: malformed jobs, and damage of the file
    #: The first loss in words, or why there is no job.
    trouble: str | None = None

    def __post_init__(self) -> None:
        folder, name = os.path.split(self.path)
        folder = os.path.basename(folder)
        self.machine = folder if folder.startswith("machine") and len(os.fsencode(folder)) < 64 else ""
        digits = re.match(r"\d*", name.partition("workerlog.")[2], re.ASCII)
        self.device = int(digits[0]) if digits and digits[0] and int(digits[0]) < 0xFFFFFFFF else 0

    @property
    def members(self) -> int:
        """The number of members before the events."""
        return 4 if self.machine else 3

    def convert(self, output: Path) -> None:
        """Write a log as Chrome JSON; an empty object if it has no job."""
        with (
            SpooledTemporaryFile(max_size=_STORED) as rows,
            output.open("w", encoding="utf-8", errors="replace") as file,
        ):
            store = _JobStore(rows)
            first_step = self._read(store)
            if not store.count:
                file.write("{}")
                return
            about = {"device": self.device, "jobs": store.count, "first_step": first_step}
            host = {"host_name": self.machine} if self.machine else {}
            members = {"displayTimeUnit": "ns", "baseTimeNanoseconds": store.base, **host, "paddle": about}
            file.write(text(members)[:-1] + ',"traceEvents":[\n')
            self._write_events(file, store, first_step)
            file.write("\n]}\n")

    def _read(self, store: _JobStore) -> int:
        """Store the jobs, note losses, and return the first step."""
        bad, first, first_step = 0, 0, None
        with open_regular(self.path) as file:
            content = LogContent(file)
            for index, line in enumerate(content.lines(), 1):
                for item in items(line):
                    if isinstance(item, PaddleJob):
                        store.add(item)
                    elif item is None:
                        bad += 1
                        first = first or index
                    elif first_step is None:
                        first_step = item
        self.lost = bad + (content.trouble is not None)
        if store.count:
            lost = f"{bad} invalid job{'' if bad == 1 else 's'}, the first in line {first}"
            self.trouble = content.trouble or (lost if bad else None)
        elif bad:
            self.trouble = f"none of the {bad} lines of the profiler is complete"
        else:
            self.trouble = content.trouble or 'no line "Profiler Info: Job" in it'
        return first_step or 0

    def _write_events(self, file: TextIO, store: _JobStore, step: int) -> None:
        """Write the events. A step begins with the first micro-batch of the first job type but ``default``."""
        names = (
            ("process_name", 0, f"GPU {self.device}"),
            ("thread_name", _STEPS, "Steps"),
            ("thread_name", _JOBS, "Jobs"),
        )
        head = {"ph": "M", "pid": self.device}
        file.write(",\n".join(text(head | {"tid": tid, "name": key, "args": {"name": of}}) for key, tid, of in names))
        begun: tuple[int, int] | None = None  # times of the current step

        def put(tid: int, start: int, end: int, name: str, kind: str, args: str) -> None:
            times = f'"ts":{microseconds(start - store.base)},"dur":{microseconds(end - start)}'
            head = f'"ph":"X","pid":{self.device},"tid":{tid}'
            file.write(f',\n{{{head},{times},"name":"{name}","cat":"{kind}","args":{{{args}}}}}')

        for item in store.jobs():
            if item.micro_batch == 0 and item.type == store.start:
                if begun is not None:
                    put(_STEPS, *begun, f"step {step}", "step", f'"step":{step}')
                    step += 1
                begun = item.start, item.end
            args = f'"job":{item.number},"micro_batch":{item.micro_batch}'
            if begun is not None:
                begun = begun[0], max(begun[1], item.end)
                args += f',"step":{step}'
            put(_JOBS, item.start, item.end, f"{item.type}_{item.number}", item.type, args)
        if begun is not None:
            put(_STEPS, *begun, f"step {step}", "step", f'"step":{step}')


def text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def microseconds(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
