"""Facts about the machine, without which a figure says little."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("fastdispatch", "torch", "viztracer", "transformers", "numpy")


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _processor() -> str:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def facts() -> dict[str, object]:
    """Processor, governor, clock, load and versions; imports nothing that is measured."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "governor": _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "clocksource": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "virtual": " hypervisor " in (_text("/proc/cpuinfo") or "").replace("\n", " "),
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "python": sys.version.split()[0],
        "packages": {name: found for name in _PACKAGES if (found := package_version(name))},
    }
