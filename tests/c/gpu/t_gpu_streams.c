#include "check.h"

#include "gpu/gpu_streams.h"

/* First in, first out, while it grows and while the counts wrap around. */
TEST(keeps_the_order)
{
    CLEAN(fd_gpu_stream_clear) fd_gpu_stream stream = {.ring = NULL};
    uint32_t put = 0;
    uint32_t popped = 0;
    for (int round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < 300; i++) {
            OK(fd_gpu_stream_reserve(&stream));
            fd_gpu_stream_put(&stream, (fd_gpu_timestamp){.interval = put++});
        }
        for (uint32_t i = 0; i < 200; i++) {
            EQUAL(fd_gpu_stream_head(&stream)->interval, popped);
            EQUAL(fd_gpu_stream_pop(&stream).interval, popped++);
        }
        CHECK(!fd_gpu_stream_is_empty(&stream));
    }
    while (!fd_gpu_stream_is_empty(&stream)) {
        EQUAL(fd_gpu_stream_pop(&stream).interval, popped++);
    }
    EQUAL(popped, put);
    EQUAL(stream.capacity, 1024);
}

TEST(counts_run_over)
{
    CLEAN(fd_gpu_stream_clear) fd_gpu_stream stream = {.ring = NULL};
    stream.head = stream.tail = UINT32_MAX - 100;
    for (uint32_t i = 0; i < 1000; i++) {
        OK(fd_gpu_stream_reserve(&stream));
        fd_gpu_stream_put(&stream, (fd_gpu_timestamp){.interval = i});
    }
    for (uint32_t i = 0; i < 1000; i++) {
        EQUAL(fd_gpu_stream_pop(&stream).interval, i);
    }
    CHECK(fd_gpu_stream_is_empty(&stream));
}
