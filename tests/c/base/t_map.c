#include "check.h"

#include "base/map.h"

TEST(missing_is_zero)
{
    CLEAN(fd_map_clear) fd_map map = {NULL, 0, 0};
    EQUAL(fd_map_get(&map, 1), 0);
    OK(fd_map_put(&map, 1, 9));
    EQUAL(fd_map_get(&map, 2), 0);
}

TEST(put_replaces)
{
    CLEAN(fd_map_clear) fd_map map = {NULL, 0, 0};
    OK(fd_map_put(&map, UINT64_MAX, 1));
    OK(fd_map_put(&map, UINT64_MAX, 2));
    EQUAL(fd_map_get(&map, UINT64_MAX), 2);
    EQUAL(map.count, 1);
}

TEST(failed_put_changes_nothing)
{
    CLEAN(fd_map_clear) fd_map map = {NULL, 0, 0};
    for (uint32_t i = 1; i <= 200; i++) {
        uint32_t count = map.count;
        fd_status status = fd_map_put(&map, i, i);
        if (status != FD_OK) {
            EQUAL(map.count, count);
            EQUAL(fd_map_get(&map, i), 0);
            EQUAL(fd_map_get(&map, count), count);
            OK(status);
        }
    }
}
