#include "check.h"

#include "trace/trace_columns.h"

#include <string.h>

static const fd_table *const tables[] = {&fd_nodes_table,    &fd_modules_table,
                                         &fd_contexts_table, &fd_figures_table,
                                         &fd_threads_table,  &fd_open_table,
                                         &fd_steps_table,    &fd_tops_table};

/* Bytes of a cell. */
static size_t
width(fd_column_type type)
{
    switch (type) {
    case FD_COLUMN_U8:
    case FD_COLUMN_BOOL:
        return 1;
    case FD_COLUMN_U16:
    case FD_COLUMN_I16:
        return 2;
    case FD_COLUMN_INDEX:
    case FD_COLUMN_TEXT:
    case FD_COLUMN_TEXT_OR_NONE:
    case FD_COLUMN_U32:
    case FD_COLUMN_I32:
        return 4;
    case FD_COLUMN_U64:
    case FD_COLUMN_I64:
    case FD_COLUMN_I64_OR_NONE:
    case FD_COLUMN_U64_OR_NONE:
    case FD_COLUMN_DOUBLE:
        return 8;
    case FD_COLUMN_CHARS:
    case FD_COLUMN_STRING:
        break;
    }
    return 0;
}

/* Every column is within its row, has a unique name and overlaps no other. */
static void
columns_are_apart(void)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        unsigned char taken[256] = {0};
        const fd_table *table = tables[t];
        CHECK(table->row_bytes <= sizeof taken);
        for (size_t i = 0; i < table->count; i++) {
            const fd_column *column = &table->columns[i];
            size_t size = width(column->type);
            CHECK(size > 0 && column->offset + size <= table->row_bytes);
            for (size_t k = 0; k < size; k++) {
                EQUAL(taken[column->offset + k]++, 0);
            }
            for (size_t k = 0; k < i; k++) {
                CHECK(strcmp(column->name, table->columns[k].name) != 0);
            }
        }
    }
}

static size_t
names_in(const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    return count;
}

static void
every_value_has_a_name(void)
{
    EQUAL(names_in(fd_kind_names), FD_NODE_KINDS);
    EQUAL(names_in(fd_from_names), FD_FROM_GENERATED + 1);
    EQUAL(names_in(fd_phase_names), FD_PHASES);
    EQUAL(names_in(fd_state_names), FD_STATE_KILLED + 1);
    EQUAL(names_in(fd_steps_source_names), FD_STEPS_EXPLICIT + 1);
    EQUAL(names_in(fd_counter_names), FD_COUNT_USED);
    SAME(fd_kind_names[FD_NODE_AUTOGRAD], "autograd");
    SAME(fd_phase_names[FD_PHASE_OPTIMIZER], "optimizer");
    SAME(fd_state_names[FD_STATE_KILLED], "killed");
    SAME(fd_steps_source_names[FD_STEPS_ENGINE], "engine");
    SAME(fd_counter_names[FD_COUNT_THREADS_FULL], "threads_full");
    SAME(fd_counter_names[FD_COUNT_ORIGIN_NEAR], "origin_near");
}

static void
cells_have_signs(void)
{
    struct row {
        int16_t i16;
        int32_t i32;
        int64_t i64;
    } row = {-1, -2, -3};
    static const fd_column columns[] = {
        FD_COLUMN(struct row, "i16", I16, i16),
        FD_COLUMN(struct row, "i32", I32, i32),
        FD_COLUMN(struct row, "i64", I64, i64),
    };
    for (int i = 0; i < 3; i++) {
        EQUAL((int64_t)fd_cell(&columns[i], &row), -1 - i);
        fd_cell_set(&columns[i], &row, (uint64_t)(-5 - i));
        EQUAL((int64_t)fd_cell(&columns[i], &row), -5 - i);
    }
}

RUN(TEST(columns_are_apart), TEST(every_value_has_a_name),
    TEST(cells_have_signs))
