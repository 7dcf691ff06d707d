#include "trace/trace.h"

#include "base/hash.h"
#include "recording/node_table.h"
#include "json/json_scan.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MODULE_DEPTH = 64 };

fd_trace *
fd_trace_new(void)
{
    fd_trace *trace = fd_calloc(1, sizeof *trace);
    if (trace == NULL) {
        return NULL;
    }
    if (fd_vector_push(&trace->nodes, (fd_trace_node){.kind = 0}) != FD_OK
        || fd_vector_push(&trace->modules, (fd_trace_module){.name = 0})
               != FD_OK
        || fd_vector_push(&trace->contexts, (fd_trace_context){.flags = 0})
               != FD_OK) {
        fd_trace_free(trace);
        return NULL;
    }
    return trace;
}

void
fd_trace_free(fd_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_trace_rank_clear(&trace->ranks.list[i]);
    }
    fd_text_pool_clear(&trace->texts);
    fd_vector_clear(&trace->nodes);
    fd_vector_clear(&trace->modules);
    fd_vector_clear(&trace->contexts);
    fd_vector_clear(&trace->ranks);
    fd_index_clear(&trace->node_index);
    fd_index_clear(&trace->module_index);
    fd_index_clear(&trace->context_index);
    fd_free(trace);
}

fd_trace_rank *
fd_trace_add_rank(fd_trace *trace)
{
    return fd_vector_push(&trace->ranks, (fd_trace_rank){.rank = 0}) == FD_OK
             ? &trace->ranks.list[trace->ranks.count - 1]
             : NULL;
}

static bool
same_node(const fd_trace_node *a, const fd_trace_node *b)
{
    return a->kind == b->kind && a->file == b->file
        && a->class_name == b->class_name && a->name == b->name
        && a->line == b->line;
}

/* Keep the smaller of two texts; any text precedes the empty text. */
static void
settle_text(const fd_trace *trace, uint32_t *kept, uint32_t other)
{
    if (*kept == 0
        || (other != 0 && other != *kept
            && strcmp(fd_trace_text(trace, other), fd_trace_text(trace, *kept))
                   < 0)) {
        *kept = other;
    }
}

/* Combine two descriptions of one node so that the result does not depend on
 * the order of ranks: they can differ, for example if only one rank has the
 * package installed. */
static void
settle_node(const fd_trace *trace, fd_trace_node *kept,
            const fd_trace_node *other)
{
    kept->from = other->from < kept->from ? other->from : kept->from;
    settle_text(trace, &kept->qualified, other->qualified);
    settle_text(trace, &kept->package, other->package);
}

fd_status
fd_trace_add_node(fd_trace *trace, const fd_trace_node *node, uint32_t *id)
{
    uint64_t hash = fd_hash_next(fd_hash_word(node->kind),
                                 (uint64_t)node->file << 32 | node->name);
    hash = fd_hash_next(hash, (uint64_t)node->class_name << 32 | node->line);
    fd_probe probe = fd_index_probe(&trace->node_index, hash);
    while ((*id = fd_index_next(&trace->node_index, &probe)) != 0) {
        if (same_node(&trace->nodes.list[*id], node)) {
            settle_node(trace, &trace->nodes.list[*id], node);
            return FD_OK;
        }
    }
    if (fd_vector_push(&trace->nodes, *node) != FD_OK) {
        return FD_ENOMEM;
    }
    *id = trace->nodes.count - 1;
    return fd_index_add(&trace->node_index, hash, *id);
}

/* Combine two descriptions of a module; ranks can have parts of different
 * sizes. */
static void
settle_module(fd_trace_module *kept, const fd_trace_module *other)
{
    if (other->parameters > kept->parameters) {
        kept->parameters = other->parameters;
    }
    if (other->parameter_bytes > kept->parameter_bytes) {
        kept->parameter_bytes = other->parameter_bytes;
    }
}

fd_status
fd_trace_add_module(fd_trace *trace, const fd_trace_module *module,
                    uint32_t *id)
{
    uint64_t hash =
        fd_hash_next(fd_hash_word(module->parent),
                     (uint64_t)module->name << 32 | module->class_name);
    fd_probe probe = fd_index_probe(&trace->module_index, hash);
    while ((*id = fd_index_next(&trace->module_index, &probe)) != 0) {
        fd_trace_module *known = &trace->modules.list[*id];
        if (known->parent == module->parent && known->name == module->name
            && known->class_name == module->class_name) {
            settle_module(known, module);
            return FD_OK;
        }
    }
    if (fd_vector_push(&trace->modules, *module) != FD_OK) {
        return FD_ENOMEM;
    }
    *id = trace->modules.count - 1;
    return fd_index_add(&trace->module_index, hash, *id);
}

static bool
same_context(const fd_trace_context *a, const fd_trace_context *b)
{
    return a->parent == b->parent && a->node == b->node
        && a->module == b->module && a->origin == b->origin;
}

fd_status
fd_trace_add_context(fd_trace *trace, const fd_trace_context *context,
                     uint32_t *id)
{
    uint64_t hash = fd_hash_next(
        fd_hash_word((uint64_t)context->parent << 32 | context->node),
        (uint64_t)context->module << 32 | context->origin);
    fd_probe probe = fd_index_probe(&trace->context_index, hash);
    while ((*id = fd_index_next(&trace->context_index, &probe)) != 0) {
        fd_trace_context *found = &trace->contexts.list[*id];
        if (same_context(found, context)) {
            found->flags |= context->flags;
            return FD_OK;
        }
    }
    if (fd_vector_push(&trace->contexts, *context) != FD_OK) {
        return FD_ENOMEM;
    }
    *id = trace->contexts.count - 1;
    return fd_index_add(&trace->context_index, hash, *id);
}

static void
keep_least(uint64_t *value, uint64_t other, bool first)
{
    if (first || other < *value) {
        *value = other;
    }
}

static void
keep_most(uint64_t *value, uint64_t other)
{
    if (other > *value) {
        *value = other;
    }
}

void
fd_figure_add(fd_figure *figure, const fd_figure *more)
{
    if (more->steps > 0) {
        bool first = figure->steps == 0;
        keep_least(&figure->self_min, more->self_min, first);
        keep_least(&figure->total_min, more->total_min, first);
        keep_most(&figure->self_max, more->self_max);
        keep_most(&figure->total_max, more->total_max);
    }
    if (more->steps > figure->steps) {
        figure->steps = more->steps;
    }
    if (more->last_step > figure->last_step) {
        figure->last_step = more->last_step;
    }
    figure->calls += more->calls;
    figure->resumes += more->resumes;
    figure->self += more->self;
    figure->stepped += more->stepped;
    figure->self_squares += more->self_squares;
    figure->total_squares += more->total_squares;
}

FD_ORDER_AS(by_measure, fd_trace_measure, FD_UP(context), FD_UP(kind),
            FD_UP(flags),
            FD_FIRST_2(FD_UP(detail),
                       one->kind == FD_MEASURE_LATEST ? FD_UP(count) : 0))

void
fd_measures_fold(fd_trace_rank *rank)
{
    fd_trace_measure *list = rank->measures.list;
    uint32_t kept = 0;
    if (rank->measures.count == 0) {
        return;
    }
    qsort(list, rank->measures.count, sizeof *list, by_measure);
    for (uint32_t i = 1; i < rank->measures.count; i++) {
        fd_trace_measure *to = &list[kept];
        if (by_measure(to, &list[i]) != 0) {
            list[++kept] = list[i];
            continue;
        }
        to->count += list[i].count;
        to->sum += list[i].sum;
        to->max = list[i].max > to->max ? list[i].max : to->max;
        to->other += list[i].other;
    }
    rank->measures.count = kept + 1;
}

bool
fd_trace_is_collection(const fd_trace *trace, uint32_t node)
{
    static const char prefix[] = "gc:gen";
    const fd_trace_node *of = &trace->nodes.list[node];
    return of->kind == FD_NODE_RANGE
        && strncmp(fd_trace_text(trace, of->name), prefix, sizeof prefix - 1)
               == 0;
}

void
fd_trace_node_key(const fd_trace *trace, uint32_t id, fd_buffer *to)
{
    const fd_trace_node *node = &trace->nodes.list[id];
    if (fd_kind_is_function(node->kind)) {
        fd_buffer_text(to, fd_trace_text(trace, node->file));
        fd_buffer_text(to, ":[");
        fd_buffer_text(to, fd_trace_text(trace, node->class_name));
        fd_buffer_text(to, "]:");
    }
    fd_buffer_text(to, fd_trace_text(trace, node->name));
    if (node->ambiguous) {
        fd_buffer_format(to, "@%u", node->line);
    }
}

void
fd_trace_module_name(const fd_trace *trace, uint32_t id, fd_buffer *to)
{
    uint32_t path[MAX_MODULE_DEPTH];
    int depth = 0;
    /* A root is named by its class, which is not part of the path. */
    while (trace->modules.list[id].parent != 0 && depth < MAX_MODULE_DEPTH) {
        path[depth++] = id;
        id = trace->modules.list[id].parent;
    }
    while (depth-- > 0) {
        fd_buffer_text(
            to, fd_trace_text(trace, trace->modules.list[path[depth]].name));
        fd_buffer_text(to, depth > 0 ? "." : "");
    }
}

uint64_t
fd_trace_record_id(const fd_trace_rank *rank, uint32_t event)
{
    uint32_t low = 0;
    uint32_t high = rank->record_ids.count;
    FD_BISECT(low, high, rank->record_ids.list[middle].event < event);
    return low < rank->record_ids.count
                && rank->record_ids.list[low].event == event
             ? rank->record_ids.list[low].id
             : 0;
}

const char *
fd_rank_fact(const fd_trace *trace, const fd_trace_rank *rank, const char *key)
{
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *meta = &rank->meta.list[i];
        if (strcmp(fd_trace_text(trace, meta->key), key) == 0) {
            return fd_trace_text(trace, meta->json);
        }
    }
    return NULL;
}

/* Append " | " and the words of a fact, if present. */
static void
add_fact(const fd_trace *trace, const fd_trace_rank *rank, const char *key,
         fd_buffer *to)
{
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        const fd_trace_meta *meta = &rank->meta.list[i];
        if (strcmp(fd_trace_text(trace, meta->key), key) == 0) {
            const char *json = fd_trace_text(trace, meta->json);
            char words[256];
            if (fd_span_words((fd_span){json, json + strlen(json)}, words,
                              sizeof words)) {
                fd_buffer_text(to, " | ");
                fd_buffer_text(to, words);
            }
        }
    }
}

void
fd_rank_label(const fd_trace *trace, const fd_trace_rank *rank, fd_buffer *to)
{
    fd_buffer_format(to, "rank %u", rank->rank);
    add_fact(trace, rank, "host", to);
    add_fact(trace, rank, "coordinates", to);
}

int64_t
fd_rank_offset(const fd_trace *trace, const fd_trace_rank *rank)
{
    const fd_trace_rank *first = &trace->ranks.list[0];
    bool same_host = strcmp(rank->boot_id, first->boot_id) == 0;
    uint64_t own =
        same_host ? rank->start.boottime_ns : rank->start.realtime_ns;
    uint64_t base =
        same_host ? first->start.boottime_ns : first->start.realtime_ns;
    return (int64_t)(own - base);
}

int64_t
fd_first_offset(const fd_trace *trace)
{
    int64_t first = 0;
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        int64_t offset = fd_rank_offset(trace, &trace->ranks.list[i]);
        first = offset < first ? offset : first;
    }
    return first;
}
