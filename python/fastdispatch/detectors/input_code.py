"""Functions of the program that make input: by their names, if the loop has no DataLoader."""

from __future__ import annotations

import re

from fastdispatch.detectors.measured_steps import BACKWARD, FORWARD, OPTIMIZER, MeasuredSteps

#: Names of functions that make input, for loops without a DataLoader.
MAKES_INPUT = re.compile(
    r"(^|_)(batch(es)?|load|fetch|sample|read|collate|transform|augment|tokeni[sz]e|preprocess|decode|data)(_|$|er$)"
)

#: Arguments of functions that follow the model, whatever their names.
_RESULTS = {"model", "net", "module", "optimizer", "loss", "losses", "logits", "output", "outputs", "pred", "preds"}
_RESULTS |= {"prediction", "predictions", "scores", "grad", "grads", "gradients"}


def makes_input(steps: MeasuredSteps, path: int) -> bool:
    """Whether a function makes input, by its name; not one that trains, nor one with the model or its results, nor one
    whose result is not used."""
    if not MAKES_INPUT.search(steps.name(path).lower()):
        return False
    if any(steps.phase(row) in (FORWARD, BACKWARD, OPTIMIZER) for row in (path, *steps.below(path))):
        return False
    caller = steps.caller(path)
    if caller >= 0 and steps.sources.discards(steps.paths["node"][caller], steps.name(path)):
        return False
    return not _RESULTS & steps.sources.arguments(steps.paths["node"][path])
