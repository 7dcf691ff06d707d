#include "capture/operators/measured_calls.h"

#include "capture/operands/elementwise_counts.h"
#include "capture/operands/flop_formulas.h"
#include "capture/operators/shape_calls.h"
#include "capture/torch/record_layout.h"

/* Figures of an operator, of one byte. Of element-wise operators the other
 * bytes are fd_elementwise. */
enum { NO_FORMULA, UNKNOWN, FORMULA, ELEMENTWISE, FIGURES = 255 };

static uint32_t
figures_of(const char *name, fd_flop_formula **formula)
{
    *formula = fd_flop_formula_of(name);
    if (*formula != NULL) {
        return FORMULA;
    }
    fd_elementwise of = fd_elementwise_of(name);
    return of.count != 0 ? ELEMENTWISE | (uint32_t)of.count << 8
                               | (uint32_t)of.operands << 16
                         : (fd_flop_is_custom(name) ? UNKNOWN : NO_FORMULA);
}

/* The figures of the operator of a node, from the map of the thread; FORMULA
 * with the formula. */
static uint32_t
find(fd_tree *tree, uint32_t node, fd_flop_formula **formula)
{
    uint32_t found = fd_map_get(&tree->measures.formulas, node);
    const fd_node *of = fd_file_record(&tree->recording->file, node);
    if (found != 0 && found != FORMULA + 1) {
        return found - 1;
    }
    const char *name = fd_strings_text(&tree->recording->file, of->name);
    uint32_t what = figures_of(name, formula);
    if (found == 0) {
        fd_map_put(&tree->measures.formulas, node, what + 1);
    }
    return what;
}

/* Whether the operator that was counted last is still open. */
static bool
is_inside(const fd_tree *tree, uint32_t depth)
{
    const fd_measures *measures = &tree->measures;
    uint32_t counted = measures->counted_depth;
    return counted != 0 && counted < depth
        && tree->stack[counted - 1].owner == measures->counted;
}

/* The FLOPs of a call and their kind; false: nothing to count. */
static bool
count(uint32_t what, fd_flop_formula *formula, fd_operand_list inputs,
      uint16_t *kind, uint64_t *flops)
{
    switch (what & FIGURES) {
    case FORMULA:
        *kind = FD_MEASURE_FLOPS;
        return formula(inputs, flops);
    case UNKNOWN:
        *kind = FD_MEASURE_UNKNOWN;
        return true;
    case ELEMENTWISE:
        *kind = FD_MEASURE_ELEMENTWISE;
        *flops = fd_elementwise_flops(
            (fd_elementwise){(uint8_t)(what >> 8), (uint8_t)(what >> 16)},
            inputs);
        return true;
    default:
        return false;
    }
}

void
fd_measured_start(fd_thread *thread, const void *record)
{
    fd_tree *tree = thread->tree;
    fd_measures *measures = &tree->measures;
    uint32_t depth = fd_tree_depth(tree);
    fd_flop_formula *formula = NULL;
    if (depth == 0 || tree->stack[depth - 1].owner != (uintptr_t)record
        || tree->stack[depth - 1].flags != FD_ENTRY_OP
        || !fd_record_has_schema(record) || is_inside(tree, depth)) {
        return;
    }
    measures->counted_depth = 0;
    uint32_t what = find(tree, tree->current->node, &formula);
    uint64_t flops = 0;
    fd_operand_list inputs = fd_operands_of(record);
    uint16_t kind = 0;
    if (!count(what, formula, inputs, &kind, &flops)) {
        return;
    }
    bool grad =
        (int64_t)fd_record_word(record, fd_record_layout->sequence) >= 0;
    fd_measure_key key = {
        .context = fd_tree_id(tree, tree->current),
        .kind = kind,
        .flags = grad ? FD_MEASURE_GRAD : 0,
    };
    fd_measure_add(fd_measures_at(tree, key), flops, fd_operand_bytes(inputs));
    if (what == UNKNOWN) {
        if ((thread->session->measures.kinds & FD_MEASURING_SHAPES) == 0) {
            fd_shape_call_start(thread, record);
        }
    }
    else {
        measures->counted_depth = depth;
        measures->counted = (uintptr_t)record;
    }
}
