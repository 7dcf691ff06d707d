"""All detectors, in the order in which they claim time: a cause precedes what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided

Detect = Callable[[MeasuredSteps], Iterable[Finding | NotDecided]]

#: The modules of this folder that are detectors.
_MODULES = """
hang gc_pause recompile graph_break recompute evaluation construction host_sync input_wait skewed_comm exposed_comm
slowdown unfused_optimizer device_copy tiny_ops double_precision single_precision low_intensity stage_imbalance
pipeline_bubble unequal_work slow_rank memory_growth gil host_code launch_bound allocator_retry own_cost
"""

#: Function of each detector, by its identifier.
DETECTORS: dict[str, Detect] = {
    module.ID: module.find for module in (import_module(f"fastdispatch.detectors.{name}") for name in _MODULES.split())
}

#: Detectors that need no step.
WITHOUT_STEPS = ("hang",)

#: Detectors that look at all steps, also at the first ones.
OF_ALL_STEPS = ("recompile",)
