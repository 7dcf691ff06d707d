#include "trace/reader/recording_reading.h"

#include <string.h>

/* The contexts of open calls, of threads and of collectives, and their
 * dependencies. */
typedef struct open_contexts {
    fd_reading *r;
    FD_VECTOR(uint32_t) todo; /* raw indexes */
} open_contexts;

static fd_status
want_context(open_contexts *o, uint32_t id)
{
    uint32_t raw = fd_reading_raw(o->r, id);
    if (raw == 0 || o->r->open[raw]) {
        return FD_OK;
    }
    o->r->open[raw] = true;
    return fd_vector_push(&o->todo, raw);
}

static fd_status
want_followed(open_contexts *o, const fd_thread_record *record)
{
    fd_followed_list found = {.list = NULL};
    fd_status status = fd_reading_followed(o->r, record, &found);
    for (uint32_t i = 0; i < found.count && status == FD_OK; i++) {
        const fd_context *context = o->r->records.list[found.list[i].raw];
        status = want_context(o, fd_reading_id(o->r, context));
    }
    fd_vector_clear(&found);
    return status;
}

static fd_status
want_threads(open_contexts *o)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(o->r, FD_CHUNK_THREADS, view)
    {
        const fd_thread_record *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            uint32_t depth;
            const fd_entry *entries =
                fd_reading_stack(o->r, &records[i], &depth);
            status = want_context(o, records[i].root);
            for (uint32_t k = 0; k < depth && status == FD_OK; k++) {
                status = want_context(o, entries[k].context);
            }
            fd_then(status, want_followed(o, &records[i]));
        }
    }
    return status;
}

static fd_status
want_measures(open_contexts *o)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(o->r, FD_CHUNK_MEASURES, view)
    {
        const fd_measure *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            if (records[i].kind == FD_MEASURE_COLLECTIVES
                || records[i].kind == FD_MEASURE_LATEST) {
                status = want_context(o, records[i].context);
            }
        }
    }
    return status;
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

static fd_status
read_collective_nodes(fd_reading *r)
{
    fd_status status = FD_OK;
    FOR_EACH_CHUNK(r, FD_CHUNK_NODES, view)
    {
        const fd_node *nodes = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            if (is_collective(r, &nodes[i])) {
                status = fd_read_node(r, &nodes[i]);
            }
        }
    }
    return status;
}

static fd_status
want_collectives(open_contexts *o)
{
    fd_status status = read_collective_nodes(o->r);
    for (uint32_t i = 1; i < o->r->raw.count && status == FD_OK; i++) {
        const fd_context *record = o->r->records.list[i];
        if (fd_map_get(&o->r->nodes, record->node) != 0) {
            status = want_context(o, fd_reading_id(o->r, record));
        }
    }
    return status;
}

/* Add the parents and origins of the contexts, and read their nodes. */
static fd_status
want_others(open_contexts *o)
{
    fd_status status = FD_OK;
    while (o->todo.count > 0 && status == FD_OK) {
        const fd_context *record =
            o->r->records.list[o->todo.list[--o->todo.count]];
        const fd_node *node =
            fd_chunks_record(&o->r->file, FD_CHUNK_NODES, record->node);
        if (node != NULL && fd_map_get(&o->r->nodes, record->node) == 0) {
            status = fd_read_node(o->r, node);
        }
        fd_then(status, want_context(o, record->parent));
        fd_then(status, want_context(o, record->origin));
    }
    return status;
}

fd_status
fd_read_open_contexts(fd_reading *r)
{
    open_contexts o = {.r = r};
    /* One additional entry for <lost>. */
    r->open = fd_calloc((size_t)r->raw.count + 1, sizeof *r->open);
    fd_status status = r->open != NULL ? want_collectives(&o) : FD_ENOMEM;
    fd_status (*const parts[])(open_contexts *) = {want_threads, want_measures,
                                                   want_others};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == FD_OK;
         i++) {
        status = parts[i](&o);
    }
    fd_vector_clear(&o.todo);
    return status;
}
