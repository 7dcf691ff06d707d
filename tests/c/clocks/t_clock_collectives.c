#include "check.h"

#include "clocks/clock_collectives.h"

#include <math.h>

enum { RANKS = 4, COUNT = 100, MANY = 500, GROUPS = 2 };

/* The same numbers on every machine. */
static double
uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double
exponential(uint64_t *state, double mean)
{
    return -mean * log(1 - uniform(state));
}

/* The clock of a rank as a function of true time. */
typedef struct skew {
    double offset;
    double drift;
} skew;

static int64_t
shown(const skew *s, double time)
{
    return (int64_t)llrint(time + s->offset + s->drift * time);
}

/* 20 to 200 us, most of them short. */
static double
delay(uint64_t *state, bool evenly)
{
    if (evenly) {
        return 1000 * (20 + 180 * uniform(state));
    }
    double us = 20 + exponential(state, 45);
    return 1000 * (us > 200 ? 200 : us);
}

typedef struct scene {
    skew skews[RANKS];
    fd_clock_part parts[RANKS * MANY * GROUPS];
    size_t count;
    bool evenly; /* delays */
    uint64_t collectives;
} scene;

/* Each rank arrives at each collective of the group at its own time. */
static void
perform(scene *s, uint32_t from, uint32_t to, uint64_t kind, double late,
        uint64_t *state)
{
    double now = 5e9;
    for (uint64_t k = 0; k < s->collectives; k++) {
        double begin[RANKS];
        double last = 0;
        now += 2e9 * COUNT / (double)s->collectives * uniform(state);
        for (uint32_t r = from; r < to; r++) {
            begin[r] =
                now + exponential(state, 500e3) + (r == from + 1 ? late : 0);
            last = begin[r] > last ? begin[r] : last;
        }
        for (uint32_t r = from; r < to; r++) {
            s->parts[s->count++] = (fd_clock_part){
                .kind = kind,
                .order = k,
                .total = s->collectives,
                .member = r,
                .begin = shown(&s->skews[r], begin[r]),
                .end = shown(&s->skews[r], last + delay(state, s->evenly))};
        }
    }
}

static void
skew_clocks(scene *s, uint64_t *state)
{
    s->count = 0;
    s->evenly = false;
    s->collectives = COUNT;
    for (uint32_t r = 0; r < RANKS; r++) {
        s->skews[r] = (skew){r == 0 ? 0 : (uniform(state) - 0.5) * 2e10,
                             r == 0 ? 0 : (uniform(state) - 0.5) * 2e-4};
    }
}

/* The error in ns, in the middle of the recording. */
static double
error_of(const scene *s, const fd_clock_member *member, uint32_t rank)
{
    double time = ((double)member->fit.map.at_ns - s->skews[rank].offset)
                / (1 + s->skews[rank].drift);
    int64_t own = shown(&s->skews[rank], time);
    return fabs((double)fd_clock_apply(&member->fit.map, own) - time);
}

#define SCENE(s, members, state, seed) \
    uint64_t state = seed; \
    scene s; \
    fd_clock_member members[RANKS]; \
    skew_clocks(&s, &state)

/* The maximum error over seeds; rank 1 is `late` ns late everywhere. */
static fd_status
worst_of(uint64_t seeds, double late, bool evenly, double *worst,
         uint64_t *violations)
{
    *worst = 0;
    *violations = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        SCENE(s, members, state, seed);
        s.evenly = evenly;
        s.collectives = evenly ? MANY : COUNT;
        perform(&s, 0, RANKS, 7, late, &state);
        fd_status status =
            fd_clock_fit_collectives(s.parts, s.count, 0, members, RANKS);
        if (status != FD_OK) {
            return status;
        }
        for (uint32_t r = 0; r < RANKS; r++) {
            double error = error_of(&s, &members[r], r);
            *worst = error > *worst ? error : *worst;
            *violations += members[r].violations;
        }
    }
    return FD_OK;
}

#define WITHIN_5_US(seeds, late, evenly) \
    double worst; \
    uint64_t violations; \
    OK(worst_of(seeds, late, evenly, &worst, &violations)); \
    CHECK(worst < 5000); \
    EQUAL(violations, 0)

/* Offsets of up to 10 s, drifts of up to 100 ppm, delays of 20 to 200 us. */
static void
within_5_us(void)
{
    WITHIN_5_US(10, 0, false);
}

/* Evenly distributed delays, which need more collectives. */
static void
within_5_us_of_any_delay(void)
{
    WITHIN_5_US(60, 0, true);
}

/* A straggler: the middle of the feasible interval would be 2.5 ms off. */
static void
a_straggler(void)
{
    WITHIN_5_US(10, 5e6, false);
}

static void
stated_errors_hold(void)
{
    SCENE(s, members, state, 3);
    perform(&s, 0, RANKS, 7, 0, &state);
    OK(fd_clock_fit_collectives(s.parts, s.count, 0, members, RANKS));
    for (uint32_t r = 1; r < RANKS; r++) {
        CHECK(members[r].found && members[r].used > 90);
        CHECK(error_of(&s, &members[r], r)
              <= (double)members[r].fit.uncertainty_ns);
        CHECK(members[r].fit.uncertainty_ns < 50000);
    }
    EQUAL(members[0].fit.uncertainty_ns, 0);
    EQUAL(members[0].fit.map.offset_ns, 0);
}

/* Groups of 0 and 1, and of 1 to 3. */
static void
through_other_members(void)
{
    SCENE(s, members, state, 5);
    perform(&s, 0, 2, 7, 0, &state);
    perform(&s, 1, 4, 8, 0, &state);
    OK(fd_clock_fit_collectives(s.parts, s.count, 0, members, RANKS));
    for (uint32_t r = 1; r < RANKS; r++) {
        CHECK(members[r].found);
        CHECK(error_of(&s, &members[r], r) < 10000);
    }
    CHECK(members[3].fit.uncertainty_ns > members[1].fit.uncertainty_ns);
}

/* Groups without a name look alike: one of 0 and 1, another of 2 and 3. */
static void
groups_that_look_alike(void)
{
    SCENE(s, members, state, 6);
    perform(&s, 0, 2, 7, 0, &state);
    perform(&s, 2, 4, 7, 0, &state);
    OK(fd_clock_fit_collectives(s.parts, s.count, 0, members, RANKS));
    CHECK(members[1].found && !members[2].found && !members[3].found);
}

static void
nothing_in_common(void)
{
    SCENE(s, members, state, 7);
    perform(&s, 0, 2, 7, 0, &state);
    for (size_t i = 0; i < s.count; i++) {
        s.parts[i].total -= s.parts[i].member; /* one recorded fewer */
    }
    OK(fd_clock_fit_collectives(s.parts, s.count, 0, members, RANKS));
    CHECK(members[0].found && !members[1].found && !members[3].found);
    OK(fd_clock_fit_collectives(s.parts, 0, 0, members, RANKS));
    CHECK(!members[1].found);
    OK(fd_clock_fit_collectives(s.parts, 8, 0, members, RANKS));
    CHECK(!members[1].found);
}

RUN(TEST(within_5_us), ONCE(within_5_us_of_any_delay), TEST(a_straggler),
    TEST(stated_errors_hold), TEST(through_other_members),
    TEST(groups_that_look_alike), TEST(nothing_in_common))
