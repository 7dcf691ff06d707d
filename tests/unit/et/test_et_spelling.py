"""One file in every spelling of JSON: white space, line ends, byte-order mark and key order change nothing."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastdispatch.cli.et.et_files import is_kineto, is_trace
from fastdispatch.read.execution_trace import et_convert, et_info, et_link
from tests import commands
from tests.chakra.pairs import node, write_pair

BOM = "\ufeff"


def reordered(value: Any) -> Any:
    """The members of all objects in reverse order."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(each) for each in value] if isinstance(value, list) else value


def spaced(value: Any) -> str:
    """White space wherever JSON allows it."""
    return "\r\n\t " + json.dumps(value, indent="\t", separators=(" , ", "\n: ")) + " \n"


SPELLINGS: dict[str, Callable[[Any], str]] = {
    "indent": lambda value: json.dumps(value, indent=4),
    "tab": lambda value: json.dumps(value, indent="\t"),
    "crlf": lambda value: json.dumps(value, indent=2).replace("\n", "\r\n"),
    "bom": lambda value: BOM + json.dumps(value),
    "bom_indent": lambda value: BOM + "\n" + json.dumps(value, indent=1),
    "sorted": lambda value: json.dumps(value, sort_keys=True),
    "reversed": lambda value: json.dumps(reordered(value)),
    "spaced": spaced,
}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An execution trace with tensors, collectives and process groups, and its Kineto trace."""
    et, kineto = write_pair(tmp_path_factory.mktemp("pair"), 8)
    trace = json.loads(et.read_text())
    tensor = [9001, 9002, 0, 512, 4, "cpu"]
    groups = json.dumps([{"pg_name": "0", "pg_desc": "default", "ranks": [0, 1], "group_size": 2}], indent=1)
    label = node(5000, 2, "## process_group:init ##", 5000)
    label["inputs"] = {"values": [groups], "shapes": [[]], "types": ["String"], "strides": [[]]}
    call = node(5001, 2, "c10d::allreduce_", 5001, "c10d::allreduce_()", ([[tensor]], [[tensor]]))
    work = node(5004, 5001, "gloo:all_reduce", 5004, "", ([[tensor]], []))
    trace["nodes"] += [label, call, work]
    linked = json.loads(json.dumps(trace))
    linked["nodes"][3]["sync_dep"] = [trace["nodes"][1]["id"], trace["nodes"][2]["id"]]
    events = json.loads(kineto.read_text())
    events["distributedInfo"]["pg_config"] = [{"pg_name": "0", "pg_desc": "default", "ranks": [0], "pg_size": 1}]
    for event in events["traceEvents"]:
        if event["cat"] == "cpu_op":
            event["args"] |= {"Input Dims": [[32, 64], [64]], "Input type": ["float", "Scalar"]}
    return {"et": linked, "kineto": events}


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def model(path: Path, folder: Path) -> tuple[dict[str, Any], bytes]:
    """The summary, and everything that is known as a .et."""
    summary = et_info(path, rank=0)
    et_convert(path, folder / "model.et", rank=0)
    return summary, (folder / "model.et").read_bytes()


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("end", [".json", ".json.gz"])
def test_one_model(spelling: str, end: str, documents: dict[str, Any], tmp_path: Path) -> None:
    plain = model(write(tmp_path / "plain.json", compact(documents["et"])), tmp_path)
    other = write(tmp_path / f"other{end}", SPELLINGS[spelling](documents["et"]))
    assert is_trace(other) and not is_kineto(other)
    assert model(other, tmp_path) == plain
    assert plain[0]["edges"]["data"] > 0
    assert plain[0]["communication"]["ALL_REDUCE"] == {"count": 1, "bytes": 2048, "ns": 0}
    assert [(group["name"], group["ranks"]) for group in plain[0]["groups"]] == [("0", "[0,1]")]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("end", [".json", ".json.gz"])
def test_one_link(spelling: str, end: str, documents: dict[str, Any], tmp_path: Path) -> None:
    made = []
    for spell in (compact, SPELLINGS[spelling]):
        et = write(tmp_path / "et.json", spell(documents["et"]))
        kineto = write(tmp_path / f"kineto{end}", spell(documents["kineto"]))
        assert is_kineto(kineto) and not is_trace(kineto)
        made.append((et_link(et, kineto, tmp_path / "linked.et"), (tmp_path / "linked.et").read_bytes()))
    assert made[0] == made[1]
    assert made[0][0]["edges"]["data"] > 0


def test_a_folder_of_spellings(documents: dict[str, Any], tmp_path: Path) -> None:
    """Files of a folder are recognised in any spelling."""
    for rank, spell in enumerate(SPELLINGS.values()):
        write(tmp_path / f"et_{rank}.json", spell(documents["et"]))
        write(tmp_path / f"kineto_{rank}.json", spell(documents["kineto"]))
    rows = commands.document("et", "info", tmp_path)["files"]
    assert [row["rank"] for row in rows] == list(range(len(SPELLINGS)))
    assert {row["format"] for row in rows} == {"PyTorch execution trace"}
