#include "check.h"

#include "trace/interned_texts.h"

#include <stdio.h>

TEST(none_and_unknown)
{
    CLEAN(fd_text_pool_clear) fd_text_pool pool = {.bytes = {.bytes = NULL}};
    uint32_t id = 7;
    SAME(fd_text_pool_get(&pool, 3), "");
    OK(fd_text_pool_add(&pool, "", 0, &id));
    EQUAL(id, 0);
    OK(fd_text_pool_add(&pool, "x", 1, &id));
    SAME(fd_text_pool_get(&pool, 0), "");
    SAME(fd_text_pool_get(&pool, id + 1), "");
    EQUAL(fd_text_pool_size(&pool, UINT32_MAX), 0);
}

TEST(thousands)
{
    CLEAN(fd_text_pool_clear) fd_text_pool pool = {.bytes = {.bytes = NULL}};
    static uint32_t ids[3000];
    char text[16];
    for (int i = 0; i < 3000; i++) {
        int size = snprintf(text, sizeof text, "t%d", i);
        OK(fd_text_pool_add(&pool, text, (size_t)size, &ids[i]));
    }
    for (int i = 0; i < 3000; i++) {
        uint32_t id;
        int size = snprintf(text, sizeof text, "t%d", i);
        SAME(fd_text_pool_get(&pool, ids[i]), text);
        OK(fd_text_pool_add(&pool, text, (size_t)size, &id));
        EQUAL(id, ids[i]);
    }
}

TEST(cleaned)
{
    CLEAN(fd_text_pool_clear) fd_text_pool pool = {.bytes = {.bytes = NULL}};
    uint32_t id;
    OK(fd_text_pool_add_clean(&pool, "\xC3\xA9 ok", 5, &id));
    SAME(fd_text_pool_get(&pool, id), "\xC3\xA9 ok");
    OK(fd_text_pool_add_clean(&pool, "a\0b\xFF", 4, &id));
    SAME(fd_text_pool_get(&pool, id), "a\xEF\xBF\xBD"
                                      "b\xEF\xBF\xBD");
    OK(fd_text_pool_add_clean(&pool, "\xC3", 1, &id));
    SAME(fd_text_pool_get(&pool, id), "\xEF\xBF\xBD");
    OK(fd_text_pool_add_clean(&pool, "", 0, &id));
    EQUAL(id, 0);
}

TEST(taken)
{
    CLEAN(fd_text_pool_clear) fd_text_pool pool = {.bytes = {.bytes = NULL}};
    fd_buffer from = {.bytes = NULL};
    uint32_t id;
    fd_buffer_text(&from, "made");
    OK(fd_text_pool_take(&pool, &from, &id));
    SAME(fd_text_pool_get(&pool, id), "made");
    CHECK(from.bytes == NULL);
    OK(fd_text_pool_take(&pool, &from, &id));
    EQUAL(id, 0);
}
