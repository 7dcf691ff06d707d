#include "check.h"
#include "timelines.h"

#include "events/recorded/chrome_tracks.h"

/* Print the phases and the counters of the only rank, whose time 0 is 1000. */
static fd_status
print_tracks(fd_trace *trace, fd_buffer *to)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL};
    fd_chrome_tracks tracks = {
        trace, &trace->ranks.list[0], {.offset_ns = 1000}, &batch, 77, 5};
    fd_chrome_phases(&tracks);
    if (fd_arena_caught(&arena, NULL)) {
        return arena.status;
    }
    fd_chrome_counters counters = fd_chrome_counters_make(tracks.rank, &arena);
    while (fd_chrome_counters_next(&counters, &tracks)) {
    }
    fd_status status = batch.status;
    fixture_print(&batch, to);
    return fd_then(status, to->status);
}

#define NEW_RANK(trace, rank) \
    NEW_TRACE(trace); \
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}; \
    fd_trace_rank *rank = fd_trace_add_rank(trace); \
    OK(rank != NULL ? FD_OK : FD_ENOMEM)

/* End to end within their step, in the order of a step; a step that was only
 * "other" has no phase. */
ABSORBS(phases_within_their_steps)
{
    NEW_RANK(trace, rank);
    fd_trace_step whole = {.begin = 100, .end = 160};
    whole.phases[FD_PHASE_FORWARD] = 20;
    whole.phases[FD_PHASE_BACKWARD] = 30;
    whole.phases[FD_PHASE_OTHER] = 11; /* a nanosecond too much */
    fd_trace_step plain = {.begin = 160, .end = 170};
    plain.phases[FD_PHASE_OTHER] = 10;
    OK(fd_vector_push(&rank->latest, plain));
    OK(print_tracks(trace, &to));
    EQUAL(to.size, 0);
    OK(fd_vector_push(&rank->latest, whole));
    OK(print_tracks(trace, &to));
#define PHASE(ts, dur, name) \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":77,\"ts\":" ts ",\"dur\":" dur \
    ",\"name\":\"phase: " name "\",\"cat\":\"phase\"}\n"
    WRITTEN(
        &to,
        "{\"ph\":\"M\",\"pid\":1,\"tid\":77,\"name\":\"thread_name\","
        "\"args\":{\"name\":\"Time by phase\"}}\n"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":77,\"name\":\"thread_sort_index\","
        "\"args\":{\"sort_index\":5}}\n" PHASE("1.100", "0.020", "forward")
            PHASE("1.120", "0.030", "backward")
                PHASE("1.150", "0.010", "other"));
}

#define VALUE(ts, name, value) \
    "{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":" ts ",\"name\":\"" name \
    "\",\"args\":{\"value\":" value "}}\n"
#define FLIGHT(ts, gpu, value) \
    VALUE(ts, "GPU " gpu " marked calls in flight", value)

/* Up at the launch, down when the GPU has finished; simultaneous changes are one
 * value; one device after the other. */
ABSORBS(calls_in_flight)
{
    NEW_RANK(trace, rank);
    static const fd_trace_gpu_event events[] = {
        {.host = 20, .start = 40, .duration = 10, .device = 1},
        {.host = 10, .start = 12, .duration = 8},
        {.host = 15, .start = 20, .duration = 20},
        {.host = 20, .start = 50, .duration = 10},
    };
    for (int i = 0; i < 4; i++) {
        OK(fd_vector_push(&rank->gpu_events, events[i]));
    }
    OK(print_tracks(trace, &to));
    WRITTEN(&to, FLIGHT("1.010", "0", "1") FLIGHT("1.015", "0", "2")
                     FLIGHT("1.020", "0", "2") FLIGHT("1.040", "0", "1")
                         FLIGHT("1.060", "0", "0") FLIGHT("1.020", "1", "1")
                             FLIGHT("1.050", "1", "0"));
}

/* Events that threads lost; sums from the start of a step, levels from its
 * end. A step in which a figure is not measured has no value. */
ABSORBS(losses_and_measured_figures)
{
    NEW_RANK(trace, rank);
    fd_trace_thread thread = {.events_lost = 0};
    OK(fd_vector_push(&rank->threads, thread));
    thread.events_lost = 7;
    OK(fixture_text(trace, "a \"b\"", &thread.role));
    OK(fd_vector_push(&rank->threads, thread));
    thread.events_lost = 9; /* and kept nothing */
    OK(fd_vector_push(&rank->threads, thread));
    OK(fd_vector_push(&rank->events, (fd_trace_event){5, 50, 0, 0, 0}));
    OK(fd_vector_push(&rank->events, (fd_trace_event){10, 20, 0, 1, 0}));
    OK(fd_vector_push(&rank->latest, (fd_trace_step){.begin = 100,
                                                     .end = 160,
                                                     .communicated = 1001,
                                                     .live = 65}));
    OK(fd_vector_push(&rank->latest,
                      (fd_trace_step){.begin = 160, .end = 200, .live = 33}));
    OK(print_tracks(trace, &to));
    WRITTEN(&to,
            VALUE("1.030", "a \\\"b\\\": events lost",
                  "7") VALUE("1.000", "a \\\"b\\\": events lost", "9")
                VALUE("1.100", "Communicated bytes per step", "1000") VALUE(
                    "1.160", "Allocated bytes at ends of steps", "64")
                    VALUE("1.200", "Allocated bytes at ends of steps", "32"));
}
