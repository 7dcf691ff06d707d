#include "events/recorded/slice_names.h"

#include "recording/node_table.h"
#include "trace/trace_columns.h"

#include <string.h>

static void
write_name(const fd_trace *trace, const fd_trace_context *context,
           fd_buffer *to)
{
    const fd_trace_node *node = &trace->nodes.list[context->node];
    if (context->module != 0 && node->kind != FD_NODE_KERNEL) {
        fd_trace_module_name(trace, context->module, to);
        fd_buffer_text(to, to->size > 0 ? " " : "");
    }
    if (fd_kind_is_function(node->kind) && node->class_name != 0) {
        fd_buffer_format(to, "[%s]:", fd_trace_text(trace, node->class_name));
    }
    fd_buffer_text(to, fd_trace_text(trace, node->name));
}

/* Return the category of a node; of GPU work, as torch.profiler names it. */
static const char *
category_of(const fd_trace *trace, const fd_trace_node *node)
{
    const char *name = fd_trace_text(trace, node->name);
    if (node->kind == FD_NODE_KERNEL && strncmp(name, "Memcpy ", 7) == 0) {
        return "gpu_memcpy";
    }
    if (node->kind == FD_NODE_KERNEL && strncmp(name, "Memset (", 8) == 0) {
        return "gpu_memset";
    }
    return fd_kind_is_function(node->kind) && node->file != 0
             ? fd_trace_text(trace, node->file)
             : fd_kind_names[node->kind];
}

/* Find or add the JSON string of a text. */
static uint32_t
json_string(fd_text_pool *pool, const char *text, size_t size, fd_arena *arena)
{
    uint32_t id;
    fd_buffer json = {.bytes = NULL};
    fd_buffer_json(&json, text, size);
    fd_arena_check(arena, fd_text_pool_take(pool, &json, &id));
    return id;
}

static fd_slice_name
name_context(fd_slice_names *names, const fd_trace *trace,
             const fd_trace_context *context, fd_buffer *scratch,
             fd_arena *arena)
{
    const fd_trace_node *node = &trace->nodes.list[context->node];
    const char *category = category_of(trace, node);
    scratch->size = 0;
    write_name(trace, context, scratch);
    fd_arena_check(arena, scratch->status);
    return (fd_slice_name){
        json_string(&names->names, scratch->bytes, scratch->size, arena),
        json_string(&names->categories, category, strlen(category), arena)};
}

void
fd_slice_names_make(fd_slice_names *names, const fd_trace *trace,
                    fd_arena *arena)
{
    uint32_t count = trace->contexts.count;
    fd_arena *part = fd_arena_part(arena);
    fd_map *known = fd_arena_map(part); /* node and module -> a context */
    fd_buffer *scratch = fd_arena_buffer(part);
    names->of_context =
        fd_arena_new(arena, (size_t)count + 1, sizeof *names->of_context);
    names->of_context[0] =
        (fd_slice_name){json_string(&names->names, "", 0, arena),
                        json_string(&names->categories, "", 0, arena)};
    for (uint32_t i = 1; i < count; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        uint64_t key = (uint64_t)context->node << 32 | context->module;
        uint32_t same = fd_map_get(known, key);
        if (same == 0) {
            names->of_context[i] =
                name_context(names, trace, context, scratch, arena);
            fd_arena_put(part, known, key, i);
        }
        else {
            names->of_context[i] = names->of_context[same];
        }
    }
    fd_arena_drop(part);
}

void
fd_slice_names_clear(fd_slice_names *names)
{
    fd_text_pool_clear(&names->names);
    fd_text_pool_clear(&names->categories);
}

fd_status
fd_timeline_check(const fd_trace *trace, int rank, fd_error *error)
{
    bool incomplete = false;
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        if (rank != FD_ALL_RANKS && rank != (int)i) {
            continue;
        }
        if (trace->ranks.list[i].events.count > 0) {
            return FD_OK;
        }
        incomplete = incomplete || trace->ranks.list[i].incomplete;
    }
    return fd_fail(error, FD_EINVAL, "there is no timeline in %s",
                   incomplete ? "the readable part of this recording"
                              : "this recording: record with "
                                "CallGraph(timeline=True) or `fastdispatch "
                                "run --timeline`");
}

fd_span
fd_slice_timed(fd_span name, uint64_t duration, fd_event_batch *batch)
{
    fd_buffer *text = fd_batch_compose(batch);
    fd_buffer_bytes(text, name.from, fd_span_size(name) - 1);
    fd_buffer_text(text, " (");
    fd_buffer_time(text, duration);
    fd_buffer_text(text, ")\"");
    return fd_batch_composed(batch);
}

/* Set the name of a job; its duration is always in milliseconds. */
static void
name_job(const fd_trace *trace, const fd_trace_job *job, uint64_t duration,
         fd_buffer *to)
{
    uint64_t us = duration / 1000 + (duration % 1000 >= 500);
    fd_buffer_text(to, fd_trace_text(trace, job->kind));
    if (job->micro_batch != 0) {
        fd_buffer_format(to, " mb%u", job->micro_batch - 1);
    }
    if (duration != UINT64_MAX) {
        fd_buffer_format(to, " (%llu.%03llu ms)",
                         (unsigned long long)us / 1000,
                         (unsigned long long)us % 1000);
    }
}

void
fd_job_slice(const fd_trace *trace, const fd_trace_job *job, uint64_t duration,
             fd_event_batch *batch, fd_timeline_event *made)
{
    const struct {
        const char *name;
        uint32_t value; /* plus 1; 0: none */
    } numbers[] = {{"micro_batch", job->micro_batch},
                   {"stage", job->stage},
                   {"chunk", job->chunk},
                   {"peer", job->peer},
                   {"device", job->device}};
    fd_buffer name = {.bytes = NULL};
    name_job(trace, job, duration, &name);
    made->name = fd_batch_json(batch, name.bytes, name.size);
    fd_then(batch->status, name.status);
    fd_buffer_clear(&name);
    fd_buffer *args = fd_batch_compose(batch);
    fd_buffer_format(args, "{\"step\":%llu", (unsigned long long)job->step);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value != 0) {
            fd_buffer_format(args, ",\"%s\":%u", numbers[i].name,
                             numbers[i].value - 1);
        }
    }
    if (job->device != 0) {
        fd_buffer_format(args, ",\"gpu_ns\":%llu",
                         (unsigned long long)job->gpu_duration);
    }
    fd_buffer_text(args, job->open ? ",\"open\":true}" : "}");
    made->args = fd_batch_composed(batch);
}
