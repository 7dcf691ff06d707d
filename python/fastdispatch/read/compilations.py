"""Compilations, recompilations and graph breaks of torch.compile in a recording, and source lines of its kernels."""

import re
from collections.abc import Mapping
from typing import Any

from fastdispatch.read.summary import mapping
from fastdispatch.read.trace import Trace

#: How the operators begin that run the code of torch.compile: its calls are not recorded.
COMPILED = "Torch-Compiled Region"

_NUMBERS = ("compilations", "listed", "ns")
_PLACE: dict[str, type] = {"function": str, "file": str, "line": int}
_ROWS: dict[str, dict[str, type]] = {
    "functions": {"compilations": int, "ns": int},
    "recompilations": {"guard": str, "count": int},
    "graph_breaks": {"reason": str, "count": int},
}


def compilations(trace: Trace) -> list[dict[str, Any]]:
    """Return the fact ``compile`` of each rank that has it."""
    found = ((rank["rank"], mapping(rank["meta"].get("compile"))) for rank in trace.ranks)
    return [{"rank": rank} | fact for rank, fact in found if _is_valid(fact)]


def kernel_origins(trace: Trace) -> dict[int, dict[str, Any]]:
    """Return what the kernels of Inductor compute, by node: ``operators``, from their names, and ``lines`` of the
    program, each with ``function``, ``file`` and ``line``, if Inductor tracked its provenance."""
    lines = _lines_by_kernel(trace)
    names = trace.nodes["key"]
    found = {
        node: {"operators": fused_operators(names[node]), "lines": lines.get(names[node], [])}
        for node, kind in enumerate(trace.nodes["kind"])
        if kind == "kernel"
    }
    return {node: origin for node, origin in found.items() if origin["operators"] or origin["lines"]}


def _lines_by_kernel(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for rank in trace.ranks:
        rows = rank["meta"].get("kernel_sources")
        for row in map(mapping, rows if isinstance(rows, list) else []):
            kernel, lines = row.get("kernel"), row.get("lines")
            if isinstance(kernel, str) and isinstance(lines, list) and all(_has(line, _PLACE) for line in lines):
                known = found.setdefault(kernel, [])
                known += [line for line in lines if line not in known]
    return found


def _has(row: object, members: Mapping[str, type]) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in members.items())


def _is_valid(fact: dict[str, Any]) -> bool:
    """Return whether a fact has the members that a recorder writes: a file may contain anything."""
    if set(fact) != {*_NUMBERS, *_ROWS} or not all(isinstance(fact[name], int) for name in _NUMBERS):
        return False
    return all(
        _has(row, _PLACE | members)
        for key, members in _ROWS.items()
        for row in (fact[key] if isinstance(fact[key], list) else [None])
    )


#: Begins and ends of the names of kernels around their operators.
_KERNEL = re.compile(r"(?:triton_[a-z]{3}|cpp)_fused_(\w+)_\d+(?:_\d+d\w*)?$")

#: Operators of several words, without a leading ``_`` and without ``_backward``: every other word is an operator.
_NAMES = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
all_gather_into_tensor all_reduce all_to_all_single alpha_dropout as_strided as_strided_scatter avg_pool1d avg_pool2d
avg_pool3d batch_norm_no_update batch_norm_with_update batch_norm_with_update_functional binary_cross_entropy
binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
cdist_forward clamp_max clamp_min constant_pad_nd convert_element_type cosine_similarity count_nonzero
cross_entropy_loss ctc_loss diag_embed diagonal_copy diagonal_scatter efficient_attention_forward embedding_bag
embedding_dense empty_like empty_permuted empty_strided euclidean_dist expand_as expand_copy fft_c2c fft_c2r fft_r2c
flash_attention_forward flex_attention float_power floor_divide full_like fused_dropout fused_rms_norm grid_sampler_2d
grid_sampler_3d group_norm grouped_mm huber_loss index_add index_copy index_fill index_put index_reduce index_select
inductor_force_stride_order inductor_lookup_seed inductor_randint inductor_random inductor_seeds int_mm kl_div l1_loss
layer_norm leaky_relu lift_fresh lift_fresh_copy linalg_cross linalg_vector_norm local_scalar_dense log_sigmoid
log_sigmoid_forward log_softmax logical_and logical_not logical_or logical_xor low_memory_max_pool_offsets_to_indices
low_memory_max_pool_with_offsets masked_fill masked_scatter masked_select max_pool2d_with_indices
max_pool3d_with_indices mse_loss nan_to_num native_batch_norm native_batch_norm_legit
native_batch_norm_legit_functional native_batch_norm_legit_no_training native_dropout native_group_norm
native_layer_norm new_empty new_empty_strided new_full new_ones new_zeros nll_loss nll_loss2d nll_loss2d_forward
nll_loss_forward not_equal ones_like permute_copy pixel_shuffle pixel_unshuffle prepare_softmax_online rand_like
randint_like randn_like reduce_scatter_tensor reflection_pad1d reflection_pad2d reflection_pad3d repeat_interleave
replication_pad1d replication_pad2d replication_pad3d reshape_alias rms_norm rrelu_with_noise safe_softmax
scalar_tensor scaled_dot_product_attention scaled_dot_product_attention_math scaled_dot_product_cudnn_attention
scaled_dot_product_efficient_attention scaled_dot_product_flash_attention
scaled_dot_product_flash_attention_for_cpu scaled_grouped_mm scaled_mm scatter_add scatter_reduce select_scatter
slice_scatter smooth_l1_loss soft_margin_loss split_with_sizes split_with_sizes_copy std_mean take_along_dim to_copy
true_divide type_as unsafe_index unsafe_index_put unsafe_masked_index unsafe_masked_index_put_accumulate unsafe_split
unsafe_view upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
upsample_nearest3d upsample_nearest_exact1d upsample_nearest_exact2d upsample_nearest_exact3d upsample_trilinear3d
var_mean view_as_complex view_as_real view_copy wait_tensor weight_int8pack_mm weight_norm_interface xor_sum zeros_like
"""
_ALTERNATIVES = "|".join(sorted(_NAMES.split(), key=len, reverse=True))
_OPERATOR = re.compile(rf"(_?(?:foreach_)?(?:{_ALTERNATIVES}|[^_]+)(?:_backward(?:_data)?)?)(?:_|$)")


def fused_operators(kernel: str) -> list[str]:
    """Return the operators of a kernel by its name, at most the ten that Inductor writes; empty for other kernels, and
    for names that were cut."""
    found = _KERNEL.match(kernel)
    return _OPERATOR.findall(found[1]) if found else []
