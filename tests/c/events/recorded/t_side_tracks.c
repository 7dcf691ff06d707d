#include "check.h"
#include "fixtures.h"

#include "events/recorded/side_tracks.h"

static void
clear_slices(fd_phase_slices *slices)
{
    fd_vector_clear(slices);
}

static void
clear_values(fd_counter_values *values)
{
    fd_vector_clear(values);
}

#define NEW_RANK(trace, rank) \
    NEW_TRACE(trace); \
    fd_trace_rank *rank = fd_trace_add_rank(trace); \
    OK(rank != NULL ? FD_OK : FD_ENOMEM)

/* End to end within their step, in the order of a step; a step that was only
 * "other" has no phase. */
static void
phases_within_their_steps(void)
{
    NEW_RANK(trace, rank);
    CLEAN(clear_slices) fd_phase_slices slices = {NULL, 0, 0};
    fd_trace_step whole = {.begin = 100, .end = 160};
    whole.phases[FD_PHASE_FORWARD] = 20;
    whole.phases[FD_PHASE_BACKWARD] = 30;
    whole.phases[FD_PHASE_OTHER] = 11; /* a nanosecond too much */
    fd_trace_step plain = {.begin = 160, .end = 170};
    plain.phases[FD_PHASE_OTHER] = 10;
    OK(fd_vector_push(&rank->latest, whole));
    OK(fd_vector_push(&rank->latest, plain));
    OK(fd_phase_slices_make(&slices, rank));
    EQUAL(slices.count, 3);
    static const struct {
        uint64_t start;
        uint64_t end;
        const char *name;
    } wanted[] = {
        {100, 120, "forward"}, {120, 150, "backward"}, {150, 160, "other"}};
    for (uint32_t i = 0; i < slices.count; i++) {
        EQUAL(slices.list[i].start, wanted[i].start);
        EQUAL(slices.list[i].end, wanted[i].end);
        SAME(slices.list[i].name, wanted[i].name);
    }
}

/* Up at the launch, down when the GPU has finished; simultaneous changes are one
 * value; one device after the other. */
static void
calls_in_flight(void)
{
    NEW_RANK(trace, rank);
    CLEAN(clear_values) fd_counter_values values = {NULL, 0, 0};
    OK(fd_counter_values_make(&values, FD_COUNTER_IN_FLIGHT, rank));
    EQUAL(values.count, 0);
    static const fd_trace_gpu_event events[] = {
        {.host = 20, .start = 40, .duration = 10, .device = 1},
        {.host = 10, .start = 12, .duration = 8},
        {.host = 15, .start = 20, .duration = 20},
        {.host = 20, .start = 50, .duration = 10},
    };
    for (int i = 0; i < 4; i++) {
        OK(fd_vector_push(&rank->gpu_events, events[i]));
    }
    OK(fd_counter_values_make(&values, FD_COUNTER_IN_FLIGHT, rank));
    static const fd_counter_value wanted[] = {
        {10, 0, 1}, {15, 0, 2}, {20, 0, 2}, {40, 0, 1},
        {60, 0, 0}, {20, 1, 1}, {50, 1, 0}};
    EQUAL(values.count, 7);
    for (uint32_t i = 0; i < values.count; i++) {
        EQUAL(values.list[i].time, wanted[i].time);
        EQUAL(values.list[i].of, wanted[i].of);
        EQUAL(values.list[i].value, wanted[i].value);
    }
    char name[FD_COUNTER_NAME];
    fd_counter_name(FD_COUNTER_IN_FLIGHT, NULL, NULL, 3, name);
    SAME(name, "GPU 3 marked calls in flight");
}

static void
lost_events_of_threads(void)
{
    NEW_RANK(trace, rank);
    CLEAN(clear_values) fd_counter_values values = {NULL, 0, 0};
    fd_trace_thread thread = {.events_lost = 0};
    OK(fd_vector_push(&rank->threads, thread));
    thread.events_lost = 7;
    OK(fixture_text(trace, "worker", &thread.role));
    OK(fd_vector_push(&rank->threads, thread));
    thread.events_lost = 9; /* and kept nothing */
    OK(fd_vector_push(&rank->threads, thread));
    OK(fd_vector_push(&rank->events, (fd_trace_event){5, 50, 0, 0, 0}));
    OK(fd_vector_push(&rank->events, (fd_trace_event){10, 20, 0, 1, 0}));
    OK(fd_counter_values_make(&values, FD_COUNTER_LOST, rank));
    EQUAL(values.count, 2);
    EQUAL(values.list[0].time, 30);
    EQUAL(values.list[0].of, 1);
    EQUAL(values.list[0].value, 7);
    EQUAL(values.list[1].time, 0);
    EQUAL(values.list[1].value, 9);
    char name[FD_COUNTER_NAME];
    fd_counter_name(FD_COUNTER_LOST, trace, rank, 1, name);
    SAME(name, "worker: events lost");
}

/* Sums count from the start of a step, levels from its end; a step in which a
 * figure is not measured has no value. */
static void
measured_figures_of_steps(void)
{
    NEW_RANK(trace, rank);
    OK(fd_vector_push(&rank->latest, (fd_trace_step){.begin = 100,
                                                     .end = 160,
                                                     .communicated = 1001,
                                                     .live = 65}));
    OK(fd_vector_push(&rank->latest,
                      (fd_trace_step){.begin = 160, .end = 200, .live = 33}));
    static const fd_counter_value wanted[] = {
        {100, 0, 1000}, {160, 0, 64}, {200, 0, 32}};
    uint32_t at = 0;
    for (int i = FD_COUNTER_COMMUNICATED; i < FD_COUNTER_KINDS; i++) {
        CLEAN(clear_values) fd_counter_values values = {NULL, 0, 0};
        OK(fd_counter_values_make(&values, (fd_counter)i, rank));
        EQUAL(values.count, i == FD_COUNTER_LIVE ? 2 : 1);
        for (uint32_t j = 0; j < values.count; j++, at++) {
            EQUAL(values.list[j].time, wanted[at].time);
            EQUAL(values.list[j].value, wanted[at].value);
        }
    }
    EQUAL(at, 3);
    char name[FD_COUNTER_NAME];
    fd_counter_name(FD_COUNTER_COMMUNICATED, trace, rank, 0, name);
    SAME(name, "Communicated bytes per step");
}

RUN(TEST(phases_within_their_steps), TEST(calls_in_flight),
    TEST(lost_events_of_threads), ABSORBS(measured_figures_of_steps))
