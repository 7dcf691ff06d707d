#include "export/speedscope.h"

#include "export/flame_stacks.h"

typedef struct printer {
    const fd_trace *trace;
    fd_buffer *to;
    fd_buffer name; /* being made */
    bool first;     /* of the profiles */
} printer;

static void
write_text(fd_buffer *to, const char *before, const fd_trace *trace,
           uint32_t text)
{
    const fd_text_pool *texts = &trace->texts;
    fd_buffer_text(to, before);
    fd_buffer_json(to, fd_text_pool_get(texts, text),
                   fd_text_pool_size(texts, text));
}

static void
write_name(printer *p)
{
    fd_buffer_text(p->to, "\"name\":");
    fd_buffer_json(p->to, p->name.size > 0 ? p->name.bytes : "", p->name.size);
    p->name.size = 0;
}

/* "GPT.forward": the file stands beside it. */
static void
write_frame(printer *p, const fd_trace_node *node)
{
    if (node->class_name != 0) {
        fd_buffer_text(&p->name, fd_trace_text(p->trace, node->class_name));
        fd_buffer_text(&p->name, ".");
    }
    fd_buffer_text(&p->name, fd_trace_text(p->trace, node->name));
    fd_buffer_text(p->to, "{");
    write_name(p);
    if (node->file != 0) {
        write_text(p->to, ",\"file\":", p->trace, node->file);
    }
    if (node->line != 0) {
        fd_buffer_format(p->to, ",\"line\":%u", node->line);
    }
    fd_buffer_text(p->to, "}");
}

/* Frame n is node n + 1: node 0 is none. */
static void
write_frames(printer *p)
{
    fd_buffer_text(p->to, "\"shared\":{\"frames\":[");
    for (uint32_t i = 1; i < p->trace->nodes.count; i++) {
        fd_buffer_text(p->to, i > 1 ? ",\n" : "\n");
        write_frame(p, &p->trace->nodes.list[i]);
    }
    fd_buffer_text(p->to, "]},\n");
}

static void
begin_profile(printer *p, const fd_stacks *stacks, const fd_trace_rank *rank,
              uint32_t root)
{
    const fd_trace_node *node =
        &p->trace->nodes.list[p->trace->contexts.list[root].node];
    fd_buffer_format(&p->name, "rank %u: %s", rank->rank,
                     fd_trace_text(p->trace, node->name));
    fd_buffer_text(p->to, p->first ? "\n" : ",\n");
    fd_buffer_text(p->to, "{\"type\":\"evented\",");
    write_name(p);
    fd_buffer_format(p->to,
                     ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,"
                     "\"events\":[",
                     stacks->weight == FD_WEIGHT_CALLS ? "none"
                                                       : "nanoseconds",
                     (unsigned long long)stacks->whole[root]);
    p->first = false;
}

static void
write_event(const printer *p, uint32_t node, bool opens, uint64_t at)
{
    fd_buffer_text(p->to, opens ? "{\"type\":\"O\",\"frame\":"
                                : ",\n{\"type\":\"C\",\"frame\":");
    fd_buffer_u64(p->to, node - 1);
    fd_buffer_text(p->to, ",\"at\":");
    fd_buffer_u64(p->to, at);
    fd_buffer_text(p->to, "}");
}

/* A call comes before what it calls: where in its time is not recorded. */
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
        else if (step.opens) {
            fd_buffer_text(p->to, ",\n");
        }
        write_event(p, context->node, step.opens, at);
        at += step.opens ? fd_stacks_weight(stacks, step.context) : 0;
        if (context->parent == 0 && !step.opens) {
            fd_buffer_text(p->to, "]}");
        }
    }
}

fd_status
fd_export_speedscope(const fd_trace *trace, const fd_export_options *options,
                     fd_buffer *to, fd_error *error)
{
    (void)error;
    printer p = {.trace = trace, .to = to, .first = true};
    fd_status status = FD_OK;
    fd_buffer_text(to, "{\"$schema\":"
                       "\"https://www.speedscope.app/file-format-schema.json\""
                       ",\n\"exporter\":\"fastdispatch\",\n");
    write_frames(&p);
    fd_buffer_text(to, "\"profiles\":[");
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
    fd_buffer_text(to, "]}\n");
    status = status == FD_OK ? p.name.status : status;
    fd_buffer_clear(&p.name);
    return status == FD_OK ? to->status : status;
}
