#include "arrows.h"

#include "columns/arrow_array.h"

#include <string.h>

typedef struct sample {
    uint32_t index;
    uint32_t text;
    uint8_t kind;
    bool open;
    uint16_t small;
    uint64_t large;
    int64_t age;
    const char *string;
    char chars[4];
} sample;

static const char *const kinds[] = {"none", "one", "two", NULL};
static const fd_column columns[] = {
    FD_COLUMN(sample, "index", INDEX, index),
    FD_COLUMN(sample, "text", TEXT, text),
    FD_COLUMN_OF_NAMES(sample, "kind", U8, kind, kinds),
    FD_COLUMN(sample, "open", BOOL, open),
    FD_COLUMN(sample, "small", U16, small),
    FD_COLUMN(sample, "large", U64, large),
    FD_COLUMN(sample, "age", I64_OR_NONE, age),
    FD_COLUMN(sample, "string", STRING, string),
    FD_COLUMN(sample, "chars", CHARS, chars),
};
static const fd_table table = FD_TABLE("samples", columns, sample, false);
static const fd_table later = FD_TABLE("samples", columns, sample, true);

static const sample rows[] = {
    {0, 2, 1, true, 65535, UINT64_MAX, -1, "first", "a"},
    {5, 1, 2, false, 1, 7, 8, "", "bcd"},
    {1, 2, 0, true, 0, 0, 0, "third", ""},
};

static fd_status
make(fd_text_pool *texts, struct ArrowArray *array, const fd_table *of,
     const uint32_t *rank)
{
    uint32_t id;
    fd_status status = fd_text_pool_add(texts, "unused", 6, &id);
    fd_then(status, fd_text_pool_add(texts, "used", 4, &id));
    fd_arrow_rows made = {rows, 3, texts, rank};
    return status == FD_OK ? fd_arrow_array(array, of, &made) : status;
}

#define MADE(array, of, rank) \
    CLEAN(fd_text_pool_clear) fd_text_pool texts = {.texts = {NULL, 0, 0}}; \
    CLEAN(arrows_drop_array) struct ArrowArray array = {.release = NULL}; \
    OK(make(&texts, &array, of, rank))

TEST(numbers)
{
    MADE(array, &table, NULL);
    FIELDS(&array, (length, 3), (n_children, 9));
    const uint16_t *small = array.children[4]->buffers[1];
    EQUAL(small[0], 65535);
    EQUAL(small[1], 1);
    CHECK(arrows_u64(array.children[5], 0) == UINT64_MAX);
    const uint8_t *open = array.children[3]->buffers[1];
    EQUAL(open[0], 5);
}

/* Index 0 is "none", others are one less; a negative age is unknown. */
TEST(nulls)
{
    MADE(array, &table, NULL);
    const struct ArrowArray *index = array.children[0];
    EQUAL(index->null_count, 1);
    CHECK(arrows_is_null(index, 0));
    EQUAL(arrows_u32(index, 1), 4);
    EQUAL(arrows_u32(index, 2), 0);
    CHECK(!arrows_is_null(index, 2));
    const struct ArrowArray *age = array.children[6];
    EQUAL(age->null_count, 1);
    CHECK(arrows_is_null(age, 0) && !arrows_is_null(age, 2));
}

/* A dictionary has only the texts that occur. */
TEST(texts_of_rows)
{
    MADE(array, &table, NULL);
    EQUAL(array.children[1]->dictionary->length, 2);
    CHECK(arrows_word_is(array.children[1], 0, "used"));
    CHECK(arrows_word_is(array.children[1], 1, "unused"));
    CHECK(arrows_word_is(array.children[2], 1, "two"));
    CHECK(arrows_text_is(array.children[7], 2, "third"));
    CHECK(arrows_text_is(array.children[8], 1, "bcd"));
}

TEST(ranks_and_first_rows)
{
    uint32_t rank = 12;
    MADE(array, &later, &rank);
    FIELDS(&array, (length, 2), (n_children, 10));
    EQUAL(arrows_u32(array.children[0], 1), 12);
    EQUAL(arrows_u32(array.children[1], 0), 4);
}

/* A consumer may move a child and release the parent. */
TEST(a_moved_child_survives)
{
    CLEAN(fd_text_pool_clear) fd_text_pool texts = {.texts = {NULL, 0, 0}};
    CLEAN(arrows_drop_array) struct ArrowArray moved = {.release = NULL};
    struct ArrowArray array = {.release = NULL};
    OK(make(&texts, &array, &table, NULL));
    moved = *array.children[1];
    array.children[1]->release = NULL;
    array.release(&array);
    CHECK(array.release == NULL);
    CHECK(arrows_word_is(&moved, 2, "used"));
}

TEST(no_rows)
{
    CLEAN(fd_text_pool_clear) fd_text_pool texts = {.texts = {NULL, 0, 0}};
    CLEAN(arrows_drop_array) struct ArrowArray array = {.release = NULL};
    const fd_arrow_rows none = {NULL, 0, &texts, NULL};
    OK(fd_arrow_array(&array, &table, &none));
    EQUAL(array.length, 0);
    const struct ArrowArray *strings = array.children[7];
    CHECK(strings->buffers[1] != NULL && strings->buffers[2] != NULL);
}
