#include "trace/anonymize.h"

#include "recording/node_table.h"
#include "trace/canonical_order.h"
#include "trace/known_names.h"

#include <stdio.h>
#include <string.h>

enum { LIBRARY = 1, PROJECT = 2 };

typedef struct anonymizer {
    fd_trace *trace;
    fd_sip_key key;
    uint8_t *classes; /* owned; by text: origins of the classes with this
                       * name */
    uint32_t texts;   /* number of texts at the beginning */
} anonymizer;

/* Replace a text by the content of the buffer, which is then cleared. */
static fd_status
replace_text(anonymizer *h, uint32_t *text, fd_buffer *by)
{
    fd_status status =
        by->status != FD_OK
            ? by->status
            : fd_text_pool_add(&h->trace->texts, by->bytes, by->size, text);
    fd_buffer_clear(by);
    return status;
}

static fd_status
hide_text(anonymizer *h, uint32_t *text)
{
    fd_buffer made = {.bytes = NULL};
    if (*text == 0) {
        return FD_OK;
    }
    fd_names_hide(h->key, &made, fd_trace_text(h->trace, *text),
                  fd_text_pool_size(&h->trace->texts, *text));
    return replace_text(h, text, &made);
}

static bool
is_library(const fd_trace *trace, const fd_trace_node *node)
{
    return node->from == FD_FROM_SITE || node->from == FD_FROM_STDLIB
        || (node->from == FD_FROM_GENERATED
            && strncmp(fd_trace_text(trace, node->file), "<frozen ", 8) == 0);
}

static fd_status
learn_class(anonymizer *h, const char *name, size_t size, uint8_t whose)
{
    uint32_t id;
    fd_status status = fd_text_pool_add(&h->trace->texts, name, size, &id);
    if (status == FD_OK && id < h->texts) {
        h->classes[id] |= whose;
    }
    return status;
}

/* Note the classes Outer and Inner of "Outer.Inner.method". */
static fd_status
learn_qualified(anonymizer *h, uint32_t text, uint8_t whose)
{
    size_t size = fd_text_pool_size(&h->trace->texts, text);
    fd_buffer copy = {.bytes = NULL}; /* adding texts moves the pool */
    fd_buffer_bytes(&copy, fd_trace_text(h->trace, text), size);
    fd_status status = copy.status;
    size_t from = 0;
    for (size_t i = 0; i < size && status == FD_OK; i++) {
        if (copy.bytes[i] == '.') {
            status = learn_class(h, copy.bytes + from, i - from, whose);
            from = i + 1;
        }
    }
    fd_buffer_clear(&copy);
    return status;
}

/* Note the origin of each class, from the qualified names of its functions.
 * The class of a node is not sufficient: a method of a library's class can run
 * for a class of the project, which is then the class of the node. */
static fd_status
learn_classes(anonymizer *h)
{
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < h->trace->nodes.count && status == FD_OK; i++) {
        const fd_trace_node *node = &h->trace->nodes.list[i];
        if (fd_kind_is_function(node->kind)) {
            status = learn_qualified(h, node->qualified,
                                     is_library(h->trace, node) ? LIBRARY
                                                                : PROJECT);
        }
    }
    return status;
}

/* Return whether a class name is used only by libraries. */
static bool
is_known_class(const anonymizer *h, uint32_t text)
{
    int whose = text < h->texts ? h->classes[text] : 0;
    whose |= fd_names_class(fd_trace_text(h->trace, text)) ? LIBRARY : 0;
    return whose == LIBRARY;
}

static fd_status
hide_class(anonymizer *h, uint32_t *text)
{
    return is_known_class(h, *text) ? FD_OK : hide_text(h, text);
}

/* Return whether Python or PyTorch defined the name: <lambda>, __init__,
 * forward. */
static bool
is_common(const char *name, size_t size)
{
    return (size > 1 && name[0] == '<' && name[size - 1] == '>')
        || (size > 4 && strncmp(name, "__", 2) == 0
            && strcmp(name + size - 2, "__") == 0)
        || strcmp(name, "forward") == 0 || strcmp(name, "backward") == 0;
}

static fd_status
hide_function(anonymizer *h, fd_trace_node *node)
{
    const fd_trace *trace = h->trace;
    fd_status status = hide_class(h, &node->class_name);
    if (is_library(trace, node)) {
        return status;
    }
    fd_then(status, hide_text(h, &node->file));
    if (status == FD_OK
        && !is_common(fd_trace_text(trace, node->name),
                      fd_text_pool_size(&trace->texts, node->name))) {
        status = hide_text(h, &node->name);
    }
    if (status == FD_OK
        && strcmp(fd_trace_text(trace, node->package), "project") != 0) {
        status = hide_text(h, &node->package);
    }
    return fd_then(status, hide_text(h, &node->qualified));
}

/* Hide a range. The class of an optimizer can be the project's. */
static fd_status
hide_range(anonymizer *h, uint32_t *text)
{
    const char *name = fd_trace_text(h->trace, *text);
    fd_range_name parts = fd_names_range(name);
    if (parts.owner == 0) {
        return parts.known > 0 ? FD_OK : hide_text(h, text);
    }
    fd_buffer made = {.bytes = NULL};
    fd_buffer owner = {.bytes = NULL};
    fd_buffer_bytes(&made, name, parts.known);
    fd_names_hide(h->key, &made, name + parts.known, parts.owner);
    fd_buffer_bytes(&owner, name + parts.known, parts.owner);
    uint32_t id = 0;
    fd_status status = replace_text(h, &id, &owner);
    if (status != FD_OK || is_known_class(h, id)) {
        fd_buffer_clear(&made);
        return status;
    }
    return replace_text(h, text, &made);
}

static fd_status
hide_node(anonymizer *h, fd_trace_node *node)
{
    const char *name = fd_trace_text(h->trace, node->name);
    bool known = false;
    switch (node->kind) {
    case FD_NODE_PYTHON:
    case FD_NODE_C:
        return hide_function(h, node);
    case FD_NODE_RANGE:
        return hide_range(h, &node->name);
    case FD_NODE_OP:
        known = fd_names_operator(name);
        break;
    case FD_NODE_AUTOGRAD:
        known = fd_names_autograd(name);
        break;
    case FD_NODE_JOB:
        known = fd_names_job(name);
        break;
    case FD_NODE_THREAD:
        known = fd_names_role(name);
        break;
    case FD_NODE_OVERFLOW:
        known = true;
        break;
    default:
        break;
    }
    return known ? FD_OK : hide_text(h, &node->name);
}

/* Hide a module path, but keep numbers, so that repeats are still folded. */
static fd_status
hide_path(anonymizer *h, uint32_t *text)
{
    const char *path = fd_trace_text(h->trace, *text);
    fd_buffer made = {.bytes = NULL};
    while (*path != '\0') {
        size_t size = strcspn(path, ".");
        if (strspn(path, "0123456789") >= size) {
            fd_buffer_bytes(&made, path, size);
        }
        else {
            fd_names_hide(h->key, &made, path, size);
        }
        path += size;
        if (*path == '.') {
            fd_buffer_bytes(&made, path++, 1);
        }
    }
    return replace_text(h, text, &made);
}

static fd_status
hide_shared(anonymizer *h)
{
    fd_status status = FD_OK;
    for (uint32_t i = 1; i < h->trace->nodes.count && status == FD_OK; i++) {
        status = hide_node(h, &h->trace->nodes.list[i]);
    }
    for (uint32_t i = 1; i < h->trace->modules.count && status == FD_OK; i++) {
        fd_trace_module *module = &h->trace->modules.list[i];
        status = hide_path(h, &module->name);
        fd_then(status, hide_class(h, &module->class_name));
    }
    return status;
}

/* Return whether a fact is kept. Facts about clocks of other hosts are
 * numbers, except the text of a failure. */
static bool
is_kept(const anonymizer *h, const char *key, fd_trace_meta fact)
{
    return fd_names_fact(key)
        || (strcmp(key, "clock") == 0
            && strstr(fd_trace_text(h->trace, fact.json), "\"trouble\"")
                   == NULL);
}

/* Add the fact that the rank is anonymous, so that readers do not search this
 * machine for its sources. */
static fd_status
mark_rank(anonymizer *h, fd_trace_rank *rank)
{
    static const char name[] = "anonymous";
    fd_trace_meta fact;
    fd_status status =
        fd_text_pool_add(&h->trace->texts, name, sizeof name - 1, &fact.key);
    fd_then(status, fd_text_pool_add(&h->trace->texts, "true", 4, &fact.json));
    return fd_then(status, fd_vector_push(&rank->meta, fact));
}

static fd_status
hide_facts(anonymizer *h, fd_trace_rank *rank)
{
    uint32_t kept = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < rank->meta.count && status == FD_OK; i++) {
        fd_trace_meta fact = rank->meta.list[i];
        const char *key = fd_trace_text(h->trace, fact.key);
        bool named = strcmp(key, "host") == 0 || strcmp(key, "run_id") == 0;
        if (!named && !is_kept(h, key, fact)) {
            continue;
        }
        if (named) {
            fd_buffer json = {.bytes = NULL};
            fd_buffer_text(&json, "\"");
            fd_names_hide(h->key, &json, fd_trace_text(h->trace, fact.json),
                          fd_text_pool_size(&h->trace->texts, fact.json));
            fd_buffer_text(&json, "\"");
            status = replace_text(h, &fact.json, &json);
        }
        rank->meta.list[kept++] = fact;
    }
    rank->meta.count = kept;
    return fd_then(status, mark_rank(h, rank));
}

static fd_status
hide_rank(anonymizer *h, fd_trace_rank *rank)
{
    fd_status status = hide_facts(h, rank);
    for (uint32_t i = 0; i < rank->threads.count && status == FD_OK; i++) {
        uint32_t *role = &rank->threads.list[i].role;
        if (!fd_names_role(fd_trace_text(h->trace, *role))) {
            status = hide_text(h, role);
        }
    }
    for (uint32_t i = 0; i < rank->jobs.count && status == FD_OK; i++) {
        uint32_t *kind = &rank->jobs.list[i].kind;
        if (!fd_names_job(fd_trace_text(h->trace, *kind))) {
            status = hide_text(h, kind);
        }
    }
    for (uint32_t i = 0; i < rank->measures.count && status == FD_OK; i++) {
        fd_trace_measure *measure = &rank->measures.list[i];
        if (measure->kind != FD_MEASURE_SHAPES
            && measure->kind != FD_MEASURE_COMM
            && measure->kind != FD_MEASURE_COLLECTIVES
            && measure->kind != FD_MEASURE_LATEST
            && measure->kind < FD_MEASURE_ALLOCATED) {
            status = hide_text(h, &measure->detail);
        }
    }
    static const char note[] = "a note about skipped data is hidden";
    for (uint32_t i = 0; i < rank->notes.count && status == FD_OK; i++) {
        status = fd_text_pool_add(&h->trace->texts, note, sizeof note - 1,
                                  &rank->notes.list[i]);
    }
    uint64_t boot = fd_siphash(h->key, rank->boot_id, strlen(rank->boot_id));
    if (rank->boot_id[0] != '\0') {
        snprintf(rank->boot_id, sizeof rank->boot_id, "%016llx%016llx",
                 (unsigned long long)boot,
                 (unsigned long long)(boot * UINT64_C(0x9E3779B97F4A7C15)));
    }
    return status;
}

fd_status
fd_trace_anonymize(fd_trace *trace, const char *salt, size_t size)
{
    anonymizer h = {.trace = trace, .texts = trace->texts.texts.count};
    h.key = fd_names_key(salt, size);
    h.classes = fd_calloc(h.texts + 1, sizeof *h.classes);
    fd_status status = h.classes == NULL ? FD_ENOMEM : learn_classes(&h);
    fd_then(status, hide_shared(&h));
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        status = hide_rank(&h, &trace->ranks.list[i]);
    }
    fd_free(h.classes);
    trace->sorted = false; /* sort again by the new names, and remove the old
                            * ones */
    return fd_then(status, fd_trace_sort(trace));
}

static fd_status
strip_prefix(fd_trace *trace, uint32_t *text, const char *prefix, size_t size,
             bool inside)
{
    const char *from = fd_trace_text(trace, *text);
    fd_buffer made = {.bytes = NULL};
    bool first = true;
    while (*from != '\0') {
        if ((first || inside) && strncmp(from, prefix, size) == 0) {
            from += size;
        }
        else {
            fd_buffer_bytes(&made, from++, 1);
        }
        first = false;
    }
    fd_status status =
        made.status != FD_OK
            ? made.status
            : fd_text_pool_add(&trace->texts, made.bytes, made.size, text);
    fd_buffer_clear(&made);
    return status;
}

fd_status
fd_trace_strip_prefix(fd_trace *trace, const char *prefix, size_t size)
{
    fd_status status = FD_OK;
    if (size == 0) {
        return FD_OK;
    }
    for (uint32_t i = 1; i < trace->nodes.count && status == FD_OK; i++) {
        status = strip_prefix(trace, &trace->nodes.list[i].file, prefix, size,
                              false);
    }
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_trace_rank *rank = &trace->ranks.list[i];
        for (uint32_t k = 0; k < rank->meta.count && status == FD_OK; k++) {
            status = strip_prefix(trace, &rank->meta.list[k].json, prefix,
                                  size, true);
        }
        for (uint32_t k = 0; k < rank->notes.count && status == FD_OK; k++) {
            status =
                strip_prefix(trace, &rank->notes.list[k], prefix, size, true);
        }
    }
    trace->sorted = false;
    return fd_then(status, fd_trace_sort(trace));
}
