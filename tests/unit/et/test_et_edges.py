"""Each kind of dependency is found, counted, switched, and kept when a trace goes from one form into another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fastdispatch._core import et_convert, et_info, et_link
from fastdispatch.cli.et.et_files import ALL, KINDS, parse_edges
from tests.chakra.pairs import write_pair


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A step of a rank with a GPU: the third kernel runs on another stream, which waits for the second."""
    folder = tmp_path_factory.mktemp("edges")
    et, kineto = write_pair(folder, 8)
    trace = json.loads(kineto.read_text())
    events = trace["traceEvents"]
    first, second, third = [event for event in events if event["cat"] == "kernel"][:3]
    third["args"]["stream"] = 9
    waits = {"stream": 9, "wait_on_stream": 7, "correlation": second["args"]["correlation"] + 1}
    waits["wait_on_cuda_event_record_corr_id"] = second["args"]["correlation"] + 1
    events.append({**first, "cat": "cuda_sync", "name": "Stream Wait Event", "args": waits})
    kineto.write_text(json.dumps(trace))
    # What another program says, and not why.
    document = json.loads(et.read_text())
    document["nodes"][3]["inter_thread_dep"] = document["nodes"][1]["id"]
    et.write_text(json.dumps(document))
    et_link(et, kineto, folder / "linked.json")
    return folder / "linked.json"


def test_all_kinds_are_counted(linked: Path) -> None:
    edges = et_info(linked)["edges"]
    assert list(edges) == list(KINDS)
    assert {kind: edges[kind] for kind in ("launch", "stream", "event", "group", "given")} == {
        "launch": 8,
        "stream": 6,
        "event": 1,
        "group": 1,
        "given": 1,
    }
    assert edges["order"] >= 9
    assert edges["sync"] >= 1
    assert edges["data"] >= 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [".et", ".json"])
def test_each_kind_is_switched(kind: str, end: str, linked: Path, tmp_path: Path) -> None:
    whole = et_info(linked)["edges"]
    alone = et_info(linked, edges=parse_edges(kind))
    assert {name: count for name, count in alone["edges"].items() if count} == {kind: whole[kind]}
    assert alone["dependencies"] == whole[kind]
    without = et_convert(linked, tmp_path / f"a{end}", edges=parse_edges(f"-{kind}"))
    assert without["edges"] == whole | {kind: 0}
    # In a .et stands what there is; of the JSON what calls and tensors tell is found again.
    again = et_info(tmp_path / f"a{end}")["edges"]
    reported = end == ".et" or kind in ("sync", "event", "given")
    assert again == (whole | {kind: 0} if reported else whole)


def test_kinds_survive_every_form(linked: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "there.et", tmp_path / "back.json"
    whole = et_info(linked)["edges"]
    assert et_convert(linked, there, edges=ALL)["edges"] == whole
    assert et_convert(there, back)["edges"] == whole
    assert et_info(back)["edges"] == whole
