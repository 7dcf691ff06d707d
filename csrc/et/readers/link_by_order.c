#include "et/readers/kineto_reader.h"

#include <stdint.h>

/* Maximum number of consecutive calls that only one of the traces has, and
 * number of calls that must agree after them. */
enum { MOST_SKIPPED = 256, CONTEXT = 4 };

/* Calls of two threads that start within this time can be in a different order
 * in the two traces. */
enum { UNORDERED_NS = 100000 };

/* The calls of one thread, a range of a list. */
typedef struct thread {
    uint32_t first;
    uint32_t end;
    bool used;
} thread;

typedef struct entry {
    uint64_t thread;
    int64_t seq; /* autograd's number; -1: unknown */
    uint32_t name;
    uint32_t index; /* of the node, or of the operator */
    bool found;     /* matched with the other trace */
} entry;

typedef struct side {
    FD_VECTOR(entry) calls; /* sorted by thread, then by start */
    FD_VECTOR(thread) threads;
} side;

/* The range of indexes of the node of an operator: after the nodes of operators
 * that started clearly before it, and before those of later ones. */
typedef struct bound {
    uint32_t first;
    uint32_t end;
} bound;

typedef struct joining {
    side nodes;
    side ops;
    fd_kineto *k;
    bound *bounds; /* per operator */
} joining;

FD_ORDER_BY(by_thread, entry, thread, index)

FD_ORDER_BY(by_name, entry, name, index)

FD_ORDER_AS(by_start, fd_kineto_op, FD_UP(start), FD_DOWN(dur))

static void
split_threads(fd_arena *scratch, side *s)
{
    fd_vector_sort(&s->calls, by_thread);
    for (uint32_t i = 0; i < s->calls.count; i++) {
        if (i == 0 || s->calls.list[i].thread != s->calls.list[i - 1].thread) {
            fd_arena_push(scratch, &s->threads, (thread){.first = i});
        }
        s->threads.list[s->threads.count - 1].end = i + 1;
    }
}

static void
list_nodes(fd_arena *scratch, const fd_et *et, side *s)
{
    const uint8_t others = FD_ET_GPU | FD_ET_THREAD | FD_ET_PROCESS;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        if ((node->flags & others) == 0) {
            entry each = {node->tid, node->seq, node->name, i, false};
            fd_arena_push(scratch, &s->calls, each);
        }
    }
    split_threads(scratch, s);
}

static void
list_ops(fd_arena *scratch, const fd_kineto *k, side *s)
{
    fd_vector_sort(&k->ops, by_start);
    for (uint32_t i = 0; i < k->ops.count; i++) {
        const fd_kineto_op *op = &k->ops.list[i];
        entry each = {op->thread, op->seq, op->name, i, false};
        fd_arena_push(scratch, &s->calls, each);
    }
    split_threads(scratch, s);
}

/* Return whether a node may be an operator. */
static bool
entries_equal(const joining *j, const entry *node, const entry *op)
{
    const bound *b = &j->bounds[op->index];
    return node->name == op->name && node->index >= b->first
        && node->index < b->end
        && (node->seq < 0 || op->seq < 0 || node->seq == op->seq);
}

/* Return the number of next calls that are equal on both sides. */
static int64_t
count_agreement(const joining *j, const entry *node, const entry *node_end,
                const entry *op, const entry *op_end)
{
    int64_t count = 0;
    while (count < CONTEXT && node < node_end && op < op_end
           && entries_equal(j, node, op)) {
        node++;
        op++;
        count++;
    }
    return count;
}

/* Skip calls of one side until the next ones agree: as few as possible, or a
 * few more if more calls agree then. */
static void
skip_calls(const joining *j, const entry **node, const entry *node_end,
           const entry **op, const entry *op_end)
{
    int64_t best = INT64_MAX;
    int64_t steps[2] = {1, 1};
    for (int64_t i = 1; i <= MOST_SKIPPED && i - 2 * CONTEXT < best; i++) {
        for (int which = 0; which < 2; which++) {
            int64_t capacity = which == 0 ? node_end - *node : op_end - *op;
            int64_t count = i >= capacity
                              ? 0
                              : count_agreement(
                                  j, *node + (which == 0 ? i : 0), node_end,
                                  *op + (which == 1 ? i : 0), op_end);
            if (count > 0 && i - 2 * count < best) {
                best = i - 2 * count;
                steps[which] = i;
                steps[1 - which] = 0;
            }
        }
    }
    *node += steps[0];
    *op += steps[1];
}

static void
store_pair(joining *j, const entry *node, const entry *op)
{
    j->k->ops.list[op->index].index = node->index + 1;
    j->nodes.calls.list[node - j->nodes.calls.list].found = true;
    j->ops.calls.list[op - j->ops.calls.list].found = true;
}

/* Return the number of calls that two threads have in common, in order. */
static uint32_t
align_calls(joining *j, const thread *of_nodes, const thread *of_ops,
            bool stores)
{
    uint32_t count = 0;
    const entry *node = j->nodes.calls.list + of_nodes->first;
    const entry *node_end = j->nodes.calls.list + of_nodes->end;
    const entry *op = j->ops.calls.list + of_ops->first;
    const entry *op_end = j->ops.calls.list + of_ops->end;
    while (node < node_end && op < op_end) {
        if (!entries_equal(j, node, op)) {
            skip_calls(j, &node, node_end, &op, op_end);
            continue;
        }
        if (stores) {
            store_pair(j, node, op);
        }
        node++;
        op++;
        count++;
    }
    return count;
}

/* Find the range of indexes of each operator; nodes and operators are sorted by
 * start. */
static void
find_bounds(joining *j)
{
    const fd_kineto *k = j->k;
    uint32_t first = 0;
    for (uint32_t i = 0, at = 0; i < k->ops.count; i++) {
        int64_t before = k->ops.list[i].start - UNORDERED_NS;
        for (; k->ops.list[at].start < before; at++) {
            uint32_t index = k->ops.list[at].index;
            first = index > first ? index : first;
        }
        j->bounds[i].first = first;
    }
    uint32_t end = UINT32_MAX;
    for (uint32_t i = k->ops.count, at = k->ops.count; i-- > 0;) {
        int64_t after = k->ops.list[i].start + UNORDERED_NS;
        for (; k->ops.list[at - 1].start > after; at--) {
            uint32_t index = k->ops.list[at - 1].index;
            end = index != 0 && index - 1 < end ? index - 1 : end;
        }
        j->bounds[i].end = end;
    }
}

/* Find the two threads with the most calls in common; return false if no
 * threads have any. */
static bool
find_pair(joining *j, thread *pair[2])
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < j->nodes.threads.count; i++) {
        for (uint32_t n = 0; n < j->ops.threads.count; n++) {
            thread *of_nodes = &j->nodes.threads.list[i];
            thread *of_ops = &j->ops.threads.list[n];
            bool used = of_nodes->used || of_ops->used;
            uint32_t count =
                used ? 0 : align_calls(j, of_nodes, of_ops, false);
            if (count > most) {
                most = count;
                pair[0] = of_nodes;
                pair[1] = of_ops;
            }
        }
    }
    return most > 0;
}

/* Match threads by the most calls in common, since thread numbers differ
 * between the traces. */
static void
align_threads(joining *j)
{
    thread *pair[2];
    find_bounds(j);
    while (find_pair(j, pair)) {
        align_calls(j, pair[0], pair[1], true);
        pair[0]->used = true;
        pair[1]->used = true;
        find_bounds(j);
    }
}

/* Keep unmatched calls, sorted by name, then by start. */
static void
keep_missing(side *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->calls.count; i++) {
        if (!s->calls.list[i].found) {
            s->calls.list[count++] = s->calls.list[i];
        }
    }
    s->calls.count = count;
    fd_vector_sort(&s->calls, by_name);
}

/* Match work of other threads, which an execution trace can assign to the
 * thread of its caller: the n-th node of a name is the n-th operator of the
 * other threads, within its range of indexes. */
static void
find_work(joining *j)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < j->ops.calls.count; i++) {
        const entry *op = &j->ops.calls.list[i];
        const entry *node = j->nodes.calls.list + at;
        const entry *end = j->nodes.calls.list + j->nodes.calls.count;
        uint32_t first = j->bounds[op->index].first;
        while (node < end
               && (node->name < op->name
                   || (node->name == op->name && node->index < first))) {
            node++;
        }
        if (node < end && entries_equal(j, node, op)) {
            store_pair(j, node++, op);
        }
        at = (uint32_t)(node - j->nodes.calls.list);
    }
}

static bool
is_numbered(const fd_kineto *kineto)
{
    for (uint32_t i = 0; i < kineto->ops.count; i++) {
        if (kineto->ops.list[i].rf_id != 0) {
            return true;
        }
    }
    return false;
}

void
fd_et_link_by_order(fd_et *et, fd_kineto *kineto)
{
    if (kineto->ops.count == 0 || is_numbered(kineto)) {
        return;
    }
    fd_arena *scratch = fd_arena_part(&et->arena);
    joining j = {.k = kineto};
    j.bounds = fd_arena_new(scratch, kineto->ops.count, sizeof *j.bounds);
    list_nodes(scratch, et, &j.nodes);
    list_ops(scratch, kineto, &j.ops);
    align_threads(&j);
    keep_missing(&j.nodes);
    keep_missing(&j.ops);
    find_work(&j);
    fd_arena_drop(scratch);
}
