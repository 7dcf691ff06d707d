#include "trace/dump/dump_writer.h"

#include "trace/trace_columns.h"
#include "json/json_text.h"

#include <stdio.h>
#include <string.h>

static const uint64_t EXACT = UINT64_C(1) << 53; /* of a JSON number */

static void
key(fd_buffer *to, const char *name)
{
    fd_buffer_json(to, name, strlen(name));
    fd_buffer_text(to, ":");
}

static void
integer(fd_buffer *to, uint64_t value)
{
    const char *quote = value > EXACT ? "\"" : "";
    fd_buffer_text(to, quote);
    fd_buffer_u64(to, value);
    fd_buffer_text(to, quote);
}

/* The traced program may have chosen a locale in which printf writes "0,5". */
static void
decimal(fd_buffer *to, double number)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%.17g", number);
    bool pointed = false;
    for (int i = 0; i < size; i++) {
        if (strchr("0123456789+-e", text[i]) != NULL) {
            fd_buffer_bytes(to, &text[i], 1);
        }
        else if (!pointed) {
            fd_buffer_bytes(to, ".", 1);
            pointed = true;
        }
    }
}

static void
cell(fd_buffer *to, const fd_column *column, const void *row)
{
    uint64_t value = fd_cell(column, row);
    double number;
    switch (column->type) {
    case FD_COLUMN_INDEX:
        if (value == 0) {
            fd_buffer_bytes(to, "-1", 2);
        }
        else {
            fd_buffer_u64(to, value - 1);
        }
        break;
    case FD_COLUMN_DOUBLE:
        memcpy(&number, &value, sizeof number);
        if (value == 0) {
            fd_buffer_bytes(to, "0", 1);
        }
        else {
            decimal(to, number);
        }
        break;
    case FD_COLUMN_BOOL:
        fd_buffer_text(to, value != 0 ? "true" : "false");
        break;
    case FD_COLUMN_TEXT:
    case FD_COLUMN_U8:
    case FD_COLUMN_U32:
    case FD_COLUMN_U64:
    case FD_COLUMN_I64:
        integer(to, value);
        break;
    }
}

static void
write_column(fd_buffer *to, const fd_table *table, const fd_column *column,
             const void *rows, uint32_t count)
{
    key(to, column->name);
    fd_buffer_text(to, "[");
    for (uint32_t i = table->from_one; i < count; i++) {
        if (i > table->from_one) {
            fd_buffer_bytes(to, ",", 1);
        }
        cell(to, column, (const char *)rows + i * table->row_bytes);
    }
    fd_buffer_text(to, "]");
}

static void
write_table(fd_buffer *to, const fd_table *table, const void *rows,
            uint32_t count)
{
    key(to, table->name);
    fd_buffer_text(to, "{");
    for (size_t i = 0; i < table->count; i++) {
        fd_buffer_text(to, i > 0 ? ",\n" : "\n");
        write_column(to, table, &table->columns[i], rows, count);
    }
    fd_buffer_text(to, "}");
}

static void
write_text(fd_buffer *to, const fd_trace *trace, uint32_t id)
{
    fd_buffer_json(to, fd_trace_text(trace, id),
                   fd_text_pool_size(&trace->texts, id));
}

static void
write_meta(fd_buffer *to, const fd_trace *trace, const fd_trace_rank *rank)
{
    key(to, "meta");
    fd_buffer_text(to, "{");
    for (uint32_t i = 0; i < rank->meta.count; i++) {
        fd_buffer_text(to, i > 0 ? ",\n" : "");
        write_text(to, trace, rank->meta.list[i].key);
        fd_buffer_text(to, ":");
        fd_json_text(to, fd_trace_text(trace, rank->meta.list[i].json));
    }
    fd_buffer_text(to, "}");
}

static void
write_counters(fd_buffer *to, const fd_trace_rank *rank)
{
    key(to, "counters");
    fd_buffer_text(to, "{");
    for (int i = 0; i < FD_COUNT_USED; i++) {
        fd_buffer_text(to, i > 0 ? "," : "");
        key(to, fd_counter_names[i]);
        integer(to, rank->counters[i]);
    }
    fd_buffer_text(to, "}");
}

static void
write_notes(fd_buffer *to, const fd_trace *trace, const fd_trace_rank *rank)
{
    key(to, "notes");
    fd_buffer_text(to, "[");
    for (uint32_t i = 0; i < rank->notes.count; i++) {
        fd_buffer_text(to, i > 0 ? "," : "");
        write_text(to, trace, rank->notes.list[i]);
    }
    fd_buffer_text(to, "]");
}

static void
write_number(fd_buffer *to, const char *name, uint64_t value)
{
    key(to, name);
    integer(to, value);
    fd_buffer_text(to, ",");
}

static void
write_header(fd_buffer *to, const fd_trace_rank *rank)
{
    write_number(to, "rank", rank->rank);
    write_number(to, "world", rank->world);
    write_number(to, "pid", rank->pid);
    fd_buffer_format(to, "\"id\":\"%s\",\"boot_id\":\"%s\",", rank->id,
                     rank->boot_id);
    fd_buffer_format(to, "\"state\":\"%s\",\"timing\":%s,",
                     fd_state_names[rank->state],
                     rank->timing != 0 ? "true" : "false");
    fd_buffer_format(to, "\"steps_source\":\"%s\",",
                     fd_steps_source_names[rank->steps_source]);
    write_number(to, "steps", rank->steps);
    write_number(to, "recorded", rank->recorded);
    write_number(to, "file_bytes", rank->file_bytes);
    fd_buffer_text(to, "\n\"start\":{");
    write_number(to, "ticks", rank->start.ticks);
    write_number(to, "monotonic", rank->start.monotonic_ns);
    write_number(to, "boottime", rank->start.boottime_ns);
    key(to, "realtime");
    integer(to, rank->start.realtime_ns);
    fd_buffer_text(to, "},\n");
}

static void
write_rank(fd_buffer *to, const fd_trace *trace, const fd_trace_rank *rank)
{
    fd_buffer_text(to, rank->incomplete ? "{\"complete\":false," : "{");
    write_header(to, rank);
    write_meta(to, trace, rank);
    fd_buffer_text(to, ",\n");
    write_counters(to, rank);
    fd_buffer_text(to, ",\n");
    write_notes(to, trace, rank);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_threads_table, rank->threads.list,
                rank->threads.count);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_open_table, rank->open.list, rank->open.count);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_steps_table, rank->latest.list, rank->latest.count);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_tops_table, rank->tops.list, rank->tops.count);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_figures_table, rank->figures.list,
                rank->figures.count);
    if (rank->gpu.count > 0) {
        fd_buffer_text(to, ",\n");
        write_table(to, &fd_gpu_table, rank->gpu.list, rank->gpu.count);
    }
    fd_buffer_text(to, "}");
}

static void
write_strings(fd_buffer *to, const fd_trace *trace)
{
    fd_buffer_text(to, "\"strings\":[\"\"");
    for (uint32_t i = 1; i < trace->texts.texts.count; i++) {
        fd_buffer_text(to, ",\n");
        write_text(to, trace, i);
    }
    fd_buffer_text(to, "],\n");
}

void
fd_dump(const fd_trace *trace, fd_buffer *to)
{
    fd_buffer_text(to, "{\"format\":\"fastdispatch.trace\",\"version\":1,\n");
    write_strings(to, trace);
    write_table(to, &fd_nodes_table, trace->nodes.list, trace->nodes.count);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_modules_table, trace->modules.list,
                trace->modules.count);
    fd_buffer_text(to, ",\n");
    write_table(to, &fd_contexts_table, trace->contexts.list,
                trace->contexts.count);
    fd_buffer_text(to, ",\n\"ranks\":[\n");
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_buffer_text(to, i > 0 ? ",\n" : "");
        write_rank(to, trace, &trace->ranks.list[i]);
    }
    fd_buffer_text(to, "]}\n");
}
