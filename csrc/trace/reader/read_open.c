#include "trace/reader/recording_reading.h"

#include <string.h>

/* The contexts of open calls, of threads and of collectives, and their
 * dependencies. */
typedef struct open_contexts {
    fd_reading *r;
    FD_VECTOR(uint32_t) todo; /* raw indexes */
} open_contexts;

static void
want_context(open_contexts *o, uint32_t id)
{
    uint32_t raw = fd_reading_raw(o->r, id);
    if (raw != 0 && !o->r->open[raw]) {
        o->r->open[raw] = true;
        fd_arena_push(&o->r->arena, &o->todo, raw);
    }
}

static void
want_thread(open_contexts *o, const fd_thread_record *record)
{
    uint32_t depth;
    const fd_entry *entries = fd_reading_stack(o->r, record, &depth);
    want_context(o, record->root);
    for (uint32_t i = 0; i < depth; i++) {
        want_context(o, entries[i].context);
    }
    fd_followed_list found = fd_reading_followed(o->r, record);
    for (uint32_t i = 0; i < found.count; i++) {
        const fd_context *context = o->r->records.list[found.list[i].raw];
        want_context(o, fd_reading_id(o->r, context));
    }
    fd_arena_drop(found.list);
}

static bool
is_collective(const fd_reading *r, const fd_node *node)
{
    static const char prefix[] = "c10d::";
    const fd_string *name = fd_chunks_string(&r->file, node->name);
    return node->kind == FD_NODE_OP && name != NULL
        && name->size >= sizeof prefix - 1
        && memcmp(name->bytes, prefix, sizeof prefix - 1) == 0;
}

static void
want_collectives(open_contexts *o)
{
    FOR_EACH_RECORD (o->r, FD_CHUNK_NODES, fd_node, node) {
        if (is_collective(o->r, node)) {
            fd_read_node(o->r, node);
        }
    }
    for (uint32_t i = 1; i < o->r->raw.count; i++) {
        const fd_context *record = o->r->records.list[i];
        if (fd_map_get(&o->r->nodes, record->node) != 0) {
            want_context(o, fd_reading_id(o->r, record));
        }
    }
}

/* Add the parents and origins of the contexts, and read their nodes. */
static void
want_others(open_contexts *o)
{
    while (o->todo.count > 0) {
        const fd_context *record =
            o->r->records.list[o->todo.list[--o->todo.count]];
        const fd_node *node =
            fd_chunks_record(&o->r->file, FD_CHUNK_NODES, record->node);
        if (node != NULL && fd_map_get(&o->r->nodes, record->node) == 0) {
            fd_read_node(o->r, node);
        }
        want_context(o, record->parent);
        want_context(o, record->origin);
    }
}

void
fd_read_open_contexts(fd_reading *r)
{
    open_contexts o = {.r = r};
    /* One additional entry for <lost>. */
    r->open = fd_arena_new(&r->arena, r->raw.count + 1, sizeof *r->open);
    want_collectives(&o);
    FOR_EACH_RECORD (r, FD_CHUNK_THREADS, fd_thread_record, record) {
        want_thread(&o, record);
    }
    FOR_EACH_RECORD (r, FD_CHUNK_MEASURES, fd_measure, measure) {
        if (measure->kind == FD_MEASURE_COLLECTIVES
            || measure->kind == FD_MEASURE_LATEST) {
            want_context(&o, measure->context);
        }
    }
    want_others(&o);
}
