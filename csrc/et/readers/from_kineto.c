#include "et/readers/et_readers.h"

#include "et/tools/et_link.h"

#include <stdio.h>
#include <string.h>

typedef struct making {
    fd_et *et;
    fd_kineto *k;
    uint64_t *numbers; /* owned; PyTorch's number per operator, which links
                        * both traces */
    uint32_t threads;
} making;

static fd_status
add_root(making *m, const char *what)
{
    char name[64];
    fd_et_node *node = fd_et_add(m->et);
    if (node == NULL) {
        return FD_ENOMEM;
    }
    node->id = m->et->nodes.count;
    node->parent_id = 1;
    node->seq = -1;
    node->scope = 7;
    node->tid = m->threads;
    int size = snprintf(name, sizeof name,
                        "[pytorch|profiler|execution_trace|%s]", what);
    return fd_text_pool_add_clean(&m->et->texts, name, (size_t)size,
                                  &node->name);
}

static fd_status
add_op(making *m, uint32_t index, uint64_t parent)
{
    fd_kineto_op *op = &m->k->ops.list[index];
    fd_et_node *node = fd_et_add(m->et);
    if (node == NULL) {
        return FD_ENOMEM;
    }
    node->id = m->et->nodes.count;
    node->parent_id = parent;
    node->seq = op->seq;
    node->tid = m->threads;
    node->name = op->name;
    node->in = op->in;
    m->numbers[index] = op->rf_id;
    node->rf_id = op->rf_id = (uint64_t)index + 1;
    return FD_OK;
}

/* Return whether an operator has ended. An operator of length 0 encloses no
 * other. */
static bool
is_over(const fd_kineto_op *op, int64_t when)
{
    return op->dur == 0 || fd_plus(op->start, op->dur) <= when;
}

/* Set the parent of each operator: the last open one of its thread. `open` has
 * one entry per operator. */
static fd_status
add_ops(making *m, uint32_t *open)
{
    const fd_kineto_op *ops = m->k->ops.list;
    uint32_t depth = 0;
    uint64_t first = 0; /* id of the first operator of the thread */
    uint32_t first_place = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < m->k->ops.count && status == FD_OK; i++) {
        if (i == 0 || ops[i].thread != ops[i - 1].thread) {
            m->threads++;
            status = add_root(m, "thread");
            depth = 0;
            first = m->et->nodes.count + 1;
            first_place = i;
        }
        while (depth > 0 && is_over(&ops[open[depth - 1]], ops[i].start)) {
            depth--;
        }
        uint64_t parent =
            depth > 0 ? first + (open[depth - 1] - first_place) : first - 1;
        if (status == FD_OK) {
            status = add_op(m, i, parent);
            open[depth++] = i;
        }
    }
    return status;
}

static fd_status
make_nodes(making *m)
{
    fd_kineto *k = m->k;
    size_t capacity = (size_t)k->ops.count + 1;
    uint32_t *open = fd_malloc(capacity * sizeof *open);
    m->numbers = fd_malloc(capacity * sizeof *m->numbers);
    fd_status status = open != NULL && m->numbers != NULL
                         ? add_root(m, "process")
                         : FD_ENOMEM;
    if (status == FD_OK) {
        fd_kineto_sort_ops(k);
        status = add_ops(m, open);
    }
    fd_free(open);
    return status == FD_OK ? fd_et_finish(m->et) : status;
}

/* Copy the faults of the Kineto trace. */
static void
tell_faults(fd_et *et, const fd_kineto *k, const fd_et_link *link)
{
    et->faults.lost = k->lost;
    et->faults.lost_bytes = k->lost_bytes;
    snprintf(et->faults.trouble, sizeof et->faults.trouble, "%s", k->trouble);
    et->faults.wrong += k->timeless;
    et->faults.orphans += link->alone;
    et->finished = k->lost == 0;
}

fd_status
fd_et_from_kineto(fd_et *et, const char *path, fd_error *error)
{
    fd_kineto k;
    fd_et_link link;
    making m = {.et = et, .k = &k};
    *et = (fd_et){.rank = -1};
    fd_status status = fd_kineto_read(&k, et, path, true, error);
    if (status == FD_OK && k.ops.count == 0 && k.kernels.count == 0) {
        status = fd_fail(error, FD_EFORMAT,
                         "%s: a trace without operators and kernels", path);
    }
    if (status == FD_OK) {
        status = make_nodes(&m);
    }
    if (status == FD_OK) {
        status = fd_et_link_kineto(et, &k, &link);
    }
    if (status == FD_OK) {
        tell_faults(et, &k, &link);
        for (uint32_t i = 0; i < et->nodes.count; i++) {
            fd_et_node *node = &et->nodes.list[i];
            node->rf_id = node->rf_id == 0 ? 0 : m.numbers[node->rf_id - 1];
        }
    }
    fd_free(m.numbers);
    fd_kineto_clear(&k);
    return status;
}
