#include "check.h"

#include "gpu/busy_time.h"

static uint64_t idle_of[8];

static void
note_idle(void *user, uint32_t id, uint64_t idle)
{
    (void)user;
    idle_of[id] += idle;
}

static void
add(fd_busy_time *time, uint32_t id, uint64_t launched, uint64_t start,
    uint64_t end, uint32_t device)
{
    fd_busy_kernel kernel = {.start = start,
                             .end = end,
                             .launched = launched,
                             .device = device,
                             .id = id};
    fd_busy_time_add(time, &kernel);
}

/* In any order; overlapping kernels are busy time once. */
static void
finds_idle_time(void)
{
    CLEAN(fd_busy_time_clear) fd_busy_time time = {.until = 0};
    for (int i = 0; i < 8; i++) {
        idle_of[i] = 0;
    }
    OK(fd_vector_reserve(&time.waiting, 8));
    add(&time, 3, 90, 140, 150, 0); /* launched while 2 ran */
    add(&time, 1, 10, 20, 50, 0);
    add(&time, 2, 80, 85, 100, 0); /* launched late */
    add(&time, 4, 90, 145, 170, 0);
    add(&time, 5, 0, 300, 310, 0); /* its launch is not known */
    add(&time, 6, 400, 410, 420, 1);
    fd_busy_time_settle(&time, note_idle, NULL);
    EQUAL(time.busy, 30 + 15 + 30 + 10 + 10);
    EQUAL(idle_of[1], 0);
    EQUAL(idle_of[2], 30);
    EQUAL(idle_of[3], 0);
    EQUAL(idle_of[4], 0);
    EQUAL(idle_of[5], 0);
    EQUAL(idle_of[6], 0);
    EQUAL(time.waiting.count, 0);
}

/* Time between windows is not idle time; between parts of a window it is. */
static void
windows_are_apart(void)
{
    CLEAN(fd_busy_time_clear) fd_busy_time time = {.until = 0};
    idle_of[2] = idle_of[3] = 0;
    OK(fd_vector_reserve(&time.waiting, 8));
    add(&time, 1, 10, 20, 50, 0);
    fd_busy_time_settle(&time, note_idle, NULL);
    add(&time, 2, 70, 75, 80, 0);
    fd_busy_time_settle(&time, note_idle, NULL);
    EQUAL(idle_of[2], 20);
    fd_busy_time_begin(&time);
    add(&time, 3, 1000, 1010, 1020, 0);
    fd_busy_time_settle(&time, note_idle, NULL);
    EQUAL(idle_of[3], 0);
    EQUAL(time.busy, 45);
}

RUN(TEST(finds_idle_time), TEST(windows_are_apart))
