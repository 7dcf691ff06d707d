#include "fixtures.h"

#include "recording/chunk_pool.h"

enum { MB = 1024 * 1024 };

/* Records never move and their ids stay valid while the pool grows. */
TEST(grows_in_place)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fixture_file_create(&file, NULL, MB, NULL));
    fd_pool pool = fd_pool_of(&file, FD_CHUNK_META, sizeof(fd_meta), 4096);
    uint32_t ids[2000];
    for (uint32_t i = 0; i < 2000; i++) {
        fd_meta *meta = fd_pool_reserve(&pool, 1);
        CHECK(meta != NULL);
        *meta = (fd_meta){i, 2 * i};
        ids[i] = (uint32_t)((char *)meta - file.base);
        fd_pool_publish(&pool, 1);
    }
    EQUAL(pool.count, 2000);
    for (uint32_t i = 0; i < 2000; i++) {
        const fd_meta *meta = (const fd_meta *)(file.base + ids[i]);
        FIELDS(meta, (key, i), (value, 2 * i));
    }
}

/* 4, 8, 16 KiB ...: few chunks for many records. */
TEST(chunks_double)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fixture_file_create(&file, NULL, 4 * MB, NULL));
    fd_pool pool = fd_pool_of(&file, FD_CHUNK_STRINGS, 1, 4096);
    size_t last = 0;
    for (int i = 0; i < 10; i++) {
        CHECK(fd_pool_reserve(&pool, i == 0 ? 1 : pool.chunk->capacity)
              != NULL);
        EQUAL(pool.chunk->bytes, last == 0                ? 4096
                                 : last < FD_POOL_LARGEST ? 2 * last
                                                          : last);
        last = pool.chunk->bytes;
        fd_pool_publish(&pool, pool.chunk->capacity);
    }
    EQUAL(last, FD_POOL_LARGEST);
}

TEST(unpublished_is_unseen)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fixture_file_create(&file, NULL, MB, NULL));
    fd_pool pool = fd_pool_of(&file, FD_CHUNK_META, sizeof(fd_meta), 4096);
    void *once = fd_pool_reserve(&pool, 1);
    CHECK(once != NULL);
    CHECK(fd_pool_reserve(&pool, 1) == once);
    EQUAL(pool.chunk->used, 0);
    fd_pool_publish(&pool, 1);
    EQUAL(pool.chunk->used, 1);
    CHECK(fd_pool_reserve(&pool, 1) != once);
}

/* A series larger than a chunk is in one piece; no room is NULL. */
TEST(large_and_too_large)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fixture_file_create(&file, NULL, MB, NULL));
    fd_pool pool = fd_pool_of(&file, FD_CHUNK_STRINGS, 1, 4096);
    CHECK(fd_pool_reserve(&pool, 100000) != NULL);
    CHECK(pool.chunk->capacity >= 100000);
    fd_pool_publish(&pool, 100000);
    const fd_chunk *chunk = pool.chunk;
    CHECK(fd_pool_reserve(&pool, MB) == NULL);
    CHECK(pool.chunk == chunk);
    EQUAL(pool.count, 100000);
}
