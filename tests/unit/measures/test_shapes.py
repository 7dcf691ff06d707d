"""``measure="shapes"``: operands of operators per call path, compared with a TorchDispatchMode that counts them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.shapes import Tensor, operands_of, padding_of, shapes_of
from fastdispatch.report.report_shapes import ShapeReport, shape_report
from tests import commands

torch = pytest.importorskip("torch")

#: Operands that a path lists.
LISTED = 1024


class Model(torch.nn.Module):  # type: ignore[name-defined, misc]
    def __init__(self) -> None:
        super().__init__()
        self.words, self.hidden = torch.nn.Embedding(50, 8), torch.nn.Linear(8, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: Any) -> Any:
        x = self.hidden(self.words(x)).relu()
        return self.norm(torch.cat([x, x], dim=1)).softmax(-1)


def train(model: Any, lengths: list[int]) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in lengths:
        model(torch.arange(2 * length).view(2, length)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def recorded(work: Callable[[], object], folder: Path) -> fastdispatch.Trace:
    with fastdispatch.CallGraph(folder, measure="shapes"):
        work()
    return fastdispatch.load(folder)


def report(trace: fastdispatch.Trace, **options: Any) -> ShapeReport:
    return shape_report(trace, **({"rank": None, "sort": "total", "top": None, "everything": False} | options))


def text_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}[{','.join(map(str, value.shape))}]"
    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
        return f"[{', '.join(map(text_of, value))}]"
    return "_"


class Counts(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Calls by operator and tensors among their operands, without the others."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Counter[tuple[str, str]]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        parts = [text_of(value) for value in (*args, *(kwargs or {}).values())]
        self.seen[func._schema.name, ", ".join(part for part in parts if part != "_")] += 1
        return func(*args, **(kwargs or {}))


def outermost(trace: fastdispatch.Trace, operators: set[str]) -> Counter[tuple[str, str]]:
    """Count recorded calls of these operators that none of them calls."""
    nodes, contexts = trace.nodes, trace.contexts
    seen = Counter[tuple[str, str]]()
    for row, shapes in shapes_of(trace).paths.items():
        key = nodes["key"][contexts["node"][row]]
        above, parent = set(), contexts["parent"][row]
        while parent >= 0:
            above.add(nodes["key"][contexts["node"][parent]])
            parent = contexts["parent"][parent]
        if key in operators and not above & operators:
            for text, calls in shapes.calls.items():
                seen[key, ", ".join(part for part in split(text) if part != "_")] += calls
    return seen


def split(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def test_counts_are_those_of_a_dispatch_mode(tmp_path: Path) -> None:
    lengths = [3, 5, 4, 3, 6]
    torch.manual_seed(0)
    with Counts() as counts:
        train(Model(), lengths)
    torch.manual_seed(0)
    trace = recorded(lambda: train(Model(), lengths), tmp_path)
    operators = {name for name, _ in counts.seen}
    found = outermost(trace, operators)
    assert {"aten::addmm", "aten::embedding_dense_backward", "aten::native_layer_norm_backward"} <= operators
    for key in [*found, *counts.seen]:
        # detach inside the creation of a Parameter does not reach the mode, and ranges are recorded as such.
        if key[0] == "aten::detach" or key[0].startswith("profiler::"):
            found.pop(key, None)
            counts.seen.pop(key, None)
    assert found == counts.seen


def test_shapes_of_a_path_are_bounded_and_the_rest_counted(tmp_path: Path) -> None:
    def work() -> None:
        for _again in range(3):
            for size in range(1, LISTED + 9):
                torch.ones(size).neg()

    trace = recorded(work, tmp_path)
    rows = {row.operator: row for row in report(trace, everything=True).rows}
    row = rows["aten::neg"]
    assert (row.shapes, row.beyond, row.calls) == (LISTED, 3 * 8, 3 * (LISTED + 8))
    assert {each.operands for each in row.operands} == {f"float32[{size}]" for size in range(1, LISTED + 1)}
    assert {each.calls for each in row.operands} == {3}
    assert trace.ranks[0]["counters"]["measures_full"] == 0


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    trace = recorded(lambda: torch.cat([torch.ones(1, 2)] * 100), tmp_path)
    texts = [text for shapes in shapes_of(trace).paths.values() for text in shapes.calls if "..." in text]
    assert len(texts) == 1
    assert texts[0].startswith("[float32[1,2], ")
    assert texts[0].endswith(", ...200]")  # elements of all tensors
    found = operands_of(texts[0])
    assert found.cut
    assert {tensor for _, tensor in found.tensors()} == {Tensor("float32", (1, 2))}


def test_numbers_of_custom_operators_are_kept(tmp_path: Path) -> None:
    with torch.library._scoped_library("fd_shapes", "FRAGMENT") as library:
        library.define("scaled(Tensor x, float by, int[] sizes, bool on, Tensor? y=None) -> Tensor")
        library.impl("scaled", lambda x, by, sizes, on, y=None: x * by, "CPU")
        trace = recorded(lambda: torch.ops.fd_shapes.scaled(torch.ones(2, 3), 0.5, [4, -1], True), tmp_path)
    texts = [text for shapes in shapes_of(trace).paths.values() for text in shapes.calls]
    assert "float32[2,3], _, [4, -1], True" in texts
    assert operands_of("float32[2,3], _, [4, -1], True").values == [Tensor("float32", (2, 3)), None, [4, -1], True]


def test_changes_are_named(tmp_path: Path) -> None:
    made = report(recorded(lambda: train(Model(), [3, 5, 5, 9]), tmp_path))
    assert made.first is not None
    assert (made.first.operator, made.first.module, made.first.shapes) == ("aten::embedding", "words", 3)
    assert [(each.operand, each.dimension, each.least, each.most) for each in made.first.changes] == [("2", 2, 3, 9)]
    backward = [row for row in made.rows if row.operator == "aten::embedding_backward"]
    assert [(row.work, row.module) for row in backward] == [("backward", "words")]
    line = commands.out("report", tmp_path, "--shapes").splitlines()[0]
    assert line.startswith("The forward pass saw 3 shapes in 4 measured steps: aten::embedding in torch/nn/")
    assert line.endswith("dimension 2 of operand 2 is 3..9")


def test_one_shape_is_shown(tmp_path: Path) -> None:
    model = Model()
    recorded(lambda: train(model, [3, 3]), tmp_path)
    out = commands.out("report", tmp_path, "--shapes")
    assert out.startswith("Each operator of the forward pass saw one shape in 2 measured steps\n")


def test_padding(tmp_path: Path) -> None:
    def work() -> None:
        torch.nn.utils.rnn.pad_sequence([torch.ones(4, 2), torch.ones(1, 2)], batch_first=True)
        torch.nn.functional.pad(torch.ones(2, 3), (1, 2))

    made = report(recorded(work, tmp_path))
    assert {each.operator: (each.calls, each.kept, each.made) for each in made.padding} == {
        "aten::pad_sequence": (1, 10, 16),
        "aten::constant_pad_nd": (1, 6, 12),
    }
    assert "50.0 %         12       1   aten::constant_pad_nd" in commands.out("report", tmp_path, "--shapes")


@pytest.mark.parametrize(
    ("operator", "operands", "found"),
    [
        ("aten::constant_pad_nd", "float32[2,3], [1, 2], _", (6, 12)),
        ("aten::constant_pad_nd", "float32[2,3], [-1, 0, 0, 1]", (4, 6)),
        ("aten::pad_sequence", "[int64[4], int64[2], int64[]], True", (6, 8)),
        ("aten::pad_sequence", "[]", None),
        ("aten::pad_sequence", "[int64[4], int...", None),
        ("aten::mm", "float32[2,3], float32[3,4]", None),
    ],
)
def test_padding_of_operands(operator: str, operands: str, found: tuple[int, int] | None) -> None:
    assert padding_of(operator, operands_of(operands)) == found


def test_unequal_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "shapes")
    for rank, length in enumerate((4, 9)):
        monkeypatch.setenv("RANK", str(rank))
        recorded(lambda length=length: train(Model(), [length, length]), tmp_path / str(rank))
    trace = fastdispatch.load([tmp_path / "0", tmp_path / "1"])
    made = report(trace)
    assert made.ranks == 2
    embedding = next(each for each in made.unequal if each.operator == "aten::embedding")
    assert (embedding.least_rank, embedding.least) == (0, 400 + 2 * 4)
    assert (embedding.most_rank, embedding.most) == (1, 400 + 2 * 9)
    assert report(trace, rank=1).unequal == []


def test_recompilations_for_sizes_are_listed(tmp_path: Path) -> None:
    compiled = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)

    def work() -> None:
        for size in (2, 3, 4):
            compiled(torch.ones(size))

    found = report(recorded(work, tmp_path)).recompilations
    assert sum(each.count for each in found) == 2
    assert all("size mismatch" in each.guard for each in found)


def test_json(tmp_path: Path) -> None:
    recorded(lambda: train(Model(), [3, 4]), tmp_path)
    made = commands.document("report", tmp_path, "--shapes", "--top", "2")
    assert (made["schema"], made["steps"], len(made["rows"]), made["inside"]) == ("fastdispatch-shapes/1", 2, 2, 0)
    assert made["operators"] > made["changing"] > 0
