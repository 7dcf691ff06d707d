#include "check.h"

#include "trace/trace_columns.h"

/* Every column is within its row, has a unique name and overlaps no other. */
static void
check_columns(const fd_table *table)
{
    unsigned char taken[256] = {0};
    CHECK(table->row_bytes <= sizeof taken);
    for (size_t i = 0; i < table->count; i++) {
        const fd_column *column = &table->columns[i];
        size_t size = fd_cell_bytes(column);
        CHECK(size > 0 || column->type == FD_COLUMN_CHARS);
        CHECK(column->offset + size <= table->row_bytes);
        for (size_t k = 0; k < size; k++) {
            EQUAL(taken[column->offset + k]++, 0);
        }
        CHECK(fd_column_named(table, column->name) == column);
    }
}

TEST(columns_are_apart)
{
    check_columns(&fd_nodes_table);
    check_columns(&fd_modules_table);
    check_columns(&fd_contexts_table);
    for (int i = 0; i < FD_RANK_TABLES; i++) {
        check_columns(fd_rank_tables[i].table);
        for (int k = 0; k < i; k++) {
            CHECK(fd_rank_tables[k].offset != fd_rank_tables[i].offset);
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

TEST(every_value_has_a_name)
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

TEST(cells_have_signs)
{
    struct row {
        int32_t i32;
        int64_t i64;
    } row = {-1, -2};
    static const fd_column columns[] = {
        FD_COLUMN(struct row, "i32", I32, i32),
        FD_COLUMN(struct row, "i64", I64, i64),
    };
    for (int i = 0; i < 2; i++) {
        EQUAL((int64_t)fd_cell(&columns[i], &row), -1 - i);
        fd_cell_set(&columns[i], &row, (uint64_t)(-5 - i));
        EQUAL((int64_t)fd_cell(&columns[i], &row), -5 - i);
    }
}
