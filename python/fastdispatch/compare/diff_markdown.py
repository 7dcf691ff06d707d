"""Comparisons as Markdown, for the summary of a CI job or a comment."""

from __future__ import annotations

from collections.abc import Iterator

from fastdispatch.compare.diff import Diff
from fastdispatch.compare.diff_text import lines
from fastdispatch.compare.gate import Budget, ExceededLimit, noise


def markdown(diff: Diff, budget: Budget | None, broken: list[ExceededLimit], *, top: int | None) -> Iterator[str]:
    """Yield the result of the gate, exceeded limits, the verdict and the changes by their effect on the step."""
    yield f"### fastdispatch: {_title(budget, broken)}"
    yield ""
    if budget is not None:
        yield from _limits(budget, broken)
        yield from _noise(diff, budget)
    verdict, *changes = lines(diff, top=top)
    yield verdict
    yield ""
    yield from ("```text", *changes, "```")


def _code(text: str) -> str:
    """Return a code span for a cell of a table."""
    escaped = text.replace("`", "'").replace("|", "\\|")
    return f"`{escaped}`"


def _title(budget: Budget | None, broken: list[ExceededLimit]) -> str:
    if budget is None:
        return "comparison"
    return f"{len(broken)} limit{'s' * (len(broken) != 1)} exceeded" if broken else "gate passed"


def _limits(budget: Budget, broken: list[ExceededLimit]) -> Iterator[str]:
    if broken:
        yield "| limit | exceeded by |"
        yield "|---|---|"
        for one in broken:
            yield f"| {_code(f'{budget.path}:{one.line}')} | {_code(one.text)} |"
        yield ""


def _noise(diff: Diff, budget: Budget) -> Iterator[str]:
    if budget.has_times:
        share = noise(diff)
        if share is None:
            yield "Noise of the step unknown: fewer than 4 measured steps on one side."
        else:
            yield f"Noise of the step: {share:.1%} (standard error of the median). Limits of calls have no noise."
        yield ""
