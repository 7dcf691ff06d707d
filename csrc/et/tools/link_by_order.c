#include "et/tools/link_by_order.h"

#include <stdint.h>
#include <stdlib.h>

/* Consecutive calls that only one of the traces has, and calls that must agree
 * after them. */
enum { LOOK_AHEAD = 256, CONTEXT = 4 };

/* The calls of one thread, as a part of a list. */
typedef struct thread {
    uint32_t first;
    uint32_t end;
    bool used;
} thread;

typedef struct entry {
    uint64_t thread;
    int64_t seq; /* autograd's number; -1: none */
    uint32_t name;
    uint32_t place; /* of the node, or of the operator */
} entry;

typedef struct side {
    FD_VECTOR(entry) calls; /* by thread, and then by start */
    FD_VECTOR(thread) threads;
} side;

static int
by_thread(const void *a, const void *b)
{
    const entry *one = a;
    const entry *other = b;
    return one->thread != other->thread
             ? (one->thread < other->thread ? -1 : 1)
         : one->place < other->place ? -1
                                     : one->place > other->place;
}

static int
by_start(const void *a, const void *b)
{
    const fd_kineto_op *one = a;
    const fd_kineto_op *other = b;
    return one->start != other->start ? (one->start < other->start ? -1 : 1)
         : one->dur != other->dur     ? (one->dur > other->dur ? -1 : 1)
                                      : 0;
}

static fd_status
split(side *s)
{
    fd_status status = FD_OK;
    if (s->calls.count > 0) {
        qsort(s->calls.list, s->calls.count, sizeof *s->calls.list, by_thread);
    }
    for (uint32_t i = 0; i < s->calls.count && status == FD_OK; i++) {
        if (i == 0 || s->calls.list[i].thread != s->calls.list[i - 1].thread) {
            status = fd_vector_push(&s->threads, (thread){.first = i});
        }
        if (status == FD_OK) {
            s->threads.list[s->threads.count - 1].end = i + 1;
        }
    }
    return status;
}

static fd_status
list_nodes(const fd_et *et, side *s)
{
    const uint8_t others = FD_ET_GPU | FD_ET_THREAD | FD_ET_PROCESS;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        if ((node->flags & others) == 0) {
            entry each = {node->tid, node->seq, node->name, i};
            status = fd_vector_push(&s->calls, each);
        }
    }
    return status == FD_OK ? split(s) : status;
}

static fd_status
list_ops(const fd_kineto *k, side *s)
{
    fd_status status = FD_OK;
    qsort(k->ops.list, k->ops.count, sizeof *k->ops.list, by_start);
    for (uint32_t i = 0; i < k->ops.count && status == FD_OK; i++) {
        const fd_kineto_op *op = &k->ops.list[i];
        entry each = {op->thread, op->seq, op->name, i};
        status = fd_vector_push(&s->calls, each);
    }
    return status == FD_OK ? split(s) : status;
}

static bool
equal(const entry *one, const entry *other)
{
    return one->name == other->name
        && (one->seq < 0 || other->seq < 0 || one->seq == other->seq);
}

/* How many of the next calls of both sides are equal. */
static int64_t
agreement(const entry *one, const entry *one_end, const entry *other,
          const entry *other_end)
{
    int64_t count = 0;
    while (count < CONTEXT && one < one_end && other < other_end
           && equal(one, other)) {
        one++;
        other++;
        count++;
    }
    return count;
}

/* Skip calls of one side until the next ones agree: the fewest, or some more if
 * then more agree. */
static void
skip(const entry **one, const entry *one_end, const entry **other,
     const entry *other_end)
{
    int64_t best = INT64_MAX;
    int64_t steps[2] = {1, 1};
    for (int64_t i = 1; i <= LOOK_AHEAD && i - 2 * CONTEXT < best; i++) {
        for (int which = 0; which < 2; which++) {
            int64_t room = which == 0 ? one_end - *one : other_end - *other;
            int64_t count =
                i >= room
                    ? 0
                    : agreement(*one + (which == 0 ? i : 0), one_end,
                                *other + (which == 1 ? i : 0), other_end);
            if (count > 0 && i - 2 * count < best) {
                best = i - 2 * count;
                steps[which] = i;
                steps[1 - which] = 0;
            }
        }
    }
    *one += steps[0];
    *other += steps[1];
}

/* How many calls two threads have in common, in order. If `k` is not NULL, they
 * are stored, and the thread of the nodes keeps the others. */
static uint32_t
align(const side *nodes, const side *ops, thread *node, const thread *op,
      fd_kineto *k)
{
    uint32_t count = 0;
    entry *kept = nodes->calls.list + node->first;
    const entry *one = kept;
    const entry *one_end = nodes->calls.list + node->end;
    const entry *other = ops->calls.list + op->first;
    const entry *other_end = ops->calls.list + op->end;
    while (one < one_end && other < other_end) {
        const entry *from = one;
        bool same = equal(one, other);
        if (same && k != NULL) {
            k->ops.list[other->place].place = one->place + 1;
        }
        if (same) {
            one++;
            other++;
            count++;
            continue;
        }
        skip(&one, one_end, &other, other_end);
        while (k != NULL && from < one) {
            *kept++ = *from++;
        }
    }
    while (k != NULL && one < one_end) {
        *kept++ = *one++;
    }
    if (k != NULL) {
        node->end = (uint32_t)(kept - nodes->calls.list);
    }
    return count;
}

/* Threads have other numbers in each trace: those with the most calls in common
 * are the same. PyTorch puts work that others do on the thread of the caller,
 * so that one thread of an execution trace may be several. */
static void
align_threads(side *nodes, side *ops, fd_kineto *k)
{
    for (uint32_t round = 0; round < ops->threads.count; round++) {
        thread *best[2] = {NULL, NULL};
        uint32_t most = 0;
        for (uint32_t i = 0; i < nodes->threads.count; i++) {
            for (uint32_t j = 0; j < ops->threads.count; j++) {
                thread *pair[2] = {&nodes->threads.list[i],
                                   &ops->threads.list[j]};
                uint32_t count = pair[1]->used
                                   ? 0
                                   : align(nodes, ops, pair[0], pair[1], NULL);
                if (count > most) {
                    most = count;
                    best[0] = pair[0];
                    best[1] = pair[1];
                }
            }
        }
        if (most == 0) {
            return;
        }
        align(nodes, ops, best[0], best[1], k);
        best[1]->used = true;
    }
}

fd_status
fd_et_link_by_order(const fd_et *et, fd_kineto *kineto)
{
    side nodes = {.calls = {NULL, 0, 0}};
    side ops = {.calls = {NULL, 0, 0}};
    for (uint32_t i = 0; i < kineto->ops.count; i++) {
        if (kineto->ops.list[i].rf_id != 0) {
            return FD_OK;
        }
    }
    if (kineto->ops.count == 0) {
        return FD_OK;
    }
    fd_status status = list_nodes(et, &nodes);
    if (status == FD_OK) {
        status = list_ops(kineto, &ops);
    }
    if (status == FD_OK) {
        align_threads(&nodes, &ops, kineto);
    }
    fd_vector_clear(&nodes.calls);
    fd_vector_clear(&nodes.threads);
    fd_vector_clear(&ops.calls);
    fd_vector_clear(&ops.threads);
    return status;
}
