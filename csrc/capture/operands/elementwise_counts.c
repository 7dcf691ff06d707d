#include "capture/operands/elementwise_counts.h"

#include <string.h>

enum { MAX_DIMENSIONS = 16 };

static const struct {
    const char *name; /* name after "aten::" */
    uint8_t count;
    uint8_t operands; /* number of leading operands, whose sizes are
                         broadcast */
    uint8_t buffers;  /* see fd_elementwise */
} counts[] = {
    {"add", 1, 2, 0},
    {"sub", 1, 2, 0},
    {"rsub", 1, 2, 0},
    {"mul", 1, 2, 0},
    {"div", 1, 2, 0},
    {"neg", 1, 1, 0},
    {"abs", 1, 1, 0},
    {"pow", 1, 2, 0},
    {"exp", 1, 1, 0},
    {"log", 1, 1, 0},
    {"sqrt", 1, 1, 0},
    {"rsqrt", 1, 1, 0},
    {"reciprocal", 1, 1, 0},
    {"sin", 1, 1, 0},
    {"cos", 1, 1, 0},
    {"tanh", 1, 1, 0},
    {"erf", 1, 1, 0},
    {"maximum", 1, 2, 0},
    {"minimum", 1, 2, 0},
    {"clamp_min", 1, 1, 0},
    {"relu", 1, 1, 0},
    {"threshold_backward", 1, 1, 0},
    {"sum", 1, 1, 0},
    {"mean", 1, 1, 0},
    {"lerp", 3, 3, 0},             /* (b - a) * weight + a */
    {"addcmul", 3, 3, 0},          /* a + value * b * c */
    {"addcdiv", 3, 3, 0},          /* a + value * b / c */
    {"sigmoid", 3, 1, 0},          /* 1 / (1 + exp(x)) */
    {"sigmoid_backward", 3, 1, 0}, /* g * (1 - y) * y */
    {"tanh_backward", 3, 1, 0},    /* g * (1 - y * y) */
    {"silu", 4, 1, 0},             /* x / (1 + exp(-x)) */
    {"silu_backward", 8, 1, 0},    /* sigmoid; g * s * (1 + x * (1 - s)) */
    {"gelu", 5, 1, 0},             /* x * 0.5 * (1 + erf(x * c)) */
    {"gelu_backward", 11, 1, 0},   /* cdf 4, density 4, (cdf + x * d) * g 3 */
    {"_softmax", 5, 1, 0},     /* maximum, difference, exp, sum, quotient */
    {"_log_softmax", 5, 1, 0}, /* as above, and a difference */
    {"_softmax_backward_data", 4, 1,
     0}, /* product, sum, difference, product */
    {"_log_softmax_backward_data", 4, 1,
     0},                            /* sum, exp, product, difference */
    {"native_layer_norm", 8, 1, 0}, /* mean 1, variance 3, x 2, affine 2 */
    {"native_group_norm", 8, 1, 0},
    {"native_batch_norm", 8, 1, 0},
    {"_fused_rms_norm", 4, 1, 0}, /* squares 2, product 1, weight 1 */
    {"native_layer_norm_backward", 13, 1,
     0}, /* g * w 1, x 2, sums 3, gradient 4,
                                              weight 2, bias 1 */
    {"native_group_norm_backward", 13, 1, 0},
    {"native_batch_norm_backward", 13, 1, 0},
    {"embedding_dense_backward", 1, 1, 0},
    {"_foreach_add", 1, 1, 0},
    {"_foreach_sub", 1, 1, 0},
    {"_foreach_mul", 1, 1, 0},
    {"_foreach_div", 1, 1, 0},
    {"_foreach_sqrt", 1, 1, 0},
    {"_foreach_lerp", 3, 1, 0},
    {"_foreach_addcmul", 3, 1, 0},
    {"_foreach_addcdiv", 3, 1, 0},
    /* Same counts as the list operators that these replace. */
    {"_fused_adam", 13, 1, 0},  /* lerp 3, mul 1, addcmul 3, sqrt 1, div 1, add
                                 1, addcdiv 3; without weight decay */
    {"_fused_adamw", 14, 1, 0}, /* as above, and weight decay */
    {"_fused_adagrad", 8, 1, 0}, /* addcmul 3, sqrt 1, add 1, addcdiv 3 */
    {"_fused_sgd", 1, 1, 2},     /* add 1; momentum: mul 1, add 1; without
                                    weight decay and Nesterov momentum */
};

/* Return whether `name` is `plain` or its in-place variant. */
static bool
is_named(const char *name, const char *plain)
{
    size_t size = strlen(plain);
    return strncmp(name, plain, size) == 0
        && (name[size] == '\0' || strcmp(name + size, "_") == 0);
}

fd_elementwise
fd_elementwise_of(const char *name)
{
    static const char prefix[] = "aten::";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return (fd_elementwise){0, 0, 0};
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (is_named(name + sizeof prefix - 1, counts[i].name)) {
            return (fd_elementwise){counts[i].count, counts[i].operands,
                                    counts[i].buffers};
        }
    }
    return (fd_elementwise){0, 0, 0};
}

/* Return the number of elements of the tensors in a list, which is also the
 * number of results. */
static uint64_t
elements_of_list(fd_operand_list list)
{
    fd_tensor_view tensor;
    uint64_t elements = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        if (fd_operands_tensor(list, i, &tensor)) {
            elements += (uint64_t)tensor.elements;
        }
    }
    return elements;
}

/* Keep the larger size of each dimension, counted from the last one. */
static void
broadcast(uint64_t *sizes, const fd_tensor_view *tensor)
{
    for (uint32_t i = 0; i < tensor->dimensions && i < MAX_DIMENSIONS; i++) {
        uint64_t size = (uint64_t)tensor->sizes[tensor->dimensions - 1 - i];
        sizes[i] = size != 1 ? size : sizes[i];
    }
}

uint64_t
fd_elementwise_flops(fd_elementwise of, fd_operand_list inputs)
{
    uint64_t sizes[MAX_DIMENSIONS];
    uint64_t elements = 1;
    fd_tensor_view tensor;
    fd_operand_list list;
    if (fd_operands_list(inputs, 0, &list)) {
        uint64_t all = of.count * elements_of_list(list);
        return of.buffers != 0 && fd_operands_list(inputs, 2, &list)
                 ? all + of.buffers * elements_of_list(list)
                 : all;
    }
    for (uint32_t i = 0; i < MAX_DIMENSIONS; i++) {
        sizes[i] = 1;
    }
    for (uint32_t i = 0; i < inputs.count && i < of.operands; i++) {
        if (fd_operands_tensor(inputs, i, &tensor)) {
            broadcast(sizes, &tensor);
        }
    }
    for (uint32_t i = 0; i < MAX_DIMENSIONS; i++) {
        elements *= sizes[i];
    }
    return of.count * elements;
}
