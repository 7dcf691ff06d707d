#include "check.h"
#include "recording/steps/step_rounds.h"

/* Play calls of optimizers: a letter is an optimizer, at the place of the same
 * letter, '.' a backward pass. Return the letters after which a step ended. */
static const char *
played(fd_rounds *rounds, const char *calls)
{
    static char ends[512];
    size_t count = 0;
    for (; *calls != '\0'; calls++) {
        if (*calls == '.') {
            fd_rounds_backward(rounds);
            continue;
        }
        fd_rounds_called(rounds, (uint64_t)*calls, (uint32_t)(*calls - 'a'));
        if (fd_rounds_returned(rounds, (uint64_t)*calls)) {
            ends[count++] = *calls;
        }
    }
    ends[count] = '\0';
    return ends;
}

ABSORBS(optimizers_decide)
{
    static const struct {
        const char *calls, *ends;
        uint64_t unclear;
    } cases[] = {
        {".a.a.a", "aaa", 0},
        {"aaa", "aaa", 0},           /* no backward pass ever */
        {".aa.aa", "aa", 0},         /* parameter groups one by one */
        {".ab.ab.ab.ab", "aabb", 0}, /* the last one ends a step, from the
                                        third round on */
        {".a.b.a.b.a.b.a.b", "aabb", 0},
        {".abc.bac.abc.abc.abc", "abacc", 0},
        {".a.a.ab.a.a.ab.a", "aaaaaaa", 0},  /* sometimes another one */
        {".ab.ab.ab.ab.a.a.a", "aabbaa", 1}, /* the last one is gone */
        {".a.a.a.b.b.b", "aaabbb", 0},       /* one after the other */
        {".a.b.a.a.b.a.a.b.a", "aaaaaa", 4}, /* which are one step? */
        {".a.b.c.d", "a", 3},                /* one step, or four? */
        {".a.b.c.d.a.b.c.d", "aa", 0},
        {".a.a..a.a...a", "aaaaa", 2},    /* skipped updates */
        {"..a..a.a..a....a", "aaaaa", 1}, /* accumulated, a rest; skipped */
        {".a..b.a..b.a..b", "aab", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
        SAME(played(&rounds, cases[i].calls), cases[i].ends);
        EQUAL(fd_rounds_unclear(&rounds), cases[i].unclear);
    }
}

/* Relate a and b. */
static bool
relate(fd_rounds *rounds, fd_site_relation forward, fd_site_relation back,
       fd_site_relation itself)
{
    const uint8_t relations[] = {(uint8_t)itself, (uint8_t)forward,
                                 (uint8_t)back, FD_SITES_UNKNOWN};
    return fd_rounds_relate(rounds, 'b', 2, relations);
}

ABSORBS(places_decide)
{
    static const struct {
        fd_site_relation forward, back, itself;
        const char *calls, *ends;
        uint64_t unclear;
    } cases[] = {
        {FD_SITES_NEXT, FD_SITES_NEXT, FD_SITES_UNKNOWN, ".a.b.a.a.b", "abaab",
         0},
        {FD_SITES_SAME, FD_SITES_NEXT, FD_SITES_NESTED, ".a.a.b.a.a.b.a.a.b",
         "aab", 0},
        {FD_SITES_UNCLEAR, FD_SITES_UNCLEAR, FD_SITES_UNKNOWN,
         ".a.a.b.b.a.a.b.b", "aabbaabb", 3},
        {FD_SITES_UNCLEAR, FD_SITES_UNCLEAR, FD_SITES_UNKNOWN, ".a.b.a.b",
         "aa", 0},
        {FD_SITES_NEXT, FD_SITES_NEXT, FD_SITES_NEXT, ".a.a.b.b.a.b.b",
         "aabbabb", 0},
        {FD_SITES_NEXT, FD_SITES_NEXT, FD_SITES_INDIRECT, ".a.a.a.b.a.b.a",
         "aaababa", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
        CHECK(!relate(&rounds, cases[i].forward, cases[i].back,
                      FD_SITES_UNKNOWN));
        rounds.callers[1] = 'b';
        rounds.relations[0][0] = (uint8_t)cases[i].itself;
        SAME(played(&rounds, cases[i].calls), cases[i].ends);
        EQUAL(rounds.unclear, cases[i].unclear);
    }
}

/* A place in an inner loop is known when another optimizer is called outside
 * of that. The steps before it were wrong. */
ABSORBS(an_inner_loop)
{
    CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
    SAME(played(&rounds, ".a.a.a"), "aaa");
    fd_rounds_backward(&rounds);
    CHECK(relate(&rounds, FD_SITES_SAME, FD_SITES_NEXT, FD_SITES_NESTED));
    CHECK(!relate(&rounds, FD_SITES_SAME, FD_SITES_NEXT, FD_SITES_NESTED));
    SAME(played(&rounds, ".b.a.a.a.b.a.a.a.b"), "bbb");
    FIELDS(&rounds, (unclear, 0), (optimizers, 2));
    /* So many calls may not be a part of an iteration, nor are those after
     * them clear. */
    SAME(played(&rounds, ".a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a"), "aaa");
    EQUAL(rounds.unclear, 4);
    CHECK(!relate(&rounds, FD_SITES_SAME, FD_SITES_NEXT, FD_SITES_NESTED));
    SAME(played(&rounds, ".b.a.a.a"), "aaa");
    EQUAL(rounds.unclear, 6);
}

/* The optimizer `a` runs backward passes itself. */
ABSORBS(closures)
{
    CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
    uint32_t ends = 0;
    CHECK(!relate(&rounds, FD_SITES_SAME, FD_SITES_NEXT, FD_SITES_UNKNOWN));
    for (int i = 0; i < 5; i++) {
        fd_rounds_called(&rounds, 'a', 0);
        fd_rounds_backward(&rounds);
        ends += fd_rounds_returned(&rounds, 'a');
        fd_rounds_backward(&rounds);
        fd_rounds_called(&rounds, 'b', 1);
        ends += fd_rounds_returned(&rounds, 'b');
    }
    EQUAL(ends, 5);
    EQUAL(rounds.unclear, 0);
}

/* A loop that makes an optimizer for each iteration. */
ABSORBS(new_optimizers)
{
    CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
    uint32_t ends = 0;
    for (uint64_t i = 1; i <= 200; i++) {
        fd_rounds_backward(&rounds);
        fd_rounds_called(&rounds, i, 0);
        ends += fd_rounds_returned(&rounds, i);
    }
    CHECK(ends > 130);
    CHECK(rounds.unclear > 130);
}

/* Each task has a new optimizer, which is called three times. */
ABSORBS(replaced_optimizers)
{
    CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
    for (uint64_t i = 0; i < 60; i++) {
        EQUAL(rounds.unclear, i > 27 ? (i - 25) / 3 * 3 : 0);
        fd_rounds_backward(&rounds);
        fd_rounds_called(&rounds, 1 + i / 3, 0);
        fd_rounds_returned(&rounds, 1 + i / 3);
    }
}

/* Two optimizers in turn at one place: in a loop that is not of the program,
 * or each in its own iteration? */
ABSORBS(an_indirect_place)
{
    static const uint8_t itself[] = {FD_SITES_INDIRECT};
    CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
    for (uint64_t i = 0; i < 20; i++) {
        fd_rounds_backward(&rounds);
        CHECK(!fd_rounds_relate(&rounds, 1 + i % 2, 1, itself));
        fd_rounds_called(&rounds, 1 + i % 2, 0);
        fd_rounds_returned(&rounds, 1 + i % 2);
    }
    EQUAL(rounds.unclear, 10);
}

/* Play calls at one place, with a pause before some of them. Return the number
 * of those that may be parts of iterations. */
static uint32_t
paused(fd_site_relation itself, const uint32_t *groups, uint64_t pause)
{
    uint8_t relation = (uint8_t)itself;
    CLEAN(fd_rounds_clear) fd_rounds rounds = {.round = 0};
    uint32_t grouped = 0;
    uint64_t tick = 1;
    for (; *groups != 0; groups++) {
        tick += pause;
        for (uint32_t i = 0; i < *groups; i++) {
            tick += 100 + i % 3;
            fd_rounds_backward(&rounds);
            fd_rounds_relate(&rounds, 1, 1, &relation);
            fd_rounds_called(&rounds, 1, 0);
            grouped += fd_rounds_timed(&rounds, tick);
        }
    }
    return grouped;
}

ABSORBS(groups_with_pauses)
{
    static const uint32_t equal[] = {4, 4, 4, 4, 4, 4, 0};
    static const uint32_t large[] = {40, 40, 40, 40, 40, 40, 0};
    static const uint32_t noise[] = {4, 1, 3, 4, 4, 4, 2, 2, 4, 0};
    static const uint32_t other[] = {4, 5, 4, 5, 6, 4, 4, 7, 0};
    static const uint32_t single[] = {1, 1, 1, 1, 1, 1, 1, 1, 0};
    EQUAL(paused(FD_SITES_INNER, equal, 500), 2 * 4);
    EQUAL(paused(FD_SITES_INNER, large, 800), 2 * 40);
    EQUAL(paused(FD_SITES_INNER, large, 300), 0); /* a small part */
    EQUAL(paused(FD_SITES_INNER, noise, 500), 3 * 4);
    EQUAL(paused(FD_SITES_INNER, other, 500), 0);
    EQUAL(paused(FD_SITES_INNER, single, 500), 0);
    EQUAL(paused(FD_SITES_NEXT, equal, 500), 0);
}
