#include "models.h"

#include "pipeline/cuts/antichain_states.h"

#include <math.h>

#define ONE FIGURES(1, 2, 4, 8)
#define DIAMOND \
    NODE("a", ONE) \
    NODE("b", ONE) \
    NODE("c", FIGURES(5, 5, 16, 8)) \
    NODE("d", ONE) "\ta -- b\n\ta -- c\n\tb -- d\n\tc -- d\n"

#define ALL(most) \
    ((fd_states_limits){.found = most, .kept = most, .cap = INFINITY})

static fd_status
states_of(fd_states *states, fd_arena *arena, const char *text,
          fd_states_limits limits)
{
    MODEL(model, text);
    fd_layers layers;
    fd_layers_make(&layers, arena, &model);
    return fd_states_make(states, arena, &model, &layers, &limits);
}

#define NO_STATES(states, arena) \
    ARENA(arena); \
    ENTER(&arena); \
    fd_states states = {.count = 0}

TEST(sets_of_a_diamond)
{
    NO_STATES(states, arena);
    OK(states_of(&states, &arena, DIAMOND, ALL(100)));
    CHECK(states.complete);
    EQUAL(states.count, 5);
    const uint64_t expected[] = {1, 3, 5, 7, 15};
    for (uint32_t i = 0; i < 5; i++) {
        EQUAL(states.sets[i], expected[i]);
    }
    EQUAL(states.parameters[4], 32);
    CHECK(states.times[4] > 0.0189 && states.times[4] < 0.0191);
    FIELDS(&states, (by_time[1], 1), (by_time[2], 2));
    /* Behind a and b still a goes on to c; behind a, b and c it does not. */
    FIELDS(&states, (cuts[1], 8), (cuts[3], 20), (wide_cuts[3], 24));
    CHECK(states.least_times[2] > 0.0099 && states.least_times[2] < 0.0101);
}

TEST(later_sources_are_added_with_their_targets)
{
    NO_STATES(states, arena);
    OK(states_of(&states, &arena,
                 NODE("n1", ONE) NODE("n2", ONE) NODE("n3", ONE)
                     NODE("n9", ONE) "\tn1 -- n3\n\tn2 -- n3\n",
                 ALL(100)));
    FIELDS(&states, (count, 3), (sets[0], 1), (sets[1], 7), (sets[2], 15));
    CHECK(states.least_times[1] > 0.0059);
}

TEST(more_states_than_the_limit)
{
    NO_STATES(states, arena);
    STATUS(states_of(&states, &arena, DIAMOND, ALL(4)), FD_EFULL);
    EQUAL(states.count, 0);
}

/* a, ab, ac, abc take 3, 6, 13 and 16 of 19 ms: on two machines of 13 ms the
 * cut is behind 6 to 13. */
TEST(only_possible_cuts)
{
    NO_STATES(states, arena);
    OK(states_of(
        &states, &arena, DIAMOND,
        (fd_states_limits){
            .found = 100, .kept = 3, .few = 4, .cap = 0.013, .machines = 2}));
    CHECK(states.complete);
    FIELDS(&states, (found, 5), (count, 3));
    CHECK(states.waists[2] && !states.waists[0]);
    FIELDS(&states, (sets[0], 3), (sets[1], 5), (sets[2], 15));
}

/* Two chains, a, ab, abc and abcd (3, 6, 16 and 19 ms), and a, ac, ... with
 * fewer bytes at its cuts: of each one state per third of the time, and the last one. */
TEST(chains_thinned_out)
{
    NO_STATES(states, arena);
    static const uint32_t counts[] = {0, 3, 4, 4, 5, 5, 5, 5, 5};
    for (uint32_t most = 1; most <= 8; most++) {
        fd_states_limits limits = {.chain = most};
        OK(states_of(&states, &arena,
                     NODE("a", ONE) NODE("b", ONE)
                         NODE("c", FIGURES(5, 5, 2, 8))
                             NODE("d", ONE) "\ta -- b\n\ta -- c\n\tb -- d\n"
                                            "\tc -- d\n",
                     limits));
        CHECK(!states.complete);
        FIELDS(&states, (count, counts[most]), (sets[0], 1),
               (sets[states.count - 1], 15),
               (by_time[states.count - 1], states.count - 1));
    }
}
