"""Compare figures of ``timeline stats`` with those of HolisticTraceAnalysis 0.5.0 and print Markdown tables.

Usage: python -m tests.corpus.against_hta FOLDER PYTHON, where PYTHON is an interpreter with HolisticTraceAnalysis.
Nothing is downloaded and nothing is written below FOLDER. Every trace below it with work on a GPU is read by both. A
difference is explained if it vanishes once both read the same: the events that HTA selected, the functions that HTA
counts as launches, the events that HTA counts as work. The exit status is 1 if a difference is unexplained.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Trace = dict[str, Any]
Event = dict[str, Any]
Figures = dict[str, dict[str, float | None]]
Change = Callable[[Event], Event | None]

HELPER = Path(__file__).with_name("hta_figures.py")

#: Functions that HTA counts as launches for queues, and for delays.
QUEUED = {
    *("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync"),
    *("cudaMemsetAsync", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemsetAsync", "hipMemcpyAsync"),
    "hipMemcpyWithStream",
}
DELAYED = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}

GPU = ("kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset")


@dataclass(frozen=True)
class Difference:
    trace: str
    group: str
    name: str
    ours: float | None
    theirs: float | None
    reason: str | None


@dataclass(frozen=True)
class Read:
    """Our figures of a trace as it is, and as HTA reads it."""

    ours: Figures
    variants: list[tuple[str, Figures]]
    overlaps: float
    fractions: bool


def load(path: Path) -> Trace:
    content = path.read_bytes()
    made: Trace = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    return made


def stats(trace: Trace, folder: Path) -> dict[str, Any]:
    path = folder / "trace.json"
    path.write_text(json.dumps(trace))
    return stats_of(path)


def stats_of(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "fastdispatch", "timeline", "stats", "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    made: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return made


def hta(python: str, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(HELPER), str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"},
    )
    made: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return made


def figures(made: dict[str, Any]) -> Figures:
    """Our figures under the names of ``hta_figures.py``, in microseconds."""
    (gpu,) = made["gpus"]
    kinds = {row["kind"]: row for row in gpu["kinds"]}
    names = {"compute": "computation"}
    parts = {names.get(kind, kind): row["alone"] for kind, row in kinds.items()}
    for row in gpu["overlaps"]:
        parts[" overlapping ".join(names.get(kind, kind) for kind in row["kinds"])] = row["time"]
    compute, talking = kinds["compute"]["time"], kinds["communication"]["time"]
    both = sum(row["time"] for row in gpu["overlaps"] if {"compute", "communication"} <= set(row["kinds"]))
    found: dict[str, dict[str, float | None]] = {
        "temporal": {
            "idle": gpu["idle"],
            "compute": compute,
            "other work": gpu["busy"] - compute,
            "time": gpu["duration"],
        },
        "breakdown": {kind: time for kind, time in parts.items() if time},
        "idle": {
            cause: sum(row[key] for row in made["streams"])
            for cause, key in (("host_wait", "host_wait"), ("kernel_wait", "kernel_wait"), ("other", "other_wait"))
        },
    }
    for group in found.values():
        for name, value in group.items():
            group[name] = None if value is None else value / 1000
    found["overlap"] = {"share": round(100 * both / talking, 2) if talking else None}
    waiting = [row["waiting"] for row in made["streams"]]
    found["queue"] = {
        "max": max(row["max"] for row in waiting),
        "length by time": sum(row["mean"] * row["duration"] for row in waiting) / 1000,
    }
    found["bandwidth"] = {}
    for row in made["copies"]:
        name = "Memset" if row["kind"] == "memset" else f"Memcpy {row['kind']}"
        for key in ("count", "mean", "max"):
            value = row["bandwidth"][key]
            found["bandwidth"][f"{name} {key}"] = value if key == "count" else value / 1e9
    for row in made["launches"]:
        found["launches"] = {
            "count": row["delay"]["count"],
            "calls": row["call"]["total"] / 1000,
            "delays": row["delay"]["total"] / 1000,
            "calls above 50 us": row["slow_calls"],
            "delays above 100 us": row["late"],
            "shorter than call": row["under_call"],
        }
    found["counts"] = {"work": sum(kind["count"] for kind in kinds.values())}
    for row in made["names"]:
        if row["kind"]:
            for key, value in (("sum", "total"), ("mean", "mean"), ("max", "max"), ("min", "min")):
                found.setdefault("kernels", {})[f"{row['name']} {key}"] = row[value] / 1000
    return found


def is_equal(ours: float | None, theirs: float | None) -> bool:
    """Compare up to the rounding of HTA: its results have two digits, its times are floating-point numbers."""
    ours, theirs = ours or 0.0, theirs or 0.0
    return abs(ours - theirs) <= max(0.01, 1e-7 * abs(theirs))


def only_launches(functions: set[str]) -> Change:
    """Drop calls of other functions."""

    def change(event: Event) -> Event | None:
        return None if is_call(event) and event["name"] not in functions else event

    return change


def is_call(event: Event) -> bool:
    return re.search(r"(_runtime|_driver)$|^Runtime$", str(event.get("cat", ""))) is not None


def stream_of(event: Event) -> int:
    """Return -1 for events without a stream, or with a text that is not a decimal number, as HTA reads it."""
    try:
        return int(event.get("args", {}).get("stream", -1))
    except ValueError:
        return -1


def streams_as_work(event: Event) -> Event | None:
    """Turn other events with a stream into work, by the kinds of HTA."""
    if event.get("cat") in GPU or stream_of(event) < 0:
        return event
    return {**event, "cat": "gpu_memcpy" if re.search("Sync", event["name"]) else "kernel"}


def some_streams_as_work(event: Event) -> Event | None:
    """The same without waits, which have no kind in HTA."""
    changed = streams_as_work(event)
    return event if changed is None or changed["cat"] == "gpu_memcpy" else changed


def not_of(first: Event) -> Change:
    """Drop the launch of the first event."""

    def change(event: Event) -> Event | None:
        correlation = event.get("args", {}).get("correlation")
        return None if is_call(event) and correlation == first["args"]["correlation"] else event

    return change


def variants(trace: Trace, kept: set[int]) -> Iterator[tuple[str, Trace]]:
    """Yield traces that give our figures what HTA reads, with the reason of a difference that vanishes."""
    events = trace["traceEvents"]
    work = [index for index, event in enumerate(events) if event.get("cat") in GPU]
    skipped = len(work) - len(kept.intersection(work))

    def with_change(change: Change) -> Trace:
        changed = [change(event) for index, event in enumerate(events) if index in kept]
        return {**trace, "traceEvents": [event for event in changed if event is not None]}

    yield "HTA reads times as floating-point numbers", trace
    skips = f"HTA skips {skipped} of {len(work)} kernels and copies: no launch in its steps" if skipped else ""
    if skipped:
        yield skips, with_change(keep)
    streams = "HTA counts all events with a stream as work"
    yield joined(skips, streams), with_change(streams_as_work)
    yield joined(skips, streams), with_change(some_streams_as_work)
    if events[0].get("cat") in GPU:
        yield joined(skips, "HTA ignores the launch of the first event in the file"), with_change(not_of(events[0]))
    first = "HTA uses the first event of the file as the launch of work without one"
    yield joined(skips, first), launched_first(trace, kept)
    functions = "HTA counts launches by fewer functions"
    yield joined(skips, functions), with_change(only_launches(QUEUED))
    yield joined(skips, functions), with_change(only_launches(DELAYED))


def keep(event: Event) -> Event | None:
    return event


def flat(theirs: dict[str, Any]) -> Figures:
    """The figures of HTA; those that it failed to compute are missing."""
    made: Figures = {}
    for group, values in theirs.items():
        if group == "kernels" and "error" not in values:
            values = {f"{name} {key}": value for name, row in values.items() for key, value in row.items()}
        if group != "kept" and "error" not in values:
            made[group] = values
    return made


def overlaps(trace: Trace, kept: set[int]) -> float:
    """Return the sum of the negative gaps between work of a stream, in the order of begins."""
    ends: dict[int, float] = {}
    found = 0.0
    events = [event for index, event in enumerate(trace["traceEvents"]) if index in kept and event.get("cat") in GPU]
    for event in sorted(events, key=lambda event: event["ts"]):
        stream = stream_of(event)
        found += min(0.0, event["ts"] - ends.get(stream, event["ts"]))
        ends[stream] = event["ts"] + event["dur"]
    return found


def launched_first(trace: Trace, kept: set[int]) -> Trace:
    """Return the trace with a launch at its first event for each kernel and copy that has none."""
    events = [event for index, event in enumerate(trace["traceEvents"]) if index in kept]
    launched = {event.get("args", {}).get("correlation") for event in events if is_call(event)}
    made = []
    for number, event in enumerate(events):
        if event.get("cat") in GPU and event["args"].get("correlation") not in launched:
            correlation = (1 << 48) + number
            first = {"ph": "X", "pid": 1, "tid": 1, "ts": trace["traceEvents"][0].get("ts", 0), "dur": 0}
            made.append(first | {"name": "first", "cat": "cuda_runtime", "args": {"correlation": correlation}})
            event = {**event, "args": {**event["args"], "correlation": correlation}}
        made.append(event)
    return {**trace, "traceEvents": made}


def reason_of(group: str, name: str, theirs: Figures, read: Read) -> str | None:
    """Return why a figure differs; None: unexplained."""
    wanted = number(theirs[group].get(name))
    for reason, there in read.variants:
        if is_equal(there.get(group, {}).get(name), wanted):
            return reason
    for reason, there in [("", read.ours), *read.variants]:
        mine, work = there.get(group, {}), number(there["counts"]["work"])
        if group == "idle" and name == "kernel_wait" and is_equal(number(mine.get(name)) + read.overlaps, wanted):
            return joined(reason, "HTA subtracts overlaps of work on a stream")
        if group == "bandwidth" and is_equal(mine.get(name), theirs["copies"].get(name)):
            return joined(
                reason, "HTA adds the bandwidths of copies that overlap or touch; those of single copies agree"
            )
        if group == "breakdown" and 0 <= number(mine.get(name)) - wanted < 2 * work:
            return joined(reason, "HTA cuts each interval to whole microseconds")
    sums = [total(there["idle"]) for _, there in read.variants]
    if group == "idle" and read.fractions and any(is_equal(same, total(theirs["idle"])) for same in sums):
        return "HTA compares times as floating-point numbers: the sum of all causes agrees"
    return None


def total(values: dict[str, float | None]) -> float:
    return sum(map(number, values.values()))


def joined(first: str, second: str) -> str:
    return f"{first}; {second}" if first else second


def number(value: float | None) -> float:
    return value or 0.0


def compare(path: Path, folder: Path, python: str) -> tuple[Counter[tuple[str, bool]], list[Difference]]:
    """Return counts of equal and other figures of a trace by group, and the others."""
    counts: Counter[tuple[str, bool]] = Counter()
    found: list[Difference] = []
    trace, made = load(path), hta(python, path)
    if not made:
        return counts, found
    ours, theirs = figures(stats_of(path)), flat(made)
    read: Read | None = None
    for group, values in theirs.items():
        for name in sorted(values.keys() | ours.get(group, {}).keys() if group != "copies" else ()):
            mine = ours.get(group, {}).get(name)
            equal = is_equal(mine, values.get(name))
            counts[group, equal] += 1
            if equal:
                continue
            read = read or variants_of(trace, ours, set(made["kept"]))
            reason = reason_of(group, name, theirs, read)
            found.append(Difference(str(path.relative_to(folder)), group, name, mine, values.get(name), reason))
    return counts, found


def variants_of(trace: Trace, ours: Figures, kept: set[int]) -> Read:
    with tempfile.TemporaryDirectory() as place:
        made = [(reason, stats(each, Path(place))) for reason, each in variants(trace, kept)]
    fractions = any(isinstance(event.get("ts"), float) for event in trace["traceEvents"])
    found = [(reason, figures(each)) for reason, each in made if each.get("gpus")]
    return Read(ours, found, overlaps(trace, kept), fractions)


def traces(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and re.search(r"\.json(\.gz)?$", path.name):
            try:
                events = load(path).get("traceEvents", [])
            except (OSError, ValueError, AttributeError):
                continue
            if any(isinstance(event, dict) and event.get("cat") in GPU for event in events):
                yield path


def shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"


def rows(found: list[Difference]) -> Iterator[str]:
    """Yield a row for all figures of a trace that differ for one reason; of kernels the first."""
    groups: dict[tuple[str, str, str | None], list[Difference]] = {}
    for each in found:
        groups.setdefault((each.trace, each.group, each.reason), []).append(each)
    for (trace, group, reason), list_of in groups.items():
        chosen = list_of if group != "kernels" else list_of[:1]
        more = f" and {len(list_of) - len(chosen)} more" if len(list_of) > len(chosen) else ""
        names = ", ".join(each.name if len(each.name) < 60 else "..." + each.name[-50:] for each in chosen)
        cells = [trace, f"{group}: {names}{more}"]
        cells += [
            ", ".join(shown(value) for value in of) for of in zip(*((e.ours, e.theirs) for e in chosen), strict=True)
        ]
        yield " | ".join(["", *(cell.replace("|", "\\|") for cell in cells), reason or "**unexplained**", ""]).strip()


def main() -> int:
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        print("python -m tests.corpus.against_hta FOLDER PYTHON: give a folder and an interpreter", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    total: Counter[tuple[str, bool]] = Counter()
    found: list[Difference] = []
    read = 0
    for path in traces(folder):
        counts, differences = compare(path, folder, sys.argv[2])
        read += bool(counts)
        total += counts
        found += differences
    print(f"{read} traces.\n\n| figures | compared | equal | different |\n|---|---|---|---|")
    for group in dict.fromkeys(group for group, _ in total):
        equal, other = total[group, True], total[group, False]
        print(f"| {group} | {equal + other} | {equal} | {other} |")
    print("\n| trace | figures that differ | fastdispatch | HTA | reason |\n|---|---|---|---|---|")
    for row in rows(found):
        print(row)
    return int(read == 0 or any(each.reason is None for each in found))


if __name__ == "__main__":
    sys.exit(main())
