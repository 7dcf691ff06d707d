#include "check.h"
#include "fixtures.h"

#include "events/recorded/slice_names.h"

#include <string.h>

TEST(modules_are_part_of_the_name)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_slice_names_clear) fd_slice_names names = {.of_context = NULL};
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL};
    ENTER(&arena);
    fd_slice_names_make(&names, trace, &arena);
    bool found = false;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const char *name =
            fd_text_pool_get(&names.names, names.of_context[i].name);
        found = found || strstr(name, "\"blocks.1 [Block]:forward") == name;
    }
    CHECK(found);
}

/* Check the slice of a job, with and without its duration. */
static void
check_job(fd_trace *trace, fd_trace_job job, uint64_t duration,
          const char *name, const char *args)
{
    CLEAN(fd_batch_clear) fd_event_batch batch = {.next = 0};
    fd_timeline_event made = {.phase = 'X'};
    OK(fixture_text(trace, "forward", &job.kind));
    fd_job_slice(trace, &job, duration, &batch, &made);
    OK(batch.status);
    CHECK(fd_span_is(made.name, name));
    CHECK(fd_span_is(made.args, args));
}

TEST(jobs_are_slices)
{
    NEW_TRACE(trace);
    check_job(trace, (fd_trace_job){.step = 9, .micro_batch = 4, .peer = 3},
              12345499, "\"forward mb3 (12.345 ms)\"",
              "{\"step\":9,\"micro_batch\":3,\"peer\":2}");
    check_job(trace, (fd_trace_job){.stage = 1}, 999999500,
              "\"forward (1000.000 ms)\"", "{\"step\":0,\"stage\":0}");
    check_job(trace,
              (fd_trace_job){.device = 1, .gpu_duration = 77, .open = true},
              UINT64_MAX, "\"forward\"",
              "{\"step\":0,\"device\":0,\"gpu_ns\":77,\"open\":true}");
}
