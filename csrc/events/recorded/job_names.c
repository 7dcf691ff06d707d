#include "events/recorded/job_names.h"

void
fd_job_name(const fd_trace *trace, const fd_trace_job *job, fd_buffer *to)
{
    fd_buffer_text(to, fd_trace_text(trace, job->kind));
    if (job->micro_batch != 0) {
        fd_buffer_format(to, " mb%u", job->micro_batch - 1);
    }
}

void
fd_job_duration(uint64_t ns, fd_buffer *to)
{
    uint64_t us = ns / 1000 + (ns % 1000 >= 500);
    fd_buffer_format(to, " (%llu.%03llu ms)", (unsigned long long)us / 1000,
                     (unsigned long long)us % 1000);
}

int
fd_job_numbers(const fd_trace_job *job, fd_job_number numbers[FD_JOB_NUMBERS])
{
    const fd_job_number all[] = {{"micro_batch", job->micro_batch},
                                 {"stage", job->stage},
                                 {"chunk", job->chunk},
                                 {"peer", job->peer},
                                 {"device", job->device}};
    int count = 0;
    numbers[count++] = (fd_job_number){"step", job->step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].value != 0) {
            numbers[count++] = (fd_job_number){all[i].name, all[i].value - 1};
        }
    }
    if (job->device != 0) {
        numbers[count++] = (fd_job_number){"gpu_ns", job->gpu_duration};
    }
    return count;
}
