#include "io/load.h"

#include "io/columns.h"
#include "io/graft.h"
#include "io/sort.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loading {
    const char *path;
    fd_error *error;
    fd_trace *trace;
    FD_VECTOR(uint32_t) texts;    /* index in the document -> text */
    FD_VECTOR(uint32_t) nodes;    /* the same for nodes; entry 0 is none */
    FD_VECTOR(uint32_t) modules;
    uint32_t *contexts;           /* owned */
    uint32_t context_count;
} loading;

typedef struct rows {
    void *list; /* owned */
    uint32_t count;
} rows;

static fd_status
wrong(const loading *l, const char *where, const char *what)
{
    return fd_fail(l->error, FD_EFORMAT, "%s: %s: %s", l->path, where, what);
}

/* ---- cells ---- */

static bool
unsigned_value(const cJSON *json, uint64_t *value)
{
    if (cJSON_IsString(json)) {
        char *end;
        errno = 0;
        *value = strtoull(json->valuestring, &end, 10);
        return errno == 0 && end != json->valuestring && *end == '\0'
               && json->valuestring[0] != '-';
    }
    double number = json->valuedouble;
    if (!cJSON_IsNumber(json) || !(number >= 0) || number > 9007199254740992.0
        || number != floor(number)) {
        return false;
    }
    *value = (uint64_t)number;
    return true;
}

static bool
cell_value(const loading *l, fd_column_type type, const cJSON *json,
           uint64_t *value)
{
    double number = json->valuedouble;
    switch (type) {
    case FD_COLUMN_INDEX:
        if (!cJSON_IsNumber(json) || !(number >= -1) || number >= UINT32_MAX
            || number != floor(number)) {
            return false;
        }
        *value = (uint64_t)(number + 1);
        return true;
    case FD_COLUMN_TEXT:
        if (!unsigned_value(json, value) || *value >= l->texts.count) {
            return false;
        }
        *value = l->texts.list[*value];
        return true;
    case FD_COLUMN_U8:
        return unsigned_value(json, value) && *value <= UINT8_MAX;
    case FD_COLUMN_U32:
        return unsigned_value(json, value) && *value <= UINT32_MAX;
    case FD_COLUMN_U64:
    case FD_COLUMN_I64:
        return unsigned_value(json, value);
    case FD_COLUMN_BOOL:
        *value = cJSON_IsTrue(json) != 0;
        return cJSON_IsBool(json);
    case FD_COLUMN_DOUBLE:
        memcpy(value, &number, sizeof *value);
        return cJSON_IsNumber(json) && isfinite(number);
    }
    return false;
}

/* ---- tables ---- */

static fd_status
load_column(const loading *l, const fd_table *table, const fd_column *column,
            const cJSON *values, rows *to)
{
    char where[64];
    snprintf(where, sizeof where, "%s.%s", table->name, column->name);
    if (!cJSON_IsArray(values)) {
        return wrong(l, where, "an array is missing");
    }
    uint32_t at = table->from_one;
    const cJSON *item;
    cJSON_ArrayForEach(item, values)
    {
        uint64_t value;
        if (at >= to->count) {
            return wrong(l, where, "more values than in the first column");
        }
        if (!cell_value(l, column->type, item, &value)) {
            return wrong(l, where, "a value has the wrong type or range");
        }
        fd_cell_set(column, (char *)to->list + at++ * table->row_bytes, value);
    }
    return at == to->count
               ? FD_OK
               : wrong(l, where, "fewer values than in the first column");
}

static fd_status
load_table(const loading *l, const cJSON *parent, const fd_table *table,
           rows *to)
{
    const cJSON *json = cJSON_GetObjectItemCaseSensitive(parent, table->name);
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(
        json, table->columns[0].name);
    *to = (rows){NULL, 0};
    if (!cJSON_IsObject(json) || !cJSON_IsArray(first)) {
        return wrong(l, table->name, "the table is missing");
    }
    to->count = (uint32_t)cJSON_GetArraySize(first) + table->from_one;
    to->list = fd_calloc(to->count, table->row_bytes);
    if (to->list == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = FD_OK;
    for (size_t i = 0; i < table->count && status == FD_OK; i++) {
        const fd_column *column = &table->columns[i];
        status = load_column(l, table, column,
                             cJSON_GetObjectItemCaseSensitive(json,
                                                              column->name),
                             to);
    }
    return status;
}

/* ---- what all ranks share ---- */

static fd_status
load_strings(loading *l, const cJSON *document)
{
    const cJSON *strings = cJSON_GetObjectItemCaseSensitive(document,
                                                            "strings");
    const cJSON *item;
    if (!cJSON_IsArray(strings)) {
        return wrong(l, "strings", "an array is missing");
    }
    cJSON_ArrayForEach(item, strings)
    {
        uint32_t id;
        if (!cJSON_IsString(item)) {
            return wrong(l, "strings", "not a string");
        }
        if (fd_text_pool_add(&l->trace->texts, item->valuestring,
                             strlen(item->valuestring), &id) != FD_OK
            || fd_vector_push(&l->texts, id) != FD_OK) {
            return FD_ENOMEM;
        }
    }
    return FD_OK;
}

static fd_status
load_nodes(loading *l, const cJSON *document)
{
    rows from;
    fd_status status = load_table(l, document, &fd_nodes_table, &from);
    const fd_trace_node *nodes = from.list;
    for (uint32_t i = 0; i < from.count && status == FD_OK; i++) {
        uint32_t id = 0;
        if (i > 0 && (nodes[i].kind == 0 || nodes[i].kind >= FD_NODE_KINDS)) {
            status = wrong(l, "nodes.kind", "unknown kind");
        }
        else if (i > 0) {
            status = fd_trace_add_node(l->trace, &nodes[i], &id);
        }
        if (status == FD_OK) {
            status = fd_vector_push(&l->nodes, id);
        }
    }
    fd_free(from.list);
    return status;
}

static fd_status
load_modules(loading *l, const cJSON *document)
{
    rows from;
    fd_status status = load_table(l, document, &fd_modules_table, &from);
    fd_trace_module *modules = from.list;
    for (uint32_t i = 0; i < from.count && status == FD_OK; i++) {
        uint32_t id = 0;
        if (i > 0 && modules[i].parent >= i) {
            status = wrong(l, "modules.parent", "not an earlier module");
        }
        else if (i > 0) {
            modules[i].parent = l->modules.list[modules[i].parent];
            status = fd_trace_add_module(l->trace, &modules[i], &id);
        }
        if (status == FD_OK) {
            status = fd_vector_push(&l->modules, id);
        }
    }
    fd_free(from.list);
    return status;
}

static fd_status
check_context(const loading *l, fd_trace_context *context, uint32_t count)
{
    if (context->node == 0 || context->node >= l->nodes.count) {
        return wrong(l, "contexts.node", "no such node");
    }
    if (context->module >= l->modules.count) {
        return wrong(l, "contexts.module", "no such module");
    }
    if (context->parent >= count || context->origin >= count) {
        return wrong(l, "contexts", "a parent or origin does not exist");
    }
    context->node = l->nodes.list[context->node];
    context->module = l->modules.list[context->module];
    return FD_OK;
}

static fd_status
load_contexts(loading *l, const cJSON *document)
{
    rows from;
    fd_status status = load_table(l, document, &fd_contexts_table, &from);
    fd_trace_context *contexts = from.list;
    for (uint32_t i = 1; i < from.count && status == FD_OK; i++) {
        status = check_context(l, &contexts[i], from.count);
    }
    if (status == FD_OK) {
        l->context_count = from.count;
        l->contexts = fd_calloc(from.count, sizeof *l->contexts);
        status = l->contexts == NULL ? FD_ENOMEM
                                     : fd_graft(l->trace, contexts, NULL,
                                                from.count, l->contexts);
    }
    fd_free(from.list);
    return status;
}

/* ---- ranks ---- */

/* Replace the document's context ids in one column by the trace's. */
static fd_status
map_contexts(const loading *l, const fd_table *table, const char *name,
             rows *of)
{
    for (size_t c = 0; c < table->count; c++) {
        const fd_column *column = &table->columns[c];
        if (strcmp(column->name, name) != 0) {
            continue;
        }
        for (uint32_t i = 0; i < of->count; i++) {
            char *row = (char *)of->list + i * table->row_bytes;
            uint64_t id = fd_cell(column, row);
            if (id >= l->context_count) {
                return wrong(l, table->name, "no such context");
            }
            fd_cell_set(column, row, l->contexts[id]);
        }
    }
    return FD_OK;
}

static fd_status
load_rank_table(const loading *l, const cJSON *json, const fd_table *table,
                const char *context_column, rows *to)
{
    fd_status status = load_table(l, json, table, to);
    return status == FD_OK ? map_contexts(l, table, context_column, to)
                           : status;
}

#define LOAD_INTO(vector, table, context_column)                              \
    do {                                                                      \
        rows from;                                                            \
        status = load_rank_table(l, json, table, context_column, &from);      \
        if (status == FD_OK) {                                                \
            (vector)->list = from.list;                                       \
            (vector)->count = from.count;                                     \
            (vector)->room = from.count;                                      \
        }                                                                     \
        else {                                                                \
            fd_free(from.list);                                               \
            return status;                                                    \
        }                                                                     \
    } while (0)

static fd_status
load_rank_tables(const loading *l, const cJSON *json, fd_trace_rank *rank)
{
    fd_status status;
    LOAD_INTO(&rank->figures, &fd_figures_table, "context");
    LOAD_INTO(&rank->threads, &fd_threads_table, "root");
    LOAD_INTO(&rank->open, &fd_open_table, "context");
    LOAD_INTO(&rank->latest, &fd_steps_table, "");
    LOAD_INTO(&rank->tops, &fd_tops_table, "context");
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        if (rank->figures.list[i].context == 0) {
            return wrong(l, "figures.context", "no such context");
        }
    }
    return FD_OK;
}

static fd_status
number(const loading *l, const cJSON *json, const char *name, uint64_t max,
       uint64_t *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    return item != NULL && unsigned_value(item, value) && *value <= max
               ? FD_OK
               : wrong(l, name, "a whole number is missing or out of range");
}

static fd_status
name_of(const loading *l, const cJSON *json, const char *field,
        const char *const *names, uint32_t *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, field);
    for (*value = 0; cJSON_IsString(item) && names[*value] != NULL;
         ++*value) {
        if (strcmp(names[*value], item->valuestring) == 0) {
            return FD_OK;
        }
    }
    return wrong(l, field, "unknown name");
}

static fd_status
hexadecimal(const loading *l, const cJSON *json, const char *name,
            char to[33])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    if (!cJSON_IsString(item) || strlen(item->valuestring) != 32
        || strspn(item->valuestring, "0123456789abcdef") != 32) {
        return wrong(l, name, "32 hexadecimal digits expected");
    }
    memcpy(to, item->valuestring, 33);
    return FD_OK;
}

static fd_status
load_start(const loading *l, const cJSON *json, fd_file_anchor *start)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "start");
    fd_status status = number(l, item, "ticks", UINT64_MAX, &start->ticks);
    if (status == FD_OK) {
        status = number(l, item, "monotonic", UINT64_MAX,
                        &start->monotonic_ns);
    }
    if (status == FD_OK) {
        status = number(l, item, "boottime", UINT64_MAX, &start->boottime_ns);
    }
    return status == FD_OK ? number(l, item, "realtime", UINT64_MAX,
                                    &start->realtime_ns)
                           : status;
}

static fd_status
load_scalars(const loading *l, const cJSON *json, fd_trace_rank *rank)
{
    uint64_t narrow[3];
    static const char *const names[3] = {"rank", "world", "pid"};
    fd_status status = FD_OK;
    for (int i = 0; i < 3 && status == FD_OK; i++) {
        status = number(l, json, names[i], UINT32_MAX, &narrow[i]);
    }
    if (status != FD_OK) {
        return status;
    }
    rank->rank = (uint32_t)narrow[0];
    rank->world = (uint32_t)narrow[1];
    rank->pid = (uint32_t)narrow[2];
    rank->timing = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(
                       json, "timing")) != 0;
    status = number(l, json, "steps", UINT64_MAX, &rank->steps);
    if (status == FD_OK) {
        status = number(l, json, "recorded", UINT64_MAX, &rank->recorded);
    }
    if (status == FD_OK) {
        status = number(l, json, "file_bytes", UINT64_MAX, &rank->file_bytes);
    }
    return status;
}

static fd_status
load_names(const loading *l, const cJSON *json, fd_trace_rank *rank)
{
    fd_status status = hexadecimal(l, json, "id", rank->id);
    if (status == FD_OK) {
        status = hexadecimal(l, json, "boot_id", rank->boot_id);
    }
    if (status == FD_OK) {
        status = name_of(l, json, "state", fd_state_names, &rank->state);
    }
    return status == FD_OK ? name_of(l, json, "steps_source",
                                     fd_steps_source_names,
                                     &rank->steps_source)
                           : status;
}

static fd_status
load_counters(const loading *l, const cJSON *json, fd_trace_rank *rank)
{
    const cJSON *counters = cJSON_GetObjectItemCaseSensitive(json,
                                                             "counters");
    fd_status status = FD_OK;
    for (int i = 0; i < FD_COUNT_USED && status == FD_OK; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(
            counters, fd_counter_names[i]);
        if (item != NULL) {
            status = number(l, counters, fd_counter_names[i], UINT64_MAX,
                            &rank->counters[i]);
        }
    }
    return status;
}

static fd_status
load_meta(loading *l, const cJSON *json, fd_trace_rank *rank)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(json, "meta");
    const cJSON *item;
    fd_status status = FD_OK;
    cJSON_ArrayForEach(item, meta)
    {
        fd_trace_meta made;
        char *text = cJSON_PrintUnformatted(item);
        if (text == NULL || item->string == NULL) {
            cJSON_free(text);
            return FD_ENOMEM;
        }
        status = fd_text_pool_add(&l->trace->texts, item->string,
                                  strlen(item->string), &made.key);
        if (status == FD_OK) {
            status = fd_text_pool_add(&l->trace->texts, text, strlen(text),
                                      &made.json);
        }
        cJSON_free(text);
        if (status == FD_OK) {
            status = fd_vector_push(&rank->meta, made);
        }
        if (status != FD_OK) {
            return status;
        }
    }
    return FD_OK;
}

static fd_status
load_notes(loading *l, const cJSON *json, fd_trace_rank *rank)
{
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(json, "notes");
    const cJSON *item;
    cJSON_ArrayForEach(item, notes)
    {
        uint32_t id;
        if (!cJSON_IsString(item)) {
            return wrong(l, "notes", "not a string");
        }
        if (fd_text_pool_add(&l->trace->texts, item->valuestring,
                             strlen(item->valuestring), &id) != FD_OK
            || fd_vector_push(&rank->notes, id) != FD_OK) {
            return FD_ENOMEM;
        }
    }
    return FD_OK;
}

static fd_status
load_rank(loading *l, const cJSON *json)
{
    fd_trace_rank *rank = fd_trace_add_rank(l->trace);
    if (rank == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = load_scalars(l, json, rank);
    if (status == FD_OK) {
        status = load_names(l, json, rank);
    }
    if (status == FD_OK) {
        status = load_start(l, json, &rank->start);
    }
    if (status == FD_OK) {
        status = load_counters(l, json, rank);
    }
    if (status == FD_OK) {
        status = load_meta(l, json, rank);
    }
    if (status == FD_OK) {
        status = load_notes(l, json, rank);
    }
    return status == FD_OK ? load_rank_tables(l, json, rank) : status;
}

static fd_status
load_ranks(loading *l, const cJSON *document)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(document, "ranks");
    const cJSON *item;
    fd_status status = FD_OK;
    if (!cJSON_IsArray(ranks)) {
        return wrong(l, "ranks", "an array is missing");
    }
    cJSON_ArrayForEach(item, ranks)
    {
        status = load_rank(l, item);
        if (status != FD_OK) {
            break;
        }
    }
    return status;
}

/* ---- the document ---- */

static fd_status
check_format(const loading *l, const cJSON *document)
{
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(document, "format");
    uint64_t version = 0;
    if (!cJSON_IsString(format)
        || strcmp(format->valuestring, "fastdispatch.trace") != 0) {
        return wrong(l, "format", "not a fastdispatch dump");
    }
    fd_status status = number(l, document, "version", UINT32_MAX, &version);
    if (status == FD_OK && version != 1) {
        status = fd_fail(l->error, FD_EVERSION,
                         "%s: version %u of the dump, this fastdispatch reads "
                         "version 1: upgrade it",
                         l->path, (unsigned)version);
    }
    return status;
}

static fd_status
load_document(loading *l, const cJSON *document)
{
    fd_status status = check_format(l, document);
    fd_status (*const parts[])(loading *, const cJSON *) = {
        load_strings, load_nodes, load_modules, load_contexts, load_ranks};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == FD_OK;
         i++) {
        status = parts[i](l, document);
    }
    return status == FD_OK ? fd_trace_sort(l->trace) : status;
}

static fd_status
read_file(const char *path, char **text, size_t *size, fd_error *error)
{
    FILE *file = fopen(path, "rbe");
    fd_buffer buffer = {.bytes = NULL};
    char block[65536];
    size_t got = 0;
    *text = NULL;
    if (file == NULL) {
        return fd_fail(error, FD_EIO, "%s: %s", path, strerror(errno));
    }
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        fd_buffer_bytes(&buffer, block, got);
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || buffer.status != FD_OK) {
        fd_buffer_clear(&buffer);
        return failed ? fd_fail(error, FD_EIO, "%s: cannot read", path)
                      : FD_ENOMEM;
    }
    *text = buffer.bytes;
    *size = buffer.size;
    return FD_OK;
}

static fd_status
parse(const char *path, cJSON **document, fd_error *error)
{
    char *text;
    size_t size = 0;
    fd_status status = read_file(path, &text, &size, error);
    if (status != FD_OK) {
        return status;
    }
    const char *end = NULL;
    *document = text == NULL ? NULL
                             : cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (*document == NULL) {
        status = fd_fail(error, FD_EFORMAT, "%s: not valid JSON at byte %zu",
                         path, end != NULL ? (size_t)(end - text) : 0);
    }
    fd_free(text);
    return status;
}

fd_status
fd_load(fd_trace **trace, const char *path, fd_error *error)
{
    cJSON *document = NULL;
    fd_status status = parse(path, &document, error);
    if (status != FD_OK) {
        return status;
    }
    loading l = {.path = path, .error = error, .trace = fd_trace_new()};
    status = l.trace == NULL ? FD_ENOMEM : load_document(&l, document);
    if (status == FD_ENOMEM) {
        fd_fail(error, status, "%s: out of memory", path);
    }
    cJSON_Delete(document);
    fd_vector_clear(&l.texts);
    fd_vector_clear(&l.nodes);
    fd_vector_clear(&l.modules);
    fd_free(l.contexts);
    if (status != FD_OK) {
        fd_trace_free(l.trace);
        l.trace = NULL;
    }
    *trace = l.trace;
    return status;
}
