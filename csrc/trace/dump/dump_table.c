#include "trace/dump/dump_reading.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fd_status
fd_loading_wrong(const fd_loading *l, const char *where, const char *what)
{
    return fd_fail(l->error, FD_EFORMAT, "%s: %s: %s", l->path, where, what);
}

bool
fd_loading_unsigned(const cJSON *json, uint64_t *value)
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
cell_value(const fd_loading *l, fd_column_type type, const cJSON *json,
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
        if (!fd_loading_unsigned(json, value) || *value >= l->texts.count) {
            return false;
        }
        *value = l->texts.list[*value];
        return true;
    case FD_COLUMN_U8:
        return fd_loading_unsigned(json, value) && *value <= UINT8_MAX;
    case FD_COLUMN_U32:
        return fd_loading_unsigned(json, value) && *value <= UINT32_MAX;
    case FD_COLUMN_U64:
        return fd_loading_unsigned(json, value);
    case FD_COLUMN_BOOL:
        *value = cJSON_IsTrue(json) != 0;
        return cJSON_IsBool(json);
    case FD_COLUMN_DOUBLE: /* sums of squares */
        memcpy(value, &number, sizeof *value);
        return cJSON_IsNumber(json) && number >= 0 && isfinite(number);
    case FD_COLUMN_I64:
    case FD_COLUMN_U16:
    case FD_COLUMN_CHARS:
    case FD_COLUMN_TEXT_OR_NONE:
    case FD_COLUMN_I64_OR_NONE:
        break; /* of no dump */
    }
    return false;
}

fd_status
fd_loading_number(const fd_loading *l, const cJSON *json, const char *name,
                  uint64_t max, uint64_t *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    return item != NULL && fd_loading_unsigned(item, value) && *value <= max
             ? FD_OK
             : fd_loading_wrong(l, name,
                                "a whole number is missing or out of range");
}

/* Numbers of an enumeration must have a name. */
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

/* Columns that earlier dumps are without: all 0. */
static bool
is_new(const char *where)
{
    return strcmp(where, "modules.parameters") == 0
        || strcmp(where, "modules.parameter_bytes") == 0;
}

static fd_status
load_column(const fd_loading *l, const fd_table *table,
            const fd_column *column, const cJSON *values, fd_loading_rows *to)
{
    char where[64];
    snprintf(where, sizeof where, "%s.%s", table->name, column->name);
    if (values == NULL && is_new(where)) {
        return FD_OK;
    }
    if (!cJSON_IsArray(values)) {
        return fd_loading_wrong(l, where, "an array is missing");
    }
    uint32_t at = table->from_one;
    const cJSON *item;
    cJSON_ArrayForEach(item, values)
    {
        uint64_t value;
        if (at >= to->count) {
            return fd_loading_wrong(l, where,
                                    "more values than in the first column");
        }
        if (!cell_value(l, column->type, item, &value)
            || (column->names != NULL && !is_named(column, value))) {
            return fd_loading_wrong(l, where,
                                    "a value has the wrong type or range");
        }
        fd_cell_set(column, (char *)to->list + at++ * table->row_bytes, value);
    }
    return at == to->count
             ? FD_OK
             : fd_loading_wrong(l, where,
                                "fewer values than in the first column");
}

fd_status
fd_loading_table(const fd_loading *l, const cJSON *parent,
                 const fd_table *table, fd_loading_rows *to)
{
    const cJSON *json = cJSON_GetObjectItemCaseSensitive(parent, table->name);
    const cJSON *first =
        cJSON_GetObjectItemCaseSensitive(json, table->columns[0].name);
    *to = (fd_loading_rows){NULL, 0};
    if (!cJSON_IsObject(json) || !cJSON_IsArray(first)) {
        return fd_loading_wrong(l, table->name, "the table is missing");
    }
    to->count = (uint32_t)cJSON_GetArraySize(first) + table->from_one;
    to->list = fd_calloc(to->count, table->row_bytes);
    if (to->list == NULL) {
        return FD_ENOMEM;
    }
    fd_status status = FD_OK;
    for (size_t i = 0; i < table->count && status == FD_OK; i++) {
        const fd_column *column = &table->columns[i];
        status = load_column(
            l, table, column,
            cJSON_GetObjectItemCaseSensitive(json, column->name), to);
    }
    return status;
}
