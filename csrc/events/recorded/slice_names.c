#include "events/recorded/slice_names.h"

#include "base/map.h"
#include "recording/node_table.h"
#include "trace/trace_columns.h"

#include <string.h>

static void
write_name(const fd_trace *trace, const fd_trace_context *context,
           fd_buffer *to)
{
    const fd_trace_node *node = &trace->nodes.list[context->node];
    to->size = 0;
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
    if (node->kind == FD_NODE_KERNEL && strcmp(name, "Memset") == 0) {
        return "gpu_memset";
    }
    return fd_kind_is_function(node->kind) && node->file != 0
             ? fd_trace_text(trace, node->file)
             : fd_kind_names[node->kind];
}

static fd_status
name_context(fd_slice_names *names, const fd_trace *trace,
             const fd_trace_context *context, fd_buffer *scratch,
             fd_slice_name *name)
{
    const fd_trace_node *node = &trace->nodes.list[context->node];
    const char *category = category_of(trace, node);
    write_name(trace, context, scratch);
    fd_status status = scratch->status;
    fd_then(status, fd_text_pool_add(&names->names, scratch->bytes,
                                     scratch->size, &name->name));
    return fd_then(status,
                   fd_text_pool_add(&names->categories, category,
                                    strlen(category), &name->category));
}

/* Make the names. Contexts with the same node and module share a name. */
fd_status
fd_slice_names_make(fd_slice_names *names, const fd_trace *trace)
{
    uint32_t count = trace->contexts.count;
    /* node and module -> index of a context */
    fd_map known = {.entries = NULL};
    fd_buffer scratch = {.bytes = NULL};
    *names = (fd_slice_names){
        .of_context = fd_calloc(count + 1, sizeof *names->of_context)};
    fd_status status = names->of_context != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 1; i < count && status == FD_OK; i++) {
        const fd_trace_context *context = &trace->contexts.list[i];
        uint64_t key = (uint64_t)context->node << 32 | context->module;
        uint32_t same = fd_map_get(&known, key);
        if (same != 0) {
            names->of_context[i] = names->of_context[same];
            continue;
        }
        status = name_context(names, trace, context, &scratch,
                              &names->of_context[i]);
        fd_then(status, fd_map_put(&known, key, i));
    }
    fd_buffer_clear(&scratch);
    fd_map_clear(&known);
    if (status != FD_OK) {
        fd_slice_names_clear(names);
    }
    return status;
}

void
fd_slice_names_clear(fd_slice_names *names)
{
    fd_text_pool_clear(&names->names);
    fd_text_pool_clear(&names->categories);
    fd_free(names->of_context);
    names->of_context = NULL;
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

fd_status
fd_slice_texts_json(const fd_text_pool *texts, fd_buffer **json)
{
    *json = fd_calloc(texts->texts.count + 1, sizeof **json);
    fd_status status = *json != NULL ? FD_OK : FD_ENOMEM;
    for (uint32_t i = 0; i < texts->texts.count && status == FD_OK; i++) {
        const char *text = fd_text_pool_get(texts, i);
        fd_buffer_json(&(*json)[i], text, strlen(text));
        status = (*json)[i].status;
    }
    return status;
}

void
fd_slice_texts_free(const fd_text_pool *texts, fd_buffer *json)
{
    for (uint32_t i = 0; json != NULL && i < texts->texts.count; i++) {
        fd_buffer_clear(&json[i]);
    }
    fd_free(json);
}

void
fd_job_name(const fd_trace *trace, const fd_trace_job *job, fd_buffer *to)
{
    fd_buffer_text(to, fd_trace_text(trace, job->kind));
    if (job->micro_batch != 0) {
        fd_buffer_format(to, " mb%u", job->micro_batch - 1);
    }
}

void
fd_job_duration(uint64_t ns, fd_buffer *to)
{
    uint64_t us = ns / 1000 + (ns % 1000 >= 500);
    fd_buffer_format(to, " (%llu.%03llu ms)", (unsigned long long)us / 1000,
                     (unsigned long long)us % 1000);
}

int
fd_job_numbers(const fd_trace_job *job, fd_job_number numbers[FD_JOB_NUMBERS])
{
    const fd_job_number all[] = {{"micro_batch", job->micro_batch},
                                 {"stage", job->stage},
                                 {"chunk", job->chunk},
                                 {"peer", job->peer},
                                 {"device", job->device}};
    int count = 0;
    numbers[count++] = (fd_job_number){"step", job->step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].value != 0) {
            numbers[count++] = (fd_job_number){all[i].name, all[i].value - 1};
        }
    }
    if (job->device != 0) {
        numbers[count++] = (fd_job_number){"gpu_ns", job->gpu_duration};
    }
    return count;
}
