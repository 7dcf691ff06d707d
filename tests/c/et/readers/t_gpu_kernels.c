#include "check.h"

#include "et/readers/gpu_kernels.h"

enum { CALLS = 5 };

/* Calls by hand: [launch, start, ticks, stream + 1, device, begin, end]. */
static void
make(fd_arena *arena, fd_et_calls *calls, fd_op_call *raw,
     const uint64_t (*rows)[7])
{
    for (uint32_t i = 0; i < CALLS; i++) {
        raw[i] = (fd_op_call){.start = rows[i][5],
                              .ticks = rows[i][6] - rows[i][5],
                              .gpu_launch = rows[i][0],
                              .gpu_start = rows[i][1],
                              .gpu_ticks = rows[i][2],
                              .gpu_stream = (uint16_t)rows[i][3],
                              .gpu_device = (uint16_t)rows[i][4]};
        fd_arena_push(arena, calls, (fd_tensor_call){.raw = &raw[i]});
    }
}

/* The kernels of such calls, all but the first within that, are `wanted`:
 * [call, launch, start, end, device, stream]. */
static void
check(const uint64_t (*rows)[7], const uint32_t *flags,
      const uint64_t (*wanted)[6], uint32_t count)
{
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL};
    fd_et_calls calls = {NULL, 0, 0};
    fd_et_kernels found = {NULL, 0, 0};
    fd_op_call raw[CALLS];
    ENTER(&arena);
    make(&arena, &calls, raw, rows);
    for (uint32_t i = 0; i < CALLS; i++) {
        raw[i].flags = flags == NULL ? 0 : flags[i];
        calls.list[i].parent = i > 0;
    }
    fd_et_find_kernels(&arena, &calls, &found);
    EQUAL(found.count, count);
    for (uint32_t i = 0; i < count; i++) {
        const fd_et_kernel *kernel = &found.list[i];
        FIELDS(kernel, (call, wanted[i][0]), (launch, wanted[i][1]),
               (start, wanted[i][2]), (end, wanted[i][3]),
               (device, wanted[i][4]), (stream, wanted[i][5]));
    }
}

/* 0 encloses 1, which fills it except for its ends, and 2 of length 0 at its
 * begin; 3 was not timed; 4 is on another stream of another device. */
TEST(intervals)
{
    static const uint64_t rows[][7] = {
        {11, 100, 100, 1, 0, 10, 60}, {21, 120, 60, 1, 0, 20, 30},
        {41, 185, 0, 1, 0, 40, 50},   {0, 0, 0, 0, 0, 70, 80},
        {91, 110, 40, 1, 1, 90, 95},
    };
    static const uint64_t wanted[][6] = {
        {0, 11, 100, 120}, {1, 21, 120, 180}, {0, 30, 180, 185},
        {2, 41, 185, 185}, {0, 50, 185, 200}, {4, 91, 110, 150, 1, 0},
    };
    check(rows, NULL, wanted, 6);
}

/* Two threads on one stream: 1 began while 0 was at it and ends after it; a
 * call that begins and ends with the call around it leaves no time to that; 4
 * never ended on the host, and its numbers are damaged. */
TEST(overlaps)
{
    static const uint64_t rows[][7] = {
        {11, 100, 50, 1, 0, 10, 60},    {21, 120, 60, 1, 0, 20, 70},
        {71, 300, 9, 2, 0, 70, 90},     {81, 300, 9, 2, 0, 80, 85},
        {0, 5, UINT64_MAX, 3, 0, 0, 0},
    };
    static const uint64_t wanted[][6] = {
        {0, 11, 100, 120},       {1, 21, 120, 180},  {3, 81, 300, 309, 0, 1},
        {2, 71, 300, 300, 0, 1}, {4, 0, 5, 5, 0, 2},
    };
    static const uint32_t flags[CALLS] = {0, 0, 0, 0, FD_OP_CALL_OPEN};
    check(rows, flags, wanted, 5);
}

/* Times are in error: 1, within 0, reads as if it came after that; 2, behind
 * both, as if it came before the end of 0. */
TEST(errors)
{
    static const uint64_t rows[][7] = {
        {11, 100, 50, 1, 0, 10, 60}, {21, 151, 3, 1, 0, 20, 30},
        {71, 149, 20, 1, 0, 70, 80}, {0, 0, 0, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, 0, 0},
    };
    static const uint64_t wanted[][6] = {
        {0, 11, 100, 151},
        {1, 21, 151, 154},
        {2, 71, 154, 169},
    };
    check(rows, NULL, wanted, 3);
}

/* 1 is an autograd node of 0, the engine, which makes 2 when 1 is over; the
 * interval of 1 lasts on. */
TEST(engines)
{
    static const uint64_t rows[][7] = {
        {0, 0, 0, 0, 0, 10, 90},     {21, 100, 60, 4, 1, 20, 40},
        {51, 100, 29, 4, 1, 50, 60}, {0, 0, 0, 0, 0, 0, 0},
        {0, 0, 0, 0, 0, 0, 0},
    };
    static const uint64_t wanted[][6] = {
        {2, 51, 100, 129, 1, 3},
        {0, 60, 129, 160, 1, 3},
        {1, 21, 100, 100, 1, 3},
    };
    static const uint32_t flags[CALLS] = {0, 1 << FD_OP_CALL_SCOPE_SHIFT};
    check(rows, flags, wanted, 3);
}
