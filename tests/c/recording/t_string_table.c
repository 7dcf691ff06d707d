#include "fixtures.h"

#include "recording/string_table.h"

#include <stdio.h>
#include <string.h>

enum { MB = 1024 * 1024 };

typedef struct pair {
    fd_file file;
    fd_strings strings;
} pair;

static fd_status
open_pair(pair *p, uint32_t max_bytes)
{
    fd_status status = fixture_file_create(&p->file, NULL, MB, NULL);
    if (status == FD_OK) {
        fd_strings_init(&p->strings, &p->file, max_bytes);
    }
    return status;
}

static void
close_pair(pair *p)
{
    fd_strings_clear(&p->strings);
    fd_file_clear(&p->file);
}

static uint32_t
add(pair *p, const char *text)
{
    return fd_strings_add(&p->strings, text, strlen(text));
}

ABSORBS(each_text_once)
{
    CLEAN(close_pair) pair p = {.file = {.fd = -1}};
    OK(open_pair(&p, 4096));
    uint32_t one = add(&p, "train");
    CHECK(one != 0);
    EQUAL(add(&p, "train"), one);
    CHECK(add(&p, "trains") != one);
    SAME(fd_strings_text(&p.file, one), "train");
    EQUAL(fd_strings_find(&p.strings, "train", 5), one);
    EQUAL(fd_strings_find(&p.strings, "absent", 6), 0);
    EQUAL(add(&p, ""), 0);
    EQUAL(fd_strings_find(&p.strings, "", 0), 0);
    SAME(fd_strings_text(&p.file, 0), "");
    EQUAL(fd_file_header(&p.file)->counters[FD_COUNT_STRINGS_FULL], 0);
}

ABSORBS(thousands)
{
    CLEAN(close_pair) pair p = {.file = {.fd = -1}};
    static uint32_t ids[5000];
    OK(open_pair(&p, MB));
    char text[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "name_%d_%.*s", i, i % 9, "xxxxxxxxx");
        ids[i] = add(&p, text);
        CHECK(ids[i] != 0);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "name_%d_%.*s", i, i % 9, "xxxxxxxxx");
        SAME(fd_strings_text(&p.file, ids[i]), text);
        EQUAL(fd_strings_get(&p.file, ids[i])->size, strlen(text));
        EQUAL(add(&p, text), ids[i]);
    }
}

ABSORBS(bound_is_counted)
{
    CLEAN(close_pair) pair p = {.file = {.fd = -1}};
    OK(open_pair(&p, 64));
    uint32_t kept = add(&p, "0123456789");
    CHECK(kept != 0);
    EQUAL(add(&p, "a text that is longer than what is left of 64"), 0);
    EQUAL(fd_file_header(&p.file)->counters[FD_COUNT_STRINGS_FULL], 1);
    EQUAL(add(&p, "0123456789"), kept);
    CHECK(add(&p, "small") != 0);
    EQUAL(fd_file_header(&p.file)->counters[FD_COUNT_STRINGS_FULL], 1);
}
