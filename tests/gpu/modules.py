"""Kernel times of torch.profiler by module, as ``Trace.table("module")`` names modules."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

Events = list[dict[str, Any]]
PREFIX = "module "


def row_of(name: str, model: nn.Module) -> str:
    """The row of a module: ``blocks.3.attn`` is in the row ``blocks.*.attn``, the model itself in that of its class."""
    return re.sub(r"(^|\.)\d+(?=\.|$)", r"\1*", name) or type(model).__name__


@contextmanager
def marked_forwards(model: nn.Module) -> Iterator[None]:
    """A range of torch.profiler around each forward call of a module."""
    open_ranges: list[torch.profiler.record_function] = []

    def begin(row: str) -> Any:
        def hook(*_: object) -> None:
            open_ranges.append(torch.profiler.record_function(PREFIX + row))
            open_ranges[-1].__enter__()

        return hook

    def end(*_: object) -> None:
        open_ranges.pop().__exit__(None, None, None)

    handles = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(begin(row_of(name, model))))
        handles.append(module.register_forward_hook(end))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def kernel_times(events: Events) -> Counter[str]:
    """Nanoseconds of kernels, copies and fills, by row of all modules around their launch; "" has the sum of all."""
    ranges: dict[Any, list[tuple[float, float, str]]] = {}
    launches: dict[int, tuple[Any, float]] = {}
    for event in events:
        if event.get("cat") == "user_annotation" and str(event["name"]).startswith(PREFIX):
            row = str(event["name"]).removeprefix(PREFIX)
            ranges.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"], row))
        elif event.get("cat") in ("cuda_runtime", "cuda_driver"):
            launches[event["args"]["correlation"]] = (event["tid"], event["ts"])
    times: Counter[str] = Counter()
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        thread, launched = launches.get(event["args"]["correlation"], (None, 0.0))
        rows = {row for begin, end, row in ranges.get(thread, ()) if begin <= launched <= end}
        for row in ["", *rows]:
            times[row] += round(event["dur"] * 1000)
    return times
