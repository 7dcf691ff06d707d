"""The text format of Prometheus, for the textfile collector of the node exporter (docs/formats/summary.md)."""

from __future__ import annotations

from fastdispatch.report.run_summary import PREFIX, Summary

HELP = {
    "ranks": "Recorded ranks.",
    "world": "Ranks of the job.",
    "ranks_incomplete": "Ranks with a truncated or damaged file.",
    "steps": "Ended training steps.",
    "steps_measured": "Steps of all ranks with a known time.",
    "step_seconds": "Median time of a training step.",
    "step_low_seconds": "Lower quartile of the time of a step.",
    "step_high_seconds": "Upper quartile of the time of a step.",
    "step_spread": "Difference of the quartiles as a share of the median.",
    "share_forward": "Share of the step in the forward pass.",
    "share_backward": "Share of the step in the backward pass.",
    "share_optimizer": "Share of the step in the optimizer.",
    "share_data": "Share of the step in loading of data.",
    "share_other": "Share of the step in none of the other phases.",
    "findings": "Findings of all severities.",
    "findings_critical": "Critical findings.",
    "findings_warning": "Findings that are warnings.",
    "findings_info": "Findings for information.",
    "not_decided": "Detectors without enough evidence.",
    "first_finding_share": "Share of the step of the finding with the largest gain.",
    "first_finding_gain_seconds": "Estimated gain per step of the finding with the largest gain.",
    "dropped": "Events that the recording does not have.",
    "cost_share": "Share of the recorded time that recording took.",
    "flops_per_step": "Floating-point operations per step and rank.",
    "flops_per_second": "Floating-point operations per second of one rank.",
    "mfu": "FLOP/s of forward and backward of one rank as a share of the peak of its device.",
    "hfu": "FLOP/s of one rank as a share of the peak of its device.",
}


def prometheus_text(summary: Summary, run: str) -> str:
    """Return a gauge per number of the summary, and one with its texts as labels; ``run``: the label of all."""
    texts = {name.removeprefix(PREFIX): value for name, value in summary.items() if isinstance(value, str)}
    lines = _gauge("info", "Texts of the summary.", _labels({"run": run, **texts}), 1)
    label = _labels({"run": run})
    for key, value in summary.items():
        name = key.removeprefix(PREFIX)
        if not isinstance(value, str):
            lines += _gauge(name, HELP[name], label, value)
    return "\n".join(lines) + "\n"


def _gauge(name: str, help: str, labels: str, value: float) -> list[str]:
    metric = f"fastdispatch_{name}"
    return [f"# HELP {metric} {help}", f"# TYPE {metric} gauge", f"{metric}{{{labels}}} {value!r}"]


def _labels(texts: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(text)}"' for name, text in texts.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
