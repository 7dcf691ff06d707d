#include "pipeline/planner/graph_shape.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t
ins(const fd_model *model, uint32_t node)
{
    return model->in_first[node + 1] - model->in_first[node];
}

static uint32_t
outs(const fd_model *model, uint32_t node)
{
    return model->out_first[node + 1] - model->out_first[node];
}

static bool
is_link(const fd_model *model, uint32_t node)
{
    return ins(model, node) == 1 && outs(model, node) == 1;
}

/* Find the head of the run of each node; outside of branches, it is the node
 * itself. */
static void
find_runs(const fd_model *model, uint32_t *head)
{
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        uint32_t node = model->order[i];
        head[node] = node;
        if (!is_link(model, node)) {
            continue;
        }
        uint32_t before = model->in_list[model->in_first[node]];
        if (is_link(model, before)
            && (head[before] != before
                || outs(model, model->in_list[model->in_first[before]]) > 1)) {
            head[node] = head[before];
        }
    }
}

static bool
begins_branch(const fd_model *model, const uint32_t *head, uint32_t node)
{
    return head[node] == node && is_link(model, node)
        && outs(model, model->in_list[model->in_first[node]]) > 1;
}

static uint32_t
keep_text(fd_model *to, const char *text)
{
    return fd_model_keep(to, text, strlen(text));
}

static fd_status
keep_outputs(fd_model *to, const fd_model *from, const fd_model_node *node,
             fd_model_node *copy)
{
    copy->first_output = to->sizes.count;
    copy->outputs = node->outputs;
    copy->activation = node->activation;
    for (uint32_t i = 0; i < node->outputs; i++) {
        fd_status status = fd_vector_push(
            &to->sizes, from->sizes.list[node->first_output + i]);
        if (status != FD_OK) {
            return status;
        }
    }
    return FD_OK;
}

/* Add a run as one node: its head and the layers with a single input after
 * it. */
static fd_status
add_run(fd_model *to, const fd_model *from, const uint32_t *head,
        uint32_t node, uint32_t *branches)
{
    fd_model_node sum = from->nodes.list[node];
    uint32_t last = node;
    uint32_t length = 1;
    bool branch = begins_branch(from, head, node);
    while (branch && head[from->out_list[from->out_first[last]]] == node) {
        last = from->out_list[from->out_first[last]];
        const fd_model_node *more = &from->nodes.list[last];
        sum.forward += more->forward;
        sum.backward += more->backward;
        sum.parameters += more->parameters;
        sum.saved = sum.saved < 0 || more->saved < 0 ? FD_UNKNOWN
                                                     : sum.saved + more->saved;
        length++;
    }
    char id[32];
    char name[32];
    snprintf(id, sizeof id, "compressed_node%u", (unsigned)*branches);
    snprintf(name, sizeof name, "Branch %u", (unsigned)*branches);
    *branches += branch;
    sum.about = 0;
    sum.id = keep_text(to, branch ? id : fd_model_text(from, sum.id));
    sum.name =
        keep_text(to, length > 1 ? name : fd_model_text(from, sum.name));
    if (length > 1) {
        sum.forward_spread = FD_UNKNOWN;
        sum.backward_spread = FD_UNKNOWN;
    }
    fd_status status = keep_outputs(to, from, &from->nodes.list[last], &sum);
    return status == FD_OK ? fd_model_add(to, &sum, NULL) : status;
}

fd_status
fd_shape_compress(fd_model *to, const fd_model *from)
{
    uint32_t count = from->nodes.count;
    uint32_t branches = 1;
    uint32_t *head = fd_calloc((size_t)count + 1, sizeof *head);
    uint32_t *index = fd_calloc((size_t)count + 1, sizeof *index);
    fd_status status = head == NULL || index == NULL ? FD_ENOMEM : FD_OK;
    if (status == FD_OK) {
        find_runs(from, head);
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        if (head[i] == i) {
            index[i] = to->nodes.count;
            status = add_run(to, from, head, i, &branches);
        }
    }
    for (uint32_t i = 0; i < from->edges.count && status == FD_OK; i++) {
        fd_model_edge edge = from->edges.list[i];
        uint32_t a = head[edge.from];
        uint32_t b = head[edge.to];
        if (a != b) {
            status = fd_vector_push(&to->edges,
                                    (fd_model_edge){index[a], index[b]});
        }
    }
    fd_free(head);
    fd_free(index);
    return status == FD_OK ? fd_model_close(to, NULL) : status;
}

/* The graph during the reduction: distinct neighbours. One list of halves per
 * node and direction through `next`, ended by 0. */
typedef struct half {
    uint32_t node;
    uint32_t next;
} half;

typedef struct rest {
    FD_VECTOR(half) halves;
    uint32_t *heads;  /* owned; in and out of each node */
    uint32_t *counts; /* owned; in and out of each node */
} rest;

static bool
has_half(const rest *r, uint32_t list, uint32_t node)
{
    for (uint32_t at = r->heads[list]; at != 0; at = r->halves.list[at].next) {
        if (r->halves.list[at].node == node) {
            return true;
        }
    }
    return false;
}

static fd_status
add_half(rest *r, uint32_t list, uint32_t node)
{
    half new = {node, r->heads[list]};
    r->heads[list] = r->halves.count;
    r->counts[list]++;
    return fd_vector_push(&r->halves, new);
}

static void
drop_half(rest *r, uint32_t list, uint32_t node)
{
    uint32_t *at = &r->heads[list];
    while (r->halves.list[*at].node != node) {
        at = &r->halves.list[*at].next;
    }
    *at = r->halves.list[*at].next;
    r->counts[list]--;
}

static fd_status
connect(rest *r, uint32_t from, uint32_t to)
{
    if (has_half(r, 2 * from + 1, to)) {
        return FD_OK;
    }
    fd_status status = add_half(r, 2 * from + 1, to);
    return status == FD_OK ? add_half(r, 2 * to, from) : status;
}

static fd_status
take_out(rest *r, uint32_t *todo, uint32_t count, bool *result)
{
    uint32_t waiting = count;
    uint32_t left = count;
    fd_status status = FD_OK;
    while (waiting > 0 && status == FD_OK) {
        uint32_t node = todo[--waiting];
        if (r->counts[2 * node] != 1 || r->counts[2 * node + 1] != 1) {
            continue;
        }
        uint32_t before = r->halves.list[r->heads[2 * node]].node;
        uint32_t behind = r->halves.list[r->heads[2 * node + 1]].node;
        drop_half(r, 2 * before + 1, node);
        drop_half(r, 2 * behind, node);
        r->counts[2 * node] = 0;
        left--;
        status = connect(r, before, behind);
        /* Each removal adds at most one entry, so the capacity is
         * sufficient. */
        todo[waiting++] = before;
        todo[waiting++] = behind;
    }
    *result = left <= 2;
    return status;
}

fd_status
fd_shape_is_series_parallel(const fd_model *model, bool *result)
{
    uint32_t count = model->nodes.count;
    rest r = {.heads = fd_calloc(2 * (size_t)count + 2, sizeof(uint32_t)),
              .counts = fd_calloc(2 * (size_t)count + 2, sizeof(uint32_t))};
    uint32_t *todo = fd_calloc(2 * (size_t)count + 2, sizeof *todo);
    fd_status status = r.heads == NULL || r.counts == NULL || todo == NULL
                         ? FD_ENOMEM
                         : fd_vector_push(&r.halves, (half){0, 0});
    for (uint32_t i = 0; i < model->edges.count && status == FD_OK; i++) {
        status =
            connect(&r, model->edges.list[i].from, model->edges.list[i].to);
    }
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        todo[i] = model->order[i];
    }
    if (status == FD_OK) {
        status = take_out(&r, todo, count, result);
    }
    fd_vector_clear(&r.halves);
    fd_free(r.heads);
    fd_free(r.counts);
    fd_free(todo);
    return status;
}

/* Hash each node: its name and the hashes of its neighbours on one side, in
 * any order. */
static void
hash_side(const fd_model *model, const uint64_t *start, uint64_t *hashes,
          bool in)
{
    uint32_t count = model->nodes.count;
    const uint32_t *first = in ? model->in_first : model->out_first;
    const uint32_t *list = in ? model->in_list : model->out_list;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = model->order[in ? i : count - 1 - i];
        uint64_t sum = 0;
        for (uint32_t at = first[node]; at < first[node + 1]; at++) {
            sum += fd_hash_next(17, hashes[list[at]]);
        }
        hashes[node] = fd_hash_next(start[node], sum);
    }
}

static int
by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Hash each node: its name, all nodes before it, all nodes after it. */
static fd_status
hash_nodes(const fd_model *model, uint64_t **hashes)
{
    size_t count = (size_t)model->nodes.count + 1;
    uint64_t *start = fd_calloc(count, sizeof *start);
    uint64_t *before = fd_calloc(count, sizeof *before);
    uint64_t *both = fd_calloc(count, sizeof *both);
    *hashes = both;
    if (start != NULL && before != NULL && both != NULL) {
        for (uint32_t i = 0; i < model->nodes.count; i++) {
            const char *name = fd_model_text(model, model->nodes.list[i].name);
            start[i] = fd_hash_bytes(name, strlen(name));
        }
        hash_side(model, start, before, true);
        hash_side(model, before, both, false);
        qsort(both, model->nodes.count, sizeof *both, by_value);
    }
    bool made = start != NULL && before != NULL && both != NULL;
    fd_free(start);
    fd_free(before);
    return made ? FD_OK : FD_ENOMEM;
}

fd_status
fd_shape_is_same(const fd_model *a, const fd_model *b, bool *result)
{
    *result =
        a->nodes.count == b->nodes.count && a->edges.count == b->edges.count;
    if (!*result) {
        return FD_OK;
    }
    uint64_t *x = NULL;
    uint64_t *y = NULL;
    fd_status status = hash_nodes(a, &x);
    if (status == FD_OK) {
        status = hash_nodes(b, &y);
    }
    if (status == FD_OK) {
        *result = memcmp(x, y, a->nodes.count * sizeof *x) == 0;
    }
    fd_free(x);
    fd_free(y);
    return status;
}
