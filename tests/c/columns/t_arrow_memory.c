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
no_texts(void)
{
    CLEAN(arrows_drop_array) struct ArrowArray array = {.release = NULL};
    OK(fd_arrow_texts(&array, 0, word, NULL));
    EQUAL(array.length, 0);
    CHECK(array.buffers[1] != NULL && array.buffers[2] != NULL);
}

RUN(TEST(no_texts))
