"""Formulas of the FLOPs of PyTorch's operators, from the shapes of their operands (docs/concepts/measures.md)."""

import math
from collections.abc import Callable
from functools import lru_cache, partial

from fastdispatch.measures.shapes import Operands, Tensor, elements_of, operands_of

#: Return the FLOPs of a call, or None if they cannot be derived from its operands.
_Formula = Callable[[Operands], int | None]


def _product(operands: Operands, first: int = 0) -> int | None:
    """``[..., M, K]`` times ``[..., K, N]``: the first one has all batch dimensions."""
    a, b = operands.tensor(first), operands.tensor(first + 1)
    return 2 * a.elements * b.sizes[-1] if a and b and len(b.sizes) >= 2 else None


def _vector_product(operands: Operands, first: int = 0) -> int | None:
    a = operands.tensor(first)
    return 2 * a.elements if a else None


def _grouped_product(operands: Operands) -> int | None:
    """Groups along M, K or N, unless both have three dimensions. Rows beyond the last offset count as well."""
    a, b = operands.tensor(0), operands.tensor(1)
    if not a or not b or min(len(a.sizes), len(b.sizes)) < 2:
        return None
    groups = a.sizes[0] if len(a.sizes) == len(b.sizes) == 3 else 1
    return 2 * a.sizes[-2] * a.sizes[-1] * b.sizes[-1] * groups


def _convolution(operands: Operands) -> int | None:
    """``input, weight, bias, stride, padding, dilation, transposed``. The weight has outputs * inputs / groups * kernel
    elements: one multiplication and addition of each per position, of the output or, transposed, of the input."""
    image, weight, transposed = operands.tensor(0), operands.tensor(1), operands.at(6)
    if not image or not weight or len(image.sizes) < 3 or len(weight.sizes) != len(image.sizes):
        return None
    if transposed not in (True, False):
        return None
    at = image.sizes[2:] if transposed else _positions(operands, image.sizes[2:], weight.sizes[2:])
    return 2 * image.sizes[0] * math.prod(at) * weight.elements


def _positions(operands: Operands, sizes: tuple[int, ...], kernel: tuple[int, ...]) -> list[int]:
    """Return the sizes of the output. Arguments have one number per dimension, or one for all."""
    strides, paddings, dilations = (operands.numbers(at, len(sizes)) for at in (3, 4, 5))
    return [
        max((size + 2 * padding - dilation * (reach - 1) - 1) // stride + 1, 0) if stride > 0 else 0
        for size, reach, stride, padding, dilation in zip(sizes, kernel, strides, paddings, dilations, strict=True)
    ]


def _convolution_backward(operands: Operands) -> int | None:
    """``grad_output, input, weight, ..., transposed (7), ..., output_mask (10)``: as many FLOPs as forward for the
    gradient of the input, and as many for that of the weight."""
    grad, image, weight = (operands.tensor(at) for at in range(3))
    transposed, mask = operands.at(7), operands.at(10)
    if not grad or not image or not weight or len(image.sizes) < 3 or not isinstance(mask, list):
        return None
    if transposed not in (True, False):
        return None
    at = image if transposed else grad
    return 2 * sum(mask[:2]) * image.sizes[0] * math.prod(at.sizes[2:]) * weight.elements


def _attention(
    operands: Operands, query: int, sequence: int, lengths: int = 0, windows: int = 0, backward: bool = False
) -> int | None:
    """Query ``[B, H, Sq, D]``, key ``[B, H or fewer, Sk, D]``, value ``[..., Sk, Dv]``, or with the sequence before the
    heads: one product over D for the scores and one over Dv for the weighted values; backward, three over D and two
    over Dv (the scores again, and the gradients of value, weights, query and key). Masks are ignored, also causal ones.

    ``query`` to ``windows``: positions of arguments; ``sequence``: dimension of the sequence, from the end."""
    q, k, v = (operands.tensor(query + at) for at in range(3))
    if not q or not k or not v or len(q.sizes) != 4 or len(k.sizes) != 4:
        return None
    if _is_limited(operands, lengths, windows):
        return None
    d, dv = q.sizes[-1], v.sizes[-1]
    width = 3 * d + 2 * dv if backward else d + dv
    return 2 * math.prod(q.sizes[:3]) * k.sizes[-sequence] * width


def _is_limited(operands: Operands, lengths: int, windows: int) -> bool:
    """Return whether a kernel got lengths of sequences, whose values are on the device, or a window of keys: both
    reduce the number of products."""
    found = operands.tensor(lengths) if lengths else None
    if found and found.elements > 0:
        return True
    given = (operands.at(windows + at) for at in range(2)) if windows else ()
    return any(isinstance(window, int) and not isinstance(window, bool) and window >= 0 for window in given)


def _rnn_layer(operands: Operands, times: int = 1) -> int | None:
    """``mkldnn_rnn_layer(input, weight0, weight1, ...)``: one layer and direction; each element of the sequence is
    multiplied by the weights of all gates. The last dimension of the input is the features."""
    values, *weights = (operands.tensor(at) for at in range(3))
    if not values or not all(weights) or not values.sizes or not values.sizes[-1]:
        return None
    return times * 2 * math.prod(values.sizes[:-1]) * sum(each.elements for each in weights if each)


def _rnn(operands: Operands, times: int = 1) -> int | None:
    """``_cudnn_rnn(input, weight[], ...)``: the matrices of all layers and directions."""
    values, weights = operands.tensor(0), operands.whole_list(1)
    if not values or weights is None or not values.sizes or not values.sizes[-1]:
        return None
    matrices = (each for each in weights if isinstance(each, Tensor) and len(each.sizes) == 2)
    return times * 2 * math.prod(values.sizes[:-1]) * sum(each.elements for each in matrices)


_SDPA = [
    f"_scaled_dot_product_{kind}"
    for kind in (
        "flash_attention",
        "flash_attention_for_cpu",
        "efficient_attention",
        "cudnn_attention",
        "fused_attention_overrideable",
    )
]

_SHAPES: dict[str, _Formula] = {
    **dict.fromkeys(("mm", "bmm", "_int_mm", "_scaled_mm", "_scaled_mm_v2"), _product),
    **dict.fromkeys(("addmm", "_addmm_activation", "baddbmm", "addbmm"), partial(_product, first=1)),
    **dict.fromkeys(("mv", "dot", "vdot"), _vector_product),
    "addmv": partial(_vector_product, first=1),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"), _grouped_product),
    "mkldnn_rnn_layer": _rnn_layer,
    "mkldnn_rnn_layer_backward": partial(_rnn_layer, times=2),
    **dict.fromkeys(("_cudnn_rnn", "miopen_rnn"), _rnn),
    **dict.fromkeys(("_cudnn_rnn_backward", "miopen_rnn_backward"), partial(_rnn, times=2)),
    **dict.fromkeys(_SDPA, partial(_attention, query=0, sequence=2)),
    **dict.fromkeys((f"{name}_backward" for name in _SDPA), partial(_attention, query=1, sequence=2, backward=True)),
}

#: Formulas that need numbers besides shapes. Comments have the arguments from the query to the last one that is read.
_NUMBERS: dict[str, _Formula] = {
    "convolution": _convolution,
    "convolution_overrideable": _convolution,
    "convolution_backward": _convolution_backward,
    # query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask, scale,
    # window_size_left, window_size_right
    "_flash_attention_forward": partial(_attention, query=0, sequence=3, lengths=3, windows=11),
    # query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, rng_state, unused,
    # scale, window_size_left, window_size_right
    "_flash_attention_backward": partial(_attention, query=1, sequence=3, lengths=6, windows=15, backward=True),
    # query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, custom_mask_type,
    # compute_log_sumexp, scale, seqlen_k, window_size
    "_efficient_attention_forward": partial(_attention, query=0, sequence=3, lengths=4, windows=13),
    # query, key, value, bias, out, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, logsumexp, dropout_p,
    # philox_seed, philox_offset, custom_mask_type, bias_requires_grad, scale, num_splits_key, window_size
    "_efficient_attention_backward": partial(_attention, query=1, sequence=3, lengths=6, windows=18, backward=True),
}


def _elementwise(operands: Operands, each: int, broadcast: int = 1, buffers: int = 0) -> int | None:
    """``each`` operations per element of the first ``broadcast`` operands, broadcast, or of a list of tensors; and
    ``buffers`` per element of the third operand, a list that may be empty."""
    first = operands.at(0)
    if isinstance(first, list):
        return each * elements_of(first) + (buffers and buffers * elements_of(operands.at(2)))
    tensors = [found for at in range(broadcast) if (found := operands.tensor(at))]
    sizes = [1] * max((len(tensor.sizes) for tensor in tensors), default=0)
    for tensor in tensors:
        for at, size in enumerate(reversed(tensor.sizes)):
            sizes[at] = size if size != 1 else sizes[at]
    return each * math.prod(sizes)


#: Operations per element. An addition, a multiplication, a comparison and a function such as exp are one each.
_EACH = {
    **dict.fromkeys(("neg", "abs", "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "erf"), 1),
    **dict.fromkeys(("clamp_min", "relu", "threshold_backward", "sum", "mean", "embedding_dense_backward"), 1),
    "sigmoid": 3,  # 1 / (1 + exp(x))
    "sigmoid_backward": 3,  # g * (1 - y) * y
    "tanh_backward": 3,  # g * (1 - y * y)
    "silu": 4,  # x / (1 + exp(-x))
    "silu_backward": 8,  # sigmoid; g * s * (1 + x * (1 - s))
    "gelu": 5,  # x * 0.5 * (1 + erf(x * c))
    "gelu_backward": 11,  # cdf 4, density 4, (cdf + x * d) * g 3
    "_softmax": 5,  # maximum, difference, exp, sum, quotient
    "_log_softmax": 5,
    "_softmax_backward_data": 4,  # product, sum, difference, product
    "_log_softmax_backward_data": 4,  # sum, exp, product, difference
    # mean 1, variance 3, x 2, affine 2
    **dict.fromkeys(("native_layer_norm", "native_group_norm", "native_batch_norm"), 8),
    "_fused_rms_norm": 4,  # squares 2, product 1, weight 1
    # g * w 1, x 2, sums 3, gradient 4, weight 2, bias 1
    **dict.fromkeys([f"native_{kind}_norm_backward" for kind in ("layer", "group", "batch")], 13),
    **dict.fromkeys([f"_foreach_{name}" for name in ("add", "sub", "mul", "div", "sqrt")], 1),
    **dict.fromkeys([f"_foreach_{name}" for name in ("lerp", "addcmul", "addcdiv")], 3),
    # As many as the operators on lists that these replace; without weight decay, except that of AdamW.
    "_fused_adam": 13,  # lerp 3, mul 1, addcmul 3, sqrt 1, div 1, add 1, addcdiv 3
    "_fused_adamw": 14,
    "_fused_adagrad": 8,  # addcmul 3, sqrt 1, add 1, addcdiv 3
}

_ELEMENTWISE: dict[str, _Formula] = {
    **{name: partial(_elementwise, each=each) for name, each in _EACH.items()},
    **dict.fromkeys(
        ("add", "sub", "rsub", "mul", "div", "pow", "maximum", "minimum"), partial(_elementwise, each=1, broadcast=2)
    ),
    **dict.fromkeys(("lerp", "addcmul", "addcdiv"), partial(_elementwise, each=3, broadcast=3)),
    "_fused_sgd": partial(_elementwise, each=1, buffers=2),  # add; momentum: mul, add
}

_FORMULAS: dict[str, tuple[str, _Formula]] = {
    **{f"aten::{name}": ("flops", formula) for name, formula in (_SHAPES | _NUMBERS).items()},
    **{f"aten::{name}{end}": ("elementwise", each) for name, each in _ELEMENTWISE.items() for end in ("", "_")},
}

#: Operators that figures are derived from, and whether that needs numbers besides shapes.
OPERATORS = {name: name.removeprefix("aten::") in _NUMBERS for name in _FORMULAS}

#: The operator of which shapes are recorded with the numbers of padded elements.
PADDING = {"aten::constant_pad_nd": True}

#: Namespaces of PyTorch and its libraries.
_PLAIN = ("aten::", "prim::", "c10d", "profiler::", "mkldnn::", "_c10d")


def kind_of(operator: str) -> str:
    """Return what an operator counts as: ``flops``, ``elementwise``, ``unknown`` without a formula for an operator of
    another library than PyTorch, or empty for nothing."""
    if operator in _FORMULAS:
        return _FORMULAS[operator][0]
    return "" if operator.startswith(_PLAIN) or "::" not in operator else "unknown"


@lru_cache(1 << 16)
def flops_of_call(operator: str, text: str) -> int | None:
    """Return the FLOPs or operations of a call with these operands; None if its formula does not know them."""
    try:
        return _FORMULAS[operator][1](operands_of(text))
    except (LookupError, TypeError, ValueError):  # the text was cut, or is not that of a recording
        return None
