#include "trace/dump/dump_reading.h"

#include "json/json_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 32 };

/* largest exact integer of a JSON number */
static const uint64_t EXACT = UINT64_C(1) << 53;

void
fd_loading_wrong(fd_loading *l, const char *where, const char *what)
{
    fd_arena_fail(&l->arena, fd_fail(l->arena.error, FD_EFORMAT, "%s: %s: %s",
                                     l->path, where, what));
}

/* Read a non-negative integer; above 2^53 it is written as a string. */
static bool
whole_number(fd_span json, uint64_t *value)
{
    double number;
    if (fd_span_u64(json, value)) {
        return *value <= EXACT;
    }
    if (fd_span_size(json) > 0 && *json.from == '"') {
        return fd_span_u64(fd_span_inside(json), value);
    }
    if (!fd_span_double(json, &number) || !(number >= 0)
        || number > (double)EXACT || number > floor(number)) {
        return false;
    }
    *value = (uint64_t)number;
    return true;
}

/* Read an index of a row, -1 for "none"; in memory it is one more. */
static bool
row_index(fd_span json, uint64_t *value)
{
    if (fd_span_is(json, "-1")) {
        *value = 0;
        return true;
    }
    return *json.from != '"' && whole_number(json, value)
        && ++*value <= UINT32_MAX;
}

/* Read a whole number or null; in memory it is one more, or 0. */
static bool
whole_or_null(fd_span json, uint64_t *value)
{
    if (fd_span_is(json, "null")) {
        *value = 0;
        return true;
    }
    return whole_number(json, value) && ++*value != 0;
}

static bool
cell_value(const fd_loading *l, fd_column_type type, fd_span json,
           uint64_t *value)
{
    double number;
    switch (type) {
    case FD_COLUMN_INDEX:
    case FD_COLUMN_CONTEXT:
        return row_index(json, value);
    case FD_COLUMN_TEXT:
        if (!whole_number(json, value) || *value >= l->texts.count) {
            return false;
        }
        *value = l->texts.list[*value];
        return true;
    case FD_COLUMN_U8:
        return whole_number(json, value) && *value <= UINT8_MAX;
    case FD_COLUMN_U32:
        return whole_number(json, value) && *value <= UINT32_MAX;
    case FD_COLUMN_U64:
        return whole_number(json, value);
    case FD_COLUMN_U64_OR_NONE:
        return whole_or_null(json, value);
    case FD_COLUMN_BOOL:
        *value = fd_span_is(json, "true");
        return *value != 0 || fd_span_is(json, "false");
    case FD_COLUMN_DOUBLE: /* sums of squares */
        if (!fd_span_double(json, &number)) {
            return false;
        }
        memcpy(value, &number, sizeof *value);
        return number >= 0 && isfinite(number);
    case FD_COLUMN_I16:
    case FD_COLUMN_I32:
    case FD_COLUMN_I64:
    case FD_COLUMN_U16:
    case FD_COLUMN_CHARS:
    case FD_COLUMN_STRING:
    case FD_COLUMN_TEXT_OR_NONE:
    case FD_COLUMN_I64_OR_NONE:
        break; /* not in dumps */
    }
    return false;
}

uint64_t
fd_loading_number(fd_loading *l, fd_span json, const char *name, uint64_t max)
{
    uint64_t value;
    if (!whole_number(json, &value) || value > max) {
        fd_loading_wrong(l, name, "a whole number is missing or out of range");
    }
    return value;
}

bool
fd_loading_text(fd_loading *l, fd_span json)
{
    if (fd_span_size(json) == 0 || *json.from != '"') {
        return false;
    }
    l->text.size = 0;
    fd_json_string(fd_span_inside(json), &l->text);
    fd_buffer_bytes(&l->text, "", 1);
    l->text.size--;
    fd_arena_check(&l->arena, l->text.status);
    return true;
}

uint32_t
fd_loading_add_text(fd_loading *l, fd_span json, const char *name)
{
    uint32_t id;
    if (!fd_loading_text(l, json)) {
        fd_loading_wrong(l, name, "not a string");
    }
    fd_arena_check(&l->arena,
                   fd_text_pool_add_clean(&l->trace->texts, l->text.bytes,
                                          l->text.size, &id));
    return id;
}

static bool
is_array(fd_span json)
{
    return fd_span_size(json) > 0 && *json.from == '[';
}

/* Check that the number of an enumeration has a name. */
static bool
is_named(const fd_column *column, uint64_t value)
{
    for (uint64_t i = 0; column->names[i] != NULL; i++) {
        if (i == value) {
            return true;
        }
    }
    return false;
}

bool
fd_loading_next(fd_scan *scan, fd_span array, fd_span *value)
{
    bool first = scan->at == NULL;
    if (first) {
        *scan = (fd_scan){.at = array.from, .end = array.to, .forgets = true};
        if (fd_scan_mark(scan, '[') != FD_SCAN_OK) {
            return false;
        }
    }
    return fd_scan_element(scan, first, value) == FD_SCAN_OK;
}

static void
load_column(fd_loading *l, const fd_table *table, const fd_column *column,
            fd_span values, fd_rank_list *to)
{
    char where[64];
    fd_scan scan = {.at = NULL};
    fd_span item;
    snprintf(where, sizeof where, "%s.%s", table->name, column->name);
    if (values.from == NULL && column->newer) {
        return;
    }
    if (!is_array(values)) {
        fd_loading_wrong(l, where, "an array is missing");
    }
    uint32_t at = table->from_one;
    while (fd_loading_next(&scan, values, &item)) {
        uint64_t value;
        if (at >= to->count) {
            fd_loading_wrong(l, where, "more values than in the first column");
        }
        if (!cell_value(l, column->type, item, &value)
            || (column->names != NULL && !is_named(column, value))) {
            fd_loading_wrong(l, where, "a value has the wrong type or range");
        }
        fd_cell_set(column, (char *)to->list + at++ * table->row_bytes, value);
    }
    if (at < to->count) {
        fd_loading_wrong(l, where, "fewer values than in the first column");
    }
}

static void
make_rows(fd_loading *l, const fd_table *table, fd_span first,
          fd_rank_list *to)
{
    fd_scan scan = {.at = NULL};
    fd_span item;
    size_t count = table->from_one;
    while (fd_loading_next(&scan, first, &item)) {
        count++;
    }
    to->list = count <= UINT32_MAX ? fd_calloc(count, table->row_bytes) : NULL;
    fd_arena_check(&l->arena, to->list != NULL ? FD_OK : FD_ENOMEM);
    to->count = to->capacity = (uint32_t)count;
}

void
fd_loading_table(fd_loading *l, fd_span json, const fd_table *table,
                 fd_rank_list *to)
{
    const char *names[MOST_COLUMNS];
    fd_span columns[MOST_COLUMNS];
    for (size_t i = 0; i < table->count; i++) {
        names[i] = table->columns[i].name;
    }
    if (!fd_scan_members(json, names, table->count, columns)
        || !is_array(columns[0])) {
        fd_loading_wrong(l, table->name, "the table is missing");
    }
    make_rows(l, table, columns[0], to);
    for (size_t i = 0; i < table->count; i++) {
        load_column(l, table, &table->columns[i], columns[i], to);
    }
}

static void
release_rows(void *rows)
{
    fd_free(((fd_rank_list *)rows)->list);
}

fd_rank_list *
fd_loading_rows(fd_loading *l, fd_span json, const fd_table *table)
{
    fd_rank_list *rows = fd_arena_owned(&l->arena, sizeof *rows, release_rows);
    fd_loading_table(l, json, table, rows);
    return rows;
}
