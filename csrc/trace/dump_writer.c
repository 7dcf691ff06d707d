#include "trace/dump_writer.h"

#include "base/new_file.h"
#include "trace/trace_columns.h"
#include "json/json_text.h"
#include "json/json_writer.h"

#include <string.h>

/* largest exact integer of a JSON number */
static const uint64_t EXACT = UINT64_C(1) << 53;

/* Write a number, as a string above 2^53: readers parse numbers as doubles. */
static void
put_exact(fd_json_writer *w, const char *key, uint64_t value)
{
    if (value <= EXACT) {
        fd_json_put_u64(w, key, value);
        return;
    }
    fd_buffer_bytes(fd_json_put(w, key), "\"", 1);
    fd_buffer_u64(w->to, value);
    fd_buffer_bytes(w->to, "\"", 1);
}

static void
put_exact_or_null(fd_json_writer *w, uint64_t one_more)
{
    if (one_more > 0) {
        put_exact(w, NULL, one_more - 1);
    }
    else {
        fd_json_put_null(w, NULL);
    }
}

static void
write_cell(fd_json_writer *w, const fd_column *column, const void *row)
{
    uint64_t value = fd_cell(column, row);
    double number;
    switch (column->type) {
    case FD_COLUMN_INDEX:
    case FD_COLUMN_CONTEXT:
        fd_json_put_i64(w, NULL, (int64_t)value - 1);
        break;
    case FD_COLUMN_U64_OR_NONE:
        put_exact_or_null(w, value);
        break;
    case FD_COLUMN_DOUBLE:
        memcpy(&number, &value, sizeof number);
        fd_json_put_double(w, NULL, number);
        break;
    case FD_COLUMN_BOOL:
        fd_json_put_bool(w, NULL, value != 0);
        break;
    case FD_COLUMN_TEXT:
    case FD_COLUMN_U8:
    case FD_COLUMN_U32:
    case FD_COLUMN_U64:
        put_exact(w, NULL, value);
        break;
    case FD_COLUMN_I32:
    case FD_COLUMN_I64:
    case FD_COLUMN_U16:
    case FD_COLUMN_CHARS:
    case FD_COLUMN_STRING:
    case FD_COLUMN_I64_OR_NONE:
        break; /* not in dumps */
    }
}

static void
write_column(fd_json_writer *w, const fd_table *table, const fd_column *column,
             const void *rows, uint32_t count)
{
    fd_json_begin_array(w, column->name);
    for (uint32_t i = table->from_one; i < count; i++) {
        write_cell(w, column, (const char *)rows + i * table->row_bytes);
    }
    fd_json_end_array(w);
}

static void
write_table(fd_json_writer *w, const fd_table *table, const void *rows,
            uint32_t count)
{
    fd_json_line(w);
    fd_json_begin_object(w, table->name);
    for (size_t i = 0; i < table->count; i++) {
        fd_json_line(w);
        write_column(w, table, &table->columns[i], rows, count);
    }
    fd_json_end_object(w);
}

static void
write_text(fd_json_writer *w, const fd_trace *trace, uint32_t id)
{
    fd_json_put_bytes(w, NULL, fd_trace_text(trace, id),
                      fd_text_pool_size(&trace->texts, id));
}

static void
write_meta(fd_json_writer *w, const fd_trace *trace, const fd_trace_rank *rank)
{
    fd_json_line(w);
    fd_json_begin_object(w, "meta");
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        uint32_t key = rank->meta.list[i].key;
        w->line = i > 0;
        fd_json_key(w, fd_trace_text(trace, key),
                    fd_text_pool_size(&trace->texts, key));
        fd_json_text(fd_json_put(w, NULL),
                     fd_trace_text(trace, rank->meta.list[i].json));
    }
    fd_json_end_object(w);
}

static void
write_counters(fd_json_writer *w, const fd_trace_rank *rank)
{
    fd_json_line(w);
    fd_json_begin_object(w, "counters");
    for (int i = 0; i < FD_COUNT_USED; i++) {
        put_exact(w, fd_counter_names[i], rank->counters[i]);
    }
    fd_json_end_object(w);
}

static void
write_notes(fd_json_writer *w, const fd_trace *trace,
            const fd_trace_rank *rank)
{
    fd_json_line(w);
    fd_json_begin_array(w, "notes");
    for (uint32_t i = 0; i < rank->notes.count; i++) {
        write_text(w, trace, rank->notes.list[i]);
    }
    fd_json_end_array(w);
}

static void
write_field(fd_json_writer *w, const fd_column *column, const void *row)
{
    uint64_t value = fd_cell(column, row);
    if (column->names != NULL) {
        fd_json_put_text(w, column->name, column->names[value]);
    }
    else if (column->type == FD_COLUMN_CHARS) {
        fd_json_put_text(w, column->name, (const char *)row + column->offset);
    }
    else if (column->type == FD_COLUMN_BOOL) {
        fd_json_put_bool(w, column->name, value != 0);
    }
    else {
        put_exact(w, column->name, value);
    }
}

static void
write_fields(fd_json_writer *w, const fd_table *table, const void *row)
{
    for (size_t i = 0; i < table->count; i++) {
        write_field(w, &table->columns[i], row);
    }
}

static void
write_object(fd_json_writer *w, const char *name, const fd_table *fields,
             const fd_trace_rank *rank)
{
    fd_json_line(w);
    fd_json_begin_object(w, name);
    write_fields(w, fields, rank);
    fd_json_end_object(w);
}

static void
write_header(fd_json_writer *w, const fd_trace_rank *rank)
{
    if (rank->incomplete) {
        fd_json_put_bool(w, "complete", false);
    }
    write_fields(w, &fd_rank_fields, rank);
    for (size_t i = 0; i < fd_sparse_fields.count; i++) {
        const fd_column *column = &fd_sparse_fields.columns[i];
        bool same = column->offset == offsetof(fd_trace_rank, run_steps)
                 && rank->run_steps <= rank->steps;
        if (fd_cell(column, rank) > 0 && !same) {
            write_field(w, column, rank);
        }
    }
    write_object(w, "start", &fd_start_fields, rank);
}

/* Return whether the recording has not ended. */
static bool
is_live(const fd_trace_rank *rank)
{
    bool live = false;
    for (uint32_t i = 0; i < rank->threads.count; i++) {
        live |= rank->threads.list[i].last != 0;
    }
    return live;
}

static bool
is_written(const fd_trace_rank *rank, const fd_dumped_table *each)
{
    switch (each->when) {
    case FD_DUMPED_ALWAYS:
        return true;
    case FD_DUMPED_FILLED:
        return fd_rank_rows_of(rank, each->table)->count > 0;
    case FD_DUMPED_MARKED:
        return rank->marks.count > 0;
    case FD_DUMPED_REDUCED:
        return rank->reduced > 0;
    case FD_DUMPED_LIVE:
        return is_live(rank);
    }
    return false;
}

static void
write_rank_table(fd_json_writer *w, const fd_trace_rank *rank,
                 const fd_dumped_table *each)
{
    bool live = each->when == FD_DUMPED_LIVE;
    const fd_rank_list *rows =
        fd_rank_rows_of(rank, live ? &fd_threads_table : each->table);
    if (!is_written(rank, each)) {
        return;
    }
    if (each->when == FD_DUMPED_REDUCED) {
        write_object(w, "reduced", &fd_reduced_fields, rank);
    }
    write_table(w, each->table, rows->list, rows->count);
}

static void
write_rank(fd_json_writer *w, const fd_trace *trace, const fd_trace_rank *rank)
{
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    write_header(w, rank);
    write_meta(w, trace, rank);
    write_counters(w, rank);
    write_notes(w, trace, rank);
    for (int i = 0; i < FD_DUMPED_TABLES; i++) {
        write_rank_table(w, rank, &fd_dumped_tables[i]);
    }
    fd_json_end_object(w);
}

static void
write_strings(fd_json_writer *w, const fd_trace *trace)
{
    fd_json_line(w);
    fd_json_begin_array(w, "strings");
    fd_json_put_text(w, NULL, "");
    for (uint32_t i = 1; i < trace->texts.texts.count; i++) {
        fd_json_line(w);
        write_text(w, trace, i);
    }
    fd_json_end_array(w);
}

static void
write_shared(fd_json_writer *w, const fd_trace *trace)
{
    fd_json_begin_object(w, NULL);
    fd_json_put_text(w, "format", "fastdispatch.trace");
    fd_json_put_u64(w, "version", 1);
    write_strings(w, trace);
    write_table(w, &fd_nodes_table, trace->nodes.list, trace->nodes.count);
    write_table(w, &fd_modules_table, trace->modules.list,
                trace->modules.count);
    write_table(w, &fd_contexts_table, trace->contexts.list,
                trace->contexts.count);
    fd_json_line(w);
    fd_json_begin_array(w, "ranks");
}

static fd_status
flush_text(fd_buffer *text, fd_new_file *to, fd_error *error)
{
    fd_status status =
        text->status == FD_OK
            ? fd_new_file_write(to, text->bytes, text->size, error)
            : fd_fail(error, text->status, "%s: %s", to->path,
                      fd_status_name(text->status));
    text->size = 0;
    return status;
}

/* Write the document rank by rank. */
static fd_status
write_all(const fd_trace *trace, fd_buffer *text, fd_new_file *to,
          fd_error *error)
{
    fd_json_writer w = {.to = text};
    fd_status status = FD_OK;
    write_shared(&w, trace);
    for (uint32_t i = 0; i < trace->ranks.count && status == FD_OK; i++) {
        write_rank(&w, trace, &trace->ranks.list[i]);
        status = flush_text(text, to, error);
    }
    w.line = trace->ranks.count == 0;
    fd_json_end_array(&w);
    fd_json_end_object(&w);
    fd_buffer_bytes(text, "\n", 1);
    return fd_then(status, flush_text(text, to, error));
}

fd_status
fd_dump_save(const fd_trace *trace, const char *path, fd_error *error)
{
    fd_buffer text = {.bytes = NULL};
    fd_new_file file;
    fd_status status = fd_new_file_open(&file, path, error);
    if (status != FD_OK) {
        return status;
    }
    status = write_all(trace, &text, &file, error);
    fd_buffer_clear(&text);
    if (status != FD_OK) {
        fd_new_file_drop(&file);
        return status;
    }
    return fd_new_file_keep(&file, error);
}
