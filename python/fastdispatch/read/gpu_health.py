"""Clocks, power and errors of GPUs while recorded steps ran (docs/formats/recording.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastdispatch.read.summary import mapping
from fastdispatch.text.formats import grouped

#: Reasons for a lower clock that are worth a line, in words.
_REASONS = {
    "power_cap": "power cap",
    "hardware_slowdown": "hardware slowdown",
    "thermal": "temperature",
    "hardware_thermal": "temperature",
    "power_brake": "power brake",
    "clocks_setting": "clocks set by the administrator",
    "sync_boost": "sync boost",
}

#: A clock below this share of the highest possible one is low; a reason counts from this share of the looks on.
_LOW, _OFTEN = 0.9, 0.5


@dataclass
class GpuHealth:
    """A device of a rank: means of the looks at which it had work."""

    rank: int
    device: int
    looks: int
    clock: int  # of the SMs, MHz
    highest: int  # that it can have; 0: unknown
    power: float  # W
    limit: float
    reasons: list[str]  # of a low clock
    uncorrected: int  # errors of ECC
    xids: list[int]  # of all devices of the rank

    @property
    def is_low(self) -> bool:
        return self.clock < _LOW * self.highest

    @property
    def text(self) -> str:
        """Return ``clock 1 200 of 1 980 MHz, power cap``."""
        clock = f"clock {grouped(self.clock)} of {grouped(self.highest)} MHz"
        return ", ".join([clock, *(self.reasons if self.is_low else [])])

    @property
    def errors(self) -> str:
        """Return the errors, empty without."""
        parts = [f"Xid {', '.join(map(str, self.xids))}"] if self.xids else []
        parts += [f"{grouped(self.uncorrected)} uncorrected errors of memory"] if self.uncorrected else []
        return ", ".join(parts)


def gpu_health(entry: Mapping[str, Any]) -> Iterator[GpuHealth]:
    """Yield the devices of a rank that ran kernels and that NVML reported about."""
    known = mapping(entry["meta"].get("gpu_health"))
    for device in known.get("devices", []):
        looks = device["looks"]
        counts = device["reasons"]
        reasons = [words for name, words in _REASONS.items() if counts.get(name, 0) > _OFTEN * looks]
        yield GpuHealth(
            entry["rank"],
            device["device"],
            looks,
            device["clock_mhz"],
            device["highest_mhz"],
            device["power_mw"] / 1e3,
            device["limit_mw"] / 1e3,
            list(dict.fromkeys(reasons)),
            device.get("ecc_uncorrected", 0),
            list(known.get("xid", [])),
        )
