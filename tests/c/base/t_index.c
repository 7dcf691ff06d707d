#include "check.h"

#include "base/hash.h"
#include "base/index.h"

static bool
holds(const fd_index *index, uint64_t hash, uint32_t id)
{
    fd_probe probe = fd_index_probe(index, hash);
    uint32_t found;
    while ((found = fd_index_next(index, &probe)) != 0) {
        if (found == id) {
            return true;
        }
    }
    return false;
}

TEST(empty_finds_nothing)
{
    CLEAN(fd_index_clear) fd_index index = {NULL, 0, 0};
    fd_probe probe = fd_index_probe(&index, 42);
    EQUAL(fd_index_next(&index, &probe), 0);
}

/* One hash, many ids: all are found, and the probe ends. */
TEST(collisions)
{
    CLEAN(fd_index_clear) fd_index index = {NULL, 0, 0};
    for (uint32_t id = 1; id <= 300; id++) {
        OK(fd_index_add(&index, 0xFFFFFFFF, id));
    }
    fd_probe probe = fd_index_probe(&index, 0xFFFFFFFF);
    uint64_t sum = 0;
    uint32_t id;
    while ((id = fd_index_next(&index, &probe)) != 0) {
        sum += id;
    }
    EQUAL(sum, 300 * 301 / 2);
}

/* Hashes of the same slot that differ in higher bits are distinguished. */
TEST(neighbours_are_skipped)
{
    CLEAN(fd_index_clear) fd_index index = {NULL, 0, 0};
    OK(fd_index_add(&index, 5, 1));
    OK(fd_index_add(&index, 5 + (UINT64_C(1) << 20), 2));
    fd_probe probe = fd_index_probe(&index, 5 + (UINT64_C(1) << 20));
    EQUAL(fd_index_next(&index, &probe), 2);
    EQUAL(fd_index_next(&index, &probe), 0);
}

TEST(failed_add_changes_nothing)
{
    CLEAN(fd_index_clear) fd_index index = {NULL, 0, 0};
    for (uint32_t id = 1; id <= 200; id++) {
        uint32_t count = index.count;
        fd_status status = fd_index_add(&index, fd_hash_word(id), id);
        if (status != FD_OK) {
            EQUAL(index.count, count);
            CHECK(!holds(&index, fd_hash_word(id), id));
            CHECK(count == 0 || holds(&index, fd_hash_word(count), count));
            OK(status);
        }
    }
}
