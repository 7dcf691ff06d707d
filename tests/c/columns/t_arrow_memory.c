#include "arrows.h"

#include "columns/arrow_memory.h"

#include <string.h>

static const char *
word(const void *context, uint32_t row, size_t *size)
{
    const char *const *words = context;
    *size = strlen(words[row]);
    return words[row];
}

static void
texts_are_copied(void)
{
    CLEAN(arrows_drop_array) struct ArrowArray array = {.release = NULL};
    static const char *const words[] = {"forward", "", "\xc3\xa9"};
    OK(fd_arrow_texts(&array, 3, word, words));
    EQUAL(array.length, 3);
    EQUAL(array.n_buffers, 3);
    CHECK(arrows_text_is(&array, 0, "forward"));
    CHECK(arrows_text_is(&array, 1, ""));
    CHECK(arrows_text_is(&array, 2, "\xc3\xa9"));
}

static void
no_texts(void)
{
    CLEAN(arrows_drop_array) struct ArrowArray array = {.release = NULL};
    OK(fd_arrow_texts(&array, 0, word, NULL));
    EQUAL(array.length, 0);
    CHECK(array.buffers[1] != NULL && array.buffers[2] != NULL);
}

static void
children_are_empty(void)
{
    CLEAN(arrows_drop_array) struct ArrowArray array = {.release = NULL};
    OK(fd_arrow_begin(&array, 7, 1, 2));
    EQUAL(array.length, 7);
    EQUAL(array.n_children, 2);
    CHECK(array.children[1]->release == NULL);
}

RUN(TEST(texts_are_copied), TEST(no_texts), TEST(children_are_empty))
