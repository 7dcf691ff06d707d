#include "check.h"

#include "base/alloc.h"
#include "gpu/cupti_buffers.h"

#include <string.h>

static void
clear(fd_cupti_buffers *buffers)
{
    for (fd_cupti_buffer *full;
         (full = fd_cupti_buffers_full(buffers)) != NULL;) {
        fd_cupti_buffers_free(full);
    }
    fd_cupti_buffers_shrink(buffers);
}

TEST(buffers_go_round)
{
    CLEAN(clear) fd_cupti_buffers buffers = {.discarded = 0};
    size_t size;
    fd_cupti_buffers_prepare(&buffers);
    CHECK(fd_cupti_buffers_full(&buffers) == NULL);
    uint8_t *bytes = fd_cupti_buffers_take(&buffers, &size);
    CHECK(bytes != buffers.discard || check_refused());
    if (bytes == buffers.discard) {
        return;
    }
    EQUAL(size, FD_CUPTI_BUFFER_BYTES);
    uint8_t other[8];
    fd_cupti_buffers_fill(&buffers, other, 8); /* of another tool */
    CHECK(fd_cupti_buffers_full(&buffers) == NULL);
    fd_cupti_buffers_fill(&buffers, bytes, size + 1);
    fd_cupti_buffer *full = fd_cupti_buffers_full(&buffers);
    CHECK(full != NULL && full->bytes == bytes);
    EQUAL(full->valid, size);
    fd_cupti_buffers_free(full);
    CHECK(fd_cupti_buffers_take(&buffers, &size) == bytes);
    fd_cupti_buffers_fill(&buffers, bytes, 0);
}

/* Without a free buffer, there is one whose records are only counted. */
TEST(never_returns_none)
{
    CLEAN(clear) fd_cupti_buffers buffers = {.discarded = 0};
    size_t size;
    uint8_t *bytes = fd_cupti_buffers_take(&buffers, &size);
    CHECK(bytes == buffers.discard);
    EQUAL(size, FD_CUPTI_DISCARD_BYTES);
    fd_cupti_buffers_fill(&buffers, bytes, 216);
    fd_cupti_buffers_fill(&buffers, bytes, 216);
    EQUAL(buffers.discarded, 432);
    CHECK(fd_cupti_buffers_full(&buffers) == NULL);
    uint8_t *taken[FD_CUPTI_BUFFERS];
    for (int i = 0; i < FD_CUPTI_BUFFERS; i++) {
        fd_cupti_buffers_prepare(&buffers);
        taken[i] = fd_cupti_buffers_take(&buffers, &size);
        CHECK(taken[i] != buffers.discard || check_refused());
    }
    fd_cupti_buffers_prepare(&buffers);
    CHECK(fd_cupti_buffers_take(&buffers, &size) == buffers.discard
          || check_refused());
    for (int i = 0; i < FD_CUPTI_BUFFERS; i++) {
        fd_cupti_buffers_fill(&buffers, taken[i], 8);
    }
}
