#include "capture/operands/flop_formulas.h"

#include "base/scalar_types.h"

#include <string.h>

static uint64_t
size_at(const fd_tensor_view *tensor, uint32_t from_end)
{
    return tensor->dimensions >= from_end
             ? (uint64_t)tensor->sizes[tensor->dimensions - from_end]
             : 1;
}

/* Product of [..., M, K] and [..., K, N]; the first has all batch
 * dimensions. */
static bool
product(fd_operand_list inputs, uint32_t first, uint64_t *flops)
{
    fd_tensor_view a;
    fd_tensor_view b;
    if (!fd_operands_tensor(inputs, first, &a)
        || !fd_operands_tensor(inputs, first + 1, &b) || b.dimensions < 2) {
        return false;
    }
    *flops = 2 * (uint64_t)a.elements * size_at(&b, 1);
    return true;
}

/* mm(self, mat2), bmm, _scaled_mm, _int_mm */
static bool
matrix_product(fd_operand_list inputs, uint64_t *flops)
{
    return product(inputs, 0, flops);
}

/* addmm(self, mat1, mat2), baddbmm, addbmm */
static bool
added_product(fd_operand_list inputs, uint64_t *flops)
{
    return product(inputs, 1, flops);
}

/* mv(self, vec), dot(self, tensor) */
static bool
vector_product(fd_operand_list inputs, uint64_t *flops)
{
    fd_tensor_view a;
    bool known = fd_operands_tensor(inputs, 0, &a);
    *flops = known ? 2 * (uint64_t)a.elements : 0;
    return known;
}

/* addmv(self, mat, vec) */
static bool
added_vector_product(fd_operand_list inputs, uint64_t *flops)
{
    fd_tensor_view a;
    bool known = fd_operands_tensor(inputs, 1, &a);
    *flops = known ? 2 * (uint64_t)a.elements : 0;
    return known;
}

/* _grouped_mm(self, mat2, offs): groups along M, K or N unless both have three
 * dimensions. Rows beyond the last offset count as well. */
static bool
grouped_product(fd_operand_list inputs, uint64_t *flops)
{
    fd_tensor_view a;
    fd_tensor_view b;
    if (!fd_operands_tensor(inputs, 0, &a)
        || !fd_operands_tensor(inputs, 1, &b) || a.dimensions < 2
        || b.dimensions < 2) {
        return false;
    }
    *flops = 2 * size_at(&a, 2) * size_at(&a, 1) * size_at(&b, 1);
    if (a.dimensions == 3 && b.dimensions == 3) {
        *flops *= size_at(&a, 3);
    }
    return true;
}

static uint64_t
spatial(const fd_tensor_view *tensor)
{
    uint64_t product = 1;
    for (uint32_t i = 2; i < tensor->dimensions; i++) {
        product *= (uint64_t)tensor->sizes[i];
    }
    return product;
}

/* Return a value of an argument that has one number per dimension, or one for
 * all. */
static int64_t
number_of(fd_operand_list inputs, uint32_t at, uint32_t dimension)
{
    fd_operand_list list;
    int64_t number = 0;
    if (fd_operands_list(inputs, at, &list) && list.count > 0) {
        fd_operands_int(list, list.count == 1 ? 0 : dimension, &number);
    }
    return number;
}

/* Return the number of output positions of a convolution that is not
 * transposed. */
static uint64_t
positions(fd_operand_list inputs, const fd_tensor_view *input,
          const fd_tensor_view *weight)
{
    enum { STRIDE = 3, PADDING, DILATION };
    uint64_t product = 1;
    for (uint32_t i = 2; i < input->dimensions; i++) {
        int64_t stride = number_of(inputs, STRIDE, i - 2);
        int64_t reach =
            number_of(inputs, DILATION, i - 2) * (weight->sizes[i] - 1) + 1;
        int64_t capacity =
            input->sizes[i] + 2 * number_of(inputs, PADDING, i - 2) - reach;
        product *= stride > 0 && capacity >= 0
                     ? (uint64_t)(capacity / stride + 1)
                     : 0;
    }
    return product;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed,
 * ...). The weight has Co * Ci / groups * kernel elements: one multiplication
 * and addition of each per position, of the output or, transposed, of the
 * input. */
static bool
convolution(fd_operand_list inputs, uint64_t *flops)
{
    enum { TRANSPOSED = 6 };
    fd_tensor_view input;
    fd_tensor_view weight;
    bool transposed;
    if (!fd_operands_tensor(inputs, 0, &input)
        || !fd_operands_tensor(inputs, 1, &weight)
        || !fd_operands_bool(inputs, TRANSPOSED, &transposed)
        || input.dimensions < 3 || weight.dimensions != input.dimensions) {
        return false;
    }
    uint64_t at =
        transposed ? spatial(&input) : positions(inputs, &input, &weight);
    *flops = 2 * (uint64_t)input.sizes[0] * at * (uint64_t)weight.elements;
    return true;
}

/* convolution_backward(grad_output, input, weight, bias_sizes, stride,
 * padding, dilation, transposed, output_padding, groups, output_mask): as many
 * FLOPs as forward for the gradient of the input, and as many for the gradient
 * of the weight. */
static bool
convolution_backward(fd_operand_list inputs, uint64_t *flops)
{
    enum { TRANSPOSED = 7, MASK = 10 };
    fd_tensor_view grad;
    fd_tensor_view input;
    fd_tensor_view weight;
    fd_operand_list mask;
    bool transposed;
    bool wanted[2] = {true, true};
    if (!fd_operands_tensor(inputs, 0, &grad)
        || !fd_operands_tensor(inputs, 1, &input)
        || !fd_operands_tensor(inputs, 2, &weight)
        || !fd_operands_bool(inputs, TRANSPOSED, &transposed)
        || !fd_operands_list(inputs, MASK, &mask) || input.dimensions < 3) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        fd_operands_bool(mask, i, &wanted[i]);
    }
    *flops = 2 * (uint64_t)(wanted[0] + wanted[1]) * (uint64_t)input.sizes[0]
           * spatial(transposed ? &input : &grad) * (uint64_t)weight.elements;
    return true;
}

static bool
is_causal(fd_operand_list inputs, uint32_t at, bool *causal)
{
    int64_t mask;
    if (fd_operands_int(inputs, at, &mask)) {
        *causal = mask != 0;
        return true;
    }
    return fd_operands_bool(inputs, at, causal);
}

/* Return whether a kernel got lengths of sequences, whose values are on the
 * device, or a window of keys: both reduce the number of products. */
static bool
is_limited(fd_operand_list inputs, fd_attention_layout at)
{
    fd_tensor_view lengths;
    int64_t window;
    if (at.lengths != 0 && fd_operands_tensor(inputs, at.lengths, &lengths)
        && lengths.elements > 0) {
        return true;
    }
    for (uint32_t i = 0; at.windows != 0 && i < 2; i++) {
        if (fd_operands_int(inputs, at.windows + i, &window) && window >= 0) {
            return true;
        }
    }
    return false;
}

/* Query [B, H, Sq, D], key [B, H or fewer, Sk, D], value [..., Sk, Dv], or
 * with the sequence before the heads: one product over D for the scores and
 * one over Dv for the weighted values; backward, three over D and two over Dv
 * (the scores again, and the gradients of value, weights, query and key). With
 * a causal mask, half of it. */
static bool
attention(fd_operand_list inputs, fd_attention_layout at, uint64_t *flops)
{
    fd_tensor_view query;
    fd_tensor_view key;
    fd_tensor_view value;
    bool causal;
    if (!fd_operands_tensor(inputs, at.query, &query)
        || !fd_operands_tensor(inputs, at.query + 1U, &key)
        || !fd_operands_tensor(inputs, at.query + 2U, &value)
        || query.dimensions != 4 || key.dimensions != 4
        || !is_causal(inputs, at.causal, &causal) || is_limited(inputs, at)) {
        return false;
    }
    uint64_t width = at.backward
                       ? 3 * size_at(&query, 1) + 2 * size_at(&value, 1)
                       : size_at(&query, 1) + size_at(&value, 1);
    *flops = 2 * size_at(&query, 4) * size_at(&query, 3) * size_at(&query, 2)
           * size_at(&key, at.sequence) * width / (causal ? 2 : 1);
    return true;
}

/* mkldnn_rnn_layer(input, weight0, weight1, ...): one layer and direction;
 * each element of the sequence is multiplied by the weights of all gates. The
 * last dimension of the input is the features. */
static bool
rnn_layer(fd_operand_list inputs, uint64_t *flops)
{
    fd_tensor_view input;
    fd_tensor_view weights[2];
    if (!fd_operands_tensor(inputs, 0, &input)
        || !fd_operands_tensor(inputs, 1, &weights[0])
        || !fd_operands_tensor(inputs, 2, &weights[1])
        || size_at(&input, 1) == 0) {
        return false;
    }
    *flops = 2 * ((uint64_t)input.elements / size_at(&input, 1))
           * (uint64_t)(weights[0].elements + weights[1].elements);
    return true;
}

static bool
rnn_layer_backward(fd_operand_list inputs, uint64_t *flops)
{
    bool known = rnn_layer(inputs, flops);
    *flops = known ? *flops * 2 : 0;
    return known;
}

/* _cudnn_rnn(input, weight[], ...): matrices of all layers and directions. */
static bool
cudnn_rnn(fd_operand_list inputs, uint64_t *flops)
{
    fd_tensor_view input;
    fd_tensor_view weight;
    fd_operand_list weights;
    uint64_t elements = 0;
    if (!fd_operands_tensor(inputs, 0, &input)
        || !fd_operands_list(inputs, 1, &weights) || size_at(&input, 1) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < weights.count; i++) {
        if (fd_operands_tensor(weights, i, &weight)
            && weight.dimensions == 2) {
            elements += (uint64_t)weight.elements;
        }
    }
    *flops = 2 * ((uint64_t)input.elements / size_at(&input, 1)) * elements;
    return true;
}

static bool
cudnn_rnn_backward(fd_operand_list inputs, uint64_t *flops)
{
    bool known = cudnn_rnn(inputs, flops);
    *flops = known ? *flops * 2 : 0;
    return known;
}

static const fd_flop_formula formulas[] = {
    {"aten::mm", matrix_product, false, {0}},
    {"aten::bmm", matrix_product, false, {0}},
    {"aten::_int_mm", matrix_product, false, {0}},
    {"aten::_scaled_mm", matrix_product, false, {0}},
    {"aten::_scaled_mm_v2", matrix_product, false, {0}},
    {"aten::addmm", added_product, false, {0}},
    {"aten::_addmm_activation", added_product, false, {0}},
    {"aten::baddbmm", added_product, false, {0}},
    {"aten::addbmm", added_product, false, {0}},
    {"aten::mv", vector_product, false, {0}},
    {"aten::dot", vector_product, false, {0}},
    {"aten::vdot", vector_product, false, {0}},
    {"aten::addmv", added_vector_product, false, {0}},
    {"aten::_grouped_mm", grouped_product, false, {0}},
    {"aten::_scaled_grouped_mm", grouped_product, false, {0}},
    {"aten::_scaled_grouped_mm_v2", grouped_product, false, {0}},
    {"aten::convolution", convolution, true, {0}},
    {"aten::convolution_overrideable", convolution, true, {0}},
    {"aten::convolution_backward", convolution_backward, true, {0}},
    {"aten::mkldnn_rnn_layer", rnn_layer, false, {0}},
    {"aten::mkldnn_rnn_layer_backward", rnn_layer_backward, false, {0}},
    {"aten::_cudnn_rnn", cudnn_rnn, false, {0}},
    {"aten::_cudnn_rnn_backward", cudnn_rnn_backward, false, {0}},
    {"aten::miopen_rnn", cudnn_rnn, false, {0}},
    {"aten::miopen_rnn_backward", cudnn_rnn_backward, false, {0}},
};

#define SDPA "aten::_scaled_dot_product_"

/* The comments have the arguments from `query` to the last one of the layout.
 */
static const fd_flop_formula attentions[] = {
    /* query, key, value, dropout_p, is_causal */
    {SDPA "flash_attention", NULL, true, {0, 2, 4, 0, 0, false}},
    {SDPA "flash_attention_for_cpu", NULL, true, {0, 2, 4, 0, 0, false}},
    /* query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal
     */
    {SDPA "efficient_attention", NULL, true, {0, 2, 6, 0, 0, false}},
    {SDPA "cudnn_attention", NULL, true, {0, 2, 6, 0, 0, false}},
    /* query, key, value, attn_bias, dropout_p, is_causal */
    {SDPA "fused_attention_overrideable", NULL, true, {0, 2, 5, 0, 0, false}},
    /* query, key, value, out, logsumexp, dropout_p, is_causal */
    {SDPA "flash_attention_for_cpu_backward",
     NULL,
     true,
     {1, 2, 7, 0, 0, true}},
    /* query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
     * dropout_p, is_causal */
    {SDPA "flash_attention_backward", NULL, true, {1, 2, 11, 0, 0, true}},
    /* query, key, value, attn_bias, out, logsumexp, philox_seed,
     * philox_offset, dropout_p, grad_input_mask, is_causal */
    {SDPA "efficient_attention_backward", NULL, true, {1, 2, 11, 0, 0, true}},
    /* query, key, value, out, logsumexp, philox_seed, philox_offset,
     * attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal */
    {SDPA "cudnn_attention_backward", NULL, true, {1, 2, 14, 0, 0, true}},
    /* query, key, value, attn_bias, grad_input_mask, out, logsumexp,
     * cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal */
    {SDPA "fused_attention_overrideable_backward",
     NULL,
     true,
     {1, 2, 13, 0, 0, true}},
    /* query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
     * is_causal, return_debug_mask, scale, window_size_left,
     * window_size_right */
    {"aten::_flash_attention_forward", NULL, true, {0, 3, 8, 3, 11, false}},
    /* query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
     * dropout_p, is_causal, rng_state, unused, scale, window_size_left,
     * window_size_right */
    {"aten::_flash_attention_backward", NULL, true, {1, 3, 11, 6, 15, true}},
    /* query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
     * max_seqlen_k, dropout_p, custom_mask_type, compute_log_sumexp, scale,
     * seqlen_k, window_size */
    {"aten::_efficient_attention_forward",
     NULL,
     true,
     {0, 3, 9, 4, 13, false}},
    /* query, key, value, bias, out, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
     * max_seqlen_k, logsumexp, dropout_p, philox_seed, philox_offset,
     * custom_mask_type, bias_requires_grad, scale, num_splits_key, window_size
     */
    {"aten::_efficient_attention_backward",
     NULL,
     true,
     {1, 3, 14, 6, 18, true}},
};

static const fd_flop_formula *
find(const fd_flop_formula *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

const fd_flop_formula *
fd_flop_formula_of(const char *name)
{
    const fd_flop_formula *found =
        find(formulas, sizeof formulas / sizeof *formulas, name);
    return found != NULL
             ? found
             : find(attentions, sizeof attentions / sizeof *attentions, name);
}

bool
fd_flop_formula_count(const fd_flop_formula *formula, fd_operand_list inputs,
                      uint64_t *flops)
{
    return formula->count != NULL
             ? formula->count(inputs, flops)
             : attention(inputs, formula->attention, flops);
}

bool
fd_flop_is_custom(const char *name)
{
    static const char *const known[] = {"aten::",     "prim::",   "c10d",
                                        "profiler::", "mkldnn::", "_c10d"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(name, known[i], strlen(known[i])) == 0) {
            return false;
        }
    }
    return strstr(name, "::") != NULL;
}

uint64_t
fd_operand_bytes(fd_operand_list inputs)
{
    uint64_t bytes = 0;
    fd_tensor_view tensor;
    fd_operand_list list;
    for (uint32_t i = 0; i < inputs.count; i++) {
        if (fd_operands_tensor(inputs, i, &tensor)) {
            bytes +=
                (uint64_t)tensor.elements * fd_dtype_at(tensor.dtype)->bytes;
        }
        else if (fd_operands_list(inputs, i, &list)) {
            bytes += fd_operand_bytes(list);
        }
    }
    return bytes;
}
