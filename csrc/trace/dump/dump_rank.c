#include "trace/dump/dump_reading.h"

#include <string.h>

/* Replace the document's context ids in one column by the trace's. */
static fd_status
map_contexts(const fd_loading *l, const fd_table *table, const char *name,
             fd_loading_rows *of)
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
                return fd_loading_wrong(l, table->name, "no such context");
            }
            fd_cell_set(column, row, l->contexts[id]);
        }
    }
    return FD_OK;
}

static fd_status
load_rank_table(const fd_loading *l, const cJSON *json, const fd_table *table,
                const char *context_column, fd_loading_rows *to)
{
    fd_status status = fd_loading_table(l, json, table, to);
    return status == FD_OK ? map_contexts(l, table, context_column, to)
                           : status;
}

#define LOAD_INTO(vector, table, context_column) \
    do { \
        fd_loading_rows from; \
        status = load_rank_table(l, json, table, context_column, &from); \
        if (status == FD_OK) { \
            (vector)->list = from.list; \
            (vector)->count = from.count; \
            (vector)->room = from.count; \
        } \
        else { \
            fd_free(from.list); \
            return status; \
        } \
    } while (0)

static fd_status
load_rank_tables(const fd_loading *l, const cJSON *json, fd_trace_rank *rank)
{
    fd_status status;
    LOAD_INTO(&rank->figures, &fd_figures_table, "context");
    LOAD_INTO(&rank->threads, &fd_threads_table, "root");
    LOAD_INTO(&rank->open, &fd_open_table, "context");
    LOAD_INTO(&rank->latest, &fd_steps_table, "");
    LOAD_INTO(&rank->tops, &fd_tops_table, "context");
    if (cJSON_GetObjectItemCaseSensitive(json, fd_gpu_table.name) != NULL) {
        LOAD_INTO(&rank->gpu, &fd_gpu_table, "context");
    }
    for (uint32_t i = 0; i < rank->figures.count; i++) {
        if (rank->figures.list[i].context == 0) {
            return fd_loading_wrong(l, "figures.context", "no such context");
        }
    }
    for (uint32_t i = 0; i < rank->gpu.count; i++) {
        if (rank->gpu.list[i].context == 0) {
            return fd_loading_wrong(l, "gpu.context", "no such context");
        }
    }
    for (uint32_t i = 0; i < rank->open.count; i++) {
        if (rank->open.list[i].thread >= rank->threads.count) {
            return fd_loading_wrong(l, "open.thread", "no such thread");
        }
    }
    return FD_OK;
}

static fd_status
name_of(const fd_loading *l, const cJSON *json, const char *field,
        const char *const *names, uint32_t *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, field);
    for (*value = 0; cJSON_IsString(item) && names[*value] != NULL; ++*value) {
        if (strcmp(names[*value], item->valuestring) == 0) {
            return FD_OK;
        }
    }
    return fd_loading_wrong(l, field, "unknown name");
}

static fd_status
hexadecimal(const fd_loading *l, const cJSON *json, const char *name,
            char to[33])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    if (!cJSON_IsString(item) || strlen(item->valuestring) != 32
        || strspn(item->valuestring, "0123456789abcdef") != 32) {
        return fd_loading_wrong(l, name, "32 hexadecimal digits expected");
    }
    memcpy(to, item->valuestring, 33);
    return FD_OK;
}

static fd_status
load_start(const fd_loading *l, const cJSON *json, fd_file_anchor *start)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "start");
    fd_status status =
        fd_loading_number(l, item, "ticks", UINT64_MAX, &start->ticks);
    if (status == FD_OK) {
        status = fd_loading_number(l, item, "monotonic", UINT64_MAX,
                                   &start->monotonic_ns);
    }
    if (status == FD_OK) {
        status = fd_loading_number(l, item, "boottime", UINT64_MAX,
                                   &start->boottime_ns);
    }
    return status == FD_OK ? fd_loading_number(l, item, "realtime", UINT64_MAX,
                                               &start->realtime_ns)
                           : status;
}

static fd_status
load_scalars(const fd_loading *l, const cJSON *json, fd_trace_rank *rank)
{
    uint64_t narrow[3];
    static const char *const names[3] = {"rank", "world", "pid"};
    fd_status status = FD_OK;
    for (int i = 0; i < 3 && status == FD_OK; i++) {
        status = fd_loading_number(l, json, names[i], UINT32_MAX, &narrow[i]);
    }
    if (status != FD_OK) {
        return status;
    }
    rank->rank = (uint32_t)narrow[0];
    rank->world = (uint32_t)narrow[1];
    rank->pid = (uint32_t)narrow[2];
    rank->incomplete =
        cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(json, "complete")) != 0;
    rank->timing =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "timing")) != 0;
    status = fd_loading_number(l, json, "steps", UINT64_MAX, &rank->steps);
    if (status == FD_OK) {
        status = fd_loading_number(l, json, "recorded", UINT64_MAX,
                                   &rank->recorded);
    }
    if (status == FD_OK) {
        status = fd_loading_number(l, json, "file_bytes", UINT64_MAX,
                                   &rank->file_bytes);
    }
    return status;
}

static fd_status
load_names(const fd_loading *l, const cJSON *json, fd_trace_rank *rank)
{
    fd_status status = hexadecimal(l, json, "id", rank->id);
    if (status == FD_OK) {
        status = hexadecimal(l, json, "boot_id", rank->boot_id);
    }
    if (status == FD_OK) {
        status = name_of(l, json, "state", fd_state_names, &rank->state);
    }
    return status == FD_OK
             ? name_of(l, json, "steps_source", fd_steps_source_names,
                       &rank->steps_source)
             : status;
}

static fd_status
load_counters(const fd_loading *l, const cJSON *json, fd_trace_rank *rank)
{
    const cJSON *counters = cJSON_GetObjectItemCaseSensitive(json, "counters");
    fd_status status = FD_OK;
    for (int i = 0; i < FD_COUNT_USED && status == FD_OK; i++) {
        const cJSON *item =
            cJSON_GetObjectItemCaseSensitive(counters, fd_counter_names[i]);
        if (item != NULL) {
            status = fd_loading_number(l, counters, fd_counter_names[i],
                                       UINT64_MAX, &rank->counters[i]);
        }
    }
    return status;
}

static fd_status
load_meta(fd_loading *l, const cJSON *json, fd_trace_rank *rank)
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
        status = fd_text_pool_add_clean(&l->trace->texts, item->string,
                                        strlen(item->string), &made.key);
        if (status == FD_OK) {
            status = fd_text_pool_add_clean(&l->trace->texts, text,
                                            strlen(text), &made.json);
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
load_notes(fd_loading *l, const cJSON *json, fd_trace_rank *rank)
{
    const cJSON *notes = cJSON_GetObjectItemCaseSensitive(json, "notes");
    const cJSON *item;
    cJSON_ArrayForEach(item, notes)
    {
        uint32_t id;
        if (!cJSON_IsString(item)) {
            return fd_loading_wrong(l, "notes", "not a string");
        }
        if (fd_text_pool_add_clean(&l->trace->texts, item->valuestring,
                                   strlen(item->valuestring), &id)
                != FD_OK
            || fd_vector_push(&rank->notes, id) != FD_OK) {
            return FD_ENOMEM;
        }
    }
    return FD_OK;
}

static fd_status
load_rank(fd_loading *l, const cJSON *json)
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

fd_status
fd_load_ranks(fd_loading *l, const cJSON *document)
{
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(document, "ranks");
    const cJSON *item;
    fd_status status = FD_OK;
    if (!cJSON_IsArray(ranks)) {
        return fd_loading_wrong(l, "ranks", "an array is missing");
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
