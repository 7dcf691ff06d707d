"""FLOPs of operators, derived by hand: a multiplication and an addition are 2."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastdispatch
from fastdispatch.measures.flop_formulas import flops_of_call
from fastdispatch.measures.flops import OperatorCalls, OperatorFlops

torch = pytest.importorskip("torch")
functional = torch.nn.functional


def counted(folder: Path) -> list[OperatorFlops]:
    trace = fastdispatch.load(folder)
    return list(OperatorCalls(trace).of(trace.ranks[0]))


def measured(work: Callable[[], object], folder: Path, **options: Any) -> list[OperatorFlops]:
    with fastdispatch.CallGraph(folder, measure="flops", **options):
        work()
    return counted(folder)


def flops(work: Callable[[], object], folder: Path, kind: str = "flops") -> int:
    return sum(each.flops for each in measured(work, folder) if each.kind == kind)


def ones(*sizes: int, grad: bool = False) -> Any:
    return torch.ones(*sizes, requires_grad=grad)


def backward(forward: Callable[..., Any], *sizes: tuple[int, ...]) -> Callable[[], object]:
    """Forward and backward with gradients of all inputs."""
    return lambda: forward(*(ones(*size, grad=True) for size in sizes)).sum().backward()


def attention(queries: int, keys: int, causal: bool, heads: int = 4, kv_heads: int = 4) -> Callable[[], object]:
    query, key = ones(2, heads, queries, 16), ones(2, kv_heads, keys, 16)
    return lambda: functional.scaled_dot_product_attention(
        query, key, key, is_causal=causal, enable_gqa=heads != kv_heads
    )


def convolution(name: str, *sizes: tuple[int, ...], **options: Any) -> Callable[[], object]:
    return lambda: getattr(functional, name)(*map(lambda size: ones(*size), sizes), **options)


def trained(name: str, *sizes: tuple[int, ...], **options: Any) -> Callable[[], object]:
    return backward(lambda *tensors: getattr(functional, name)(*tensors, **options), *sizes)


def recurrent(kind: str, grad: bool = False, **options: Any) -> Callable[[], object]:
    layer = getattr(torch.nn, kind)(8, 16, **options)

    def work() -> None:
        with torch.set_grad_enabled(grad):
            layer(ones(5, 3, 8))

    return work


def checkpointed() -> object:
    from torch.utils.checkpoint import checkpoint

    weight = ones(4, 4, grad=True)
    return checkpoint(lambda x: (x @ weight).relu(), ones(2, 4, grad=True), use_reentrant=False).sum().backward()


CASES: dict[str, tuple[Callable[[], object], int]] = {
    "mm": (lambda: ones(2, 3) @ ones(3, 4), 2 * 2 * 3 * 4),
    "mm-out": (lambda: torch.mm(ones(2, 3), ones(3, 4), out=torch.empty(2, 4)), 48),
    "mm-empty": (lambda: ones(0, 3) @ ones(3, 4), 0),
    "mm-transposed": (lambda: ones(3, 2).T @ ones(3, 4), 48),
    "matmul-3d": (lambda: ones(5, 2, 3) @ ones(3, 4), 5 * 48),
    "matmul-4d": (lambda: ones(2, 5, 2, 3) @ ones(2, 5, 3, 4), 10 * 48),
    "matmul-broadcast": (lambda: ones(5, 2, 3) @ ones(1, 3, 4), 5 * 48),
    "mv": (lambda: ones(2, 3) @ ones(3), 12),
    "dot": (lambda: ones(7) @ ones(7), 14),
    "addmm": (lambda: torch.addmm(ones(2, 4), ones(2, 3), ones(3, 4)), 48),
    "addmv": (lambda: torch.addmv(ones(2), ones(2, 3), ones(3)), 12),
    "bmm": (lambda: torch.bmm(ones(5, 2, 3), ones(5, 3, 4)), 240),
    "baddbmm": (lambda: torch.baddbmm(ones(5, 2, 4), ones(5, 2, 3), ones(5, 3, 4)), 240),
    "addbmm": (lambda: torch.addbmm(ones(2, 4), ones(5, 2, 3), ones(5, 3, 4)), 240),
    "linear": (lambda: functional.linear(ones(2, 3), ones(4, 3), ones(4)), 48),
    "linear-3d": (lambda: functional.linear(ones(5, 2, 3), ones(4, 3), ones(4)), 240),
    "linear-no-bias": (lambda: functional.linear(ones(5, 2, 3), ones(4, 3)), 240),
    "einsum": (lambda: torch.einsum("bij,bjk->bik", ones(5, 2, 3), ones(5, 3, 4)), 240),
    "addition": (lambda: ones(2, 3) + ones(2, 3), 0),
    "mm-backward": (backward(torch.mm, (2, 3), (3, 4)), 3 * 48),
    "linear-backward": (backward(functional.linear, (2, 3), (4, 3), (4,)), 3 * 48),
    "bmm-backward": (backward(torch.bmm, (5, 2, 3), (5, 3, 4)), 3 * 240),
    "checkpointed": (checkpointed, 2 * 2 * 4 * 4 * 4),
    # 6x6, kernel 3: 4x4 outputs of 8 channels from 4.
    "conv2d": (convolution("conv2d", (1, 4, 6, 6), (8, 4, 3, 3)), 2 * 16 * 8 * 4 * 9),
    "conv2d-batch": (convolution("conv2d", (3, 4, 6, 6), (8, 4, 3, 3)), 3 * 9216),
    "conv2d-unbatched": (convolution("conv2d", (4, 6, 6), (8, 4, 3, 3)), 9216),
    "conv2d-padding": (convolution("conv2d", (1, 4, 6, 6), (8, 4, 3, 3), padding=1), 2 * 36 * 288),
    "conv2d-same": (convolution("conv2d", (1, 4, 6, 6), (8, 4, 3, 3), padding="same"), 2 * 36 * 288),
    "conv2d-stride": (convolution("conv2d", (1, 4, 6, 6), (8, 4, 3, 3), stride=2), 2 * 4 * 288),
    "conv2d-strides": (convolution("conv2d", (1, 4, 6, 6), (8, 4, 3, 3), stride=(1, 2)), 2 * 8 * 288),
    "conv2d-dilation": (convolution("conv2d", (1, 4, 6, 6), (8, 4, 3, 3), dilation=2), 2 * 4 * 288),
    "conv2d-groups": (convolution("conv2d", (1, 4, 6, 6), (8, 2, 3, 3), groups=2), 2 * 16 * 144),
    "conv2d-depthwise": (convolution("conv2d", (1, 4, 6, 6), (4, 1, 3, 3), groups=4), 2 * 16 * 36),
    "conv1d": (convolution("conv1d", (1, 4, 6), (8, 4, 3)), 2 * 4 * 96),
    "conv3d": (convolution("conv3d", (1, 2, 4, 4, 4), (3, 2, 3, 3, 3)), 2 * 8 * 162),
    "transposed": (convolution("conv_transpose2d", (1, 4, 3, 3), (4, 8, 3, 3)), 2 * 9 * 288),
    "transposed-stride": (convolution("conv_transpose2d", (1, 4, 3, 3), (4, 8, 3, 3), stride=2), 2 * 9 * 288),
    "transposed-depthwise": (convolution("conv_transpose2d", (1, 4, 3, 3), (4, 1, 3, 3), groups=4), 2 * 9 * 36),
    "conv2d-backward": (trained("conv2d", (1, 4, 6, 6), (8, 4, 3, 3)), 3 * 9216),
    "groups-backward": (trained("conv2d", (1, 4, 6, 6), (8, 2, 3, 3), groups=2), 3 * 4608),
    "depthwise-backward": (trained("conv2d", (1, 4, 6, 6), (4, 1, 3, 3), groups=4), 3 * 1152),
    "transposed-backward": (trained("conv_transpose2d", (1, 4, 3, 3), (4, 8, 3, 3)), 3 * 5184),
    # A frozen weight: backward has the gradient of the input only.
    "frozen-backward": (backward(lambda image: functional.conv2d(image, ones(8, 4, 3, 3)), (1, 4, 6, 6)), 2 * 9216),
    # 2 * batch * heads * queries * keys * (width + width)
    "attention": (attention(32, 32, False), 2 * 2 * 4 * 32 * 32 * 32),
    "attention-causal": (attention(32, 32, True), 2 * 4 * 32 * 32 * 64),
    "attention-cross": (attention(32, 8, False), 2 * 2 * 4 * 32 * 8 * 32),
    "attention-gqa": (attention(32, 32, False, 8, 2), 2 * 2 * 8 * 32 * 32 * 32),
    # 5 * 3 positions; 4 gates of 16 from 8 inputs and 16 states.
    "lstm": (recurrent("LSTM"), 2 * 15 * 4 * 16 * (8 + 16)),
    "lstm-2-layers": (recurrent("LSTM", num_layers=2), 2 * 15 * 4 * 16 * (8 + 16 + 16 + 16)),
    "lstm-bidirectional": (recurrent("LSTM", bidirectional=True), 2 * 2 * 15 * 4 * 16 * (8 + 16)),
    "lstm-trained": (recurrent("LSTM", grad=True), 2 * 15 * 4 * 16 * (8 + 16)),
    "gru": (recurrent("GRU"), 2 * 15 * 3 * 16 * (8 + 16)),
    "rnn": (recurrent("RNN"), 2 * 15 * 16 * (8 + 16)),
}


@pytest.mark.parametrize("name", CASES)
def test_flops_of(name: str, tmp_path: Path) -> None:
    work, expected = CASES[name]
    assert flops(work, tmp_path) == expected


def without(work: Callable[..., object], *sizes: tuple[int, ...]) -> Callable[[], object]:
    """Inputs are made before the recording."""
    tensors = [torch.rand(*size) for size in sizes]
    return lambda: work(*tensors)


ELEMENTWISE: dict[str, tuple[Callable[[], object], int]] = {
    "add": (without(torch.add, (2, 3), (2, 3)), 6),
    "add-broadcast": (without(torch.add, (2, 1), (1, 3)), 6),
    "add-number": (without(lambda x: x + 1, (2, 3)), 6),
    "add-empty": (without(torch.add, (0, 3), (1, 3)), 0),
    "mul-in-place": (without(lambda x: x.mul_(2), (5,)), 5),
    "sub-out": (without(lambda x, y: torch.sub(x, y, out=torch.empty(5)), (5,), (5,)), 5),
    "exp": (without(torch.exp, (2, 3)), 6),
    "sum": (without(torch.sum, (2, 3)), 6),
    "relu": (without(torch.relu, (2, 3)), 6),
    "lerp": (without(lambda x, y: torch.lerp(x, y, 0.5), (6,), (6,)), 3 * 6),
    "addcmul": (without(torch.addcmul, (6,), (6,), (6,)), 3 * 6),
    "sigmoid": (without(torch.sigmoid, (2, 3)), 3 * 6),
    "silu": (without(functional.silu, (2, 3)), 4 * 6),
    "gelu": (without(functional.gelu, (2, 3)), 5 * 6),
    "softmax": (without(lambda x: x.softmax(-1), (2, 3)), 5 * 6),
    "layer-norm": (without(lambda x: functional.layer_norm(x, (3,)), (2, 3)), 8 * 6),
    "group-norm": (without(lambda x: functional.group_norm(x, 2), (2, 4, 3)), 8 * 24),
    "foreach": (without(lambda x, y: torch._foreach_add([x, y], 1), (2, 3), (4,)), 6 + 4),
    "embedding": (lambda: functional.embedding(torch.tensor([1, 2]), ones(3, 4)), 0),
    "mm": (without(torch.mm, (2, 3), (3, 4)), 0),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operations_of(name: str, tmp_path: Path) -> None:
    work, expected = ELEMENTWISE[name]
    assert flops(work, tmp_path, "elementwise") == expected


def test_backward_of_norms_and_embeddings(tmp_path: Path) -> None:
    """Forward 8, sum 1 and backward 13 per element; one addition per element of the gradient of two rows."""
    norm = backward(lambda x, weight, bias: functional.layer_norm(x, (3,), weight, bias), (2, 3), (3,), (3,))
    assert flops(norm, tmp_path / "norm", "elementwise") == (8 + 1 + 13) * 6
    rows = torch.tensor([1, 2])
    lookup = backward(lambda weight: functional.embedding(rows, weight), (3, 4))
    assert flops(lookup, tmp_path / "lookup", "elementwise") == 8 + 8


@pytest.mark.parametrize(
    ("name", "options", "each", "numbers"),
    [
        ("Adam", {}, 3 + 4 + 3 + 3, 2),
        ("AdamW", {}, 1 + 3 + 4 + 3 + 3, 2),
        ("Adagrad", {}, 3 + 2 + 3, 2),
        ("SGD", {}, 1, 0),
        ("SGD", {"momentum": 0.9}, 2 + 1, 0),
    ],
)
def test_fused_optimizers(name: str, options: dict[str, float], each: int, numbers: int, tmp_path: Path) -> None:
    """Operations per parameter: moving averages, root, quotient. The operators on lists that they replace have as many;
    most add 1 to the number of the step, once per tensor."""

    def updated(folder: Path, **how: bool) -> int:
        weights = [ones(2, 3, grad=True), ones(5, grad=True)]
        optimizer = getattr(torch.optim, name)(weights, lr=0.1, **options, **how)
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step()
        return flops(optimizer.step, folder, "elementwise")

    assert updated(tmp_path / "fused", fused=True) == each * 11 + numbers
    if name != "Adagrad":
        assert updated(tmp_path / "lists", foreach=True) == each * 11 + numbers


def test_lists_whose_text_is_cut_count(tmp_path: Path) -> None:
    """The text of 200 parameters with gradients, averages and steps does not fit: each list has its elements."""
    weights = [ones(2, 3, grad=True) for _ in range(100)] + [ones(5, grad=True) for _ in range(100)]
    optimizer = torch.optim.AdamW(weights, lr=0.1, fused=True)
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    assert flops(optimizer.step, tmp_path, "elementwise") == 14 * 1100 + 200


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("aten::_foreach_add_", "[float32[2,3], float32[2,3], ...600], [float32[2,3], ...600]", 600),
        ("aten::_fused_sgd_", "[float32[8], ...80], [float32[8], ...80], [float32[8], ...80]", 80 + 2 * 80),
        ("aten::_fused_sgd_", "[float32[8], ...80], [float32[8], ...80]", 80),
        ("aten::_fused_sgd_", "[float32[8], ...80], [float32[8], ...80], [float32[8]...", None),
        ("aten::_cudnn_rnn", "float32[5,3,8], [float32[64,8], float32[64]]", 2 * 15 * 512),
        ("aten::_cudnn_rnn", "float32[5,3,8], [float32[64,8], ...1000]", None),
        ("aten::mm", "float32[2,3], float32[3,4]", 48),
        ("aten::mm", "float32[2,3]...", None),
        ("aten::convolution", "float32[1,4,6], float32[8,4,3], _, [1], [0], [1], False", 2 * 4 * 96),
        ("aten::convolution", "float32[1,4,6], float32[8,4,3]", None),
        ("aten::convolution", "float32[1,4,6,6], float32[8,4,3,3], _, [1, 1, 1], [0], [1], False", None),
    ],
)
def test_flops_of_recorded_texts(operator: str, operands: str, expected: int | None) -> None:
    assert flops_of_call(operator, operands) == expected


def test_backward_of_attention(tmp_path: Path) -> None:
    """The scores again, and the gradients of values, weights, queries and keys."""

    def work() -> None:
        query, key, value = (ones(2, 4, 32, 16, grad=True) for _ in range(3))
        functional.scaled_dot_product_attention(query, key, value).sum().backward()

    assert flops(work, tmp_path) == 2 * 2 * 4 * 32 * 32 * 16 * (2 + 5)


def test_flops_have_the_path_of_the_call_and_the_bytes_of_its_inputs(tmp_path: Path) -> None:
    def first() -> None:
        ones(2, 3) @ ones(3, 4)

    def second() -> None:
        for _ in range(3):
            ones(4, 4, grad=True).double() @ ones(4, 4).double()

    rows = measured(lambda: (first(), second()), tmp_path)
    trace = fastdispatch.load(tmp_path)
    found = {}
    for row in rows:
        above = trace.contexts["parent"][row.context]
        while trace.nodes["name"][trace.contexts["node"][above]] not in ("first", "second"):
            above = trace.contexts["parent"][above]
        if row.kind == "flops":
            found[trace.nodes["name"][trace.contexts["node"][above]]] = (row.calls, row.flops, row.bytes)
    assert found == {"first": (1, 48, 4 * (6 + 12)), "second": (3, 384, 3 * 8 * 32)}


@pytest.mark.parametrize("measure", ["flops", "flops,shapes"])
def test_changes_of_inputs_at_one_call_site_are_counted_exactly(measure: str, tmp_path: Path) -> None:
    sizes = [3, 3, 5, 3, 5, 5, 1, 3]
    images, weight = ones(2, 4, 8, 8), ones(6, 4, 3, 3)
    calls: list[tuple[Any, ...]] = [(size, step % 2 + 1, step % 3) for step, size in enumerate(sizes)]

    def work() -> None:
        for size, stride, kind in calls:
            torch.mm(ones(size, 4), ones(4, 7))
            torch.tanh(torch.ones(2, size, dtype=(torch.float32, torch.float64, torch.bfloat16)[kind]))
            functional.conv2d(images, weight, stride=stride)  # the same shapes
            torch._foreach_mul_([ones(4), ones(2, size)], 2.0)

    with fastdispatch.CallGraph(tmp_path, measure=measure):
        work()
    trace = fastdispatch.load(tmp_path)
    nodes = trace.contexts["node"]
    found = {
        trace.nodes["key"][nodes[each.context]]: [each.calls, each.flops, each.bytes]
        for each in counted(tmp_path)
        if each.kind in ("flops", "elementwise")
    }
    outputs = [6 * 6 if stride == 1 else 3 * 3 for _, stride, _ in calls]
    assert found["aten::mm"] == [8, sum(2 * 4 * 7 * size for size in sizes), sum(4 * (4 * size + 28) for size in sizes)]
    assert found["aten::tanh"] == [
        8,
        sum(2 * size for size in sizes),
        sum(2 * size * (4, 8, 2)[kind] for size, _, kind in calls),
    ]
    assert found["aten::convolution"] == [
        8,
        sum(2 * 2 * at * weight.numel() for at in outputs),
        8 * 4 * (images.numel() + weight.numel()),
    ]
    assert found["aten::_foreach_mul_"] == [
        8,
        sum(4 + 2 * size for size in sizes),
        sum(4 * (4 + 2 * size) for size in sizes),
    ]


def test_all_steps_are_measured(tmp_path: Path) -> None:
    with fastdispatch.CallGraph(tmp_path, measure="flops", steps="all") as graph:
        for _ in range(50):
            ones(2, 3) @ ones(3, 4)
            graph.step()
    assert [(each.calls, each.flops) for each in counted(tmp_path) if each.kind == "flops"] == [(50, 50 * 48)]
    rows = fastdispatch.load(tmp_path).ranks[0]["measures"]
    assert rows["count"][rows["kind"].index("steps")] == 50
