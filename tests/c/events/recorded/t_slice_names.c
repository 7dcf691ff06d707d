#include "check.h"
#include "fixtures.h"

#include "events/recorded/slice_names.h"

#include <string.h>

static void
modules_are_part_of_the_name(void)
{
    TRAINED_TRACE(trace, 0, NULL);
    CLEAN(fd_slice_names_clear) fd_slice_names names = {.of_context = NULL};
    OK(fd_slice_names_make(&names, trace));
    bool found = false;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const char *name =
            fd_text_pool_get(&names.names, names.of_context[i].name);
        found = found || strstr(name, "blocks.1 [Block]:forward") == name;
    }
    CHECK(found);
}

static void
name_and_duration(void)
{
    NEW_TRACE(trace);
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_trace_job job = {.micro_batch = 4, .duration = 12345499};
    OK(fixture_text(trace, "forward", &job.kind));
    fd_job_name(trace, &job, &to);
    fd_job_duration(job.duration, &to);
    WRITTEN(&to, "forward mb3 (12.345 ms)");
    to.size = 0;
    job = (fd_trace_job){.kind = job.kind, .duration = 999999500};
    fd_job_name(trace, &job, &to);
    fd_job_duration(job.duration, &to);
    WRITTEN(&to, "forward (1000.000 ms)");
}

static void
numbers_that_it_has(void)
{
    fd_trace_job job = {.step = 9, .stage = 1, .peer = 3};
    fd_job_number numbers[FD_JOB_NUMBERS];
    EQUAL(fd_job_numbers(&job, numbers), 3);
    SAME(numbers[0].name, "step");
    EQUAL(numbers[0].value, 9);
    SAME(numbers[1].name, "stage");
    EQUAL(numbers[1].value, 0);
    SAME(numbers[2].name, "peer");
    EQUAL(numbers[2].value, 2);
    job = (fd_trace_job){.device = 1, .gpu_duration = 77};
    EQUAL(fd_job_numbers(&job, numbers), 3);
    SAME(numbers[1].name, "device");
    EQUAL(numbers[1].value, 0);
    SAME(numbers[2].name, "gpu_ns");
    EQUAL(numbers[2].value, 77);
}

RUN(TEST(modules_are_part_of_the_name), TEST(name_and_duration),
    TEST(numbers_that_it_has))
