#include "check.h"

#include "events/tools/event_sorter.h"

#include <stdlib.h>
#include <string.h>

static void
clear(fd_sorter **sorter)
{
    fd_sorter_free(*sorter);
}

#define SORTER(path, budget) \
    CLEAN(clear) fd_sorter *sorter = fd_sorter_new(path, budget); \
    OK(sorter != NULL ? FD_OK : FD_ENOMEM)

/* Numbers that repeat, from 0 to 255. */
static uint32_t
scattered(uint32_t i)
{
    return i * 2654435761U >> 24;
}

/* The content and the size of each record identify it. */
static fd_status
add_all(fd_sorter *sorter, uint32_t count, fd_error *error)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < count && status == FD_OK; i++) {
        char bytes[40];
        memset(bytes, 'x', sizeof bytes);
        memcpy(bytes, &i, sizeof i);
        status = fd_sorter_add(sorter, (int64_t)scattered(i) - 100, i % 2,
                               bytes, 4 + i % 30, error);
    }
    return status;
}

/* How many came out in the right order, whole. */
static fd_status
count_ordered(fd_sorter *sorter, uint32_t *count, fd_error *error)
{
    fd_sorted last = {.bytes = NULL};
    uint32_t before = 0;
    fd_sorted item;
    fd_status status;
    *count = 0;
    while ((status = fd_sorter_next(sorter, &item, error)) == FD_OK
           && item.bytes != NULL) {
        uint32_t i;
        memcpy(&i, item.bytes, sizeof i);
        bool after = last.bytes == NULL || last.key < item.key
                  || (last.key == item.key
                      && (last.second < item.second
                          || (last.second == item.second && before < i)));
        *count += after && item.size == 4 + i % 30
               && item.key == (int64_t)scattered(i) - 100;
        last = item;
        before = i;
    }
    return status;
}

TEST(in_memory_and_again)
{
    SORTER("out", 1 << 16);
    uint32_t count = 0;
    for (int round = 0; round < 2; round++) {
        OK(add_all(sorter, 300, NULL));
        OK(count_ordered(sorter, &count, NULL));
        EQUAL(count, 300);
    }
    OK(count_ordered(sorter, &count, NULL));
    EQUAL(count, 0);
}

/* Some 75 runs of 27 records: more than are merged at a time. */
TEST(in_many_runs)
{
    SORTER("./out", 1 << 10);
    uint32_t count = 0;
    OK(add_all(sorter, 2000, NULL));
    OK(count_ordered(sorter, &count, NULL));
    EQUAL(count, 2000);
    OK(add_all(sorter, 30, NULL));
    OK(count_ordered(sorter, &count, NULL));
    EQUAL(count, 30);
}

TEST(records_larger_than_a_window)
{
    static char large[300000];
    SORTER("out", 1 << 19);
    fd_sorted item;
    for (int i = 0; i < 4; i++) {
        memset(large, 'a' + i, 300000);
        OK(fd_sorter_add(sorter, -i, 0, large, 300000, NULL));
    }
    for (int i = 3; i >= 0; i--) {
        OK(fd_sorter_next(sorter, &item, NULL));
        CHECK(item.bytes != NULL);
        FIELDS(&item, (size, 300000), (bytes[0], 'a' + i),
               (bytes[299999], 'a' + i));
    }
    OK(fd_sorter_next(sorter, &item, NULL));
    CHECK(item.bytes == NULL);
}

/* Records of sizes around the budget and far above it, between small ones, are
 * unchanged. */
TEST(records_larger_than_the_budget)
{
    static char large[10000];
    SORTER("./out", 400);
    fd_sorted item;
    for (uint32_t i = 0; i < 250; i++) {
        uint32_t size = i % 3 == 0 ? 300 + i : i % 50 == 1 ? 10000 : i % 20;
        memset(large, (int)i, size);
        OK(fd_sorter_add(sorter, -(int64_t)i, 0, large, size, NULL));
    }
    for (uint32_t i = 250; i-- > 0;) {
        uint32_t size = i % 3 == 0 ? 300 + i : i % 50 == 1 ? 10000 : i % 20;
        memset(large, (int)i, size);
        OK(fd_sorter_next(sorter, &item, NULL));
        CHECK(item.bytes != NULL);
        FIELDS(&item, (key, -(int64_t)i), (size, size));
        EQUAL(memcmp(item.bytes, large, size), 0);
    }
    OK(fd_sorter_next(sorter, &item, NULL));
    CHECK(item.bytes == NULL);
}

/* One alone is sorted in memory, whatever its size. */
TEST(one_record_larger_than_the_budget)
{
    static char large[5000];
    SORTER("missing/out", 100);
    fd_sorted item;
    memset(large, 'z', sizeof large);
    OK(fd_sorter_add(sorter, 1, 0, large, sizeof large, NULL));
    OK(fd_sorter_next(sorter, &item, NULL));
    EQUAL(item.size, sizeof large);
    EQUAL(memcmp(item.bytes, large, sizeof large), 0);
    OK(fd_sorter_next(sorter, &item, NULL));
    CHECK(item.bytes == NULL);
}

TEST(nowhere_to_spill)
{
    SORTER("missing/out", 1 << 10);
    fd_error error = {""};
    STATUS(add_all(sorter, 100, &error), FD_EIO);
    CHECK(strstr(error.text, "missing: cannot store temporary data: ")
          == error.text);
    setenv("TMPDIR", ".", 1);
    OK(add_all(sorter, 1, &error));
    unsetenv("TMPDIR");
}
