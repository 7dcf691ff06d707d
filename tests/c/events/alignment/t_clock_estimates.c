#include "check.h"

#include "events/alignment/clock_estimates.h"

enum { RANKS = 3, MESSAGES = 20 };

static void
clear_syncs(fd_timeline_sync (*syncs)[RANKS])
{
    for (int i = 0; i < RANKS; i++) {
        fd_timeline_sync_clear(&(*syncs)[i]);
    }
}

/* A pipeline 0 - 1 - 2: messages in both directions, 30 us on their way. Rank
 * r is r seconds ahead, and its trace counts from 100 r ns. */
static int64_t
shown(int rank, int64_t time)
{
    return time + rank * INT64_C(1000000000);
}

static fd_status
add_message(fd_timeline_sync *syncs, int from, int to, int64_t time)
{
    fd_timeline_message sent = {
        .peer = (uint32_t)to, .tag = 5, .time = shown(from, time)};
    fd_timeline_message got = {.peer = (uint32_t)from,
                               .received = true,
                               .tag = 5,
                               .time = shown(to, time + 30000)};
    fd_status status = fd_vector_push(&syncs[from].messages, sent);
    return status == FD_OK ? fd_vector_push(&syncs[to].messages, got) : status;
}

static fd_status
add_pings(fd_timeline_sync *syncs, int from, int to)
{
    fd_status status = FD_OK;
    for (int64_t i = 0; i < 8 && status == FD_OK; i++) {
        int64_t at = i * 20000000000;
        fd_timeline_ping ping = {(uint32_t)to,
                                 {shown(from, at) + 100 * from,
                                  shown(to, at + 9000) + 100 * to,
                                  shown(from, at + 20000) + 100 * from}};
        status = fd_vector_push(&syncs[from].pings, ping);
    }
    syncs[from].has_boot = syncs[to].has_boot = true;
    syncs[from].boottime_ns = 100 * from;
    syncs[to].boottime_ns = 100 * to;
    return status;
}

static fd_status
estimate(fd_timeline_sync *syncs, fd_timeline_estimates *e, uint32_t reference)
{
    fd_estimate_input *inputs = fd_calloc(RANKS, sizeof *inputs);
    fd_status status = inputs == NULL ? FD_ENOMEM : FD_OK;
    for (uint32_t i = 0; i < RANKS && status == FD_OK; i++) {
        inputs[i] = (fd_estimate_input){i, &syncs[i]};
        status = fd_timeline_sync_settle(&syncs[i], 1000);
    }
    if (status != FD_OK) {
        fd_free(inputs);
        return status;
    }
    return fd_timeline_estimates_make(e, inputs, RANKS, reference);
}

static bool
is_near(const fd_timeline_estimate *e, int64_t offset, int64_t most)
{
    int64_t error = e->fit.map.offset_ns - offset;
    return e->found && error <= most && error >= -most
        && e->fit.uncertainty_ns >= (error < 0 ? -error : error);
}

static void
by_messages(void)
{
    CLEAN(clear_syncs) fd_timeline_sync syncs[RANKS] = {{.has_boot = false}};
    CLEAN(fd_timeline_estimates_clear) fd_timeline_estimates e = {.count = 0};
    fd_clock_map maps[RANKS] = {{.offset_ns = 0}};
    uint64_t found[RANKS];
    for (int i = 0; i < MESSAGES; i++) {
        for (int r = 0; r + 1 < RANKS; r++) {
            OK(add_message(syncs, r, r + 1, i * 100000000));
            OK(add_message(syncs, r + 1, r, i * 100000000 + 50000000));
        }
    }
    OK(estimate(syncs, &e, 0));
    fd_timeline_violations(&e, maps, found);
    EQUAL(found[0], MESSAGES);
    for (int r = 0; r < RANKS; r++) {
        CHECK(
            is_near(&e.of[FD_METHOD_P2P][r], -r * INT64_C(1000000000), 1000));
        CHECK(!e.of[FD_METHOD_COLLECTIVE][r].found == (r > 0));
        maps[r] = e.of[FD_METHOD_P2P][r].fit.map;
    }
    fd_timeline_violations(&e, maps, found);
    EQUAL(found[0] + found[1] + found[2], 0);
}

/* Pings in both directions: 1 pinged 0, 1 pinged 2. */
static void
by_pings(void)
{
    CLEAN(clear_syncs) fd_timeline_sync syncs[RANKS] = {{.has_boot = false}};
    CLEAN(fd_timeline_estimates_clear) fd_timeline_estimates e = {.count = 0};
    OK(add_pings(syncs, 1, 0));
    OK(add_pings(syncs, 1, 2));
    OK(estimate(syncs, &e, 0));
    for (int r = 0; r < RANKS; r++) {
        CHECK(is_near(&e.of[FD_METHOD_PINGPONG][r], -r * INT64_C(1000000000),
                      2000));
    }
    EQUAL(e.of[FD_METHOD_PINGPONG][1].fit.uncertainty_ns, 10000);
    EQUAL(e.of[FD_METHOD_PINGPONG][2].fit.uncertainty_ns, 20000);
    CHECK(!e.of[FD_METHOD_P2P][1].found);
}

RUN(TEST(by_messages), TEST(by_pings))
