#include "check.h"
#include "timelines.h"

#include "events/stats/step_index.h"

/* The step of an event's text, -1 without. */
static int64_t
step_of(const char *text, int64_t *begin, int64_t *end)
{
    fd_timeline_event event;
    uint64_t number = 0;
    bool is_step = fixture_event(text, &event) == FD_OK
                && fd_timeline_is_step(&event, &number, begin, end);
    return is_step ? (int64_t)number : -1;
}

static void
known_steps(void)
{
    static const struct {
        const char *text;
        int64_t step;
    } cases[] = {
        {"{\"ph\":\"X\",\"name\":\"ProfilerStep#12\",\"ts\":1.5,\"dur\":2}",
         12},
        {"{\"ph\":\"X\",\"name\":\"ProfilerStep#12 (2 us)\",\"ts\":\"1.5\","
         "\"dur\":2}",
         12},
        {"{\"ph\":\"X\",\"name\":\"step 7\",\"cat\":\"step\",\"ts\":1.5,"
         "\"dur\":2}",
         7},
        {"{\"ph\":\"X\",\"name\":\"step 7 (2 "
         "us)\",\"cat\":\"step\",\"ts\":1.5,"
         "\"dur\":2}",
         7},
        {"{\"ph\":\"X\",\"name\":\"step "
         "7\",\"cat\":\"op\",\"ts\":1.5,\"dur\":2}",
         -1},
        {"{\"ph\":\"X\",\"name\":\"ProfilerStep#*\",\"ts\":1.5,\"dur\":2}",
         -1},
        {"{\"ph\":\"X\",\"name\":\"ProfilerStep#1x\",\"ts\":1.5,\"dur\":2}",
         -1},
        {"{\"ph\":\"X\",\"name\":\"ProfilerStep#12\",\"ts\":1.5}", -1},
        {"{\"ph\":\"X\",\"name\":\"ProfilerStep#12\",\"ts\":1.5,\"dur\":-2}",
         -1},
        {"{\"ph\":\"B\",\"name\":\"ProfilerStep#12\",\"ts\":1.5,\"dur\":2}",
         -1},
        {"{\"ph\":\"X\",\"ts\":1.5,\"dur\":2}", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t begin = 0;
        int64_t end = 0;
        EQUAL(step_of(cases[i].text, &begin, &end), cases[i].step);
        if (cases[i].step >= 0) {
            EQUAL(begin, 1500);
            EQUAL(end, 3500);
        }
    }
}

RUN(TEST(known_steps))
