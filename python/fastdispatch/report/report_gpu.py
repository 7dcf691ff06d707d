"""Sentences about the kernels of GPUs: busy time by use, idle time by cause, and reasons for missing kernels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastdispatch.read.gpu_health import gpu_health
from fastdispatch.read.gpu_time import BUSY, GpuFacts
from fastdispatch.text.formats import counted, grouped, seconds

_CAUSES = {"launch": "launch latency", "wait": "waits for another stream or device", "undecided": "not decided"}

#: The GPU is bound by itself from this share on; places are shown from this share of the time on.
_BOUND, _SHOWN, _PLACES = 0.9, 0.01, 4


def gpu_sentence(facts: GpuFacts) -> str:
    """Return what bounds the step, in one sentence; empty if it is not known."""
    if not facts.window or not facts.busy_steps:
        return ""
    busy, idle = facts.share(facts.busy), facts.share(facts.window - facts.busy)
    late = facts.host + facts.end
    if busy >= _BOUND:
        return f"GPU busy {_percent(busy)} of the step: bound by the GPU"
    if 2 * late < facts.window - facts.busy:
        cause = max(_CAUSES, key=lambda name: getattr(facts, name))
        return f"GPU idle {_percent(idle)} of the step, mostly: {_CAUSES[cause]}"
    place = f", in {facts.places[0].name}" if facts.places else ""
    return f"GPU idle {_percent(idle)} of the step: the host is late{place}"


def gpu_lines(facts: GpuFacts) -> Iterator[str]:
    if facts.window and facts.busy_steps:
        times = {name: getattr(facts, name) for name in BUSY.values()}
        uses = [f"{name} {100 * facts.share(time):.0f}" for name, time in times.items() if time]
        causes = [(facts.share(place.time), f"in {place.name}") for place in facts.places[:_PLACES]]
        rest = sum(place.time for place in facts.places[_PLACES:])
        causes += [(facts.share(rest), "in other functions")]
        causes += [(facts.share(getattr(facts, name)), words) for name, words in _CAUSES.items()]
        shown = ", ".join(f"{_percent(share)} {words}" for share, words in causes if share >= _SHOWN)
        busy = f"{_percent(facts.share(facts.busy))} busy" + (f" ({', '.join(uses)})" if uses else "")
        idle = f"idle {_percent(facts.share(facts.window - facts.busy))}"
        yield f"GPU in {_steps(facts.busy_steps)}: {busy}, {idle}{shown and f': {shown}'}"
        if facts.communication or facts.hidden:
            exposed, hidden = (_percent(facts.share(time)) for time in (facts.communication, facts.hidden))
            yield f"communication on the GPU: {exposed} of the time exposed, {hidden} beside compute"
    kernels = f"{grouped(facts.kernels)} kernels, copies and fills"
    yield f"GPU: {kernels} in {_steps(facts.steps)}, {seconds(facts.time)}"


def health_line(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the clock and power of the GPU with the lowest clock, and the errors of all; empty if they are unknown."""
    found = [each for entry in entries for each in gpu_health(entry) if each.looks and each.highest]
    if not found:
        return ""
    low = min(found, key=lambda each: each.clock / each.highest)
    where = f"rank {low.rank}, " if len({each.rank for each in found}) > 1 else ""
    power = f", {low.power:.0f} of {low.limit:.0f} W" if low.limit else ""
    times = counted(low.looks, "look")
    lowest = "lowest mean " if len(found) > 1 else "mean "
    of_ranks = {each.rank: each.errors for each in found}
    errors = "".join(f"; rank {rank}: {text}" for rank, text in of_ranks.items() if text)
    return f"GPU: {lowest}{low.text}{power} ({where}device {low.device}, {times} in recorded steps){errors}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _steps(count: int) -> str:
    return counted(count, "recorded step")


def why_incomplete(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return why GPU times or kernels are missing, a sentence for each reason; empty if nothing is."""
    reasons = {sentence for entry in entries for sentence in _reasons(entry["meta"])}
    return "; ".join(sorted(reasons))


def _reasons(meta: Mapping[str, Any]) -> Iterator[str]:
    if "gpu_missing" in meta:
        yield meta["gpu_missing"]
    known = meta.get("gpu_kernels")
    if isinstance(known, dict) and "problem" in known:
        instead = "kernels of some steps are missing" if known.get("kernels") else "GPU times are those of modules"
        yield f"{known['problem']}: {instead}"
