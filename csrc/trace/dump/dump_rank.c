#include "trace/dump/dump_reading.h"

#include "recording/wait_kinds.h"
#include "trace/step_window.h"
#include "json/json_text.h"

#include <string.h>

/* The members of an object, in the order of the file. */
typedef struct json_member {
    fd_span name;
    fd_span value;
} json_member;

typedef FD_VECTOR(json_member) json_members;

static json_members
find_members(fd_loading *l, fd_span json)
{
    json_members found = {NULL, 0, 0};
    json_member one;
    fd_scan scan = {.at = json.from, .end = json.to, .forgets = true};
    bool more = fd_scan_mark(&scan, '{') == FD_SCAN_OK;
    while (more
           && fd_scan_member(&scan, found.count == 0, &one.name)
                  == FD_SCAN_OK) {
        one.value.from = scan.at;
        more = fd_scan_value(&scan) == FD_SCAN_OK;
        one.value.to = scan.at;
        fd_arena_push(&l->arena, &found, one);
    }
    return found;
}

/* Return the last member of this name, or an empty span. */
static fd_span
member_named(const json_members *of, const char *name)
{
    uint32_t i = of->count;
    while (i > 0 && !fd_span_is(of->list[i - 1].name, name)) {
        i--;
    }
    return i > 0 ? of->list[i - 1].value : (fd_span){NULL, NULL};
}

static uint32_t
load_name(fd_loading *l, fd_span json, const fd_column *column)
{
    uint32_t value = 0;
    if (fd_loading_text(l, json)) {
        while (column->names[value] != NULL) {
            if (strcmp(column->names[value], l->text.bytes) == 0) {
                return value;
            }
            value++;
        }
    }
    fd_loading_wrong(l, column->name, "unknown name");
}

static void
load_hexadecimal(fd_loading *l, fd_span json, const char *field, char to[33])
{
    if (!fd_loading_text(l, json) || l->text.size != 32
        || strspn(l->text.bytes, "0123456789abcdef") != 32) {
        fd_loading_wrong(l, field, "32 hexadecimal digits expected");
    }
    memcpy(to, l->text.bytes, 33);
}

/* Read a field of a rank from its member. */
static void
load_field(fd_loading *l, fd_span json, const fd_column *column,
           fd_trace_rank *rank)
{
    if (column->names != NULL) {
        fd_cell_set(column, rank, load_name(l, json, column));
    }
    else if (column->type == FD_COLUMN_CHARS) {
        load_hexadecimal(l, json, column->name, (char *)rank + column->offset);
    }
    else if (column->type == FD_COLUMN_BOOL) {
        fd_cell_set(column, rank, fd_span_is(json, "true"));
    }
    else {
        fd_cell_set(column, rank,
                    fd_loading_number(l, json, column->name,
                                      column->type == FD_COLUMN_U32
                                          ? UINT32_MAX
                                          : UINT64_MAX));
    }
}

static void
load_fields(fd_loading *l, const json_members *of, const fd_table *table,
            fd_trace_rank *rank)
{
    for (size_t i = 0; i < table->count; i++) {
        fd_span json = member_named(of, table->columns[i].name);
        if (json.from != NULL || table != &fd_sparse_fields) {
            load_field(l, json, &table->columns[i], rank);
        }
    }
}

typedef struct context_map {
    const fd_loading *l;
    bool wrong;
} context_map;

/* Replace the context id of the document by that of the trace. */
static void
map_context(uint32_t *id, void *map)
{
    context_map *m = map;
    m->wrong = m->wrong || *id >= m->l->context_count;
    *id = m->wrong ? 0 : m->l->contexts[*id];
}

static void
map_contexts(fd_loading *l, const fd_table *table, const fd_rank_list *rows)
{
    context_map map = {.l = l};
    const char *row = rows->list;
    fd_table_visit(table, rows->list, rows->count, FD_COLUMN_CONTEXT,
                   map_context, &map);
    for (uint32_t i = 0; fd_table_is_keyed(table) && i < rows->count; i++) {
        map.wrong = map.wrong || *(const uint32_t *)(const void *)row == 0;
        row += table->row_bytes;
    }
    if (map.wrong) {
        fd_loading_wrong(l, table->name, "no such context");
    }
}

/* Read what is known of the threads of a recording that had not ended. */
static void
load_live(fd_loading *l, fd_span json, const fd_trace_rank *rank)
{
    fd_rank_list *from = fd_loading_rows(l, json, &fd_live_table);
    const fd_trace_thread *rows = from->list;
    if (from->count != rank->threads.count) {
        fd_loading_wrong(l, "live", "one row per thread expected");
    }
    for (uint32_t i = 0; i < from->count; i++) {
        fd_trace_thread *thread = &rank->threads.list[i];
        thread->last = rows[i].last;
        thread->still = rows[i].still;
        thread->waits =
            rows[i].waits < FD_WAIT_KINDS ? rows[i].waits : FD_WAIT_UNKNOWN;
    }
    fd_arena_drop(from);
}

/* Read a table of the rank from the member of its name. */
static void
load_table(fd_loading *l, const json_members *of, const fd_dumped_table *each,
           fd_trace_rank *rank)
{
    bool marked = member_named(of, fd_marks_table.name).from != NULL;
    bool needed = each->when == FD_DUMPED_ALWAYS
               || (each->when == FD_DUMPED_MARKED && marked)
               || each->when == FD_DUMPED_REDUCED;
    fd_span json = member_named(of, each->table->name);
    fd_rank_list *rows = fd_rank_rows_of(rank, each->table);
    if (each->when == FD_DUMPED_LIVE) {
        if (json.from != NULL) {
            load_live(l, json, rank);
        }
    }
    else if (json.from != NULL || needed) {
        fd_loading_table(l, json, each->table, rows);
        map_contexts(l, each->table, rows);
    }
}

static void
load_tables(fd_loading *l, const json_members *of, fd_trace_rank *rank)
{
    fd_span sum = member_named(of, "reduced");
    for (int i = 0; i < FD_DUMPED_TABLES; i++) {
        const fd_dumped_table *each = &fd_dumped_tables[i];
        if (each->when != FD_DUMPED_REDUCED || sum.from != NULL) {
            load_table(l, of, each, rank);
        }
    }
    if (member_named(of, fd_marks_table.name).from != NULL) {
        fd_steps_choose(rank, NULL);
    }
    if (sum.from != NULL) {
        json_members fields = find_members(l, sum);
        load_fields(l, &fields, &fd_reduced_fields, rank);
    }
    for (uint32_t i = 0; i < rank->open.count; i++) {
        if (rank->open.list[i].thread >= rank->threads.count) {
            fd_loading_wrong(l, "open.thread", "no such thread");
        }
    }
}

static void
load_counters(fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    fd_span values[FD_COUNT_USED];
    fd_scan_members(json, fd_counter_names, FD_COUNT_USED, values);
    for (int i = 0; i < FD_COUNT_USED; i++) {
        if (values[i].from != NULL) {
            rank->counters[i] = fd_loading_number(
                l, values[i], fd_counter_names[i], UINT64_MAX);
        }
    }
}

/* Add a JSON value as a text of the trace, in canonical spelling. */
static uint32_t
add_json(fd_loading *l, fd_span json)
{
    uint32_t id;
    fd_buffer *spelled = fd_arena_buffer(&l->arena);
    l->text.size = 0;
    fd_buffer_bytes(&l->text, json.from, fd_span_size(json));
    fd_buffer_bytes(&l->text, "", 1);
    fd_arena_check(&l->arena, l->text.status);
    fd_json_text(spelled, l->text.bytes);
    fd_arena_check(&l->arena, spelled->status);
    fd_arena_check(&l->arena,
                   fd_text_pool_add_clean(&l->trace->texts, spelled->bytes,
                                          spelled->size, &id));
    fd_arena_drop(spelled);
    return id;
}

static void
load_meta(fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    json_members of = find_members(l, json);
    for (uint32_t i = 0; i < of.count; i++) {
        fd_span name = of.list[i].name;
        fd_trace_meta made = {.json = add_json(l, of.list[i].value)};
        made.key = fd_loading_add_text(
            l, (fd_span){name.from - 1, name.to + 1}, "meta");
        fd_arena_check(&l->arena, fd_vector_push(&rank->meta, made));
    }
}

static void
load_notes(fd_loading *l, fd_span json, fd_trace_rank *rank)
{
    fd_scan scan = {.at = NULL};
    fd_span item;
    while (fd_loading_next(&scan, json, &item)) {
        uint32_t id = fd_loading_add_text(l, item, "notes");
        fd_arena_check(&l->arena, fd_vector_push(&rank->notes, id));
    }
}

void
fd_load_rank(fd_loading *l, fd_span json)
{
    fd_trace_rank *rank = fd_trace_add_rank(l->trace);
    fd_arena_check(&l->arena, rank != NULL ? FD_OK : FD_ENOMEM);
    json_members of = find_members(l, json);
    json_members start = find_members(l, member_named(&of, "start"));
    load_fields(l, &of, &fd_rank_fields, rank);
    load_fields(l, &of, &fd_sparse_fields, rank);
    rank->incomplete = fd_span_is(member_named(&of, "complete"), "false");
    rank->run_steps =
        rank->run_steps < rank->steps ? rank->steps : rank->run_steps;
    load_fields(l, &start, &fd_start_fields, rank);
    load_counters(l, member_named(&of, "counters"), rank);
    load_meta(l, member_named(&of, "meta"), rank);
    load_notes(l, member_named(&of, "notes"), rank);
    load_tables(l, &of, rank);
    fd_arena_drop(start.list);
    fd_arena_drop(of.list);
}
