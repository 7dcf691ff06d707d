#include "check.h"

#include "base/buffer.h"
#include "profile/call_slices.h"

/* The walk as text: a( at its start, ) at its end, with the times. */
static fd_status
walk(const fd_trace_event *events, uint32_t count, fd_buffer *to)
{
    fd_slices slices;
    fd_slice_edge edge;
    fd_status status = fd_slices_make(&slices, events, count);
    while (status == FD_OK && fd_slices_next(&slices, &edge)) {
        if (edge.begins) {
            fd_buffer_format(to, "%c", (int)('a' + edge.event));
        }
        fd_buffer_format(to, edge.begins ? "%llu(" : ")%llu ",
                         (unsigned long long)edge.time);
    }
    if (status == FD_OK) {
        fd_slices_clear(&slices);
    }
    fd_buffer_bytes(to, "", 1);
    return status == FD_OK ? to->status : status;
}

static fd_trace_event
call(uint64_t start, uint64_t end)
{
    return (fd_trace_event){start, end - start, 1, 0, FD_EVENT_CALL};
}

#define WALKED(text, ...) \
    do { \
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}; \
        const fd_trace_event list[] = {__VA_ARGS__}; \
        OK(walk(list, sizeof list / sizeof *list, &to)); \
        SAME(to.bytes, text); \
    } while (0)

TEST(calls_inside_their_callers)
{
    WALKED("d0(b1(a2()3 )4 c5()6 )9 ", call(2, 3), call(1, 4), call(5, 6),
           call(0, 9));
    WALKED("a0()1 b1()2 ", call(0, 1), call(1, 2));
    WALKED("b3(a3()3 )7 ", call(3, 3), call(3, 7));
    CLEAN(fd_buffer_clear) fd_buffer none = {.bytes = NULL};
    OK(walk(NULL, 0, &none));
    SAME(none.bytes, "");
}

TEST(overlaps_begin_later)
{
    WALKED("a0()5 b5()8 ", call(0, 5), call(3, 8));
    WALKED("c0(a1()5 b5()8 )9 ", call(1, 5), call(3, 8), call(0, 9));
    WALKED("a0()9 b9()9 ", call(0, 9), call(4, 9));
}

TEST(other_lines_are_skipped)
{
    fd_trace_event step = call(0, 4);
    fd_trace_event work = call(1, 3);
    fd_trace_event open = call(0, 9);
    step.kind = FD_EVENT_STEP;
    work.kind = FD_EVENT_ASYNC;
    open.kind = FD_EVENT_OPEN;
    WALKED("d0(a1()2 )9 ", call(1, 2), step, work, open);
}
