#include "recording/gpu_format.h"
#include "trace/reader/recording_reading.h"

#include <string.h>

/* Add the root of kernels that threads without a call path launched. */
static fd_status
add_root(fd_reading *r, uint32_t *id)
{
    static const char name[] = "<no call path>";
    fd_trace_node node = {.kind = FD_NODE_OVERFLOW};
    fd_trace_context context = {.flags = 0};
    fd_status status =
        fd_text_pool_add(&r->trace->texts, name, sizeof name - 1, &node.name);
    fd_then(status, fd_trace_add_node(r->trace, &node, &context.node));
    return fd_then(status, fd_trace_add_context(r->trace, &context, id));
}

/* Add the node of a kernel, and its context below the launching one. */
static fd_status
add_kernel(fd_reading *r, const fd_kernel_record *record, uint32_t *id)
{
    fd_trace_node node = {.kind = FD_NODE_KERNEL};
    fd_trace_context context = {.parent =
                                    fd_reading_context(r, record->context)};
    fd_status status = fd_reading_text(r, record->name, 0, &node.name);
    fd_then(status, fd_trace_add_node(r->trace, &node, &context.node));
    if (status == FD_OK && context.parent == 0) {
        status = add_root(r, &context.parent);
    }
    if (status == FD_OK) {
        const fd_trace_context *above =
            &r->trace->contexts.list[context.parent];
        context.module = above->module;
        context.flags = above->flags & FD_CONTEXT_PHASE;
        status = fd_trace_add_context(r->trace, &context, id);
    }
    return status;
}

static void
add_figure(fd_gpu_figure *sum, const fd_kernel_record *record)
{
    bool first = sum->calls == 0;
    sum->device =
        first || sum->device == record->device + 1 ? record->device + 1 : 0;
    sum->stream =
        first || sum->stream == record->stream + 1 ? record->stream + 1 : 0;
    sum->calls += record->count;
    sum->total += record->ns;
    sum->self += record->ns;
    sum->bytes += record->bytes;
}

/* Return the row of a context, or NULL without memory. */
static fd_gpu_figure *
row_of(fd_reading *r, fd_map *rows, uint32_t id)
{
    fd_gpu_figure figure = {.context = id};
    uint32_t row = fd_map_get(rows, id);
    if (row == 0) {
        if (fd_vector_push(&r->rank->gpu, figure) != FD_OK
            || fd_map_put(rows, id, r->rank->gpu.count) != FD_OK) {
            return NULL;
        }
        row = r->rank->gpu.count;
    }
    return &r->rank->gpu.list[row - 1];
}

/* Add the idle time of a record to the row of its context. */
static fd_status
read_idle(fd_reading *r, const fd_kernel_record *record, fd_map *rows)
{
    uint32_t id = fd_reading_context(r, record->context);
    fd_gpu_figure *row = id != 0 ? row_of(r, rows, id) : NULL;
    if (row != NULL) {
        row->starved += record->ns;
        row->drained += record->bytes;
    }
    return row != NULL || id == 0 ? FD_OK : FD_ENOMEM;
}

/* Add the figures of a record to the row of its kernel. */
static fd_status
read_record(fd_reading *r, const fd_kernel_record *record, fd_map *rows)
{
    uint64_t key = (uint64_t)record->context << 32 | record->name;
    uint32_t id = 0;
    if (record->kind == FD_KERNEL_IDLE) {
        return read_idle(r, record, rows);
    }
    fd_status status = record->count > 0 ? add_kernel(r, record, &id) : FD_OK;
    if (status != FD_OK || id == 0) {
        return status;
    }
    if (key != 0) {
        status = fd_map_put(&r->kernels, key, id);
    }
    fd_gpu_figure *row = status == FD_OK ? row_of(r, rows, id) : NULL;
    if (row == NULL) {
        return FD_ENOMEM;
    }
    add_figure(row, record);
    return FD_OK;
}

fd_status
fd_read_kernels(fd_reading *r)
{
    fd_status status = FD_OK;
    fd_map rows = {.entries = NULL}; /* context -> index in rank->gpu + 1 */
    FOR_EACH_CHUNK(r, FD_CHUNK_KERNELS, view)
    {
        const fd_kernel_record *records = view->records;
        for (uint32_t i = 0; i < view->used && status == FD_OK; i++) {
            status = read_record(r, &records[i], &rows);
        }
    }
    fd_map_clear(&rows);
    if (status == FD_OK && r->part == FD_PART_TIMELINE) {
        status = fd_read_gpu_events(r, FD_CHUNK_KERNEL_EVENTS);
    }
    return status;
}
