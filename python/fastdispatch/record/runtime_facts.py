"""Facts of the runtime that are read at the start and at the end of a recording, and cost nothing in between."""

import sys
from contextlib import suppress
from typing import Any

from fastdispatch._core import Session
from fastdispatch.record.compiler import Compiler, kernel_sources
from fastdispatch.record.gpu import is_in_use


class RuntimeFacts:
    """Compilations, garbage collections, and retries of the allocator of the GPU, since this object was made."""

    def __init__(self) -> None:
        self._compiler = Compiler()
        self._before = {each["device"]: each["retries"] for each in _allocators()}

    def facts(self, session: Session) -> dict[str, object]:
        """Return facts for the meta of the recording (docs/formats/recording.md)."""
        runs, collected, uncollectable = zip(*session.collections(), strict=True)
        found: dict[str, object] = {
            "gc": {"collections": runs, "collected": collected, "uncollectable": uncollectable},
        }
        compiled = self._compiler.facts()
        if compiled is not None:
            found["compile"] = compiled
        sources = kernel_sources()
        if sources:
            found["kernel_sources"] = sources
        name = _gpu_name()
        if name:
            found["gpu_name"] = name
        return found | self.allocators(ended=True)

    def allocators(self, *, ended: bool) -> dict[str, object]:
        """Return the facts of the allocators of GPUs, with their figures if the recording ``ended``; empty if the
        program has not used CUDA yet."""
        devices = _allocators()
        for each in devices:
            each["retries"] -= self._before.get(each["device"], 0)
            if not ended:
                del each["retries"], each["reserved"]
        return {"gpu_allocator": {"devices": devices}} if devices else {}


def _gpu_name() -> str:
    """Return the name of the current GPU, for the peaks of ``report --flops``; empty without CUDA."""
    if not is_in_use():
        return ""
    try:
        return str(sys.modules["torch"].cuda.get_device_name())
    except Exception:  # a device in an error state, or without a driver
        return ""


def _allocators() -> list[dict[str, int]]:
    """Return for each GPU how often its allocator has freed its cache to allocate again, the maximum of the bytes that
    it reserved, and the bytes of the GPU; empty without CUDA."""
    if not is_in_use():
        return []
    cuda: Any = sys.modules["torch"].cuda
    try:
        found = [_allocator(device, cuda.memory_stats(device)) for device in range(cuda.device_count())]
    except Exception:  # a device in an error state, or an allocator without statistics
        return []
    with suppress(Exception):  # a device in an error state, or without a driver
        for each in found:
            each["total"] = int(cuda.get_device_properties(each["device"]).total_memory)
    return found


def _allocator(device: int, statistics: dict[str, Any]) -> dict[str, int]:
    return {
        "device": device,
        "retries": int(statistics["num_alloc_retries"]),
        "reserved": int(statistics["reserved_bytes.all.peak"]),
    }
