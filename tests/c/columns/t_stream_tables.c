#include "check.h"
#include "fixtures.h"

#include "columns/path_ids.h"
#include "columns/stream_tables.h"

#include <string.h>

static void
drop(uint64_t **ids)
{
    fd_free(*ids);
}

static uint64_t
value(const fd_arrow_table *table, const fd_table_rows *rows, uint32_t row,
      const char *name)
{
    for (size_t i = 0; i < table->table->count; i++) {
        const fd_column *column = &table->table->columns[i];
        if (strcmp(column->name, name) == 0) {
            return fd_cell(column, (const char *)rows->list
                                       + row * table->table->row_bytes);
        }
    }
    return UINT64_MAX;
}

/* Every table fills, and its columns have unique names within a row. */
TEST(all_tables)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(drop) uint64_t *paths = NULL;
    paths = fd_path_ids(trace);
    ALLOCATED(paths != NULL);
    for (size_t i = 0; fd_arrow_table_name(i) != NULL; i++) {
        CLEAN(fd_table_rows_clear) fd_table_rows rows = {.list = NULL};
        const fd_arrow_table *table =
            fd_arrow_table_of(fd_arrow_table_name(i));
        CHECK(table != NULL && table->table->count > 1);
        OK(fd_table_rows_fill(&rows, table, trace, paths, 0));
        CHECK(rows.count == 0 || rows.list != NULL);
    }
    CHECK(fd_arrow_table_of("unknown") == NULL);
}

/* A context without calls has a row if there are figures below it. */
TEST(figures_of_a_rank)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(drop) uint64_t *paths = NULL;
    CLEAN(fd_table_rows_clear) fd_table_rows rows = {.list = NULL};
    const fd_arrow_table *table = fd_arrow_table_of("figures");
    paths = fd_path_ids(trace);
    ALLOCATED(paths != NULL);
    OK(fd_table_rows_fill(&rows, table, trace, paths, 0));
    EQUAL(rows.count, trace->contexts.count - 1);
    uint32_t train = fixture_find(trace, "train");
    for (uint32_t i = 0; i < rows.count; i++) {
        uint64_t context = value(table, &rows, i, "context");
        CHECK(value(table, &rows, i, "path") == paths[context]);
        if (context == train) {
            EQUAL(value(table, &rows, i, "self"), 400);
            EQUAL(value(table, &rows, i, "total"), 950);
            EQUAL(value(table, &rows, i, "steps"), 2);
            EQUAL(value(table, &rows, i, "ops"), 6);
        }
    }
}
