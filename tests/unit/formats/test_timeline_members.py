"""Facts about a timeline from the members beside its events."""

from typing import Any

import pytest

from fastdispatch.read.timeline_members import member_facts, whole, words


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ("", (None, 0, None, None)),
        (
            'distributedInfo|{"rank":3,"world_size":8}|baseTimeNanoseconds|1790857026000001',
            (3, 8, 1790857026000001, None),
        ),
        ('distributedInfo|{"rank":-1,"world_size":"8"}|baseTimeNanoseconds|-7', (None, 8, None, "baseTimeNanoseconds")),
        ('distributedInfo|{"rank":"3","world_size":8.0}|rank|4', (3, 8, None, None)),
        ('rank|2097152|viztracer_metadata|{"baseTimeNanoseconds":9}', (None, 0, 9, "rank")),
        ("rank|[|distributedInfo|7", (None, 0, None, "rank")),
    ],
)
def test_ranks_and_times(members: str, found: tuple[Any, ...]) -> None:
    facts, clock = member_facts(members.replace("|", "\0").encode())
    assert (clock["rank"] if facts["has_rank"] else None, facts["world"], clock["base"], facts["unread"]) == found


def test_numbers() -> None:
    assert {whole(text) for text in ("8", "0x8", "8.0", "0.8e1", "80e-1")} == {8}
    for text in ("1e400", "8.5", "-8", " 8", "1_0", "", "9" * 99, "9223372036854775808"):
        assert whole(text) is None, text
    assert whole(None) is None


def test_names() -> None:
    assert words({"pipe": "1", "data": True}) == b"pipe 1, data true"
    assert [words(value) for value in ("node7", 'a"b', "n" * 96, {"pipe": ["1"]}, {})] == [b"node7", b"", b"", b"", b""]
