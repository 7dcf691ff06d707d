"""``export otlp``, decoded with the published protobuf of OpenTelemetry."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import fastdispatch
from fastdispatch.cli import main
from tests import training

profiles_pb2 = pytest.importorskip("opentelemetry.proto.profiles.v1development.profiles_pb2")


def test_decoded(tmp_path: Path) -> None:
    """Every call and every nanosecond is in a sample of its call path."""
    _, step = training.make_step()
    with fastdispatch.CallGraph(tmp_path / "out"):
        for _ in range(6):
            step()
    assert main(["export", "otlp", str(tmp_path / "out"), "-o", str(tmp_path / "x.otlp"), "--all-time"]) == 0
    data = profiles_pb2.ProfilesData.FromString((tmp_path / "x.otlp").read_bytes())
    trace = fastdispatch.load(tmp_path / "out")
    (resource,) = data.resource_profiles
    attributes = {each.key: each.value for each in resource.resource.attributes}
    assert attributes["fastdispatch.rank"].int_value == 0
    assert attributes["fastdispatch.run_id"].string_value == trace.meta["run_id"]
    table = data.dictionary
    for rows in (table.mapping_table, table.location_table, table.function_table, table.link_table, table.stack_table):
        assert rows[0] == type(rows[0])()  # a null value, as the format requires
    assert table.string_table[0] == "" and table.attribute_table[0].key_strindex == 0
    times, calls = resource.scope_profiles[0].profiles
    assert len(times.profile_id) == 16 and times.profile_id != calls.profile_id
    for profile, name, unit, column in ((times, "cpu", "nanoseconds", "self"), (calls, "calls", "count", "calls")):
        assert table.string_table[profile.sample_type.type_strindex] == name
        assert table.string_table[profile.sample_type.unit_strindex] == unit
        assert profile.time_unix_nano == trace.ranks[0]["start_realtime"] > 0
        assert profile.duration_nano == trace.ranks[0]["recorded"]
        found, wanted = Counter[str](), Counter[str]()
        for sample in profile.samples:
            leaf = table.stack_table[sample.stack_index].location_indices[0]
            function = table.function_table[table.location_table[leaf].lines[0].function_index]
            found[table.string_table[function.system_name_strindex]] += sum(sample.values)
        for node, figure in zip(trace.contexts["node"], trace.contexts[column], strict=True):
            wanted[trace.nodes["key"][node]] += figure
        assert found == +wanted
    depths = [len(stack.location_indices) for stack in table.stack_table]
    assert max(depths) > 5 and len(set(map(str, table.stack_table))) == len(depths)


def test_a_missing_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fastdispatch.CallGraph(tmp_path / "out"):
        sorted([2, 1])
    assert main(["export", "otlp", str(tmp_path / "out"), "-o", str(tmp_path / "x.otlp"), "--rank", "3"]) == 2
    assert "3" in capsys.readouterr().err
