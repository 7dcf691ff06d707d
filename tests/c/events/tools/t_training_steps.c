#include "check.h"

#include "events/tools/training_steps.h"

/* Clear the steps of a test. */
static void
clear(fd_timeline_step_list *steps)
{
    fd_vector_clear(steps);
}

static fd_status
add(fd_timeline_step_list *steps, int64_t number, int64_t start, int64_t end)
{
    return fd_vector_push(
        steps,
        ((fd_timeline_step){.number = number, .start = start, .end = end}));
}

static void
steps_become_disjoint(void)
{
    CLEAN(clear) fd_timeline_step_list steps = {.count = 0};
    OK(add(&steps, 3, 30, 45));
    OK(add(&steps, 1, 5, 22)); /* a copy on another thread */
    OK(add(&steps, 1, 0, 20));
    OK(add(&steps, 2, 20, 30));
    OK(add(&steps, 1, 40, 50)); /* another step 1 */
    fd_timeline_steps_tidy(&steps);
    EQUAL(steps.count, 4);
    EQUAL(steps.list[0].end, 20);
    EQUAL(steps.list[2].end, 40);
    EQUAL(steps.list[3].number, 1);
}

#define RANGE(of, is, ...) \
    (fd_timeline_range) \
    { \
        .name = (of), .optimizer = (is), .number = __VA_ARGS__ \
    }

/* Names: 1 an inner range, 2 a range around it, 3 and 4 optimizers, 5 ranges
 * far apart. */
static void
steps_from_ranges(void)
{
    static const struct {
        uint32_t most; /* names up to this one */
        uint32_t name; /* 0: none */
        uint32_t count;
        int64_t number; /* of the last step ... */
        int64_t start;
        int64_t end;
    } cases[] = {{1, 1, 3, 2, 210, 290},
                 {2, 2, 3, 12, 200, 300},
                 {3, 3, 6, 5, 270, 290},
                 {4, 4, 3, 2, 199, 299},
                 {5, 0, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(clear) fd_timeline_step_list steps = {.count = 0};
        const fd_timeline_range *chosen;
        fd_timeline_range list[32];
        uint32_t count = 0;
        for (int64_t at = 0; at < 300; at += 100) {
            const fd_timeline_range all[] = {
                RANGE(1, false, -1, .start = at + 10, .end = at + 90),
                RANGE(2, false, at / 100 + 10, .start = at, .end = at + 100),
                RANGE(3, true, -1, .start = at + 60, .end = at + 70),
                RANGE(3, true, -1, .start = at + 80, .end = at + 90),
                RANGE(4, true, -1, .start = at + 95, .end = at + 99),
                RANGE(5, false, -1, .start = at, .end = at + 50)};
            for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
                bool wanted = cases[i].most == 5
                                ? all[k].name == 5
                                : all[k].name <= cases[i].most;
                if (wanted) {
                    list[count++] = all[k];
                }
            }
        }
        fd_timeline_ranges_sort(list, count);
        OK(fd_timeline_steps_from_ranges(list, count, -7, &steps, &chosen));
        EQUAL(chosen != NULL ? chosen->name : 0, cases[i].name);
        EQUAL(steps.count, cases[i].count);
        if (steps.count > 0) {
            const fd_timeline_step *last = &steps.list[steps.count - 1];
            EQUAL(last->number, cases[i].number);
            EQUAL(last->start, cases[i].start);
            EQUAL(last->end, cases[i].end);
            EQUAL(steps.list[0].start, chosen->optimizer ? -7 : chosen->start);
        }
    }
}

RUN(TEST(steps_become_disjoint), TEST(steps_from_ranges))
