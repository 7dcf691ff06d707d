#include "export/stack_exports.h"

#include "profile/totals.h"
#include "streams/protobuf.h"

#include <string.h>

/* Field numbers by message. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_LINE = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_START_LINE = 5
};

typedef struct value_type {
    const char *type;
    const char *unit;
} value_type;

static const value_type values[] = {
    {"calls", "count"},   {"cpu", "nanoseconds"},    {"gpu", "nanoseconds"},
    {"resumes", "count"}, {"communicated", "bytes"}, {"allocated", "bytes"}};

enum { VALUES = sizeof values / sizeof *values, BY_TIME = 1 };

typedef struct printer {
    const fd_trace *trace;
    fd_totals totals;
    fd_buffer *to;
    fd_text_pool strings; /* entry 0 is "", which the format requires */
    fd_buffer message;    /* the message in progress, and a message inside
                           * it */
    fd_buffer inner;
    fd_status status;
} printer;

static uint32_t
string_id(printer *p, const char *text, size_t size)
{
    uint32_t id = 0;
    fd_status status = fd_text_pool_add(&p->strings, text, size, &id);
    p->status = p->status == FD_OK ? status : p->status;
    return id;
}

static uint32_t
pooled_id(printer *p, uint32_t text)
{
    const fd_text_pool *texts = &p->trace->texts;
    return string_id(p, fd_text_pool_get(texts, text),
                     fd_text_pool_size(texts, text));
}

static void
write_types(printer *p)
{
    for (int i = 0; i < VALUES; i++) {
        const value_type *value = &values[i];
        fd_proto_number(&p->message, VALUE_TYPE,
                        string_id(p, value->type, strlen(value->type)));
        fd_proto_number(&p->message, VALUE_UNIT,
                        string_id(p, value->unit, strlen(value->unit)));
        fd_proto_message(p->to, PROFILE_SAMPLE_TYPE, &p->message);
    }
    fd_proto_number(
        p->to, PROFILE_DEFAULT_SAMPLE_TYPE,
        string_id(p, values[BY_TIME].type, strlen(values[BY_TIME].type)));
}

static void
add_packed(fd_buffer *to, uint64_t value)
{
    uint8_t bytes[10];
    fd_buffer_bytes(to, bytes, (size_t)(fd_proto_put(bytes, value) - bytes));
}

/* Write a sample: its stack begins with the call itself. */
static void
write_sample(printer *p, uint32_t context)
{
    const fd_trace_context *contexts = p->trace->contexts.list;
    const fd_total *total = &p->totals.list[context];
    const uint64_t figures[VALUES] = {total->calls,        total->self,
                                      total->gpu_self,     total->resumes,
                                      total->communicated, total->allocated};
    uint64_t any = 0;
    for (int i = 0; i < VALUES; i++) {
        any |= figures[i];
    }
    if (any == 0) {
        return;
    }
    for (uint32_t at = context; at != 0; at = contexts[at].parent) {
        add_packed(&p->inner, contexts[at].node);
    }
    fd_proto_message(&p->message, SAMPLE_LOCATION, &p->inner);
    for (int i = 0; i < VALUES; i++) {
        add_packed(&p->inner, figures[i]);
    }
    fd_proto_message(&p->message, SAMPLE_VALUE, &p->inner);
    fd_proto_message(p->to, PROFILE_SAMPLE, &p->message);
}

/* Write a location and its function, which both have the number of their
 * node. */
static void
write_node(printer *p, uint32_t id)
{
    const fd_trace_node *node = &p->trace->nodes.list[id];
    fd_proto_number(&p->message, LOCATION_ID, id);
    fd_proto_number(&p->inner, LINE_FUNCTION, id);
    fd_proto_number(&p->inner, LINE_LINE, node->line);
    fd_proto_message(&p->message, LOCATION_LINE, &p->inner);
    fd_proto_message(p->to, PROFILE_LOCATION, &p->message);
    fd_trace_node_key(p->trace, id, &p->inner);
    uint32_t key = string_id(p, p->inner.bytes, p->inner.size);
    p->inner.size = 0;
    fd_proto_number(&p->message, FUNCTION_ID, id);
    fd_proto_number(&p->message, FUNCTION_NAME, key);
    fd_proto_number(&p->message, FUNCTION_SYSTEM_NAME,
                    pooled_id(p, node->qualified));
    fd_proto_number(&p->message, FUNCTION_FILE, pooled_id(p, node->file));
    fd_proto_number(&p->message, FUNCTION_START_LINE, node->line);
    fd_proto_message(p->to, PROFILE_FUNCTION, &p->message);
}

/* Return the wall-clock time in ns at the start of the figures: of the
 * recording, or of the selected steps. */
static int64_t
wall_start(const fd_trace_rank *rank)
{
    int64_t start = (int64_t)rank->start.realtime_ns;
    bool later = rank->window.applied && rank->window.from > 0;
    return later ? start + (int64_t)rank->marks.list[rank->window.from - 1].end
                 : start;
}

/* Write the times: the start of the first rank, and the longest recorded
 * duration. */
static void
write_times(printer *p, int rank)
{
    uint64_t longest = 0;
    int64_t first = 0;
    for (int i = 0; i < (int)p->trace->ranks.count; i++) {
        const fd_trace_rank *one = &p->trace->ranks.list[i];
        if (rank == FD_ALL_RANKS || rank == i) {
            int64_t start = wall_start(one);
            first = first == 0 || start < first ? start : first;
            longest = one->recorded > longest ? one->recorded : longest;
        }
    }
    fd_proto_number(p->to, PROFILE_TIME_NANOS, (uint64_t)first);
    fd_proto_number(p->to, PROFILE_DURATION_NANOS, longest);
}

fd_status
fd_export_pprof(const fd_trace *trace, const fd_export_options *options,
                fd_buffer *to, fd_error *error)
{
    (void)error;
    printer p = {.trace = trace, .to = to};
    p.status = fd_totals_sum(&p.totals, trace, options->rank);
    if (p.status == FD_OK) {
        write_types(&p);
        write_times(&p, options->rank);
        for (uint32_t i = 1; i < trace->contexts.count; i++) {
            write_sample(&p, i);
        }
        for (uint32_t i = 1; i < trace->nodes.count; i++) {
            write_node(&p, i);
        }
        for (uint32_t i = 0; i < p.strings.texts.count; i++) {
            fd_proto_bytes(to, PROFILE_STRING, fd_text_pool_get(&p.strings, i),
                           fd_text_pool_size(&p.strings, i));
        }
    }
    fd_status inner =
        p.inner.status != FD_OK ? p.inner.status : p.message.status;
    fd_text_pool_clear(&p.strings);
    fd_buffer_clear(&p.message);
    fd_buffer_clear(&p.inner);
    fd_totals_clear(&p.totals);
    return p.status != FD_OK ? p.status : inner != FD_OK ? inner : to->status;
}
