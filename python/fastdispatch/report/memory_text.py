"""``report --memory`` as text."""

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table
from rich.text import Text

from fastdispatch.measures.memory_report import PARTS, UNRECORDED, DeviceReport, MemoryReport, MemoryRow, Moment
from fastdispatch.report.terminal import section, table
from fastdispatch.text.formats import counted, grouped, printable, rounded_share, size

_KEPT = "the recorder (calls=frame) keeps arguments until their call ends: without it, the peak can be lower"


def sentence(device: DeviceReport) -> str:
    """Return the first line of a device: the latest failed allocation if there is one, else the peak and the growth;
    with the step, the place and the largest parts."""
    if device.refused is None:
        return _peak(device)
    failed = device.refused
    reserved = f", {size(failed.reserved)} reserved" if failed.reserved else ""
    line = (
        f"out of memory on {device.device}{_at(failed)}: {size(failed.requested)} requested,"
        f" {_of_device(failed.allocated, device)} allocated{reserved}"
    )
    return line + _holders(device, failed.parts, lambda row: row.held)


def _peak(device: DeviceReport) -> str:
    line = f"peak {_of_device(device.peak, device)} on {device.device}{_at(device.at_peak)}"
    line += _holders(device, device.parts, lambda row: row.parts)
    return line + (f"; grows by {size(device.growth)} per step" if device.growth else "")


def _of_device(used: int, device: DeviceReport) -> str:
    """Format used bytes of those of a device: ``61.2 of 80 GB``."""
    if not device.total:
        return size(used)
    (number, unit), whole = size(used).split(), size(device.total)
    return f"{number if whole.endswith(f' {unit}') else size(used)} of {whole}"


def _at(moment: Moment) -> str:
    step = "" if moment.step is None else f" in step {moment.step}"
    place = f"{moment.file}:{moment.line}" if moment.line else moment.where
    return step + (f" at {place}" if place else "")


def _holders(device: DeviceReport, parts: dict[str, int], of: Callable[[MemoryRow], dict[str, int]]) -> str:
    """Format the largest parts, the first one with the place that holds most of it."""
    found = sorted(((value, name) for name, value in parts.items() if value > 0), reverse=True)[:3]
    texts = [f"{name} {size(value)}" for value, name in found]
    if found and found[0][1] != UNRECORDED:
        value, most = max(((of(row).get(found[0][1], 0), row) for row in device.rows), key=lambda each: each[0])
        texts[0] += f" ({most.module or place(most)} {size(value)})"
    return (": " if texts else "") + ", ".join(texts)


def parts(report: MemoryReport, top: int | None) -> Iterator[Text | Table]:
    """Yield sentences, then tables of ``top`` rows each (None: all)."""
    of = f"rank {report.rank}, the highest of {report.ranks} ranks; " if report.ranks > 1 else ""
    failed = any(device.refused for device in report.devices)
    if of and failed:
        of = f"rank {report.rank} of {report.ranks}, the one with the highest peak of those that ran out of memory; "
    for device in sorted(report.devices, key=lambda each: (each.refused is None, -each.peak)):
        yield Text(printable(sentence(device)), style="bold")
        if device.refused is not None:
            yield Text(printable(_peak(device)))
        yield Text(printable(of + _details(device)), style="dim")
    yield from _tables(report, top, failed)
    missing = report.unfollowed
    if missing.blocks:
        yield Text(f"not included: {counted(missing.blocks, 'block')} of {size(missing.bytes)} without room")
    if missing.frees:
        frees = counted(missing.frees, "free")
        yield Text(f"not in a call path: blocks from before the recording, or without room: {frees}", style="dim")
    if report.kept:
        yield Text(_KEPT, style="dim")


def _details(device: DeviceReport) -> str:
    """Return the second line of a device."""
    found = [f"reached in {device.reached}"] if device.reached else []
    found += [f"{size(device.reserved)} reserved at most"] if device.reserved else []
    found += [f"{size(device.at_peak.reserved)} reserved at the peak"] if device.at_peak.reserved else []
    found += [f"{size(device.allocated)} allocated in total", f"{size(device.live)} live at the end"]
    if device.refused is not None:
        found.append(counted(device.refused.failures, "failed allocation"))
    if device.retries:
        found.append(f"the allocator freed its cache {counted(device.retries, 'time')} to allocate again")
    elif device.retries is None and device.total:
        found.append("how often the allocator freed its cache is not known: the recording did not end")
    return "; ".join(found)


def _tables(report: MemoryReport, top: int | None, failed: bool) -> Iterator[Text | Table]:
    """Yield the tables of all devices: parts, call paths, growth."""
    dropped = [*([] if failed else ["at failure"]), *([] if len(report.devices) > 1 else ["device"])]
    columns = ["share", "bytes", "at failure", "device", "part"]
    yield from section("parts of the peak", _without(dropped, columns, list(_part_rows(report))))
    rows = [(device, row) for device in report.devices for row in device.rows if row.peak or row.held]
    rows.sort(key=lambda each: (-sum(each[1].held.values()), -each[1].peak))
    columns = [*columns[:3], "blocks", "live", *columns[3:], "operator", "where", "module"]
    yield from section("call paths of the peak", _without(dropped, columns, [_cells(*each) for each in rows[:top]]))
    if len(rows) > len(rows[:top]):
        yield Text(f"{len(rows) - len(rows[:top])} more rows (--top N)")
    growing = [(device, row) for device in report.devices for row in device.rows if row.growth]
    growing.sort(key=lambda each: -each[1].growth)
    if growing:
        steps = max(device.steps for device, _ in growing)
        cells = []
        for device, row in growing[:top]:
            figures = size(row.growth), size(row.error), size(row.live)
            cells.append((*figures, device.device, row.operator, place(row)))
        columns = ["per step", "error", "live", "device", "operator", "where"]
        yield from section(f"growth over {counted(steps, 'step')}", _without(dropped, columns, cells))


def _part_rows(report: MemoryReport) -> Iterator[tuple[str, ...]]:
    """Yield the parts of all devices, the largest first."""
    parts = []
    for device in report.devices:
        failed = device.refused.parts if device.refused else {}
        parts += [(failed.get(name, 0), device.parts.get(name, 0), device, name) for name in PARTS]
    for held, at_peak, device, name in sorted(parts, key=lambda each: (-each[0], -each[1])):
        if held or at_peak:
            yield _share(at_peak, device.peak), size(at_peak), size(held) if held else "", device.device, name


def _without(dropped: list[str], columns: list[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without some of its columns."""
    kept = [at for at, name in enumerate(columns) if name not in dropped]
    words = ("device", "part", "operator", "where", "module")
    return table([columns[at] for at in kept], [[row[at] for at in kept] for row in rows], words)


def _share(value: int, peak: int) -> str:
    """Return the share of the peak; empty without a peak: all blocks are from before the recording."""
    return rounded_share(value / peak) if peak else ""


def _cells(device: DeviceReport, row: MemoryRow) -> tuple[str, ...]:
    ordered = sorted((row.held | row.parts).items(), key=lambda each: -each[1])
    parts = ", ".join(name for name, value in ordered if value)
    held = sum(row.held.values())
    figures = _share(row.peak, device.peak), size(row.peak), size(held) if held else "", grouped(row.blocks)
    return *figures, size(row.live) if row.live else "", device.device, parts, row.operator, place(row), row.module


def place(row: MemoryRow) -> str:
    """Return the line of the call that caused the blocks, and the function; the function alone without a line."""
    return f"{row.file}:{row.line} {row.where.rpartition(':')[2]}" if row.line else row.where
