#include "recording/gpu_format.h"
#include "trace/reader/recording_reading.h"

#include <string.h>

/* Add the root of kernels that threads without a call path launched. */
static uint32_t
add_root(fd_reading *r)
{
    static const char name[] = "<no call path>";
    fd_trace_node node = {.kind = FD_NODE_OVERFLOW};
    fd_arena_check(&r->arena, fd_text_pool_add(&r->trace->texts, name,
                                               sizeof name - 1, &node.name));
    fd_trace_context context = {.node = fd_reading_add_node(r, &node)};
    return fd_reading_add_context(r, &context);
}

/* Add the node of a kernel, and its context below the launching one; return
 * its id. */
static uint32_t
add_kernel(fd_reading *r, const fd_kernel_record *record)
{
    fd_trace_node node = {.kind = FD_NODE_KERNEL,
                          .name = fd_reading_text(r, record->name, 0)};
    fd_trace_context context = {.node = fd_reading_add_node(r, &node),
                                .parent =
                                    fd_reading_context(r, record->context)};
    if (context.parent == 0) {
        context.parent = add_root(r);
    }
    const fd_trace_context *above = &r->trace->contexts.list[context.parent];
    context.module = above->module;
    context.flags = above->flags & FD_CONTEXT_PHASE;
    return fd_reading_add_context(r, &context);
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

static fd_gpu_figure *
row_of(fd_reading *r, fd_map *rows, uint32_t id)
{
    uint32_t row = fd_map_get(rows, id);
    if (row == 0) {
        fd_reading_push(r, &r->rank->gpu, (fd_gpu_figure){.context = id});
        row = r->rank->gpu.count;
        fd_arena_put(&r->arena, rows, id, row);
    }
    return &r->rank->gpu.list[row - 1];
}

/* Add the idle time of a record to the row of its context. */
static void
read_idle(fd_reading *r, const fd_kernel_record *record, fd_map *rows)
{
    uint32_t id = fd_reading_context(r, record->context);
    if (id != 0) {
        fd_gpu_figure *row = row_of(r, rows, id);
        row->starved += record->ns;
        row->drained += record->bytes;
    }
}

/* Add the figures of a record to the row of its kernel. */
static void
read_record(fd_reading *r, const fd_kernel_record *record, fd_map *rows)
{
    uint64_t key = (uint64_t)record->context << 32 | record->name;
    if (record->kind == FD_KERNEL_IDLE) {
        read_idle(r, record, rows);
    }
    else if (record->count > 0) {
        uint32_t id = add_kernel(r, record);
        if (key != 0) {
            fd_arena_put(&r->arena, &r->kernels, key, id);
        }
        add_figure(row_of(r, rows, id), record);
    }
}

void
fd_read_kernels(fd_reading *r)
{
    /* context -> index in rank->gpu + 1 */
    fd_map *rows = fd_arena_map(&r->arena);
    FOR_EACH_RECORD (r, FD_CHUNK_KERNELS, fd_kernel_record, record) {
        read_record(r, record, rows);
    }
    if (r->part == FD_PART_TIMELINE) {
        fd_read_gpu_events(r, FD_CHUNK_KERNEL_EVENTS);
    }
}
