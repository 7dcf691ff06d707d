#include "et/tools/et_link.h"

#include "et/et_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct linking {
    fd_et *et;
    fd_kineto *k;
    fd_et_link *link;
    fd_arena *scratch;
    fd_map *by_rf;       /* PyTorch's number -> reference of the node */
    fd_map *by_external; /* Kineto's number -> index of the operator + 1 */
    fd_map *by_call;     /* correlation -> index of the call + 1 */
    int64_t *keys;       /* per node, the time to sort by */
} linking;

static void
map_nodes(linking *l)
{
    for (uint32_t i = 0; i < l->et->nodes.count; i++) {
        const fd_et_node *node = &l->et->nodes.list[i];
        if (node->rf_id != 0 && fd_map_get(l->by_rf, node->rf_id) == 0) {
            fd_arena_put(l->scratch, l->by_rf, node->rf_id, i + 1);
        }
    }
}

static void
join_node(linking *l, fd_kineto_op *op, uint32_t index)
{
    fd_et *et = l->et;
    fd_et_node *node = &et->nodes.list[index];
    if (node->name != op->name) {
        if (l->link->renamed++ == 0) {
            snprintf(l->link->example, sizeof l->link->example,
                     "%" PRIu64 " is %.64s in one and %.64s in the other",
                     op->rf_id, fd_et_text(et, node->name),
                     fd_et_text(et, op->name));
        }
        return;
    }
    if ((node->flags & FD_ET_LINKED) != 0) {
        l->link->again++;
        return;
    }
    node->flags |= FD_ET_TIMED | FD_ET_LINKED;
    node->start_ns = op->start;
    node->dur_ns = op->dur;
    node->thread = op->thread;
    op->index = index + 1;
    l->link->linked++;
}

static void
join_ops(linking *l)
{
    for (uint32_t i = 0; i < l->k->ops.count; i++) {
        fd_kineto_op *op = &l->k->ops.list[i];
        uint32_t index =
            op->rf_id == 0 ? op->index : fd_map_get(l->by_rf, op->rf_id);
        l->link->by_order += op->rf_id == 0 && index != 0;
        l->link->unnumbered += op->rf_id == 0 && index == 0;
        l->link->only_kineto += op->rf_id != 0 && index == 0;
        if (index != 0) {
            join_node(l, op, index - 1);
        }
    }
}

/* Set threads of nodes without an operator in Kineto: a node is on the thread
 * of its parent, the root of a thread on the thread of its children. */
static void
spread_threads(linking *l)
{
    fd_et *et = l->et;
    for (uint32_t i = et->nodes.count; i-- > 0;) {
        const fd_et_node *node = &et->nodes.list[i];
        if (node->parent != 0 && node->thread != 0) {
            fd_et_node *parent = &et->nodes.list[node->parent - 1];
            bool root = (parent->flags & FD_ET_THREAD) != 0;
            parent->thread = root ? node->thread : parent->thread;
        }
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[i];
        const uint8_t known = FD_ET_LINKED | FD_ET_THREAD | FD_ET_PROCESS;
        l->link->only_et += (node->flags & known) == 0;
        if (node->thread == 0 && (node->flags & FD_ET_PROCESS) == 0) {
            node->thread = node->parent == 0
                             ? 0
                             : et->nodes.list[node->parent - 1].thread;
        }
    }
}

FD_ORDER_BY(calls_by_time, fd_kineto_call, thread, start)

/* Callers before the calls they enclose. */
FD_ORDER_AS(ops_by_time, fd_kineto_op, FD_UP(thread), FD_UP(start),
            FD_DOWN(dur))

/* Find the operator around each call: the innermost one that is linked and
 * still open when the call begins. Both lists are sorted by thread and time. */
static void
find_around(linking *l)
{
    fd_kineto *k = l->k;
    uint32_t *open = fd_arena_new(l->scratch, k->ops.count, sizeof *open);
    uint32_t depth = 0;
    uint32_t op = 0;
    uint64_t thread = 0;
    for (uint32_t i = 0; i < k->calls.count; i++) {
        fd_kineto_call *call = &k->calls.list[i];
        depth = call->thread != thread ? 0 : depth;
        thread = call->thread;
        while (op < k->ops.count
               && (k->ops.list[op].thread < thread
                   || (k->ops.list[op].thread == thread
                       && k->ops.list[op].start <= call->start))) {
            if (k->ops.list[op].thread == thread
                && k->ops.list[op].index != 0) {
                open[depth++] = op;
            }
            op++;
        }
        while (depth > 0
               && k->ops.list[open[depth - 1]].start
                          + k->ops.list[open[depth - 1]].dur
                      < call->start) {
            depth--;
        }
        call->op = depth > 0 ? open[depth - 1] + 1 : 0;
    }
}

static void
match_calls(linking *l)
{
    fd_kineto *k = l->k;
    if (k->calls.count > 0) {
        fd_vector_sort(&k->ops, ops_by_time);
        fd_vector_sort(&k->calls, calls_by_time);
        find_around(l);
    }
    l->by_external = FD_KINETO_MAP(l->scratch, k->ops, fd_kineto_op, external);
    l->by_call =
        FD_KINETO_MAP(l->scratch, k->calls, fd_kineto_call, correlation);
}

/* Return the reference of the node that launched a kernel; `*when`: the time
 * of the launch. */
static uint32_t
kernel_launcher(linking *l, const fd_kineto_kernel *kernel, int64_t *when)
{
    uint32_t call = fd_map_get(l->by_call, kernel->correlation);
    *when = call != 0 ? l->k->calls.list[call - 1].start : kernel->start;
    uint32_t op = call != 0 ? l->k->calls.list[call - 1].op : 0;
    if (op == 0) {
        op = fd_map_get(l->by_external, kernel->external);
        l->link->by_external += op != 0;
    }
    uint32_t index = op == 0 ? 0 : l->k->ops.list[op - 1].index;
    if (index != 0 && call == 0) {
        *when = l->et->nodes.list[index - 1].start_ns;
    }
    return index;
}

static void
add_kernel(linking *l, fd_kineto_kernel *kernel, uint64_t id, uint32_t parent)
{
    fd_et *et = l->et;
    fd_et_node *node = fd_et_add_kernel(et, id, parent);
    node->start_ns = kernel->start;
    node->dur_ns = node->self_ns = kernel->dur;
    node->stream = kernel->stream;
    node->device = kernel->device;
    node->name = kernel->name;
    node->category = kernel->category;
    kernel->index = et->nodes.count;
    l->link->alone += parent == 0;
    if (kernel->group == 0 && kernel->elements < 0) {
        return;
    }
    fd_et_comm *comm = fd_et_make_comm(et, et->nodes.count - 1);
    comm->group = kernel->group;
    comm->dtype = kernel->dtype;
    uint32_t item = fd_et_item_size(et, kernel->dtype);
    comm->bytes =
        kernel->elements >= 0 && item > 0 ? kernel->elements * item : -1;
}

/* Add the kernels. Operators are sorted by start, kernels by launch. Ids of
 * kernels are above all others. */
static void
add_kernels(linking *l)
{
    fd_et *et = l->et;
    uint32_t before = et->nodes.count;
    uint64_t next = before > 0 ? et->nodes.list[before - 1].id + 1 : 2;
    size_t all = (size_t)before + l->k->kernels.count + 1;
    l->keys = fd_arena_new(l->scratch, all, sizeof *l->keys);
    for (uint32_t i = 0; i < before; i++) {
        l->keys[i] = et->nodes.list[i].start_ns;
    }
    for (uint32_t i = 0; i < l->k->kernels.count; i++) {
        int64_t when;
        fd_kineto_kernel *kernel = &l->k->kernels.list[i];
        uint32_t parent = kernel_launcher(l, kernel, &when);
        l->keys[before + i] = when;
        add_kernel(l, kernel, next + i, parent);
    }
    l->link->kernels = l->k->kernels.count;
    fd_et_finish(et);
}

typedef struct timed {
    int64_t key;
    uint32_t index;
} timed;

FD_ORDER_BY(by_key, timed, key, index)

/* Sort and number by time; every node precedes its children, even if clocks
 * disagree. */
static void
number_by_time(linking *l)
{
    fd_et *et = l->et;
    uint32_t count = et->nodes.count;
    timed *list = fd_arena_new(l->scratch, count, sizeof *list);
    uint32_t *order = fd_arena_new(l->scratch, count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        bool root = (node->flags & FD_ET_PROCESS) != 0;
        l->keys[i] = root ? INT64_MIN : l->keys[i];
        if (node->parent != 0 && node->parent <= i
            && l->keys[node->parent - 1] > l->keys[i]) {
            l->keys[i] = l->keys[node->parent - 1];
        }
        list[i] = (timed){l->keys[i], i};
    }
    qsort(list, count, sizeof *list, by_key);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = list[i].index;
    }
    fd_et_renumber(et, order);
    et->faults.renumbered = 0;
}

fd_status
fd_et_link_kineto(fd_et *et, fd_kineto *k, fd_et_link *link)
{
    if (fd_arena_caught(&et->arena, NULL)) {
        return et->arena.status;
    }
    fd_arena *scratch = fd_arena_part(&et->arena);
    linking l = {.et = et,
                 .k = k,
                 .link = link,
                 .scratch = scratch,
                 .by_rf = fd_arena_map(scratch)};
    *link = (fd_et_link){.linked = 0};
    map_nodes(&l);
    fd_et_link_by_order(et, k);
    join_ops(&l);
    spread_threads(&l);
    fd_et_fill_times(et);
    match_calls(&l);
    add_kernels(&l);
    fd_et_find_self(et);
    fd_et_find_waits(et, k);
    number_by_time(&l);
    fd_arena_drop(scratch);
    return fd_arena_left(&et->arena);
}
