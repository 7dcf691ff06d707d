"""Dumps made up by hypothesis: a few ranks with small call trees, as docs/formats/dump.md describes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent.parent
EXACT = 2**53

#: What a call can be of: kind, file, class, name, line. Two differ in the line alone, two in the kind.
CALLEES = (
    (1, "model.py", "GPT", "forward", 3),
    (1, "model.py", "", "helper", 9),
    (1, "model.py", "", "helper", 40),
    (1, "a \u00e4\u4f60\U0001f600 \"'<>&\\.py", "", "<lambda>", 1),
    (2, "", "", "aten::add", 0),
    (3, "", "", "AddBackward0", 0),
    (4, "", "", "aten::add", 0),
)
#: They follow from what is called; asynchronous are ranges only.
FLAGS = (1, 8, 16, 64, 0, 2, 32, 0)
MODULES = ((-1, "", "GPT"), (0, "blocks.0", "Block"), (0, "blocks.1", "Block"), (1, "attn", "Attention"))
COUNTERS = re.findall(
    r'"(\w+)"',
    (ROOT / "csrc" / "trace" / "trace_columns.c").read_text().split("fd_counter_names[] = {")[1].split("NULL")[0],
)

whole = st.one_of(st.integers(0, 1000), st.integers(EXACT - 2, EXACT + 2), st.integers(0, 2**64 - 1))
narrow = st.integers(0, 2**32 - 1)
squares = st.floats(0, 1e30, allow_nan=False)


def outside(number: int) -> int | str:
    return str(number) if number > EXACT else number


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Parent, callee, module, origin of every context, parents first; no two the same."""
    rows = [(-1, -1, -1, -1)]
    for _ in range(draw(st.integers(0, 12))):
        row = (
            draw(st.integers(0, len(rows) - 1)),
            draw(st.integers(0, len(CALLEES) - 1)),
            draw(st.integers(-1, len(MODULES) - 1)),
            draw(st.integers(-1, len(rows) - 1)),
        )
        if row not in rows:
            rows.append(row)
    return rows


@st.composite
def figures(draw: st.DrawFn, contexts: int) -> dict[str, list[Any]]:
    ran = sorted({0, *draw(st.sets(st.integers(0, contexts - 1)))})
    columns: dict[str, list[Any]] = {"context": ran}
    for name in ("calls", "resumes", "self", "stepped", "self_min", "self_max", "total_min", "total_max"):
        columns[name] = [outside(draw(whole)) for _ in ran]
    columns["calls"] = [draw(st.integers(1, 1000)) for _ in ran]
    for name in ("steps", "last_step"):
        columns[name] = [draw(narrow) for _ in ran]
    for name in ("self_squares", "total_squares"):
        columns[name] = [draw(squares) for _ in ran]
    return columns


@st.composite
def ranks(draw: st.DrawFn, number: int, contexts: int) -> dict[str, Any]:
    """Texts of threads are places of ``document``'s strings."""
    rank: dict[str, Any] = {name: draw(narrow) for name in ("world", "pid")}
    rank |= {"rank": number, "id": f"{draw(st.integers(0, 2**64)):032x}", "boot_id": "0" * 32}
    rank |= {"state": draw(st.sampled_from(["stopped", "killed", "running"])), "timing": draw(st.booleans())}
    rank |= {"steps_source": draw(st.sampled_from(["none", "explicit"]))}
    rank |= {name: outside(draw(whole)) for name in ("steps", "recorded", "file_bytes")}
    rank["start"] = {name: outside(draw(whole)) for name in ("ticks", "monotonic", "boottime", "realtime")}
    texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)
    rank["meta"] = draw(
        st.dictionaries(texts, st.one_of(st.booleans(), texts, st.lists(st.integers(0, 99))), max_size=2)
    )
    rank["counters"] = {name: outside(draw(whole)) for name in COUNTERS}
    rank["notes"] = draw(st.lists(texts, max_size=2))
    rank["threads"] = {"role": [1], "system_id": [7], "root": [0], "running": [draw(st.booleans())]}
    rank["threads"] |= {name: [outside(draw(whole))] for name in ("served", "covered", "self", "events", "events_lost")}
    opened = draw(st.lists(st.integers(0, contexts - 1), max_size=2))
    rank["open"] = {"thread": [0 for _ in opened], "context": opened, "age": [outside(draw(whole)) for _ in opened]}
    numbers = sorted(draw(st.sets(st.integers(0, 2**60), max_size=2)))
    rank["latest_steps"] = {"number": [outside(step) for step in numbers]}
    for name in ("begin", "end", "other", "forward", "backward", "optimizer", "data"):
        rank["latest_steps"][name] = [outside(draw(whole)) for _ in numbers]
    rank["step_tops"] = {"step": [outside(step) for step in numbers], "context": [0 for _ in numbers]}
    rank["step_tops"]["self"] = [outside(draw(whole)) for _ in numbers]
    rank["figures"] = draw(figures(contexts))
    return rank


@st.composite
def documents(draw: st.DrawFn, numbers: tuple[int, ...]) -> dict[str, Any]:
    """A dump of the ranks with these numbers."""
    rows = draw(trees())
    callees = [(7, "", "", "main", 0), *CALLEES]
    strings = ["", "main", *sorted({text for _, *texts, _ in callees for text in texts if text not in ("", "main")})]
    strings += sorted({text for _, *texts in MODULES for text in texts} - set(strings))
    place = {text: at for at, text in enumerate(strings)}
    #: The same node may have another package on another host.
    packages = [draw(st.sampled_from(["", "main"])) for _ in callees]
    nodes = {
        "kind": [kind for kind, *_ in callees],
        "from": [draw(st.integers(0, 3)) for _ in callees],
        "file": [place[file] for _, file, *_ in callees],
        "class": [place[name] for _, _, name, *_ in callees],
        "name": [place[name] for _, _, _, name, _ in callees],
        "qualified": [0 for _ in callees],
        "package": [place[package] for package in packages],
        "line": [line for *_, line in callees],
    }
    modules = {
        "parent": [parent for parent, _, _ in MODULES],
        "name": [place[name] for _, name, _ in MODULES],
        "class": [place[name] for _, _, name in MODULES],
    }
    contexts = {
        "parent": [row[0] for row in rows],
        "node": [row[1] + 1 for row in rows],
        "module": [row[2] for row in rows],
        "origin": [row[3] for row in rows],
        "flags": [FLAGS[row[1]] for row in rows],
    }
    return {
        "format": "fastdispatch.trace",
        "version": 1,
        "strings": strings,
        "nodes": nodes,
        "modules": modules,
        "contexts": contexts,
        "ranks": [draw(ranks(number, len(rows))) for number in numbers],
    }
