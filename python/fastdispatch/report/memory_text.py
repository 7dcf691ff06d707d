"""``report --memory`` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from rich.table import Table
from rich.text import Text

from fastdispatch.measures.memory_report import DeviceReport, MemoryReport, MemoryRow
from fastdispatch.report.terminal import ENDLESS, print_parts, rounded_share, section, table, width_of
from fastdispatch.text.formats import counted, grouped, printable, size

_KEPT = "the recorder (calls=frame) keeps arguments until their call ends: without it, the peak can be lower"


def print_memory(report: MemoryReport, file: IO[str], top: int | None) -> None:
    """Print ``top`` rows of each device (None: all)."""
    print_parts(_parts(report, top), file, min(max(width_of(file), 60), ENDLESS))


def sentence(device: DeviceReport) -> str:
    """Return the first line: the peak, its largest parts, the growth per step."""
    parts = sorted(((value, name) for name, value in device.parts.items() if value), reverse=True)
    shares = ", ".join(f"{name} {_share(value, device.peak)}" for value, name in parts[:3])
    line = f"peak {size(device.peak)} on {device.device}" + (f": {shares}" if shares else "")
    if device.growth:
        line += f"; grows by {size(device.growth)} per step"
    return line


def _parts(report: MemoryReport, top: int | None) -> Iterator[Text | Table]:
    for at, device in enumerate(report.devices):
        if at:
            yield Text("")
        yield Text(printable(sentence(device)), style="bold")
        of = f"rank {report.rank}, the highest of {report.ranks} ranks; " if report.ranks > 1 else ""
        reached = f"reached in {device.reached}; " if device.reached else ""
        end = f"{size(device.allocated)} allocated in total, {size(device.live)} live at the end"
        yield Text(printable(f"{of}{reached}{end}"), style="dim")
        yield from _device(device, top)
    missing = report.unfollowed
    if missing.blocks:
        yield Text(f"not included: {counted(missing.blocks, 'block')} of {size(missing.bytes)} without room")
    if missing.frees:
        frees = counted(missing.frees, "free")
        yield Text(f"not included: blocks from before the recording, or without room: {frees} of them", style="dim")
    if report.kept:
        yield Text(_KEPT, style="dim")


def _device(device: DeviceReport, top: int | None) -> Iterator[Text | Table]:
    rows = [
        (_share(value, device.peak), size(value), name)
        for name, value in sorted(device.parts.items(), key=lambda each: -each[1])
        if value
    ]
    yield from section("parts of the peak", table(("share", "bytes", "part"), rows, ("part",)))
    at_peak = [row for row in device.rows if row.peak]
    yield from section(
        "call paths of the peak",
        table(
            ("share", "bytes", "blocks", "live", "part", "operator", "where", "module"),
            [_cells(row, device.peak) for row in at_peak[:top]],
            ("part", "operator", "where", "module"),
        ),
    )
    if len(at_peak) > len(at_peak[:top]):
        yield Text(f"{len(at_peak) - len(at_peak[:top])} more rows (--top N)")
    growing = sorted((row for row in device.rows if row.growth), key=lambda row: -row.growth)
    if growing:
        yield from section(
            f"growth over {counted(device.steps, 'step')}",
            table(
                ("per step", "error", "live", "operator", "where"),
                [(size(r.growth), size(r.error), size(r.live), r.operator, place(r)) for r in growing[:top]],
                ("operator", "where"),
            ),
        )


def _share(value: int, peak: int) -> str:
    """Return the share of the peak; empty without a peak: all blocks are from before the recording."""
    return rounded_share(value / peak) if peak else ""


def _cells(row: MemoryRow, peak: int) -> tuple[str, ...]:
    parts = ", ".join(name for name, value in sorted(row.parts.items(), key=lambda each: -each[1]) if value)
    live = size(row.live) if row.live else ""
    share = _share(row.peak, peak)
    return share, size(row.peak), grouped(row.blocks), live, parts, row.operator, place(row), row.module


def place(row: MemoryRow) -> str:
    """Return the line of the call that caused the blocks, and the function; the function alone without a line."""
    return f"{row.file}:{row.line} {row.where.rpartition(':')[2]}" if row.line else row.where
