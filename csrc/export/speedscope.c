#include "export/stack_exports.h"

#include "export/flame_stacks.h"
#include "json/json_writer.h"

typedef struct printer {
    const fd_trace *trace;
    fd_json_writer json;
    fd_buffer name; /* of the current frame or profile */
} printer;

static void
write_name(printer *p)
{
    fd_json_put_bytes(&p->json, "name", p->name.size > 0 ? p->name.bytes : "",
                      p->name.size);
    p->name.size = 0;
}

/* Write a frame, "GPT.forward"; the file is a separate member. */
static void
write_frame(printer *p, const fd_trace_node *node)
{
    const fd_text_pool *texts = &p->trace->texts;
    if (node->class_name != 0) {
        fd_buffer_text(&p->name, fd_trace_text(p->trace, node->class_name));
        fd_buffer_text(&p->name, ".");
    }
    fd_buffer_text(&p->name, fd_trace_text(p->trace, node->name));
    fd_json_line(&p->json);
    fd_json_begin_object(&p->json, NULL);
    write_name(p);
    if (node->file != 0) {
        fd_json_put_bytes(&p->json, "file",
                          fd_text_pool_get(texts, node->file),
                          fd_text_pool_size(texts, node->file));
    }
    if (node->line != 0) {
        fd_json_put_u64(&p->json, "line", node->line);
    }
    fd_json_end_object(&p->json);
}

/* Frame n is node n + 1, since node 0 means "none". */
static void
write_frames(printer *p)
{
    fd_json_line(&p->json);
    fd_json_begin_object(&p->json, "shared");
    fd_json_begin_array(&p->json, "frames");
    for (uint32_t i = 1; i < p->trace->nodes.count; i++) {
        write_frame(p, &p->trace->nodes.list[i]);
    }
    fd_json_end_array(&p->json);
    fd_json_end_object(&p->json);
}

static void
begin_profile(printer *p, const fd_stacks *stacks, const fd_trace_rank *rank,
              uint32_t root)
{
    const fd_trace_node *node =
        &p->trace->nodes.list[p->trace->contexts.list[root].node];
    fd_buffer_format(&p->name, "rank %u: %s", rank->rank,
                     fd_trace_text(p->trace, node->name));
    fd_json_line(&p->json);
    fd_json_begin_object(&p->json, NULL);
    fd_json_put_text(&p->json, "type", "evented");
    write_name(p);
    fd_json_put_text(&p->json, "unit",
                     stacks->weight == FD_WEIGHT_CALLS
                             || stacks->weight == FD_WEIGHT_FLOPS
                         ? "none"
                         : "nanoseconds");
    fd_json_put_u64(&p->json, "startValue", 0);
    fd_json_put_u64(&p->json, "endValue", stacks->whole[root]);
    fd_json_begin_array(&p->json, "events");
}

static void
write_event(printer *p, uint32_t node, bool opens, uint64_t at)
{
    fd_json_begin_object(&p->json, NULL);
    fd_json_put_text(&p->json, "type", opens ? "O" : "C");
    fd_json_put_u64(&p->json, "frame", node - 1);
    fd_json_put_u64(&p->json, "at", at);
    fd_json_end_object(&p->json);
}

/* Write the profiles of a rank. Callees precede the own time of their caller,
 * since a recording does not have their order. */
static void
write_rank(printer *p, const fd_stacks *stacks, const fd_trace_rank *rank)
{
    fd_stacks_step step = {0, false};
    uint64_t at = 0;
    while (fd_stacks_walk(stacks, &step)) {
        const fd_trace_context *context =
            &p->trace->contexts.list[step.context];
        if (context->parent == 0 && step.opens) {
            begin_profile(p, stacks, rank, step.context);
            at = 0;
        }
        else {
            fd_json_line(&p->json);
        }
        write_event(p, context->node, step.opens, at);
        at += step.opens ? fd_stacks_weight(stacks, step.context) : 0;
        if (context->parent == 0 && !step.opens) {
            fd_json_end_array(&p->json);
            fd_json_end_object(&p->json);
        }
    }
}

fd_status
fd_export_speedscope(const fd_trace *trace, const fd_export_options *options,
                     fd_buffer *to, fd_error *error)
{
    (void)error;
    printer p = {.trace = trace, .json = {.to = to}};
    fd_status status = FD_OK;
    fd_json_begin_object(&p.json, NULL);
    fd_json_put_text(&p.json, "$schema",
                     "https://www.speedscope.app/file-format-schema.json");
    fd_json_line(&p.json);
    fd_json_put_text(&p.json, "exporter", "fastdispatch");
    write_frames(&p);
    fd_json_line(&p.json);
    fd_json_begin_array(&p.json, "profiles");
    for (int i = 0; i < (int)trace->ranks.count && status == FD_OK; i++) {
        fd_stacks stacks;
        if (options->rank != FD_ALL_RANKS && options->rank != i) {
            continue;
        }
        status = fd_stacks_make(&stacks, trace, i, options->weight);
        if (status == FD_OK) {
            write_rank(&p, &stacks, &trace->ranks.list[i]);
        }
        fd_stacks_clear(&stacks);
    }
    fd_json_end_array(&p.json);
    fd_json_end_object(&p.json);
    fd_buffer_text(to, "\n");
    status = status == FD_OK ? p.name.status : status;
    fd_buffer_clear(&p.name);
    return status == FD_OK ? to->status : status;
}
