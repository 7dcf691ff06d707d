#include "et/et_graph.h"

#include "json/json_text.h"

#include <stdlib.h>
#include <string.h>

void
fd_et_clear(fd_et *et)
{
    fd_arena_clear(&et->arena);
    fd_text_pool_clear(&et->texts);
    fd_map_clear(&et->index_of);
    *et = (fd_et){.rank = -1};
}

fd_et_node *
fd_et_add(fd_et *et)
{
    fd_et_node empty = {
        .seq = -1, .attrs = et->attrs.count, .type = FD_ET_COMP};
    fd_arena_push(&et->arena, &et->nodes, empty);
    return &et->nodes.list[et->nodes.count - 1];
}

fd_et_node *
fd_et_add_kernel(fd_et *et, uint64_t id, uint32_t operator)
{
    fd_et_node *node = fd_et_add(et);
    if (operator!= 0) {
        uint32_t attrs = node->attrs;
        *node = et->nodes.list[operator - 1];
        node->parent_id = node->id;
        node->attrs = attrs;
        node->attr_count = 0;
        node->comm = 0;
    }
    node->id = id;
    node->thread = 0;
    node->flags = FD_ET_GPU | FD_ET_TIMED;
    return node;
}

uint32_t
fd_et_add_text(fd_et *et, fd_span text)
{
    uint32_t id;
    fd_arena_check(&et->arena,
                   fd_text_pool_add_clean(&et->texts, text.from,
                                          fd_span_size(text), &id));
    return id;
}

uint32_t
fd_et_add_bytes(fd_et *et, fd_span bytes)
{
    uint32_t id;
    fd_arena_check(&et->arena, fd_text_pool_add(&et->texts, bytes.from,
                                                fd_span_size(bytes), &id));
    return id;
}

uint32_t
fd_et_add_word(fd_et *et, const char *word)
{
    return fd_et_add_bytes(et, (fd_span){word, word + strlen(word)});
}

uint32_t
fd_et_take_buffer(fd_et *et, fd_buffer *buffer)
{
    uint32_t id;
    fd_status status = buffer->status;
    fd_then(status, fd_text_pool_add_clean(&et->texts, buffer->bytes,
                                           buffer->size, &id));
    fd_buffer_clear(buffer);
    fd_arena_check(&et->arena, status);
    return id;
}

uint32_t
fd_et_add_json_text(fd_et *et, fd_span inside)
{
    fd_buffer spelled = {.bytes = NULL};
    fd_json_string(inside, &spelled);
    return fd_et_take_buffer(et, &spelled);
}

/* Append a JSON value without white space outside of its strings. */
static void
put_compact(fd_span value, fd_buffer *to)
{
    bool quoted = false;
    const char *from = value.from;
    for (const char *at = value.from; at < value.to; at++) {
        if (quoted && *at == '\\') {
            at += at + 1 < value.to;
        }
        else if (*at == '"') {
            quoted = !quoted;
        }
        else if (!quoted && fd_json_is_space(*at)) {
            fd_buffer_bytes(to, from, (size_t)(at - from));
            from = at + 1;
        }
    }
    fd_buffer_bytes(to, from, (size_t)(value.to - from));
}

uint32_t
fd_et_add_json(fd_et *et, fd_span value)
{
    size_t size = fd_span_size(value);
    if (memchr(value.from, ' ', size) == NULL
        && memchr(value.from, '\n', size) == NULL
        && memchr(value.from, '\t', size) == NULL
        && memchr(value.from, '\r', size) == NULL) {
        return fd_et_add_text(et, value);
    }
    fd_buffer compact = {.bytes = NULL};
    put_compact(value, &compact);
    return fd_et_take_buffer(et, &compact);
}

void
fd_et_add_attr(fd_et *et, fd_et_node *node, fd_et_attr attr)
{
    if (node->attr_count == 0) {
        node->attrs = et->attrs.count;
    }
    fd_arena_push(&et->arena, &et->attrs, attr);
    node->attr_count++;
}

void
fd_et_add_edge(fd_et *et, uint32_t from, uint32_t to, fd_et_edge_kind kind)
{
    if (from != to) {
        fd_arena_push(&et->arena, &et->edges,
                      (fd_et_edge){from, to, 1U << kind});
    }
}

uint32_t
fd_et_index(const fd_et *et, uint64_t id)
{
    return id == UINT64_MAX ? 0 : fd_map_get(&et->index_of, id + 1);
}

const fd_et_comm *
fd_et_comm_of(const fd_et *et, const fd_et_node *node)
{
    return node->comm == 0 ? NULL : &et->comms.list[node->comm - 1];
}

fd_et_comm *
fd_et_make_comm(fd_et *et, uint32_t index)
{
    fd_et_node *node = &et->nodes.list[index];
    fd_et_comm none = {
        .type = -1, .src = -1, .dst = -1, .tag = -1, .bytes = -1};
    if (node->comm == 0) {
        fd_arena_push(&et->arena, &et->comms, none);
        node->comm = et->comms.count;
    }
    return &et->comms.list[node->comm - 1];
}

/* The id of a node and its index before sorting. */
typedef struct key {
    uint64_t id;
    uint32_t index;
} key;

FD_ORDER_BY(by_id, key, id, index)

static bool
is_sorted(const fd_et *et)
{
    for (uint32_t i = 1; i < et->nodes.count; i++) {
        if (et->nodes.list[i - 1].id >= et->nodes.list[i].id) {
            return false;
        }
    }
    return true;
}

/* Give nodes with a duplicate id a new id above all others; children stay with
 * the first node of the id. */
static void
rename_duplicates(fd_et *et, key *keys)
{
    uint32_t count = et->nodes.count;
    uint64_t next = count > 0 ? keys[count - 1].id : 0;
    for (uint32_t i = 1; i < count; i++) {
        bool same = keys[i].id == keys[i - 1].id
                 || keys[i].id == et->nodes.list[keys[i - 1].index].id;
        if (same && et->nodes.list[keys[i].index].id == keys[i].id
            && next < UINT64_MAX - 1) {
            fd_et_node *node = &et->nodes.list[keys[i].index];
            node->parent_id =
                node->parent_id == node->id ? next + 1 : node->parent_id;
            node->id = ++next;
            et->faults.duplicates++;
        }
    }
}

/* Sort nodes by `keys`, and update references. */
static void
permute_nodes(fd_et *et, fd_arena *scratch, const key *keys)
{
    uint32_t count = et->nodes.count;
    fd_et_node *moved = fd_arena_new(scratch, count, sizeof *moved);
    uint32_t *now = fd_arena_new(scratch, count, sizeof *now);
    for (uint32_t i = 0; i < count; i++) {
        moved[i] = et->nodes.list[keys[i].index];
        now[keys[i].index] = i;
    }
    for (uint32_t i = 0; i < et->given.count; i++) {
        et->given.list[i].to = now[et->given.list[i].to];
    }
    memcpy(et->nodes.list, moved, count * sizeof *moved);
}

static void
sort_nodes(fd_et *et)
{
    uint32_t count = et->nodes.count;
    if (is_sorted(et)) {
        return;
    }
    fd_arena *scratch = fd_arena_part(&et->arena);
    key *keys = fd_arena_new(scratch, count, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = (key){et->nodes.list[i].id, i};
    }
    qsort(keys, count, sizeof *keys, by_id);
    rename_duplicates(et, keys);
    for (uint32_t i = 0; i < count; i++) {
        keys[i].id = et->nodes.list[keys[i].index].id;
    }
    qsort(keys, count, sizeof *keys, by_id);
    permute_nodes(et, scratch, keys);
    fd_arena_drop(scratch);
}

/* Cut cycles of parents. No cycle exists if every parent precedes its children,
 * as in all undamaged files. */
static void
cut_circles(fd_et *et)
{
    uint32_t count = et->nodes.count;
    bool forward = false;
    for (uint32_t i = 0; i < count; i++) {
        forward = forward || et->nodes.list[i].parent > i + 1;
    }
    if (!forward) {
        return;
    }
    uint32_t *mark = fd_arena_new(&et->arena, count, sizeof *mark);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (mark[at] == 0) {
            mark[at] = i + 1;
            uint32_t parent = et->nodes.list[at].parent;
            if (parent == 0) {
                break;
            }
            if (mark[parent - 1] == i + 1) {
                et->nodes.list[at].parent = 0;
                et->faults.orphans++;
                break;
            }
            at = parent - 1;
        }
    }
    fd_arena_drop(mark);
}

static void
find_parents(fd_et *et)
{
    fd_map_clear(&et->index_of);
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        uint64_t id = et->nodes.list[i].id;
        if (id != UINT64_MAX) {
            fd_arena_put(&et->arena, &et->index_of, id + 1, i + 1);
        }
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[i];
        node->parent =
            node->parent_id == node->id ? 0 : fd_et_index(et, node->parent_id);
        et->faults.orphans += node->parent == 0 && node->parent_id != node->id
                           && node->parent_id != 0
                           && (node->flags & FD_ET_THREAD) == 0;
    }
}

static void
resolve_given(fd_et *et)
{
    for (uint32_t i = 0; i < et->given.count; i++) {
        const fd_et_given *given = &et->given.list[i];
        uint32_t from = fd_et_index(et, given->id);
        et->faults.dangling += from == 0;
        if (from == 0 || from - 1 == given->to) {
            continue;
        }
        fd_arena_push(&et->arena, &et->edges,
                      (fd_et_edge){from - 1, given->to, given->kinds});
    }
    et->given.count = 0;
}

void
fd_et_finish(fd_et *et)
{
    sort_nodes(et);
    find_parents(et);
    cut_circles(et);
    resolve_given(et);
}

FD_ORDER_BY(by_to, fd_et_edge, to, from)

void
fd_et_sort_edges(fd_et *et)
{
    uint32_t kept = 0;
    fd_et_edge *list = et->edges.list;
    if (et->edges.count == 0) {
        return;
    }
    fd_vector_sort(&et->edges, by_to);
    for (uint32_t i = 1; i < et->edges.count; i++) {
        if (by_to(&list[kept], &list[i]) == 0) {
            list[kept].kinds |= list[i].kinds;
        }
        else {
            list[++kept] = list[i];
        }
    }
    et->edges.count = kept + 1;
}
