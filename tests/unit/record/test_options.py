"""The arguments of CallGraph: unknown names, and their text in FASTDISPATCH_OPTIONS."""

import pytest

import fastdispatch
from fastdispatch.record.options import options_of, text_of


@pytest.mark.parametrize(("name", "hint"), [("opps", ": did you mean 'ops'?"), ("zzz", "")])
def test_an_unknown_argument(name: str, hint: str) -> None:
    with pytest.raises(TypeError) as raised:
        fastdispatch.CallGraph(None, **{name: 1})  # type: ignore[arg-type]
    assert str(raised.value) == f"CallGraph has no argument {name!r}{hint}"


def test_text() -> None:
    given = {"ops": "off", "timing": False, "children": True, "max_mb": 8, "budget": 0.02, "keep": ["a.py:*", "!*:b"]}
    text = text_of(given | {"timeline": "ops,python>1ms"})
    assert text.startswith("ops=off,timing=0,children=1,max_mb=8,")
    assert options_of(text) == given | {"timeline": "ops+python>1ms"}
    assert options_of(text)["timing"] is False
