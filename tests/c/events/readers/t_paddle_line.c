#include "check.h"

#include "events/readers/paddle_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INFO "Profiler Info: Job ("
#define REST ", micro_batch_id = 2, job_start_time = 1697793307213.760986, "
#define JOB \
    INFO "3), type = forward" REST "job_end_time = 1697793307254.006104"
#define FOUND "forward_3/2 1697793307213760986+40245118;"

/* The contents of a line: jobs, "first N;", "bad;". */
static void
describe(const char *text, char to[256])
{
    fd_span line = {text, text + strlen(text)};
    fd_paddle_job job;
    fd_paddle_found found;
    uint64_t step;
    size_t size = 0;
    to[0] = '\0';
    while ((found = fd_paddle_line_next(&line, &job, &step))
           != FD_PADDLE_NOTHING) {
        int more =
            found == FD_PADDLE_BAD ? snprintf(to + size, 256 - size, "bad;")
            : found == FD_PADDLE_FIRST_STEP
                ? snprintf(to + size, 256 - size, "first %" PRIu64 ";", step)
                : snprintf(
                    to + size, 256 - size,
                    "%.*s_%" PRIu64 "/%" PRIu64 " %" PRId64 "+%" PRId64 ";",
                    (int)fd_span_size(job.type), job.type.from, job.number,
                    job.micro_batch, job.start_ns, job.end_ns - job.start_ns);
        size += (size_t)more;
    }
}

static void
lines(void)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"Profiler Info", ""},
        {"I1020 09:15:07.265326 22317 standalone_executor.cc:217] " JOB,
         FOUND},
        /* prints of others: before, behind, digits right behind, a second job */
        {"loss 3.1" JOB "42 loss 3.2" JOB "\r", FOUND FOUND},
        {JOB JOB, FOUND FOUND},
        {INFO "1), ty" JOB, "bad;" FOUND},
        {"Schedule Profiler start at step 5 and end at step 8", "first 5;"},
        {"Schedule Profiler start at step x" JOB, FOUND},
        {"Schedule Profiler start at step 5 and end at step 8" JOB,
         "first 5;" FOUND},
        {INFO "3), type = a_b1" REST "job_end_time = 1697793307213.7609875",
         "a_b1_3/2 1697793307213760986+1;"},
        {INFO "3), type = f" REST "job_end_time = 1697793307214.5",
         "f_3/2 1697793307213760986+739014;"},
        /* no job: ends before it begins, a negative time, no decimals, a
         * number beyond all, no type */
        {INFO "3), type = f" REST "job_end_time = 1697793307213.760985",
         "bad;"},
        {INFO "3), type = f, micro_batch_id = 0, job_start_time = -1.000000, "
              "job_end_time = 1.000000",
         "bad;"},
        {INFO "3), type = f" REST "job_end_time = 1697793307214", "bad;"},
        {INFO "3), type = f" REST "job_end_time = 99999999999999999999.0",
         "bad;"},
        {INFO "99999999999999999999), type = f", "bad;"},
        {INFO "3), type = " REST, "bad;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[256];
        describe(cases[i][0], found);
        SAME(found, cases[i][1]);
    }
}

/* Every beginning of a job is bad or nothing, and is not read past its end. */
static void
cut_lines(void)
{
    for (size_t size = 0; size < sizeof JOB - 7; size++) {
        char cut[sizeof JOB];
        char found[256];
        memcpy(cut, JOB, size);
        cut[size] = '\0';
        describe(cut, found);
        SAME(found, size < sizeof INFO - 1 ? "" : "bad;");
    }
}

RUN(TEST(lines), TEST(cut_lines))
