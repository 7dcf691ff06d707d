#include "check.h"

#include "gpu/launch_ring.h"

#include <pthread.h>

static fd_launch_ring ring;

static void
put(uint32_t correlation, uint32_t context, uint64_t tick)
{
    fd_launches_put(&ring, correlation,
                    (fd_launcher){.context = context, .call = 2 * context},
                    tick);
}

static fd_launch_state
find(uint32_t correlation, uint32_t *context)
{
    uint64_t tick;
    fd_launcher found;
    fd_launch_state state =
        fd_launches_find(&ring, correlation, &found, &tick);
    *context = found.call == 2 * found.context ? found.context : UINT32_MAX;
    return state;
}

TEST(finds_launches)
{
    uint32_t context;
    uint64_t tick;
    fd_launches_begin(&ring, false);
    put(100, 5, 1000);
    put(103, 6, 1001);
    put(103, 6, 1002); /* the driver's part of the call */
    EQUAL(fd_launches_pending(&ring), 2);
    fd_launcher launcher;
    EQUAL(fd_launches_find(&ring, 100, &launcher, &tick), FD_LAUNCH_FOUND);
    FIELDS(&launcher, (context, 5), (call, 10));
    EQUAL(tick, 1000);
    EQUAL(fd_launches_pending(&ring), 1);
    CHECK(!fd_launches_reached(&ring));
    EQUAL(find(100, &context), FD_LAUNCH_FOUND); /* of a graph */
    EQUAL(context, 5);
    EQUAL(fd_launches_pending(&ring), 1);
    EQUAL(find(102, &context), FD_LAUNCH_UNKNOWN);
    EQUAL(context, 0);
    EQUAL(find(99, &context), FD_LAUNCH_OUTSIDE);
    EQUAL(find(104, &context), FD_LAUNCH_OUTSIDE);
}

/* A call ends with the function that began it, and not with one inside. */
TEST(notes_ends_of_calls)
{
    uint64_t tick;
    fd_launcher launcher = {.context = 5, .function = 3};
    fd_launches_begin(&ring, false);
    fd_launches_put(&ring, 7, launcher, 1000);
    launcher.function = 4;
    fd_launches_put(&ring, 7, launcher, 1010);
    fd_launches_end(&ring, 7, 4, 1020);
    fd_launches_find(&ring, 7, &launcher, &tick);
    EQUAL(launcher.ticks, 0);
    fd_launches_end(&ring, 7, 3, 1030);
    fd_launches_end(&ring, 8, 3, 1040);
    fd_launches_find(&ring, 7, &launcher, &tick);
    FIELDS(&launcher, (function, 3), (ticks, 30));
    EQUAL(tick, 1000);
    fd_launches_put(&ring, 9, launcher, 0);
    fd_launches_end(&ring, 9, 3, UINT64_MAX);
    fd_launches_find(&ring, 9, &launcher, &tick);
    EQUAL(launcher.ticks, UINT32_MAX);
}

/* The launches of the window before are expected or forgotten. */
TEST(windows_follow_each_other)
{
    uint32_t context;
    fd_launches_begin(&ring, false);
    EQUAL(fd_launches_pending(&ring), 0);
    EQUAL(find(103, &context), FD_LAUNCH_OUTSIDE);
    put(200, 5, 0);
    put(202, 6, 0);
    fd_launches_begin(&ring, true);
    put(300, 7, 0);
    EQUAL(fd_launches_pending(&ring), 3);
    EQUAL(find(202, &context), FD_LAUNCH_FOUND);
    EQUAL(find(201, &context), FD_LAUNCH_UNKNOWN);
    EQUAL(find(250, &context), FD_LAUNCH_OUTSIDE);
    EQUAL(find(300, &context), FD_LAUNCH_FOUND);
    fd_launches_begin(&ring, false);
    EQUAL(find(200, &context), FD_LAUNCH_OUTSIDE);
}

/* Ids wrap at 2^32; threads return them slightly out of order. */
TEST(ids_wrap)
{
    uint32_t context;
    fd_launches_begin(&ring, false);
    put(UINT32_MAX - 2, 5, 0);
    put(3, 7, 0);
    put(UINT32_MAX, 6, 0);
    EQUAL(ring.last, 3);
    EQUAL(find(UINT32_MAX, &context), FD_LAUNCH_FOUND);
    EQUAL(context, 6);
    EQUAL(find(3, &context), FD_LAUNCH_FOUND);
    EQUAL(find(1, &context), FD_LAUNCH_UNKNOWN);
    EQUAL(find(4, &context), FD_LAUNCH_OUTSIDE);
    EQUAL(find(UINT32_MAX - 3, &context), FD_LAUNCH_OUTSIDE);
}

/* An overwritten launch is not expected any more: its kernel has no path. */
TEST(old_launches_are_overwritten)
{
    uint32_t context;
    fd_launches_begin(&ring, false);
    ring.overwritten = 0;
    ring.written = 0;
    ring.seen = 0;
    for (uint32_t i = 1; i <= FD_LAUNCHES + 2; i++) {
        put(i, 9, 0);
    }
    EQUAL(ring.overwritten, 2);
    EQUAL(fd_launches_pending(&ring), FD_LAUNCHES);
    EQUAL(find(2, &context), FD_LAUNCH_UNKNOWN);
    EQUAL(find(3, &context), FD_LAUNCH_FOUND);
    put(FD_LAUNCHES + 3, 9, 0);
    EQUAL(ring.overwritten, 2);
}

/* Launches are seen up to the oldest one that is still expected. */
TEST(knows_what_was_seen)
{
    uint32_t context;
    fd_launches_begin(&ring, false);
    EQUAL(fd_launches_seen_until(&ring, 5000, 100), 5000);
    put(500, 5, 4000);
    put(502, 5, 4010);
    put(503, 5, 4020);
    find(502, &context);
    EQUAL(fd_launches_seen_until(&ring, 4050, 100), 4000);
    find(500, &context);
    EQUAL(fd_launches_seen_until(&ring, 4050, 100), 4020);
    EQUAL(fd_launches_seen_until(&ring, 4010, 100), 4010);
    put(505, 5, 4200);
    EQUAL(fd_launches_seen_until(&ring, 4200, 100), 4200); /* 503 never runs */
    EQUAL(fd_launches_seen_until(&ring, 4250, 100), 4200);
    find(505, &context);
    EQUAL(fd_launches_seen_until(&ring, 4250, 100), 4250);
}

enum { TURNS = 1000000, IDS = 65536 };

/* Launches of one slot; ids wrap every IDS turns. */
static void *
put_in_one_slot(void *unused)
{
    for (uint32_t i = 1; i <= TURNS; i++) {
        put(i * FD_LAUNCHES + 1, i % IDS, i);
    }
    return unused;
}

/* A search beside the writing thread finds a launch as it was written, or
 * not. */
TEST(no_launch_is_mixed_with_the_next)
{
    pthread_t writer;
    uint32_t context;
    fd_launches_begin(&ring, false);
    CHECK(pthread_create(&writer, NULL, put_in_one_slot, NULL) == 0);
    for (uint32_t i = 1; i <= TURNS; i++) {
        uint32_t written = (atomic_load(&ring.last) - 1) / FD_LAUNCHES;
        if (find(written * FD_LAUNCHES + 1, &context) == FD_LAUNCH_FOUND) {
            EQUAL(context, written);
        }
    }
    pthread_join(writer, NULL);
    EQUAL(find((uint32_t)TURNS * FD_LAUNCHES + 1, &context), FD_LAUNCH_FOUND);
    EQUAL(context, TURNS % IDS);
}
