"""What torch.compile did, as text: a few lines per rank, and what a kernel computes."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from fastdispatch.text.formats import counted, grouped, seconds

_SHOWN = 3
_NAMED = 10  # lines or operators of a kernel


def lines(found: list[dict[str, Any]]) -> Iterator[str]:
    for fact in found:
        again = sum(each["count"] for each in fact["recompilations"])
        breaks = sum(each["count"] for each in fact["graph_breaks"])
        listed = f", of which {grouped(fact['listed'])} are known" if fact["listed"] < fact["compilations"] else ""
        yield (
            f"torch.compile on rank {fact['rank']}: {grouped(fact['compilations'])} compilations in "
            f"{seconds(fact['ns'])}{listed}; {grouped(again)} recompilations, {grouped(breaks)} graph breaks"
        )
        for each in fact["recompilations"][:_SHOWN]:
            yield f"  recompiled {counted(each['count'], 'time')}: {_where(each)}: {each['guard']}"
        for each in fact["graph_breaks"][:_SHOWN]:
            yield f"  graph break {counted(each['count'], 'time')}: {_where(each)}: {each['reason']}"


def origin_text(origin: Mapping[str, Any]) -> str:
    """Return the lines of the program that a kernel of Inductor computes, or the operators in its name."""
    lines, operators = origin.get("lines"), origin.get("operators")
    if lines:
        return _cut([_where(line) for line in lines])
    return f"fused {_cut(operators)}" if operators else ""


def _cut(words: list[str]) -> str:
    """Return the first words."""
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _where(each: dict[str, Any]) -> str:
    return f"{each['function']} ({os.path.basename(each['file'])}:{each['line']})" if each["file"] else "unknown place"
