"""All detectors, in the order in which they claim time: a cause precedes what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastdispatch.detectors import (
    allocator_retry,
    construction,
    device_copy,
    double_precision,
    evaluation,
    exposed_comm,
    gc_pause,
    gil,
    graph_break,
    hang,
    host_code,
    host_sync,
    input_wait,
    launch_bound,
    low_intensity,
    memory_growth,
    own_cost,
    pipeline_bubble,
    recompile,
    recompute,
    single_precision,
    skewed_comm,
    slow_rank,
    slowdown,
    stage_imbalance,
    tiny_ops,
    unequal_work,
    unfused_optimizer,
)
from fastdispatch.detectors.measured_steps import MeasuredSteps
from fastdispatch.detectors.model import Finding, NotDecided

Detect = Callable[[MeasuredSteps], Iterable[Finding | NotDecided]]

#: Identifier and function of each detector.
DETECTORS: dict[str, Detect] = {
    module.ID: module.find
    for module in (
        hang,
        gc_pause,
        recompile,
        graph_break,
        recompute,
        evaluation,
        construction,
        host_sync,
        input_wait,
        skewed_comm,
        exposed_comm,
        slowdown,
        unfused_optimizer,
        device_copy,
        tiny_ops,
        double_precision,
        single_precision,
        low_intensity,
        stage_imbalance,
        pipeline_bubble,
        unequal_work,
        slow_rank,
        memory_growth,
        gil,
        host_code,
        launch_bound,
        allocator_retry,
        own_cost,
    )
}

#: Detectors that need no step.
WITHOUT_STEPS = ("hang",)

#: Detectors that look at all steps, also at the first ones.
OF_ALL_STEPS = ("recompile",)
