"""Arguments of calls live as long as without a recorder (docs/concepts/reliability.md has the exception)."""

import json
import sys
from typing import Any

import pytest

from tests import processes

AUTO = "monitor" if sys.version_info >= (3, 12) else "frame"


def lifetimes(source: str, mode: str = "recorded") -> dict[str, Any]:
    result: dict[str, Any] = json.loads(processes.run("lifetimes.py", source, mode).stdout)
    return result


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    found = lifetimes("plain")
    assert len(found) > 30 and found["positional"] == [2 if sys.version_info < (3, 14) else 1, "freed a", "released"]
    return found


@pytest.mark.skipif(AUTO == "frame", reason="the evaluator keeps arguments alive")
@pytest.mark.parametrize("mode", ["recorded", "paused"])
def test_arguments_live_as_long_as_without_a_recorder(plain: dict[str, Any], mode: str) -> None:
    assert lifetimes("auto", mode) == plain


@pytest.mark.parametrize("mode", ["recorded", "paused"])
def test_the_evaluator_keeps_arguments_until_the_end_of_the_call(plain: dict[str, Any], mode: str) -> None:
    """The known difference: the same destructors run, later, and temporaries need twice the memory."""
    found = lifetimes("frame", mode)
    assert found["positional"][1:] == ["released", "freed a"]
    assert (plain["megabytes"], found["megabytes"]) == (100, 200)
    for name in plain.keys() - {"megabytes"}:
        texts = [sorted(line for line in log[name] if isinstance(line, str)) for log in (plain, found)]
        assert texts[0] == texts[1], name
