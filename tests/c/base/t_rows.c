#include "check.h"

#include "base/rows.h"

typedef struct row {
    uint32_t name;
    uint32_t count;
} row;

typedef FD_VECTOR(row) row_list;

static void
clear(row_list *rows)
{
    fd_vector_clear(rows);
}

TEST(one_row_per_key)
{
    CLEAN(clear) row_list rows = {NULL, 0, 0};
    CLEAN(fd_map_clear) fd_map numbers = {NULL, 0, 0};
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t key = 1 + i % 100;
        row *one = fd_row(&rows, &numbers, key, &(row){.name = key});
        OK(one == NULL ? FD_ENOMEM : FD_OK);
        EQUAL(one->name, key);
        one->count++;
    }
    EQUAL(rows.count, 100);
    for (uint32_t i = 0; i < rows.count; i++) {
        FIELDS(&rows.list[i], (name, i + 1), (count, 3));
    }
}
