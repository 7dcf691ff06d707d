"""Facts of the operands of recorded calls."""

import json

import pytest

from fastdispatch.pipeline.operand_facts import operand_facts

CUDA, CPU = "cuda:0", "cpu"


def facts(*operands: tuple[object, str, object, object]) -> object:
    return operand_facts(*(json.dumps(column) for column in zip(*operands, strict=True)))


def test_tensors() -> None:
    """Two columns of a matrix with four, from its second element on; numbers; nothing."""
    columns = {"id": 5, "storage": 6, "at": 16, "dtype": "float32", "shape": [3, 2], "bytes": 24, "extent": 44}
    two = {"id": 8, "storage": 9, "at": 17, "dtype": "int64", "shape": [], "bytes": 8, "extent": 8, "value": 2}
    assert facts(
        ([5, 6, 1, 6, 4, CUDA, 16], "Tensor(float32)", [3, 2], [4, 1]),
        ([8, 9, 0, 1, 8, CPU, 17, 2], "Tensor(int64)", [], []),
    ) == [columns, two]
    for value, known in ((3, 3.0), ("nan", None)):
        (fact,) = operand_facts(json.dumps([[1, 2, 0, 1, 4, CPU, 3, value]]), '["Tensor(float32)"]', "[[]]", "[[]]")
        assert fact["value"] == known and isinstance(fact["value"], float) == (known is not None)
    (empty,) = operand_facts(json.dumps([[1, 2, 7, 0, 4, CPU, 3]]), '["Tensor(float32)"]', "[[0,4]]", "[[4,1]]")
    assert empty["extent"] == 0


def test_objects() -> None:
    assert facts(
        ([-3, "<None>"], "Tuple[Int,None]", [[], []], [[], []]),
        (["a", [True, []]], "Dict[String,GenericList[Bool,GenericList[]]]", [[], [[], []]], [[], [[], []]]),
        (3, "Double", [], []),
        ("inf", "Double", [], []),
        (CPU, "Device", [], []),
        ("<Object>", "Object", [], []),
        ([0, 0, 0, 0, 0, ""], "Tensor(nullptr (uninitialized))", [], []),
    ) == [
        {"tuple": [-3, None]},
        {"dict": [("a", [True, []])]},
        3.0,
        {"other": "inf"},
        {"device": "cpu"},
        {"other": "<Object>"},
        {"other": [0, 0, 0, 0, 0, ""]},
    ]


def test_damaged_lists() -> None:
    """An operand that the reader could not read has no type."""
    assert operand_facts("[[]]", '[""]', "[[]]", "[[]]") == [None]
    assert operand_facts("[]", "[]", "[]", "[]") == []
    with pytest.raises(ValueError):
        operand_facts("[1]", '["Int"]', "[]", "[]")
