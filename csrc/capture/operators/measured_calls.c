#include "capture/operators/measured_calls.h"

#include "capture/operands/elementwise_counts.h"
#include "capture/operands/flop_formulas.h"
#include "capture/operands/operand_key.h"
#include "capture/operators/shape_calls.h"
#include "capture/torch/record_layout.h"

/* Kinds of figures of an operator, in one byte. For element-wise operators,
 * the other bytes are the fd_elementwise. */
enum { NO_FORMULA, UNKNOWN, FORMULA, ELEMENTWISE, FIGURES = 255 };

static uint32_t
figures_of(const char *name)
{
    fd_elementwise of = fd_elementwise_of(name);
    return of.count != 0
             ? ELEMENTWISE | (uint32_t)of.count << 8
                   | (uint32_t)of.operands << 16 | (uint32_t)of.buffers << 24
             : (fd_flop_is_custom(name) ? UNKNOWN : NO_FORMULA);
}

/* Return whether the operator that was counted last is still open. */
static bool
is_inside(const fd_tree *tree, uint32_t depth)
{
    const fd_measures *measures = &tree->measures;
    uint32_t counted = measures->counted_depth;
    return counted != 0 && counted < depth
        && tree->stack[counted - 1].owner == measures->counted;
}

/* Determine how to measure the operator of a new site. */
static __attribute__((noinline)) void
resolve(const fd_tree *tree, fd_measure_site *site)
{
    const fd_file *file = &tree->recording->file;
    const fd_node *node = fd_file_record(file, tree->current->node);
    const char *name = fd_strings_text(file, node->name);
    site->formula = fd_flop_formula_of(name);
    site->figures = site->formula != NULL ? FORMULA : figures_of(name);
    site->values = fd_shapes_keep_values(name);
}

/* Set kind and FLOPs of a call; kind 0: nothing to count. */
static void
count(fd_measure_site *site, fd_operand_list inputs)
{
    const fd_flop_formula *formula = site->formula;
    site->kind = 0;
    site->flops = 0;
    switch (site->figures & FIGURES) {
    case FORMULA:
        if (fd_flop_formula_count(formula, inputs, &site->flops)) {
            site->kind = FD_MEASURE_FLOPS;
        }
        else if (formula->count == NULL) { /* lengths or windows */
            site->kind = FD_MEASURE_UNKNOWN;
        }
        break;
    case UNKNOWN:
        site->kind = FD_MEASURE_UNKNOWN;
        break;
    case ELEMENTWISE:
        site->kind = FD_MEASURE_ELEMENTWISE;
        site->flops = fd_elementwise_flops(
            (fd_elementwise){(uint8_t)(site->figures >> 8),
                             (uint8_t)(site->figures >> 16),
                             (uint8_t)(site->figures >> 24)},
            inputs);
        break;
    default:
        break;
    }
}

/* Compute the figures of a call whose inputs differ from the last ones of this
 * site. They are kept for the next call if they only depend on its key and
 * have their records. */
static __attribute__((noinline)) void
renew(fd_tree *tree, fd_measure_site *site, uint32_t kinds,
      fd_operand_list inputs)
{
    const fd_flop_formula *formula = site->formula;
    bool every = (kinds & FD_MEASURING_SHAPES) != 0;
    bool custom = site->figures == UNKNOWN;
    bool all = false;
    site->key[0] = FD_NO_KEY;
    if (every || custom) {
        all =
            fd_shapes_renew(tree, site, every ? 0 : FD_MEASURE_CUSTOM, inputs);
    }
    if ((kinds & FD_MEASURING_FLOPS) != 0) {
        count(site, inputs);
        site->flop_bytes = site->kind == 0 ? 0
                         : all             ? site->bytes
                                           : fd_operand_bytes(inputs);
    }
    if (!site->spare && !site->values && (!every || site->shape != NULL)
        && (formula == NULL || !formula->numbers)) {
        fd_operand_key_store(site->key, inputs);
    }
}

static void
add_flops(fd_tree *tree, fd_measure_site *site, const void *record)
{
    bool grad =
        (int64_t)fd_record_word(record, fd_record_layout->sequence) >= 0;
    fd_measure **to = &site->counts[grad];
    if (__builtin_expect(*to == NULL, false)) {
        *to = fd_measures_at(
            tree, (fd_measure_key){.context = site->context,
                                   .kind = site->kind,
                                   .flags = grad ? FD_MEASURE_GRAD : 0});
    }
    fd_measure_add(*to, site->flops, site->flop_bytes);
    tree->measures.flops += site->kind == FD_MEASURE_FLOPS ? site->flops : 0;
    if (site->kind != FD_MEASURE_UNKNOWN) {
        tree->measures.counted_depth = fd_tree_depth(tree);
        tree->measures.counted = (uintptr_t)record;
    }
}

void
fd_measured_start(fd_thread *thread, const void *record)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    uint32_t kinds = thread->session->measures.kinds;
    bool shapes = (kinds & FD_MEASURING_SHAPES) != 0;
    if (depth == 0 || tree->stack[depth - 1].owner != (uintptr_t)record
        || tree->stack[depth - 1].flags != FD_ENTRY_OP
        || !fd_record_has_schema(record)) {
        return;
    }
    bool flops = (kinds & FD_MEASURING_FLOPS) != 0 && !is_inside(tree, depth);
    if (flops) {
        tree->measures.counted_depth = 0;
    }
    else if (!shapes) {
        return;
    }
    fd_measure_site *site =
        fd_sites_at(&tree->measures.sites, fd_tree_id(tree, tree->current));
    if (__builtin_expect(site->figures == FD_NO_FIGURES, false)) {
        resolve(tree, site);
    }
    if (!shapes && site->figures == NO_FORMULA) {
        return;
    }
    fd_operand_list inputs = fd_operands_of(record);
    if (!fd_operand_key_is(site->key, inputs)) {
        renew(tree, site, kinds, inputs);
    }
    if (shapes || site->figures == UNKNOWN) {
        fd_measure_add(site->shape, site->elements, site->bytes);
    }
    if (flops && site->kind != 0) {
        add_flops(tree, site, record);
    }
}
